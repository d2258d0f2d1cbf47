"""Configuration of a run's models, and the opening of their cache and budget.

Separate from `models`, because players import that, and a participant's kernel must not import a database.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from negolab.ledger import FILE, NOTHING, Cost, Ledger
from negolab.llm.endpoint import keys as api_keys
from negolab.llm.endpoint.budget import Budget
from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.prices import Prices
from negolab.llm.models import Models


class ModelConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """Address, limits, budget (`usd`, `tokens`) and prices of a run's models.

    With `private`, answers are cached in the run's own folder instead of the user's cache.
    """

    base_url: str | None = None
    limits: Limits = Limits()
    usd: float | None = None
    tokens: int | None = None
    prices: Prices | None = None
    private: bool = False


def open_models(
    configuration: ModelConfiguration,
    folder: Path,
    run: str,
    listeners: Sequence[Callable[[str], None]],
    resources: ExitStack,
) -> Models:
    """Open the models of a run in its folder; what the run has already paid counts toward its budget.

    `listeners` are called with a line when calls have to wait; cache and ledger are closed with `resources`.
    """
    from negolab.llm.cache import Cache, default_file  # SQLAlchemy takes a quarter of a second to import

    file = folder / "answers.db" if configuration.private else default_file()
    cache = None if file is None else Cache(file, run=run)
    if cache is not None:
        resources.callback(cache.close)
    ledger = Ledger(folder / FILE, lambda: _paid_before(folder).max_with(cache.paid() if cache else NOTHING))
    resources.callback(ledger.close)
    url = configuration.base_url
    address = {} if url is None else {api_keys.URL_NAMES[0]: api_keys.base_url(url, {})}

    def notify(line: str) -> None:
        for listener in listeners:
            listener(line)

    return Models(
        cache=cache,
        budget=Budget(usd=configuration.usd, tokens=configuration.tokens, ledger=ledger),
        limits=configuration.limits,
        keys={**os.environ, **address},
        notify=notify,
        prices=configuration.prices,
    )


class _Spent(msgspec.Struct):
    """Contents of `spent.json`, which preceded the ledger: sums, calls in flight at the end, and the most expensive
    call."""

    pico: int = 0
    tokens: int = 0
    flying: int = 0
    dear_pico: int = 0
    dear_tokens: int = 0


def _paid_before(folder: Path) -> Cost:
    """Return the spending that a run of an earlier version recorded; raise `ValueError` if it cannot be read."""
    file = folder / "spent.json"
    if not file.exists():
        return NOTHING
    try:
        spent = msgspec.json.decode(file.read_bytes(), type=_Spent)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{file}: its costs cannot be read ({error}): move the file elsewhere") from None
    dearest = Cost(spent.dear_pico, spent.dear_tokens)
    return Cost(spent.pico, spent.tokens).plus(dearest.times(spent.flying))
