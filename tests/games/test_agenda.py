"""The rules of agenda: turns, ends and payoffs, what is told, and the laws over random scenarios."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import negolab as nl
from negolab import catalog, laws
from negolab.analysis.measures import measure_match
from negolab.game import SEATS, other
from negolab.match import Match
from negolab.record import parse_record
from negolab.verification import replay_differences
from tests.support.agenda import FOOD, NAME, PAY, START, Message, code, game, issue, on_turn, play

OFFER = "[Offer: pay = pay b; food = 2]"
COUNTER = "[Offer: pay = pay a; food = 2]"


# Turns and ends.


def test_a_counter_offer_and_a_rejection_remove_the_offer() -> None:
    assert code(play(game(), OFFER, "[Reject]"), "[Accept]") == "no_standing_offer"
    match = play(game(), OFFER, COUNTER)
    seat, told, seen = on_turn(match)
    assert seat == "A"
    assert [told.worth(seen, agreement) for _, agreement in told.offers(seen)] == [20, 5]
    assert play(match.game, OFFER, COUNTER, "[Accept]").ended.payoffs == {"A": 0 + 5, "B": 30 + 8}  # type: ignore[union-attr]


def test_payoffs_are_exact_fractions() -> None:
    match = play(game(discount="0.9"), "hm", OFFER, "[Accept]")
    exact: Any = match.game
    assert exact.payoffs(match.state) == {"A": Fraction(81, 100) * 15, "B": Fraction(81, 100) * 23}
    assert match.ended is not None and match.ended.payoffs == {"A": 12.15, "B": 18.63}


def test_a_seat_that_can_say_nothing_legal_is_not_asked() -> None:
    mute = {"talk": False, "walk_away": False, "turns": 3, "discount": "1/2", "reservation": {"A": 16, "B": 8}}
    match = play(game(**mute), OFFER, "[Reject]")
    assert match.ended is not None
    assert (match.ended.end, match.ended.payoffs) == ("OUT_OF_TIME", {"A": 2, "B": 1})
    assert play(game(**{**mute, "talk": True}), OFFER, "[Reject]").ended is None
    assert play(game(**{**mute, "walk_away": True}), OFFER, "[Reject]").ended is None


def test_the_opener_can_be_drawn() -> None:
    drawn = game(opens="drawn")
    assert {*(drawn.deal(random.Random(seed)).public.to_move for seed in range(20))} == {"A", "B"}


# Chance.


def test_permuted_values_are_shuffled_for_each_seat_and_sum_to_the_same() -> None:
    goods = [issue(name, n, n, units=3) for name, n in (("food", 5), ("water", 4), ("wood", 3))]
    permuted = game(*goods, draw={"permute": ["A", "B"]})
    deals = [permuted.deal(random.Random(seed)) for seed in range(60)]
    values = {seat: {tuple(max(row) // 3 for row in deal.private[seat].points) for deal in deals} for seat in SEATS}
    assert values["A"] == values["B"] and len(values["A"]) == 6
    only = game(*goods, draw={"permute": ["B"]})
    assert {only.deal(random.Random(seed)).private["A"].points for seed in range(20)} == {
        ((0, 5, 10, 15), (0, 4, 8, 12), (0, 3, 6, 9))
    }


@pytest.mark.parametrize("correlation", [-1, 0, 1])
def test_random_points_have_the_correlation_that_was_asked_for(correlation: int) -> None:
    drawn = nl.load(NAME, preset="random", issues=3, options=5, correlation=correlation, low=10, high=20)
    for seed in range(20):
        a, b = (drawn.deal(random.Random(seed)).private[seat].points for seat in SEATS)
        assert [len(row) for row in a] == [5, 5, 5]
        pairs = [pair for rows in zip(a, b, strict=True) for pair in zip(*rows, strict=True)]
        assert all(10 <= x <= 20 and 10 <= y <= 20 for x, y in pairs)
        if correlation:
            assert all(y == (x if correlation == 1 else 30 - x) for x, y in pairs)


# What is told.


def test_a_seat_is_told_neither_points_nor_reservation_nor_brief_of_the_other() -> None:
    hidden = {"reservation": {"A": 71, "B": 72}, "brief": {"A": "alpha", "B": "beta"}}
    full = game(PAY, FOOD, **hidden, source="a file of mine")
    for seat, own, away in (("A", "alpha", "beta"), ("B", "beta", "alpha")):
        told: Any = full.told(seat)  # type: ignore[arg-type]
        assert [getattr(row, other(seat)) for row in told.issues] == [None, None]  # type: ignore[arg-type]
        assert [getattr(row, seat) for row in told.issues] == [getattr(row, seat) for row in full.issues]  # type: ignore[attr-defined]
        assert told.source is None
        assert own in repr(told) and away not in repr(told)
        assert ("71" in repr(told)) == (seat == "A")


def test_the_other_seat_is_shown_what_the_scenario_shows() -> None:
    assert Match(game(PAY, START), seed=1).seen("A").private.order is None
    ordered = Match(game(PAY, START, show="order"), seed=1)
    assert ordered.seen("A").private.order == (1, 2)
    assert ordered.seen("A").private.theirs is None
    assert "by how much they matter to it: pay; then start" in ordered.told("A").prompt(ordered.seen("A"), None)
    shown = Match(game(PAY, START, show="all"), seed=1)
    assert shown.seen("A").private.theirs == ((30, 15, 0), (0, 2))
    assert "pay a (30), pay b (15), pay c (0)" in shown.told("A").prompt(shown.seen("A"), None)


def test_a_prompt_says_everything_and_a_later_one_only_what_is_new() -> None:
    match = play(game(brief={"A": "You like food.", "B": "You are in a hurry."}, reservation={"A": 3, "B": 4}), "Hello")
    seat, told, seen = on_turn(match)
    full = told.prompt(seen, None)
    for words in ("You are in a hurry.", "pay a (30)", "each worth 4 to you", "you get 4", '"Hello"', "[Walk away]"):
        assert words in full
    assert "You like food" not in full and "5 to you" not in full
    match.submit(seat, OFFER)
    seat, told, seen = on_turn(match)
    update = told.prompt(seen, Match(match.game, seed=1).seen("A"))
    assert "You like food" not in update and "food = 1 for you, 2 for the other" in update
    assert "worth 15 points to you" in update


# Records.


def test_a_record_holds_the_whole_scenario_and_no_path() -> None:
    loaded = nl.load(NAME, scenario=catalog.data_folder() / "scenarios" / "supplier.toml")
    assert loaded.preset is None
    match = Match(loaded, seed=3)
    for seat in ("A", "B"):
        match.act(seat, match.told(seat).options(match.seen(seat))[-1])  # type: ignore[arg-type]
    line = match.record().to_line()
    assert b"supplier.toml" not in line and b"each week" in line
    record = parse_record(line)
    assert record.game == loaded
    assert not replay_differences(record)


def test_measures_count_points_logrolling_and_concessions() -> None:
    dear, cheap = issue("dear", [0, 10, 20], [2, 1, 0]), issue("cheap", [2, 1, 0], [0, 10, 20])
    traded = game(dear, cheap, reservation={"A": 4, "B": 4})
    texts = [
        "[Offer: dear = dear c; cheap = cheap a]",
        "[Reject] [Offer: dear = dear a; cheap = cheap c]",
        "[Offer: dear = dear c; cheap = cheap b]",
        "[Reject] no",
        "[Offer: dear = dear c; cheap = cheap c]",
        "[Accept]",
    ]
    found = measure_match(play(traded, *texts).record())
    assert (found["points_a"], found["points_b"], found["joint_points"]) == (20, 20, 40)
    assert found["best_joint_points"] == 40 and found["efficiency"] == 1
    assert found["best_share_a"] == pytest.approx(20 / 22)
    assert found["logrolling"] == 40 - 22
    assert (found["offers_a"], found["offers_b"]) == (3, 1)
    assert (found["rejections_a"], found["rejections_b"]) == (1, 2)
    assert found["own_concession_a"] == pytest.approx(2 / 4)
    assert found["theirs_concession_a"] == pytest.approx(20 / 4)
    assert found["own_concession_b"] is None
    assert (found["first_offer_payoff_a"], found["frontier_distance"], found["nash_distance"]) == (22, 0, 0)
    assert found["messages"] == 6


# Laws over random scenarios.

NAMES = st.lists(
    st.sampled_from(["pay", "Start date", "ﬁn", "Größe", "価格", "home  office", "x"]),
    min_size=1,
    max_size=4,
    unique=True,
)
POINTS = st.integers(-20, 40)


@st.composite
def scenarios(draw: st.DrawFn) -> Any:
    """A game of a random scenario."""
    issues = []
    for name in draw(NAMES):
        if draw(st.booleans()):
            issues.append(issue(name, draw(POINTS), draw(POINTS), units=draw(st.integers(1, 4))))
        else:
            size = draw(st.integers(2, 4))
            rows = st.lists(POINTS, min_size=size, max_size=size)
            issues.append(issue(name, draw(rows), draw(rows), options=["none", "1 day", "Ⅳ", "$5,000"][:size]))
    goods = any("units" in one for one in issues)
    return game(
        *issues,
        turns=draw(st.integers(2, 9)),
        opens=draw(st.sampled_from(["A", "B", "drawn"])),
        talk=draw(st.booleans()),
        max_chars=draw(st.sampled_from([1, 30, 1000])),
        answer=draw(st.sampled_from(["must", "may"])),
        walk_away=draw(st.booleans()),
        discount=draw(st.sampled_from(["1", "9/10", "0.5"])),
        show=draw(st.sampled_from(["nothing", "order", "all"])),
        reservation={"A": draw(POINTS), "B": draw(POINTS)},
        draw={"permute": draw(st.sampled_from([["A"], ["A", "B"], []]))} if goods else {},
    )


@pytest.mark.hypothesis
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@given(scenario=scenarios(), seed=st.integers(0, 2**32 - 1))
def test_random_scenarios_obey(law: laws.Law, scenario: Any, seed: int) -> None:
    law(scenario, seed)


@pytest.mark.hypothesis
@given(scenario=scenarios(), seed=st.integers(0, 2**32 - 1), text=st.text(max_size=60))
def test_any_text_is_read_in_random_scenarios(scenario: Any, seed: int, text: str) -> None:
    laws.any_text_is_read(scenario, seed, text)


@pytest.mark.hypothesis
@given(scenario=scenarios(), seed=st.integers(0, 2**32 - 1))
def test_every_end_is_of_its_kind_and_pays_what_the_rules_say(scenario: Any, seed: int) -> None:
    match = laws.playout(scenario, seed)
    assert match.ended is not None
    said, private = match.state.public.messages, match.state.private
    factor = Fraction(scenario.discount)
    if match.ended.end == "AGREED":
        agreement = said[-2].offer
        points = {s: sum(row[at] for row, at in zip(private[s].points, agreement, strict=True)) for s in SEATS}
        expected = {seat: points[seat] * factor ** (len(said) - 1) for seat in SEATS}
    else:
        waited = {"NO_DEAL": len(said) - 1, "OUT_OF_TIME": scenario.turns}.get(match.ended.end, len(said))
        expected = {seat: private[seat].reservation * factor**waited for seat in SEATS}
        if match.ended.end == "FORFEIT":
            loser = match.state.public.loser
            expected[loser] = min(Fraction(0), expected[loser])
    assert scenario.payoffs(match.state) == expected


def test_message_talk_that_reads_as_a_token_cannot_be_made() -> None:
    for talk in ("[Accept]", "so [ walk away ] now", "[Offer: x", "two  blanks"):
        with pytest.raises(ValueError, match="talk"):
            Message(talk=talk)
