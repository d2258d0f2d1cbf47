"""Call policy shared by all endpoints of a run: limits, prices, budget, retry delays and notifications."""

from __future__ import annotations

import copy
import logging
import random
from collections.abc import Callable
from math import isfinite
from typing import Any

import msgspec

from negolab.llm.endpoint.budget import Budget, Cost
from negolab.llm.endpoint.call import Usage
from negolab.llm.endpoint.compatibility import max_output_tokens
from negolab.llm.endpoint.prices import Price, Prices, UsageCounter


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Declare the limits of an endpoint.

    Args:
        at_once: Most calls in flight per model; fewer where the endpoint takes fewer.
        requests_per_minute: The provider's limit per model (None: unknown).
        tokens_per_minute: The provider's limit per model (None: unknown).
        call_seconds: Time for one attempt, from sending to the last byte.
        patience: Seconds that an endpoint may be unreachable before the run stops (None: it waits for ever).
        attempts: Times that a call is sent before its game fails by bad responses.

    Raises:
        ValueError: A limit is not a number above 0.

    Example:
        >>> Limits(at_once=50).call_seconds
        600.0
    """

    at_once: int = 200
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    call_seconds: float = 600.0
    patience: float | None = None
    attempts: int = 6

    def __post_init__(self) -> None:
        for name in ("at_once", "attempts"):
            _check_count(name, getattr(self, name))
        _check_positive("call_seconds", self.call_seconds)
        for name in ("requests_per_minute", "tokens_per_minute", "patience"):
            if getattr(self, name) is not None:
                _check_positive(name, getattr(self, name))


def _check_count(name: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a number above 0, not {value!r}")


log = logging.getLogger("negolab.models")

WEEK = 7 * 86_400.0
TEMPLATE_TOKENS = 64
"""Tokens that a server may add by itself, such as a default system prompt."""
IMPLAUSIBLE_FACTOR = 10
"""Usage beyond this multiple of the worst case is taken to be a counting error of the endpoint."""
INITIAL_RETRY_DELAY, MAX_RETRY_DELAY = 0.25, 30.0
"""Seconds before a call is sent again after a bad response: doubled up to the longest, with 50 % jitter."""


class CallPolicy:
    """Limits, prices, budget and counters that all endpoints of one `Models` share."""

    def __init__(
        self, limits: Limits, prices: Prices, budget: Budget | None, notify: Callable[[str], None] | None
    ) -> None:
        self.limits = limits
        self.prices = prices
        self.budget = budget
        self.usage = UsageCounter()
        self.via_broker = False
        self._notify = notify
        self._jitter = random.Random()

    def for_broker(self) -> CallPolicy:
        """Return the policy for a sweep's broker, which reports costs itself and may queue a call for a week."""
        policy = copy.copy(self)
        policy.via_broker = True
        policy.limits = msgspec.structs.replace(self.limits, call_seconds=WEEK)
        return policy

    def notify(self, line: str) -> None:
        """Log one line and pass it to whoever watches the run."""
        log.warning(line)
        if self._notify is not None:
            self._notify(line)

    def check(self, model: str, params: dict[str, Any]) -> None:
        """Raise ValueError if the budget cannot be kept with this model and these parameters."""
        if self.budget is None:
            return
        if max_output_tokens(params) is None:
            raise ValueError(f"a budget needs a bound on each answer: set max_tokens for {model}")
        if self.budget.usd is not None and self.prices.get(model) is None:
            raise ValueError(
                f"a budget in money needs the price of {model}, which is not known: give it in US dollars per million "
                f"tokens of input and output, such as --price {model}=0.15,0.60 (0,0 for a model of your own), or set "
                "a budget in tokens"
            )

    def worst_case(self, price: Price | None, params: dict[str, Any], size: int) -> Cost:
        """Return the most that a call with a body of `size` bytes can cost: no token is shorter than a byte."""
        input, output = size + TEMPLATE_TOKENS, max_output_tokens(params) or 0
        return Cost(price.max_cost(input, output) if price else 0, input + output)

    def retry_delay(self, failures: int) -> float:
        """Return the seconds to wait after so many bad responses to one call."""
        delay = min(MAX_RETRY_DELAY, INITIAL_RETRY_DELAY * 2.0 ** min(failures - 1, 16))
        return delay * self._jitter.uniform(0.5, 1.5)


def usage_cost(price: Price | None, usage: Usage, worst: Cost) -> Cost:
    """Return the cost of an answer: the worst case where the endpoint did not count, or counted implausibly much."""
    total = usage.total
    if total is None:
        return worst
    cost = Cost((price.cost(usage) if price else None) or 0, total)
    limit = Cost(IMPLAUSIBLE_FACTOR * worst.pico, IMPLAUSIBLE_FACTOR * worst.tokens)
    return worst if cost.pico > limit.pico or cost.tokens > limit.tokens else cost
