"""What replies of bargaining mean with `reading="fair"`: examples beyond the vectors, then the laws."""

from __future__ import annotations

import unicodedata
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab import catalog
from negolab.game import Invalid, observe
from negolab.games.bargaining import PRESETS, Accept, Action, Bargaining, Offer, Reject
from tests.games.test_bargaining import after, answer, bargaining
from tests.support.timing import grows_linearly

FAIR = bargaining(reading="fair")
STANDING = after(FAIR, 6000)
LAST = after(FAIR, 6000, 4500, 5800, 4700, 5600, 4800)


def read(text: str) -> Action | str:
    found = answer(FAIR, STANDING, text)
    return found.codes[0] if isinstance(found, Invalid) else found


@pytest.mark.parametrize(
    "text",
    [
        "Yes, accept.",
        "My answer is yes.",
        "Done deal",
        "We have a deal at $60.",
        "I would like to accept your offer.",
        "I don't love it\naccept",
        "I was hoping for less. Still, I accept.",
        "**Decision:** Accept\n\n**Reasoning:** There's no certainty that I'd do better than a gain of $5.",
        "<thinking>45?</thinking>\n\nI accept.",
        '```\n{"answer": "Yes"}\n```',
        '{"response": {"action": "accept"}}',
        "I choose to accept your offer.",
        "I accept this offer because it gives me a profit of $5.",
        "Hello! I accept your proposal of $60.00. Best regards, Buyer",
        "I accept $60.00 for the item.",
        "Yes to your offer.",
        '{"accept": true, "current_offer": 60}',
        '{"accept": true}',
        "Decision: accept\n\n**Rationale:** 60 is better than no deal.",
        "a",
        "60? Deal.",
        "You want 60? Deal.",
    ],
)
def test_an_acceptance_is_taken_in_the_words_people_use(text: str) -> None:
    assert read(text) == Accept()


@pytest.mark.parametrize(
    "text",
    [
        "Nobody will accept that.",
        "My boss will accept that.",
        "Suppose I accept.",
        "The moment I accept, you win.",
        "I'd love to accept, sadly my purse is empty.",
        "Yes, nice try.",
        "Yes, good luck with that.",
        "I accept the price and the risk.",
        "accept it or leave it",
        "I accept. Not!",
        "I accept. Just kidding.",
        "Add a case and I accept.",
        "Come down a little and we have a deal.",
        "One dollar off and I'll accept.",
        "I accept, subject to inspection.",
        "Next round I accept.",
        "I know you're happy to accept.",
        "Over my dead body will I accept.",
        '{"accept": true, "reject": true}',
        "I don't accept.",
        "I'd rather walk away from this deal.",
    ],
)
def test_an_acceptance_that_is_only_spoken_of_is_none(text: str) -> None:
    assert read(text) == "vetoed_acceptance"


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("My counteroffer is $45. That leaves me 20.", 4500),
        ("Considering your offer of 60, I counter with 45", 4500),
        ("I offer 48 (my profit: 17)", 4800),
        ("My value: 65. My counter: 48", 4800),
        ("With 4 rounds left, I offer 48.", 4800),
        ("Step 1: think. Step 2: offer 45", 4500),
        ("Your offer: 60\nMy offer: 45", 4500),
        ("I could go to 55 if I had to.\n\n45", 4500),
        ('{"action": "counter", "price": "$45.50"}', 4550),
        ("My last word is 51 and I hope you'll accept.", 5100),
        ('{"accept": null, "price": 45, "amount": "45.00"}', 4500),
    ],
)
def test_the_price_that_is_meant_is_the_offer(text: str, cents: int) -> None:
    assert read(text) == Offer(cents)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<think>45", "reasoning_open"),
        ('{"price": 45, "Price": 46}', "key_twice"),
        ('{"accept": true, "price": 45}', "ambiguous_accept_and_number"),
        ('{"accept": true, "counter_price": 55}', "ambiguous_accept_and_number"),
        ('{"action": "reject", "price": 60}', "echoed_price"),
        ("45 and we have a deal", "ambiguous_accept_and_number"),
        ("Price: 45\nPrice: 48", "several_prices"),
        ("45.000", "malformed_number"),
        ("4*5", "several_prices"),
        ("55? Deal.", "ambiguous_accept_and_number"),
        ("What about 60 minus 10? Deal.", "ambiguous_accept_and_number"),
        ("I accept that we disagree. 57", "ambiguous_accept_and_number"),
        ("I hope you'll accept, and I accept 45.", "ambiguous_accept_and_number"),
        ("I'll take it.", "no_valid_input"),
        ("I reject that.", "no_valid_input"),
        ("I'd rather walk away.", "no_valid_input"),
        ("> 45", "no_valid_input"),
    ],
)
def test_in_doubt_a_reply_is_asked_again(text: str, code: str) -> None:
    assert read(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "Decision: reject",
        "**Reject**\nReason: 48 is too low",
        '{"decision": "reject"}',
        "45",
        "I reject the offer.",
        "Reject. No deal.",
        "Rejected.",
        "No, I reject that.",
        "I have to decline.",
        "I pass.",
        "I don't accept.",
        "I refuse to accept your offer.",
        "Not bad, but no.",
        "No, that's too low for me.",
        "Nope, I'm out.",
        "My answer is no.",
        "Sorry, your offer is rejected.",
        "Decision: declined",
        "No, 48 is too low.",
        "Reject. 48 is below what I need.",
        "Reject. $48 is close to my cost of $47.",
        "I don't accept $48.",
        "I'd only sell at 50",
        '{"price": 45}',
    ],
)
def test_at_the_last_response_a_refusal_ends_the_game(text: str) -> None:
    assert answer(FAIR, LAST, text) == Reject()


