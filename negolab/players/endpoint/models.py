"""All models of a run: their endpoints, on common terms."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from negolab.players.endpoint import keys as secrets
from negolab.players.endpoint.budget import Budget
from negolab.players.endpoint.call import Kept
from negolab.players.endpoint.endpoint import Endpoint, Traffic
from negolab.players.endpoint.limits import Limits
from negolab.players.endpoint.prices import Prices
from negolab.players.endpoint.spent import Spent
from negolab.players.endpoint.terms import Terms

DEFAULTS = Limits()


class Models:
    """Hands out endpoints; one per address and key, however often it is asked for.

    `kept` is where answers are kept, `budget` the cap for all of them together, `keys` the environment that holds keys
    and default addresses (None: this process's), `tell` hears a line when a run has to wait, `prices` come with the
    package unless given.
    """

    def __init__(
        self,
        *,
        kept: Kept | None = None,
        budget: Budget | None = None,
        limits: Limits = DEFAULTS,
        keys: Mapping[str, str] | None = None,
        tell: Callable[[str], None] | None = None,
        prices: Prices | None = None,
    ) -> None:
        self._kept = kept
        self._environment = os.environ if keys is None else keys
        self._terms = Terms(limits, prices or Prices(), budget, tell)
        self._endpoints: dict[tuple[str, str], Endpoint] = {}

    def at(self, base_url: str | None = None, key: str | None = None) -> Endpoint:
        """The endpoint at an address (None: $NEGOLAB_BASE_URL, $OPENAI_BASE_URL, or OpenAI's own). `key` names the
        environment variable that holds its key. `ValueError` for an address or a name that cannot be used."""
        url = secrets.base_url(base_url, self._environment)
        name = key or secrets.DEFAULT_KEY
        endpoint = self._endpoints.get((url, name))
        if endpoint is None:
            # What takes long to import is imported here, not in the middle of the first call.
            from negolab.players.endpoint import client as _  # noqa: F401

            found = secrets.key(key, self._environment)
            endpoint = self._endpoints[url, name] = Endpoint(url, found, self._terms, self._kept)
        return endpoint

    def check(self, model: str, params: dict[str, Any]) -> None:
        """`ValueError` before the first call if the budget cannot be kept with this model and these parameters."""
        self._terms.check(model, params)

    @property
    def spent(self) -> Spent:
        """What calls took so far."""
        return self._terms.tally.sums()

    @property
    def traffic(self) -> Traffic:
        """What goes on now at all endpoints together."""
        each = [endpoint.traffic() for endpoint in self._endpoints.values()]
        return Traffic(sum(t.calls for t in each), sum(t.waiting for t in each), any(t.silent for t in each))

    @property
    def budget(self) -> Budget | None:
        return self._terms.budget

    @property
    def prices(self) -> Prices:
        return self._terms.prices

    async def close(self) -> None:
        """End all connections of this event loop."""
        for endpoint in self._endpoints.values():
            await endpoint.close()
