"""How a match ended, as one seat may know it."""

from __future__ import annotations

from negolab.catalog import AnyGame
from negolab.game import End
from negolab.record import Closing
from negolab_widgets.html import Markup, element

WORDS: dict[End, str] = {
    "AGREED": "It ended in agreement.",
    "NO_DEAL": "It ended without a deal.",
    "OUT_OF_TIME": "The turns ran out without a deal.",
    "FORFEIT": "It ended by a forfeit.",
    "ABORTED": "The match was stopped.",
}


def result(game: AnyGame, closing: Closing, kept: str) -> Markup:
    """The end, what the seat itself was paid, and where the record is."""
    return element(
        "div",
        element("strong", WORDS[closing.end]),
        element("div", f"Your result: {game.paid(closing.payoff)}."),
        element("div", kept, cls="nl-who"),
        cls="nl-result",
        role="status",
    )
