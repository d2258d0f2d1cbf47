"""The text front of bargaining: one fixed text per human reply, folded from the events, and the data row."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from negolab.game import observe
from negolab.games.bargaining import PRESETS, Accept, Bargaining, Offer, Reject
from negolab.games.bargaining.front import game_over_box, reprompt, rules_text, texts
from negolab.games.bargaining.measures import interview_row
from negolab.match import Match
from negolab.record import parse_record
from tests.games.test_bargaining import bargaining

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


def begun(game: Bargaining, *seller: str) -> Match:
    """A match of the first value and cost, after these replies of the seller."""
    assert game.buyer_values and game.seller_costs
    match = Match(game, start=game.start(game.buyer_values[0], game.seller_costs[0]))
    for text in seller:
        match.submit("A", text)
    return match


def hear_seller(match: Match, rng: random.Random) -> None:
    while "A" in match.pending():
        match.submit("A", rng.choice(SELLER))


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
    match, rng = begun(game), random.Random(seed)
    hear_seller(match, rng)
    shown = texts(game, match.events)
    assert len(shown) == 1
    for text in said:
        if match.ended is not None:
            break
        before = match.state
        match.submit("B", text)
        hear_seller(match, rng)
        now = texts(game, match.events)
        assert now[:-1] == shown
        if now[-1] == reprompt(game.price_lo, game.price_hi, game.reject_named):
            assert match.state == before
        shown = now
    record = parse_record(match.record().to_line())
    assert texts(game, record.events) == shown
    assert texts(game, Match.replay(record).events) == shown


@given(games, dialogues, st.integers(0, 99))
def test_a_button_gives_the_text_of_the_words(game: Bargaining, said: list[str], seed: int) -> None:
    typed, spoken, rngs = begun(game), begun(game), (random.Random(seed), random.Random(seed))
    for text in ("", *said):
        for match, rng in zip((typed, spoken), rngs, strict=True):
            hear_seller(match, rng)
        assert texts(game, typed.events) == texts(game, spoken.events)
        if typed.ended is not None:
            break
        read = game.told("B").parse(text, typed.seen("B"))
        if isinstance(read, Offer | Accept | Reject):
            typed.act("B", read)
        else:
            typed.submit("B", text)
        spoken.submit("B", text)


# What a match tells.


def test_a_human_who_uses_up_the_allowance_is_told_so() -> None:
    match = begun(bargaining(buyer_retries=0), "55")
    match.submit("B", "hm")
    assert texts(match.game, match.events)[-1] == f"You gave no valid response. No deal.\n\n{game_over_box(0, 0)}"


def test_a_match_that_is_stopped_keeps_the_texts_that_were_shown() -> None:
    match = begun(bargaining(), "55")
    for seat, text in (("B", "42"), ("A", "53")):
        match.submit(seat, text)
    shown = texts(match.game, match.events)
    match.abort("the page was closed")
    assert len(shown) == 2 and texts(match.game, match.events) == shown


# Texts.


def test_the_texts_need_nothing_that_the_buyer_may_not_know() -> None:
    for preset in ("range", "none", "unsourced", "verified", "claimed"):
        game = bargaining(preset)
        match = Match(game, start=game.start(6173, 3719))
        for seat, text in zip("ABABA", ("70", "50", "68", "hm", "66"), strict=True):
            if seat in match.pending():
                match.submit(seat, text)
        shown = "".join(texts(game, match.events))
        assert "You offered $50.00" in shown
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


# The row.


def test_an_aborted_match_has_no_earnings_in_its_row() -> None:
    match = begun(bargaining(), "55")
    match.abort("timeout")
    columns = interview_row(match.record())
    assert columns["human_earnings"] is columns["total_surplus"] is columns["fifty_fifty"] is None
    assert columns["deal_reached"] is False