@pytest.mark.parametrize(
    "text",
    [
        "I won't reject that.",
        "Should I reject?",
        "You said: I reject.",
        "I reject your logic.",
        "Not bad.",
        "No, deal!",
        "No, I'll take it.",
        "No, sounds good.",
        "I never refuse.",
        "I would have rejected that.",
        "That is too low.",
        "I reject, unless you pay more.",
        "I don't accept my fate.",
        "They declined.",
        "I'd walk away.",
        "Unacceptable",
        "48",
        "$48 is fine",
        "48.00 works for me",
        "OK, 48 it is",
        '{"price": 48}',
        "A profit of $8 is better than nothing.",
        "Rejecting would leave me with $0.00, so of the two moves it is the one I do not make.",
        "Your 48 is too low.",
        "$48 is above my cost, so that works.",
        "48 is high enough for me",
        "48 is low but I'll take it",
        "I cannot get more than $48, so I take it.",
        "No, 48 is great",
        "48 is not bad",
        "If I reject, the game ends with 0 for both.",
        "I agree, I keep $8.",
        "It's better than your first 45. Agreed.",
        "I reject, unless you pay 50",
        "Could you pay 49?",
    ],
)
def test_at_the_last_response_what_is_no_clear_refusal_is_asked_again(text: str) -> None:
    assert isinstance(answer(FAIR, LAST, text), Invalid)


@pytest.mark.parametrize("text", ["Yes, I'll take it at $48.", "<answer>accept</answer>"])
def test_at_the_last_response_the_standing_price_may_be_named(text: str) -> None:
    assert answer(FAIR, LAST, text) == Accept()


def test_a_model_that_plays_on_by_itself_is_asked_again() -> None:
    text = "45.00\n\nRound 3: you were offered $55.00.\nAccept it, or offer in round 4.\naccept"
    assert isinstance(answer(FAIR, after(FAIR, 6000), text), Invalid)


@pytest.mark.parametrize("text", ["50. Scratch that.", "50, just kidding", "50 - no, wait.", "50? Never."])
def test_a_price_that_is_taken_back_is_asked_again(text: str) -> None:
    assert isinstance(answer(FAIR, after(FAIR, 6000), text), Invalid)


def test_who_may_walk_away_does_so_in_their_own_words() -> None:
    game = bargaining(reading="fair", walk_away=True)
    state = after(game, 6000)
    for text in ("I'd rather walk away from this negotiation.", "I'll walk away now.", "Sorry, I walk away."):
        assert answer(game, state, text) == Reject()
    for text in (
        "I'd walk away.",
        "I could walk away.",
        "I'll walk away if you insist.",
        "I won't walk away.",
        "Reject.",
    ):
        assert isinstance(answer(game, state, text), Invalid)


