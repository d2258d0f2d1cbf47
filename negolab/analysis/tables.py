"""Records as tidy frames: one row per match, per reply, per proposal, or per cell of a sweep.

Paths are read one match at a time: a frame needs the memory of its columns, a Parquet file that of one row group.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
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
    Columns,
    chunked,
    file_schema,
    inferred,
    to_frame,
    typed_frame,
    unify,
    write_table,
)
from negolab.analysis.observations import MatchRow
from negolab.analysis.parts import work_on
from negolab.analysis.replies import agreeing_reply, forfeiting_seat, iter_replies, reply_positions
from negolab.analysis.replies import proposals as proposals_of
from negolab.analysis.summary import KINDS
from negolab.analysis.table_columns import COUNTED, MATCHES, PROPOSALS, REPLIES, SEAT_COLUMNS, TURNS
from negolab.events import Ended, Forfeited, Rejected, Replied
from negolab.formats import Part, open_source
from negolab.formatting import format_model
from negolab.game import SEATS, Invalid, Reply, Seat, other
from negolab.ledger import TOKENS
from negolab.record import Record, encode_set, kept_for_last, start_state
from negolab.sweeps.status import is_sweep

__all__ = [
    "cells",
    "matches",
    "measures",
    "proposals",
    "replies",
    "seats",
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


def seats(source: Source) -> pd.DataFrame:
    """Return one row per match and seat: role, player, own value, payoff, gain, first offer, faults and a model's cost;
    each is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        The columns `SEAT_COLUMNS`, in a sweep with `cell` behind `match`.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    return _frame(source, "seats")


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


Name = Literal["matches", "seats", "turns", "replies", "proposals"]


def to_parquet(source: Source, out: Place, table: Name = "turns") -> int:
    """Write a table straight to a Parquet file, for runs that are too large for a frame, and return its number of rows.

    The file is written beside `out` and renamed when it is complete.

    Args:
        source: Records, or a path to them.
        out: The file to write; payoffs are floats there, own values and first offers text.
        table: "matches", "seats", "turns", "replies" or "proposals".

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
    found, parts = list[pa.Table](), _parts(source)
    if parts is None:
        found.append(_measured(records(source)))
    else:
        work_on([partial(_measure_part, part) for part in parts], found.append, "measures", parts)
    table = to_frame(unify(found))
    return table.reindex(columns=[*names, *table.columns.drop(["match", "cell"], errors="ignore")])


def _parts(source: Source) -> list[Part] | None:
    """Return the parts of a source that is a path; None where there are none."""
    return open_source(os.fspath(source)).parts() if isinstance(source, str | os.PathLike) else None


def _measure_part(part: Part) -> pa.Table:
    return _measured((entry.cell, entry.record) for entry in part.entries())


def _measured(found: Iterable[tuple[str | None, Record]]) -> pa.Table:
    # By columns: a dict for each of 100,000 rows takes several times the memory.
    columns: dict[str, list[Any]] = {}
    for before, (cell, record) in enumerate(found):
        for name, value in {"match": record.id, "cell": cell, **measured.measure_match(record)}.items():
            columns.setdefault(name, [None] * before).append(value)
        for column in columns.values():
            if len(column) == before:
                column.append(None)
    return pa.table({name: inferred(values) for name, values in columns.items()})


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
    yield matched(record)


@kept_for_last
def matched(record: Record) -> Row:
    """Return the columns `MATCHES` of a match."""
    row = MatchRow.of(record)
    header = record.header
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
        **_of_game(record),
        "decided_by_fallback": row.fallbacks.decided,
    }


def _of_game(record: Record) -> Row:
    """Return the columns of `MATCHES` that only the game can tell; none where it is not imported."""
    try:
        game, begun, agreeing = record.game, start_state(record), agreeing_reply(record)
    except ValueError:
        return {}
    turn, by, reply = agreeing or (None, None, None)
    drawn = {f"own_value_{seat.lower()}": plain(game.own_value(begun, seat)) for seat in SEATS}
    return {**drawn, "accepted_by": by, "accepted_turn": turn, "accepted_at": reply and reply.answered_at}


def plain(value: Any) -> Any:
    """Return a value that one field of a table can hold: numbers and words as they are, else JSON text."""
    is_plain = value is None or isinstance(value, int | float | str)
    return value if is_plain else msgspec.json.encode(value, enc_hook=encode_set).decode()


def has_agreed(row: Row) -> bool | None:
    """Return True if a match ended in agreement; None where a run stopped it or it is not over."""
    return None if row["end"] is None or row["stopped"] else row["end"] == "AGREED"


def _seats(record: Record) -> Iterator[Row]:
    return seat_rows(record, measured.general_measures(record))


def seat_rows(record: Record, found: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the columns `SEAT_COLUMNS` of both seats of a match from its measures, which may be none."""
    row, header, lost = matched(record), record.header, forfeiting_seat(record)
    notes, names = header.notes.get("models", {}), {seat: header.players.get(seat) for seat in SEATS}
    labels = {seat: notes.get(seat, {}).get("label") or name for seat, name in names.items()}
    terms: dict[Seat, Mapping[str, Any]] = {}
    for made in proposals_of(record) if found else ():
        terms.setdefault(made.seat, made.terms)
    whole = {
        **{name: row[name] for name in _OF_MATCH},
        **{name: found.get(name) for name in ("joint", "possible")},
        "agreed": has_agreed(row),
        "has_fallback": bool(row["fallbacks_a"] or row["fallbacks_b"]),
        "started": datetime.fromisoformat(header.created).timestamp() if header.created else None,
        "version": header.negolab or None,
    }
    for seat in SEATS:
        at, first = f"_{seat.lower()}", terms.get(seat, {})
        yield {
            **whole,
            "seat": seat,
            "role": record.game.role(seat),
            "player": names[seat],
            "label": labels[seat],
            "opponent": names[other(seat)],
            "opponent_label": labels[other(seat)],
            **{name: row.get(f"{name}{at}") for name in _OF_SEAT},
            **{name: found.get(f"{name}{at}") for name in ("gain", "surplus_share", *_FAULTS)},
            "first_offer": first.get("price_cents", plain(first.get("package"))),
            "first_offer_payoff": found.get(f"first_offer_payoff{at}"),
            "lost_by": lost[1] if lost and lost[0] == seat else None,
            **_taken(record, seat),
        }


