"""Scripted bargainers for either seat, unless they say otherwise; amounts are in cents."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

from typing_extensions import override

from negolab.game import Seat
from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Accept, Action, Offer, Public, Reject, Seen, Terms, Told, reservation_value
from negolab.money import discount_factor, divide_half_up, round_half_up
from negolab.protocols import Scripted
from negolab.theory.equilibrium import spe_grid

ACCEPT, REJECT = Accept(), Reject()


class Bargainer(Scripted):
    """Names a price each round; accepts an offer at least as good as its own next price and, at the last response, any
    that pays at least as much as no deal."""

    deterministic = True
    amount_parameters = ("price", "start", "reserve", "opening", "top", "margin")

    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        """Return the offer for round `number` in cents."""
        raise NotImplementedError

    @override
    def act(self, game: Any, seen: Seen) -> Action:
        public = seen.public
        offers = public.offers
        if not offers:
            return Offer(self.price(game, seen, 1))
        standing = offers[-1][2]
        if len(offers) == public.terms.rounds:
            return ACCEPT if self.takes_last(seen, standing) else REJECT
        return self.respond(game, seen, standing)

    def respond(self, game: Bargaining, seen: Seen, standing: int) -> Action:
        """Answer an offer when a counteroffer is possible."""
        price = self.price(game, seen, len(seen.public.offers) + 1)
        good = standing >= price if seen.seat == "A" else standing <= price
        return ACCEPT if good else Offer(price)

    def takes_last(self, seen: Seen, standing: int) -> bool:
        """Return True to accept when a refusal ends the game."""
        return gain_over_no_deal(seen, standing) >= 0


def gain_over_no_deal(seen: Seen, price: int) -> int:
    """Return how much more a deal at `price` pays the seat than no deal, undiscounted; a kept item counts at its
    cost."""
    terms = seen.public.terms
    if seen.seat == "A":
        return price - reservation_value(seen) - terms.outside_seller
    return reservation_value(seen) - price - terms.outside_buyer


def first_price(seen: Seen) -> int:
    """Return the opponent's reservation value if it is known, or else the end of its told range that is best for the
    seat."""
    public = seen.public
    if seen.seat == "A":
        if public.value is not None:
            return public.value
        return max(_told_amounts(public.terms.seller_told), default=public.terms.price_hi)
    if public.cost is not None:
        return public.cost
    return min(_told_amounts(public.terms.buyer_told), default=public.terms.price_lo)


def _told_amounts(told: Told) -> tuple[int, ...]:
    return tuple(amount for amount in told if isinstance(amount, int))


def own_offers(seen: Seen) -> list[int]:
    return [cents for _, seat, cents in seen.public.offers if seat == seen.seat]


def opponent_offers(seen: Seen) -> list[int]:
    return [cents for _, seat, cents in seen.public.offers if seat != seen.seat]


def clamp_to_range(seen: Seen, price: int) -> int:
    """Clamp a price to the price range."""
    terms = seen.public.terms
    return min(max(price, terms.price_lo), terms.price_hi)


def clamp_to_reservation(seen: Seen, price: int) -> int:
    """Clamp a price to the price range and to the seat's reservation value."""
    terms = seen.public.terms
    if seen.seat == "A":
        return min(max(price, reservation_value(seen)), terms.price_hi)
    return max(min(price, reservation_value(seen)), terms.price_lo)


def has_full_information(game: Bargaining) -> bool:
    return game.buyer_told == ("exact",) and game.seller_told == ("exact",)


# Time-dependent concession.

Form = Literal["poly", "exp"]
Grid = Literal["round", "own"]


