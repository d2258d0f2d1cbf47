"""Measures of one match, as pure functions of its record, with the same meaning in every game.

Gains, offers and distances are measured in the game's `stake_unit` or, if it has none, in its `unit` (cents in
bargaining). Functions that replay the record raise ValueError if it cannot be replayed. `measure_match` adds the game's
own measures, which are its part `MEASURES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from math import hypot
from numbers import Real
from typing import Any

from negolab import catalog
from negolab.analysis.replies import Proposal, accepted_proposal, iter_replies, proposals
from negolab.analysis.summary import KINDS
from negolab.catalog import AnyGame
from negolab.events import Stepped
from negolab.formatting import docstring_entry
from negolab.game import SEATS, InvalidKind, Seat, State, other
from negolab.record import Record, final_state, reading, start_state
from negolab.theory.solutions import Pair, ideal_gains, kalai_smorodinsky_point, nash_point
from negolab.user_code import describe_failure

STEPS: dict[str, tuple[str, list[tuple[int, int]]]] = {
    "fortunate": ("gain both", [(1, 1)]),
    "selfish": ("gain the seat and not the other", [(1, 0), (1, -1)]),
    "concession": ("cost the seat, but not the other", [(-1, 0), (-1, 1)]),
    "unfortunate": ("cost the other and gain the seat nothing, or cost both", [(0, -1), (-1, -1)]),
    "nice": ("gain the other at no cost", [(0, 1)]),
    "silent": ("change nothing for either", [(0, 0)]),
}
"""Classes of steps by how they change what the seat and the other get (Hindriks, Jonker and Tykhonov 2007)."""
_CLASSES = {change: kind for kind, (_, changes) in STEPS.items() for change in changes}

MEANINGS = {
    "joint": "surplus of both seats above no deal",
    "possible": "largest joint surplus that the start allowed: 0 where no deal gains anything",
    "efficiency": "share of the possible joint surplus that was reached: 1 (100%) = all",
    "frontier_distance": "distance of both payoffs to the Pareto frontier of the start",
    "nash_distance": "distance of both payoffs to the Nash bargaining solution of the start",
    "kalai_smorodinsky_distance": "distance of both payoffs to the Kalai-Smorodinsky solution of the start",
    "turns_to_deal": "accepted replies of both seats before the deal; empty: no deal",
    "seconds_to_deal": "seconds from the first question to the last answer of a deal",
    "loss_no_deal": "possible surplus that was lost because there was no deal",
    "loss_bad_deal": "possible surplus that the agreed deal left unused, plus any loss that it caused",
    "loss_delay": "surplus that was lost because the deal, or the end without one, came late",
    "gain": "gain of the seat above no deal",
    "surplus_share": "share of the joint surplus that went to the seat: 1 (100%) = all; outside 0 to 1 if one lost",
    "irrational_deals": "1: the agreed deal, or all trades together, left the seat with less than no deal would",
    "irrational_offers": "proposals of the seat that would have left it with less than no deal",
    "first_mover": "true: the seat made the first proposal; empty: both move at once",
    "first_offer_payoff": "payoff of the seat's first proposal by itself",
    "first_offer_share": "gain that the seat's first proposal asks for, as a share of its largest gain in the zone of "
    "possible agreement: 0 = as without a deal, 1 (100%) = the whole zone, above = more than that",
    "concession": "mean amount by which the seat lowered its claim from one proposal to the next, all worth what they "
    "would be in the first turn",
    **{f"{kind}_steps": f"steps between proposals of the seat that {what}" for kind, (what, _) in STEPS.items()},
    **{f"{kind}_faults": f"rejected replies of the seat, of kind {kind}" for kind in KINDS},
}
"""Meanings of the general measures; in tables, measures of a seat end in `_a` and `_b`."""
COUNTED_IN_STAKES = {
    *("joint", "possible", "frontier_distance", "nash_distance", "kalai_smorodinsky_distance"),
    *("loss_no_deal", "loss_bad_deal", "loss_delay", "gain", "first_offer_payoff", "concession"),
}
"""General measures in the game's `stake_unit` or, if it has none, in its `unit`."""

