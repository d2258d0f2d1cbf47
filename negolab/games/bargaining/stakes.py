"""What prices pay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from negolab.game import Seat, State
from negolab.games.bargaining.state import Private, Public

if TYPE_CHECKING:
    from negolab.games.bargaining.rules import Bargaining


def pays(game: Bargaining, state: State[Public, Private], price: int, waited: int) -> dict[Seat, int | float]:
    """What both seats are paid for a deal at `price` on an offer that `waited` offers came before."""
    value, cost = state.private["B"].value, state.private["A"].cost
    assert value is not None and cost is not None
    gain_a = price if game.frame == "keeps_item" else price - cost
    gain_b = value - price
    return {
        "A": gain_a if game.discount_seller == 1 else gain_a * game.discount_seller**waited,
        "B": gain_b if game.discount_buyer == 1 else gain_b * game.discount_buyer**waited,
    }


def frontier(game: Bargaining, state: State[Public, Private]) -> tuple[tuple[float, float], ...]:
    """The line of all prices in round 1, by its two ends. A later deal lies below it where both gain."""
    ends = (pays(game, state, price, 0) for price in (game.price_lo, game.price_hi))
    return tuple((end["A"], end["B"]) for end in ends)
