"""Measures of one match, as pure functions of its record: those that mean the same in every game, and with `of` also
those of the game's own (`balloon`, `bargaining`, `split`, `trading` beside this module).

Gains, offers and distances are counted in the game's `stake_unit`, or in its `unit` (cents in bargaining) where it has
none. Every function replays the record as far as it must; `ValueError` where it cannot be replayed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from itertools import pairwise
from math import hypot
from typing import Any

from negolab import catalog
from negolab.analysis.proposals import Proposal, proposals
from negolab.analysis.said import said
from negolab.analysis.summary import KINDS
from negolab.events import Forfeited, Stepped
from negolab.game import SEATS, Kind, Seat
from negolab.record import Record, final, opened, start
from negolab.theory.solutions import nash_point

BySeat = dict[Seat, float | None]
Pair = tuple[float, float]


def of(record: Record) -> dict[str, Any]:
    """All measures of a match by name, general ones first: numbers, True or False, None where undefined. A measure of
    each seat has two names, ending in `_a` and `_b`."""
    record = opened(record)
    own, claims = gains(record), _claims(record)
    joint, possible = _surplus(record, own)
    by_seat = {
        "gain": own,
        "surplus_share": _shares(own, joint),
        "first_offer": _first(claims),
        "concession": _steps(record, claims),
    }
    return {
        "joint": joint,
        "possible": possible,
        "efficiency": _ratio(joint, possible),
        "frontier_distance": _from_frontier(record, own),
        "nash_distance": _from_nash(record, own),
        "turns_to_deal": turns_to_deal(record),
        **flat(by_seat),
        **{f"{kind}_faults_{seat.lower()}": n for seat, found in faults(record).items() for kind, n in found.items()},
        **_own(record),
    }


def flat(by_seat: dict[str, Any]) -> dict[str, Any]:
    """Measures of each seat under a name for each seat."""
    return {f"{name}_{seat.lower()}": found[seat] for name, found in by_seat.items() for seat in SEATS}


def _own(record: Record) -> dict[str, Any]:
    """What the module of the same name as the game measures; other people's games have none."""
    name = f"{__package__}.{record.header.game}"
    if record.header.game not in catalog.names() or importlib.util.find_spec(name) is None:
        return {}
    found: dict[str, Any] = importlib.import_module(name).measures(record)
    return found


# What was reached.


def gains(record: Record) -> BySeat:
    """What each seat got above what it has without a deal; may be negative. In trading the gain in own worth, else
    the payoff less `Game.disagreement` at the start. None where the match paid nothing (it was stopped)."""
    if any(record.payoffs[seat] is None for seat in SEATS):
        return {"A": None, "B": None}
    game = record.game
    if game.stake_unit is not None:
        found = game.details(final(record)).get("gain", {})
        return {seat: found.get(seat) for seat in SEATS}
    alone = game.disagreement(start(record))
    return {seat: (record.payoffs[seat] or 0) - alone[seat] for seat in SEATS}


def surplus(record: Record) -> tuple[float | None, float | None]:
    """What a match brought both together above no deal (the sum of `gains`), and the most that its start allowed
    (`Game.possible`); each None where it is not known."""
    return _surplus(record, gains(record))


def _surplus(record: Record, own: BySeat) -> tuple[float | None, float | None]:
    joint = None if own["A"] is None or own["B"] is None else float(own["A"] + own["B"])
    game, begun = record.game, start(record)
    possible = game.possible(begun)
    if possible is not None and game.stake_unit is None:
        possible -= sum(game.disagreement(begun).values())
    return joint, possible


def efficiency(record: Record) -> float | None:
    """The part of the possible joint surplus that was reached, at most 1; negative if both together lost. None for a
    match that was stopped, and where nothing was possible or that is not known."""
    return _ratio(*surplus(record))


def _ratio(joint: float | None, possible: float | None) -> float | None:
    return joint / possible if joint is not None and possible is not None and possible > 0 else None


def surplus_share(record: Record) -> BySeat:
    """Each seat's part of the joint surplus that was reached; the two sum to 1, and one is beyond 0 to 1 if a seat
    lost. None unless the joint surplus is positive."""
    own = gains(record)
    return _shares(own, _surplus(record, own)[0])


def _shares(own: BySeat, joint: float | None) -> BySeat:
    if joint is None or joint <= 0:
        return {"A": None, "B": None}
    return {seat: None if gain is None else gain / joint for seat, gain in own.items()}


def frontier_distance(record: Record) -> float | None:
    """How far both payoffs are from the nearest point of the Pareto frontier (`Game.frontier` at the start), straight
    line; 0 or more. None for a match that was stopped, for a game of several rounds that each pay, and where the
    frontier is not known."""
    return _from_frontier(record, gains(record))


