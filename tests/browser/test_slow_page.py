"""A participant's page on a slow device or line, and one that cannot work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from negolab.studies.texts import gate_texts
from negolab.studies.trial.browsers import FLAGS
from tests.conftest import PATIENCE, free_port, needs
from tests.support.gate_server import running_gate, write_page
from tests.support.relay import relay, run_apart

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


@pytest.mark.long
@pytest.mark.browser
def test_a_widget_that_takes_long_to_load_still_works(chromium: Any, tmp_path: Path) -> None:
    with running_gate("pool_size=1", page=write_page(tmp_path, source=SLOW)) as own:
        page = chromium.new_page()
        page.goto(f"{own.url}join/good-ann")
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("nothing yet", exact=True).wait_for()
        page.get_by_role("button", name="Press").click()
        page.get_by_text("nothing yet!", exact=True).wait_for()
        page.close()


def drop_upgrade(data: bytes) -> bytes:
    """What a proxy does that knows no websockets."""
    return data.replace(b"Upgrade: websocket", b"X-Dropped: websocket")


@pytest.mark.long
@pytest.mark.browser
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


@pytest.mark.long
@pytest.mark.browser
def test_a_page_whose_widgets_are_not_loaded_loads_three_times_by_itself_then_says_so(
    chromium: Any, tmp_path: Path
) -> None:
    with running_gate("pool_size=1", page=write_page(tmp_path, source=BROKEN)) as own:
        page = chromium.new_page()
        page.goto(f"{own.url}join/good-ann")
        page.get_by_role("button", name="Continue").click()
        page.get_by_text(gate_texts["banners"]["broken"]).wait_for()
        assert page.evaluate("sessionStorage.getItem('loads')") == "4"
        page.get_by_role("button", name="Try again").click()
        page.get_by_text("loaded at attempt 5").wait_for()
        page.close()
