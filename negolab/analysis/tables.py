"""Records as tidy frames: one row per match, one row per reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from negolab.events import Ended, Forfeited, Rejected, Replied
from negolab.game import SEATS
from negolab.record import Record


def matches(records: Iterable[Record]) -> pd.DataFrame:
    """One row per match: `match` (its id), game, preset, seed, players, end, payoffs, counts of replies (all),
    rejected replies and forfeits by seat. Payoffs are in the game's own units (cents in bargaining)."""
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
    the codes, kind and reason; latency in seconds, tokens, cost in US dollars."""
    return pd.DataFrame([row for record in records for row in _turns(record)])


def _turns(record: Record) -> Iterator[dict[str, Any]]:
    events = record.events
    replies = [i for i, event in enumerate(events) if isinstance(event, Replied) or _wordless(event)]
    for turn, i in enumerate(replies):
        event = events[i]
        after = event if _wordless(event) else events[i + 1] if i + 1 < len(events) else None
        invalid = after.invalid if isinstance(after, Rejected) else None
        reply = event.reply if isinstance(event, Replied) else None
        seat = event.seat if isinstance(event, Replied | Rejected) else None
        timed = reply is not None and reply.asked_at is not None and reply.answered_at is not None
        yield {
            "match": record.id,
            "turn": turn,
            "seat": seat,
            "player": record.header.players.get(seat) if seat else None,
            "text": reply.text if reply else None,
            "accepted": invalid is None,
            "codes": " ".join(invalid.codes) if invalid else None,
            "kind": invalid.kind if invalid else None,
            "reason": invalid.reason if invalid else None,
            "via": reply.via if reply else None,
            "model": reply.model if reply else None,
            "latency": reply.answered_at - reply.asked_at if timed else None,  # type: ignore[operator, union-attr]
            "cost": reply.cost if reply else None,
            **({f"tokens_{name}": n for name, n in reply.usage.items()} if reply and reply.usage else {}),
        }


def _wordless(event: Any) -> bool:
    return isinstance(event, Rejected) and event.wordless


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
