"""Records as tidy frames: one row per match, per reply, per proposal, or per cell of a sweep.

Paths are read one match at a time: a frame needs the memory of its columns, a Parquet file that of one row group.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from negolab._internal.files import replacing
from negolab.analysis import cells as sweep
from negolab.analysis import measures as measured
from negolab.analysis.columns import (
    Column,
    Columns,
    chunked,
    file_schema,
    inferred,
    to_frame,
    typed_frame,
    write_table,
)
from negolab.analysis.observations import MatchRow
from negolab.analysis.replies import iter_replies, reply_positions
from negolab.analysis.replies import proposals as proposals_of
from negolab.events import Ended, Forfeited, Rejected, Replied
from negolab.formats import open_source
from negolab.formatting import format_model
from negolab.game import SEATS, Invalid, Reply, Seat, other
from negolab.ledger import TOKENS
from negolab.record import Record, encode_set
from negolab.sweeps.status import is_sweep

__all__ = [
    "cells",
    "matches",
    "measures",
    "proposals",
    "replies",
    "to_parquet",
    "turns",
    "with_parameters",
    "write_table",
]

Place = str | os.PathLike[str]
Source = Iterable[Record] | Place
"""Records, or a path as of `formats.open_source`: a file, or the folder of a run, a sweep or published episodes."""
Row = dict[str, Any]


def matches(source: Source) -> pd.DataFrame:
    """Return one row per match: ids, game, players, end, payoffs, and counts of replies by seat.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `MATCHES`, in a sweep with `cell` behind `match`; `*_a` and `*_b` are of the seats. Payoffs are in
        the game's unit (cents in bargaining).

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record; names file and line.
    """
    return _frame(source, "matches")


def turns(source: Source) -> pd.DataFrame:
    """Return one row per reply, in order.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `TURNS`, in a sweep with `cell` behind `match`.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record; names file and line.
    """
    return _frame(source, "turns")


def replies(source: Source) -> pd.DataFrame:
    """Return one row per answer of a language model, including those without a usable text.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `REPLIES`, in a sweep with `cell` behind `match`; `latency` is of the endpoint only.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record; names file and line.
    """
    return _frame(source, "replies")


def proposals(source: Source) -> pd.DataFrame:
    """Return one row per proposal of an accepted reply, with what it would have paid both; each match is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `PROPOSALS`, in a sweep with `cell` behind `match`; empty for games without proposals.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    return _frame(source, "proposals")


def cells(path: Place) -> pd.DataFrame:
    """Return one row per cell of a sweep's folder, by id, of its newest attempt.

    Args:
        path: The folder of a sweep.

    Returns:
        Columns `cell` (its id), `state` (done, failed, timeout, died, refused), `seed`, `repeat`, `seconds`, `attempts`
        (their number), `error` (kind and text), `usd` (cost in US dollars), and one column per parameter: its own name,
        prefixed with `param_` where that is taken. Lists and tables are JSON text.

    Raises:
        ValueError: The folder is not a sweep's, or a status file cannot be read.
    """
    return sweep.cell_frame(Path(path))


def with_parameters(frame: pd.DataFrame, path: Place) -> pd.DataFrame:
    """Add a column for each parameter of the rows' cells to a frame of a sweep.

    Args:
        frame: A frame with the column `cell`.
        path: The folder of the sweep.

    Returns:
        The frame with parameters; `param_` precedes a name that the frame has already, or a column of `cells`.

    Raises:
        ValueError: The frame has no column `cell`, the folder is not a sweep's, or a status file cannot be read.
    """
    return sweep.with_parameters(frame, Path(path))


Name = Literal["matches", "turns", "replies", "proposals"]


def to_parquet(source: Source, out: Place, table: Name = "turns") -> int:
    """Write a table straight to a Parquet file, for runs that are too large for a frame, and return its number of rows.

    The file is written beside `out` and renamed when it is complete.

    Args:
        source: Records, or a path to them.
        out: The file to write; payoffs are floats there.
        table: "matches", "turns", "replies" or "proposals".

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: There is no such table, or a line is not a record.
    """
    rows, columns = _table(source, table)
    schema, count = file_schema(columns), 0
    with replacing(Path(out)) as draft, pq.ParquetWriter(draft, schema) as writer:
        for chunk in chunked(rows, columns):
            writer.write_table(chunk.cast(schema))
            count += len(chunk)
    return count


