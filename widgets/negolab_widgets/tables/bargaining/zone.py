"""The price line with the zone in which both gain, for a game's card in a notebook."""

from __future__ import annotations

from typing import Any

from negolab.game import State
from negolab.games.bargaining.rules import Bargaining
from negolab_widgets.axis import Axis
from negolab_widgets.html import Markup, element, join

_WIDTH, _HEIGHT, _LINE = 560, 176, 112
"""Size of the drawing in its own units, and the vertical position of the price line."""


def price_zone(game: Bargaining, state: State[Any, Any]) -> Markup:
    """Draw the reservation prices of a deal, the zone of possible agreement and the even price."""
    (a_low, b_low), (a_high, b_high) = game.frontier(state)
    none, low, high = game.disagreement(state), game.price_lo, game.price_hi
    least = low + (high - low) * (none["A"] - a_low) / (a_high - a_low)
    most = low + (high - low) * (b_low - none["B"]) / (b_low - b_high)
    axis, even, gain = Axis(low, high, 24, _WIDTH - 24), (least + most) / 2, game.format_payoff(most - least)
    money = game.format_payoff
    ticks = (
        _text(axis.place(price), _LINE + 20, f"${label}", "middle", "--nl-soft") for price, label in axis.ticks(100)
    )
    ends = [(least, even, "--nl-a-ink"), (even, most, "--nl-b-ink")] if most > least else []
    zones = (_zone(axis.place(start), axis.place(end), ink) for start, end, ink in ends)
    order = ("end", "start") if most > least else ("start", "end")
    words = [
        _text(axis.place(least), 82, f"cost {money(least)}", order[0], "--nl-a-ink"),
        _text(axis.place(most), 82, f"value {money(most)}", order[1], "--nl-b-ink"),
        _text(
            axis.place(even), 44, f"even price {money(even)}" if ends else "No price pays both", "middle", "--nl-ink"
        ),
        _text(_WIDTH - 24, _LINE + 44, "price", "end", "--nl-soft"),
    ]
    drawn = element(
        "svg",
        element("path", d=f"M24 {_LINE}H{_WIDTH - 24}", style="stroke: var(--nl-edge)"),
        *ticks,
        *zones,
        element("path", d=f"M{axis.place(even)} 52V{_LINE}", style="stroke: var(--nl-ink)") if ends else "",
        *words,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=f"Prices from {money(low)} to {money(high)}",
    )
    together = f"A deal gains {gain} together; at the even price, {money((most - least) / 2)} each."
    return join([drawn, element("p", together if ends else "Every price is worse for one side than no deal.")])


def _zone(start: float, end: float, ink: str) -> Markup:
    place = {"x": f"{start}", "y": f"{_LINE - 22}", "width": f"{max(end - start, 0):g}", "height": "22"}
    return element("rect", style=f"fill: var({ink})", **place)


def _text(x: float, y: float, words: str, anchor: str, ink: str) -> Markup:
    return element("text", words, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, style=f"fill: var({ink})")
