"""What tokens cost: a small dated table, and what the user says instead."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from negolab.players.endpoint.call import Usage

PICO = 10**12
"""Costs are summed in whole millionths of a millionth of a dollar: a million tokens at a millionth of a dollar is one
dollar, and sums of them are exact."""
DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$")
"""What may stand behind a model's name without changing its price."""


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens of input, of input that the provider had in its cache, and of output."""

    input: float
    cached: float
    output: float

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, bool) or not (isfinite(value) and 0 <= value < 1e6):
                raise ValueError(f"a price is in US dollars per million tokens, at least 0, not {value!r}")

    def of(self, usage: Usage) -> int | None:
        """What these tokens cost, in `PICO`ths of a dollar; None if the endpoint did not count them."""
        if usage.input is None or usage.output is None:
            return None
        cached = min(usage.cached or 0, usage.input)
        return (
            (usage.input - cached) * _pico(self.input) + cached * _pico(self.cached) + usage.output * _pico(self.output)
        )

    def most(self, input: int, output: int) -> int:
        """The most that so many tokens can cost, in `PICO`ths of a dollar."""
        return input * max(_pico(self.input), _pico(self.cached)) + output * _pico(self.output)


def _pico(price: float) -> int:
    return round(price * PICO / 1_000_000)


def dollars(pico: int) -> float:
    """`PICO`ths of a dollar as dollars."""
    return pico / PICO


class Prices:
    """Prices by model. `own` are the user's and go first: a `Price`, or words as `price` reads them."""

    def __init__(self, own: Mapping[str, Price | str] | None = None) -> None:
        self._own = {model: price(said) if isinstance(said, str) else said for model, said in (own or {}).items()}

    @classmethod
    def said(cls, texts: Iterable[str]) -> Prices:
        """From texts of the form `MODEL=INPUT,OUTPUT` or `MODEL=INPUT,CACHED,OUTPUT`."""
        pairs = [text.rpartition("=") for text in texts]
        for model, sign, said in pairs:
            if not (model and sign):
                raise ValueError(
                    f"a price is said as MODEL=INPUT,OUTPUT in US dollars per million tokens, not {said!r}"
                )
        return cls({model: price(said) for model, _, said in pairs})

    def of(self, model: str) -> Price | None:
        """The price of a model; None if it is not known. A date behind the name changes nothing."""
        for name in (model, DATED.sub("", model)):
            found = self._own.get(name) or table().get(name)
            if found is not None:
                return found
        return None

    def notes(self, models: Iterable[str]) -> dict[str, Any]:
        """The prices of these models, as they stand in a manifest; None where none is known."""
        found = {model: self.of(model) for model in models}
        return {model: None if known is None else msgspec.to_builtins(known) for model, known in found.items()}


def price(said: str) -> Price:
    """`INPUT,OUTPUT` or `INPUT,CACHED,OUTPUT` in US dollars per million tokens."""
    try:
        numbers = [float(part) for part in said.split(",")]
        if len(numbers) == 2:
            numbers.insert(1, numbers[0])
        return Price(*numbers)
    except (ValueError, TypeError):
        raise ValueError(
            f"a price is INPUT,OUTPUT or INPUT,CACHED,OUTPUT in US dollars per million, not {said!r}"
        ) from None


@cache
def table() -> dict[str, Price]:
    """The prices that come with the package."""
    found = tomllib.loads(Path(__file__).with_name("prices.toml").read_text("utf-8"))
    return {
        model: Price(*map(float, numbers)) for source in found["source"] for model, numbers in source["models"].items()
    }
