"""Markup and script from another player or a model are inert text in a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Served
from tests.support.browser import run_notebook
from tests.support.markup_injection import INJECTIONS

pytestmark = pytest.mark.browser


def notebook(lab: Served, call: str) -> str:
    """Write a notebook of one cell beside the others; return its name."""
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "id": "0",
        "metadata": {},
        "outputs": [],
        "source": f"from tests.support import markup_injection\nmarkup_injection.{call}()\nprint('all' + ' shown')",
    }
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    text = json.dumps({"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    assert lab.folder is not None
    (lab.folder / f"{call}.ipynb").write_text(text)
    return f"{call}.ipynb"


def shown(lab: Served, chromium: Any, call: str) -> Any:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    run_notebook(page, lab.url, notebook(lab, call))
    page.get_by_text("all shown", exact=True).wait_for()
    page.wait_for_timeout(3000)
    return page


def test_no_trick_fires_anywhere(lab: Served, chromium: Any) -> None:
    page = shown(lab, chromium, "display_escaped")
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
    page = shown(lab, chromium, "display_raw")
    assert page.evaluate("window.pwned") == 1
    page.close()
