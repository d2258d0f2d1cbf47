"""Split games: variants of the four sources, exact results, parsing, secrecy, players, and the importer."""

from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

import negolab as nl
from negolab import laws
from negolab.analysis import tables
from negolab.catalog import load, parameters, stored_game
from negolab.events import Rejected
from negolab.game import SEATS, Invalid, observe, other
from negolab.games.split import PRESETS, EndTalk, Message, Proposal, Split, corpus_scenarios
from negolab.games.split.allocation import complement, points
from negolab.games.split.draws import draw_partner_values, random_composition
from negolab.games.split.measures import best_joint, whole_unit_frontier
from negolab.games.split.players import smallest_share
from negolab.games.split.statements import announcement_text, parse_hand, parse_offer, parse_values
from negolab.match import Match
from negolab.players.lookup import list_players, player

CONTEXTS = (((1, 2, 3), (1, 3, 1), (4, 0, 2)), ((1, 2, 3), (0, 2, 2), (4, 0, 2)), ((2, 2, 2), (1, 2, 2), (2, 2, 1)))
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((preset, {}) for preset in PRESETS),
    ("trust-and-split", {"roles": "alternate", "quota": 2}),
    ("no-press", {"roles": "alternate", "show": "own", "quota": 1}),
    ("no-press", {"roles": "random", "rule": "exact"}),
    ("classic", {"redraw": "stock", "reveal": False, "equal_totals": True}),
    ("classic", {"redraw": "none", "reveal": False, "fallback": "end"}),
    ("classic", {"reveal": False, "items": ("hats", "books"), "stock": (3, 0), "conflict": True, "equal_totals": True}),
    ("mila-tas", {"source": "uniform", "low": 0, "high": 2}),
    ("mila-tas", {"source": "ten_one_exclusive", "attempts": 1}),
    ("deal-or-no-deal", {"source": "corpus", "reveal": False}),
    ("deal-or-no-deal", {"redraw": "stock", "reveal": False, "rounds": 4}),
    ("deal-or-no-deal", {"redraw": "none", "reveal": False, "quota": 2}),
    ("deal-or-no-deal", {"source": "contexts", "contexts": CONTEXTS, "rule": "proportional", "reveal": False}),
    ("lewis-2017", {"talk_limit": 1, "reveal": False}),
    ("lewis-2017", {"talk_limit": 3, "attempts": 1, "fallback": "end"}),
    ("trust-and-split", {"talk": "free", "talk_limit": 5}),
    ("no-press", {"talk": "free", "quota": 0}),
]


def split(preset: str = "classic", **changes: Any) -> Split:
    game = load("split", preset=preset, **{"reading": "literal", **changes})
    assert isinstance(game, Split)
    return game


