"""Results of players, above all language models: a row per match and seat, and estimates that count each deal once.

A deal is a draw of the game's start; coming to terms is called an agreement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from negolab.analysis import measures as measured
from negolab.analysis import stats, tables
from negolab.analysis.fallbacks import Fallbacks, find_fallbacks
from negolab.analysis.observations import deal_columns, drop_copies, frame_sample, sample_text
from negolab.analysis.replies import iter_replies
from negolab.analysis.stats import Estimate
from negolab.analysis.summary import KINDS
from negolab.analysis.tables import Source
from negolab.events import Forfeited
from negolab.formatting import format_significant
from negolab.game import SEATS, Reply, Seat, other
from negolab.record import Record
from negolab.store import STOPPED

COUNTED = ("input", "output", "reasoning")
"""Kinds of tokens that an endpoint counts; `reasoning` tokens are part of `output`."""

GROUP = ["setting", "player", "opponent"]
"""Columns that identify a game, a player and its opponent."""


def seat_frame(source: Source) -> pd.DataFrame:
    """Return one row per match and seat.

    Args:
        source: Records, or a path to them.

    Returns:
        Columns:

        - `match`, in a sweep `cell`, `setting` (game and preset), `deal`, `draw` and `deterministic` (see
          `analysis.observations`), `seat`, `player`, `opponent`.
        - `end`; `stopped`, "failed" or "timed out" where a run stopped the match, "unfinished" where it has no regular
          end, else None; `agreed`, None where the match was stopped.
        - `payoff`, the seat's own, in the game's unit; `joint` and `possible`, the reached and the largest joint
          surplus above no deal (`measures.surplus`). None where the match was stopped.
        - `moves` of the seat, and `fallbacks`: those that a rule made, because no reply could be used; `has_fallback`,
          true if a rule made a move of either seat; `decided_by_fallback`, see `fallbacks.Fallbacks`.
        - `replies` (all); `format`, `rule` and `time`, rejected replies by kind; `forfeits`; `lost_by`, the kind of
          fault by which this seat ended the match.
        - Of a model `answers`, `tokens_*`, `cost` (US dollars, cached answers included) and `seconds` at the endpoint;
          None where one of the answers does not tell.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    return pd.DataFrame([row for cell, record in tables.records(source) for row in _seats(record, cell)])


def _seats(record: Record, cell: str | None) -> Iterator[dict[str, Any]]:
    header = record.header
    whole, of_deal, made = _whole(record), deal_columns(record), find_fallbacks(record)
    for seat in SEATS:
        yield {
            "match": record.id,
            **({} if cell is None else {"cell": cell}),
            "setting": " ".join(filter(None, (header.game, header.preset))),
            **of_deal,
            "seat": seat,
            "player": header.players.get(seat, "?"),
            "opponent": header.players.get(other(seat), "?"),
            **whole,
            "payoff": None if whole["stopped"] else record.payoffs[seat],
            **_moves(made, seat),
            **_faults(record, seat),
            **_taken(record, seat),
        }


def _whole(record: Record) -> dict[str, Any]:
    """Return the columns that both seats share."""
    stopped = record.header.notes.get(STOPPED)
    if stopped is None and record.end in (None, "ABORTED"):
        stopped = "unfinished"
    joint, possible = (None, None) if stopped else measured.surplus(record)
    agreed = None if stopped else record.end == "AGREED"
    return {"end": record.end, "stopped": stopped, "agreed": agreed, "joint": joint, "possible": possible}


def _moves(made: Fallbacks, seat: Seat) -> dict[str, Any]:
    own = made.seats[seat]
    whole = {"has_fallback": made.any, "decided_by_fallback": made.decided}
    return {"moves": own.moves, "fallbacks": own.fallbacks, **whole}


def _faults(record: Record, seat: Seat) -> dict[str, Any]:
    replies = sum(event.seat == seat for event, _, _ in iter_replies(record))
    forfeits = sum(isinstance(event, Forfeited) and event.seat == seat for event in record.events)
    lost = measured.forfeiting_seat(record)
    kind = lost[1] if lost and lost[0] == seat else None
    counts: dict[str, int] = {str(of): n for of, n in measured.faults(record)[seat].items()}
    return {"replies": replies, **counts, "forfeits": forfeits, "lost_by": kind}


def _taken(record: Record, seat: Seat) -> dict[str, Any]:
    """Return the usage columns: answers of a model, their tokens, cost and time."""
    replies = [reply for event, reply, _ in iter_replies(record) if event.seat == seat and reply is not None]
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
    """Sum the numbers; None if there are none or one of them is unknown."""
    known = [number for number in numbers if number is not None]
    return float(sum(known)) if numbers and len(known) == len(numbers) else None


