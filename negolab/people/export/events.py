"""The table `events`: one row per event of every match, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped
from negolab.people.export.column import Column
from negolab.people.export.source import Played, Source
from negolab.record import encode_event

MATCH = [
    Column("study", "text", "the study's name"),
    Column("match", "text", "id of the match, as in matches and records.jsonl"),
    Column("treatment", "text", "treatment of the match"),
    Column("practice", "integer", "practice round, from 1; 0: the real match"),
]


def columns(source: Source) -> list[Column]:
    return [
        *MATCH,
        Column("seq", "integer", "number of the event in its match, from 0"),
        Column("time", "time", "when the event was kept", "UTC"),
        Column("seconds", "number", "time since the event before it in the match", "s"),
        Column("kind", "text", "dealt, replied, rejected, stepped, forfeited or ended"),
        Column("seat", "text", "whose event it is: A or B; AB: both seats' actions were played at once"),
        Column("participant", "integer", "number of the participant at that seat; empty: a scripted player, or nobody"),
        Column("text", "text", "replied: the words, as they came; [withdrawn] where their author withdrew"),
        Column("via", "text", "replied: how the words came in"),
        Column("codes", "text", "rejected: why, as codes of the game, by spaces"),
        Column("fault", "text", "rejected: format, rule or time"),
        Column("reason", "text", "rejected: why, as its author was told; ended: why the match was stopped"),
        Column("end", "text", "ended: AGREED, NO_DEAL, OUT_OF_TIME, FORFEIT or ABORTED"),
        Column("a_payoff", "number", "ended: what seat A is paid; empty: nothing is paid", source.unit),
        Column("b_payoff", "number", "ended: what seat B is paid; empty: nothing is paid", source.unit),
        Column("body", "json", "the whole event, as in records.jsonl"),
    ]


def rows(source: Source) -> Iterator[dict[str, Any]]:
    for played in source.matches:
        yield from _rows(played)


def of_match(played: Played) -> dict[str, Any]:
    """The cells that place a row in its match."""
    sat = played.sat
    return {"study": sat.study, "match": sat.id, "treatment": sat.treatment, "practice": sat.practice}


def _rows(played: Played) -> Iterator[dict[str, Any]]:
    before = None
    for seq, (event, time) in enumerate(zip(played.record.events, played.times, strict=False)):
        seat = getattr(event, "seat", None)
        yield {
            **of_match(played),
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
    """What is particular to a kind of event."""
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
            paid = {"a_payoff": payoffs["A"], "b_payoff": payoffs["B"]}
            return {"kind": "ended", "end": end, "reason": reason, **paid}
