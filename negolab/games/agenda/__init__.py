"""Two players take turns with messages and offers to agree on one option for each of several issues.

Each side has its own points per option. A TOML file, the scenario, defines the game without Python.
"""

from __future__ import annotations

from typing import Any

from negolab.catalog import data_folder
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.scenario import Brief, Draw, Issue, Reservation, Roles
from negolab.games.agenda.state import Entry, Message, Private, Public

TITLE = "Agenda: agree on several issues"
TABLE = "negolab_widgets.tables.agenda.controls:AgendaTable"
SCENARIOS = data_folder() / "scenarios"
"""Folder of scenario files, each of which is a preset under its name."""

PRESETS: dict[str, dict[str, Any]] = {
    "casino": {
        "title": "Camping supplies",
        "turns": 60,
        "source": "after CaSiNo, Chawla et al. 2021 (CC BY 4.0)",
        "reservation": {"A": 5, "B": 5},
        "issues": tuple(
            {"name": name, "units": 3, "A": n, "B": n} for name, n in (("food", 5), ("water", 4), ("firewood", 3))
        ),
        "draw": {"permute": ("A", "B")},
    },
    "random": {"title": "Several issues", "issues": 5, "options": 4, "correlation": 0},
}
PRESET_NOTES = {
    "casino": "Three units each of food, water and firewood; what a unit is worth to you is 5, 4 or 3, drawn for each "
    "seat. The task of the CaSiNo dialogues (Chawla et al. 2021).",
    "random": "Five issues of four options; the points are drawn at random.",
    "flat-share": "Goods: two flatmates divide shelves, racks, quiet evenings and hours with the piano.",
    "hiring": "A candidate and a recruiter agree on eight issues, from base pay to the first project.",
    "old-press": "A printer and a museum talk about an old press: its price, the transport and a sign.",
    "supplier": "A contract of five issues; every message takes 3% of what an agreement pays.",
}
FREE = ("turns", "max_chars", "reading")
"""Parameters that may change under a preset's name; a game that differs in any other does not carry the name."""

EXPLORE = {
    "sliders": {
        "reservation.A": ("A without a deal", 0, 100, 5),
        "reservation.B": ("B without a deal", 0, 100, 5),
    },
    "change": "turns=8",
}
"""Sliders and figure on the game's card in a notebook."""

__all__ = [
    "EXPLORE",
    "FREE",
    "PRESETS",
    "PRESET_NOTES",
    "SCENARIOS",
    "TABLE",
    "TITLE",
    "Agenda",
    "Brief",
    "Draw",
    "Entry",
    "Issue",
    "Message",
    "Private",
    "Public",
    "Reservation",
    "Roles",
]