class Time(Bargainer):
    """Concedes along a curve: from `start` to `reserve` as time runs out (Faratin, Sierra and Jennings 1998). With
    `form` poly, the part conceded is kappa + (1 - kappa) t**(1/beta); with exp, it is exp((1 - t)**beta ln kappa). Beta
    < 1 concedes late (Boulware), beta > 1 early (Conceder). NegMAS's exponent is 1/beta. With `grid` round, t runs over
    all rounds; with own, over the seat's own offers. Accepts an offer as good as its next price and, at the last
    response, any no worse than no deal."""

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
        reserve = reservation_value(seen) if self.reserve is None else self.reserve
        price = round_half_up(start + self.conceded(self.time(terms, seen.seat == "A", number)) * (reserve - start))
        return min(max(price, terms.price_lo), terms.price_hi)

    def time(self, terms: Terms, seller: bool, number: int) -> float:
        """Return the time: 0 at the first and 1 at the last round or own offer."""
        if self.grid == "round":
            return (number - 1) / (terms.rounds - 1) if terms.rounds > 1 else 0.0
        opens = seller == (terms.opener == "seller")
        offers = (terms.rounds + 1) // 2 if opens else terms.rounds // 2
        return (number - 1) // 2 / (offers - 1) if offers > 1 else 0.0

    def conceded(self, t: float) -> float:
        """Return alpha(t), the share of the way from start to reserve."""
        if self.form == "poly":
            return self.kappa + (1 - self.kappa) * math.pow(t, 1 / self.beta)
        return math.exp(math.pow(1 - t, self.beta) * math.log(self.kappa))


class Boulware(Time):
    """Concedes slowly: holds out until near the end, like `time` with beta 0.2."""

    BETA = 0.2


class Linear(Time):
    """Concedes evenly: the same amount each round, like `time` with beta 1."""


class Conceder(Time):
    """Concedes at once: most of it in its first offers, like `time` with beta 5."""

    BETA = 5.0


# One price, or chance.


