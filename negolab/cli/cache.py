"""`negolab cache stats | clear`: the cache of model answers; `negolab calls`: one run's calls in it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from negolab._internal import manifest
from negolab.cli.options import Group
from negolab.runs.plan import Plan

if TYPE_CHECKING:
    from negolab.llm.cache import Cache

app = Group("cache", "Show or delete cached model responses ($NEGOLAB_CACHE).")


def _user_cache() -> AbstractContextManager[Cache | None]:
    """Open the user's cache; print a line if there is none."""
    from negolab.llm.cache import Cache, default_file

    file = default_file()
    if file is None or not file.exists():
        print(f"the cache is empty: there is no {file}" if file else "the cache is off (NEGOLAB_CACHE)")
        return nullcontext()
    return Cache()


@app.command()
def stats() -> None:
    """Show cached answers and their cost by endpoint and model."""
    with _user_cache() as cache:
        if cache is None:
            return
        print(f"{cache.file}, {cache.file.stat().st_size / 1e6:.1f} MB\n")
        for model in cache.stats():
            first, last = (f"{datetime.fromtimestamp(at):%Y-%m-%d}" for at in (model.first, model.last))
            own, cost = f" ({model.own:,} kept for a single run)" if model.own else "", model.cost
            unknown = cost.unpriced + cost.uncounted
            usd = f"${cost.usd:,.2f}" if unknown < cost.answers else "price unknown"
            more = f", of unknown price for {unknown:,}" if unknown and unknown < cost.answers else ""
            print(f"{model.model} at {model.endpoint}\n  {cost.answers:,} answers{own}, {first} to {last}")
            print(f"  {cost.tokens:,} tokens, {usd}{more}")


@app.command()
def clear(
    older: Annotated[float, typer.Option(min=0, metavar="DAYS", help="Only answers at least this many days old.")] = 0,
) -> None:
    """Delete cached answers. An unfinished run then pays for its answers again."""
    with _user_cache() as cache:
        if cache is not None:
            print(f"{cache.clear(older * 86400):,} answers deleted; {cache.file}")


def print_calls(run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")]) -> None:
    """Print every model call in a run as a line of JSON."""
    from negolab.llm.cache import Cache, default_file

    about = manifest.read(run)
    if not isinstance(about.get("run"), str):
        raise ValueError(f"{run} is not a run's folder: use the folder that you passed to `negolab batch --out`")
    plans = [manifest.read(file.parent)["plan"] for file in sorted(run.rglob(manifest.FILE))]
    games = [next(msgspec.convert(plan, Plan).pairings()) for plan in plans if "game" in plan]
    private = run / "answers.db"
    file = private if private.exists() else default_file()
    if file is None or not file.is_file():
        raise ValueError(f"no answers are kept: there is no {file or 'cache; NEGOLAB_CACHE is off'}")
    with Cache(file, run=about["run"]) as cache:
        call = None
        for call in chain.from_iterable(cache.calls(game.id.rpartition("-")[0]) for game in games):
            print(msgspec.json.encode(call).decode())
    if call is None:
        raise ValueError(f"{file} has no calls from {run}: the run called no model, or its answers were deleted")
