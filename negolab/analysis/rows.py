"""Rows of the tables of records: the values for each match, seat, reply and proposal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from negolab._internal.validation import MAX_TIME
from negolab.analysis import measures as measured
from negolab.analysis.claims import judge
from negolab.analysis.columns import Columns
from negolab.analysis.observations import MatchRow, draw_id
from negolab.analysis.replies import (
    Proposal,
    agreeing_reply,
    forfeiting_seat,
    iter_accepted,
    iter_replies,
    reply_positions,
)
from negolab.analysis.replies import proposals as proposals_of
from negolab.analysis.summary import KINDS
from negolab.analysis.table_columns import (
    COUNTED,
    MATCHES,
    PROPOSALS,
    REPLIES,
    ROUNDS,
    SEAT_COLUMNS,
    TURNS,
    UTTERANCES,
)
from negolab.events import Ended, Forfeited, Rejected, Replied
from negolab.formatting import format_model
from negolab.game import SEATS, Invalid, Reply, Seat, observe, other
from negolab.ledger import TOKENS
from negolab.record import Record, encode_set, final_state, kept_for_last, start_state

Row = dict[str, Any]


def _match(record: Record) -> Iterator[Row]:
    yield matched(record)


@kept_for_last
def matched(record: Record) -> Row:
    """Return the columns `MATCHES` for a match."""
    row = MatchRow.of(record)
    header = record.header
    last = record.events[-1]
    seats = {seat.lower(): seat_row(row, seat) for seat in SEATS}
    return {
        "match": header.id,
        "game": header.game,
        "preset": header.preset,
        "treatment": None if (said := header.notes.get("treatment")) is None else str(said),
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
    """Return the columns of `MATCHES` that only the game can provide; empty if it is not imported."""
    try:
        game, begun, agreeing = record.game, start_state(record), agreeing_reply(record)
    except ValueError:
        return {}
    turn, by, reply = agreeing or (None, None, None)
    drawn = {f"own_value_{seat.lower()}": plain(game.own_value(begun, seat)) for seat in SEATS}
    return {**drawn, "accepted_by": by, "accepted_turn": turn, "accepted_at": reply and reply.answered_at}


def plain(value: Any) -> Any:
    """Return a value that one field of a table can hold: numbers and words unchanged, anything else as JSON text."""
    is_plain = value is None or isinstance(value, int | float | str)
    return value if is_plain else msgspec.json.encode(value, enc_hook=encode_set).decode()


def has_agreed(row: Row) -> bool | None:
    """Return True if a match ended in agreement; None if a run stopped it or it is not over."""
    return None if row["end"] is None or row["stopped"] else row["end"] == "AGREED"


def _seats(record: Record) -> Iterator[Row]:
    return seat_rows(record, measured.general_measures(record))


def seat_rows(record: Record, found: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the columns `SEAT_COLUMNS` for both seats of a match from its measures, which may be empty."""
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
        "started": _time(header.created) if header.created else None,
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


def _time(text: str) -> float:
    """Return a time in seconds since 1970; raise ValueError if it is not a time, or is one that no table can hold."""
    time = datetime.fromisoformat(text).timestamp()
    if not 0 <= time < MAX_TIME:
        raise ValueError(f"{text} is not the time of a match")
    return time


_OF_MATCH = (
    *("match", "game", "preset", "treatment", "deal", "draw", "deterministic", "chance"),
    *("end", "stopped", "decided_by_fallback"),
)
_OF_SEAT = ("own_value", "payoff", "replies", "forfeits", "moves", "fallbacks", "cost")
_FAULTS = tuple(f"{kind}_faults" for kind in KINDS)


def _taken(record: Record, seat: Seat) -> Row:
    """Return the cost of a seat's model's answers; each item is None if one of the answers does not report it."""
    answers = _answers(record, seat)
    usages = [reply.usage or {} for reply in answers]
    return {
        "answers": len(answers),
        **{f"tokens_{name}": _sum([usage.get(name) for usage in usages]) for name in COUNTED},
        "seconds": _sum([usage.get("latency") for usage in usages]),
    }


