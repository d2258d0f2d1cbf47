"""A player for bargaining that begins high and gives way by a fixed step each round."""

from __future__ import annotations

from typing_extensions import override

from negolab.games.bargaining import Bargaining
from negolab.games.bargaining.state import Accept, Action, Offer, Reject, Seen, reservation_value
from negolab.protocols import Scripted


class Haggler(Scripted):
    """Ask for the most, lower the claim by `step` each round, and accept anything no worse than the next claim.

    Args:
        step: Cents by which it lowers its claim from one of its offers to the next.
    """

    deterministic = True

    def __init__(self, *, step: int = 500, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if step < 0:
            raise ValueError(f"step must be at least 0 cents, not {step}")
        self.step = step

    @override
    def check(self, game: Bargaining) -> None:
        if not isinstance(game, Bargaining):
            raise ValueError(f"a haggler plays bargaining, not {type(game).__name__}")

    @override
    def act(self, game: Bargaining, seen: Seen) -> Action:
        public, limit = seen.public, reservation_value(seen)
        better = 1 if seen.seat == "A" else -1  # the seller wants a high price, the buyer a low one
        claim = self._claim(seen, limit)
        if public.standing is not None and better * public.standing >= better * claim:
            return Accept()
        if public.last_response:
            assert public.standing is not None
            return Accept() if better * (public.standing - limit) >= 0 else Reject()
        return Offer(claim)

    def _claim(self, seen: Seen, limit: int) -> int:
        """Return the price of its next offer in cents, never worse than no deal."""
        terms, given = seen.public.terms, self.step * sum(seat == seen.seat for _, seat, _ in seen.public.offers)
        if seen.seat == "A":
            return max(terms.price_hi - given, limit)
        return min(terms.price_lo + given, limit)


PLAYERS = {"haggler": Haggler}
