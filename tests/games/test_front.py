"""The text front of bargaining: one fixed text per human reply, folded from the events, and the data row."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.catalog import load
from negolab.game import Reply, observe
from negolab.games.bargaining import PRESETS, Accept, Action, Bargaining, Offer, Reject
from negolab.games.bargaining.front import (
    COMPLETE,
    Front,
    game_over_box,
    reprompt,
    seller_from_player,
    texts,
)
from negolab.games.bargaining.measures import interview_row
from negolab.games.bargaining.rules_text import rules_text
from negolab.match import Match
from negolab.players.lookup import player
from negolab.record import parse_record
from tests.conftest import ROOT

HUMAN = (
    "45",
    "$48.20",
    "accept",
    "no",
    "reject",
    "walk away",
    "a",
    "I'll pay 50",
    "deal?",
    "40 or 45",
    "",
    "7 dollars",
)
SELLER = ("55", "48.50", "accept", "reject", "hm", "60", "6.50", "walk away", "MESSAGE: hi", "8\nMESSAGE: take it")


def bargaining(preset: str | None = None, **params: Any) -> Bargaining:
    game = load("bargaining", preset, **params)
    assert isinstance(game, Bargaining)
    return game


def front_of(game: Bargaining, ask_seller: Callable[[Any], Any]) -> Front:
    assert game.buyer_values and game.seller_costs
    return Front(game, game.start(game.buyer_values[0], game.seller_costs[0]), ask_seller)


def saying(*replies: str) -> Callable[[Any], str]:
    """A seller that sends these texts in order, then nothing."""
    left = iter(replies)
    return lambda seen: next(left, "")


def at_random(seed: int) -> Callable[[Any], str]:
    rng = random.Random(seed)
    return lambda seen: rng.choice(SELLER)


games = st.sampled_from([*PRESETS]).map(bargaining) | st.builds(
    bargaining,
    rounds=st.integers(1, 5),
    opener=st.sampled_from(["seller", "buyer"]),
    walk_away=st.booleans(),
    buyer_retries=st.none() | st.integers(0, 2),
)
dialogues = st.lists(st.sampled_from(HUMAN) | st.text(max_size=12), max_size=12)


# Laws.


@given(games, dialogues, st.integers(0, 99))
def test_one_text_per_reply_and_the_events_tell_them_all(game: Bargaining, said: list[str], seed: int) -> None:
    front = front_of(game, at_random(seed))
    out = [front.open(), *(front.hear(text) for text in said)]
    assert front.texts + [COMPLETE] * front.late == out
    record = parse_record(front.record.to_line())
    assert texts(game, record.events) == front.texts
    again = Front.replay(game, front.match.events[0].state, record)  # type: ignore[union-attr]
    assert again.texts == front.texts and again.open() == out[0]
    assert again.record.events == front.record.events


@given(games, dialogues, st.integers(0, 99))
def test_a_button_gives_the_text_of_the_words(game: Bargaining, said: list[str], seed: int) -> None:
    typed, spoken = front_of(game, at_random(seed)), front_of(game, at_random(seed))
    assert typed.open() == spoken.open()
    for text in said:
        read = game.told("B").parse(text, typed.match.seen("B"))
        act = typed.match.ended is None and isinstance(read, Offer | Accept | Reject)
        assert (typed.act(read) if act else typed.hear(text)) == spoken.hear(text)  # type: ignore[arg-type]


@given(games, dialogues, st.integers(0, 99))
def test_an_invalid_reply_changes_nothing_and_gets_one_sentence(game: Bargaining, said: list[str], seed: int) -> None:
    front = front_of(game, at_random(seed))
    front.open()
    for text in said:
        before = front.match.state
        if front.hear(text) == reprompt(game.price_lo, game.price_hi, game.reject_named):
            assert front.match.state == before


# The human's side.


def test_resuming_at_any_point_goes_on_with_the_same_texts() -> None:
    game = bargaining()
    said = ["hm", "42", "44", "", "46", "thanks"]
    whole = front_of(game, saying("60", "58", "55", "accept"))
    out = [whole.open(), *(whole.hear(text) for text in said)]
    for stop in range(5):
        front = front_of(game, saying("60", "58", "55", "accept"))
        front.open()
        for text in said[:stop]:
            front.hear(text)
        rest = ["60", "58", "55", "accept"][sum(seat == "A" for _, seat, _ in front.match.state.public.offers) :]
        resumed = Front.replay(game, game.start(6500, 4000), front.record, saying(*rest))
        assert resumed.texts + [resumed.hear(text) for text in said[stop:]] == out


def test_texts_after_the_end_are_counted_and_never_recorded() -> None:
    front = front_of(bargaining(), saying("55"))
    front.open()
    front.hear("accept")
    events = len(front.record.events)
    assert [front.hear("hello"), front.hear("45"), front.act(Accept())] == [COMPLETE] * 3
    assert (front.late, len(front.record.events)) == (2, events)


def test_a_button_that_is_not_legal_raises_and_records_nothing() -> None:
    front = front_of(bargaining(), saying("55"))
    front.open()
    events = list(front.match.events)
    for action in (Offer(10_001), Offer(-1), Reject()):
        with pytest.raises(ValueError):
            front.act(action)
    assert front.match.events == events


def test_a_human_who_uses_up_the_allowance_is_told_so() -> None:
    front = front_of(bargaining(buyer_retries=0), saying("55"))
    front.open()
    assert front.hear("hm") == f"You gave no valid response. No deal.\n\n{game_over_box(0, 0)}"


def test_opening_twice_asks_the_seller_once() -> None:
    front = front_of(bargaining(), saying("55"))
    assert front.open() == front.open()
    assert len(front.match.state.public.offers) == 1


# The seller's side.


def broken(seen: Any) -> str:
    raise TimeoutError


def mute(seen: Any) -> None:
    return None


def absurd(seen: Any) -> Action:
    return Offer(99_999)


@pytest.mark.parametrize("ask_seller", [broken, mute, absurd])
def test_a_seller_that_fails_falls_back_to_the_default(ask_seller: Callable[[Any], Any]) -> None:
    front = front_of(bargaining(), ask_seller)
    assert "Round 1: The AI offers $52.50." in front.open()
    columns = interview_row(front.record)
    assert (columns["ai_invalid"], columns["ai_fallbacks"]) == (2, 1)


async def later(seen: Any) -> str:
    return "55"


@pytest.mark.filterwarnings("ignore:coroutine")
def test_a_seller_that_answers_later_is_no_silent_fallback() -> None:
    with pytest.raises(TypeError, match="answers later"):
        front_of(bargaining(), later).open()


def test_a_seller_may_answer_with_a_reply_that_keeps_how_it_came() -> None:
    front = front_of(bargaining(), lambda seen: Reply("55", model="some-model"))
    front.open()
    assert any(getattr(event, "reply", Reply("")).model == "some-model" for event in front.record.events)


def test_any_player_may_sell_over_a_match_that_stands() -> None:
    game = bargaining()
    match = Match(game, seed=1, players={"A": "boulware", "B": "human"})
    front = Front.over(match, seller_from_player(player("boulware", game), match))
    assert "The AI offers $65.00." in front.open()
    assert "The AI counteroffers $64.74." in front.hear("42")
    assert interview_row(front.record)["opponent_label"] == "boulware"


def test_where_somebody_else_sells_the_texts_are_read_from_the_match() -> None:
    game = bargaining()
    match = Match(game, seed=1)
    front = Front.over(match)
    assert front.texts == []
    match.submit("A", "55")
    with pytest.raises(ValueError, match="nobody answers"):
        front.hear("42")
    match.submit("B", "42")
    assert len(front.texts) == 1
    match.submit("A", "accept")
    assert front.texts[1].startswith("Round 2: You offered $42.00. The AI accepts. Deal reached at $42.00.")
    assert front.hear("hello") == COMPLETE


def test_a_match_that_is_stopped_keeps_the_texts_that_were_shown() -> None:
    front = front_of(bargaining(), saying("55", "53"))
    shown = [front.open(), front.hear("42")]
    front.match.abort("the page was closed")
    assert front.texts == shown


def test_a_front_needs_its_own_game_and_record() -> None:
    front = front_of(bargaining(), saying("55"))
    with pytest.raises(ValueError, match="another game"):
        Front.replay(bargaining(rounds=4), bargaining().start(6500, 4000), front.record)
    with pytest.raises(ValueError, match="not for Trading"):
        Front.over(Match(load("trading"), seed=1))


# Texts.


def test_the_texts_need_nothing_that_the_buyer_may_not_know() -> None:
    for preset in ("range", "none", "unsourced", "verified", "claimed"):
        game = bargaining(preset)
        front = Front(game, game.start(6173, 3719), saying("70", "68", "66", "64"))
        shown = "".join([front.open(), *(front.hear(text) for text in ("50", "hm", "51"))])
        assert "37.19" not in shown and "3719" not in shown and preset not in shown


def test_waiting_costs_and_outside_options_are_told() -> None:
    game = bargaining(discount_buyer=0.9, walk_away=True, outside_buyer=300, item="old lamp", rounds=2)
    text = rules_text(game.told("B"), observe(game.start(6500, 4000), "B"))
    for line in (
        "This is a price negotiation over an old lamp.",
        "- Maximum 2 rounds (1 offer per player)",
        "- Walking away: Type 'walk away' to end the game without a deal",
        "your earnings are multiplied by 0.9 and the seller's by 1",
        "- If no deal after 2 rounds: You earn $3.00; the seller earns $0.00",
        "- No deal → You earn $3.00, Seller earns $0.00",
    ):
        assert line in text


def test_losses_are_shown_as_they_are() -> None:
    box = game_over_box(-500, 81.25)
    assert "║     Human: $-5.00                                ║" in box
    assert "║     AI: $0.81                                    ║" in box


# The document.


def document() -> str:
    return (ROOT / "tests" / "fixtures" / "bargaining_manager.md").read_text("utf-8")


def test_the_document_is_the_seed_byte_for_byte() -> None:
    digest = hashlib.sha256(document().encode()).hexdigest()
    assert digest == "f1e8da5bc2e1f9a3d9f3e4d6eac826ef1e76b7149e901b2d4bc913ab090cd1fb"


def test_fixed_texts_are_those_of_the_document() -> None:
    seed = document()
    start = seed.index("══════════ GAME OVER")
    box = seed[start : seed.index("╝", start) + 1]
    for name, cents in (("Human", 1250), ("AI", 100)):
        placeholder = f"     {name}: ${{{'human_total' if name == 'Human' else 'ai_total'}}}".ljust(50)
        box = box.replace(placeholder, f"     {name}: ${cents / 100:.2f}".ljust(50))
    assert box == game_over_box(1250, 100)
    for sentence in (COMPLETE, reprompt(0, 10_000, False)):
        assert sentence in seed


# The row.


def test_an_aborted_match_has_no_earnings_in_its_row() -> None:
    front = front_of(bargaining(), saying("55"))
    front.open()
    front.match.abort("timeout")
    columns = interview_row(front.record)
    assert columns["human_earnings"] is columns["total_surplus"] is columns["fifty_fifty"] is None
    assert columns["deal_reached"] is False