class Fixed(Bargainer):
    """Keeps to one price until the last offer: `price` (None: the fair price, the midpoint of value and cost, if both
    are public). Accepts an offer at least as good and, at the last response, any no worse than no deal."""

    def __init__(self, *, price: int | None = None, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self._price = price

    @override
    def check(self, game: Any) -> None:
        if self._price is None and not has_full_information(game):
            raise ValueError("this player needs a price: in this game the fair price is not public")
        if self._price is not None and not game.price_lo <= self._price <= game.price_hi:
            raise ValueError(f"price must be from {game.price_lo} to {game.price_hi} cents, not {self._price}")

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        if self._price is not None:
            return self._price
        value, cost = seen.public.value, seen.public.cost
        if value is None or cost is None:
            raise ValueError("the fair price is not public")
        return fair_price(value, cost)


class Fair(Fixed):
    """Never leaves one price: `price` (None: the fair price), even at the last response, where it prefers no deal."""

    @override
    def act(self, game: Any, seen: Seen) -> Action:
        action = super().act(game, seen)
        offers = seen.public.offers
        if isinstance(action, Offer) or len(offers) < seen.public.terms.rounds:
            return action
        price, standing = self.price(game, seen, len(offers)), offers[-1][2]
        return ACCEPT if (standing >= price if seen.seat == "A" else standing <= price) else REJECT


class RandomPrice(Bargainer):
    """Acts at random: accepts with probability 1/4, otherwise names a price drawn uniformly from the price range; at
    the last response, it rejects instead. Draws from its own generator."""

    deterministic = False

    @override
    def act(self, game: Any, seen: Seen) -> Action:
        public = seen.public
        if public.offers and self.rng.random() < 0.25:
            return ACCEPT
        if public.last_response:
            return REJECT
        return Offer(self.rng.randint(public.terms.price_lo, public.terms.price_hi))


# Equilibrium play.

_cached_path = lru_cache(maxsize=1024)(spe_grid)


class Equilibrium(Bargainer):
    """Plays the equilibrium: the subgame-perfect one under complete information (Stahl 1972), rounded to cents, with
    responders that accept when indifferent. In a round without a price that both want, it names its reserve. Accepts an
    offer worth at least its own discounted gain at the next price on the path."""

    @override
    def check(self, game: Any) -> None:
        if not has_full_information(game):
            raise ValueError("spe needs full information: buyer_told and seller_told must be exact")
        if game.outside_seller or game.outside_buyer:
            raise ValueError("spe needs outside options of 0")

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        price = equilibrium_path(seen.public)[number - 1]
        return reservation_value(seen) if price is None else price

    @override
    def respond(self, game: Bargaining, seen: Seen, standing: int) -> Action:
        public = seen.public
        made = len(public.offers)
        if gain_over_no_deal(seen, standing) >= self._waiting(seen, made):
            return ACCEPT
        return Offer(self.price(game, seen, made + 1))

    def _waiting(self, seen: Seen, made: int) -> Fraction:
        """Return the seat's gain at the first later price on the path, discounted to the standing offer's round."""
        terms = seen.public.terms
        discount = terms.discount_seller if seen.seat == "A" else terms.discount_buyer
        for number, price in enumerate(equilibrium_path(seen.public)[made:], start=1):
            if price is not None:
                return gain_over_no_deal(seen, price) * discount_factor(discount, number)
        return Fraction(0)


def equilibrium_path(public: Public) -> list[int | None]:
    """Return the equilibrium price for every round."""
    terms = public.terms
    if public.value is None or public.cost is None:
        raise ValueError("spe needs full information: value and cost must be public")
    return _cached_path(
        terms.rounds,
        public.value,
        public.cost,
        terms.discount_seller,
        terms.discount_buyer,
        terms.opener,
        True,
        terms.price_lo,
        terms.price_hi,
    )


# Reactions to the opponent's concessions.


class Reactive(Bargainer):
    """Opens with `start`; then moves from its own last offer as a function of the opponent's offers."""

    def __init__(self, *, start: int | None = None, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.start = start

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        own = own_offers(seen)
        if not own:
            return clamp_to_reservation(seen, first_price(seen) if self.start is None else self.start)
        return clamp_to_reservation(seen, self.next(own[-1], opponent_offers(seen)))

    def next(self, own: int, others: list[int]) -> int:
        """Return the offer that follows `own`, the seat's last one, given all of the opponent's offers."""
        raise NotImplementedError


class RelativeTitForTat(Reactive):
    """Repays concessions in proportion: its next offer is its last one times q'/q, where q' and q are the other's
    next-to-last and last offers (Faratin, Sierra and Jennings 1998). Repeats its offer until it has seen two; never
    makes one worse than its reserve."""

    @override
    def next(self, own: int, others: list[int]) -> int:
        if len(others) < 2 or others[-1] == 0:
            return own
        return divide_half_up(own * others[-2], others[-1])


class AbsoluteTitForTat(Reactive):
    """Repays concessions cent for cent: it concedes what the other last conceded (Faratin, Sierra and Jennings 1998).
    Repeats its offer until it has seen two of the other's; never makes one worse than its reserve."""

    @override
    def next(self, own: int, others: list[int]) -> int:
        return own if len(others) < 2 else own + others[-2] - others[-1]


class Split(Reactive):
    """Splits the difference: offers the midpoint of its own last offer and the other's, but nothing worse than its
    reserve."""

    @override
    def next(self, own: int, others: list[int]) -> int:
        return divide_half_up(own + others[-1], 2) if others else own


# Sellers with fixed prices and thresholds, as johnjosephhorton/interview (2026) used them opposite people.


class Seller(Bargainer):
    """A strategy for seat A only."""

    seats: ClassVar[tuple[Seat, ...]] = ("A",)

    @override
    def act(self, game: Any, seen: Seen) -> Action:
        if seen.seat != "A":
            raise ValueError(f"{type(self).__name__} plays the seller, seat A, not seat {seen.seat}")
        return super().act(game, seen)


class Anchored(Seller):
    """Asks high and comes down: never below its floor, cost + `margin`. Opens at `opening` (None: cost + 0.7 (`top` -
    cost), to the dollar), then each time closes 12% of the distance to the floor, to the half dollar. Takes any offer
    from the floor up and, at the last response, any above cost. Its first ask leaks its cost, and at a cost of 50.00 it
    never moves."""

    def __init__(self, *, opening: int | None = None, top: int = 6000, margin: int = 500, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.opening = opening
        self.top = top
        self.margin = margin

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        cost, own = reservation_value(seen), own_offers(seen)
        floor = cost + self.margin
        if own:
            price = 50 * divide_half_up(88 * own[-1] + 12 * floor, 5000)
        elif self.opening is not None:
            price = self.opening
        else:
            price = 100 * divide_half_up(3 * cost + 7 * self.top, 1000)
        return clamp_to_range(seen, max(price, floor))

    @override
    def respond(self, game: Bargaining, seen: Seen, standing: int) -> Action:
        if standing >= reservation_value(seen) + self.margin:
            return ACCEPT
        return Offer(self.price(game, seen, len(seen.public.offers) + 1))

    @override
    def takes_last(self, seen: Seen, standing: int) -> bool:
        return standing > reservation_value(seen)


class Threshold(Seller):
    """Asks and accepts according to a table of rounds."""

    ROUNDS = 0

    @override
    def check(self, game: Any) -> None:
        if game.rounds != self.ROUNDS or game.opener != "seller":
            raise ValueError(f"{type(self).__name__} needs a game of {self.ROUNDS} rounds in which the seller opens")

    def accepts(self, number: int, offers: list[int]) -> bool:
        """Return True to accept the buyer's last offer, made in round `number`."""
        raise NotImplementedError

    def ask(self, number: int, own: list[int], offers: list[int]) -> int:
        """Return the ask for round `number`, given its own asks and the buyer's offers."""
        raise NotImplementedError

    @override
    def price(self, game: Bargaining, seen: Seen, number: int) -> int:
        return clamp_to_range(seen, self.ask(number, own_offers(seen), opponent_offers(seen)))

    @override
    def respond(self, game: Bargaining, seen: Seen, standing: int) -> Action:
        number = len(seen.public.offers)
        return ACCEPT if self.accepts(number, opponent_offers(seen)) else Offer(self.price(game, seen, number + 1))

    @override
    def takes_last(self, seen: Seen, standing: int) -> bool:
        return self.accepts(len(seen.public.offers), opponent_offers(seen))


class ThresholdMug(Threshold):
    """Follows a table of six rounds: the seller of a mug, who opens at 9.00 and comes down toward the buyer's offers,
    never below 6.50 of its own accord. Takes 8.00 in round 2, 7.00 in round 4 (6.50 if the buyer did not raise) and
    6.01 in round 6."""

    ROUNDS = 6

    @override
    def ask(self, number: int, own: list[int], offers: list[int]) -> int:
        if number == 1:
            return 900
        if number == 3:
            first = offers[0]
            return max(700, divide_half_up(900 + first, 2)) if first >= 700 else 750 if first >= 500 else 800
        last_ask, second = own[-1], offers[-1]
        return max(650, second + 25 if last_ask - second <= 100 else divide_half_up(last_ask + second, 2))

    @override
    def accepts(self, number: int, offers: list[int]) -> bool:
        if number == 2:
            return offers[-1] >= 800
        if number == 4:
            return offers[-1] >= (650 if offers[-1] <= offers[0] else 700)
        return offers[-1] >= 601


class ThresholdTalk(Threshold):
    """Follows a table of four rounds: the seller of a mug, who opens at 9.50, then asks 7.25 if the buyer offered at
    least 7.50, 7.50 if it offered at least 5.00, and otherwise 8.50. Takes 8.50 in round 2 and 6.00 in round 4."""

    ROUNDS = 4

    @override
    def ask(self, number: int, own: list[int], offers: list[int]) -> int:
        if number == 1:
            return 950
        return 725 if offers[0] >= 750 else 750 if offers[0] >= 500 else 850

    @override
    def accepts(self, number: int, offers: list[int]) -> bool:
        return offers[-1] >= (850 if number == 2 else 600)


PLAYERS: dict[str, type[Scripted]] = {
    "linear": Linear,
    "boulware": Boulware,
    "time": Time,
    "conceder": Conceder,
    "tft_relative": RelativeTitForTat,
    "tft_absolute": AbsoluteTitForTat,
    "split": Split,
    "fair": Fair,
    "fixed": Fixed,
    "anchored": Anchored,
    "threshold_mug": ThresholdMug,
    "threshold_talk": ThresholdTalk,
    "spe": Equilibrium,
    "random": RandomPrice,
    "random-legal": RandomPrice,
}