# Names.


def short_names(players: Iterable[str]) -> dict[str, str]:
    """Shorten names of players for figures: a model keeps only the settings in which it differs from the other models.

    Args:
        players: Names of players.

    Returns:
        Name -> short name; names that would become equal stay whole.
    """
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


def deal_means(frame: pd.DataFrame, column: str) -> list[float]:
    """Return one value per deal, the mean over the games on it, so that values are independent; NaN is left out."""
    known = drop_copies(frame.dropna(subset=[column])).astype({column: float})
    return [float(value) for value in known.groupby("deal", sort=False)[column].mean()]


def payoff_leads(frame: pd.DataFrame, player: str, baseline: str) -> list[float]:
    """Return, per deal, by how much `player` was paid more against `baseline` than `baseline` against itself.

    Payoffs are compared in the same seat of the same deal, and averaged over the seats.

    Args:
        frame: The rows of `seat_frame`.
        player: The player to compare.
        baseline: The opponent, and the player whose payoffs are subtracted.
    """
    return [float(more) for more in stats.paired_differences(frame[frame.opponent == baseline], player, baseline)]


def with_own_moves(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out the rows of players all of whose moves against an opponent were made by rules: their payoffs are not
    theirs."""
    sums = frame.groupby(["player", "opponent"])[["moves", "fallbacks"]].transform("sum")
    return frame[(sums["moves"] > sums["fallbacks"]) | (sums["moves"] == 0)]


def with_efficiency(frame: pd.DataFrame) -> pd.DataFrame:
    """Add `efficiency`, the percentage of the possible joint surplus that was reached; NaN where none is possible."""
    joint, possible = frame["joint"].astype(float), frame["possible"].astype(float)
    return frame.assign(efficiency=100 * joint / possible.where(possible > 0))


def share_of(frame: pd.DataFrame, hit: pd.Series[bool]) -> Estimate:
    """Return the share, from 0 to 1, of games in which `hit` is true at a seat; a game against itself counts once."""
    return frame_sample(frame.assign(hit=hit.astype(float)), "hit").share()


def faulty_share(frame: pd.DataFrame, kind: str) -> Estimate:
    """Return the share of games in which a seat had a reply rejected for this kind of fault (or `forfeits`)."""
    return share_of(frame, frame[kind] > 0)


def agreement_share(frame: pd.DataFrame) -> Estimate:
    """Return the share of games that ended in a deal; games that a run stopped count as none."""
    return share_of(frame, frame["agreed"].eq(True))


def estimate_seats(frame: pd.DataFrame, unit: str = "points", joint_unit: str | None = None) -> pd.DataFrame:
    """Estimate the measures of `OUTCOMES`, `CONDUCT` and, for models, `EFFORT` in each group of `GROUP`.

    Args:
        frame: The rows of `seat_frame`.
        unit: Unit of payoffs; cents are converted to dollars.
        joint_unit: Unit of the joint surplus; default: `unit`.

    Returns:
        A row per setting, player, opponent and measure, with `unit`, `value`, 95 % interval `low`, `high`, `n` games
        and `deals`. Games of one deal are taken together; those that a run stopped are no agreement and have no payoff.
        An unknown value is NaN with n = 0. Where a rule made moves in some games (`fallbacks`), their share and that of
        games they decided come first, and each outcome is given once more for the games without such moves; a player
        that made no move of its own has no payoff.
    """
    rows = []
    any_fallback = bool(frame["has_fallback"].any())
    for group, part in frame.groupby(GROUP, sort=False):
        names = dict(zip(GROUP, group, strict=True))
        units = unit, joint_unit or unit
        found = [*_games(part), *_results(part, *units), *_conduct(part), *_effort(part)]
        if any_fallback:
            found += [*_fallbacks(part), *_without_fallbacks(part, *units)]
        rows += [{**names, "measure": what, "unit": of, **e._asdict()} for what, of, e in found]
    return pd.DataFrame(rows)


Found = Iterator[tuple[str, str, Estimate]]


def _games(part: pd.DataFrame) -> Found:
    games, stopped = part.match.nunique(), part[part.stopped.notna()].match.nunique()
    yield "games", "", _exact(games, games)
    yield "games stopped", "", _exact(stopped, games)


def _fallbacks(part: pd.DataFrame) -> Found:
    moves, made = int(part.moves.sum()), int(part.fallbacks.sum())
    yield "moves by a rule", "", _exact(made, moves)
    yield "decided by fallback", "% of games", percent(share_of(part, part.decided_by_fallback))


def _without_fallbacks(part: pd.DataFrame, unit: str, joint_unit: str) -> Found:
    """Yield the results over the games in which the players made all moves themselves."""
    for what, of, estimate in _results(part[~part.has_fallback], unit, joint_unit):
        yield f"{what}{NO_FALLBACK}", of, estimate


def _results(part: pd.DataFrame, unit: str, joint_unit: str) -> Found:
    yield "agreement", "%", percent(agreement_share(part))
    yield "own payoff", *_mean_paid(with_own_moves(part), "payoff", unit)
    yield "joint surplus", *_mean_paid(part, "joint", joint_unit)
    yield "efficiency", "%", frame_sample(with_efficiency(part), "efficiency").mean()


def _conduct(part: pd.DataFrame) -> Found:
    for kind in KINDS:
        yield f"{kind} faults", "% of games", percent(faulty_share(part, kind))
    yield "allowance used up", "% of games", percent(faulty_share(part, "forfeits"))
    for kind in KINDS:
        yield f"lost by {kind}", "% of games", percent(share_of(part, part.lost_by == kind))


def _effort(part: pd.DataFrame) -> Found:
    """Yield tokens, cost and time of a model's answers, per game and seat; nothing for players that are no models."""
    if not part.answers.any():
        return
    yield "answers", "per game", frame_sample(part, "answers").mean()
    for name in COUNTED:
        yield f"tokens {name}", "per game", frame_sample(part, f"tokens_{name}").mean()
    yield "cost", "US dollars per 1,000 games", frame_sample(part, "cost", scale=1000).mean()
    yield "seconds", "per game", frame_sample(part, "seconds").mean()


NO_FALLBACK = ", no fallback"
"""Ends the names of measures over the games in which no rule made a move."""


def _exact(value: int, n: int) -> Estimate:
    return Estimate(value, value, value, n)


def percent(share: Estimate) -> Estimate:
    """Return a share in percent."""
    return share._replace(value=100 * share.value, low=100 * share.low, high=100 * share.high)


def _mean_paid(part: pd.DataFrame, column: str, unit: str) -> tuple[str, Estimate]:
    in_cents = unit == "cents"
    return "dollars" if in_cents else unit, frame_sample(part, column, scale=1 / 100 if in_cents else 1).mean()


_RESULTS = ("agreement", "own payoff", "joint surplus", "efficiency")
OUTCOMES = (
    *("games", "games stopped", "moves by a rule", "decided by fallback"),
    *(name for result in _RESULTS for name in (result, f"{result}{NO_FALLBACK}")),
)
CONDUCT = (*(f"{kind} faults" for kind in KINDS), "allowance used up", *(f"lost by {kind}" for kind in KINDS))
EFFORT = ("answers", *(f"tokens {name}" for name in COUNTED), "cost", "seconds")


def overview_table(estimates: pd.DataFrame, chosen: Sequence[str] = OUTCOMES) -> pd.DataFrame:
    """Format estimates as text: a row per player and opponent, a column per measure, each `value [low, high], n`.

    A value that an endpoint did not report is "unknown".

    Args:
        estimates: The rows of `estimate_seats` of one setting.
        chosen: The measures to show.
    """
    shown = estimates[estimates.measure.isin(chosen)]
    shown = shown.assign(
        column=[f"{what} ({of})" if of else what for what, of in zip(shown.measure, shown.unit, strict=True)],
        text=[_text(row) for row in shown.itertuples()],
    )
    rows = list(dict.fromkeys(zip(shown.player, shown.opponent, strict=True)))
    wide = shown.pivot(index=["player", "opponent"], columns="column", values="text")
    wide.columns.name = None
    order = shown.drop_duplicates("column").sort_values(
        "measure", key=lambda names: names.map(list(chosen).index), kind="stable"
    )
    return wide.loc[rows, list(order.column)]


_COUNTS = ("games", "games stopped")


def _text(row: Any) -> str:
    if row.measure == "moves by a rule":
        return f"{row.value:.0f} of {row.n}"
    if row.n == 0:
        return "n = 0" if row.measure.endswith(NO_FALLBACK) else "unknown"
    if row.measure in _COUNTS:
        return f"{row.value:.0f}"
    interval = f" [{format_significant(row.low)}, {format_significant(row.high)}]" if row.low == row.low else ""
    return f"{format_significant(row.value)}{interval}, {sample_text(row)}"
