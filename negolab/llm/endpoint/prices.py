"""Token prices, what a call costs at those prices, and the bill for a call's attempts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from negolab.ledger import NOTHING, PICO, Cost
from negolab.llm.endpoint.call import Answer, Usage
from negolab.llm.endpoint.errors import AttemptFailed, RateLimited

DATE_SUFFIX = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$")
"""Suffix of a model's name that does not change its price."""


class LongPrice(msgspec.Struct, frozen=True):
    """US dollars per million tokens for a prompt of more than `above` tokens, and for the answer to it."""

    above: int
    input: float
    cached: float
    output: float


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens.

    Attributes:
        input: Price of input.
        cached: Price of input that is read from the provider's cache.
        output: Price of output, including reasoning.
        written: Price of input that is written to the provider's cache (None: same as `input`).
        long: Prices for long prompts (None: the same).

    Raises:
        ValueError: A price is negative or not a number.

    Example:
        >>> Price(0.15, 0.075, 0.60).cost(Usage(input=1_000_000, output=0)) / PICO
        0.15
    """

    input: float
    cached: float
    output: float
    written: float | None = None
    long: LongPrice | None = None

    def __post_init__(self) -> None:
        for value in (self.input, self.cached, self.output, self.written or 0):
            if isinstance(value, bool) or not (isfinite(value) and 0 <= value < 1e6):
                raise ValueError(f"a price must be in US dollars per million tokens and at least 0, not {value!r}")

    def cost(self, usage: Usage) -> int | None:
        """Return the cost in units of 1/`PICO` dollar; None if the endpoint did not count the tokens."""
        if usage.input is None or usage.output is None:
            return None
        cached = min(usage.cached or 0, usage.input)
        written = min(usage.written or 0, usage.input - cached)
        tier = self.long if self.long is not None and usage.input > self.long.above else self
        of_written = tier.input if self.written is None else self.written
        return (
            (usage.input - cached - written) * _pico(tier.input)
            + cached * _pico(tier.cached)
            + written * _pico(of_written)
            + usage.output * _pico(tier.output)
        )


PRICED = ("input", "cached", "output")
"""Kinds of tokens that a model's three prices are for."""


def _pico(price: float) -> int:
    return round(price * PICO / 1_000_000)


def call_cost(price: Price | None, usage: Usage, *, is_answer: bool = False) -> Cost:
    """Return what a call took: what its gateway charges, or else by price; a charge of 0 does not override a price."""
    by_price = price.cost(usage) if price else None
    pico = by_price if usage.cost is None or (not usage.cost and by_price is not None) else round(usage.cost * PICO)
    return Cost(
        pico or 0,
        usage.input or 0,
        usage.output or 0,
        usage.cached or 0,
        usage.reasoning or 0,
        calls=1,
        answers=int(is_answer),
        uncounted=int(usage.total is None and pico is None),
        unpriced=int(usage.total is not None and pico is None),
    )


class Bill:
    """Bill for the attempts at one call. Only a sweep's broker knows what an answer has cost, and who has paid for
    it."""

    def __init__(self, price: Price | None, *, via_broker: bool) -> None:
        self._price, self._via_broker = price, via_broker
        self._lost, self._lost_usage = NOTHING, Usage()
        """Cost and usage of attempts without an answer."""

    def estimate(self, usage: Usage) -> Cost:
        """Estimate the cost of a call to a model that has not answered yet."""
        return call_cost(self._price, usage)

    def lost(self, error: AttemptFailed) -> Cost:
        """Return what an attempt without an answer took, and remember it for the answer."""
        usage = error.usage or Usage()
        took = Cost(refused=int(isinstance(error, RateLimited))) if error.is_free else call_cost(self._price, usage)
        self._lost, self._lost_usage = self._lost.plus(took), self._lost_usage.plus(usage)
        return took

    def answered(self, answer: Answer) -> tuple[Answer, Cost]:
        """Return an answer with its cost, including what the attempts before it took, and what the answer alone
        took."""
        charged = msgspec.structs.replace(answer.usage, cost=answer.cost) if self._via_broker else answer.usage
        took = Cost.of_replayed(answer.cost) if answer.replayed else call_cost(self._price, charged, is_answer=True)
        pico = took.pico + took.saved + self._lost.pico
        is_unknown = took.uncounted or took.unpriced or took.unsaved
        usage = answer.usage if self._lost_usage == Usage() else answer.usage.plus(self._lost_usage)
        return msgspec.structs.replace(answer, usage=usage, cost=None if is_unknown else pico / PICO), took


class Prices:
    """Prices by model; the user's `own` (a `Price`, or a text as in `parse_price`) take precedence over the
    package's."""

    def __init__(self, own: Mapping[str, Price | str] | None = None) -> None:
        self._own = {
            model: parse_price(price) if isinstance(price, str) else price for model, price in (own or {}).items()
        }

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Prices:
        """Parse texts such as `MODEL=INPUT,OUTPUT` or `MODEL=INPUT,CACHED,OUTPUT`; a ValueError names an invalid
        one."""
        pairs = [text.rpartition("=") for text in texts]
        for model, sign, price in pairs:
            if not (model and sign):
                raise ValueError(f"a price must be MODEL=INPUT,OUTPUT in US dollars per million tokens, not {price!r}")
        return cls({model: parse_price(price) for model, _, price in pairs})

    def get(self, model: str) -> Price | None:
        """Return the price of a model, named with or without provider and date; None if it is not known."""
        return self._own.get(name := self.name_for(model) or "") or default_prices().get(name)

    def name_for(self, model: str) -> str | None:
        """Return the name under which the price of a model is known; None if there is none."""
        bare = model.rpartition("/")[2]
        names = (model, DATE_SUFFIX.sub("", model), bare, DATE_SUFFIX.sub("", bare))
        return next((name for name in names if name in self._own or name in default_prices()), None)

    def as_dict(self, models: Iterable[str]) -> dict[str, Any]:
        """Return the prices of these models for a manifest; None for a model without a known price."""
        return {model: msgspec.to_builtins(self.get(model)) for model in models}


def parse_price(text: str) -> Price:
    """Parse `INPUT,OUTPUT` or `INPUT,CACHED,OUTPUT` in US dollars per million tokens.

    Example:
        >>> parse_price("0.15,0.60")
        Price(input=0.15, cached=0.15, output=0.6)
    """
    try:
        numbers = [float(part) for part in text.split(",")]
        if len(numbers) == 2:
            numbers.insert(1, numbers[0])
        input, cached, output = numbers
        return Price(input, cached, output)
    except (ValueError, TypeError):
        raise ValueError(
            f"a price must be INPUT,OUTPUT or INPUT,CACHED,OUTPUT in US dollars per million, not {text!r}"
        ) from None


@cache
def default_prices() -> dict[str, Price]:
    """Read the prices that come with the package."""
    table = tomllib.loads(Path(__file__).with_name("prices.toml").read_text("utf-8"))
    return {
        model: msgspec.convert(prices if isinstance(prices, dict) else dict(zip(PRICED, prices, strict=True)), Price)
        for source in table["source"]
        for model, prices in source["models"].items()
    }