def _from_frontier(record: Record, own: BySeat) -> float | None:
    outcome, frontier = _outcome(record, own), _frontier(record)
    if outcome is None or not frontier:
        return None
    if record.game.divisible and len(frontier) > 1:
        return min(_to_line(outcome, *ends) for ends in pairwise(frontier))
    return min(_apart(outcome, point) for point in frontier)


def nash_distance(record: Record) -> float | None:
    """How far both payoffs are from the Nash bargaining solution (Nash 1950) on the frontier of the start, straight
    line; 0 or more. None as for `frontier_distance`, and where no agreement leaves both at least what they have
    without one."""
    return _from_nash(record, gains(record))


def _from_nash(record: Record, own: BySeat) -> float | None:
    outcome, frontier = _outcome(record, own), _frontier(record)
    if outcome is None or not frontier:
        return None
    solution = nash_point(frontier, _alone(record), record.game.divisible)
    return None if solution is None else _apart(outcome, solution)


def _outcome(record: Record, own: BySeat) -> Pair | None:
    """What both came to, counted as the frontier is."""
    if own["A"] is None or own["B"] is None:
        return None
    a, b = _alone(record)
    return own["A"] + a, own["B"] + b


def _alone(record: Record) -> Pair:
    if record.game.stake_unit is not None:
        return 0, 0
    alone = record.game.disagreement(start(record))
    return alone["A"], alone["B"]


def _frontier(record: Record) -> tuple[Pair, ...]:
    """Of the whole match: where rounds pay as they go, the frontier of the start is only that of the first."""
    return () if record.game.pays_as_it_goes else record.game.frontier(start(record))


def _apart(one: Pair, two: Pair) -> float:
    return hypot(one[0] - two[0], one[1] - two[1])


def _to_line(point: Pair, start: Pair, end: Pair) -> float:
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] ** 2 + along[1] ** 2
    if not length:
        return _apart(point, start)
    share = ((point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]) / length
    share = min(max(share, 0), 1)
    return _apart(point, (start[0] + share * along[0], start[1] + share * along[1]))


# How it came about.


def first_offer(record: Record) -> BySeat:
    """What each seat's first proposal would have paid that seat itself, by `Game.stakes`. None: it made none, or the
    game has no proposals."""
    return _first(_claims(record))


def _first(claims: dict[Seat, list[float]]) -> BySeat:
    return {seat: own[0] if own else None for seat, own in claims.items()}


def concession(record: Record) -> BySeat:
    """How much less for itself each seat asks from one of its proposals to the next, on average; negative if it came
    to ask for more. None with fewer than two proposals, and where one proposal does not stand in for another: those of
    split are each for a round of its own, those of trading for goods of their own."""
    return _steps(record, _claims(record))


def _steps(record: Record, claims: dict[Seat, list[float]]) -> BySeat:
    if record.game.pays_as_it_goes or record.game.stake_unit is not None:
        return {"A": None, "B": None}
    return {seat: (own[0] - own[-1]) / (len(own) - 1) if len(own) > 1 else None for seat, own in claims.items()}


def _claims(record: Record) -> dict[Seat, list[float]]:
    """Per seat, what its proposals would have paid itself, in order."""
    made = proposals(record)
    return {seat: [_for(proposal) for proposal in made if proposal.seat == seat] for seat in SEATS}


def _for(proposal: Proposal) -> float:
    return proposal.a if proposal.seat == "A" else proposal.b


def turns_to_deal(record: Record) -> int | None:
    """Accepted replies of both seats up to the end of a match that ended in a deal; None for any other. Trading and
    split last as long with a deal as without: see `trading.first_trade`, and the rounds of split."""
    if record.end != "AGREED":
        return None
    return sum(len(event.seats) for event in record.events if isinstance(event, Stepped))


def faults(record: Record) -> dict[Seat, dict[Kind, int]]:
    """How many replies of each seat were rejected, by what was wrong: what could not be read (`format`), what the
    rules forbid (`rule`), what came too late (`time`)."""
    found: dict[Seat, dict[Kind, int]] = {seat: dict.fromkeys(KINDS, 0) for seat in SEATS}
    for event, _, invalid in said(record):
        if invalid is not None:
            found[event.seat][invalid.kind] += 1
    return found


def codes(record: Record) -> Counter[tuple[Seat, Kind, str]]:
    """How often each code was given as the reason for a rejection, by seat and kind. A reply may have several."""
    rejected = ((event.seat, invalid) for event, _, invalid in said(record) if invalid is not None)
    return Counter((seat, invalid.kind, code) for seat, invalid in rejected for code in invalid.codes)


def lost_by(record: Record) -> tuple[Seat, Kind] | None:
    """The seat whose faults ended the match by forfeit, and the kind of its last; None if they did not."""
    if record.end != "FORFEIT":
        return None
    seats = [event.seat for event in record.events if isinstance(event, Forfeited)]
    kinds = [(event.seat, invalid.kind) for event, _, invalid in said(record) if invalid is not None]
    return next((last for last in reversed(kinds) if last[0] in seats[-1:]), None)
