"""Configuration of a run's models, and the opening of their cache and budget.

Apart from `models`, because players import that and a participant's kernel must not import a database.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from negolab.llm.endpoint import keys as api_keys
from negolab.llm.endpoint.budget import Budget, BudgetFile
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
    """Open the models of a run in its folder; what the run has paid for before counts towards its budget.

    `listeners` are called with a line when calls have to wait; cache and budget are closed with `resources`.
    """
    from negolab.llm.cache import Cache, PaidTotals, default_file  # SQLAlchemy takes a quarter of a second to import

    file = folder / "answers.db" if configuration.private else default_file()
    cache = None if file is None else Cache(file, run=run)
    if cache is not None:
        resources.callback(cache.close)
    budget = None
    usd, tokens = configuration.usd, configuration.tokens
    if usd is not None or tokens is not None:
        paid = cache.paid() if cache else PaidTotals(0.0, 0, 0)
        budget = Budget(usd=usd, tokens=tokens, prior_usd=paid.usd, prior_tokens=paid.tokens, file=BudgetFile(folder))
        resources.callback(budget.close)
    url = configuration.base_url
    address = {} if url is None else {api_keys.URL_NAMES[0]: api_keys.base_url(url, {})}

    def notify(line: str) -> None:
        for listener in listeners:
            listener(line)

    return Models(
        cache=cache,
        budget=budget,
        limits=configuration.limits,
        keys={**os.environ, **address},
        notify=notify,
        prices=configuration.prices,
    )
