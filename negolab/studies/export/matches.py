"""The tables `events` (one row per event) and `matches` (one row per match, seats in columns `a_` and `b_`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped
from negolab.game import SEATS
from negolab.record import encode_event
from negolab.studies.export.source import Column, Played, Source

MATCH = [
    Column("study", "text", "the study's name"),
    Column("match", "text", "id of the match, as in matches and records.jsonl"),
    Column("treatment", "text", "treatment of the match"),
    Column("practice", "integer", "practice round, from 1; 0: the real match"),
]


def event_columns(source: Source) -> list[Column]:
    """Return the columns of `events`."""
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


def event_rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `events`, match by match."""
    return chain.from_iterable(map(_rows, source.matches))


def match_columns(played: Played) -> dict[str, Any]:
    """Return the values of the columns `MATCH`, which identify the match of a row."""
    stored = played.stored
    return {"study": stored.study, "match": stored.id, "treatment": stored.treatment, "practice": stored.practice}


def _rows(played: Played) -> Iterator[dict[str, Any]]:
    before = None
    for seq, (event, time) in enumerate(zip(played.record.events, played.times, strict=False)):
        seat = getattr(event, "seat", None)
        yield {
            **match_columns(played),
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
            paid = {"a_payoff": payoffs["A"], "b_payoff": payoffs["B"]}
            return {"kind": "ended", "end": end, "reason": reason, **paid}


_COUNTED = (("replies", Replied), ("rejected", Rejected), ("forfeits", Forfeited))


def columns(source: Source) -> list[Column]:
    """Return the columns of `matches`."""
    return [
        *MATCH,
        Column("game", "text", "the game"),
        Column("preset", "text", "preset of the game; empty: its parameters are of no preset"),
        Column("seed", "integer", "seed of the deal"),
        Column("began", "time", "when the match was dealt", "UTC"),
        Column("ended", "time", "when it ended; empty: it is running", "UTC"),
        Column("seconds", "number", "from the deal to the end", "s"),
        Column("events", "integer", "number of its events"),
        Column("end", "text", "AGREED, NO_DEAL, OUT_OF_TIME, FORFEIT or ABORTED; empty: it is running"),
        Column("reason", "text", "why it was stopped, if the rules did not end it"),
        Column("withdrawn", "boolean", "true: words are gone because their author withdrew; not in records.jsonl"),
        *[column for seat in SEATS for column in _seat(seat, source.unit)],
        Column(
            "details",
            "json",
            "how it ended in the game's measures, told under details; empty: it is running, or words are gone",
        ),
    ]


def measures(source: Source) -> list[Column]:
    """Return the entries of the JSON column `details`, for the data dictionary."""
    meaning = "measure of the game, in column details of matches; the game's page describes it"
    names = dict.fromkeys(name for played in source.matches for name in _details(played) or ())
    return [Column(name, "json", meaning, source.measures.get(name, "")) for name in names]


def _details(played: Played) -> Mapping[str, Any] | None:
    """Return the game's measures of a match; None if it is running, or text was deleted."""
    outcome = None if played.purged else played.record.outcome
    return None if outcome is None else outcome.details


def _seat(seat: str, unit: str) -> list[Column]:
    name = seat.lower()
    return [
        Column(f"{name}_participant", "integer", f"number of the participant at seat {seat}; empty: none"),
        Column(f"{name}_player", "text", f"who sat at seat {seat}, as the record names it"),
        Column(f"{name}_payoff", "number", f"what seat {seat} is paid; empty: nothing is paid", unit),
        Column(f"{name}_replies", "integer", f"replies of seat {seat}, refused ones included"),
        Column(f"{name}_rejected", "integer", f"refusals of seat {seat}: replies that were no legal action"),
        Column(f"{name}_forfeits", "integer", f"how often seat {seat} used its retries up"),
    ]


def rows(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the rows of `matches`."""
    return map(_row, source.matches)


def _row(played: Played) -> dict[str, Any]:
    header, last, stored = played.record.header, played.record.events[-1], played.stored
    details = _details(played)
    return {
        **match_columns(played),
        "game": header.game,
        "preset": header.preset,
        "seed": header.seed,
        "began": stored.created,
        "ended": stored.ended,
        "seconds": None if stored.ended is None else round(stored.ended - stored.created, 6),
        "events": len(played.record.events),
        "end": played.record.end,
        "reason": last.reason if isinstance(last, Ended) else None,
        "withdrawn": played.purged,
        **_seats(played),
        "details": None if details is None else msgspec.json.encode(details, enc_hook=sorted).decode(),
    }


def _seats(played: Played) -> dict[str, Any]:
    record, cells = played.record, {}
    counts = Counter((type(e), e.seat) for e in record.events if isinstance(e, Replied | Rejected | Forfeited))
    for seat in SEATS:
        own = {
            "participant": played.numbers.get(seat),
            "player": record.header.players.get(seat),
            "payoff": record.payoffs[seat],
            **{name: counts[kind, seat] for name, kind in _COUNTED},
        }
        cells.update({f"{seat.lower()}_{name}": value for name, value in own.items()})
    return cells
