"""The table `matches`: one row per match, what concerns one seat in columns a_ and b_."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from negolab.events import Ended, Forfeited, Rejected, Replied
from negolab.game import SEATS
from negolab.people.export.column import Column
from negolab.people.export.events import MATCH, of_match
from negolab.people.export.source import Played, Source

_COUNTED = (("replies", Replied), ("rejected", Rejected), ("forfeits", Forfeited))


def columns(source: Source) -> list[Column]:
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
    """What stands in `details`, for the dictionary: they are no columns of the table."""
    found = dict.fromkeys(name for played in source.matches for name in _measured(played))
    return [
        Column(name, "json", "measure of the game, in column details of matches; the game's page describes it", unit)
        for name in found
        for unit in [source.measures.get(name, "")]
    ]


def _measured(played: Played) -> dict[str, Any]:
    outcome = None if played.purged else played.record.outcome
    return {} if outcome is None else dict(outcome.details)


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
    for played in source.matches:
        yield _row(played)


def _row(played: Played) -> dict[str, Any]:
    header, last, sat = played.record.header, played.record.events[-1], played.sat
    return {
        **of_match(played),
        "game": header.game,
        "preset": header.preset,
        "seed": header.seed,
        "began": sat.created,
        "ended": sat.ended,
        "seconds": None if sat.ended is None else round(sat.ended - sat.created, 6),
        "events": len(played.record.events),
        "end": played.record.end,
        "reason": last.reason if isinstance(last, Ended) else None,
        "withdrawn": played.purged,
        **_seats(played),
        "details": _details(played),
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


def _details(played: Played) -> str | None:
    outcome = None if played.purged else played.record.outcome
    return None if outcome is None else msgspec.json.encode(outcome.details, enc_hook=sorted).decode()
