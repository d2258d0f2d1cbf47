"""What players made of their games, models above all: a row per match and seat, and estimates that count a deal once.

A deal is what was dealt; that both agreed is an agreement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from negolab.analysis import measures as measured
from negolab.analysis import stats, tables
from negolab.analysis.said import said
from negolab.analysis.stats import Estimate
from negolab.analysis.summary import KINDS
from negolab.analysis.tables import Source
from negolab.events import Forfeited
from negolab.game import SEATS, Reply, Seat, other
from negolab.record import Record
from negolab.store import STOPPED

COUNTED = ("input", "output", "reasoning")
"""Tokens by what an endpoint counts; those of reasoning are part of the output."""

GROUP = ["setting", "player", "opponent"]
"""Who played what against whom."""


def seats(source: Source) -> pd.DataFrame:
    """One row per match and seat, in a sweep with the `cell` after the `match`. `deal` is the seed, `setting` game and
    preset, `agreed` whether they came to terms.

    `payoff` is the seat's own, `joint` and `possible` are of both together, above what they have without a deal: gains
    in own worth in trading, else in the game's unit. All are None where a run stopped the match (`stopped`).

    `replies` are all, `format`, `rule` and `time` those that were rejected, by what was wrong, `forfeits` how often
    they used up what is allowed, `lost_by` the kind of fault by which this seat ended the match. Of a model also
    `answers`, `tokens_*`, `cost` (US dollars, also of kept answers) and `seconds` at the endpoint; None where one
    answer does not say.
    """
    return pd.DataFrame([row for cell, record in tables.records(source) for row in _seats(record, cell)])


def _seats(record: Record, cell: str | None) -> Iterator[dict[str, Any]]:
    header = record.header
    whole = _whole(record)
    for seat in SEATS:
        yield {
            "match": record.id,
            **({} if cell is None else {"cell": cell}),
            "setting": " ".join(filter(None, (header.game, header.preset))),
            "deal": header.seed,
            "seat": seat,
            "player": header.players.get(seat, "?"),
            "opponent": header.players.get(other(seat), "?"),
            **whole,
            "payoff": None if whole["stopped"] else record.payoffs[seat],
            **_faults(record, seat),
            **_taken(record, seat),
        }


def _whole(record: Record) -> dict[str, Any]:
    """What both seats share."""
    stopped = record.header.notes.get(STOPPED)
    if stopped is None and record.end in (None, "ABORTED"):
        stopped = "unfinished"
    joint, possible = (None, None) if stopped else measured.surplus(record)
    agreed = None if stopped else record.end == "AGREED"
    return {"end": record.end, "stopped": stopped, "agreed": agreed, "joint": joint, "possible": possible}


def _faults(record: Record, seat: Seat) -> dict[str, Any]:
    replies = sum(event.seat == seat for event, _, _ in said(record))
    forfeits = sum(isinstance(event, Forfeited) and event.seat == seat for event in record.events)
    lost = measured.lost_by(record)
    kind = lost[1] if lost and lost[0] == seat else None
    counts: dict[str, int] = {str(of): n for of, n in measured.faults(record)[seat].items()}
    return {"replies": replies, **counts, "forfeits": forfeits, "lost_by": kind}


def _taken(record: Record, seat: Seat) -> dict[str, Any]:
    replies = [reply for event, reply, _ in said(record) if event.seat == seat and reply is not None]
    answers = [reply for reply in replies if reply.via == "model"]
    usages = [reply.usage or {} for reply in answers]
    return {
        "answers": len(answers),
        **{f"tokens_{name}": _sum([usage.get(name) for usage in usages]) for name in COUNTED},
        "cost": _sum([reply.cost for reply in answers]),
        "seconds": _sum([_seconds(reply) for reply in answers]),
    }


def _seconds(reply: Reply) -> float | None:
    seconds: float | None = (reply.usage or {}).get("latency")
    return seconds


def _sum(numbers: Sequence[float | None]) -> float | None:
    """None if there are none, or one of them is not known."""
    known = [number for number in numbers if number is not None]
    return float(sum(known)) if numbers and len(known) == len(numbers) else None


# Names.


def short(players: Iterable[str]) -> dict[str, str]:
    """Names for figures: of a model what tells it from the other models here. Names that would be alike stay whole."""
    whole = list(dict.fromkeys(players))
    settings = {name: name.removeprefix("llm:").split(",") for name in whole if name.startswith("llm:")}
    common = set.intersection(*(set(parts[1:]) for parts in settings.values())) if settings else set()
    told = {
        name: [p for p in parts if p not in common and not p.startswith(_ADDRESS)] for name, parts in settings.items()
    }
    found = {name: ",".join(told.get(name, [name])) for name in whole}
    counts = Counter(found.values())
    return {name: text if counts[text] == 1 else name for name, text in found.items()}


_ADDRESS = ("base_url=", "key=")

# Estimates.


def by_deal(frame: pd.DataFrame, column: str) -> list[float]:
    """One value per deal, the mean of the games played on it, so that values are independent; unknown ones are left
    out."""
    means = frame.dropna(subset=[column]).astype({column: float}).groupby("deal")[column].mean()
    return [float(value) for value in means]


def lead(frame: pd.DataFrame, player: str, baseline: str) -> list[float]:
    """Per deal, what `player` was paid against `baseline` more than `baseline` itself in the same seat of the same
    deal; both seats count alike."""
    return [float(more) for more in stats.differences(frame[frame.opponent == baseline], player, baseline)]


def efficiency(frame: pd.DataFrame) -> list[float]:
    """Per deal, the percentage of the possible joint surplus that was reached; deals that allow none are left out."""
    known = frame.dropna(subset=["joint", "possible"]).astype({"joint": float, "possible": float})
    known = known[known.possible > 0]
    return by_deal(known.assign(share=100 * known.joint / known.possible), "share")


def faulty(frame: pd.DataFrame, kind: str) -> tuple[int, int]:
    """In how many games a player had a reply rejected for this kind of fault (or `forfeits`), and of how many; a game
    against itself is one game."""
    return _games(frame[kind] > 0, frame.match)


def _games(hit: pd.Series[bool], match: pd.Series[str]) -> tuple[int, int]:
    """In how many games, of those in the frame, it happened at a seat."""
    by_game = hit.groupby(match).any()
    return int(by_game.sum()), len(by_game)


def agreements(frame: pd.DataFrame) -> tuple[int, int]:
    """How many games ended in a deal, and of how many that the rules ended."""
    over = frame[frame.stopped.isna()].drop_duplicates("match")
    return int(over.agreed.astype(bool).sum()), len(over)


def measures(frame: pd.DataFrame, unit: str = "points", joint_unit: str | None = None) -> pd.DataFrame:
    """The rows of `seats` as estimates: a row per setting, player, opponent and measure, with its unit, value, 95 %
    interval and n. Shares are over games (Wilson), means over deals (Student's t); a value that is not known is NaN
    with n = 0. Cents become dollars."""
    rows = []
    for group, part in frame.groupby(GROUP, sort=False):
        names = dict(zip(GROUP, group, strict=True))
        found = [*_outcomes(part, unit, joint_unit or unit), *_conduct(part), *_effort(part)]
        rows += [{**names, "measure": what, "unit": of, **e._asdict()} for what, of, e in found]
    return pd.DataFrame(rows)


Found = Iterator[tuple[str, str, Estimate]]


def _outcomes(part: pd.DataFrame, unit: str, joint_unit: str) -> Found:
    games, stopped = part.match.nunique(), part[part.stopped.notna()].match.nunique()
    yield "games", "", _exact(games, games)
    yield "games stopped", "", _exact(stopped, games)
    yield "agreement", "%", _percent(agreements(part))
    yield "own payoff", *_mean_paid(by_deal(part, "payoff"), unit)
    yield "joint surplus", *_mean_paid(by_deal(part, "joint"), joint_unit)
    yield "efficiency", "%", stats.mean(efficiency(part))


def _conduct(part: pd.DataFrame) -> Found:
    for kind in KINDS:
        yield f"{kind} faults", "% of games", _percent(faulty(part, kind))
    yield "allowance used up", "% of games", _percent(faulty(part, "forfeits"))
    for kind in KINDS:
        yield f"lost by {kind}", "% of games", _percent(_games(part.lost_by == kind, part.match))


def _effort(part: pd.DataFrame) -> Found:
    """What the answers of a model took, per game and seat."""
    if not part.answers.any():
        return
    yield "answers", "per game", stats.mean(by_deal(part, "answers"))
    for name in COUNTED:
        yield f"tokens {name}", "per game", stats.mean(by_deal(part, f"tokens_{name}"))
    yield "cost", "US dollars per 1,000 games", stats.mean([1000 * usd for usd in by_deal(part, "cost")])
    yield "seconds", "per game", stats.mean(by_deal(part, "seconds"))


def _exact(value: int, n: int) -> Estimate:
    return Estimate(value, value, value, n)


def _percent(counted: tuple[int, int]) -> Estimate:
    e = stats.share(*counted)
    return Estimate(100 * e.value, 100 * e.low, 100 * e.high, e.n)


def _mean_paid(values: Sequence[float], unit: str) -> tuple[str, Estimate]:
    by = 100 if unit == "cents" else 1
    return "dollars" if unit == "cents" else unit, stats.mean([value / by for value in values])


OUTCOMES = ("games", "games stopped", "agreement", "own payoff", "joint surplus", "efficiency")
CONDUCT = (*(f"{kind} faults" for kind in KINDS), "allowance used up", *(f"lost by {kind}" for kind in KINDS))
EFFORT = ("answers", *(f"tokens {name}" for name in COUNTED), "cost", "seconds")


def overview(estimates: pd.DataFrame, chosen: Sequence[str] = OUTCOMES) -> pd.DataFrame:
    """`measures` for reading: a row per player and opponent, a column per chosen measure, of `value [low, high], n`.
    "unknown" is what an endpoint did not say; who was not asked has no row."""
    shown = estimates[estimates.measure.isin(chosen)]
    shown = shown.assign(
        column=[f"{what} ({of})" if of else what for what, of in zip(shown.measure, shown.unit, strict=True)],
        text=[_text(row) for row in shown.itertuples()],
    )
    rows = list(dict.fromkeys(zip(shown.player, shown.opponent, strict=True)))
    wide = shown.pivot(index=["player", "opponent"], columns="column", values="text")
    wide.columns.name = None
    return wide.loc[rows, list(shown.column.unique())]


_COUNTS = ("games", "games stopped")


def _text(row: Any) -> str:
    if row.n == 0:
        return "unknown"
    if row.measure in _COUNTS:
        return f"{row.value:.0f}"
    interval = f" [{_number(row.low)}, {_number(row.high)}]" if row.low == row.low else ""
    return f"{_number(row.value)}{interval}, n = {row.n}"


def _number(value: float) -> str:
    """Three digits, but whole numbers whole."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
