"""The models of a run: their endpoints, with one call policy for all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy

import msgspec

from negolab.ledger import Cost
from negolab.llm.endpoint import keys as api_keys
from negolab.llm.endpoint.budget import Budget
from negolab.llm.endpoint.call import AnswerStore
from negolab.llm.endpoint.endpoint import Endpoint, Traffic
from negolab.llm.endpoint.policy import CallPolicy, Limits
from negolab.llm.endpoint.prices import Prices

DEFAULTS = Limits()


class Models:
    """Hand out endpoints, one per address and key, that share limits, prices, cache and budget.

    Args:
        cache: Store of answers (None: none).
        budget: The cap for all endpoints together (None: no cap).
        limits: The limits of each model.
        keys: The environment that holds keys and default addresses (None: this process's).
        notify: Called with one line when calls have to wait.
        prices: Prices by model (None: the package's).
    """

    def __init__(
        self,
        *,
        cache: AnswerStore | None = None,
        budget: Budget | None = None,
        limits: Limits = DEFAULTS,
        keys: Mapping[str, str] | None = None,
        notify: Callable[[str], None] | None = None,
        prices: Prices | None = None,
    ) -> None:
        self._cache = cache
        self._environment = os.environ if keys is None else keys
        self.policy = CallPolicy(limits, prices or Prices(), budget, notify)
        """The policy that all endpoints of the run share."""
        self._endpoints: dict[tuple[str, str], Endpoint] = {}

    def endpoint(self, base_url: str | None = None, key: str | None = None) -> Endpoint:
        """Return the endpoint at an address.

        Args:
            base_url: The address (None: $NEGOLAB_BASE_URL, $OPENAI_BASE_URL, or OpenAI's own).
            key: Name of the environment variable that holds the key (None: OPENAI_API_KEY).

        Raises:
            ValueError: The address is invalid, or the variable is not set.
        """
        url = api_keys.base_url(base_url, self._environment)
        name = key or api_keys.DEFAULT_KEY
        endpoint = self._endpoints.get((url, name))
        if endpoint is None:
            # Slow to import, so not in the middle of the first call.
            from negolab.llm.endpoint import client as _  # noqa: F401

            value = api_keys.read_key(key, self._environment)
            endpoint = self._endpoints[url, name] = Endpoint(url, value, self.policy, self._cache)
        return endpoint

    def with_patience(self, seconds: float, after: str) -> Models:
        """Return models whose endpoints wait this long for an answer and then say `after`, with the same budget, prices
        and counters."""
        models = copy(self)
        models.policy = copy(self.policy)
        models.policy.after_patience = after
        models.policy.limits = msgspec.structs.replace(self.policy.limits, patience=seconds)
        models._endpoints = {}
        return models

    def check_key(self, base_url: str | None, key: str | None) -> None:
        """Raise ValueError before the first call if OpenAI itself would be called without a key."""
        url = api_keys.base_url(base_url, self._environment)
        if url == api_keys.DEFAULT_URL and not self._environment.get(key or api_keys.DEFAULT_KEY):
            raise ValueError(
                f"environment variable {key or api_keys.DEFAULT_KEY} is not set: set it to the key for {url}, or "
                f"name another service with --base-url or ${api_keys.URL_NAMES[0]}"
            )

    @property
    def via_broker(self) -> bool:
        """True if all calls so far go to a sweep's broker."""
        return all(endpoint.via_broker for endpoint in self._endpoints.values())

    @property
    def usage(self) -> Cost:
        """Cost of all calls of the run so far."""
        return self.policy.budget.ledger.total

    @property
    def traffic(self) -> Traffic:
        """The current traffic of all endpoints together."""
        each = [endpoint.traffic() for endpoint in self._endpoints.values()]
        return Traffic(sum(t.calls for t in each), sum(t.waiting for t in each), any(t.is_waited_for for t in each))

    async def close(self) -> None:
        """Close all connections of this event loop."""
        for endpoint in self._endpoints.values():
            await endpoint.close()
