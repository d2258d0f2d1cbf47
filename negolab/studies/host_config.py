"""Configuration of the host process: the database, and the endpoints whose models may take a seat.

It is sent on standard input, so that its secrets appear in no process list or environment.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from typing_extensions import override

from negolab.ledger import Ledger
from negolab.llm.endpoint.errors import RunFailed
from negolab.llm.endpoint.keys import DEFAULT_KEY, URL_NAMES, base_url, read_key
from negolab.llm.endpoint.prices import Prices

if TYPE_CHECKING:
    from negolab.llm.endpoint.endpoint import Endpoint
    from negolab.llm.models import Models


STUDY_PATIENCE = 3.0
"""Seconds that an endpoint itself waits in a study, so that a short rate limit does not interrupt a match."""
AFTER_PATIENCE = "to wait longer, set a longer patience in [models] of the study's file"
"""Advice about an endpoint for which a study has waited in vain."""
LISTED_WITHIN = 5.0
"""Timeout in seconds for listing an endpoint's models."""


class EndpointAddress(msgspec.Struct, frozen=True):
    """Base URL of an endpoint, and the environment variable that holds its key (None: the default variable)."""

    url: str
    key: str | None = None


def parse_endpoint(text: str | None, environment: Mapping[str, str]) -> EndpointAddress:
    """Parse the value of `--base-url`.

    Args:
        text: `http://127.0.0.1:8080/v1` or `https://api.example/v1,key=EXAMPLE_KEY`; None: the environment's address.
        environment: Environment variables.

    Raises:
        ValueError: The address is invalid, or something other than `key=NAME` follows it.
    """
    if text is None:
        return EndpointAddress(base_url(None, environment))
    url, sign, rest = text.partition(",")
    name, _, value = rest.partition("=")
    if sign and (name.strip() != "key" or not value.strip()):
        raise ValueError(f"--base-url {url},...: after the address, write key=NAME (the variable with its key)")
    return EndpointAddress(base_url(url.strip(), environment), value.strip() or None)


class KnownEndpoints:
    """The endpoints that players may use: an `EndpointProvider` limited to those named when the host started.

    Args:
        known: Addresses; the first is the default for players whose names give none.
        models: Makes the endpoints; None: no language models.
    """

    def __init__(self, known: Sequence[EndpointAddress], models: Models | None) -> None:
        self._known, self._models = tuple(known), models

    def endpoint(self, base_url: str | None = None, key: str | None = None) -> Endpoint:
        """Return a known endpoint.

        Args:
            base_url: Its address; None: any address, starting with the first.
            key: Environment variable of its key; None: any.

        Raises:
            ValueError: The address or the key was not named when the host was started.
        """
        if self._models is None or not self._known:
            raise ValueError("no language model is configured: start negolab serve with --base-url URL")
        matching = [each for each in self._known if base_url is None or each.url == base_url.rstrip("/")]
        if not matching:
            listed = ", ".join(known.url for known in self._known)
            raise ValueError(f"no models are configured at {base_url}, only at {listed}: add --base-url URL")
        address = next((each for each in matching if key in (None, each.key)), None)
        if address is None:
            url = matching[0].url
            raise ValueError(f"the key {key} is not configured for the models at {url}: add --base-url {url},key={key}")
        return self._models.endpoint(address.url, address.key)

    def for_study(self) -> KnownEndpoints:
        """Return the same endpoints for a study's matches, which wait for `ModelSeats.patience` and tell their people.

        An endpoint's own patience would pass without notice.
        """
        models = None if self._models is None else self._models.with_patience(STUDY_PATIENCE, AFTER_PATIENCE)
        return KnownEndpoints(self._known, models)

    async def listed(self) -> list[dict[str, Any]]:
        """List the models of all endpoints.

        Returns:
            For each endpoint, a dict with its `url`, the `names` of its models, and `why`, the error that prevented
            listing, or "".
        """
        return list(await asyncio.gather(*map(self._listed, self._known)))

    async def _listed(self, address: EndpointAddress) -> dict[str, Any]:
        names: list[str] = []
        why = ""
        try:
            async with asyncio.timeout(LISTED_WITHIN):
                names = list(await self.endpoint(address.url, address.key).list_models())
        except TimeoutError:
            why = f"{address.url} does not answer"
        except (RunFailed, ValueError) as error:
            why = str(error)
        return {"url": address.url, "names": names, "why": why}


NONE = KnownEndpoints((), None)
"""Provider without any endpoint."""


class HostConfig(msgspec.Struct, frozen=True):
    """Configuration that the launcher sends to the host. It holds secrets; its `repr` shows none."""

    db: str
    """Path or URL of the database."""
    endpoints: tuple[EndpointAddress, ...] = ()
    keys: dict[str, str] = {}
    """API keys by environment variable."""
    budget: float | None = None
    """Limit on model costs in US dollars; None: no limit."""
    prices: tuple[str, ...] = ()
    """Prices of models; see `Prices.parse`."""

    @override
    def __repr__(self) -> str:
        return "HostConfig(...)"

    def line(self) -> bytes:
        """Encode as a line of JSON."""
        return msgspec.json.encode(self) + b"\n"

    def models(self, ledger: Ledger | None = None) -> KnownEndpoints:
        """Create the provider of the configured endpoints; `ledger` has what counts toward their budget (None: a new
        one, in memory)."""
        if not self.endpoints:
            return NONE
        from negolab.llm.endpoint.budget import Budget
        from negolab.llm.models import Models

        budget = Budget(usd=self.budget, ledger=ledger)
        return KnownEndpoints(self.endpoints, Models(budget=budget, keys=self.keys, prices=Prices.parse(self.prices)))


def read_host_config(line: bytes) -> HostConfig:
    """Decode a configuration; the message of the `ValueError` for an invalid line does not quote it."""
    try:
        return msgspec.json.decode(line, type=HostConfig)
    except msgspec.DecodeError:
        raise ValueError("the first line of standard input must describe the host's database as JSON") from None


def build_host_config(
    db: str,
    base_urls: Sequence[str],
    budget: float | None,
    environment: Mapping[str, str],
    prices: Sequence[str] = (),
) -> HostConfig:
    """Build the host's configuration, and check it at the start rather than in the first match against a model.

    Args:
        db: Path or URL of the database.
        base_urls: Values of `--base-url`. If empty, the environment's address is used if set, or the default endpoint
            if its key is set.
        budget: Limit on model costs in US dollars; None: no limit.
        environment: Environment variables; the keys of the endpoints are read from here.
        prices: Values of `--price`.

    Raises:
        ValueError: An address or a price is invalid, a key is not set, or the budget is negative or not finite.
    """
    named: Sequence[str | None] = base_urls or [None] * any(environment.get(name) for name in (*URL_NAMES, DEFAULT_KEY))
    endpoints = tuple(parse_endpoint(text, environment) for text in named)
    for known in endpoints:
        read_key(known.key, environment)
    if budget is not None and not 0 <= budget < math.inf:
        raise ValueError(f"--budget must be at least 0 US dollars, not {budget:g}")
    names = {known.key or DEFAULT_KEY for known in endpoints}
    held = {name: environment[name] for name in sorted(names) if name in environment}
    Prices.parse(prices)
    return HostConfig(db, endpoints, held, budget, tuple(prices))