def measures(source: Source) -> pd.DataFrame:
    """Return one row per match with all measures of `analysis.measures.measure_match`; each match is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        `match`, in a sweep `cell`, and one column per measure, empty in the rows of games that do not have it. Ids of
        matches are unique within a cell only, so join frames of a sweep by both columns.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    names = ["match", "cell"] if _is_sweep(source) else ["match"]
    # By columns: a dict for each of 100,000 rows takes several times the memory.
    columns: dict[str, list[Any]] = {}
    for before, (cell, record) in enumerate(records(source)):
        for name, value in {"match": record.id, "cell": cell, **measured.measure_match(record)}.items():
            columns.setdefault(name, [None] * before).append(value)
        for column in columns.values():
            if len(column) == before:
                column.append(None)
    found = to_frame(pa.table({name: inferred(values) for name, values in columns.items()}))
    return found.reindex(columns=[*names, *found.columns.drop(["match", "cell"], errors="ignore")])


def _frame(source: Source, table: Name) -> pd.DataFrame:
    return typed_frame(*_table(source, table))


def _table(source: Source, name: Name) -> tuple[Iterator[Row], Columns]:
    """Return the rows of a table and its columns."""
    if name not in TABLES:
        raise ValueError(f"no table {name!r}: there are {', '.join(TABLES)}")
    columns, rows = TABLES[name]
    if not _is_sweep(source):
        return (row for _, record in records(source) for row in rows(record)), columns
    found = ({**row, "cell": cell} for cell, record in records(source) for row in rows(record))
    return found, [columns[0], sweep.CELL, *columns[1:]]


def _is_sweep(source: Source) -> bool:
    return isinstance(source, str | os.PathLike) and source != "" and is_sweep(Path(source))


def records(source: Source) -> Iterator[tuple[str | None, Record]]:
    """Yield each record with the id of its cell (None where the source is not a sweep), one at a time."""
    if not isinstance(source, str | os.PathLike):
        yield from ((None, record) for record in source)
    else:
        yield from ((entry.cell, entry.record) for entry in open_source(os.fspath(source)).entries())


# Rows.


def _match(record: Record) -> Iterator[Row]:
    yield match_row(MatchRow.of(record))


def match_row(row: MatchRow) -> Row:
    """Return the columns `MATCHES` of a match."""
    record, header = row.record, row.record.header
    last = record.events[-1]
    seats = {seat.lower(): seat_row(row, seat) for seat in SEATS}
    return {
        "match": header.id,
        "game": header.game,
        "preset": header.preset,
        "seed": header.seed,
        "deal": row.deal,
        "draw": row.draw,
        "deterministic": row.deterministic,
        "chance": row.chance,
        "end": record.end,
        "stopped": row.stopped,
        "reason": last.reason if isinstance(last, Ended) else None,
        **{f"{name}_{seat}": value for seat, own in seats.items() for name, value in own.items()},
        "decided_by_fallback": row.fallbacks.decided,
    }


def seat_row(row: MatchRow, seat: Seat) -> Row:
    """Return the columns of `MATCHES` that each seat has, without the seat in their names."""
    counts = Counter(type(event) for event in row.record.events if getattr(event, "seat", None) == seat)
    own = row.fallbacks.seats[seat]
    return {
        "player": row.record.header.players.get(seat),
        "settings": format_model(note) if (note := row.record.header.notes.get("models", {}).get(seat)) else None,
        "payoff": row.record.payoffs[seat],
        "replies": counts[Replied],
        "rejected": counts[Rejected],
        "forfeits": counts[Forfeited],
        "moves": own.moves,
        "fallbacks": own.fallbacks,
        "fallback_codes": " ".join(cause.code for cause in own.causes) or None,
    }


def _turns(record: Record) -> Iterator[Row]:
    for turn, (event, reply, invalid) in enumerate(iter_replies(record)):
        yield _turn(record, turn, event.seat, reply, invalid)


def _replies(record: Record) -> Iterator[Row]:
    for turn, (event, reply, invalid) in enumerate(iter_replies(record)):
        if reply is not None and reply.via == "model":
            usage = reply.usage or {}
            yield {
                **_turn(record, turn, event.seat, reply, invalid),
                **{f"tokens_{name}": usage.get(name) for name in TOKENS},
                **{name: usage.get(name) for name in ("finish", "latency", "queued", "attempts", "fingerprint")},
                "replayed": bool(usage.get("replayed")),
                "request_id": reply.request_id,
            }


def _turn(record: Record, turn: int, seat: Seat, reply: Reply | None, invalid: Invalid | None) -> Row:
    timed = reply is not None and reply.asked_at is not None and reply.answered_at is not None
    usage = (reply.usage or {}) if reply else {}
    return {
        "match": record.id,
        "turn": turn,
        "seat": seat,
        "player": record.header.players.get(seat),
        "text": reply.text if reply else None,
        "accepted": invalid is None,
        "codes": " ".join(invalid.codes) if invalid else None,
        "kind": invalid.kind if invalid else None,
        "reason": invalid.reason if invalid else None,
        "via": reply.via if reply else None,
        "model": reply.model if reply else None,
        "latency": reply.answered_at - reply.asked_at if timed else None,  # type: ignore[operator, union-attr]
        "cost": reply.cost if reply else None,
        **{f"tokens_{name}": usage[name] for name in TOKENS if name in usage},
    }


def _proposals(record: Record) -> Iterator[Row]:
    turn_of = {at: turn for turn, at in enumerate(reply_positions(record.events))}
    numbers, add_up = Counter[Seat](), record.game.stakes_add_up
    before: dict[Seat, float] = {}
    for made in proposals_of(record):
        own, others = (made.a, made.b) if made.seat == "A" else (made.b, made.a)
        total, last, claim = made.total or {}, before.get(made.seat), made.worths[made.seat]
        numbers[made.seat] += 1
        package = made.terms.get("package")
        yield {
            "match": record.id,
            "turn": turn_of[made.at],
            "seat": made.seat,
            "player": record.header.players.get(made.seat),
            "number": numbers[made.seat],
            "first": numbers.total() == 1,
            "own_payoff": own,
            "other_payoff": others,
            "own_total": total.get(made.seat),
            "other_total": total.get(other(made.seat)),
            "covered": made.total is not None,
            "concession": None if last is None or add_up else last - claim,
            "price_cents": made.terms.get("price_cents"),
            "package": None if package is None else msgspec.json.encode(package, enc_hook=encode_set).decode(),
        }
        before[made.seat] = claim


# Columns.


def _by_seat(name: str, type: Any, meaning: str, unit: str = "") -> list[Column]:
    return [Column(f"{name}_{seat.lower()}", type, meaning.format(seat), unit) for seat in SEATS]


UNIT = "unit of the game"
"""Unit of payoffs in the dictionary, replaced by the game's own where all matches are of one."""
STAKES = "unit of the game's proposals"
"""Unit of what proposals bring, in the same way."""
CONCEDED = (
    "by how much it lowers its author's claim since its last proposal, both worth what they would be in the first "
    "turn; empty where proposals are for one round each, or for different goods"
)

