"""A participant's page at the gate: lost connections, other tabs, the queue, slow devices, lines that cannot work."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from negolab.studies.texts import gate_texts
from negolab.studies.trial.browsers import FLAGS
from tests.conftest import PATIENCE, free_port, needs
from tests.support.browser import enter
from tests.support.gate_server import Gate, running_gate, write_page
from tests.support.relay import relay, run_apart

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with running_gate("pool_size=2") as running:
        yield running


def entered(visit: Any, url: str, name: str) -> Any:
    """Join by a link in a new browser; return the page."""
    page = visit()
    enter(page, url, name)
    page.get_by_role("button", name="Press").wait_for()
    return page


def press(page: Any) -> None:
    """Press the button and check that the kernel answers."""
    page.get_by_role("button", name="Press").wait_for()
    label = page.locator(".widget-label")
    before = label.inner_text()
    page.get_by_role("button", name="Press").click()
    page.wait_for_function("(before) => document.querySelector('.widget-label').innerText !== before", arg=before)


def test_the_id_that_a_panel_adds_to_the_open_link_passes_the_button(gate: Gate, visit: Any) -> None:
    page = visit(f"{gate.url}join/open?ID=abc%26d")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Press").wait_for()
    assert "abc" not in page.url
    assert {"token": "open", "query": {"ID": "abc&d"}} in [body for name, body in gate.requests() if name == "join"]


def test_a_page_says_that_the_connection_is_lost_and_goes_on_when_it_is_back(visit: Any) -> None:
    with running_gate("pool_size=2") as own:
        page = entered(visit, own.url, "ann")
        os.kill(own.pid, signal.SIGSTOP)
        alert = page.get_by_role("alert")
        try:
            alert.filter(has_text="Connection lost. Your work is saved").wait_for()
            pressed = page.locator("#rendered_cells button").first
            assert pressed.evaluate("button => button.inert"), "what is pressed now would come late"
            shown = page.locator("#rendered_cells").bounding_box()
            assert shown["y"] >= page.locator(".nl-lost").bounding_box()["height"], "the warning covers nothing"
            assert shown["y"] + shown["height"] <= page.viewport_size["height"], "and pushes nothing out of the window"
        finally:
            os.kill(own.pid, signal.SIGCONT)
        page.wait_for_function("() => document.querySelector('.nl-lost').innerText === ''")
        assert not pressed.evaluate("button => button.inert")
        press(page)
        os.kill(own.pid, signal.SIGKILL)
        alert.filter(has_text="Connection lost").wait_for()
        with page.expect_navigation():
            own.start()
        press(page)
        page.close()


def test_a_second_tab_covers_the_first(gate: Gate, visit: Any) -> None:
    page = entered(visit, gate.url, "bob")
    assert "token" not in page.url and "good-" not in page.url + page.title() + page.content()
    other = page.context.new_page()
    other.goto(gate.url)
    other.get_by_role("button", name="Press").wait_for()
    page.get_by_role("alert").filter(has_text="opened in another tab").wait_for()
    assert page.locator("#rendered_cells").get_attribute("inert") is not None
    drawn = """() => { const banner = document.createElement("div"); banner.className = "nl-banner";
      document.querySelector("#rendered_cells").append(banner); return getComputedStyle(banner).display; }"""
    assert page.evaluate(drawn) == "none", "the sentence stands there once"
    press(other)
    with page.expect_navigation():
        page.get_by_role("button", name="Continue here instead").click()
    page.get_by_role("button", name="Press").wait_for()
    other.get_by_role("alert").filter(has_text="opened in another tab").wait_for()


def test_a_page_that_cannot_be_restored_stops_trying(gate: Gate, visit: Any) -> None:
    page = entered(visit, gate.url, "cat")
    page.route("**/alive/*", lambda route: route.fulfill(json={"state": "gone"}))
    page.evaluate("sessionStorage.setItem('negolab-reloads', JSON.stringify([1, 2, 3, 4, 5]))")
    page.get_by_role("button", name="Try again").wait_for()


def test_who_waits_moves_on_by_itself(visit: Any) -> None:
    with running_gate("pool_size=1", "max_kernels=1", "keep_place=1") as own:
        page, waiting = entered(visit, own.url, "first"), visit()
        enter(waiting, own.url, "second")
        waiting.get_by_text("You are next.").wait_for()
        waiting.wait_for_timeout(3000)
        page.goto("about:blank")  # closing a page ends its kernel
        press(waiting)
        waiting.close()


def test_nothing_is_asked_of_anywhere_else(gate: Gate, visit: Any) -> None:
    page = visit()
    asked: list[str] = []
    refused: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda connection: asked.append(connection.url.replace("ws:", "http:")))
    page.on("console", lambda said: refused.append(said.text) if "Content Security" in said.text else None)
    enter(page, gate.url, "dan")
    press(page)
    assert any("/channels" in url for url in asked)
    assert [url for url in asked if not url.startswith((gate.url, "data:", "blob:"))] == []
    assert refused == []


# Slow devices, and lines that cannot work.


SLOW = """
import anywidget, ipywidgets, traitlets
from IPython.display import display

