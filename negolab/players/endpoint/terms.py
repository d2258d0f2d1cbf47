"""On what terms calls are made: limits, prices, budget, and who hears of trouble; shared by all endpoints of a run."""

from __future__ import annotations

import copy
import logging
import random
from collections.abc import Callable
from typing import Any

import msgspec

from negolab.players.endpoint.budget import Budget, Worth
from negolab.players.endpoint.call import Usage
from negolab.players.endpoint.dialect import most_output
from negolab.players.endpoint.limits import Limits
from negolab.players.endpoint.prices import Price, Prices
from negolab.players.endpoint.spent import Tally

log = logging.getLogger("negolab.models")

WEEK = 7 * 86_400.0
TEMPLATE = 64
"""Tokens that a server may add of its own, such as a system prompt of the model's."""
DOUBTED = 10
"""So many times the worst case is taken to be an error of the endpoint's."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0
"""Seconds before a call is sent again after a broken answer: doubled from the first to the longest, half of it or half
as much again by chance."""


class Terms:
    """What all endpoints of one `Models` share."""

    def __init__(
        self, limits: Limits, prices: Prices, budget: Budget | None, tell: Callable[[str], None] | None
    ) -> None:
        self.limits = limits
        self.prices = prices
        self.budget = budget
        self.tally = Tally()
        self.brokered = False
        self._tell = tell
        self._chance = random.Random()

    def of_broker(self) -> Terms:
        """The same terms at a broker, with a week for each call: it waits in line itself, for as long as it takes. What
        answers cost is as it says."""
        found = copy.copy(self)
        found.brokered = True
        found.limits = msgspec.structs.replace(self.limits, call_seconds=WEEK)
        return found

    def told(self, line: str) -> None:
        """One line for whoever watches the run."""
        log.warning(line)
        if self._tell is not None:
            self._tell(line)

    def check(self, model: str, params: dict[str, Any]) -> None:
        """`ValueError` if the budget cannot be kept with this model and these parameters; says what to do."""
        if self.budget is None:
            return
        if most_output(params) is None:
            raise ValueError(f"a budget needs a bound on each answer: set max_tokens for {model}")
        if self.budget.usd is not None and self.prices.of(model) is None:
            raise ValueError(
                f"a budget in money needs the price of {model}, which is not known: give it in US dollars per million "
                f"tokens of input and output, such as --price {model}=0.15,0.60 (0,0 for a model of your own), or set "
                "a budget in tokens"
            )

    def worst(self, price: Price | None, params: dict[str, Any], size: int) -> Worth:
        """The most that a call with a body of so many bytes can take: no token is shorter than a byte."""
        put, out = size + TEMPLATE, most_output(params) or 0
        return Worth(price.most(put, out) if price else 0, put + out)

    def pause(self, broken: int) -> float:
        """Seconds to wait after so many broken answers to one call."""
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(broken - 1, 16)) * self._chance.uniform(0.5, 1.5)


def worth(price: Price | None, usage: Usage, worst: Worth) -> Worth:
    """What an answer took; where the endpoint did not count, or counted what cannot be, the worst case."""
    total = usage.total
    if total is None:
        return worst
    took = Worth((price.of(usage) if price else None) or 0, total)
    return worst if took.tokens > DOUBTED * worst.tokens or took.pico > DOUBTED * worst.pico else took