def rounds_of(game: Split, *rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Plain rounds from (stock, values A, values B), each a vector."""
    named = [[dict(zip(game.items, vector, strict=True)) for vector in row] for row in rows]
    return [{"stock": stock, "values": {"A": a, "B": b}, "hands": None} for stock, a, b in named]


def first_seen(game: Split) -> Any:
    """What A sees of a deal."""
    return observe(game.deal(random.Random(1)), "A")


def play(game: Split, a: str, b: str, start: Any = None, seed: int = 0) -> Match:
    """Play two scripted players."""
    return nl.play(Match(game, seed=seed, start=start), {"A": a, "B": b})


# Laws, over more than the presets.


@pytest.mark.parametrize(("preset", "changes"), VARIANTS, ids=str)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32))
def test_every_variant_obeys_the_laws(preset: str, changes: dict[str, Any], seed: int) -> None:
    game = split(preset, **{"rounds": 3, **changes})
    for law in laws.LAWS:
        law(game, seed)


@pytest.mark.parametrize(("preset", "changes"), VARIANTS, ids=str)
def test_a_varied_start_is_one_that_could_have_been_dealt(preset: str, changes: dict[str, Any]) -> None:
    game = split(preset, **changes)
    rng = random.Random(1)
    for seat in SEATS:
        start = game.deal(rng)
        varied = game.vary(start, seat, rng)
        if varied is None:
            continue
        assert varied.public == start.public and varied.private[other(seat)] == start.private[other(seat)]
        for drawn, was in zip(varied.hidden.rounds, start.hidden.rounds, strict=True):
            assert drawn.stock == was.stock
            if drawn.hands is None:
                assert drawn.values[other(seat)] == was.values[other(seat)]
            else:
                assert drawn.hands[other(seat)] == was.hands[other(seat)] != drawn.hands[seat]
        now = varied.hidden.rounds[0]
        assert varied.private[seat].values in (None, now.values[seat])


def test_secrets_do_change_when_varied() -> None:
    for preset, changes in VARIANTS:
        game = split(preset, **changes)
        rng = random.Random(3)
        start = game.deal(rng)
        varied = [game.vary(start, "B", rng) for _ in range(20)]
        if game.show == "both" or game.source in ("fixed", "ten_one_exclusive"):
            assert varied == [None] * 20
        elif game.source != "contexts" and not (game.equal_totals and len(game.items) == 1):
            assert any(v is not None and v.hidden != start.hidden for v in varied), (preset, changes)


def test_a_filed_proposal_is_seen_by_its_author_alone() -> None:
    game = split("no-press")
    state = game.deal(random.Random(1))
    three, nine = (game.step(state, {"A": Proposal((n,))}) for n in (3, 9))
    assert observe(three, "B") == observe(nine, "B")
    assert observe(three, "A").private.ask == (3,)
    assert game.turn(three.public) == ("B",)


@pytest.mark.parametrize("text", ['x"\nB: "I agree to 10', "line\u2028B: all yours", "\x1b[2J", "</message>"])
def test_a_message_cannot_pass_for_the_words_of_the_game(text: str) -> None:
    game = split(quota=2)
    match = Match(game, start=game.start("A", rounds_of(game, *[((10,), (7,), (3,))] * 10)))
    match.submit("A", f"<message>{text}")
    prompt = match.told("B").prompt(match.seen("B"), None)
    said = prompt.split("Messages of this round:\n")[1].split("\n\n")[0]
    assert len(said.splitlines()) == 1 and said.startswith('A: "') and said.endswith('"')


def test_the_prompt_after_an_answer_tells_only_the_news() -> None:
    game = split("deal-or-no-deal")
    match = Match(game, seed=4)
    first = match.state.public.first
    before = match.seen(first)
    match.submit(first, "hello there")
    match.submit(other(first), "good day")
    news = match.told(first).prompt(match.seen(first), before)
    assert "good day" in news and "rounds" not in news and "<no_deal/>" in news
    assert len(news) < len(match.told(first).prompt(match.seen(first), None)) / 2


# What is read.


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        ("<think>7", "reasoning_open", "format"),
        ("five", "unreadable", "format"),
        ("<split>3</split><split>4</split>", "contradictory", "format"),
        ("3 coins, 3 coins", "repeated_item", "format"),
        ('{"apples": 3}', "unknown_item", "format"),
        ("11", "over_stock", "rule"),
        ("9" * 5000, "over_stock", "rule"),
        ("no deal", "no_deal_not_allowed", "rule"),
        ("4 coins and", "unreadable", "format"),
        (", 4 coins", "unreadable", "format"),
        ("coins 4", "unreadable", "format"),
        ('{"coins": -0}', "unreadable", "format"),
        ('{"coins": true}', "unreadable", "format"),
        ('{"split": {"split": 4}}', "unknown_item", "format"),
        ("\u212aeep 4", "unreadable", "format"),
    ],
)
def test_a_refused_proposal_has_its_code(text: str, code: str, kind: str) -> None:
    game = split(quota=0)
    refused = game.parse(text, first_seen(game))
    assert isinstance(refused, Invalid) and refused.codes == (code,) and refused.kind == kind
    assert len(refused.reason) < 500 and refused.reason.endswith(".")


def test_names_that_are_words_of_the_grammar_can_still_be_said() -> None:
    for name in ("proposal", "split", "keep", "s", "no", "deals", "items"):
        game = split(items=(name,), quota=0)
        seen = first_seen(game)
        for action in game.options(seen):
            assert game.parse(game.say(action), seen) == action
        assert game.parse(f"Proposal: 3 {name}", seen) == Proposal((3,))


def test_refused_words_never_become_public() -> None:
    game = split(max_chars=5)
    match = Match(game, start=game.start("A", rounds_of(game, *[((10,), (7,), (3,))] * 10)))
    for _ in range(3):
        match.submit("A", "much too long")
    assert match.state.public.messages[0].text == "" and match.state.public.messages[0].lapsed
    assert "too long" not in repr(observe(match.state, "B"))


def test_unread_words_do_not_complete_a_deal() -> None:
    game = split(rule="exact", quota=0, rounds=1, attempts=1)
    match = Match(game, seed=1)
    match.submit("B", "10")
    match.submit("A", "what?")
    (settled,) = match.state.public.history
    assert settled.asks == {"A": None, "B": (10,)} and settled.lapsed == ("A",) and not settled.agreed


@pytest.mark.parametrize("reading", ["fair", "literal"])
def test_a_claim_above_the_stock_is_refused_and_the_third_counts_as_0_and_is_marked(reading: str) -> None:
    match = Match(split("no-press", rounds=1, reading=reading), seed=1)
    for _ in range(3):
        _, rejected, *_ = match.submit("A", "<coins_to_self>11</coins_to_self>")
        assert isinstance(rejected, Rejected) and rejected.invalid.codes == ("over_stock",)
        assert "from 0 to 10 coins" in rejected.invalid.reason
    match.submit("B", "<coins_to_self>10</coins_to_self>")
    assert match.outcome.end == "AGREED" and match.outcome.payoffs == {"A": 0, "B": 10}
    assert match.outcome.details["rounds"][0]["lapsed"] == ["A"]
    row = tables.matches([match.record()]).iloc[0]
    assert row["decided_by_fallback"] and row["fallbacks_a"] == 1


def test_statements_are_read_as_they_are_written() -> None:
    assert parse_values(announcement_text(("coins",), (13,)), ("coins",)) == (13,)
    assert announcement_text(("coins",), (13,)) == "My value is 13 per coin."
    three = ("books", "hats", "balls")
    assert parse_values(announcement_text(three, (1, 3, 2)), three) == (1, 3, 2)
    assert parse_values("books=1, hats=3, balls=2", three) is None
    assert parse_values("my values: book: 1, hat = 3, ball=2, hats=4", three) is None
    assert parse_values("value is 1234", ("coins",)) is None
    assert parse_hand("Rock! I said rock.") == "rock"
    assert parse_hand("rock or paper") is None and parse_hand("rocket") is None
    assert parse_offer("I take 1 books. No: I take 2 hats and 1 ball; ok?", three, (1, 2, 1)) == (0, 2, 1)
    assert parse_offer("I take 3 hats", three, (1, 2, 1)) is None


def test_an_illegal_typed_action_is_refused() -> None:
    talk, ask = split(max_chars=5), split("no-press")
    start, asking = talk.start("A", rounds_of(talk, *[((10,), (7,), (3,))] * 10)), ask.deal(random.Random(1))
    for text in ("too long", " x", "a</message>", "<message>"):
        with pytest.raises(ValueError, match="message"):
            talk.step(start, {"A": Message(text)})
    for keep in (None, (11,), (-1,), (1, 2), (True,), [3]):
        with pytest.raises(ValueError, match="proposal"):
            ask.step(asking, {"A": Proposal(keep)})  # type: ignore[arg-type]
    for game, state, actions in (
        (talk, start, {"B": Message("")}),
        (talk, start, {}),
        (ask, asking, {"A": Message("")}),
    ):
        with pytest.raises(ValueError):
            game.step(state, actions)  # type: ignore[arg-type]


def test_options_beyond_2000_are_evenly_spaced() -> None:
    game = split(items=("a", "b", "c", "d"), stock=(9, 9, 9, 9), quota=0, rule="exact")
    options = game.options(first_seen(game))
    keeps = [option.keep for option in options if isinstance(option, Proposal)]
    assert len(keeps) == 2001 and keeps[-1] is None
    assert keeps[0] == (0, 0, 0, 0) and keeps[-2] == (9, 9, 9, 9) and keeps[1000] == (5, 0, 0, 2)


# Free talk.


def talking(**changes: Any) -> Match:
    """A match of the published game in which A speaks first."""
    return Match(split("lewis-2017", first="A", **changes), seed=1)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<selection>", EndTalk()),
        ("  <SELECTION>\n", EndTalk()),
        ("**<selection>**", EndTalk()),
        ("`<selection>`", EndTalk()),
        ("<message><selection></message>", EndTalk()),
        ("<think>shall I send <selection>?</think> <selection>", EndTalk()),
        ("<think>shall I send <selection>?</think> not yet", Message("not yet")),
        ("<message>selection</message>", Message("selection")),
        ("deal <selection>", "contradictory"),
        ("<selection>.", "contradictory"),
        ("<selection> <selection>", "contradictory"),
        ("<message>ok</message> <selection>", "contradictory"),
        ("<selection", Message("<selection")),
        ("", Message("")),
    ],
)
def test_the_tag_ends_the_talk_if_it_stands_alone(text: str, read: Any) -> None:
    match = talking()
    found = match.told("A").parse(text, match.seen("A"))
    assert found.codes == (read,) if isinstance(read, str) else found == read


def test_with_a_number_of_messages_the_tag_is_a_word_like_any_other() -> None:
    game = split("deal-or-no-deal", first="A")
    match = Match(game, seed=1)
    assert game.parse("<selection>", match.seen("A")) == Message("<selection>")
    match.act("A", Message("<selection>"))
    assert match.state.public.phase == "talk"
    with pytest.raises(ValueError, match="message"):
        game.step(Match(game, seed=1).state, {"A": EndTalk()})


def test_either_seat_ends_the_talk_in_its_turn_and_both_then_propose_in_private() -> None:
    for messages in range(4):
        match = talking()
        for number in range(messages):
            match.submit("AB"[number % 2], f"message {number}")  # type: ignore[arg-type]
        (seat,) = match.pending()
        match.submit(seat, "<selection>")
        last = match.state.public.messages[-1]
        assert (last.seat, last.text, last.ends) == (seat, "", True) and seat == "AB"[messages % 2]
        assert sorted(match.pending()) == ["A", "B"]
        match.submit("A", "<no_agreement>")
        assert (
            "no_agreement" not in match.told("B").prompt(match.seen("B"), None).split("Messages of this round")[1][:60]
        )
        match.submit("B", "<no_deal/>")
        assert match.ended is not None and match.ended.end == "NO_DEAL"
        assert f"{seat} ended the talk." in match.told("A").prompt(match.seen("A"), None)


def test_the_talk_ends_by_itself_at_its_limit() -> None:
    match = talking(talk_limit=3)
    said = []
    while match.state.public.phase == "talk":
        (seat,) = match.pending()
        said.append(match.told(seat).prompt(match.seen(seat), None))
        match.submit(seat, "and on")
    assert len(match.state.public.messages) == 3
    assert ["3 are left" in said[0], "2 are left" in said[1], "the last one of this talk" in said[2]] == [True] * 3
    assert all("After 3 messages it ends by itself." in text for text in said)


def test_the_other_s_values_are_told_after_the_end_alone() -> None:
    match = talking()
    theirs = ", ".join(f"{item}={n}" for item, n in zip(match.game.items, match.seen("B").private.values, strict=True))
    texts = []
    for seat, reply in (("A", "hi"), ("B", "<selection>"), ("A", "0 books"), ("B", "<no_deal/>")):
        texts.append(match.told("A").prompt(match.seen("A"), None))
        match.submit(seat, reply)  # type: ignore[arg-type]
    assert not any(theirs in text for text in texts)
    assert f"had the values {theirs}" in match.told("A").prompt(match.seen("A"), None)


def test_no_agreement_is_the_word_for_no_deal_after_free_talk_only() -> None:
    free, fixed = split("lewis-2017"), split("deal-or-no-deal", quota=0)
    assert free.say(Proposal(None)) == "<no_agreement>" and fixed.say(Proposal(None)) == "<no_deal/>"
    assert isinstance(fixed.parse("<no_agreement>", first_seen(fixed)), Invalid)
    match = talking()
    match.submit("A", "<selection>")
    for text in ("<no_agreement>", "<No_Agreement/>", "<no_agreement />", "<no_deal>", "no deal"):
        assert free.parse(text, match.seen("A")) == Proposal(None)
    assert isinstance(free.parse("<no_agreement> 1 hat <split>1 hat</split>", match.seen("A")), Invalid)


def test_a_stored_game_without_the_parameters_of_free_talk_is_the_old_one() -> None:
    for preset, changes in PRESETS.items():
        if "talk" not in changes:
            old = {name: value for name, value in parameters(split(preset)).items() if not name.startswith("talk")}
            assert stored_game("split", preset, old) == split(preset)


def test_players_end_the_talk_when_they_agreed_or_have_nothing_to_say() -> None:
    game = split("lewis-2017", first="A")
    for a, b, messages in (("greedy", "equal", 1), ("truthful", "welfare", 2), ("equal", "truthful", 2)):
        said = play(game, a, b, seed=5).state.public.messages
        assert said[-1].ends and len(said) == messages + 1
    for a in ("concede", "agreeable"):
        agreed = [play(game, a, "concede", seed=seed) for seed in range(20)]
        assert {match.ended.end for match in agreed if match.ended} == {"AGREED"}
        assert any(match.state.public.messages[-1].ends for match in agreed)


# Exact truths.


def test_every_full_allocation_of_coins_is_efficient() -> None:
    assert len(whole_unit_frontier((10,), (10,), (1,))) == 11
    assert len(whole_unit_frontier((10,), (10,), (0,))) == 1


def test_ten_one_ties_over_all_pairs_of_values() -> None:
    def truths(items: int, **changes: Any) -> tuple[float, float, float, int]:
        game = split(items=("a", "b", "c")[:items], stock=(10,) * items, source="ten_one_ties", **changes)
        rows = list(product((1, 10), repeat=items))
        pairs = [(a, b) for a in rows for b in rows if (not game.conflict or a != b)]
        pairs = [(a, b) for a, b in pairs if not game.equal_totals or sum(a) == sum(b)]
        best = [best_joint(game.stock or (), a, b) for a, b in pairs]
        greedy = [points((5.0,) * items, a) + points((5.0,) * items, b) for a, b in pairs]
        dealt = {
            (d.values["A"], d.values["B"]) for seed in range(60) for d in game.deal(random.Random(seed)).hidden.rounds
        }
        assert dealt == set(pairs)
        n = len(pairs)
        return sum(best) / n, sum(greedy) / n, sum(g / b for g, b in zip(greedy, best, strict=True)) / n, n

    assert truths(3, equal_totals=True, conflict=True) == pytest.approx((255, 165, 89 / 140, 12))
    assert truths(3, equal_totals=True) == pytest.approx((219, 165, 0.781429, 20), abs=1e-6)
    assert truths(3, conflict=True)[:3] == pytest.approx((242.142857, 165, 0.677423), abs=1e-6)
    assert truths(3)[:3] == pytest.approx((232.5, 165, 0.717746), abs=1e-6)
    assert truths(1) == pytest.approx((77.5, 55, 0.775, 4))
    assert truths(2, equal_totals=True)[:3] == pytest.approx((140, 110, 0.85))


@pytest.mark.parametrize("source", ["uniform", "ten_one_ties", "ten_one_exclusive"])
@pytest.mark.parametrize("conflict", [False, True])
def test_values_under_a_condition_are_not_called_independent(source: str, conflict: bool) -> None:
    game = split("mila-tas", source=source, conflict=conflict)
    told = game.prompt(Match(game, seed=1).seen("A"), None)
    assert "such that your values add up to the same total as the other's" in told
    assert "independent" not in told and told.count("all such draws are equally likely") == 1
    assert ("differ in at least one value" in told) == conflict
    free = split("mila-tas", source="ten_one_ties", equal_totals=False)
    assert "equally likely and independently." in free.prompt(Match(free, seed=1).seen("A"), None)


def test_equal_totals_keep_every_pair_equally_likely() -> None:
    game = split(items=("a", "b"), stock=(1, 1), low=0, high=2, equal_totals=True, rounds=6000)
    drawn = Counter((d.values["A"], d.values["B"]) for d in game.deal(random.Random(5)).hidden.rounds)
    rows = list(product(range(3), repeat=2))
    wanted = [(a, b) for a in rows for b in rows if sum(a) == sum(b)]
    assert set(drawn) == set(wanted)
    expected = 6000 / len(wanted)
    assert sum((n - expected) ** 2 / expected for n in drawn.values()) < 50


class Cuts(random.Random):
    """A random source that returns given integers."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(0)
        self.numbers = list(numbers)

    @override
    def randint(self, a: int, b: int) -> int:
        assert a <= self.numbers[0] <= b
        return self.numbers.pop(0)


def gap_chances(total: int) -> dict[tuple[int, ...], Fraction]:
    cuts = list(product(range(total + 1), repeat=2))
    counts = Counter(random_composition(total, 3, Cuts(*pair)) for pair in cuts)
    return {row: Fraction(n, len(cuts)) for row, n in counts.items()}


def test_deal_or_no_deal_over_all_draws() -> None:
    game = split("deal-or-no-deal")
    stocks: Counter[tuple[int, ...]] = Counter()
    for total in (5, 6, 7):
        for row, chance in gap_chances(total).items():
            stocks[row] += chance / 3  # type: ignore[assignment]
    rows = gap_chances(10)
    kept = {(a, b): p * q for a, p in rows.items() for b, q in rows.items() if _accepted(game, a, b)}
    accepted = sum(kept.values())
    units = [sum(row[t] * chance for row, chance in stocks.items()) for t in range(3)]
    best = [sum(max(a[t], b[t]) * p for (a, b), p in kept.items()) / accepted for t in range(3)]
    own = [sum(a[t] * p for (a, _), p in kept.items()) / accepted for t in range(3)]
    assert float(accepted) == pytest.approx(0.9245, abs=5e-5)
    assert float(sum(q * v for q, v in zip(units, best, strict=True))) == pytest.approx(28.866551, abs=1e-6)
    assert float(sum(q * v for q, v in zip(units, own, strict=True))) == pytest.approx(20.100451, abs=1e-6)
    assert float(units[1]) == pytest.approx(2.285053, abs=1e-6)
    assert float(sum(p for row, p in stocks.items() if 0 in row)) == pytest.approx(0.596584, abs=1e-6)


def _accepted(game: Split, a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    cuts = (b[0], b[0] + b[1])
    return draw_partner_values(game, a, Cuts(*cuts)) is not None


def test_the_corpus_scenarios() -> None:
    scenarios = corpus_scenarios()
    n = len(scenarios)
    assert n == len(set(scenarios)) == 5793 and list(scenarios) == sorted(scenarios)
    assert all(points(counts, values) == 10 for counts, *both in scenarios for values in both)
    assert sum(best_joint(*scenario) for scenario in scenarios) / n == pytest.approx(15.063698, abs=1e-6)
    assert sum(sum(counts) for counts, _, _ in scenarios) / n == pytest.approx(5.799586, abs=1e-6)


def test_a_division_that_helps_one_and_hurts_nobody_makes_a_deal_inefficient() -> None:
    game = split("deal-or-no-deal", rounds=2, quota=0)
    rounds = rounds_of(game, *[((1, 1, 1), (5, 0, 5), (0, 9, 1))] * 2)
    match = Match(game, start=game.start("A", rounds))
    for keep_a in ((1, 1, 0), (1, 0, 1)):
        match.act("A", Proposal(keep_a))
        match.act("B", Proposal(complement((1, 1, 1), keep_a)))
    assert match.outcome is not None
    assert [row["pareto"] for row in match.outcome.details["rounds"]] == [False, True]


def test_a_stock_too_large_to_list_has_no_verdict_on_efficiency() -> None:
    game = split("deal-or-no-deal", rounds=1, quota=0)
    match = Match(game, start=game.start("A", rounds_of(game, ((10**9,) * 3, (1, 2, 3), (3, 2, 1)))))
    match.act("A", Proposal((1, 1, 1)))
    match.act("B", Proposal((10**9 - 1,) * 3))
    assert match.outcome is not None and match.outcome.details["rounds"][0]["pareto"] is None


# Parameters.


@pytest.mark.parametrize(
    "changes",
    [
        {"items": "coins"},
        {"items": ("and",)},
        {"items": ("ands",)},
        {"items": ("coin", "coins"), "stock": (1, 1)},
        {"items": ("Coins",)},
        {"stock": (1.5,)},
        {"stock": None},
        {"low": 5, "high": 4},
        {"rounds": True},
        {"equal_totals": True, "conflict": True},
        {"conflict": True, "low": 3, "high": 3},
        {"redraw": "none"},
        {"source": "rps", "show": "hand"},
        {"source": "contexts", "stock": None, "contexts": ()},
        {"source": "contexts", "stock": None, "contexts": (((1,), (2,)),)},
        {"source": "corpus", "stock": None},
    ],
    ids=str,
)
def test_parameters_that_cannot_be_played_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|do not"):
        Split(**changes)


def test_lists_are_frozen() -> None:
    game = Split(items=["book"], stock=[3])  # type: ignore[arg-type]
    assert game.items == ("book",) and game.stock == (3,)
    listed = split("deal-or-no-deal", source="contexts", contexts=json.loads(json.dumps(CONTEXTS)))
    assert listed.contexts == CONTEXTS
    assert listed.told("A").contexts is None and listed.told("A") == listed.told("B")


def test_a_schedule_must_fit_the_game() -> None:
    game = split("trust-and-split", rounds=1)
    values, hands = {"A": {"coins": 10}, "B": {"coins": 1}}, {"A": "rock", "B": "scissors"}
    good = {"stock": {"coins": 10}, "values": values, "hands": hands}
    game.start("A", [good])
    wrong: list[dict[str, Any]] = [{"stock": {}}, {"values": {"A": {"coins": 1}}}, {"hands": None}]
    for bad in ([], [good, good], *([good | one] for one in wrong)):
        with pytest.raises(ValueError):
            game.start("A", bad)


# Players.


def test_equal_and_truthful_pairs_always_complement_each_other() -> None:
    for preset in PRESETS:
        game = split(preset)
        for name in ("equal", "truthful"):
            for settled in play(game, name, name, seed=3).state.public.history:
                assert complement(settled.stock, settled.asks["A"]) == settled.asks["B"]


def test_players_refuse_games_they_cannot_play() -> None:
    for name in ("agreeable", "concede"):
        with pytest.raises(ValueError, match="exact"):
            player(name, split())
        with pytest.raises(ValueError, match="own"):
            player(name, split("no-press", rule="exact"))
    with pytest.raises(ValueError, match="reveal"):
        player("tit-for-tat", split(reveal=False))


def test_concede_and_agreeable_come_to_terms() -> None:
    game = split("deal-or-no-deal", source="corpus", quota=3)
    for seed in range(5):
        match = play(game, "concede", "agreeable", seed=seed)
        assert match.outcome is not None and match.outcome.details["measures"]["agreement_rate"] == 1


def test_concede_asks_for_less_with_every_message() -> None:
    game = split("deal-or-no-deal", source="corpus", quota=4, rounds=1)
    match = play(game, "concede", "equal", seed=2)
    own = match.state.hidden.rounds[0].values["A"]
    offers = [
        parse_offer(sent.text, game.items, match.state.public.stock)
        for sent in match.state.public.messages
        if sent.seat == "A"
    ]
    worths = [points(keep or (), own) for keep in offers]
    assert worths == sorted(worths, reverse=True) and worths[-1] >= 5


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=3),
    st.fractions(0, 1),
)
def test_the_fewest_units_are_found(types: list[tuple[int, int]], part: Fraction) -> None:
    stock, values = zip(*types, strict=True)
    least = int(part * sum(n * v for n, v in types))
    every = product(*(range(n + 1) for n in stock))
    rows = [(sum(keep), points(keep, values), keep) for keep in every if points(keep, values) >= least]
    assert smallest_share(stock, values, least) == min(rows)[2]


@pytest.mark.parametrize("preset", PRESETS)
def test_every_player_plays_every_preset_it_accepts(preset: str) -> None:
    game = split(preset, rounds=3, quota=PRESETS[preset].get("quota", 2))
    for name in list_players(game):
        try:
            match = play(game, name, "random", seed=7)
        except ValueError as error:
            assert "need" in str(error)
            continue
        assert match.ended is not None and match.ended.end in ("AGREED", "NO_DEAL")


def test_players_say_nothing_that_is_too_long() -> None:
    match = play(split(max_chars=3), "welfare", "liar")
    assert {sent.text for sent in match.state.public.messages} == {""}
