"""Measures computed a second time, by brute force over many random deals."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import msgspec
import pandas as pd
import pytest
from negolab_widgets.results.variables import outcomes
from pandas.api.types import is_numeric_dtype
from scipy.optimize import linprog
from scipy.stats import binomtest

import negolab as nl
from negolab.analysis import estimates, measures, tables
from negolab.analysis.export import export, open_tables
from negolab.analysis.proposals import anchoring
from negolab.analysis.replies import proposals
from negolab.catalog import game_names
from negolab.events import Ended, Stepped
from negolab.formats import open_source
from negolab.game import SEATS, Seat, other
from negolab.games.trading.state import Goods, single_good
from negolab.record import Record, final_state, start_state
from negolab.theory import equilibrium, solutions
from negolab.verification import replay_differences

DEALS = 80


# Payoffs.


def haggled(rng: Random) -> tuple[nl.Record, Any]:
    """A bargain between random players over random numbers with random discounts."""
    value, cost = rng.randrange(1, 10_001), rng.randrange(10_001)
    discounts = {"discount_seller": rng.choice((1, 0.9, 0.95, 0.99, 0.7))}
    discounts |= {"discount_buyer": rng.choice((1, 0.9, 0.85, 0.999, 0.3))}
    drawn = {"buyer_values": (value,), "seller_costs": (cost,)}
    game: Any = nl.load("bargaining", "none", **drawn, allow_no_zopa=True, **discounts)
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
            gains: dict[Seat, tuple[int, Any]] = {
                "A": (public.price - private["A"].cost, game.discount_seller),
                "B": (private["B"].value - public.price, game.discount_buyer),
            }
            for seat, (gain, discount) in gains.items():
                assert record.payoffs[seat] == float(gain * Decimal(str(discount)) ** waited)
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
    assert differed > DEALS / 20


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


# Solutions.


def concave(rng: Random) -> list[tuple[int, int]]:
    """A concave frontier of whole numbers: pieces that fall ever more steeply."""
    a, b = rng.randrange(-20, 20), rng.randrange(20, 60)
    points = [(a, b)]
    for slope in sorted(rng.sample(range(1, 12), rng.randrange(1, 5))):
        across = rng.randrange(1, 6)
        a, b = a + across, b - slope * across
        points.append((a, b))
    return points


def test_kalai_and_smorodinsky_meet_where_both_have_the_same_part_of_the_most() -> None:
    rng, found = Random(8), 0
    for _ in range(DEALS):
        frontier, alone = concave(rng), (rng.randrange(-10, 15), rng.randrange(-10, 30))
        points = [(a, b) for (a, b) in _along(frontier) if a >= alone[0] - 1e-9 and b >= alone[1] - 1e-9]
        point = solutions.kalai_smorodinsky_point(frontier, alone, joined=True)
        most = solutions.ideal_gains(frontier, alone, joined=True)
        if point is None or most is None or not all(most):
            assert len(points) <= 1 or (most is not None and not all(most))
            continue
        found += 1
        assert max(a for a, _ in points) - alone[0] == pytest.approx(float(most[0]), abs=0.01)
        assert max(b for _, b in points) - alone[1] == pytest.approx(float(most[1]), abs=0.05)
        shares = [(a - alone[0]) / float(most[0]) - (b - alone[1]) / float(most[1]) for a, b in points]
        nearest = points[min(range(len(points)), key=lambda at: abs(shares[at]))]
        assert point == pytest.approx(nearest, abs=0.1)
        assert (point[0] - alone[0]) / most[0] == pytest.approx((point[1] - alone[1]) / most[1])
    assert found > DEALS / 4


def _along(frontier: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """Points close to each other on the lines of a frontier."""
    steps = 2000
    return [
        (a + (c - a) * at / steps, b + (d - b) * at / steps)
        for (a, b), (c, d) in itertools.pairwise(frontier)
        for at in range(steps + 1)
    ]


def test_of_separate_points_the_one_with_the_largest_smaller_share_is_kalai_and_smorodinskys() -> None:
    rng = Random(9)
    for _ in range(DEALS):
        pairs = {(rng.randrange(30), rng.randrange(30)) for _ in range(rng.randrange(1, 9))}
        frontier = sorted(p for p in pairs if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in pairs))
        alone = rng.randrange(15), rng.randrange(15)
        gains = {(a, b): (a - alone[0], b - alone[1]) for a, b in frontier if a >= alone[0] and b >= alone[1]}
        point = solutions.kalai_smorodinsky_point(frontier, alone, joined=False)
        if not gains:
            assert point is None and solutions.ideal_gains(frontier, alone, joined=False) is None
            continue
        most = [max(gain[seat] for gain in gains.values()) for seat in (0, 1)]
        shares = {
            p: min(Fraction(g, m) if m else Fraction(1) for g, m in zip(gains[p], most, strict=True)) for p in gains
        }
        assert point is not None and shares[int(point[0]), int(point[1])] == max(shares.values())
        assert [*(solutions.ideal_gains(frontier, alone, joined=False) or ())] == most


# The process.


def agendas() -> list[Record]:
    """Matches about random points and reservations, with and without a discount."""
    rng, found = Random(10), []
    for _ in range(DEALS // 2):
        game = nl.load(
            "agenda",
            "random",
            turns=rng.randrange(4, 12),
            issues=rng.randrange(2, 5),
            discount=rng.choice(("1", "9/10")),
            reservation={seat: rng.randrange(80) for seat in SEATS},
        )
        a, b = rng.sample(["random-legal", "linear", "boulware", "conceder"], 2)
        found += nl.batch(game, a, b, n=1, seed=rng.randrange(10**6))
    return found


def points_of(record: Record, seat: Seat, agreement: Any) -> int:
    return sum(row[option] for row, option in zip(start_state(record).private[seat].points, agreement, strict=True))


def offers_of(record: Record, seat: Seat) -> list[Any]:
    return [e.offer for e in final_state(record).public.messages if e.seat == seat and e.offer is not None]


def classified(own: float, theirs: float) -> str:
    """The classes in the words of their authors."""
    if own > 0 and theirs > 0:
        return "fortunate"
    if own > 0 and theirs <= 0:
        return "selfish"
    if own < 0 and theirs >= 0:
        return "concession"
    if own <= 0 and theirs < 0:
        return "unfortunate"
    return "nice" if theirs > 0 else "silent"


def test_steps_of_an_agenda_are_classified_by_the_points_of_both() -> None:
    seen = set()
    for record in agendas():
        found = measures.measure_match(record)
        for seat in SEATS:
            worths = [
                (points_of(record, seat, offer), points_of(record, other(seat), offer))
                for offer in offers_of(record, seat)
            ]
            kinds = [classified(c - a, d - b) for (a, b), (c, d) in itertools.pairwise(worths)]
            seen |= {*kinds}
            for kind in measures.STEPS:
                assert found[f"{kind}_steps_{seat.lower()}"] == kinds.count(kind)
    assert len(seen) >= 5


def test_prices_are_only_conceded_raised_or_repeated() -> None:
    rng = Random(11)
    for _ in range(DEALS):
        record, _ = haggled(rng)
        found = measures.measure_match(record)
        for seat, side in (("a", -1), ("b", 1)):
            prices = [cents for _, by, cents in final_state(record).public.offers if by.lower() == seat]
            moves = [side * (new - old) for old, new in itertools.pairwise(prices)]
            assert found[f"concession_steps_{seat}"] == sum(move > 0 for move in moves)
            assert found[f"selfish_steps_{seat}"] == sum(move < 0 for move in moves)
            assert found[f"silent_steps_{seat}"] == sum(move == 0 for move in moves)


def test_rounds_that_each_pay_have_no_steps_between_their_claims() -> None:
    (record,) = nl.batch(nl.load("split", rounds=3), "greedy", "greedy", n=1)
    found = measures.measure_match(record)
    assert {found[f"{kind}_steps_{seat}"] for kind in measures.STEPS for seat in "ab"} == {None}


def test_a_first_price_is_placed_on_the_zone_and_who_sells_below_cost_or_buys_above_value_is_counted() -> None:
    rng, inside, harmed = Random(12), 0, 0
    for _ in range(DEALS):
        record, _ = haggled(rng)
        private, public = start_state(record).private, final_state(record).public
        value, cost = private["B"].value, private["A"].cost
        found = measures.measure_match(record)
        for seat, low, high in (("A", cost, value), ("B", value, cost)):
            prices = [cents for _, by, cents in public.offers if by == seat]
            share = found[f"first_offer_share_{seat.lower()}"]
            if not prices or value <= cost:
                assert share is None
            else:
                inside += 1
                assert share == pytest.approx((prices[0] - low) / (high - low))
            side = 1 if seat == "A" else -1
            assert found[f"irrational_offers_{seat.lower()}"] == sum(side * (cents - low) < 0 for cents in prices)
            deal = public.price is not None and side * (public.price - low) < 0
            assert found[f"irrational_deals_{seat.lower()}"] == deal
            harmed += deal
    assert inside and harmed


def test_a_first_offer_of_an_agenda_is_a_part_of_the_best_that_the_other_can_take() -> None:
    known = 0
    for record in agendas():
        start = start_state(record)
        factor = float(Fraction(record.header.params["discount"]))
        every = list(itertools.product(*(range(len(row)) for row in start.private["A"].points)))
        worth = {seat: [factor * points_of(record, seat, each) for each in every] for seat in SEATS}
        alone = {seat: start.private[seat].reservation for seat in SEATS}
        found = measures.measure_match(record)
        for seat in SEATS:
            zone = [
                own - alone[seat]
                for own, theirs in zip(worth[seat], worth[other(seat)], strict=True)
                if own >= alone[seat] and theirs >= alone[other(seat)]
            ]
            share, made = found[f"first_offer_share_{seat.lower()}"], offers_of(record, seat)
            if made and max(zone, default=0) > 0:
                known += 1
                assert share == pytest.approx((factor * points_of(record, seat, made[0]) - alone[seat]) / max(zone))
            else:
                assert share is None
            below = [factor * points_of(record, seat, offer) < alone[seat] for offer in made]
            assert found[f"irrational_offers_{seat.lower()}"] == sum(below)
    assert known


def test_a_first_trade_is_a_part_of_the_most_that_leaves_the_other_no_worse() -> None:
    for record in nl.batch("trading", "random-legal", "random-legal", n=DEALS // 4, seed=13):
        own, found = start_state(record).private, measures.measure_match(record)
        first = {e.seat: e.offer for e in reversed(final_state(record).public.messages) if e.offer is not None}
        for seat in SEATS:
            away = other(seat)
            most = linprog(  # flows of goods to the seat
                [-v for v in own[seat].values],
                A_ub=[own[away].values],
                b_ub=[0],
                bounds=[(-p, q) for p, q in zip(own[seat].start, own[away].start, strict=True)],
            )
            share = found[f"first_offer_share_{seat.lower()}"]
            if seat not in first:
                assert share is None
                continue
            gained = value_of(first[seat].want, own[seat].values) - value_of(first[seat].give, own[seat].values)
            assert share == pytest.approx(gained / -(most.fun or 0))
            assert found[f"irrational_deals_{seat.lower()}"] == int((found[f"gain_{seat.lower()}"] or 0) < 0)


def test_the_hazard_counts_who_agrees_among_those_who_are_still_open() -> None:
    game = nl.load("bargaining", "asymmetric")
    records = nl.batch(game, "random-legal", "random-legal", n=DEALS, seed=15)
    replies = [sum(isinstance(event, Stepped) for event in record.events) for record in records]
    rows = estimates.agreement_hazard(tables.matches(records))
    assert list(rows["turn"]) == list(range(1, max(replies) + 1))
    for row in rows.to_dict("records"):
        still = [(n, record.end) for n, record in zip(replies, records, strict=True) if n >= row["turn"]]
        agreed = sum(n == row["turn"] and end == "AGREED" for n, end in still)
        exact = binomtest(agreed, len(still)).proportion_ci(method="exact")
        assert (row["n"], row["value"]) == (len(still), agreed / len(still))
        assert (row["low"], row["high"]) == pytest.approx((exact.low, exact.high))
    late = estimates.agreement_hazard(tables.matches(nl.batch(game, "boulware", "boulware", n=DEALS, seed=15)))
    assert list(late["value"])[-1] == late["value"].max() > 0, "who holds out agrees at the deadline"


# Units.


def units_of(game: str) -> dict[str, str]:
    """The unit of each outcome that a figure of this game can show."""
    records = nl.batch(game, "random-legal", "random-legal", n=20, seed=16)
    frame = tables.matches(records).merge(tables.measures(records), on="match")
    return {one.column: one.unit for one in outcomes(frame)}


def test_figures_show_all_amounts_of_bargaining_in_dollars() -> None:
    units = units_of("bargaining")
    assert "cents" not in units.values()
    amounts = {*measures.COUNTED_IN_STAKES, "payoff", "price", "price_less_spe", "price_less_nash"}
    named = {name: unit for name, unit in units.items() if name.removesuffix("_a").removesuffix("_b") in amounts}
    assert {"loss_no_deal", "loss_bad_deal", "loss_delay", "kalai_smorodinsky_distance", "gain"} <= named.keys()
    assert set(named.values()) == {"dollars"}


def test_only_payoffs_of_trading_are_wins_and_losses() -> None:
    units = units_of("trading")
    win = nl.load("trading").unit
    assert {name for name, unit in units.items() if unit == win} == {"payoff", "payoff_a", "payoff_b"}
    assert {units[name] for name in ("loss_no_deal", "first_offer_payoff", "concession_steps")} == {
        "gain in own worth",
        "",
    }


def test_a_dictionary_names_the_unit_of_proposals_and_of_parameters(tmp_path: Path) -> None:
    described = {}
    for game in ("bargaining", "trading"):
        nl.run(game, "random-legal", "random-legal", n=2, out=tmp_path / game)
        (out := tmp_path / f"{game}-tables").mkdir()
        export(open_tables(open_source(str(tmp_path / game))), out, ["csv"])
        rows = pd.read_csv(out / "dictionary.csv", keep_default_na=False, dtype=str).to_dict("records")
        described[game] = {(str(row["table"]), str(row["column"])): row["unit"] for row in rows}
    own = {(table, name) for (table, name), unit in described["trading"].items() if unit == nl.load("trading").unit}
    assert own == {("matches", "payoff_a"), ("matches", "payoff_b"), ("seats", "payoff"), ("utterances", "payoff")}
    assert described["trading"]["proposals", "own_total"] == nl.load("trading").stake_unit
    parameters = {name: unit for (_, name), unit in described["bargaining"].items() if name.startswith("game_")}
    amounts = ["price_lo", "price_hi", "buyer_values", "seller_costs", "buyer_told", "seller_told"]
    amounts += ["default_opening", "examples", "outside_seller", "outside_buyer"]
    assert {name for name, unit in parameters.items() if unit == "cents"} == {f"game_{name}" for name in amounts}


def test_first_offers_in_trading_are_regressed_on_by_gains() -> None:
    records = nl.batch("trading", "random-legal", "random-legal", n=60, seed=17)
    found = tables.measures(records)
    fit, _ = anchoring(tables.proposals(records), tables.matches(records).merge(found, on="match"))
    made: dict[str, dict[Seat, float]] = {record.id: {} for record in records}
    for record in records:
        for seat in SEATS:
            of_seat = [one for one in proposals(record) if one.seat == seat]
            if of_seat:
                made[record.id][seat] = of_seat[0].a if seat == "A" else of_seat[0].b
    gains = {(row["match"], seat): row[f"gain_{seat.lower()}"] for row in found.to_dict("records") for seat in SEATS}
    pairs = {seat: [(made[at][seat], gains[at, seat]) for at in made if seat in made[at]] for seat in SEATS}
    within = [(x - fmean(a for a, _ in own), y - fmean(b for _, b in own)) for own in pairs.values() for x, y in own]
    assert fit.value == pytest.approx(sum(x * y for x, y in within) / sum(x * x for x, _ in within))