MATCH = Column("match", "text", "id of the match; in a sweep unique within its cell")

MATCHES: Columns = [
    MATCH,
    Column("game", "text", "the game"),
    Column("preset", "text", "preset of the game; empty: its parameters are of no preset"),
    Column("seed", "integer", "seed of the deal; empty: the start was given"),
    Column("deal", "text", "the deal: a hash of game, parameters and start"),
    Column("draw", "text", "the chance in the deal alone, to pair treatments on"),
    Column("deterministic", "boolean", "true: both players draw nothing at random, so that copies of a draw are alike"),
    Column("chance", "boolean", "true: the game drew its start; false: it was given, or there is nothing to draw"),
    *_by_seat("player", "text", "who sat at seat {}"),
    *_by_seat("settings", "text", "label, persona and settings of the model at seat {}, as they were used"),
    Column("end", "text", "AGREED, NO_DEAL, OUT_OF_TIME, FORFEIT or ABORTED; empty: it is not over"),
    Column("stopped", "text", "failed or timed out: the run stopped the match"),
    Column("reason", "text", "why it was stopped, if the rules did not end it"),
    *_by_seat("payoff", "amount", "what seat {} is paid; empty: nothing is paid", UNIT),
    *_by_seat("replies", "integer", "replies of seat {}, rejected ones included"),
    *_by_seat("rejected", "integer", "rejections of seat {}: replies that were no legal action"),
    *_by_seat("forfeits", "integer", "how often seat {} used up its retries"),
    *_by_seat("moves", "integer", "moves of seat {}, those that a rule made for it (fallbacks) included"),
    *_by_seat("fallbacks", "integer", "moves of seat {} that a rule made, because no reply could be used"),
    *_by_seat("fallback_codes", "text", "why: the code of the last rejection before each fallback of seat {}"),
    Column("decided_by_fallback", "boolean", "true: a fallback was the end, the accepted offer or a division"),
]

