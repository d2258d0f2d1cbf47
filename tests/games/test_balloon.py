"""The balloon game: patience, words, starts, scores, and its players."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from negolab import laws
from negolab.catalog import load
from negolab.game import Invalid
from negolab.games.balloon import Balloon, Fault, Instance, Say
from negolab.games.balloon.measures import (
    clemscore,
    max_harmonic,
    mean_change,
    pareto_share,
    proposals,
    proposer_switches,
    stubbornness,
)
from negolab.games.balloon.prompt import language, languages
from negolab.match import Match
from negolab.players.lookup import list_players, player
from negolab.theory.frontier import best_set, knapsack
from tests.support.matches import said

EFFORT = {"A01": 10, "B02": 20, "C03": 30, "A04": 40}
SMALL = Instance(
    EFFORT,
    50,
    {"A": {"A01": 7, "B02": 3, "C03": 9, "A04": 12}, "B": {"A01": 9, "B02": 12, "C03": 5, "A04": 3}},
)
FORMAT = ("no_reasoning", "no_argument", "untagged", "bad_set", "nothing_to_relay")
RULE = ("unknown_item", "over_limit", "refuse_inactive", "agree_inactive", "agree_ambiguous", "agree_conditional")


def balloon(preset: str = "seed", **changes: Any) -> Balloon:
    game = load("balloon", preset, **{"instance": SMALL, **changes})
    assert isinstance(game, Balloon)
    return game


def play_texts(game: Balloon, *texts: str) -> Match:
    """Play these texts in turn."""
    return said(game, *texts, seed=0)


def codes(game: Balloon, text: str) -> tuple[str, ...]:
    """The codes of a first message; () if it is legal."""
    match = Match(game, seed=0)
    read = match.told("A").parse(text, match.seen("A"))
    return read.codes if isinstance(read, Invalid) else ()


# Laws, under settings that the presets do not cover.


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(
    "changes",
    [
        {"strategic_reasoning": True, "language": "it", "empty_turn_limit": 3},
        {"require_argument": False, "items": 1},
        {"preset": "clembench", "strategic_reasoning": True, "language": "de", "require_argument": False},
        {"preset": "clembench", "items": 2, "limit_ratio": 0.01, "patience": 0},
    ],
    ids=str,
)
def test_other_settings_obey(law: laws.Law, changes: dict[str, Any]) -> None:
    game = load("balloon", **{"turn_limit": 12, **changes})
    for seed in range(3):
        law(game, seed)


def test_odd_names_are_said_and_read_again() -> None:
    names = ["it's", 'a "b"', "back\\slash", "AGREE:", "é 🎈", "\xa0", "'", "a', 'b"]
    numbers = {name: i + 1 for i, name in enumerate(names)}
    for preset in ("seed", "clembench"):
        game = balloon(preset, instance=Instance(numbers, 30, {"A": numbers, "B": numbers}))
        match = Match(game, seed=1)
        for action in game.options(match.seen("A")):
            assert game.parse(game.say(action), match.seen("A")) == action


# Playing.

PROPOSE = "PROPOSAL: {'A01', 'B02'}\nARGUMENT: {'so'}"
NOTHING = "hello"
WRONG = "REFUSE: {'A01'}\nARGUMENT: {'so'}"


def test_the_last_fault_decides_the_end() -> None:
    match = play_texts(balloon(), NOTHING, NOTHING, WRONG)
    details = match.game.details(match.state)
    assert (details["ended_by"], details["code"], details["main"]) == ("A", "refuse_inactive", 0)


def test_the_other_seat_learns_nothing_of_a_fault() -> None:
    match = play_texts(balloon(), PROPOSE)
    before = match.seen("A")
    match.submit("B", NOTHING)
    assert match.seen("A") == before
    assert not any("untagged" in repr(entry) for entry in match.record().seen_by("A").entries)


def test_a_time_out_costs_one_and_ends_as_aborted() -> None:
    match = Match(balloon(patience=1), seed=0)
    late = Invalid(("late",), "Too late; answer sooner.", "time")
    match.reject("A", late)
    assert match.state.private["A"].patience == 0
    match.reject("A", late)
    assert match.ended is not None and match.ended.end == "ABORTED"
    assert match.game.details(match.state)["code"] == "late"


TWICE = "AGREE: {'A01'}\nAGREE: {'C03'}\nARGUMENT: {'so'}"


def test_a_double_fault_passes_the_words_on() -> None:
    match = play_texts(balloon("clembench"), PROPOSE, TWICE)
    public = match.state.public
    assert (public.mover, public.turn, public.empty, public.messages[-1].text) == ("A", 1, 0, TWICE)
    assert match.told("A").prompt(match.seen("A"), None).endswith(f"A: {PROPOSE}\n\nB: {TWICE}")
    assert codes(balloon(), TWICE) == ("agree_ambiguous",)


def test_a_typed_message_must_be_what_its_text_says() -> None:
    match = Match(balloon(), seed=0)
    for action in (
        Say("ARGUMENT: {'so'}", propose=(frozenset({"A01"}),)),
        Say("hello"),
        Say(None),  # type: ignore[arg-type]
        "PROPOSAL: {'A01'}",
        Say("AGREE: {'A01'}\nARGUMENT: {}", agree=(frozenset({"A01"}),)),
    ):
        with pytest.raises(ValueError):
            match.game.step(match.state, {"A": action})
    with pytest.raises(ValueError, match="it is not seat"):
        match.game.step(match.state, {"B": Say("ARGUMENT: {'so'}")})


# Words.


@pytest.mark.parametrize("name", languages())
def test_a_language_has_all_words(name: str) -> None:
    spoken = language(name)
    assert sorted(spoken.reasons) == sorted(FORMAT + RULE)
    tags = spoken.tags
    for changes in ({}, {"strategic_reasoning": True}, {"require_argument": False}):
        match = Match(balloon(language=name, **changes), seed=0)
        for seat in ("A", "B"):
            prompt = match.told(seat).prompt(match.seen(seat), None)
            assert "$" not in prompt and "LIMIT = 50\n" in prompt
            assert '{"A01": 10, "B02": 20, "C03": 30, "A04": 40}' in prompt
            assert (tags.reasoning in prompt) == match.game.strategic_reasoning
            assert all(f"{tag}: {{" in prompt for tag in (tags.propose, tags.refuse, tags.agree, tags.argument))
            assert prompt.endswith(spoken.prompt.second if seat == "B" else "\n")


@pytest.mark.parametrize("name", languages())
def test_a_reason_is_a_sentence_that_names_the_tag(name: str) -> None:
    tags = language(name).tags
    game = balloon(language=name, strategic_reasoning=True, patience=99)
    s = f"{tags.reasoning}: {{'s'}}\n"
    faults = {
        "no_reasoning": ("x", tags.reasoning),
        "no_argument": (s, tags.argument),
        "untagged": (f"{s}{tags.argument}: {{}} x", tags.propose),
        "bad_set": (f"{s}{tags.refuse}: {{1}} {tags.argument}: {{}}", tags.refuse),
        "over_limit": (f"{s}{tags.propose}: {{'C03', 'A04'}} {tags.argument}: {{}}", tags.propose),
        "unknown_item": (f"{s}{tags.propose}: {{'Z'}} {tags.argument}: {{}}", tags.propose),
        "agree_inactive": (f"{s}{tags.agree}: {{'A01'}} {tags.argument}: {{}}", tags.agree),
    }
    match = Match(game, seed=0)
    for code, (text, tag) in faults.items():
        fault = match.told("A").parse(text, match.seen("A"))
        assert isinstance(fault, Fault) and fault.codes == (code,)
        assert tag in fault.reason and fault.reason.endswith(".") and "$" not in fault.reason
        assert code != "over_limit" or ("70" in fault.reason and "50" in fault.reason)


def test_a_message_is_composed_in_the_form_of_the_transcript() -> None:
    seen = Match(balloon(), seed=0).seen("A")
    composed = balloon().compose(seen, refuse=[{"C03"}], propose=[{"B02", "A01"}], argument="{it's} fair")
    assert composed == "REFUSE: {'C03'}\nPROPOSAL: {'A01', 'B02'}\nARGUMENT: {\"(it's) fair\"}"
    game = balloon(strategic_reasoning=True)
    thinking = game.compose(Match(game, seed=0).seen("A"), agree=[[]], reasoning="hm {")
    assert thinking.startswith("STRATEGIC REASONING: {'hm ('}\nAGREE: {}\nARGUMENT: {")


def test_the_prompt_tells_what_is_new() -> None:
    match = Match(balloon(), seed=0)
    first = match.seen("A")
    match.submit("A", PROPOSE)
    assert match.told("B").prompt(match.seen("B"), None).endswith(f"of the other player.\n\n{PROPOSE}")
    match.submit("B", "ARGUMENT: {'no'}")
    assert match.told("A").prompt(match.seen("A"), first) == "ARGUMENT: {'no'}"
    assert match.told("A").prompt(match.seen("A"), match.seen("A")) == ""


# Starts.


@pytest.mark.parametrize(
    "published",
    [
        {"items": 15, "mode": "equal"},
        {"items": 15, "mode": "inverse"},
        {"items": 35, "mode": "equal", "correlation": {"A": "strongly-correlated", "B": "strongly-correlated"}},
    ],
    ids=str,
)
def test_instances_are_drawn_as_the_published_ones(published: dict[str, Any]) -> None:
    game = load("balloon", **published)
    state = game.deal(random.Random(5))
    terms, own = state.public.terms, {seat: state.private[seat].importance for seat in ("A", "B")}
    assert len(terms.effort) == game.items and sum(terms.effort.values()) // 2 == terms.limit  # type: ignore[attr-defined]
    assert list(own["A"]) == list(own["B"]) == list(terms.effort)
    assert sorted(own["A"].values()) == sorted(own["B"].values())


def test_published_importances_repeat_and_ours_do_not() -> None:
    starts = [load("balloon", preset).deal(random.Random(s)) for preset in ("clembench", "seed") for s in (1, 2)]
    published, again, ours, others = (list(state.private["A"].importance.values()) for state in starts)
    drawn = random.Random(1)
    assert published[0] == drawn.randint(1, max(starts[0].public.terms.effort.values()))
    assert ours != others and published[:3] != ours[:3] and len(again) == len(published)


def test_at_least_one_item_fits() -> None:
    for seed in range(50):
        terms = load("balloon", items=2, limit_ratio=0.001).deal(random.Random(seed)).public.terms
        assert min(terms.effort.values()) == terms.limit


def one_item(name: str, *, other: str | None = None, effort: int = 1) -> dict[str, Any]:
    own = {"A": {name: 1}, "B": {other or name: 1}}
    return {"instance": {"effort": {name: effort}, "limit": 1, "importance": own}}


def many_items(count: int, effort: int) -> dict[str, Any]:
    numbers = {f"x{n}": effort for n in range(count)}
    return {"instance": {"effort": numbers, "limit": 1, "importance": {"A": numbers, "B": numbers}}}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"patience": -1}, "patience"),
        ({"turn_limit": 0}, "turn_limit"),
        ({"items": 301}, "items"),
        ({"effort_range": (5, 4)}, "effort_range"),
        ({"limit_ratio": 0.0}, "limit_ratio"),
        ({"language": "fr"}, "language"),
        ({"mode": "unfair"}, "mode"),
        ({"correlation": {"A": "uncorrelated"}}, "correlation"),
        (one_item("a}"), "braces"),
        (one_item("a\u2028"), "line breaks"),
        (one_item("a", other="b"), "same items"),
        (one_item("a", effort=0), "not 0 for 'a'"),
        (many_items(21, 2_201), "effort must be at most 2,200 with more than 20 items, not 2201 for 'x0'"),
        ({"items": 21, "effort_range": (1, 2001)}, "with 21 items, effort_range must end at 2,000 or below, not"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=re.escape(named)):
        load("balloon", **changes)


# Scores.


def deal_worth_nothing(preset: str) -> dict[str, Any]:
    zero = Instance({"a": 1, "b": 1}, 1, {"A": {"a": 0, "b": 1}, "B": {"a": 0, "b": 1}})
    game = balloon(preset, instance=zero)
    match = play_texts(game, "PROPOSAL: {'a'} ARGUMENT: {}", "AGREE: {'a'} ARGUMENT: {}")
    return match.game.details(match.state)


def test_a_deal_worth_nothing_to_both_has_no_mean_in_the_reference() -> None:
    assert deal_worth_nothing("clembench")["harmonic"] is None and deal_worth_nothing("clembench")["main"] is None
    assert deal_worth_nothing("seed")["harmonic"] == 0 and deal_worth_nothing("seed")["main"] == 0
    assert deal_worth_nothing("seed")["pareto"] is False


def test_an_unvaluing_seat_has_no_norm() -> None:
    frontier = knapsack([1, 1], [0, 0], [1, 2], 2)
    assert frontier.points == ((0, 3),) and max_harmonic(frontier) is None


def test_measures_of_a_negotiation() -> None:
    x, y, z = frozenset("ab"), frozenset("bc"), frozenset("c")
    assert stubbornness([x, y, x, x]) == 0.5 and stubbornness([]) is None
    assert proposer_switches([("A", x), ("B", y), ("B", z)]) == 0.5
    assert mean_change([x, y, z]) == pytest.approx((1 + 0.5) / 2)
    assert pareto_share([(0, 3), (0, 1)], knapsack([1, 1], [0, 0], [1, 2], 2)) == 0.5
    assert clemscore({"one": [100, None], "two": [50, 0]}) == {"played": 75, "quality": 62.5, "clemscore": 46.875}


def test_proposals_are_found_again_in_what_was_said() -> None:
    s = "STRATEGIC REASONING: {%s}\n"
    texts = (
        s % "or PROPOSAL: {'C03'}" + PROPOSE,
        s % "x" + "AGREE: {'A04'}\nAGREE: {'C03'}\nPROPOSAL: {'A04'}\nARGUMENT: {}",
        s % "y" + "ARGUMENT: {}",
        s % "z" + "PROPOSAL: {'B02'}\nARGUMENT: {}",
    )
    match = play_texts(balloon("clembench", strategic_reasoning=True), *texts)
    assert proposals(match.game.reader, match.state) == [("A", {"C03"}), ("A", {"A01", "B02"}), ("B", {"B02"})]


# Players.

OWN = ("stubborn", "agreeable", "boulware", "linear", "conceder", "time", "swap-tit-for-tat")


def moves(game: Balloon, a: str, b: str, seed: int) -> tuple[Match, list[tuple[Any, Say]]]:
    """Play two players; return the match with each observation and reply."""
    match = Match(game, seed=seed)
    seats = {"A": player(a, game), "B": player(b, game)}
    said = []
    while match.pending() and len(said) < 60:
        seat = match.state.public.mover
        seen = match.seen(seat)
        action = seats[seat].act(match.told(seat), seen)
        assert match.told(seat).parse(game.say(action), seen) == action
        said.append((seen, action))
        match.act(seat, action)
    return match, said


def worth(seen: Any, names: frozenset[str]) -> float:
    terms, own = seen.public.terms, seen.private.importance
    return sum(own[n] for n in names) / sum(own[n] for n in best_set(terms.effort, own, terms.limit))


LEAST = {"stubborn": 0.9, "agreeable": 0.5, "boulware": 0.5, "linear": 0.5, "conceder": 0.5, "swap-tit-for-tat": 0.5}
BETA = {"boulware": 0.2, "linear": 1.0, "conceder": 5.0}


@pytest.mark.parametrize("preset", ["seed", "clembench"])
@pytest.mark.parametrize("name", LEAST)
def test_a_player_keeps_to_its_limits(preset: str, name: str) -> None:
    game = load("balloon", preset)
    assert isinstance(game, Balloon)
    for seed, opponent in enumerate((*OWN, "random-legal")):
        _, said = moves(game, name, opponent, seed)
        for seen, action in said[::2]:
            terms = seen.public.terms
            numbers = {str(n) for n in seen.private.importance.values()}
            assert not numbers & set(re.findall(r"\d+", action.text.split("ARGUMENT:")[1]))
            for names in action.propose + action.agree:
                assert sum(terms.effort[n] for n in names) <= terms.limit
                assert worth(seen, names) >= LEAST[name] - 1e-9
            if name in BETA:
                spent = min(1, seen.public.turn / (game.turn_limit or 20))
                aim = 1 - 0.5 * spent ** (1 / BETA[name])
                assert all(worth(seen, names) >= aim - 1e-9 for names in action.propose)
            if name == "stubborn":
                assert all(worth(seen, names) == 1 for names in action.propose)
            for refused in action.refuse:
                assert worth(seen, refused) < worth(seen, action.propose[0])


def test_two_boulware_come_to_an_end() -> None:
    game = load("balloon", mode="inverse")
    assert isinstance(game, Balloon)
    for seed in range(10):
        match, said = moves(game, "boulware", "boulware", seed)
        assert match.ended is not None and match.ended.end in ("AGREED", "OUT_OF_TIME")
        assert len(said) <= 40


def test_swap_tit_for_tat_gives_what_it_got() -> None:
    game = balloon(instance=None)
    _, said = moves(game, "swap-tit-for-tat", "conceder", 3)
    own = [worth(seen, action.propose[0]) for seen, action in said[::2] if action.propose]
    assert own[0] == 1 and own == sorted(own, reverse=True)


def test_players_are_found_and_checked() -> None:
    game = balloon()
    assert set(OWN) <= set(list_players(game))
    with pytest.raises(ValueError, match="beta"):
        player("time:beta=0", game)
    with pytest.raises(ValueError, match="floor"):
        player("linear:floor=2", game)
    with pytest.raises(ValueError, match="can play only balloon"):
        from negolab.games.balloon.players import Stubborn

        Stubborn().check(load("negolab.scaffolds.ultimatum"))
