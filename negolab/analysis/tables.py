"""Records as tidy frames: one row per match, per reply, or per cell of a sweep.

Paths are read one match at a time: a frame needs the memory of its columns, a Parquet file that of one row group.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from negolab import store
from negolab.analysis import cells as sweep
from negolab.analysis import measures as measured
from negolab.analysis.observations import deal_columns
from negolab.analysis.replies import iter_replies
from negolab.analysis.summary import TOKENS
from negolab.events import Ended, Forfeited, Rejected, Replied
from negolab.game import SEATS, Invalid, Reply, Seat
from negolab.record import Record

CHUNK = 50_000
"""Rows that are converted to columns at once; also the rows of a Parquet row group."""

TEXT, WHOLE, REAL, FLAG = pa.large_string(), pa.int64(), pa.float64(), pa.bool_()
NUMBER = pa.null()
"""Column type that is inferred: integers or floats; always floats in Parquet."""

Columns = Mapping[str, pa.DataType]
Row = dict[str, Any]


def typed_frame(rows: Iterable[Row], columns: Columns) -> pd.DataFrame:
    """Build a frame that has all `columns` with their types, even without rows.

    As usual in pandas, integers become floats in a column with gaps; so do integers beyond 64 bits.

    Raises:
        ValueError: A value does not fit its column's type.
    """
    chunks = [pa.table({name: pa.array([], kind) for name, kind in columns.items()}), *_chunks(rows, columns)]
    table = pa.concat_tables(chunks, promote_options="permissive")
    del chunks
    found: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    return found


def write_parquet(rows: Iterable[Row], columns: Columns, out: Path) -> int:
    """Write the rows to the Parquet file `out`, one row group at a time, and return their number.

    The file is written beside `out` and renamed when it is complete.

    Raises:
        ValueError: A value does not fit its column's type.
    """
    schema = pa.schema([(name, REAL if kind == NUMBER else kind) for name, kind in columns.items()])
    draft = out.with_name(f"{out.name}.tmp")
    count = 0
    try:
        with pq.ParquetWriter(draft, schema) as writer:
            for chunk in _chunks(rows, columns):
                writer.write_table(chunk.cast(schema))
                count += len(chunk)
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
    return count


def _chunks(rows: Iterable[Row], columns: Columns) -> Iterator[pa.Table]:
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK)):
        yield pa.table({name: _column(name, [row.get(name) for row in chunk], kind) for name, kind in columns.items()})


def _column(name: str, values: list[Any], kind: pa.DataType) -> pa.Array:
    """Build one column; integers that do not fit become floats."""
    try:
        return pa.array(values, None if kind == NUMBER else kind)
    except (pa.ArrowInvalid, OverflowError) as error:
        if kind not in (NUMBER, WHOLE):
            raise ValueError(f"column {name}: {error}") from None
        return pa.array([None if value is None else float(value) for value in values], REAL)
    except pa.ArrowTypeError as error:
        raise ValueError(f"column {name}: {error}") from None


Place = str | os.PathLike[str]
Source = Iterable[Record] | Place
"""Records, a file of records, the folder of a batch, or the folder of a sweep, whose finished cells are read."""


def matches(source: Source) -> pd.DataFrame:
    """Return one row per match: ids, game, players, end, payoffs, and counts of replies by seat.

    Args:
        source: Records, or a path to them.

    Returns:
        Columns `match` (its id), in a sweep `cell`, `game`, `preset`, `seed`, `deal`, `draw` and `deterministic` (see
        `analysis.observations`), `player_*`, `end`, `stopped`, `reason`, `payoff_*`, `replies_*` (all), `rejected_*`
        and `forfeits_*`, where `*` is `a` and `b`. Payoffs are in the game's unit (cents in bargaining). `stopped` is
        "failed" or "timed out" where a run stopped the match, for `reason`.

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
        Columns `match`, in a sweep `cell`, `turn` (from 0), `seat`, `player`, `text` (missing where there was no
        answer), `accepted`, and if it was not, `codes`, `kind` and `reason`; `via`, `model`, `latency` (seconds),
        `cost` (US dollars) and `tokens_*`.

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
        The columns of `turns`, and `finish` (why the model stopped), `queued` (seconds of waiting for admission),
        `attempts`, `fingerprint`, `replayed` (from another run's cache, so that `cost` was not paid again) and
        `request_id`. `latency` is in seconds, at the endpoint only.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record; names file and line.
    """
    return _frame(source, "replies")


def cells(path: Place) -> pd.DataFrame:
    """Return one row per cell of a sweep's folder, by id, of its newest attempt.

    Args:
        path: The folder of a sweep.

    Returns:
        Columns `id`, `state` (done, failed, timeout, died, refused), `seed`, `repeat`, `seconds`, `attempts` (their
        number), `error` (kind and text), `usd` (cost in US dollars), and one column per parameter: its own name,
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
        The frame with parameters; `param_` precedes a name that the frame has already.

    Raises:
        ValueError: The frame has no column `cell`, the folder is not a sweep's, or a status file cannot be read.
    """
    return sweep.with_parameters(frame, Path(path))


Name = Literal["matches", "turns", "replies"]


def to_parquet(source: Source, out: Place, table: Name = "turns") -> int:
    """Write a table straight to a Parquet file, for runs that are too large for a frame, and return its number of rows.

    Args:
        source: Records, or a path to them.
        out: The file to write; payoffs are floats there.
        table: "matches", "turns" or "replies".

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: There is no such table, or a line is not a record.
    """
    return write_parquet(*_table(source, table), Path(out))


def measures(source: Source) -> pd.DataFrame:
    """Return one row per match with all measures of `analysis.measures.measure_match`; each match is replayed.

    Args:
        source: Records, or a path to them.

    Returns:
        `match`, in a sweep `cell`, and one column per measure, NaN in the rows of games that do not have it. Ids of
        matches are unique within a cell only, so join frames of a sweep by both columns.

    Raises:
        FileNotFoundError: There is neither a file nor a folder at `source`.
        ValueError: A line is not a record, or a record cannot be replayed.
    """
    names = ["match", "cell"] if _is_sweep(source) else ["match"]
    rows = ({"match": record.id, "cell": cell, **measured.measure_match(record)} for cell, record in records(source))
    found = pd.DataFrame(rows)
    return found.reindex(columns=[*names, *found.columns.drop(["match", "cell"], errors="ignore")])


def _frame(source: Source, table: Name) -> pd.DataFrame:
    return typed_frame(*_table(source, table))


def _table(source: Source, name: Name) -> tuple[Iterator[dict[str, Any]], Columns]:
    """Return the rows of a table and the types of its columns."""
    if name not in _TABLES:
        raise ValueError(f"no table {name!r}: there are {', '.join(_TABLES)}")
    of, rows = _TABLES[name]
    if not _is_sweep(source):
        return (row for _, record in records(source) for row in rows(record)), of
    found = ({**row, "cell": cell} for cell, record in records(source) for row in rows(record))
    return found, {"match": TEXT, "cell": TEXT, **of}


def _is_sweep(source: Source) -> bool:
    return isinstance(source, str | os.PathLike) and source != "" and sweep.is_sweep(Path(source))


def records(source: Source) -> Iterator[tuple[str | None, Record]]:
    """Yield each record with the id of its cell (None where the source is not a sweep), one at a time."""
    if not isinstance(source, str | os.PathLike):
        yield from ((None, record) for record in source)
    elif _is_sweep(source):
        for cell, folder in sweep.finished_cells(Path(source)):
            yield from ((cell, record) for record in store.iter_records(folder))
    else:
        yield from ((None, record) for record in store.iter_records(os.fspath(source)))


def _match(record: Record) -> Iterator[dict[str, Any]]:
    header, events = record.header, record.events
    counts = Counter((type(e), e.seat) for e in events if isinstance(e, Replied | Rejected | Forfeited))
    last = events[-1]
    yield {
        "match": header.id,
        "game": header.game,
        "preset": header.preset,
        "seed": header.seed,
        **deal_columns(record),
        **{f"player_{seat.lower()}": header.players.get(seat) for seat in SEATS},
        "end": record.end,
        "stopped": header.notes.get(store.STOPPED),
        "reason": last.reason if isinstance(last, Ended) else None,
        **{f"payoff_{seat.lower()}": record.payoffs[seat] for seat in SEATS},
        **{
            f"{name}_{seat.lower()}": counts[kind, seat]
            for name, kind in (("replies", Replied), ("rejected", Rejected), ("forfeits", Forfeited))
            for seat in SEATS
        },
    }


def _turns(record: Record) -> Iterator[dict[str, Any]]:
    for turn, (event, reply, invalid) in enumerate(iter_replies(record)):
        yield _turn(record, turn, event.seat, reply, invalid)


def _replies(record: Record) -> Iterator[dict[str, Any]]:
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


def _turn(record: Record, turn: int, seat: Seat, reply: Reply | None, invalid: Invalid | None) -> dict[str, Any]:
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


Rows = Callable[[Record], Iterator[dict[str, Any]]]


class _Table(NamedTuple):
    columns: Columns
    rows: Rows


def _by_seat(*names: str, kind: Any) -> dict[str, Any]:
    return {f"{name}_{seat.lower()}": kind for name in names for seat in SEATS}


_TOKENS = {f"tokens_{name}": WHOLE for name in TOKENS}
_TURN: Columns = {
    "match": TEXT,
    "turn": WHOLE,
    "seat": TEXT,
    "player": TEXT,
    "text": TEXT,
    "accepted": FLAG,
    **dict.fromkeys(("codes", "kind", "reason", "via", "model"), TEXT),
    "latency": REAL,
    "cost": REAL,
    **_TOKENS,
}
_TABLES: dict[str, _Table] = {
    "matches": _Table(
        {
            "match": TEXT,
            "game": TEXT,
            "preset": TEXT,
            "seed": WHOLE,
            "deal": TEXT,
            "draw": TEXT,
            "deterministic": FLAG,
            **_by_seat("player", kind=TEXT),
            **dict.fromkeys(("end", "stopped", "reason"), TEXT),
            **_by_seat("payoff", kind=NUMBER),
            **_by_seat("replies", "rejected", "forfeits", kind=WHOLE),
        },
        _match,
    ),
    "turns": _Table(_TURN, _turns),
    "replies": _Table(
        {
            **_TURN,
            "finish": TEXT,
            "queued": REAL,
            "attempts": WHOLE,
            "fingerprint": TEXT,
            "replayed": FLAG,
            "request_id": TEXT,
        },
        _replies,
    ),
}

_ACTIVE = ("=", "+", "-", "@", "\t", "\r")
"""Characters that begin a formula in some spreadsheet programs."""


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as Parquet if `path` ends in `.parquet`, else as CSV.

    In CSV, a leading apostrophe keeps text that begins like a formula from being evaluated; numbers are unchanged.
    """
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
        return
    safe = frame.copy()
    for name in safe.select_dtypes(["string", "object"]):
        safe[name] = safe[name].map(_escape_formulas, na_action="ignore")
    # RFC 4180 line ends: with these, pandas also quotes a lone carriage return in a text, which would end the row.
    safe.to_csv(path, index=False, lineterminator="\r\n")


def _escape_formulas(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_ACTIVE) else cell
