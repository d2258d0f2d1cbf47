"""What happened in a match in numbers: per finished round, and over the match. Plain data, None where undefined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from negolab.game import SEATS, Seat, other
from negolab.games.split.position import Draw, Position, Public, Schedule, Settled, Units
from negolab.games.split.statements import latest

if TYPE_CHECKING:
    from negolab.games.split.rules import Split

Row = dict[str, Any]


def details(game: Split, state: Position) -> Row:
    """`rounds`, `measures` and `forfeits` of a match, finished or not."""
    assert isinstance(state.hidden, Schedule)
    rounds = [
        _round(game, state.public, settled, drawn, {seat: state.private[seat].earned[at] for seat in SEATS})
        for at, (settled, drawn) in enumerate(zip(state.public.history, state.hidden.rounds, strict=False))
    ]
    forfeits = _forfeits(state)
    return {"rounds": rounds, "measures": _measures(rounds, len(forfeits)), "forfeits": forfeits}


def _round(game: Split, public: Public, settled: Settled, drawn: Draw, earned: dict[Seat, float]) -> Row:
    values, stock = drawn.values, settled.stock
    best = best_joint(stock, values["A"], values["B"])
    return {
        "round": settled.round,
        "first": settled.first,
        "stock": _named(game, stock),
        "values": _by_seat(game, values),
        "hands": None if drawn.hands is None else {seat: drawn.hands[seat] for seat in SEATS},
        "asks": _by_seat(game, settled.asks),
        "shares": _by_seat(game, settled.shares),
        "points": earned,
        "agreed": settled.agreed,
        "lapsed": list(settled.lapsed),
        "best": best,
        "efficiency": _ratio(earned["A"] + earned["B"], best),
        **_units(settled),
        "winner_share": _winner_share(settled, values),
        "pareto": _pareto(game, settled, values),
        "ask_low": {seat: _mean_ask(settled, values, seat, high=False) for seat in SEATS},
        "ask_high": {seat: _mean_ask(settled, values, seat, high=True) for seat in SEATS},
        "honest": {seat: _honest(game, public, settled.round, drawn, seat) for seat in SEATS},
    }


def _named(game: Split, row: Sequence[Any] | None) -> Row | None:
    return None if row is None else dict(zip(game.items, row, strict=True))


def _by_seat(game: Split, rows: dict[Seat, Any]) -> Row:
    return {seat: _named(game, rows[seat]) for seat in SEATS}


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def best_joint(stock: Units, values_a: Units, values_b: Units) -> int:
    """The largest sum of points: every unit to the seat that values it more."""
    return sum(units * max(a, b) for units, a, b in zip(stock, values_a, values_b, strict=True))


def best_of(state: Position) -> float:
    """The largest sum of points over all rounds of the schedule, those never played included."""
    assert isinstance(state.hidden, Schedule)
    return float(sum(best_joint(drawn.stock, drawn.values["A"], drawn.values["B"]) for drawn in state.hidden.rounds))


def _units(settled: Settled) -> Row:
    """Units asked for beyond the stock, and units that nobody received."""
    none = (0,) * len(settled.stock)
    asked = zip(settled.stock, settled.asks["A"] or none, settled.asks["B"] or none, strict=True)
    given = zip(settled.stock, settled.shares["A"], settled.shares["B"], strict=True)
    return {
        "overclaim": sum(max(0, a + b - units) for units, a, b in asked),
        "unallocated": sum(units - a - b for units, a, b in given),
    }


def _winner_share(settled: Settled, values: dict[Seat, Units]) -> float | None:
    """Of the units that one seat values more, the part it received: 1 cooperative, 1/2 when both ask for all."""
    received, there = 0.0, 0
    for at, (a, b) in enumerate(zip(values["A"], values["B"], strict=True)):
        if a != b:
            received += settled.shares["A" if a > b else "B"][at]
            there += settled.stock[at]
    return _ratio(received, there)


def _mean_ask(settled: Settled, values: dict[Seat, Units], seat: Seat, *, high: bool) -> float | None:
    """Mean ask of a seat over the types it values more (`high`) or less than the other seat."""
    ask = settled.asks[seat]
    if ask is None:
        return None
    pairs = zip(ask, values[seat], values[other(seat)], strict=True)
    return _mean(units for units, own, others in pairs if own != others and (own > others) == high)


def _honest(game: Split, public: Public, number: int, drawn: Draw, seat: Seat) -> bool | None:
    """Whether its last statement in the round was true; None if it made none, or has nothing of its own to state."""
    if game.show == "both":
        return None
    texts = [sent.text for sent in public.messages if sent.round == number and sent.seat == seat]
    said = latest(texts, game.items, game.show == "hand")
    if said is None:
        return None
    return said == (drawn.hands[seat] if game.show == "hand" and drawn.hands is not None else drawn.values[seat])


def _pareto(game: Split, settled: Settled, values: dict[Seat, Units]) -> bool | None:
    """Whether no other division of whole units serves one seat better and the other no worse."""
    if game.rule != "exact" or not settled.agreed:
        return None
    a, b = (
        sum(round(units) * value for units, value in zip(settled.shares[seat], values[seat], strict=True))
        for seat in SEATS
    )
    return all(x <= a and y <= b for x, y in frontier(settled.stock, values["A"], values["B"]) if x >= a and y >= b)


def frontier(stock: Units, values_a: Units, values_b: Units) -> list[tuple[int, int]]:
    """The undominated pairs of points over all divisions of whole units: types are added one by one, and a pair that
    is dominated stays so."""
    pairs = [(0, 0)]
    for units, a, b in zip(stock, values_a, values_b, strict=True):
        grown = {(x + n * a, y + (units - n) * b) for x, y in pairs for n in range(units + 1)}
        pairs = _undominated(grown)
    return pairs


def _undominated(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for pair in sorted(pairs, reverse=True):
        if not kept or pair[1] > kept[-1][1]:
            kept.append(pair)
    return kept


def _mean(numbers: Iterable[float | None]) -> float | None:
    """The mean of what is defined."""
    there = [n for n in numbers if n is not None]
    return sum(there) / len(there) if there else None


def _measures(rounds: list[Row], forfeited: int) -> Row:
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
    """[round, seat, "talk" or "split" or "end"], in that order within a round."""
    public = state.public
    talk = [(sent.round, 0, sent.seat) for sent in public.messages if sent.lapsed]
    split = [(settled.round, 1, seat) for settled in public.history for seat in settled.lapsed]
    filed = [(public.round, 1, seat) for seat in SEATS if state.private[seat].lapsed]
    names = ("talk", "split")
    found: list[list[Any]] = [[number, seat, names[phase]] for number, phase, seat in sorted(talk + split + filed)]
    return found if public.ended_by is None else [*found, [public.round, public.ended_by, "end"]]