_OF_SEATS = {
    *("gain", "surplus_share", "irrational_deals", "irrational_offers"),
    *("first_mover", "first_offer_payoff", "first_offer_share", "concession"),
    *(f"{kind}_steps" for kind in STEPS),
    *(f"{kind}_faults" for kind in KINDS),
}
GENERAL = [f"{name}{seat}" for name in MEANINGS for seat in (("_a", "_b") if name in _OF_SEATS else ("",))]
"""Names of the general measures in tables."""
Failed = Callable[[str, Exception], None]
"""Function that records a measure that raised an error, called with its name and the error."""

BySeat = dict[Seat, float | None]
Solution = Callable[[tuple[Pair, ...], Pair, bool], Any]


def measure_match(record: Record, failed: Failed | None = None) -> dict[str, Any]:
    """Return all measures of a match by name: the general ones first, then those of the game's own module.

    Args:
        record: The record of a match, finished or not.
        failed: Called when a measure raises an error, which makes it None (None: the error is raised).

    Returns:
        Numbers, True or False, or None if undefined. A measure of each seat has two names, ending in `_a` and `_b`.

    Raises:
        ValueError: The record cannot be replayed.
    """
    with reading(record):
        general = _tried("the general measures", GENERAL, lambda: general_measures(record), failed)
        return {**general, **_game_measures(record, failed)}


def _tried(
    what: str, names: Iterable[str], measure: Callable[[], dict[str, Any]], failed: Failed | None
) -> dict[str, Any]:
    """Return the measures with these names, or None for each if they raise an error and `failed` records it."""
    try:
        return measure()
    except Exception as error:  # of the game's own code
        if failed is None:
            raise
        failed(what, error)
        return dict.fromkeys(names)


def general_measures(record: Record) -> dict[str, Any]:
    """Return the measures of a match that every game has, by name."""
    own, made = gains(record), proposals(record)
    joint, possible = surplus(record, own)
    start = _start(record)
    # In the frontier's unit.
    outcome = None if joint is None else ((own["A"] or 0) + start[1][0], (own["B"] or 0) + start[1][1])
    by_seat = {
        "gain": own,
        "surplus_share": surplus_share(own, joint),
        "irrational_deals": irrational_deals(record, outcome, start),
        "irrational_offers": irrational_offers(made, start),
        "first_mover": {seat: made[0].seat == seat if made and not _at_once(record) else None for seat in SEATS},
        "first_offer_payoff": {seat: next((p.pays(seat) for p in made if p.seat == seat), None) for seat in SEATS},
        "first_offer_share": first_offer_share(made, start),
        "concession": concession(record, made),
        **steps(record, made),
    }
    return {
        "joint": joint,
        "possible": possible,
        "efficiency": efficiency(record, joint, possible),
        "frontier_distance": frontier_distance(outcome, start),
        "nash_distance": solution_distance(outcome, nash_point, start),
        "kalai_smorodinsky_distance": solution_distance(outcome, kalai_smorodinsky_point, start),
        "turns_to_deal": turns_to_deal(record),
        "seconds_to_deal": seconds_to_deal(record),
        **losses(record, joint, possible, made),
        **flatten_by_seat(by_seat),
        **{f"{kind}_faults_{seat.lower()}": n for seat, found in faults(record).items() for kind, n in found.items()},
    }


def flatten_by_seat(by_seat: dict[str, Any]) -> dict[str, Any]:
    """Return measures of each seat under one name per seat, ending in `_a` and `_b`."""
    return {f"{name}_{seat.lower()}": found[seat] for name, found in by_seat.items() for seat in SEATS}


def _game_measures(record: Record, failed: Failed | None) -> dict[str, Any]:
    """Return the measures of the game's part `MEASURES`: functions of a record by name, or one that returns all."""
    own: Any = catalog.part(record.game, "MEASURES")
    if callable(own):
        return _tried("MEASURES", (), lambda: dict(own(record)), failed)
    found: dict[str, Any] = {}
    for name, function in (own or {}).items():
        found |= _tried(f"measure {name!r}", [name], partial(_measure, name, function, record), failed)
    return found


def meaning(game: AnyGame, name: str) -> str:
    """Return the meaning of a game's own measure, from the docstring of its function; "" if there is none.

    A function for one measure states it in its first line; one for all of them has a line `name: meaning` for each.
    """
    own = catalog.part(game, "MEASURES")
    if callable(own):
        return docstring_entry(own.__doc__, name)
    return (getattr((own or {}).get(name), "__doc__", None) or "").strip().partition("\n")[0]


