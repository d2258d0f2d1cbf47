"""A scenario's overview for its author: both tables of points, the frontier, the solutions and the zone of
agreement."""

from __future__ import annotations

import random
from collections.abc import Iterator

from negolab.game import SEATS, Seat
from negolab.games.agenda.reading import option_name
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.scenario import Issue, PointsTable, Row
from negolab.games.agenda.state import Position
from negolab.theory.agreements import (
    MAX_ENUMERATED,
    AgreementFrontier,
    Pair,
    agreement_points,
    count_agreements,
    frontier_of,
    solutions,
)

_NARROW = 40


def overview(game: Agenda) -> str:
    """Describe a scenario for its author, who may see both sides; never for a seat."""
    state = game.deal(random.Random(0))
    return "\n".join([*_head(game), "", *_points(game, state), "", *_results(game, state)])


def _head(game: Agenda) -> Iterator[str]:
    opener = "a drawn seat" if game.opens == "drawn" else game.opens
    yield f"{game.title}: {game.roles.A} (A) and {game.roles.B} (B), {game.turns} messages, {opener} opens"
    if isinstance(game.issues, int):
        yield f"points are drawn from {game.low} to {game.high} in each match; these are drawn with seed 0"
    elif game.draw.permute:
        yield f"values of goods are shuffled for {' and '.join(game.draw.permute)}; these are drawn with seed 0"


def _points(game: Agenda, state: Position) -> Iterator[str]:
    own = {seat: state.private[seat].points for seat in SEATS}
    yield _line("points", "A", "B")
    for at, issue in enumerate(game.agenda):
        if issue.units is not None:
            values = [_unit_value(own[seat][at], seat) for seat in SEATS]
            yield _line(f"{issue.name}, each of {issue.units} units", *values)
            continue
        yield issue.name
        for k in range(issue.size):
            yield _line(f"  {option_name(issue, k)}", own["A"][at][k], own["B"][at][k])
    yield _line("without a deal", *(state.private[seat].reservation for seat in SEATS))
    yield _line("best agreement for each alone", *(sum(map(max, own[seat])) for seat in SEATS))


def _unit_value(row: Row, seat: Seat) -> int:
    return row[1] if seat == "A" else row[-2]


def _line(label: str, a: object, b: object) -> str:
    return f"{label:{_NARROW}} {a!s:>8} {b!s:>8}"


def _results(game: Agenda, state: Position) -> Iterator[str]:
    a, b = (state.private[seat].points for seat in SEATS)
    alone = (state.private["A"].reservation, state.private["B"].reservation)
    yield f"{count_agreements(a):,} agreements"
    try:
        frontier = frontier_of(a, b)
    except ValueError as error:
        yield str(error)
        return
    found = solutions(frontier.points, alone)
    yield f"{len(frontier.points):,} points on the Pareto frontier"
    yield from _zone(a, b, alone, bool(found.nash))
    more = len(found.utilitarian) - 1
    others = f" (and {more} other point{'' if more == 1 else 's'} with as many)" if more else ""
    yield f"best joint points: {_point(game.agenda, frontier, found.utilitarian[more // 2])}{others}"
    for pair in found.nash:
        yield f"Nash point: {_point(game.agenda, frontier, pair)}"


def _zone(a: PointsTable, b: PointsTable, alone: Pair, exists: bool) -> Iterator[str]:
    if not exists:
        yield "no zone of agreement: no agreement gives both as much as they have without a deal"
    elif count_agreements(a) <= MAX_ENUMERATED:
        both = (agreement_points(a) >= alone[0]) & (agreement_points(b) >= alone[1])
        yield f"zone of agreement: {int(both.sum()):,} agreements give both as much as they have without a deal"
    else:
        yield "zone of agreement: there are agreements that give both as much as they have without a deal"


def _point(issues: tuple[Issue, ...], frontier: AgreementFrontier, pair: Pair) -> str:
    agreement = frontier.agreements[frontier.points.index(pair)]
    chosen = (
        f"{issue.name} = {option_name(issue, n) if issue.units is None else f'{n} for A, {issue.units - n} for B'}"
        for issue, n in zip(issues, agreement, strict=True)
    )
    return f"{sum(pair)} = {pair[0]} + {pair[1]}: {'; '.join(chosen)}"


OVERVIEW = overview
