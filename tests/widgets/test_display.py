"""Notebook reprs of matches, records and games."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import negolab_widgets
import pytest
from IPython.core.interactiveshell import InteractiveShell

import negolab as nl
from negolab.catalog import game_names
from negolab.match import Match


def shell() -> Any:
    made = InteractiveShell.instance()
    negolab_widgets._register_display_hooks()
    return made


def shown(value: Any) -> str | None:
    html: str | None = shell().display_formatter.format(value)[0].get("text/html")
    return html


@pytest.mark.parametrize("game", game_names())
def test_a_value_of_each_kind_shows_itself(game: str) -> None:
    loaded = nl.load(game)
    match = Match(loaded, seed=3, players={"A": "random-legal", "B": "random-legal"})
    for value in (loaded, match, match.seen("A"), nl.player("random-legal", loaded)):
        text = shown(value)
        assert text is not None
        assert game in text or "Seat A sees" in text or "random-legal" in text
    records = nl.batch(loaded, "random-legal", "random-legal", n=3, seed=1)
    assert "Record of" in (shown(records[0]) or "")
    listed = shown(records) or ""
    assert "3 records" in listed
    assert "95% interval" in listed
    assert records[2].id[-8:] in listed


def test_other_lists_show_themselves_as_always() -> None:
    assert shown([1, 2]) is None
    assert shown([]) is None


def test_names_of_players_are_text() -> None:
    match = Match(nl.load("trading"), seed=1, players={"A": "<script>alert(1)</script>"})
    assert "<script>alert" not in (shown(match) or "")
    assert "<script>alert" not in (shown(match.record()) or "")


def test_the_engine_imports_no_screen() -> None:
    code = (
        "import sys, negolab, negolab.runs.driver, negolab.formats.transcript\n"
        "screens = ('IPython', 'ipywidgets', 'plotly', 'negolab_widgets')\n"
        "print([name for name in sys.modules if name.split('.')[0] in screens])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_widgets_can_be_imported_without_a_notebook() -> None:
    code = "import sys, negolab_widgets; print('plotly' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