def _measure(name: str, function: Callable[[Record], Any], record: Record) -> dict[str, float | bool | None]:
    try:
        value = function(record)
    except Exception as error:  # of a researcher's own function
        why = describe_failure(error)
        raise ValueError(f"measure {name!r} of {record.header.game} fails on record {record.id}: {why}") from error
    if value is None or isinstance(value, bool | int | float):
        return {name: value}
    if isinstance(value, Real):  # such as one of NumPy's
        return {name: float(value)}
    raise ValueError(f"measure {name!r} of {record.header.game} must be a number or None, not {value!r:.80}")


# Results.


def gains(record: Record) -> BySeat:
    """Return the gain of each seat above what it has without a deal, which may be negative.

    Returns:
        In trading, the gain at the seat's own values; otherwise, the payoff minus `Game.disagreement` of the start.
        None if the match paid nothing (it was stopped).
    """
    if any(record.payoffs[seat] is None for seat in SEATS):
        return {"A": None, "B": None}
    game = record.game
    if game.stake_unit is not None:
        found = game.details(final_state(record)).get("gain", {})
        return {seat: found.get(seat) for seat in SEATS}
    alone = game.disagreement(start_state(record))
    return {seat: (record.payoffs[seat] or 0) - alone[seat] for seat in SEATS}


def surplus(record: Record, own: BySeat | None = None) -> tuple[float | None, float | None]:
    """Return the joint surplus over no deal (the sum of `gains`) and the largest one that the start allowed.

    Args:
        record: The record of a match.
        own: Its `gains`, if already known.

    Returns:
        Reached and possible surplus, the latter from `Game.max_joint_payoff`; each is None if unknown.
    """
    own = own or gains(record)
    joint = None if own["A"] is None or own["B"] is None else float(own["A"] + own["B"])
    game, begun = record.game, start_state(record)
    possible = game.max_joint_payoff(begun)
    if possible is not None and game.stake_unit is None:
        possible -= sum(game.disagreement(begun).values())
    return joint, None if possible is None else max(possible, 0)


def efficiency(record: Record, joint: float | None, possible: float | None) -> float | None:
    """Return the fraction of the possible joint surplus that was reached: at most 1, and negative if a deal did harm.

    0 without a deal, even if waiting reduced what both have without one. None for a match that was stopped, or if the
    possible surplus is unknown or not positive.
    """
    if joint is None or possible is None or possible <= 0:
        return None
    without = record.end != "AGREED" and not record.game.pays_as_it_goes
    return (max(joint, 0) if without else joint) / possible


def surplus_share(own: BySeat, joint: float | None) -> BySeat:
    """Return each seat's fraction of the reached joint surplus, from the `gains` and their sum.

    The two add up to 1; they are outside the range from 0 to 1 if a seat lost. None unless the joint surplus is
    positive.
    """
    if joint is None or joint <= 0:
        return {"A": None, "B": None}
    return {seat: None if gain is None else gain / joint for seat, gain in own.items()}


Start = tuple[tuple[Pair, ...], Pair, bool]
"""The start's frontier, its disagreement point, and True if lines join the points of the frontier."""


def frontier_distance(outcome: Pair | None, start: Start) -> float | None:
    """Return the Euclidean distance from the payoffs (A, B) to the nearest point of the start's Pareto frontier.

    If the game is divisible, lines join neighboring points of `Game.frontier`. None for a match that was stopped, for a
    game with several rounds that each pay, or if the frontier is unknown.
    """
    frontier, _, is_joined = start
    if outcome is None or not frontier:
        return None
    if is_joined and len(frontier) > 1:
        return min(_to_line(outcome, *ends) for ends in pairwise(frontier))
    return min(_distance(outcome, point) for point in frontier)


def solution_distance(outcome: Pair | None, solution: Solution, start: Start) -> float | None:
    """Return the Euclidean distance from the payoffs (A, B) to a bargaining solution for the start.

    `theory.solutions.nash_point` is the solution of Nash (1950), and `kalai_smorodinsky_point` is that of Kalai and
    Smorodinsky (1975). None in the same cases as `frontier_distance`, and if no agreement leaves both with at least
    what they have without one.
    """
    point = _solve(solution, *start)
    return None if outcome is None or point is None else _distance(outcome, point)