def _answers(record: Record, seat: Seat) -> list[Reply]:
    """Return the answers of a seat's model."""
    replies = (reply for event, reply, _ in iter_replies(record) if event.seat == seat)
    return [reply for reply in replies if reply is not None and reply.via == "model"]


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
        "fallbacks": len(own.causes),
        "fallback_codes": " ".join(cause.code for cause in own.causes) or None,
        "cost": _sum([reply.cost for reply in _answers(row.record, seat)]),
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
        total, last, claim = made.total or {}, before.get(made.seat), made.worths[made.seat]
        numbers[made.seat] += 1
        yield {
            "match": record.id,
            "turn": turn_of[made.at],
            "seat": made.seat,
            "player": record.header.players.get(made.seat),
            "number": numbers[made.seat],
            "first": numbers.total() == 1,
            "own_payoff": made.pays(made.seat),
            "other_payoff": made.pays(other(made.seat)),
            "own_total": total.get(made.seat),
            "other_total": total.get(other(made.seat)),
            "covered": made.total is not None,
            "concession": None if last is None or add_up else last - claim,
            "price_cents": made.terms.get("price_cents"),
            "package": plain(made.terms.get("package")),
        }
        before[made.seat] = claim


def _rounds(record: Record) -> Iterator[Row]:
    found = record.game.details(final_state(record)).get("rounds")
    for row in found if isinstance(found, list) else ():
        of_seats = {name: value for name, value in row.items() if isinstance(value, dict) and set(value) == set(SEATS)}
        yield {
            "match": record.id,
            "draw": draw_id(record),
            **{name: plain(value) for name, value in row.items()},
            **{f"{name}_{seat.lower()}": plain(value[seat]) for name, value in of_seats.items() for seat in SEATS},
        }


def utterance_rows(record: Record) -> Iterator[Row]:
    """Yield the columns `UTTERANCES` for each accepted reply that says something besides its moves, in order.

    Raises:
        ValueError: The record cannot be replayed; the message names the event.
    """
    turn_of = {at: turn for turn, at in enumerate(reply_positions(record.events))}
    game, begun = record.game, start_state(record)
    offers = {made.at: made for made in proposals_of(record)}
    last: dict[Seat, Proposal] = {}
    for at, seat, _, action, before in iter_accepted(record):
        text, made = game.spoken(action), offers.get(at)
        if text.strip():
            claim, is_told = judge(text, game.own_facts(observe(before, seat)))
            yield {
                "match": record.id,
                "draw": draw_id(record),
                "turn": turn_of[at],
                "seat": seat,
                "role": game.role(seat),
                "player": record.header.players.get(seat),
                "text": text,
                "offer": None if made is None else plain(dict(made.terms)),
                "own_value": plain(game.own_value(begun, seat)),
                "own_offer_payoff": last[seat].pays(seat) if seat in last else None,
                "other_offer_payoff": last[other(seat)].pays(seat) if other(seat) in last else None,
                "claim": claim,
                "leak": is_told and game.forbids_telling,
                "end": record.end,
                "payoff": record.payoffs[seat],
            }
        if made is not None:
            last[seat] = made


class _Table(NamedTuple):
    columns: Columns
    rows: Callable[[Record], Iterator[Row]]


TABLES: dict[str, _Table] = {
    "matches": _Table(MATCHES, _match),
    "seats": _Table(SEAT_COLUMNS, _seats),
    "turns": _Table(TURNS, _turns),
    "replies": _Table(REPLIES, _replies),
    "proposals": _Table(PROPOSALS, _proposals),
    "rounds": _Table(ROUNDS, _rounds),
    "utterances": _Table(UTTERANCES, utterance_rows),
}
"""Columns and rows of each table of records."""
