"""Checks of bargaining's parameters; each names the parameter and its value, and skips what a seat was not told."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any

from negolab.games.bargaining.state import Told

if TYPE_CHECKING:
    from negolab.games.bargaining.rules import Bargaining

_BUYER_TOLD = {"exact": 0, "none": 0, "range": 2, "verified": 2, "claimed": 2}
_SELLER_TOLD = {"exact": 0, "none": 0, "range": 2}
_WORDS = {
    "opener": ("seller", "buyer"),
    "frame": ("profit", "keeps_item"),
    "talk": ("none", "seller", "both"),
}


def check_parameters(game: Bargaining) -> None:
    """Raise `ValueError` for the first invalid parameter."""
    _check_numbers(game)
    _check_words(game)
    _check_told("buyer_told", game.buyer_told, _BUYER_TOLD, game.seller_costs)
    _check_told("seller_told", game.seller_told, _SELLER_TOLD, game.buyer_values)
    _check_prices(game)
    _check_reservation_values(game)


def is_count(value: object, least: int) -> bool:
    """Return True for a whole number from `least` up; False for booleans."""
    return type(value) is int and value >= least


def _check_numbers(game: Any) -> None:
    if not is_count(game.rounds, 1):
        raise ValueError(f"rounds must be a whole number from 1 up, not {game.rounds!r}")
    if not (is_count(game.price_lo, 0) and is_count(game.price_hi, 0) and game.price_lo < game.price_hi):
        raise ValueError(f"price_lo {game.price_lo!r} must be 0 or more cents and below price_hi {game.price_hi!r}")
    for name in ("discount_seller", "discount_buyer"):
        discount = getattr(game, name)
        if type(discount) not in (int, float) or not 0 < discount <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, not {discount!r}")
    for name in ("outside_seller", "outside_buyer"):
        if type(getattr(game, name)) is not int:
            raise ValueError(f"{name} must be a whole number of cents, not {getattr(game, name)!r}")
    for name in ("seller_retries", "buyer_retries"):
        if getattr(game, name) is not None and not is_count(getattr(game, name), 0):
            raise ValueError(f"{name} must be a whole number from 0 up or None, not {getattr(game, name)!r}")


def _check_words(game: Any) -> None:
    for name, allowed in _WORDS.items():
        if getattr(game, name) not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(game, name)!r}")
    if not (isinstance(game.item, str) and game.item.strip() and game.item.isprintable()):
        raise ValueError(f"item must be a word, not {game.item!r}")
    for word in game.extra_accept:
        if not (isinstance(word, str) and word.isalpha() and word == word.lower()):
            raise ValueError(f"extra_accept must hold single words in lower case, not {word!r}")


def _check_told(name: str, told: Told, kinds: dict[str, int], truth: tuple[int, ...] | None) -> None:
    kind, amounts = (told[0], told[1:]) if told else (None, ())
    fits = len(amounts) > 0 if kind == "set" else kinds.get(str(kind)) == len(amounts)
    if not fits or not all(is_count(amount, 0) for amount in amounts):
        raise ValueError(f"{name} must be one of {', '.join(kinds)} or set with amounts in cents, not {told!r}")
    numbers = [int(amount) for amount in amounts]
    if kind != "set" and numbers != sorted(numbers):
        raise ValueError(f"{name} must go from low to high, not {told!r}")
    if truth is not None and kind in ("range", "verified", "set") and not _contains(str(kind), numbers, truth):
        raise ValueError(f"{name} {told!r} must contain the true numbers {truth!r}")


def _contains(kind: str, numbers: list[int], truth: Iterable[int]) -> bool:
    if kind == "set":
        return all(number in numbers for number in truth)
    return all(numbers[0] <= number <= numbers[1] for number in truth)


def _check_prices(game: Any) -> None:
    if len(game.examples) != 2:
        raise ValueError(f"examples must be two prices, not {game.examples!r}")
    for example in game.examples:
        _check_price("examples", example, 0, game)
    if game.default_opening is not None:
        _check_price("default_opening", game.default_opening, game.price_lo, game)
        if game.default_opening != "fair" and game.default_opening > game.price_hi:
            raise ValueError(f"default_opening must be at most price_hi, not {game.default_opening!r}")


def _check_price(name: str, price: object, least: int, game: Bargaining) -> None:
    if price != "fair":
        if not is_count(price, least):
            raise ValueError(f"{name} must be 'fair' or cents from {least} up, not {price!r}")
    elif game.buyer_told != ("exact",) or game.seller_told != ("exact",) or game.allow_no_zopa:
        raise ValueError(f"{name} may be 'fair' only if both are told exact and a deal is always possible")


def _check_reservation_values(game: Bargaining) -> None:
    if game.buyer_values is None or game.seller_costs is None:
        return
    for name, numbers in (("buyer_values", game.buyer_values), ("seller_costs", game.seller_costs)):
        if not numbers:
            raise ValueError(f"{name} must hold at least one number, not {numbers!r}")
    for value, cost in product(game.buyer_values, game.seller_costs):
        check_reservation_values(game, value, cost)


def check_reservation_values(game: Bargaining, value: int, cost: int) -> None:
    """Require price_lo <= cost < value <= price_hi; `allow_no_zopa` lifts only the middle one."""
    if not (is_count(value, game.price_lo) and is_count(cost, game.price_lo)):
        raise ValueError(f"value {value!r} and cost {cost!r} must be cents from {game.price_lo} up")
    if max(value, cost) > game.price_hi:
        raise ValueError(f"value {value!r} and cost {cost!r} must be at most price_hi {game.price_hi}")
    if cost >= value and not game.allow_no_zopa:
        raise ValueError(f"cost {cost!r} must be below value {value!r}")
