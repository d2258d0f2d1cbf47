"""Measures computed a second time, by brute force over many random deals."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random
from typing import Any

import msgspec
import pytest
from pandas.api.types import is_numeric_dtype
from scipy.optimize import linprog

import negolab as nl
from negolab.analysis import measures, tables
from negolab.analysis.replies import proposals
from negolab.catalog import game_names
from negolab.events import Ended
from negolab.game import SEATS, Seat, other
from negolab.games.trading.state import Goods, single_good
from negolab.record import Record, final_state, start_state
from negolab.theory import equilibrium
from negolab.verification import replay_differences

DEALS = 200


# Payoffs.


def haggled(rng: Random) -> tuple[nl.Record, Any]:
    """A bargain between random players over random numbers with random discounts."""
    value, cost = rng.randrange(1, 10_001), rng.randrange(10_001)
    game: Any = nl.load(
        "bargaining",
        "none",
        buyer_values=(value,),
        seller_costs=(cost,),
        allow_no_zopa=True,
        discount_seller=rng.choice((1, 0.9, 0.95, 0.99, 0.7)),
        discount_buyer=rng.choice((1, 0.9, 0.85, 0.999, 0.3)),
    )
    (record,) = nl.batch(game, "random-legal", "random-legal", n=1, seed=rng.randrange(10**6))
    return record, game


def test_discounted_payoffs_are_the_floats_nearest_to_the_exact_ones() -> None:
    rng, agreed = Random(1), 0
    for _ in range(DEALS):
        record, game = haggled(rng)
        public, private = final_state(record).public, start_state(record).private
        if public.price is None:
            continue
        agreed += 1
        with localcontext() as context:
            context.prec = 80
            waited = len(public.offers) - 1
            gains: dict[Seat, int] = {"A": public.price - private["A"].cost, "B": private["B"].value - public.price}
            discounts: dict[Seat, float] = {"A": game.discount_seller, "B": game.discount_buyer}
            for seat in SEATS:
                assert record.payoffs[seat] == float(gains[seat] * Decimal(str(discounts[seat])) ** waited)
    assert agreed > DEALS / 2


def multiplied(record: Record, game: Any) -> Record:
    """The record as 0.1.0 would have kept it, whose discounts were floats."""
    public, private = final_state(record).public, start_state(record).private
    waited = len(public.offers) - 1
    gains = {"A": public.price - private["A"].cost, "B": private["B"].value - public.price}
    factors = {"A": game.discount_seller**waited, "B": game.discount_buyer**waited}
    return paying(record, {seat: gains[seat] * factors[seat] for seat in SEATS})


def paying(record: Record, payoffs: Any) -> Record:
    last = record.events[-1]
    assert isinstance(last, Ended)
    return msgspec.structs.replace(record, events=(*record.events[:-1], msgspec.structs.replace(last, payoffs=payoffs)))


def test_a_record_whose_discounts_were_floats_is_still_checked_and_measured() -> None:
    rng, differed = Random(2), 0
    for _ in range(DEALS):
        record, game = haggled(rng)
        if record.end != "AGREED":
            continue
        before = multiplied(record, game)
        differed += before != record
        assert replay_differences(before) == []
        was, now = (
            {name: x for name, x in measures.measure_match(one).items() if x is not None} for one in (before, record)
        )
        assert was == pytest.approx(now, rel=1e-9, abs=1e-6)
        assert replay_differences(paying(record, {**record.payoffs, "A": (record.payoffs["A"] or 0) + 0.01}))
    assert differed > 10


# Proposals.


def value_of(goods: Goods, values: Goods) -> int:
    return sum(n * v for n, v in zip(goods, values, strict=True))


def test_a_trade_is_priced_by_itself_and_together_with_those_before_it() -> None:
    game, offered, uncovered = nl.load("trading"), 0, 0
    for record in nl.batch(game, "random-legal", "greedy-honest", n=DEALS, seed=3):
        own = start_state(record).private
        held = {seat: list(own[seat].start) for seat in SEATS}
        expected = []
        for entry in final_state(record).public.messages:
            if entry.trade is not None:
                _move(held, entry.trade.by, entry.trade.give, entry.trade.want)
            if entry.offer is None:
                continue
            away, give, want = other(entry.seat), entry.offer.give, entry.offer.want
            covered = all(have >= wanted for have, wanted in zip(held[away], want, strict=True))
            after = {seat: [*held[seat]] for seat in SEATS}
            _move(after, entry.seat, give, want)
            gained, total = (
                [value_of(after[seat], own[seat].values) - value_of(base[seat], own[seat].values)  # type: ignore[arg-type]
                 for seat in (entry.seat, away)]
                for base in (held, {seat: own[seat].start for seat in SEATS})
            )  # fmt: skip
            expected.append((entry.seat, *gained, *(total if covered else (None, None)), covered))
        made = tables.proposals([record]).astype(object)
        names = ["seat", "own_payoff", "other_payoff", "own_total", "other_total", "covered"]
        found = [tuple(None if cell != cell else cell for cell in row) for row in made[names].itertuples(index=False)]
        assert found == expected
        offered += len(expected)
        uncovered += sum(not row[-1] for row in expected)
    assert 0 < uncovered < offered


def _move(held: Any, by: Seat, give: Goods, want: Goods) -> None:
    for seat, out, into in ((by, give, want), (other(by), want, give)):
        held[seat] = [n - o + i for n, o, i in zip(held[seat], out, into, strict=True)]


def test_a_division_is_priced_in_its_round_and_the_total_counts_the_rounds_before() -> None:
    for preset in ("no-press", "trust-and-split"):
        game: Any = nl.load("split", preset, rounds=4)
        for record in nl.batch(game, "random-legal", "greedy", n=30, seed=4):
            rounds, told = start_state(record).hidden.rounds, record.game.details(final_state(record))["rounds"]
            earned = dict.fromkeys(SEATS, 0.0)
            made = [*proposals(record)]
            for drawn, settled in zip(rounds, told, strict=True):
                for one in [made.pop(0) for ask in settled["asks"].values() if ask is not None]:
                    kept = settled["asks"][one.seat].values()
                    pairs = list(zip(drawn.stock, kept, strict=True))
                    pay = {
                        one.seat: value_of(tuple(kept), drawn.values[one.seat]),
                        other(one.seat): value_of(tuple(n - k for n, k in pairs), drawn.values[other(one.seat)]),
                    }
                    assert (one.a, one.b) == (pay["A"], pay["B"])
                    assert one.total == pytest.approx({seat: earned[seat] + pay[seat] for seat in SEATS})
                earned = {seat: earned[seat] + settled["points"][seat] for seat in SEATS}
            assert not made


def test_a_concession_in_the_table_compares_prices_at_one_date() -> None:
    rng = Random(5)
    for _ in range(DEALS):
        record, _ = haggled(rng)
        made = tables.proposals([record])
        for seat, side in (("A", 1), ("B", -1)):
            own = made[made.seat == seat]
            fallen = (-side * own.price_cents.diff()).dropna()
            assert own.concession.dropna().tolist() == fallen.tolist()


# Players and theory.


def honest_offer(game: Any, state: Any, seat: Seat, estimated: list[Fraction]) -> tuple[int, ...] | None:
    """The (r, s, m, k) that gives k of good r for m of good s and brings the seat most, of all in which the other gains
    by estimate, by trying every amount."""
    own, low = state.private[seat], game.holdings_range[0]
    best: tuple[Any, ...] | None = None
    for r, s in itertools.permutations(range(5), 2):
        for m in range(1, low + 1):
            for k in range(1, own.holdings[r] + 1):
                mine, theirs = m * own.values[s] - k * own.values[r], k * estimated[r] - m * estimated[s]
                rank = (mine, theirs, -r, -s, -m, -k)
                if mine > 0 and theirs > 0 and (best is None or rank > best):
                    best = rank
    return best and tuple(-x for x in best[2:])


@pytest.mark.parametrize("estimate", ["base", "mean"])
def test_an_honest_trader_believes_that_the_other_gains_by_the_values_it_expects(estimate: str) -> None:
    game: Any = nl.load("trading")
    ranges = game.value_ranges()
    estimated = {
        "base": [Fraction(value) for value in game.base_values],
        "mean": [Fraction(sum(range(low, high + 1)), high + 1 - low) for low, high in ranges],
    }[estimate]
    for seed in range(DEALS):
        match = nl.Match(game, seed=seed)
        trader: Any = nl.player(f"greedy-honest:estimate={estimate}", game)
        offer = trader.act(game, match.seen("A")).offer
        found = honest_offer(game, match.state, "A", estimated)
        assert (offer is None) == (found is None)
        if offer is not None and found is not None:
            r, s, m, k = found
            assert offer == (single_good(r, k), single_good(s, m))


def test_the_share_of_the_mutual_gains_is_at_most_one_and_else_exact() -> None:
    rng, above, below = Random(6), 0, 0
    for _ in range(DEALS):
        wheat, wood, (a, b) = (
            rng.randrange(1, 9),
            rng.randrange(1, 4),
            [[rng.randrange(1, 9) for _ in range(5)] for _ in SEATS],
        )
        game: Any = nl.load("trading", max_turns=2)
        start = game.start({"A": (wheat, 0, 0, 0, 0), "B": (0, wood, 0, 0, 0)}, {"A": tuple(a), "B": tuple(b)})
        match = nl.Match(game, start=start)
        match.submit("A", f"[Offer: {rng.randint(1, wheat)} Wheat -> {rng.randint(1, wood)} Wood]")
        match.submit("B", "[Accept]")
        found = measures.measure_match(match.record())
        flows = [(-n, p) for n, p in zip((0, wood, 0, 0, 0), (wheat, 0, 0, 0, 0), strict=True)]
        worst = [x - y for x, y in zip(a, b, strict=True)]
        most = -(linprog(worst, A_ub=[a, [-y for y in b]], b_ub=[0, 0], bounds=flows).fun or 0)
        assert found["mutual"] == pytest.approx(most)
        if most > 1e-9:
            assert found["mutual_share"] == pytest.approx(min(found["joint"] / most, 1))
            above, below = above + (found["joint"] > most), below + (found["joint"] < most)
    assert above and below


def test_where_no_price_gains_both_theory_names_none() -> None:
    rng = Random(7)
    for _ in range(DEALS):
        value, cost, opener = rng.randrange(1000), rng.randrange(1000), rng.choice(("seller", "buyer"))
        one, two = rng.choice((1.0, 0.9, 0.5)), rng.choice((1.0, 0.9, 0.5))
        found = [
            *equilibrium.spe_path(4, value, cost, one, two, opener),  # type: ignore[arg-type]
            equilibrium.spe_closed_form(4, value, cost, one, opener),  # type: ignore[arg-type]
            equilibrium.rubinstein(value, cost, one, two, opener),  # type: ignore[arg-type]
        ]
        gains = any(cost <= price <= value and cost < value for price in range(1000))
        assert [price is not None and cost <= price <= value for price in found] == [gains] * 6


# Tables.


@pytest.mark.parametrize("game", game_names())
def test_a_column_without_values_has_the_type_of_one_with_values(game: str) -> None:
    match = nl.Match(nl.load(game), seed=1)
    match.abort("stopped")
    none, some = match.record(), nl.batch(game, "random-legal", "random-legal", n=3)
    for table in (tables.matches, tables.measures, tables.proposals):
        empty, full = table([none]), table([none, *some])
        assert list(empty) == list(full)
        for name in empty:
            assert full[name].isna().all() or is_numeric_dtype(empty[name]) == is_numeric_dtype(full[name]), name
