"""Coding what was said in a notebook, by keyboard alone: marks, scales, undo, and going on later."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from negolab.coding.units import all_readings, drawn_order, latest, units
from tests.analysis.test_export import kept
from tests.coding.dialogues import bargained
from tests.conftest import Served
from tests.support.browser import accessibility_violations, fits_phone, run_notebook, screenshot
from tests.support.command import negolab

pytestmark = [pytest.mark.browser, pytest.mark.long]


def put_notebook(folder: Path, name: str, code: str) -> None:
    """Write a notebook of one cell."""
    cell = {"cell_type": "code", "source": code, "metadata": {}, "outputs": [], "execution_count": None, "id": "a"}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (folder / name).write_text(json.dumps({"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))


def test_twenty_utterances_are_coded_by_keyboard_with_undo_and_later_went_on_with(
    lab: Served, visit: Any, tmp_path: Path
) -> None:
    run = kept(tmp_path / "run", *(bargained(id=f"m{n}", cost=4000 + n) for n in range(7)))
    assert negolab("new", "codebook", "mine", cwd=tmp_path).returncode == 0
    book = tmp_path / "mine.toml"
    book.write_text(book.read_text() + '\n[codes.tone]\ndefinition = "How friendly it is."\nscale = [1, 5]\n')
    code = f"from negolab_widgets import Coder\nCoder({json.dumps(str(run))}, {json.dumps(str(book))}, 'anna')"
    assert lab.folder is not None
    put_notebook(lab.folder, "coding.ipynb", code)
    page = visit()
    run_notebook(page, lab.url, "coding.ipynb")
    screen = page.locator(".nl-coder")
    screen.wait_for()
    page.evaluate("() => { window.jupyterapp.commands.execute('application:toggle-left-area') }")
    first = drawn_order(units(run, "utterance").values(), "anna")
    assert screen.locator(".nl-coder-text").inner_text() == first[0].text
    assert not re.search("anna-bot|llm:secret|seller|4000|m0", screen.inner_text()), "a coder is blind"
    screen.get_by_role("button", name="Keep and continue").focus()
    for number in range(20):
        page.keyboard.press("1")
        page.keyboard.press("e")  # the thirteenth code, a scale: one, then two
        page.keyboard.press("e")
        assert screen.locator(".nl-marked").count() == 2
        page.keyboard.press("Enter")
        screen.get_by_text(f"{number + 2} of 21").wait_for()
    page.keyboard.press("Backspace")
    screen.get_by_text("20 of 21").wait_for()
    assert screen.locator(".nl-coder-text").inner_text() == first[19].text
    assert screen.locator(".nl-marked").count() == 2, "as it was marked"
    own = latest(run, "mine")["anna"]
    assert len(own) == 19 and len(all_readings(run)) == 21
    names = ("small-talk", "tone", "threat")
    assert {tuple(reading.codes[name] for name in names) for reading in own.values()} == {(1, 2, 0)}
    assert accessibility_violations(page, ".nl-coder") == []
    box = screen.bounding_box()
    assert box["height"] < 800, "text, codes and buttons are on one screen"
    screenshot(page, "coder")
    assert fits_phone(page)
    screenshot(page, "coder-narrow")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Keep and continue").focus()
    for text in ("21 of 21", "All 21 are coded"):
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        screen.get_by_text(text).wait_for()
    assert screen.get_by_role("button", name="Keep and continue").is_disabled()
    assert len(latest(run, "mine")["anna"]) == 21
