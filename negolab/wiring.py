"""How a run reaches its models: address, limits, prices, budget, and where their answers are kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from negolab.players.endpoint.keys import URL_NAMES, base_url
from negolab.players.endpoint.limits import Limits
from negolab.players.endpoint.models import Models
from negolab.players.endpoint.prices import Prices


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """How a run reaches its models, what they may cost it, and where their answers are kept: for all runs together, or
    (`private`) in the run's own folder."""

    base_url: str | None = None
    limits: Limits = Limits()
    usd: float | None = None
    tokens: int | None = None
    prices: Prices | None = None
    private: bool = False


def wired(wiring: Wiring, folder: Path, run: str, heard: Sequence[Callable[[str], None]], held: ExitStack) -> Models:
    """The models of a run in its folder: what it paid for before it was stopped counts towards its budget. `heard` is
    told when they make it wait; what has to be closed is held."""
    from negolab.players.cache import Cache, Paid, place  # a quarter of a second to import
    from negolab.players.endpoint.account import Account
    from negolab.players.endpoint.budget import Budget

    file = folder / "answers.db" if wiring.private else place()
    kept = None if file is None else Cache(file, run=run)
    if kept is not None:
        held.callback(kept.close)
    budget = None
    if wiring.usd is not None or wiring.tokens is not None:
        paid, account = kept.spent() if kept else Paid(0.0, 0, 0), Account(folder)
        budget = Budget(usd=wiring.usd, tokens=wiring.tokens, spent=paid.usd, spent_tokens=paid.tokens, account=account)
        held.callback(budget.close)
    named = {} if wiring.base_url is None else {URL_NAMES[0]: base_url(wiring.base_url, {})}

    def tell(line: str) -> None:
        for hear in heard:
            hear(line)

    return Models(
        kept=kept,
        budget=budget,
        limits=wiring.limits,
        keys={**os.environ, **named},
        tell=tell,
        prices=wiring.prices,
    )
