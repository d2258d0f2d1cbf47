"""Measures computed a second time, by brute force over many random deals."""

from __future__ import annotations

from decimal import Decimal, localcontext
from random import Random
from typing import Any

import msgspec
import pytest

import negolab as nl
from negolab.analysis import measures, tables
from negolab.analysis.replies import proposals
from negolab.events import Ended
from negolab.game import SEATS, Seat, other
from negolab.games.trading.state import Goods
from negolab.record import Record, final_state, start_state
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
