"""Records as tidy frames: one row per match, one row per reply, one row per cell of a sweep.

What is read from a path is read a match at a time: a frame needs the memory of its columns, a Parquet file that of one
row group.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from negolab import store
from negolab.analysis import cells as sweep
from negolab.analysis import columns
from negolab.analysis import measures as measured
from negolab.analysis.columns import FLAG, NUMBER, REAL, TEXT, WHOLE, Columns
from negolab.analysis.said import said as said
from negolab.analysis.summary import TOKENS
from negolab.events import Ended, Forfeited, Rejected, Replied
from negolab.game import SEATS, Invalid, Reply, Seat
from negolab.record import Record

Place = str | os.PathLike[str]
Source = Iterable[Record] | Place
"""Records, a file of records, the folder of a batch, or the folder of a sweep, of which the finished cells are read."""


def matches(source: Source) -> pd.DataFrame:
    """One row per match: `match` (its id), in a sweep `cell`, game, preset, seed, players, end, payoffs, counts of
    replies (all), rejected replies and forfeits by seat. Payoffs are in the game's own units (cents in bargaining).
    `stopped` is "failed" or "timed out" where a run stopped the match, for `reason`. Errors as `store.iterate`."""
    return _frame(source, "matches")


def turns(source: Source) -> pd.DataFrame:
    """One row per reply, in order: `match`, in a sweep `cell`, `turn` (from 0), seat, player, text, whether it was
    accepted, and if not the codes, kind and reason; latency in seconds, tokens, cost in US dollars. A turn without
    words has none."""
    return _frame(source, "turns")


def replies(source: Source) -> pd.DataFrame:
    """One row per answer of a model, also of those that never became words: the columns of `turns` and what the answer
    took. `latency` and `queued` are seconds at the endpoint and before it, `attempts` how often it was asked, `finish`
    why the model stopped; `replayed`: from another run's cache, so that its `cost` was not paid again."""
    return _frame(source, "replies")


def cells(path: Place) -> pd.DataFrame:
    """One row per cell of a sweep's folder, by id, of its newest attempt: `id`, `state` (done, failed, timeout, died,
    refused), seed, repeat, seconds, number of attempts, `error` (its kind and text), `usd` (cost in US dollars), and a
    column per parameter: by its own name, with `param_` before it where that is taken. Lists and tables are JSON text.
    `ValueError` for a folder that is no sweep's and for a status that cannot be read."""
    return sweep.frame(Path(path))


def with_parameters(frame: pd.DataFrame, path: Place) -> pd.DataFrame:
    """A frame of a sweep with a column for each parameter of its rows' cells; `param_` stands before a name that the
    frame has already."""
    return sweep.with_parameters(frame, Path(path))


Name = Literal["matches", "turns", "replies"]


def to_parquet(source: Source, out: Place, table: Name = "turns") -> int:
    """Write a table straight to a Parquet file and say how many rows it has: for what is too large for a frame.
    Payoffs are floats there."""
    return columns.to_parquet(*_table(source, table), Path(out))


def measures(source: Source) -> pd.DataFrame:
    """One row per match: `match`, in a sweep `cell`, and all measures of `analysis.measures.of`, each match replayed.
    What only some of the games have is missing (NaN) in the rows of the others. Two cells may have matches of the same
    id, so that frames of a sweep are joined by both."""
    names = ["match", "cell"] if _is_sweep(source) else ["match"]
    rows = ({"match": record.id, "cell": cell, **measured.of(record)} for cell, record in records(source))
    found = pd.DataFrame(rows)
    return found.reindex(columns=[*names, *found.columns.drop(["match", "cell"], errors="ignore")])


def _frame(source: Source, table: Name) -> pd.DataFrame:
    return columns.frame(*_table(source, table))


def _table(source: Source, name: Name) -> tuple[Iterator[dict[str, Any]], Columns]:
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
    """Each record after the id of its cell (None where the source is no sweep), one at a time."""
    if not isinstance(source, str | os.PathLike):
        yield from ((None, record) for record in source)
    elif _is_sweep(source):
        for cell, folder in sweep.finished(Path(source)):
            yield from ((cell, record) for record in store.iterate(folder))
    else:
        yield from ((None, record) for record in store.iterate(os.fspath(source)))


def _match(record: Record) -> Iterator[dict[str, Any]]:
    header, events = record.header, record.events
    counts = Counter((type(e), e.seat) for e in events if isinstance(e, Replied | Rejected | Forfeited))
    last = events[-1]
    yield {
        "match": header.id,
        "game": header.game,
        "preset": header.preset,
        "seed": header.seed,
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
    for turn, (event, reply, invalid) in enumerate(said(record)):
        yield _turn(record, turn, event.seat, reply, invalid)


def _replies(record: Record) -> Iterator[dict[str, Any]]:
    for turn, (event, reply, invalid) in enumerate(said(record)):
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
"""What a formula begins with, to one spreadsheet or another."""


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write `.csv` or `.parquet`, by the path's ending. In CSV, text that begins like a formula is defused by a leading
    apostrophe; numbers stay numbers."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
        return
    safe = frame.copy()
    for name in safe.select_dtypes(["string", "object"]):
        safe[name] = safe[name].map(_defused, na_action="ignore")
    # RFC 4180 line ends: with these, a lone carriage return in a text is quoted too and ends no row.
    safe.to_csv(path, index=False, lineterminator="\r\n")


def _defused(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_ACTIVE) else cell
