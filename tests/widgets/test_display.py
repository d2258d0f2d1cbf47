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


HEAVY = ("pandas", "plotly", "sqlalchemy", "numpy", "scipy", "openai", "pyarrow", "negolab.studies.database")


@pytest.mark.parametrize(
    ("imported", "left_out"),
    [
        (
            "negolab, negolab.runs.driver, negolab.formats.transcript",
            ("IPython", "ipywidgets", "plotly", "negolab_widgets"),
        ),
        ("negolab_widgets", ("plotly", "negolab_widgets.results.board")),
        ("negolab_widgets.charts", ("plotly",)),
        ("negolab_widgets.study", HEAVY),
        ("negolab.cli", HEAVY),
    ],
    ids=["the engine", "the widgets", "charts without a figure", "a participant's page", "a command"],
)
def test_what_is_imported_loads_nothing_that_it_does_not_need(imported: str, left_out: tuple[str, ...]) -> None:
    code = f"import sys, {imported}; print([name for name in {left_out} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
