"""The game agenda as its tests load it: ours, or the same package elsewhere and under another name."""

from __future__ import annotations

import importlib
import os
from typing import Any

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import Invalid, Observation, Seat
from negolab.match import Match

NAME = os.environ.get("NEGOLAB_AGENDA", "agenda")
"""Name by which the game is loaded; that of a package of its own is its module."""
PACKAGE: Any = catalog.game_module(NAME)
Message: Any = PACKAGE.Message


def submodule(name: str) -> Any:
    """A submodule of the game's package."""
    return importlib.import_module(f"{PACKAGE.__name__}.{name}")


def issue(name: str, a: Any, b: Any, **options: Any) -> dict[str, Any]:
    """An issue as a scenario writes it; its options are letters unless they or units are given."""
    named = {} if options else {"options": [f"{name} {letter}" for letter in "abcdefgh"[: len(a)]]}
    return {"name": name, **named, **options, "A": a, "B": b}


PAY = issue("pay", [0, 10, 20], [30, 15, 0])
START = issue("start", [5, 0], [0, 2])
FOOD = issue("food", 5, 4, units=3)


def game(*issues: dict[str, Any], **params: Any) -> AnyGame:
    """A game of these issues; without any, of pay and food."""
    return catalog.make_game(
        catalog.game_class(PACKAGE), {"title": "A test", "issues": list(issues) or [PAY, FOOD], **params}
    )


def play(told: AnyGame, *texts: str) -> Match:
    """A match in which these texts were said and taken, alternately from the opener on."""
    match = Match(told, seed=1)
    for text in texts:
        (seat,) = match.pending()
        before = match.state
        match.submit(seat, text)
        assert match.state is not before, match.events[-1]
    return match


def on_turn(match: Match) -> tuple[Seat, AnyGame, Observation[Any, Any]]:
    """The seat that is asked, the game as it is told, and what it sees."""
    (seat,) = match.pending()
    return seat, match.told(seat), match.seen(seat)


def code(match: Match, text: str) -> str | None:
    """The code by which a text would be refused now; None: it is taken."""
    _, told, seen = on_turn(match)
    read = told.parse(text, seen)
    return read.codes[0] if isinstance(read, Invalid) else None


def reason(match: Match, text: str) -> str:
    """The reason why a text would be refused now."""
    _, told, seen = on_turn(match)
    read = told.parse(text, seen)
    assert isinstance(read, Invalid), read
    return read.reason