@lru_cache(maxsize=4096)
def _solve(solution: Solution, *start: Any) -> Any:
    # Exact fractions are slow, and matches on the same deal share its frontier.
    return solution(*start)


def _start(record: Record) -> Start:
    # If rounds pay as they go, the frontier is only that of the first round.
    frontier = () if record.game.pays_as_it_goes else record.game.frontier(start_state(record))
    return frontier, _alone(record, start_state(record)), record.game.divisible


def _alone(record: Record, state: State[Any, Any]) -> Pair:
    """Return the disagreement point in the unit of the frontier: (0, 0) where the frontier counts gains."""
    if record.game.stake_unit is not None:
        return 0, 0
    alone = record.game.disagreement(state)
    return alone["A"], alone["B"]


def _distance(one: Pair, two: Pair) -> float:
    return hypot(one[0] - two[0], one[1] - two[1])


def _to_line(point: Pair, start: Pair, end: Pair) -> float:
    """Return the distance from a point to the nearest point of a line segment."""
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] ** 2 + along[1] ** 2
    if not length:
        return _distance(point, start)
    share = ((point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]) / length
    share = min(max(share, 0), 1)
    return _distance(point, (start[0] + share * along[0], start[1] + share * along[1]))


# Process.


def concession(record: Record, made: Sequence[Proposal] | None = None) -> BySeat:
    """Return the mean amount by which each seat lowers its own claim from one of its proposals to the next.

    Claims are valued as of the first turn, so that repeating one under discounting is not a concession. Negative for a
    seat that ended up asking for more. None with fewer than two proposals, and in split and trading, whose proposals do
    not replace each other: in split, each is for one round, and in trading, they are for different goods. `made` are
    the record's proposals, if already known.
    """
    claims: dict[Seat, list[float]] = {"A": [], "B": []}
    for one in () if record.game.stakes_add_up else proposals(record) if made is None else made:
        claims[one.seat].append(one.worths[one.seat])
    return {seat: (own[0] - own[-1]) / (len(own) - 1) if len(own) > 1 else None for seat, own in claims.items()}


def steps(record: Record, made: Sequence[Proposal]) -> dict[str, dict[Seat, int | None]]:
    """Count each seat's steps from one of its proposals to the next, by the classes of Hindriks, Jonker and Tykhonov
    (2007).

    Values are those in the first turn or, in trading, what each offer brings by itself. None if rounds each pay.
    """
    found: Counter[tuple[str, Seat]] = Counter()
    for seat in SEATS:
        for old, new in pairwise(one.worths for one in made if one.seat == seat):
            own, theirs = ((new[each] > old[each]) - (new[each] < old[each]) for each in (seat, other(seat)))
            found[_CLASSES[own, theirs], seat] += 1
    known = not record.game.has_paid_rounds
    return {f"{kind}_steps": {seat: found[kind, seat] if known else None for seat in SEATS} for kind in STEPS}


def first_offer_share(made: Sequence[Proposal], start: Start) -> BySeat:
    """Return the gain in each seat's first proposal as a fraction of the most that the zone of agreement offers it.

    It is a first offer as a share of the zone, as in Galinsky and Mussweiler (2001): 0 gives the seat what it has
    without a deal, and 1 leaves the other no more than that. Values are those in the first turn. None without a
    proposal or a zone, and in the same cases as `frontier_distance`.
    """
    zone = dict(zip(SEATS, _solve(ideal_gains, *start) or (0, 0), strict=True))
    alone = dict(zip(SEATS, start[1], strict=True))
    first = {one.seat: one.worths[one.seat] - alone[one.seat] for one in reversed(made)}
    return {seat: float(first[seat] / zone[seat]) if seat in first and zone[seat] else None for seat in SEATS}


def irrational_offers(made: Sequence[Proposal], start: Start) -> dict[Seat, int]:
    """Count each seat's proposals that, as of the first turn, are worth less to it than no deal."""
    alone = dict(zip(SEATS, start[1], strict=True))
    return {seat: sum(one.worths[seat] < alone[seat] for one in made if one.seat == seat) for seat in SEATS}


