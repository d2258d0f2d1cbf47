"""The guide's nginx configuration in front of a study: under a path, with websockets and the visitors' addresses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from negolab.studies.doctor import check_public_url
from tests.conftest import ROOT, free_port, needs
from tests.support.gate_server import KERNEL_ID, Gate, is_listening, running_gate, wait_until

RECIPE = ROOT / "notebooks" / "guide" / "nginx.conf"


def configuration(folder: Path, port: int, behind: int) -> Path:
    """The guide's configuration with other ports and without TLS."""
    recipe = RECIPE.read_text()
    changes = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port};",
        "server_name lab.example;": "server_name 127.0.0.1;",
        "http://127.0.0.1:8866": f"http://127.0.0.1:{behind}",
    }
    for line, instead in changes.items():
        assert line in recipe, line
        recipe = recipe.replace(line, instead)
    recipe = re.sub(r" *ssl_certificate.*\n", "", recipe)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    path.write_text(
        f"pid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log {folder}/access.log;\n{temporary}{recipe}}}\n"
    )
    return path


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Gate, Path]]:
    """The participants' address, the gate behind it, and the folder of nginx's logs."""
    nginx = needs("nginx", "nginx-light", os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    url = f"http://127.0.0.1:{port}/study/"
    with running_gate(f"public_url={url}", "behind_proxy=True", "pool_size=2", warm=False) as own:
        conf = configuration(folder, port, own.port)
        process = subprocess.Popen([nginx, "-p", str(folder), "-c", str(conf), "-g", "daemon off;"])
        try:
            assert wait_until(lambda: is_listening(port))
            yield url, own, folder
        finally:
            process.terminate()
            process.wait(10)


def test_a_link_leads_under_the_path_to_a_page_with_a_kernel(proxied: tuple[str, Gate, Path]) -> None:
    url, own, _ = proxied
    with httpx2.Client(follow_redirects=True, timeout=300) as client:
        origin = url.removesuffix("/study/")
        page = client.post(url + "join/good-ann", headers={"Origin": origin})
        assert str(page.url) == url
        assert wait_until(lambda: KERNEL_ID.search(client.get(url).text), 30)
        (cookie,) = client.cookies.jar
        assert (cookie.path, cookie.value) == ("/study/", "good-ann")
    assert httpx2.get(url.removesuffix("study/")).status_code in (403, 404)
    assert httpx2.get(url, headers={"Host": "evil.example"}).status_code == 403
    assert own.get("").status_code == 403, "past the proxy it is another host"


def test_each_visitor_has_a_rate_of_its_own(proxied: tuple[str, Gate, Path]) -> None:
    url, own, _ = proxied
    host = url.split("/")[2]

    def code(forwarded: str) -> int:
        headers = {"Host": host, "X-Forwarded-For": forwarded}
        return httpx2.get(f"http://127.0.0.1:{own.port}/study/join/bad", headers=headers).status_code

    assert {code("10.0.0.1") for _ in range(40)} == {403, 429}
    assert code("10.0.0.2") == 403
    assert 429 in {code("10.0.0.2, 10.0.0.1") for _ in range(10)}, "what a visitor writes before it counts for nothing"


def test_the_doctor_finds_the_recipe_good_and_a_forgotten_header(proxied: tuple[str, Gate, Path]) -> None:
    url, _, folder = proxied
    assert check_public_url(url, True).advice == ""
    conf, recipe = folder / "nginx.conf", (folder / "nginx.conf").read_text()
    for header, words in {
        "X-Forwarded-For": "not forward what a visitor sends",
        "Upgrade": "for WebSocket connections",
    }.items():
        conf.write_text(re.sub(rf" *proxy_set_header {header} .*\n", "", recipe))
        os.kill(int((folder / "pid").read_text()), signal.SIGHUP)
        assert wait_until(lambda words=words: words in check_public_url(url, True).advice, 10), header
    conf.write_text(recipe)
    os.kill(int((folder / "pid").read_text()), signal.SIGHUP)
    assert wait_until(lambda: check_public_url(url, True).advice == "", 10)


def test_scripts_are_packed_and_pages_are_not(proxied: tuple[str, Gate, Path]) -> None:
    url, _, _ = proxied
    script = httpx2.get(url + "voila/static/voila.js", headers={"Accept-Encoding": "gzip"})
    assert script.status_code == 200 and script.headers["Content-Encoding"] == "gzip"
    assert script.headers["X-Content-Type-Options"] == "nosniff" and len(script.content) > 10_000
    assert "Content-Encoding" not in httpx2.get(url + "voila/static/voila.js", headers={"Accept-Encoding": ""}).headers
    page = httpx2.get(url + "join/good-ann", headers={"Accept-Encoding": "gzip"})
    assert page.status_code == 200 and "Content-Encoding" not in page.headers, "its length would tell what it holds"


def test_no_log_of_the_proxy_holds_a_link(proxied: tuple[str, Gate, Path]) -> None:
    url, _, folder = proxied
    httpx2.get(url + "join/good-SECRET")
    assert not any("SECRET" in path.read_text() for path in folder.glob("*.log"))


@pytest.mark.browser
def test_a_page_works_behind_the_proxy(proxied: tuple[str, Gate, Path], chromium: Any) -> None:
    url, _, _ = proxied
    page = chromium.new_page()
    asked: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.goto(url + "join/good-bea")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Press").wait_for()
    page.get_by_role("button", name="Press").click()
    page.locator(".widget-label", has_text="nothing yet!").wait_for()
    page.wait_for_timeout(5000)
    assert page.locator(".nl-lost").inner_text() == "", "the heartbeat goes through"
    assert [one for one in asked if not one.startswith((url, "data:", "blob:"))] == []
    assert failed == []
    page.close()
