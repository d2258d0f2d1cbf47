"""The parameters of bargaining; each check names the parameter and its value, and skips what a seat was not told."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Annotated, Literal

from msgspec import Meta
from typing_extensions import override

from negolab.game import Game
from negolab.games.bargaining.state import Action, Frame, Opener, Private, Public, Rounds, Talk, Told
from negolab.reading import Reading

Cents = Annotated[int, Meta(ge=0)]
Price = Cents | Literal["fair"]
Numbers = Annotated[tuple[int, ...], Meta(min_length=1)]
Discount = Annotated[float, Meta(gt=0, le=1)]
Knowledge = tuple[str | Cents, ...]
"""`Told` with its bounds."""

_BUYER_TOLD = {"exact": 0, "none": 0, "range": 2, "verified": 2, "claimed": 2}
_SELLER_TOLD = {"exact": 0, "none": 0, "range": 2}


class Parameters(Game[Public, Private, Action], frozen=True, kw_only=True):
    """Parameters of bargaining, with amounts in cents.

    `deal` draws one of `buyer_values` and one of `seller_costs`; `buyer_told` and `seller_told` say what a seat knows
    about the other's number. `default_opening` is A's first offer when its decision is missing.

    With `frame` `profit`, a deal at P pays A P - cost; with `keeps_item`, it pays P, and without a deal A keeps an item
    worth cost. A deal on the offer in round t pays d**(t-1) times the undiscounted amount. `whole_a`, `veto`,
    `unit_guard` and `refusal_guard` read "a", "no deal", "45 cents" and "not 45" less literally; `reading` says whether
    a reply is read by these rules alone (`literal`) or as its author meant it (`fair`).
    """

    treatment: str | None = "exact"
    item: str = "item"
    rounds: Rounds = 6
    opener: Opener = "seller"
    price_lo: Cents = 0
    price_hi: Cents = 10_000
    buyer_values: Numbers | None = (6500,)
    seller_costs: Numbers | None = (4000,)
    buyer_told: Knowledge = ("exact",)
    seller_told: Knowledge = ("exact",)
    default_opening: Price | None = "fair"
    examples: tuple[Price, Price] = ("fair", 4500)
    frame: Frame = "profit"
    outside_seller: int = 0
    outside_buyer: int = 0
    discount_seller: Discount = 1.0
    discount_buyer: Discount = 1.0
    talk: Talk = "none"
    walk_away: bool = False
    extra_accept: tuple[str, ...] = ()
    reject_named: bool = False
    seller_retries: Annotated[int, Meta(ge=0)] | None = 1
    buyer_retries: Annotated[int, Meta(ge=0)] | None = None
    whole_a: bool = True
    veto: bool = True
    unit_guard: bool = True
    refusal_guard: bool = True
    reading: Reading = "fair"
    allow_no_zopa: bool = False

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        lo, hi = self.price_lo, self.price_hi
        if lo >= hi:
            raise ValueError(f"price_lo must be below price_hi = {hi}, not {lo}")
        if not (self.item.strip() and self.item.isprintable()):
            raise ValueError(f"item must be a word, not {self.item!r}")
        for word in self.extra_accept:
            if not (word.isalpha() and word == word.lower()):
                raise ValueError(f"extra_accept must contain single words in lower case, not {word!r}")
        _check_told("buyer_told", self.buyer_told, _BUYER_TOLD, self.seller_costs)
        _check_told("seller_told", self.seller_told, _SELLER_TOLD, self.buyer_values)
        self._check_prices()
        if self.buyer_values is not None and self.seller_costs is not None:
            for value, cost in product(self.buyer_values, self.seller_costs):
                self.check_reservation_values(value, cost)

    def _check_prices(self) -> None:
        opening = self.default_opening
        if isinstance(opening, int) and not self.price_lo <= opening <= self.price_hi:
            raise ValueError(f"default_opening must be between {self.price_lo} and {self.price_hi}, not {opening}")
        if self.buyer_told != ("exact",) or self.seller_told != ("exact",) or self.allow_no_zopa:
            for name, prices in (("examples", self.examples), ("default_opening", (opening,))):
                if "fair" in prices:
                    raise ValueError(
                        f"{name} may be 'fair' only if buyer_told and seller_told are both 'exact' and a deal is "
                        "always possible"
                    )

    def check_reservation_values(self, value: int, cost: int) -> None:
        """Require price_lo <= cost < value <= price_hi; `allow_no_zopa` lifts only the middle condition."""
        lo, hi = self.price_lo, self.price_hi
        for name, number in (("value", value), ("cost", cost)):
            if type(number) is not int or not lo <= number <= hi:
                raise ValueError(
                    f"{name} must be an amount in cents from price_lo = {lo} to price_hi = {hi}, not {number!r}"
                )
        if cost >= value and not self.allow_no_zopa:
            raise ValueError(f"cost {cost} must be below value {value}")


def _check_told(name: str, told: Told, kinds: dict[str, int], truth: tuple[int, ...] | None) -> None:
    kind, amounts = (told[0], told[1:]) if told else (None, ())
    fits = len(amounts) > 0 if kind == "set" else kinds.get(str(kind)) == len(amounts)
    numbers = [amount for amount in amounts if isinstance(amount, int)]
    if not fits or len(numbers) < len(amounts):
        raise ValueError(f"{name} must be {', '.join(kinds)} or set, with amounts in cents, not {told!r}")
    if kind != "set" and numbers != sorted(numbers):
        raise ValueError(f"{name} must go from low to high, not {told!r}")
    if truth is not None and kind in ("range", "verified", "set") and not _contains(str(kind), numbers, truth):
        raise ValueError(f"{name} {told!r} must contain the true numbers {truth!r}")


def _contains(kind: str, numbers: list[int], truth: Iterable[int]) -> bool:
    if kind == "set":
        return all(number in numbers for number in truth)
    return all(numbers[0] <= number <= numbers[1] for number in truth)