def irrational_deals(record: Record, outcome: Pair | None, start: Start) -> BySeat:
    """Return 1 for a seat that a deal left with less than no deal would have at the end, else 0; None if stopped."""
    if outcome is None:
        return {"A": None, "B": None}
    # What no deal pays may shrink toward 0 over time; only then is the end needed, which is slow to compute.
    is_harmful = record.end == "AGREED" and any(
        paid < max(0, less) for paid, less in zip(outcome, start[1], strict=True)
    )
    alone = _alone(record, final_state(record)) if is_harmful else outcome
    return {seat: int(paid < less) for seat, paid, less in zip(SEATS, outcome, alone, strict=True)}


def turns_to_deal(record: Record) -> int | None:
    """Count both seats' accepted replies in a match that ended in agreement; None for any other end.

    Trading and split last as long with a deal as without one; for these, see `games.trading.measures.first_trade` and
    the rounds of split.
    """
    if record.end != "AGREED":
        return None
    return sum(len(event.seats) for event in record.events if isinstance(event, Stepped))


def seconds_to_deal(record: Record) -> float | None:
    """Return the seconds from the first question to the last answer before a deal; None if unknown or without a
    deal."""
    if record.end != "AGREED":
        return None
    replies = [reply for _, reply, _ in iter_replies(record) if reply is not None]
    asked = [reply.asked_at for reply in replies if reply.asked_at is not None]
    answered = [reply.answered_at for reply in replies if reply.answered_at is not None]
    return max(answered) - min(asked) if asked and answered else None


def losses(
    record: Record, joint: float | None, possible: float | None, made: Sequence[Proposal]
) -> dict[str, float | None]:
    """Split the possible surplus that both left on the table into no deal, a bad deal and delay.

    Returns:
        `loss_no_deal`: all of it, in a match without a deal. `loss_bad_deal`: what the agreed deal would have left if
        made immediately, plus any harm it did. `loss_delay`: what was lost by ending later (discounting). They add up
        to the possible minus the reached surplus. None if these are unknown; `loss_delay` is also None if no proposal
        was accepted as made, as in trading, and `loss_bad_deal` then includes both. If rounds each pay, those without
        agreement and those never played lose what was possible in them.
    """
    names = ("loss_no_deal", "loss_bad_deal", "loss_delay")
    if joint is None or possible is None:
        return dict.fromkeys(names)
    left = possible - joint
    if record.game.pays_as_it_goes:
        bad = _left_by_rounds(record)
        return dict.fromkeys(names) if bad is None else dict(zip(names, (left - bad, bad, 0.0), strict=True))
    if record.end != "AGREED":
        # Both have what they have without a deal, minus what waiting cost.
        return dict(zip(names, (possible, 0.0, 0.0 - joint), strict=True))
    at_once = _surplus_at_once(record, made)
    delay = None if at_once is None else at_once - joint
    return dict(zip(names, (0.0, left - (delay or 0.0), delay), strict=True))


def _left_by_rounds(record: Record) -> float | None:
    """Return how much was left of what was possible in agreed rounds, with each round at its own values; None if not
    told."""
    rounds = record.game.details(final_state(record)).get("rounds")
    if rounds is None:
        return None
    return float(sum(row["best"] - sum(row["points"].values()) for row in rounds if row["agreed"]))


def _surplus_at_once(record: Record, made: Sequence[Proposal]) -> float | None:
    """Return the joint surplus of the accepted proposal if it had been accepted in the first turn."""
    accepted = accepted_proposal(record, made)
    return None if accepted is None else float(sum(accepted.worths.values()) - sum(_alone(record, start_state(record))))


def _at_once(record: Record) -> bool:
    """Return True if both seats made the first step together."""
    return next((len(event.seats) > 1 for event in record.events if isinstance(event, Stepped)), False)


def faults(record: Record) -> dict[Seat, dict[InvalidKind, int]]:
    """Count each seat's rejected replies by kind: `format` (unreadable), `rule` (not allowed), `time` (too late)."""
    found: dict[Seat, dict[InvalidKind, int]] = {seat: dict.fromkeys(KINDS, 0) for seat in SEATS}
    for event, _, invalid in iter_replies(record):
        if invalid is not None:
            found[event.seat][invalid.kind] += 1
    return found
