"""What the host is told on its standard input, because no list of processes and no environment should show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
from typing_extensions import override

from negolab.people.endpoints import NONE, At, Endpoints, at
from negolab.players.endpoint.keys import DEFAULT_KEY, URL_NAMES, key


class Briefing(msgspec.Struct, frozen=True):
    """The database's address, the endpoints of models with their keys by variable, and what models may cost (US
    dollars, None: no cap)."""

    db: str
    endpoints: tuple[At, ...] = ()
    keys: dict[str, str] = {}
    budget: float | None = None

    @override
    def __repr__(self) -> str:
        return "Briefing(...)"

    def line(self) -> bytes:
        """As it is sent."""
        return msgspec.json.encode(self) + b"\n"

    def models(self) -> Endpoints:
        """The endpoints, ready to be asked."""
        if not self.endpoints:
            return NONE
        from negolab.players.endpoint.budget import Budget
        from negolab.players.endpoint.models import Models

        cap = None if self.budget is None else Budget(usd=self.budget)
        return Endpoints(self.endpoints, Models(budget=cap, keys=self.keys))


def read(line: bytes) -> Briefing:
    """`ValueError` for what no launcher of ours would send; it is not quoted."""
    try:
        return msgspec.json.decode(line, type=Briefing)
    except msgspec.DecodeError:
        raise ValueError("the first line of standard input must tell the host of its database, as JSON") from None


def briefed(db: str, base_urls: Sequence[str], budget: float | None, environment: Mapping[str, str]) -> Briefing:
    """A briefing with the addresses in `base_urls` and their keys in the environment. Without an address that of the
    environment counts, and without that one a key for the usual endpoint. `ValueError` for an address that is none, a
    key that is not there, and a budget below 0: whoever starts the host hears of it, not who first plays a model."""
    named: Sequence[str | None] = base_urls or [None] * any(environment.get(name) for name in (*URL_NAMES, DEFAULT_KEY))
    endpoints = tuple(at(text, environment) for text in named)
    for known in endpoints:
        key(known.key, environment)
    if budget is not None and not 0 <= budget < math.inf:
        raise ValueError(f"--budget is in US dollars, at least 0, not {budget:g}")
    names = {known.key or DEFAULT_KEY for known in endpoints}
    held = {name: environment[name] for name in sorted(names) if name in environment}
    return Briefing(db, endpoints, held, budget)