class Slow(anywidget.AnyWidget):
    _esm = '''
    await new Promise((done) => setTimeout(done, 4000));
    export default { render({ model, el }) {
      const show = () => { el.textContent = model.get("said"); };
      model.on("change:said", show);
      show();
    } };'''
    said = traitlets.Unicode("nothing yet").tag(sync=True)

slow, button = Slow(), ipywidgets.Button(description="Press")
button.on_click(lambda _: setattr(slow, "said", slow.said + "!"))
display(button, slow)
"""


def test_a_widget_that_takes_long_to_load_still_works(visit: Any, tmp_path: Path) -> None:
    with running_gate("pool_size=1", page=write_page(tmp_path, source=SLOW)) as own:
        enter(page := visit(), own.url, "ann")
        page.get_by_text("nothing yet", exact=True).wait_for()
        page.get_by_role("button", name="Press").click()
        page.get_by_text("nothing yet!", exact=True).wait_for()
        page.close()


def drop_upgrade(data: bytes) -> bytes:
    """What a proxy does that knows no websockets."""
    return data.replace(b"Upgrade: websocket", b"X-Dropped: websocket")


@pytest.mark.alone
def test_a_page_behind_a_proxy_without_websockets_says_so_within_15_seconds(tmp_path: Path) -> None:
    path, own = needs("chromium", "chromium"), free_port()
    url = f"http://127.0.0.1:{own}/"

    async def visit(port: int) -> None:
        from playwright.async_api import async_playwright

        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *FLAGS])
            async with relay(own, port, change=drop_upgrade):
                page = await browser.new_page()
                page.set_default_timeout(PATIENCE)
                await page.goto(f"{url}join/good-ann")
                await page.get_by_role("button", name="Continue").click()
                await page.get_by_text(gate_texts["banners"]["shut"]).wait_for(timeout=15_000)
                assert not await page.get_by_text("Loading widget").first.is_visible()
            await browser.close()

    with running_gate(f"public_url={url}", page=write_page(tmp_path), warm=False) as gate:
        run_apart(visit(gate.port))


BROKEN = """
import anywidget

class Broken(anywidget.AnyWidget):
    _esm = '''
    const loads = Number(sessionStorage.getItem("loads")) + 1;
    sessionStorage.setItem("loads", loads);
    if (loads < 5) throw new Error("not loaded");
    export default { render({ el }) { el.textContent = `loaded at attempt ${loads}`; } };'''

Broken()
"""


UNKNOWN = """
from pathlib import Path
from IPython.display import display
from ipywidgets import Label

label = Label("drawn at last")  # a page without any model is not restored
unknown = {{"application/vnd.jupyter.widget-view+json": {{"version_major": 2, "version_minor": 0, "model_id": "none"}}}}
display(label) if Path({mended!r}).exists() else display(unknown, raw=True)
"""


def test_a_page_whose_script_did_not_come_loads_by_itself(gate: Gate, visit: Any) -> None:
    page = visit()
    page.clock.install()
    page.route("**/voila.js*", lambda route: route.abort(), times=1)
    enter(page, gate.url, "eve")
    page.wait_for_function("() => document.readyState === 'complete' && document.querySelector('#rendered_cells')")
    page.clock.fast_forward(70_000)
    page.get_by_role("button", name="Press").wait_for()
    page.close()


def test_a_page_whose_widget_its_kernel_does_not_know_loads_by_itself(chromium: Any, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    with running_gate("pool_size=1", page=write_page(tmp_path, source=UNKNOWN.format(mended=str(mended)))) as own:
        enter(page := chromium.new_page(), own.url, "ann")
        page.get_by_text("Error displaying widget: model not found").wait_for(state="attached")
        mended.touch()
        page.get_by_text("drawn at last").wait_for()
        page.close()


def test_a_page_whose_widgets_are_not_loaded_loads_three_times_by_itself_then_says_so(
    chromium: Any, tmp_path: Path
) -> None:
    with running_gate("pool_size=1", page=write_page(tmp_path, source=BROKEN)) as own:
        enter(page := chromium.new_page(), own.url, "ann")
        page.get_by_text(gate_texts["banners"]["broken"]).wait_for()
        assert page.evaluate("sessionStorage.getItem('loads')") == "4"
        page.get_by_role("button", name="Try again").click()
        page.get_by_text("loaded at attempt 5").wait_for()
        page.close()
