"""Reading and writing of agenda's messages: tokens, folding, the order of refusals and what their reasons say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from negolab.match import Match
from tests.support.agenda import FOOD, PAY, Message, code, game, issue, on_turn, play, reason, submodule
from tests.support.timing import grows_linearly

GAME = game(turns=6, max_chars=20, reading="literal")
OFFER = "[Offer: pay = pay b; food = 2]"


def read(text: str, *before: str) -> Message:
    _, told, seen = on_turn(play(GAME, *before))
    message = told.parse(text, seen)
    assert isinstance(message, Message), message
    assert told.parse(told.say(message), seen) == message
    return message


def test_an_offer_is_read_in_any_case_order_and_spacing() -> None:
    expected = Message(offer=(1, 2))
    for text in (
        OFFER,
        "[offer: FOOD = 02; pay=PAY   B;]",
        "[ Offer : pay\t= pay\nb;;food = 2 ]",
        "[OFFER:pay = ｐａｙ ｂ;food = ２]",
    ):
        assert read(text) == expected


def test_replies_and_talk_stand_around_an_offer_in_any_order() -> None:
    expected = Message("reject", (1, 2), "not enough sorry")
    for text in (f"[Reject] not enough sorry {OFFER}", f"{OFFER} not enough [ REJECT ]\n sorry"):
        assert read(text, OFFER) == expected
    assert GAME.say(expected) == f"[Reject] not enough sorry {OFFER}"


@pytest.mark.parametrize(
    "talk", ["[Walkaway]", "[deal] ok", "accept", "[Offering] x", "[", "]", "[[x]]", "[accept it]"]
)
def test_other_text_in_brackets_is_talk(talk: str) -> None:
    assert read(talk) == Message(talk=talk)


def test_a_token_that_appears_when_another_is_taken_out_counts_too() -> None:
    assert read("[walk  away]") == Message("walk away")
    assert code(play(GAME, OFFER), "[walk [Reject] away]") == "two_replies"
    assert code(play(GAME, OFFER), "[walk [walk [walk away] away] away]") == "two_replies"
    assert code(play(GAME), f"[walk {OFFER} away]") == "reply_and_offer"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Accept] [Reject] [Offer] [Offer]", "two_replies"),
        ("[Accept] [Offer] [Offer]", "two_offers"),
        ("[Accept] [Offer]", "no_standing_offer"),
        ("[Walk away] [Offer]", "reply_and_offer"),
        ("[Offer]", "offer_unreadable"),
        ("[Offer: pay = pay b; food = 2", "offer_unreadable"),
        ("[Offer: pay = pay b; food = 2 [x]]", "offer_unreadable"),
        ("[Offer: wage = 3; food]", "offer_unreadable"),
        ("[Offer: wage = 3; food = 9]", "unknown_issue"),
        ("[Offer: food = 9; wage = 3]", "unknown_option"),
        ("[Offer: pay = x; pay = x]", "unknown_option"),
        ("[Offer: pay = pay a; pay = x; food = 1]", "unknown_option"),
        ("[Offer: pay = pay a; pay = pay a]", "issue_twice"),
        ("[Offer:]", "issue_missing"),
        ("[Offer: pay = pay a]" + "x" * 30, "issue_missing"),
        (OFFER + "x" * 30, "talk_too_long"),
        (" \n ", "nothing_said"),
    ],
)
def test_refusals_come_in_the_order_of_the_rules(text: str, expected: str) -> None:
    assert code(play(GAME), text) == expected


def test_the_last_message_and_a_talk_that_is_off_are_checked_after_the_offer() -> None:
    last = play(game(turns=2), "hm")
    assert code(last, "[Offer: pay = 3]") == "unknown_option"
    assert code(last, f"{OFFER} hm") == "offer_at_last_message"
    mute = Match(game(talk=False, max_chars=3), seed=1)
    assert code(mute, "long talk") == "talk_too_long"
    assert code(mute, "hm") == "no_talk"
    assert code(mute, OFFER) is None


def test_reasons_quote_the_nearest_right_name() -> None:
    issues = (issue("salary", [1, 2], [2, 1]), issue("start date", [1, 2], [2, 1]), FOOD)
    match = Match(game(*issues, reading="literal"), seed=1)
    assert "did you mean start date?" in reason(match, "[Offer: start = start date a]")
    match = Match(game(*issues), seed=1)
    assert reason(match, "[Offer: start = start date a]").endswith("write one of salary, start date, food.")
    assert "did you mean start date?" in reason(match, "[Offer: start dat = start date a]")
    assert "did you mean salary b?" in reason(match, "[Offer: salary = salery b]")
    assert "0 to 3 units" in reason(match, "[Offer: food = four]")
    assert "leaves out start date, food" in reason(match, "[Offer: salary = salary a]")


def test_goods_are_counted_from_the_authors_side() -> None:
    match = play(GAME, "[Offer: pay = pay a; food = 3]")
    _, told, seen = on_turn(match)
    assert seen.public.standing == (0, 3)
    assert "food = 0 for you, 3 for the other" in told.prompt(seen, None)
    match.submit("B", "[Offer: pay = pay a; food = 3]")
    assert match.state.public.standing == (0, 0)


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize(
    "piece", ["[Offer: ", "[walk ", "[ accept ", "a\u0301\u0323", "pay = x;", "ﷺ", "] [", "[Offer: pay = \u0301\u0323"]
)
def test_reading_takes_time_linear_in_the_text(piece: str) -> None:
    _, told, seen = on_turn(play(game(PAY, FOOD)))

    def reading(length: int) -> Callable[[], object]:
        text = f"[Offer: pay = {piece * (length // len(piece))}; food = 2]"
        return lambda: (told.parse(text, seen), told.parse(text[1:], seen))

    assert grows_linearly(reading, 50_000)


def test_names_are_told_apart_after_folding() -> None:
    folded = submodule("scenario").fold
    assert folded("ﬁn  Ⅳ\tX") == "fin iv x"
