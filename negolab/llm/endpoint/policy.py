"""Call policy shared by all endpoints of a run: limits, prices, budget, retry delays and notifications."""

from __future__ import annotations

import copy
import logging
import random
from collections.abc import Callable

import msgspec

from negolab._internal.validation import Count, Positive, check_fields
from negolab.llm.endpoint.availability import AFTER_PATIENCE
from negolab.llm.endpoint.budget import Budget
from negolab.llm.endpoint.prices import Price, Prices


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Declare the limits of an endpoint.

    Args:
        at_once: Most calls in flight per model; fewer if the endpoint takes fewer.
        requests_per_minute: The provider's limit per model (None: unknown).
        tokens_per_minute: The provider's limit per model (None: unknown).
        call_seconds: Time for one attempt, from sending to the last byte.
        patience: Seconds for which an endpoint that has answered before may be overloaded or unreachable before the run
            stops (None: it waits forever).
        attempts: Number of times that a call is sent before responses without an answer fail its game.

    Raises:
        ValueError: A limit is not a number above 0.

    Example:
        >>> Limits(at_once=50).call_seconds
        600.0
    """

    at_once: Count = 200
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None
    call_seconds: Positive = 600.0
    patience: Positive | None = 600.0
    attempts: Count = 6

    def __post_init__(self) -> None:
        check_fields(self)


log = logging.getLogger("negolab.models")

WEEK = 7 * 86_400.0
BYTES_PER_TOKEN = 3
"""Estimated bytes per input token."""
INITIAL_RETRY_DELAY, MAX_RETRY_DELAY = 0.25, 10.0
"""Seconds before a call is sent again: doubled up to the longest, with 50% jitter."""


class CallPolicy:
    """Limits, prices and budget that all endpoints of one `Models` share."""

    def __init__(
        self, limits: Limits, prices: Prices, budget: Budget | None, notify: Callable[[str], None] | None
    ) -> None:
        self.limits = limits
        self.prices = prices
        self.budget = budget or Budget()
        self.via_broker, self.after_patience = False, AFTER_PATIENCE
        self._notify = notify
        self._jitter = random.Random()
        self._known_prices: dict[str, Price | None] = {}

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

    def check(self, model: str) -> None:
        """Raise ValueError if the budget cannot be kept with this model."""
        if self.budget.usd is not None and self.price(model) is None:
            raise ValueError(
                f"a budget in money needs the price of {model}, which is unknown: add it in US dollars per million "
                f"tokens of input and output, such as --price {model}=0.15,0.60 (0,0 for your own model; in a "
                f'plan under [models]: prices = {{"{model}" = "0.15,0.60"}}), or set a budget in tokens'
            )

    def price(self, model: str) -> Price | None:
        """Return the price of a model, and report once if it is that of the same name without the provider."""
        if model not in self._known_prices:
            price = self._known_prices[model] = self.prices.get(model)
            if price is not None and (name := self.prices.name_for(model)) != model:
                self.notify(
                    f"{model} is priced as {name}: ${price.input:g} in, ${price.output:g} out per million tokens"
                )
        return self._known_prices[model]

    def retry_delay(self, failures: int) -> float:
        """Return the seconds to wait after this many failures of one call."""
        longest = min(MAX_RETRY_DELAY, INITIAL_RETRY_DELAY * 2.0 ** min(failures - 1, 16))
        return longest * self._jitter.uniform(0.5, 1.5)
