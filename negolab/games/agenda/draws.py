"""Random draws at the deal, the private states that follow, and redraws of what only one seat knows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import msgspec

from negolab.game import SEATS, Seat, State, other
from negolab.games.agenda.parameters import Parameters
from negolab.games.agenda.scenario import Issue, PointsTable, Row, importance, points_table
from negolab.games.agenda.state import Position, Private

Points = dict[Seat, Sequence[Row | int]]
_SPREAD = 30


def draw_points(game: Parameters, rng: random.Random) -> Points:
    """Return both seats' points as a scenario writes them, after all random draws."""
    if isinstance(game.issues, int):
        return _random_points(game, rng)
    points: Points = {}
    for seat in SEATS:
        given = [issue.points(seat) for issue in game.issues]
        rows = [row for row in given if row is not None]
        if len(rows) < len(given):
            raise ValueError(f"the points of {seat} are not known in this view, so nothing can be drawn")
        points[seat] = _permuted(game.issues, rows, rng) if seat in game.draw.permute else rows
    return points


def _permuted(issues: Sequence[Issue], rows: Sequence[Row | int], rng: random.Random) -> list[Row | int]:
    """Shuffle the values of goods among the goods."""
    goods = [at for at, issue in enumerate(issues) if issue.units is not None]
    values = [rows[at] for at in goods]
    rng.shuffle(values)
    drawn = dict(zip(goods, values, strict=True))
    return [drawn.get(at, row) for at, row in enumerate(rows)]


def _random_points(game: Parameters, rng: random.Random) -> Points:
    """Draw every number uniformly from `low` to `high`; B's numbers follow the correlation."""
    a = _random_table(game, rng)
    if game.correlation == 1:
        b = a
    elif game.correlation == -1:
        b = [tuple(game.low + game.high - points for points in row) for row in a]
    else:
        b = _random_table(game, rng)
    return {"A": a, "B": b}


def _random_table(game: Parameters, rng: random.Random) -> list[Row]:
    return [tuple([rng.randint(game.low, game.high) for _ in range(issue.size)]) for issue in game.agenda]


def private_states(game: Parameters, points: Mapping[Seat, Sequence[Row | int]]) -> dict[Seat, Private]:
    """Return what each seat knows, given the points of both."""
    for seat in SEATS:
        if len(points[seat]) != len(game.agenda):
            raise ValueError(f"points of {seat} must have an entry for each of {len(game.agenda)} issues")
    tables = {seat: points_table(game.agenda, points[seat], seat) for seat in SEATS}
    for seat in SEATS:
        for issue, row in zip(game.agenda, tables[seat], strict=True):
            if len(row) != issue.size:
                raise ValueError(f"points of {seat} for {issue.name!r} must be {issue.size} numbers, not {len(row)}")
    return {seat: _private(game, seat, tables) for seat in SEATS}


def _private(game: Parameters, seat: Seat, tables: Mapping[Seat, PointsTable]) -> Private:
    reservation = game.reservation.A if seat == "A" else game.reservation.B
    brief = game.brief.A if seat == "A" else game.brief.B
    if reservation is None or brief is None:
        raise ValueError(f"the reservation value and brief of {seat} are hidden in this view")
    theirs = tables[other(seat)]
    return Private(
        tables[seat],
        reservation,
        brief,
        theirs if game.show == "all" else None,
        importance(theirs) if game.show == "order" else None,
    )


def vary(game: Parameters, state: Position, seat: Seat, rng: random.Random) -> Position:
    """Redraw the reservation value and brief of `seat`, and its points in ways that the other seat does not see: not at
    all if they are shown, and without changing the order of the issues if that is shown."""
    own = state.private[seat]
    varied = msgspec.structs.replace(
        own,
        reservation=own.reservation + rng.randint(1, _SPREAD),
        brief=f"{own.brief} You are told {rng.randint(1, 1000)}.".strip(),
        points=own.points if game.show == "all" else _other_points(game, seat, own.points, rng),
    )
    return State(state.public, {**state.private, seat: varied})


def _other_points(game: Parameters, seat: Seat, points: PointsTable, rng: random.Random) -> PointsTable:
    """Return other points: a multiple of these with another base per issue, or any if their order is not shown
    either."""
    factor = rng.randint(2, 5)
    scaled = []
    for issue, row in zip(game.agenda, points, strict=True):
        if issue.units is not None:
            scaled.append(tuple(factor * n for n in row))
        else:
            base = rng.randint(-_SPREAD, _SPREAD)
            scaled.append(tuple(base + factor * n for n in row))
    if game.show == "order":
        return tuple(scaled)
    return points_table(
        game.agenda,
        [
            tuple(rng.sample(row, len(row))) if issue.units is None else rng.randint(0, _SPREAD)
            for issue, row in zip(game.agenda, scaled, strict=True)
        ],
        seat,
    )