_OF_MATCH = (
    *("match", "game", "preset", "deal", "draw", "deterministic", "chance"),
    *("end", "stopped", "decided_by_fallback"),
)
_OF_SEAT = ("own_value", "payoff", "replies", "forfeits", "moves", "fallbacks")
_FAULTS = tuple(f"{kind}_faults" for kind in KINDS)


def _taken(record: Record, seat: Seat) -> Row:
    """Return what the answers of a seat's model took; of each, None where one of the answers does not tell."""
    replies = [reply for event, reply, _ in iter_replies(record) if event.seat == seat and reply is not None]
    answers = [reply for reply in replies if reply.via == "model"]
    usages = [reply.usage or {} for reply in answers]
    return {
        "answers": len(answers),
        **{f"tokens_{name}": _sum([usage.get(name) for usage in usages]) for name in COUNTED},
        "cost": _sum([reply.cost for reply in answers]),
        "seconds": _sum([usage.get("latency") for usage in usages]),
    }


def _sum(numbers: Sequence[float | None]) -> float | None:
    """Sum the numbers; None if there are none or one of them is unknown."""
    known = [number for number in numbers if number is not None]
    return float(sum(known)) if numbers and len(known) == len(numbers) else None


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
        "legal": invalid is None,
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
            "package": plain(made.terms.get("package")),
        }
        before[made.seat] = claim


class _Table(NamedTuple):
    columns: Columns
    rows: Callable[[Record], Iterator[Row]]


TABLES: dict[str, _Table] = {
    "matches": _Table(MATCHES, _match),
    "seats": _Table(SEAT_COLUMNS, _seats),
    "turns": _Table(TURNS, _turns),
    "replies": _Table(REPLIES, _replies),
    "proposals": _Table(PROPOSALS, _proposals),
}
"""Columns and rows of each table of records."""
