"""Markup and script from another player or a model are inert text in a browser."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from tests.conftest import Served
from tests.support.browser import run_notebook
from tests.support.markup_injection import INJECTIONS, matches

pytestmark = pytest.mark.browser
SHOWN = "print('all' + ' shown')"


def notebook(lab: Served, name: str, *calls: str) -> str:
    """Write a notebook with a cell for each call beside the others; return its name."""
    sources = [*(f"from tests.support import markup_injection\nmarkup_injection.{call}" for call in calls), SHOWN]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    assert lab.folder is not None
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), lab.folder / name)
    return name


def shown(lab: Served, chromium: Any, name: str, *calls: str) -> Any:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    run_notebook(page, lab.url, notebook(lab, name, *calls))
    page.get_by_text("all shown", exact=True).wait_for()
    page.wait_for_timeout(3000)
    return page


def test_no_trick_fires_anywhere(lab: Served, chromium: Any) -> None:
    page = shown(lab, chromium, "escaped.ipynb", *(f"display_escaped({at})" for at in range(len(matches()))))
    assert page.locator(".nl-page").count() > 20
    text = page.locator(".jp-NotebookPanel").inner_text()
    for trick in INJECTIONS[:3]:
        assert trick in text, "the words are there to be read"
    for plot in page.locator(".js-plotly-plot:visible .nsewdrag").all()[:6]:
        plot.hover(force=True)
    for part in page.locator(".nl-page .nl-said").all()[:40]:
        part.dispatch_event("mouseover")
    assert page.evaluate("window.pwned") is None
    assert page.locator(".nl-page :is(script, iframe, object, [onerror], [onload], [onfocus])").count() == 0
    page.close()


def test_the_tricks_fire_where_nothing_escapes_them(lab: Served, chromium: Any) -> None:
    page = shown(lab, chromium, "raw.ipynb", "display_raw()")
    assert page.evaluate("window.pwned") == 1
    page.close()
