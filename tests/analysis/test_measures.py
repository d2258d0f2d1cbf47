"""Measures of a record: laws for every game, matches worked out by hand, and the golden records."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import msgspec
import pytest

import negolab as nl
from negolab.analysis import measures, tables
from negolab.analysis.replies import Claim, codes, proposals
from negolab.catalog import game_names, load
from negolab.game import SEATS, Invalid, Seat
from negolab.games.balloon import Instance
from negolab.games.bargaining import measures as bargaining
from negolab.games.split import measures as split
from negolab.games.trading import measures as trading
from negolab.match import Match
from negolab.record import Record, final_state
from negolab.scaffolds.ultimatum import Ultimatum
from tests.formats.test_transcript import golden
from tests.support.matches import said

PAIRS = {
    "agenda": (("linear", "boulware"), ("random-legal", "conceder")),
    "balloon": (("linear", "boulware"), ("random-legal", "stubborn")),
    "bargaining": (("boulware", "conceder"), ("random-legal", "linear")),
    "split": (("greedy", "truthful"), ("random-legal", "liar")),
    "trading": (("fair-split", "greedy-honest"), ("random-legal", "random-legal")),
}


@cache
def played(game: str) -> tuple[Record, ...]:
    return tuple(record for a, b in PAIRS[game] for record in nl.batch(game, a, b, n=5, seed=1))


@pytest.fixture(params=game_names())
def records(request: pytest.FixtureRequest) -> tuple[Record, ...]:
    return played(request.param)


# Laws.


def test_what_is_lost_is_what_is_possible_less_what_is_reached(records: tuple[Record, ...]) -> None:
    for record in records:
        joint, possible = measures.surplus(record)
        assert joint is not None and possible is not None
        found = measures.losses(record, joint, possible, proposals(record))
        assert sum(loss or 0 for loss in found.values()) == pytest.approx(possible - joint)
        whole = found["loss_no_deal"] == possible - joint
        assert record.game.pays_as_it_goes or whole == (record.end != "AGREED") or possible == joint


def test_gains_add_up_and_shares_to_one(records: tuple[Record, ...]) -> None:
    shared = 0
    for record in records:
        own, (joint, possible) = measures.gains(record), measures.surplus(record)
        assert joint == pytest.approx(sum(gain or 0 for gain in own.values()))
        assert joint is not None and possible is not None and joint <= possible + 1e-9
        parts = list(measures.surplus_share(own, joint).values())
        if parts[0] is not None:
            assert sum(part or 0 for part in parts) == pytest.approx(1)
            shared += 1
    assert shared


def test_the_nash_point_is_no_nearer_than_the_frontier_it_is_on(records: tuple[Record, ...]) -> None:
    for record in records:
        found = measures.measure_match(record)
        near, nash = found["frontier_distance"], found["nash_distance"]
        if record.game.pays_as_it_goes:
            assert near is nash is None
        else:
            assert near is not None and nash is not None
            assert 0 <= near <= nash + 1e-9


def test_what_was_rejected_is_counted_once_by_kind_and_by_code(records: tuple[Record, ...]) -> None:
    frame = tables.matches(records)
    for record, row in zip(records, frame.itertuples(), strict=True):
        found = measures.faults(record)
        assert [sum(found[seat].values()) for seat in SEATS] == [row.rejected_a, row.rejected_b]
        assert {code[:2] for code in codes(record)} == {
            (seat, kind) for seat in SEATS for kind, count in found[seat].items() if count
        }


def test_all_measures_are_plain_and_no_game_hides_a_general_one(records: tuple[Record, ...]) -> None:
    record = records[0]
    found = measures.measure_match(record)
    assert msgspec.json.decode(msgspec.json.encode(found)).keys() == found.keys()
    assert all(value is None or isinstance(value, int | float) for value in found.values())
    own = importlib.import_module(f"negolab.games.{record.header.game}.measures").measures(record)
    assert own and len(found) == len(measures.measure_match(golden(record.header.game)))
    assert list(found)[-len(own) :] == list(own)


def test_a_game_of_other_people_has_the_general_measures() -> None:
    match = Match(Ultimatum(), seed=1)
    while asks := match.pending():
        for seat, ask in asks.items():
            match.act(seat, match.told(seat).options(ask.seen)[0])
    found = measures.measure_match(match.record())
    assert found["joint"] is not None and "rule_faults_a" in found


def test_a_match_that_was_stopped_has_no_outcome_to_measure() -> None:
    match = Match(load("bargaining"), seed=1)
    match.submit("A", "60")
    match.abort("no answer")
    record = match.record()
    assert measures.gains(record) == {"A": None, "B": None}
    found = measures.measure_match(record)
    undefined = ("joint", "efficiency", "frontier_distance", "nash_distance", "turns_to_deal", "surplus_share_a")
    assert [found[name] for name in undefined] == [None] * 6
    assert found["first_offer_payoff_a"] == 2000


# Bargaining: value 65, cost 40, so that prices share out 25 dollars.


def bargained(*texts: str, **params: Any) -> Record:
    game: Any = load("bargaining", **params)
    return said(game, *texts, start=game.start(6500, 4000)).record()


def test_a_bargain_by_hand() -> None:
    record = bargained("65", "45", "60", "50", "accept")
    found = measures.measure_match(record)
    assert (found["gain_a"], found["gain_b"]) == (1000, 1500)
    assert (found["joint"], found["possible"], found["efficiency"]) == (2500, 2500, 1)
    assert (found["surplus_share_a"], found["surplus_share_b"]) == (0.4, 0.6)
    assert (found["first_offer_payoff_a"], found["first_offer_payoff_b"]) == (2500, 2000)
    assert (found["concession_a"], found["concession_b"]) == (500, 500)
    assert (found["turns_to_deal"], found["rounds"], found["price"]) == (5, 4, 5000)
    assert found["frontier_distance"] == pytest.approx(0)
    assert found["nash_distance"] == pytest.approx((250**2 + 250**2) ** 0.5)
    assert found["price_less_nash"] == -250
    assert found["price_less_spe"] == 1000, "without discounts the last to offer, here the buyer, takes all"


def test_the_equilibrium_price_is_that_of_two_discounted_rounds() -> None:
    record = bargained("52.50", "accept", rounds=2, discount_seller=0.5, discount_buyer=0.5)
    assert bargaining.spe_price(record) == 5250, "the buyer would wait for half of 25"
    assert bargaining.measures(record)["price_less_spe"] == 0


def test_no_deal_has_no_price_to_compare() -> None:
    record = bargained("65", "45", "reject", rounds=2)
    found = measures.measure_match(record)
    assert (found["price"], found["price_less_spe"], found["price_less_nash"]) == (None, None, None)
    assert (found["turns_to_deal"], found["efficiency"], found["surplus_share_a"]) == (None, 0, None)
    assert found["frontier_distance"] == pytest.approx(2500 / 2**0.5)
    assert measures.efficiency(record, -1, 2500) == 0, "as where waiting took from what both have without a deal"


def test_outside_options_move_the_nash_price_and_leave_no_equilibrium_path() -> None:
    record = bargained("50", "accept", outside_seller=500)
    assert bargaining.nash_price(record) == 4000 + 500 + (2500 - 500) / 2
    assert bargaining.spe_price(record) is None


# Balloon.


def test_a_balloon_deal_by_hand() -> None:
    worth: dict[Seat, dict[str, int]] = {"A": {"x": 6, "y": 3, "z": 1}, "B": {"x": 1, "y": 3, "z": 6}}
    game: Any = load("balloon", require_argument=False)
    start = game.start(Instance({"x": 1, "y": 1, "z": 1}, 2, worth))
    texts = ("PROPOSAL: {'x', 'y'}", "PROPOSAL: {'z', 'y'}", "PROPOSAL: {'x'}\nREFUSE: {'z', 'y'}", "AGREE: {'x', 'y'}")
    found = measures.measure_match(said(game, *texts, start=start).record())
    assert (found["gain_a"], found["gain_b"], found["possible"]) == (9, 4, 14)
    assert (found["norm_a"], found["norm_b"]) == (100, pytest.approx(100 * 4 / 9))
    assert found["harmonic"] == pytest.approx(2 * 100 * 400 / 9 / (100 + 400 / 9))
    assert found["normalised_harmonic"] == pytest.approx(found["harmonic"] / (100 * 7 / 9) * 100)
    assert found["pareto"] and found["frontier_distance"] == 0
    assert (found["concession_a"], found["first_offer_payoff_b"]) == (3, 9)
    assert found["pareto_proposals"] == pytest.approx(2 / 3)
    assert (found["switches"], found["stubbornness_a"], found["change"]) == (1, 0, pytest.approx((2 / 2 + 3 / 2) / 2))


# Split.


def test_announced_hands_are_compared_with_those_that_were_dealt() -> None:
    game: Any = load("split", preset="trust-and-split", rounds=1)
    rounds = [{"stock": {"coins": 10}, "values": {"A": {"coins": 10}, "B": {"coins": 1}}}]
    start = game.start("A", [{**rounds[0], "hands": {"A": "rock", "B": "scissors"}}])

    talk = ["My hand is rock.", "Mine is paper", *["so be it"] * (2 * game.quota - 2)]
    messages = [f"<message>{text}</message>" for text in talk]
    record = said(game, *messages, *["<coins_to_self>5</coins_to_self>"] * 2, start=start).record()
    assert split.claims(record) == (Claim(1, "A", "hand", "rock", "rock"), Claim(3, "B", "hand", "paper", "scissors"))
    found = measures.measure_match(record)
    assert (found["truth_a"], found["truth_b"]) == (1, 0)
    assert (found["honesty_rate_a"], found["honesty_rate_b"]) == (1, 0)
    assert (found["efficiency"], found["mean_efficiency"], found["winner_share"]) == (0.55, 0.55, 0.5)


def test_announced_values_are_true_or_not() -> None:
    (record,) = nl.batch(load("split", rounds=4), "truthful", "liar", n=1, seed=1)
    found, details = measures.measure_match(record), record.game.details(final_state(record))["measures"]
    assert found["truth_a"] == 1
    assert found["truth_b"] == found["honesty_rate_b"] != 1
    assert (found["rounds"], found["efficiency"]) == (4, pytest.approx(details["pooled_efficiency"]))


def test_nothing_is_announced_where_everything_is_seen_and_nobody_is_first_where_both_move_at_once() -> None:
    (record,) = nl.batch(load("split", show="both"), "truthful", "greedy", n=1, seed=1)
    assert split.claims(record) == ()
    (record,) = nl.batch(load("split", "no-press"), "greedy", "welfare", n=1)
    found = measures.measure_match(record)
    assert found["first_mover_a"] is None and found["first_mover_b"] is None


def test_a_turn_that_ran_out_takes_nothing_back_from_the_other_seat() -> None:
    match = Match(load("split", quota=0, rounds=1), seed=1)
    match.submit("A", "<coins_to_self>6</coins_to_self>")
    match.reject("B", Invalid(("late",), "Too late.", "time"))
    match.submit("B", "<coins_to_self>4</coins_to_self>")
    record = match.record()
    assert measures.faults(record)["A"] == {"format": 0, "rule": 0, "time": 0}
    assert measures.faults(record)["B"] == {"format": 0, "rule": 0, "time": 1}
    assert list(tables.turns([record]).legal) == [True, False, True]
    assert measures.measure_match(record)["first_offer_payoff_a"] is not None


# Trading.


def traded(*texts: str) -> Record:
    game: Any = load("trading", max_turns=len(texts))
    goods: Any = {"A": (5, 0, 0, 0, 2), "B": (0, 6, 0, 0, 0)}
    start = game.start(goods, {"A": (6, 10, 15, 25, 33), "B": (5, 9, 15, 25, 40)})
    return said(game, *texts, start=start).record()


def test_a_trade_by_hand() -> None:
    found = measures.measure_match(traded("[Offer: 1 Ore -> 4 Wood]", "[Accept]", "Pass.", "Pass."))
    assert (found["gain_a"], found["gain_b"], found["joint"]) == (7, 4, 11)
    assert (found["trades"], found["first_trade"]) == (1, 2)
    assert found["possible"] == 2 * 7 + 6 * 1, "both Ore to B, all Wood to A; A values Wheat more than B does"
    assert found["share"] == found["efficiency"] == pytest.approx(11 / 20)
    assert (found["offers_a"], found["refusals_b"], found["truth_a"]) == (1, 0, None)
    assert trading.first_trade(traded("Pass.", "Pass.")) is None


def test_said_holdings_and_values_are_compared_with_the_truth() -> None:
    record = traded(
        "I have 5 Wheat and 2 Ores. Wheat is worth 7 to me. [Offer: 1 Wheat -> 1 Wood]",
        "[Deny] I've got no wheat, but I hold 9 Wood; I value Wood at 9",
        "If I have 3 Wheat, fine. I have 3 Ore and 2 Wheat to offer. I would like 4 Wood. [Offer: 3 Wheat -> 2 Wood]",
        "[Deny]",
    )
    assert [(c.seat, c.topic, c.stated, c.true) for c in trading.claims(record)] == [
        *(("A", "Wheat held", 5, 5), ("A", "Ore held", 2, 2), ("A", "value of Wheat", 7, 6)),
        *(("B", "Wheat held", 0, 0), ("B", "Wood held", 9, 6), ("B", "value of Wood", 9, 9)),
    ]
    found = measures.measure_match(record)
    assert (found["truth_a"], found["truth_b"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_words_of_any_length_are_read_in_time_that_grows_with_them() -> None:
    text = "I have " + "1 Wheat, " * 20_000 + "[" * 100_000 + " " * 100_000
    assert len(trading.claims(traded(text))) == 20_000


# Memories.

GOLDEN = {
    "agenda": {"joint_points": 270, "best_joint_points": 302, "logrolling": 2, "efficiency": 84 / 116, "messages": 20},
    "balloon": {"main": 96.3582015345513, "pareto": False, "efficiency": 7978 / 8278, "turns_to_deal": 34},
    "bargaining": {"price": 5681, "price_less_spe": 1681, "price_less_nash": 431, "turns_to_deal": 6},
    "split": {"agreement_rate": 0.3, "truth_a": 1, "truth_b": 1, "winner_share": 0.690909090909091},
    "trading": {"joint": 10, "share": 10 / 120, "trades": 1, "first_trade": 4},
}


@pytest.mark.parametrize("game", sorted(GOLDEN))
def test_the_golden_records_are_measured_as_ever(game: str) -> None:
    found = measures.measure_match(golden(game))
    assert {name: found[name] for name in GOLDEN[game]} == pytest.approx(GOLDEN[game])


def test_waiting_costs_what_the_discount_takes() -> None:
    game = load("bargaining", rounds=4, discount_seller=0.9, discount_buyer=0.9)
    record = nl.batch(game, "boulware", "boulware", n=1)[0]
    joint, possible = measures.surplus(record)
    found = measures.losses(record, joint, possible, proposals(record))
    assert record.end == "AGREED" and joint is not None and possible is not None
    assert found["loss_bad_deal"] == pytest.approx(0) and found["loss_delay"] == pytest.approx(possible - joint)
    assert measures.measure_match(record)["first_mover_a"] is True


# Losses and concessions, worked out by hand.


def lost(record: Record) -> tuple[float | None, ...]:
    joint, possible = measures.surplus(record)
    return tuple(measures.losses(record, joint, possible, proposals(record)).values())


def test_without_a_zone_no_deal_loses_nothing_and_a_deal_loses_what_it_harms() -> None:
    options: dict[str, Any] = {"opener": "seller", "rounds": 1, "allow_no_zopa": True}
    told = {"buyer_told": ("none",), "seller_told": ("none",)}
    harmed = nl.load("bargaining", "asymmetric", buyer_values=(4000,), seller_costs=(6000,), **told, **options)
    assert lost(said(harmed, "$50", "Deal").record()) == (0, 2000, 0)
    apart = nl.load("bargaining", "asymmetric", buyer_values=(4000,), seller_costs=(6500,), **told, **options)
    kept = said(apart, "$50", "Reject").record()
    assert lost(kept) == (0, 0, 0) and measures.surplus(kept) == (0, 0)


def test_a_price_that_is_repeated_under_a_discount_is_no_concession() -> None:
    game = nl.load("bargaining", "exact", opener="seller", rounds=6, discount_seller=0.9, discount_buyer=0.9)
    texts = [text for _ in range(3) for text in ("$60", "$45")]
    found = measures.concession(said(game, *texts, "Reject").record())
    assert found == {"A": 0, "B": 0}
