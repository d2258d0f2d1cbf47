"""Records as tidy frames: one row per match, one row per reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from negolab.analysis.summary import TOKENS
from negolab.events import Ended, Forfeited, Rejected, Replied
from negolab.game import SEATS, Invalid, Reply, Seat
from negolab.record import Record


def matches(records: Iterable[Record]) -> pd.DataFrame:
    """One row per match: `match` (its id), game, preset, seed, players, end, payoffs, counts of replies (all),
    rejected replies and forfeits by seat. Payoffs are in the game's own units (cents in bargaining). `stopped` is
    "failed" or "timed out" where a run stopped the match, for `reason`."""
    return pd.DataFrame([_match(record) for record in records])


def _match(record: Record) -> dict[str, Any]:
    header, events = record.header, record.events
    counts = Counter((type(e), e.seat) for e in events if isinstance(e, Replied | Rejected | Forfeited))
    last = events[-1]
    return {
        "match": header.id,
        "game": header.game,
        "preset": header.preset,
        "seed": header.seed,
        **{f"player_{seat.lower()}": header.players.get(seat) for seat in SEATS},
        "end": record.end,
        "stopped": header.notes.get("stopped"),
        "reason": last.reason if isinstance(last, Ended) else None,
        **{f"payoff_{seat.lower()}": record.payoffs[seat] for seat in SEATS},
        **{
            f"{name}_{seat.lower()}": counts[kind, seat]
            for name, kind in (("replies", Replied), ("rejected", Rejected), ("forfeits", Forfeited))
            for seat in SEATS
        },
    }


def turns(records: Iterable[Record]) -> pd.DataFrame:
    """One row per reply, in order: `match`, `turn` (from 0), seat, player, text, whether it was accepted, and if not
    the codes, kind and reason; latency in seconds, tokens, cost in US dollars. A turn without words has none."""
    return pd.DataFrame([row for record in records for row in _turns(record)])


def replies(records: Iterable[Record]) -> pd.DataFrame:
    """One row per answer of a model, also of those that never became words: the columns of `turns` and what the answer
    took. `latency` and `queued` are seconds at the endpoint and before it, `attempts` how often it was asked, `finish`
    why the model stopped; `replayed`: from another run's cache, so that its `cost` was not paid again."""
    return pd.DataFrame([row for record in records for row in _replies(record)])


def said(record: Record) -> Iterator[tuple[Replied | Rejected, Reply | None, Invalid | None]]:
    """What each ask came to: its event, what was answered if anything was, and what was wrong with it."""
    events = record.events
    for i, event in enumerate(events):
        if isinstance(event, Replied):
            after = events[i + 1] if i + 1 < len(events) else None
            yield event, event.reply, after.invalid if isinstance(after, Rejected) else None
        elif isinstance(event, Rejected) and event.wordless:
            yield event, event.said, event.invalid


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
