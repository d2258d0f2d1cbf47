"""Measures of an agenda match: points, the frontier at the start, and how both sides reached the agreement."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from negolab.analysis.measures import flatten_by_seat
from negolab.game import SEATS, Seat, other
from negolab.games.agenda.scenario import PointsTable
from negolab.games.agenda.state import Entry, Position, worth
from negolab.record import Record, final_state
from negolab.theory.agreements import Pair, even_compromise, frontier_of


def points_frontier(state: Position) -> tuple[Pair, ...]:
    """Return the undominated points (A, B) of all agreements; () if there are too many to list."""
    return _frontier(state.private["A"].points, state.private["B"].points)


@lru_cache(maxsize=256)
def _frontier(a: PointsTable, b: PointsTable) -> tuple[Pair, ...]:
    try:
        return frontier_of(a, b).points
    except ValueError:  # too many: the measures that need the frontier are then undefined
        return ()


def details(state: Position, points: dict[Seat, int] | None) -> dict[str, Any]:
    """Return each seat's `points` and counts, and the best points possible at the start, as plain data."""
    best = best_points(state)
    messages = state.public.messages
    return {
        "points": points,
        "joint_points": None if points is None else sum(points.values()),
        "best_joint_points": max((a + b for a, b in points_frontier(state)), default=None),
        "best_share": None if points is None else {seat: _ratio(points[seat], best[seat]) for seat in SEATS},
        "logrolling": logrolling(state),
        "messages": len(messages),
        "offers": {seat: sum(e.offer is not None for e in messages if e.seat == seat) for seat in SEATS},
        "rejections": {seat: rejections(messages, seat) for seat in SEATS},
    }


def best_points(state: Position) -> dict[Seat, int]:
    """Return each seat's points for its own best agreement."""
    return {seat: sum(map(max, state.private[seat].points)) for seat in SEATS}


def logrolling(state: Position) -> int | None:
    """Return how many joint points the agreement has beyond the best equal compromise on each issue; None without an
    agreement."""
    public = state.public
    if public.end != "agreed" or public.standing is None:
        return None
    a, b = (state.private[seat].points for seat in SEATS)
    even = even_compromise(a, b)
    return worth(a, public.standing) + worth(b, public.standing) - worth(a, even) - worth(b, even)


def rejections(messages: tuple[Entry, ...], seat: Seat) -> int:
    """Count the offers that a seat did not accept: it rejected them, made another, or passed over them in silence."""
    return sum(
        before.offer is not None and entry.seat == seat and entry.reply in (None, "reject")
        for before, entry in pairwise(messages)
    )


def concessions(state: Position, seat: Seat) -> dict[str, float | None]:
    """Return how much a seat lowered its claim and raised what it left the other, per message from either seat, from
    its first offer to its last; None with fewer than two offers."""
    messages = state.public.messages
    made = [(at, entry.offer) for at, entry in enumerate(messages) if entry.seat == seat and entry.offer is not None]
    if len(made) < 2:
        return {"own": None, "theirs": None}
    (begin, first), (end, last) = made[0], made[-1]
    own, theirs = state.private[seat].points, state.private[other(seat)].points
    return {
        "own": (worth(own, first) - worth(own, last)) / (end - begin),
        "theirs": (worth(theirs, last) - worth(theirs, first)) / (end - begin),
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def measures(record: Record) -> dict[str, Any]:
    """Return the measures of an agenda match beyond those common to all games.

    Returns:
        joint_points: sum of both seats' points, before discounting
        best_joint_points: largest sum of both seats' points in any agreement
        logrolling: joint points beyond the best equal compromise on each issue
        messages: number of messages from both seats
        points: the seat's points, before discounting
        best_share: the seat's points as a share of those in its own best agreement
        own_concession: how much the seat lowered its claim per message, from its first offer to its last
        theirs_concession: how much the seat raised the points that its offers leave the other, per message
        offers: number of offers by the seat
        rejections: number of the other's offers that the seat did not accept
    """
    state = final_state(record)
    found = record.game.details(state)
    conceded = {seat: concessions(state, seat) for seat in SEATS}
    nothing = dict.fromkeys(SEATS)
    return {
        **{name: found[name] for name in ("joint_points", "best_joint_points", "logrolling", "messages")},
        **flatten_by_seat(
            {
                "points": found["points"] or nothing,
                "best_share": found["best_share"] or nothing,
                "own_concession": {seat: conceded[seat]["own"] for seat in SEATS},
                "theirs_concession": {seat: conceded[seat]["theirs"] for seat in SEATS},
                "offers": found["offers"],
                "rejections": found["rejections"],
            }
        ),
    }


MEASURES = measures
