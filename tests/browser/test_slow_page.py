"""A participant's page on a slow device or line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.gate_server import running_gate, write_page

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
        page.get_by_text("nothing yet", exact=True).wait_for(timeout=60_000)
        page.get_by_role("button", name="Press").click()
        page.get_by_text("nothing yet!", exact=True).wait_for(timeout=60_000)
        page.close()
