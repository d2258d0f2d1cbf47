"""The table `events` (one row per event), and what a study knows of a match beside its record."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from negolab.analysis.columns import Column
from negolab.analysis.tables import MATCH
from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped
from negolab.game import SEATS
from negolab.record import encode_event
from negolab.studies.export.source import Played, Source

_EXPERIMENT = [
    Column("study", "text", "the study's name"),
    Column("treatment", "text", "treatment of the match"),
    Column("practice", "integer", "practice round, from 1; 0: the real match"),
]

KEYS = [
    *_EXPERIMENT,
    *(Column(f"participant_{seat.lower()}", "integer", f"participant at seat {seat}; empty: none") for seat in SEATS),
    *(
        Column(
            f"round_{seat.lower()}",
            "integer",
            f"number of the match among those that count of participant_{seat.lower()}",
        )
        for seat in SEATS
    ),
    Column("began", "time", "when the match was dealt", "UTC"),
    Column("ended", "time", "when it ended; empty: it is running", "UTC"),
    Column("seconds", "number", "from the deal to the end", "s"),
    Column("events", "integer", "number of its events"),
    Column("disclosure", "text", "what people were told about who sat across; empty: nothing"),
    Column("fallback", "text", "the player that took over from a model that failed; end: the match was stopped"),
    Column("fallback_reason", "text", "why the model failed"),
    Column("withdrawn", "boolean", "true: words are gone because a participant withdrew; not in records.jsonl"),
]
"""Columns of `matches` beside those of any export."""


def match_keys(played: Played) -> dict[str, Any]:
    """Return the values of `KEYS`."""
    stored = played.stored
    return {
        **_experiment(played),
        **{f"participant_{seat.lower()}": played.numbers.get(seat) for seat in SEATS},
        **{f"round_{seat.lower()}": played.rounds.get(seat) for seat in SEATS},
        "began": stored.created,
        "ended": stored.ended,
        "seconds": None if stored.ended is None else round(stored.ended - stored.created, 6),
        "events": len(played.record.events),
        "disclosure": played.disclosure or None,
        "fallback": None if played.fallback is None else played.fallback.player or "end",
        "fallback_reason": None if played.fallback is None else played.fallback.reason,
        "withdrawn": played.purged,
    }


def _experiment(played: Played) -> dict[str, Any]:
    stored = played.stored
    return {"study": stored.study, "treatment": stored.treatment, "practice": stored.practice}


def event_columns(source: Source) -> list[Column]:
    """Return the columns of `events`."""
    return [
        *_EXPERIMENT,
        MATCH,
        Column("seq", "integer", "number of the event in its match, from 0"),
        Column("time", "time", "when the event was kept", "UTC"),
        Column("seconds", "number", "time since the event before it in the match", "s"),
        Column("kind", "text", "dealt, replied, rejected, stepped, forfeited or ended"),
        Column("seat", "text", "whose event it is: A or B; AB: both seats' actions were played at once"),
        Column("participant", "integer", "number of the participant at that seat; empty: a scripted player, or nobody"),
        Column("text", "text", "replied: the words, as they came; [withdrawn] where a participant withdrew"),
        Column("via", "text", "replied: how the words came in"),
        Column("codes", "text", "rejected: why, as codes of the game, by spaces"),
        Column("fault", "text", "rejected: format, rule or time"),
        Column("reason", "text", "rejected: why, as its author was told; ended: why the match was stopped"),
        Column("end", "text", "ended: AGREED, NO_DEAL, OUT_OF_TIME, FORFEIT or ABORTED"),
        Column("payoff_a", "number", "ended: what seat A is paid; empty: nothing is paid", source.unit),
        Column("payoff_b", "number", "ended: what seat B is paid; empty: nothing is paid", source.unit),
        Column("body", "json", "the whole event, as in records.jsonl"),
    ]


def event_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `events`, match by match."""
    return chain.from_iterable(map(_rows, source.matches))


def _rows(played: Played) -> Iterator[dict[str, Any]]:
    before = None
    for seq, (event, time) in enumerate(zip(played.record.events, played.times, strict=False)):
        seat = getattr(event, "seat", None)
        yield {
            **_experiment(played),
            "match": played.stored.id,
            "seq": seq,
            "time": time,
            "seconds": None if before is None else round(time - before, 6),
            "seat": seat,
            "participant": played.numbers.get(seat) if seat else None,
            **_told(event),
            "body": encode_event(event).decode(),
        }
        before = time


def _told(event: Event) -> dict[str, Any]:
    """Return the kind of an event and the columns that only this kind fills."""
    match event:
        case Dealt():
            return {"kind": "dealt"}
        case Replied(_, reply):
            return {"kind": "replied", "text": reply.text, "via": reply.via}
        case Rejected(_, invalid):
            why = {"codes": " ".join(invalid.codes), "fault": invalid.kind, "reason": invalid.reason}
            return {"kind": "rejected", **why}
        case Stepped(seats):
            return {"kind": "stepped", "seat": "".join(seats)}
        case Forfeited():
            return {"kind": "forfeited"}
        case Ended(end, payoffs, reason):
            paid = {"payoff_a": payoffs["A"], "payoff_b": payoffs["B"]}
            return {"kind": "ended", "end": end, "reason": reason, **paid}
