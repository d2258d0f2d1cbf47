"""Sellers with written-down prices and thresholds, as used opposite people by johnjosephhorton/interview (2026)."""

from __future__ import annotations

from typing import Any, ClassVar

from typing_extensions import override

from negolab.game import Seat
from negolab.games.bargaining.money import nearest
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Action, Offer, Seen, own_number
from negolab.players.scripted.bargaining.bargainer import ACCEPT, Bargainer, in_range, others_offers, own_offers


class Seller(Bargainer):
    """A strategy for seat A only."""

    seats: ClassVar[tuple[Seat, ...]] = ("A",)

    @override
    def act(self, game: Any, seen: Seen) -> Action:
        if seen.seat != "A":
            raise ValueError(f"{type(self).__name__} plays the seller, seat A, not seat {seen.seat}")
        return super().act(game, seen)


class Anchored(Seller):
    """Never goes below its floor, cost + `margin`. Opens at `opening` (None: cost + 0.7 (`top` - cost), to the
    dollar), then takes 12 % off the distance to the floor, to the half dollar. Takes any offer from the floor up, at
    the last response any above cost. It leaks its cost by its first ask, and from a cost of 50.00 it never moves."""

    def __init__(self, *, opening: int | None = None, top: int = 6000, margin: int = 500, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.opening = opening
        self.top = top
        self.margin = margin

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        cost, own = own_number(seen), own_offers(seen)
        floor = cost + self.margin
        if own:
            price = 50 * nearest(88 * own[-1] + 12 * floor, 5000)
        elif self.opening is not None:
            price = self.opening
        else:
            price = 100 * nearest(3 * cost + 7 * self.top, 1000)
        return in_range(seen, max(price, floor))

    @override
    def respond(self, game: Bargaining, seen: Seen, standing: int) -> Action:
        if standing >= own_number(seen) + self.margin:
            return ACCEPT
        return Offer(self.price(game, seen, len(seen.public.offers) + 1))

    @override
    def takes_last(self, seen: Seen, standing: int) -> bool:
        return standing > own_number(seen)


class Threshold(Seller):
    """Asks and accepts by a table of rounds."""

    ROUNDS = 0

    @override
    def check(self, game: Any) -> None:
        if game.rounds != self.ROUNDS or game.opener != "seller":
            raise ValueError(f"{type(self).__name__} is written for {self.ROUNDS} rounds that the seller opens")

    def accepts(self, number: int, offers: list[int]) -> bool:
        """Is the buyer's last offer, made in round `number`, enough?"""
        raise NotImplementedError

    def ask(self, number: int, own: list[int], offers: list[int]) -> int:
        raise NotImplementedError

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        return in_range(seen, self.ask(number, own_offers(seen), others_offers(seen)))

    @override
    def respond(self, game: Bargaining, seen: Seen, standing: int) -> Action:
        number = len(seen.public.offers)
        return ACCEPT if self.accepts(number, others_offers(seen)) else Offer(self.price(game, seen, number + 1))

    @override
    def takes_last(self, seen: Seen, standing: int) -> bool:
        return self.accepts(len(seen.public.offers), others_offers(seen))


class ThresholdMug(Threshold):
    """The mug seller of six rounds: opens at 9.00 and comes down towards the buyer's offers, never below 6.50 of its
    own accord. Takes 8.00 in round 2, 7.00 in round 4 (6.50 if the buyer did not raise), 6.01 in round 6."""

    ROUNDS = 6

    @override
    def ask(self, number: int, own: list[int], offers: list[int]) -> int:
        if number == 1:
            return 900
        if number == 3:
            first = offers[0]
            return max(700, nearest(900 + first, 2)) if first >= 700 else 750 if first >= 500 else 800
        last_ask, second = own[-1], offers[-1]
        return max(650, second + 25 if last_ask - second <= 100 else nearest(last_ask + second, 2))

    @override
    def accepts(self, number: int, offers: list[int]) -> bool:
        if number == 2:
            return offers[-1] >= 800
        if number == 4:
            return offers[-1] >= (650 if offers[-1] <= offers[0] else 700)
        return offers[-1] >= 601


class ThresholdTalk(Threshold):
    """The mug seller of four rounds: opens at 9.50, asks 7.25, 7.50 or 8.50 next as the buyer offered 7.50, 5.00 or
    less. Takes 8.50 in round 2 and 6.00 in round 4."""

    ROUNDS = 4

    @override
    def ask(self, number: int, own: list[int], offers: list[int]) -> int:
        if number == 1:
            return 950
        return 725 if offers[0] >= 750 else 750 if offers[0] >= 500 else 850

    @override
    def accepts(self, number: int, offers: list[int]) -> bool:
        return offers[-1] >= (850 if number == 2 else 600)
