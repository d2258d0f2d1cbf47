"""The table for any game: pure functions from what one seat may see to HTML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from negolab.catalog import AnyGame
from negolab.events import Ended
from negolab.game import Observation, Seat
from negolab_widgets.html import element, escape, facts, folded, said


class Line(NamedTuple):
    """One entry of the log: who speaks, and what."""

    who: Literal["table", "you", "refused"]
    text: str


def header(title: str, seat: Seat, status: str, *, yours: bool) -> str:
    """The bar on top: the game, the seat, and whose turn it is."""
    return element(
        "div",
        element("h1", escape(title)),
        element("span", f"you are seat {seat}"),
        element("span", escape(status), cls="nl-turn" if yours else "nl-wait", role="status"),
        cls="nl-bar",
    )


def rules(text: str) -> str:
    """The whole prompt as it stood when the person sat down, open until the person folds it."""
    return folded("Rules, as you were given them", said(text), is_open=True)


def log(lines: Iterable[Line], *, monospaced: bool = False) -> str:
    """What was said, oldest first."""
    names = {"table": "table", "you": "you", "refused": "not accepted"}
    classes = {"table": "nl-table", "you": "nl-you", "refused": "nl-bad"}
    entries = [
        element("div", element("div", names[line.who], cls="nl-who"), said(line.text), cls=classes[line.who])
        for line in lines
    ]
    cls = "nl-log nl-mono" if monospaced else "nl-log"
    # The outer box runs from the bottom up, so that it always shows the newest entry.
    return element("div", element("div", *entries), cls=cls, role="log", aria_label="What was said", tabindex="0")


def own(game: AnyGame, seen: Observation[Any, Any]) -> str:
    """The seat's private facts."""
    return element(
        "section",
        element("div", "What you know", cls="nl-heading"),
        facts(game.facts(seen)),
        cls="nl-panel",
        aria_label="What you know",
    )


def result(game: AnyGame, ended: Ended, seat: Seat, kept: str) -> str:
    """The end as this seat may know it."""
    words = {
        "AGREED": "It ended in agreement.",
        "NO_DEAL": "It ended without a deal.",
        "OUT_OF_TIME": "The turns ran out without a deal.",
        "FORFEIT": "It ended by a forfeit.",
        "ABORTED": "The match was stopped.",
    }
    return element(
        "div",
        element("strong", escape(words[ended.end])),
        element("div", escape(f"Your result: {game.paid(ended.payoffs[seat])}.")),
        element("div", escape(kept), cls="nl-who"),
        cls="nl-result",
        role="status",
    )
