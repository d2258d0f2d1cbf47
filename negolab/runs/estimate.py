"""Estimates of what a run will cost and how certain its results will be, from a pilot of its own first games."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from typing_extensions import override

from negolab.analysis.observations import draw_id
from negolab.analysis.replies import iter_replies
from negolab.analysis.stats import t_quantile
from negolab.formatting import format_estimate
from negolab.game import SEATS, Reply
from negolab.llm.models import Models
from negolab.record import Record
from negolab.runs.matchup import Matchup
from negolab.runs.run import Run
from negolab.store import STOPPED, iter_records

SCRIPTED = 20
"""Games per matchup in a pilot without models, which costs nothing."""


def pilot_games(run: Run) -> int:
    """Return how many games of each matchup a pilot plays (one if a model plays)."""
    return 1 if any(matchup.has_model for matchup in run.matchups) else SCRIPTED


class Load(NamedTuple):
    """The cost of games: their number, calls to models, tokens and US dollars (None: a price is unknown)."""

    games: float = 0
    calls: float = 0
    tokens: float = 0
    usd: float | None = 0

    @override
    def __str__(self) -> str:
        games = f"{self.games:,.0f} matches to play"
        if not self.calls:
            return games
        cost = "dollars unknown: give prices with --price" if self.usd is None else f"${self.usd:,.2f}"
        return f"{games}, about {self.calls:,.0f} calls, {self.tokens:,.0f} tokens, {cost}"


def estimate_lines(run: Run) -> Iterator[str]:
    """Yield the cost of the remaining games, judged by the finished ones, and how wide intervals will be."""
    played: dict[Matchup, list[Record]] = {}
    loads: list[Load] = []
    for matchup in run.matchups:
        records = list(iter_records(matchup.store.file))
        played[matchup] = [record for record in records if STOPPED not in record.header.notes]
        loads.append(_load(matchup.plan.n - len(records), played[matchup]))
        if len(run.matchups) > 1:
            yield f"{matchup.store.folder.relative_to(run.folder)}: {loads[-1]}"
    known = [load.usd for load in loads if load.usd is not None]
    usd = sum(known) if len(known) == len(loads) else None
    games, calls, tokens = (sum(amounts) for amounts in list(zip(*loads, strict=True))[:3])
    yield f"in all {Load(games, calls, tokens, usd)}"
    limit, paid = (
        (run.models.policy.budget.usd, run.models.usage.usd) if isinstance(run.models, Models) else (None, 0.0)
    )
    if limit is not None and usd is not None and usd > limit - paid:
        yield f"the budget of ${limit:.2f} runs out after about {max(limit - paid, 0) / usd:.0%} of them"
    by_game: dict[Any, list[Matchup]] = defaultdict(list)
    for matchup in run.matchups:
        by_game[matchup.store.folder.parent].append(matchup)
    for folder, matchups in by_game.items():
        name = f"{folder.name}: " if len(by_game) > 1 else ""
        yield f"{name}{_half_width(matchups, [record for each in matchups for record in played[each]])}"


def _load(left: int, records: list[Record]) -> Load:
    """Return what this many more games cost if they are like the finished ones."""
    answers = [reply for record in records for _, reply, _ in iter_replies(record) if reply and reply.via == "model"]
    times = left / max(len(records), 1)
    costs = [answer.cost for answer in answers if answer.cost is not None]
    usd = times * sum(costs) if len(costs) == len(answers) else None
    return Load(left, times * len(answers), times * sum(map(_tokens, answers)), usd)


def _tokens(answer: Reply) -> int:
    usage = answer.usage or {}
    return sum(count for name in ("input", "output") if isinstance(count := usage.get(name), int))


def _half_width(matchups: list[Matchup], records: list[Record]) -> str:
    """Say how wide the 95% interval of a mean payoff will be.

    With several matchups, it is the interval for a strength, from the variance within draws, which still includes the
    players' differences and therefore errs on the safe side. With one, it is that for a player's mean, from the
    variance between draws.
    """
    plan = matchups[0].plan
    draws = plan.n // plan.games_a_draw
    is_single = len(matchups) == 1
    groups: dict[Hashable, list[float]] = defaultdict(list)
    for record in records:
        for seat in SEATS:
            if (paid := record.payoffs[seat]) is not None:
                groups[(record.header.players[seat] if is_single else draw_id(record), seat)].append(float(paid))
    variance = _pooled_variance(groups.values())
    what = "a mean payoff" if is_single else "a strength"
    if variance is None or draws < 2:
        return f"the width of the interval for {what} cannot be estimated from one match"
    names = {name for matchup in matchups for name in matchup.players}
    games = 1 if is_single else 2 * sum(matchup.plan.games_a_draw for matchup in matchups) / len(names)
    half = t_quantile(draws - 1) * (variance / games / draws) ** 0.5
    return f"{what} will be known to about ± {format_estimate(half, matchups[0].game.unit)} on {draws:,} draws"


def _pooled_variance(groups: Iterable[list[float]]) -> float | None:
    """Return the variance within groups; None if no group has two values."""
    squares, df = 0.0, 0
    for values in groups:
        mean = sum(values) / len(values)
        squares += sum((value - mean) ** 2 for value in values)
        df += len(values) - 1
    return squares / df if df else None