TURNS: Columns = [
    MATCH,
    Column("turn", "integer", "number of the reply in its match, from 0"),
    Column("seat", "text", "whose reply it is: A or B"),
    Column("player", "text", "who sits at that seat"),
    Column("text", "text", "the words as they came; empty: there was no answer"),
    Column("accepted", "boolean", "true: it was a legal action"),
    Column("codes", "text", "why it was rejected, as codes of the game, by spaces"),
    Column("kind", "text", "kind of the rejection: format, rule or time"),
    Column("reason", "text", "why it was rejected, as its author was told"),
    Column("via", "text", "how the words came in"),
    Column("model", "text", "the model that answered, as its endpoint names it"),
    Column("latency", "number", "time from the question to the answer", "s"),
    Column("cost", "number", "cost of the answer at list price", "US dollars"),
    *(Column(f"tokens_{name}", "integer", f"tokens of the answer: {name}", "tokens") for name in TOKENS),
]

REPLIES: Columns = [
    *TURNS,
    Column("finish", "text", "why the model stopped"),
    Column("queued", "number", "time of waiting for admission", "s"),
    Column("attempts", "integer", "how often it was sent"),
    Column("fingerprint", "text", "the endpoint's name for its build of the model"),
    Column("replayed", "boolean", "true: from the cache of another run, and not paid again"),
    Column("request_id", "text", "the endpoint's id of the request"),
]

PROPOSALS: Columns = [
    MATCH,
    Column("turn", "integer", "the reply that made it, as in turns"),
    Column("seat", "text", "who made it: A or B"),
    Column("player", "text", "who sits at that seat"),
    Column("number", "integer", "number of the proposal among those of its seat, from 1"),
    Column("first", "boolean", "true: the first proposal of the match"),
    Column("own_payoff", "amount", "what it would have brought its author by itself, if accepted", STAKES),
    Column("other_payoff", "amount", "what it would have brought the other seat by itself", STAKES),
    Column("own_total", "amount", "its author's payoff or gain then, earlier rounds or trades included", STAKES),
    Column("other_total", "amount", "the same of the other seat", STAKES),
    Column("covered", "boolean", "false: the other seat did not hold what it asks for, so it could not be accepted"),
    Column("concession", "amount", CONCEDED, STAKES),
    Column("price_cents", "integer", "the price that it names", "cents"),
    Column("package", "json", "what it would give to whom, in games without a price"),
]


class _Table(NamedTuple):
    columns: Columns
    rows: Callable[[Record], Iterator[Row]]


TABLES: dict[str, _Table] = {
    "matches": _Table(MATCHES, _match),
    "turns": _Table(TURNS, _turns),
    "replies": _Table(REPLIES, _replies),
    "proposals": _Table(PROPOSALS, _proposals),
}
"""Columns and rows of each table of records."""
