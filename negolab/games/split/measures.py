"""Measures of a split match, per finished round and over the match, as plain data; None where undefined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from negolab.analysis.measures import flatten_by_seat
from negolab.analysis.replies import Claim, claim_truth, iter_accepted
from negolab.game import SEATS, Seat, other
from negolab.games.split.allocation import complement, points
from negolab.games.split.parameters import Parameters
from negolab.games.split.state import Action, Draw, EndTalk, Position, Proposal, Public, Schedule, Settled, Units
from negolab.games.split.statements import latest_statement, parse_statement
from negolab.record import Record, final_state, start_state

Row = dict[str, Any]


def details(game: Parameters, state: Position) -> Row:
    """Return `rounds`, `measures` and `forfeits` of a match, finished or not."""
    assert isinstance(state.hidden, Schedule)
    rounds = [
        _round_row(game, state.public, settled, drawn, {seat: state.private[seat].earned[at] for seat in SEATS})
        for at, (settled, drawn) in enumerate(zip(state.public.history, state.hidden.rounds, strict=False))
    ]
    forfeits = _forfeits(state)
    return {"rounds": rounds, "measures": _match_measures(rounds, len(forfeits)), "forfeits": forfeits}


def _round_row(game: Parameters, public: Public, settled: Settled, drawn: Draw, earned: dict[Seat, float]) -> Row:
    values, stock = drawn.values, settled.stock
    best = best_joint(stock, values["A"], values["B"])
    return {
        "round": settled.round,
        "first": settled.first,
        "stock": _by_item(game, stock),
        "values": _by_seat(game, values),
        "hands": None if drawn.hands is None else {seat: drawn.hands[seat] for seat in SEATS},
        "asks": _by_seat(game, settled.asks),
        "shares": _by_seat(game, settled.shares),
        "points": earned,
        "agreed": settled.agreed,
        "lapsed": list(settled.lapsed),
        "best": best,
        "efficiency": _ratio(earned["A"] + earned["B"], best),
        **_unit_counts(settled),
        "winner_share": _winner_share(settled, values),
        "pareto": _pareto(game, settled, values),
        "ask_low": {seat: _mean_ask(settled, values, seat, high=False) for seat in SEATS},
        "ask_high": {seat: _mean_ask(settled, values, seat, high=True) for seat in SEATS},
        "honest": {seat: _honest(game, public, settled.round, drawn, seat) for seat in SEATS},
    }


def _by_item(game: Parameters, row: Sequence[Any] | None) -> Row | None:
    return None if row is None else dict(zip(game.items, row, strict=True))


def _by_seat(game: Parameters, rows: dict[Seat, Any]) -> Row:
    return {seat: _by_item(game, rows[seat]) for seat in SEATS}


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def best_joint(stock: Units, values_a: Units, values_b: Units) -> int:
    """Return the largest sum of points: every unit goes to the seat that values it more."""
    return sum(units * max(a, b) for units, a, b in zip(stock, values_a, values_b, strict=True))


def best_joint_of_match(state: Position) -> float:
    """Return the largest sum of points over all rounds in the schedule, including those never played."""
    assert isinstance(state.hidden, Schedule)
    return float(sum(best_joint(drawn.stock, drawn.values["A"], drawn.values["B"]) for drawn in state.hidden.rounds))


def _unit_counts(settled: Settled) -> Row:
    """Count the units asked for beyond the stock, and the units that nobody received."""
    none = (0,) * len(settled.stock)
    asked = zip(settled.stock, settled.asks["A"] or none, settled.asks["B"] or none, strict=True)
    given = zip(settled.stock, settled.shares["A"], settled.shares["B"], strict=True)
    return {
        "overclaim": sum(max(0, a + b - units) for units, a, b in asked),
        "unallocated": sum(units - a - b for units, a, b in given),
    }


def _winner_share(settled: Settled, values: dict[Seat, Units]) -> float | None:
    """Return the share of units received by the seat that values them more: 1 if cooperative, 1/2 if both ask for
    everything."""
    received, there = 0.0, 0
    for at, (a, b) in enumerate(zip(values["A"], values["B"], strict=True)):
        if a != b:
            received += settled.shares["A" if a > b else "B"][at]
            there += settled.stock[at]
    return _ratio(received, there)


def _mean_ask(settled: Settled, values: dict[Seat, Units], seat: Seat, *, high: bool) -> float | None:
    """Return the mean ask of a seat over the types it values more (`high`) or less than the other seat."""
    ask = settled.asks[seat]
    if ask is None:
        return None
    pairs = zip(ask, values[seat], values[other(seat)], strict=True)
    return _mean(units for units, own, others in pairs if own != others and (own > others) == high)


def _honest(game: Parameters, public: Public, number: int, drawn: Draw, seat: Seat) -> bool | None:
    """Return True if the seat's last statement in the round was true; None if there was none, or nothing to state."""
    if game.show == "both":
        return None
    texts = [sent.text for sent in public.messages if sent.round == number and sent.seat == seat]
    said = latest_statement(texts, game.items, game.show == "hand")
    if said is None:
        return None
    return said == (drawn.hands[seat] if game.show == "hand" and drawn.hands is not None else drawn.values[seat])


