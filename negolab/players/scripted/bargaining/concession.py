"""Time-dependent concession: how far a seat has come from its first price to its reserve by each round."""

from __future__ import annotations

import math
from typing import Literal

from typing_extensions import override

from negolab.games.bargaining.money import half_up
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Seen, Terms, own_number
from negolab.players.scripted.bargaining.bargainer import Bargainer, first_price

Form = Literal["poly", "exp"]
Grid = Literal["round", "own"]


class Time(Bargainer):
    """Concedes from `start` to `reserve` as time runs out (Faratin, Sierra and Jennings 1998). With `form` poly the
    part conceded is kappa + (1 - kappa) t**(1/beta), with exp it is exp((1 - t)**beta ln kappa): beta < 1 concedes
    late (Boulware), beta > 1 early (Conceder). NegMAS' exponent is 1/beta. `grid` round lets t run over all rounds,
    own over the seat's own offers. Accepts what is as good as its next price, at the last response any gain."""

    BETA = 1.0

    def __init__(
        self,
        *,
        beta: float | None = None,
        kappa: float = 0,
        form: Form = "poly",
        grid: Grid = "round",
        start: int | None = None,
        reserve: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed=seed)
        self.beta = self.BETA if beta is None else beta
        self.kappa = kappa
        self.form = form
        self.grid = grid
        self.start = start
        self.reserve = reserve
        if not self.beta > 0:
            raise ValueError(f"beta must be above 0, not {beta!r}")
        if not 0 <= kappa <= 1 or (form == "exp" and kappa == 0):
            raise ValueError(f"kappa must be from 0 to 1, and above 0 with form='exp', not {kappa!r}")
        if form not in ("poly", "exp"):
            raise ValueError(f"form must be 'poly' or 'exp', not {form!r}")
        if grid not in ("round", "own"):
            raise ValueError(f"grid must be 'round' or 'own', not {grid!r}")

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        terms = seen.public.terms
        start = first_price(seen) if self.start is None else self.start
        reserve = own_number(seen) if self.reserve is None else self.reserve
        price = half_up(start + self.conceded(self.time(terms, seen.seat == "A", number)) * (reserve - start))
        return min(max(price, terms.price_lo), terms.price_hi)

    def time(self, terms: Terms, seller: bool, number: int) -> float:
        """0 at the first and 1 at the last round, or own offer."""
        if self.grid == "round":
            return (number - 1) / (terms.rounds - 1) if terms.rounds > 1 else 0.0
        opens = seller == (terms.opener == "seller")
        offers = (terms.rounds + 1) // 2 if opens else terms.rounds // 2
        return (number - 1) // 2 / (offers - 1) if offers > 1 else 0.0

    def conceded(self, t: float) -> float:
        """alpha(t), the part of the way from start to reserve."""
        if self.form == "poly":
            return self.kappa + (1 - self.kappa) * math.pow(t, 1 / self.beta)
        return math.exp(math.pow(1 - t, self.beta) * math.log(self.kappa))


class Boulware(Time):
    """Holds out and concedes only near the end: `time` with beta 0.2."""

    BETA = 0.2


class Linear(Time):
    """Concedes the same amount each round: `time` with beta 1."""


class Conceder(Time):
    """Concedes most at once: `time` with beta 5."""

    BETA = 5.0
