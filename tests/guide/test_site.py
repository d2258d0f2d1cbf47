"""The documentation site: it builds strictly, describes every public name, and its pages need no other host."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from tests.conftest import ROOT

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, with notebooks that were not run: other tests run them."""
    out = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, ROOT / ".github/docs/build.py", out, "--no-run"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return out


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    from sphinx.util.inventory import InventoryFile

    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, uri: uri)
    described = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    values = {name: getattr(nl, name) for name in nl.__all__ if name != "__version__"}
    assert [name for name, value in values.items() if f"{value.__module__}.{name}" not in described] == []


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """The address of the site on this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.browser
def test_no_page_asks_another_host_and_none_is_wider_than_a_phone(site: Path, served: str, chromium: Any) -> None:
    faults: list[str] = []
    page = chromium.new_page(viewport={"width": 360, "height": 740})
    page.on("request", lambda asked: asked.url.startswith((served, "data:", "blob:")) or faults.append(asked.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    for path in sorted(site.rglob("*.html")):
        page.goto(f"{served}{path.relative_to(site)}")
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            faults.append(f"{path.name} is wider than the screen")
    page.close()
    assert faults == []