def _pareto(game: Parameters, settled: Settled, values: dict[Seat, Units]) -> bool | None:
    """Return True if no other division of whole units is better for one seat and no worse for the other.

    None for more than `MAX_DIVISIONS` divisions.
    """
    if game.rule != "exact" or not settled.agreed or _count_divisions(settled.stock) > MAX_DIVISIONS:
        return None
    a, b = (
        sum(round(units) * value for units, value in zip(settled.shares[seat], values[seat], strict=True))
        for seat in SEATS
    )
    return all(
        x <= a and y <= b for x, y in whole_unit_frontier(settled.stock, values["A"], values["B"]) if x >= a and y >= b
    )


def whole_unit_frontier(stock: Units, values_a: Units, values_b: Units) -> list[tuple[int, int]]:
    """Return the undominated pairs of points over all divisions in whole units, in falling order of A's points."""
    pairs = [(0, 0)]
    for units, a, b in zip(stock, values_a, values_b, strict=True):
        grown = {(x + n * a, y + (units - n) * b) for x, y in pairs for n in range(units + 1)}
        pairs = _undominated(grown)
    return pairs


def _count_divisions(stock: Units) -> int:
    return prod(units + 1 for units in stock)


def _undominated(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for pair in sorted(pairs, reverse=True):
        if not kept or pair[1] > kept[-1][1]:
            kept.append(pair)
    return kept


def _mean(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of the defined numbers."""
    defined = [n for n in numbers if n is not None]
    return sum(defined) / len(defined) if defined else None


def _match_measures(rounds: list[Row], forfeited: int) -> Row:
    joint = sum(row["points"]["A"] + row["points"]["B"] for row in rounds)
    best = sum(row["best"] for row in rounds)
    means = {
        "efficiency": "efficiency",
        "agreement_rate": "agreed",
        "overclaim_units": "overclaim",
        "unallocated_units": "unallocated",
        "winner_share": "winner_share",
        "pareto_rate": "pareto",
    }
    by_seat = {"ask_low": "ask_low", "ask_high": "ask_high", "honesty_rate": "honest"}
    return {
        "rounds_played": len(rounds),
        "joint": joint,
        "best": best,
        "pooled_efficiency": _ratio(joint, best),
        **{name: _mean(row[key] for row in rounds) for name, key in means.items()},
        "overclaim_rate": _mean(row["overclaim"] > 0 for row in rounds),
        **{name: {s: _mean(row[key][s] for row in rounds) for s in SEATS} for name, key in by_seat.items()},
        "forfeited_turns": forfeited,
    }


def _forfeits(state: Position) -> list[list[Any]]:
    """List forfeited turns as [round, seat, "talk" or "split" or "end"], in that order within a round."""
    public = state.public
    talk = [(sent.round, 0, sent.seat) for sent in public.messages if sent.lapsed]
    split = [(settled.round, 1, seat) for settled in public.history for seat in settled.lapsed]
    filed = [(public.round, 1, seat) for seat in SEATS if state.private[seat].lapsed]
    names = ("talk", "split")
    found: list[list[Any]] = [[number, seat, names[phase]] for number, phase, seat in sorted(talk + split + filed)]
    return found if public.ended_by is None else [*found, [public.round, public.ended_by, "end"]]


MAX_DIVISIONS = 20_000
"""Largest number of divisions of a stock for which the frontier is listed."""


def offered(state: Position, seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
    """Return the points that a proposal would pay in its own round if the other seat kept just what it leaves.

    () for messages and `no deal`.
    """
    if not isinstance(action, Proposal) or action.keep is None:
        return ()
    keep = {seat: action.keep, other(seat): complement(state.public.stock, action.keep)}
    values = _schedule(state).rounds[state.public.round - 1].values
    return ({s: points(keep[s], values[s]) for s in SEATS},)


def stakes(state: Position, seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
    """Return what a proposal would pay according to `offered`, plus the points earned before."""
    own = state.private
    return tuple({s: sum((*own[s].earned, pay[s]), 0.0) for s in SEATS} for pay in offered(state, seat, action))


def frontier(state: Position) -> tuple[tuple[float, float], ...]:
    """Return the frontier of this round's divisions in whole units, plus the points earned before.

    () when the match is over or there are more than `MAX_DIVISIONS` divisions.
    """
    public = state.public
    if public.phase == "over" or _count_divisions(public.stock) > MAX_DIVISIONS:
        return ()
    values = _schedule(state).rounds[public.round - 1].values
    a, b = (sum(state.private[seat].earned, 0.0) for seat in SEATS)
    return tuple((a + x, b + y) for x, y in reversed(whole_unit_frontier(public.stock, values["A"], values["B"])))


def _schedule(state: Position) -> Schedule:
    assert isinstance(state.hidden, Schedule)
    return state.hidden


_MEANS = ("agreement_rate", "overclaim_rate", "overclaim_units", "unallocated_units", "winner_share", "pareto_rate")
_BY_SEAT = ("ask_low", "ask_high", "honesty_rate")


def measures(record: Record) -> dict[str, Any]:
    """Return the measures of a split match beyond those common to all games: means over the rounds played.

    `efficiency`, which every game has, pools the rounds and includes those that a forfeit cut off. A mean of no values
    is None.

    Returns:
        rounds: rounds played
        mean_efficiency: mean over rounds of the points paid as a share of those possible
        agreement_rate: share of rounds in which the division was agreed
        overclaim_rate: share of rounds in which both together asked for more than there was
        overclaim_units: mean units that both together asked for beyond the stock
        unallocated_units: mean units that nobody got
        winner_share: of the units that the seats value differently, the mean share that went to whoever values them
            more
        pareto_rate: share of rounds with a division that no other one dominates, for stocks with at most 20,000
            divisions
        ask_low: mean units asked for of types that the seat values less than the other does
        ask_high: mean units asked for of types that the seat values more than the other does
        honesty_rate: share of rounds in which the seat's last statement was true
        truth: share of all the seat's statements that were true
        forfeited_turns: forfeited turns of both seats
    """
    told = record.game.details(final_state(record))["measures"]
    return {
        "rounds": told["rounds_played"],
        "mean_efficiency": told["efficiency"],
        **{name: told[name] for name in _MEANS},
        **flatten_by_seat({**{name: told[name] for name in _BY_SEAT}, "truth": claim_truth(claims(record))}),
        "forfeited_turns": told["forfeited_turns"],
    }


def claims(record: Record) -> tuple[Claim, ...]:
    """Return every readable statement of a hand (Trust-and-Split) or of a seat's own values with its round's truth, in
    order; () if both seats see both values."""
    game: Any = record.game
    schedule = start_state(record).hidden
    assert isinstance(schedule, Schedule)
    if game.show == "both":
        return ()
    hands = game.show == "hand"
    found = []
    for at, seat, _, action, before in iter_accepted(record):
        if before.public.phase == "talk":
            if isinstance(action, EndTalk):
                continue
            stated = parse_statement(action.text, game.items, hands)
            drawn = schedule.rounds[before.public.round - 1]
            true = drawn.hands[seat] if hands and drawn.hands is not None else drawn.values[seat]
            if stated is not None:
                found.append(Claim(at, seat, "hand" if hands else "values", stated, true))
    return tuple(found)


MEASURES = measures
"""All measures of a match together, because they share one replay."""