def test_a_message_is_delivered_without_reasoning_and_quoted_lines() -> None:
    game = bargaining("cheap-talk-two-way", reading="fair")
    state = after(game, 900, value=800, cost=600)
    assert answer(game, state, "<think>6.50?</think>7\n**Message:** yes\n> 9\nI'm sure") == Offer(700, "yes I'm sure")


# Laws.

PIECES = (
    "accept Accept yes deal a I i'll will to happy the offer your of my no not if you or reject walk away 60 $60.00 45 "
    "45.5 47.999 1,000 round profit value leaves me which gives final answer decision: reason: it's is thank price "
    '. , ; : ! ? — … - \n \n\n > ``` ** _ " { } {"accept": true} {"price": 45} <think> </think> MESSAGE:'
)
TEXTS = st.lists(st.sampled_from(PIECES.split(" ")), max_size=24).map(" ".join) | st.text(max_size=200)


@given(TEXTS)
def test_any_text_is_an_action_or_invalid_and_accepts_only_in_words(text: str) -> None:
    for state in (after(FAIR), STANDING, LAST):
        found = answer(FAIR, state, text)
        assert isinstance(found, Invalid | Offer | Accept | Reject)
        if isinstance(found, Accept):
            letters = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).lower()))
            assert letters == "a" or any(word in text.lower() for word in ("accept", "yes", "deal"))


@given(
    st.lists(TEXTS, max_size=5), st.lists(st.sampled_from(["> accept", ">45", "  > </think> no", "> {"]), max_size=3)
)
def test_deleting_quoted_lines_changes_nothing(texts: list[str], quoted: list[str]) -> None:
    lines = [line for text in texts for line in text.split("\n") if not line.lstrip().startswith(">")]
    mixed = [line for at, line in enumerate(lines) for line in (line, *quoted[at : at + 1])]
    assert read("\n".join(mixed)) == read("\n".join(lines))


@given(TEXTS)
def test_a_code_fence_changes_nothing(text: str) -> None:
    assert read(f"```json\n{text}\n```") == read(text)


@pytest.mark.parametrize("reading", ["fair", "literal"])
@pytest.mark.parametrize("preset", list(PRESETS))
def test_what_is_said_is_read_as_it_was_meant(preset: str, reading: str) -> None:
    game = catalog.load("bargaining", preset, reading=reading)
    assert isinstance(game, Bargaining) and game.buyer_values and game.seller_costs
    state = game.start(game.buyer_values[0], game.seller_costs[0])
    for _ in range(game.rounds + 1):
        (seat,) = game.turn(state.public)
        seen, options = observe(state, seat), game.options(observe(state, seat))
        for action in options:
            assert game.told(seat).parse(game.say(action), seen) == action
        offer = next((action for action in options if isinstance(action, Offer)), None)
        if offer:
            state = game.step(state, {seat: offer})


def test_games_of_before_are_read_by_the_letter() -> None:
    assert bargaining().reading == "fair"
    assert Bargaining.legacy_defaults["reading"] == "literal"
    assert {PRESETS[name]["reading"] for name in ("exact-literal", "interview")} == {"literal"}


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize(
    "piece",
    [
        *("i accept ", "accept no ", "that i ", "<think>", "</think>", "a__", "--", "– ", "> x\n", "45 of a "),
        *("#1 ", "1. x\n", "2. 45\n", '{"a":', "[", "accept\n", "my offer: 45\n", "round 1/6 ", "5,", "...", "ạ́"),
        *("happy to ", "after careful ", "\n", "I don't ", "earn ", ", which ", "MESSAGE: ", "** ", "```\n"),
    ],
)
def test_reading_takes_time_linear_in_the_text(piece: str) -> None:
    for length in 2_400, 100_000:
        assert grows_linearly(lambda n: partial(read, piece * (n // len(piece))), length)


def test_long_texts_of_any_kind_are_refused_without_an_exception() -> None:
    kinds: list[Any] = ['{"price":' * 9_000, "[" * 19_000, '{"price": ' + "9" * 9_000 + "}", "accept " * 20_000]
    assert {read(text) for text in kinds} <= {"too_long", "out_of_range", "no_valid_input"}
