"""Parsing of bargaining replies and messages, beyond the conformance vectors."""

from __future__ import annotations

import sys
from unicodedata import combining, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.game import Invalid, observe
from negolab.games.bargaining import Accept, Offer, Reject
from negolab.games.bargaining.lexer import _LEADING_MARKS, _order_marks
from negolab.games.bargaining.reading import (
    clean_message,
    is_clean_message,
    read_price,
    read_reply,
    split_message,
    without_decimal_comma,
    write_message,
)
from tests.games.test_bargaining import after, answer, bargaining


@given(st.from_regex(r"[0-9]{1,7}(\.[0-9]{1,2})?", fullmatch=True), st.integers(0, 2))
def test_a_plain_price_is_read_as_the_grammar_reads_it(text: str, made: int) -> None:
    game = bargaining(rounds=2)
    rules = game._grammar()
    cents = read_price(text, game.price_lo, game.price_hi)
    found = read_reply(text, rules, made > 0, made == 2)
    if cents is None:
        assert found == "out_of_range"
    else:
        assert found == (Reject() if made == 2 else Offer(cents))


def test_to_walk_away_is_said_in_its_own_words() -> None:
    game = bargaining(walk_away=True)
    assert game.say(Reject()) == "walk away"
    assert bargaining().say(Reject()) == "reject"
    assert answer(game, after(game, 5500), "reject").codes == ("no_valid_input",)
    assert answer(game, after(game, 6000, 4200, 5800, 4400, 5500), "i walk away, sorry") == Reject()


def test_options_are_21_even_prices_beside_the_answers() -> None:
    game = bargaining()
    prices = [action.cents for action in game.options(observe(after(game), "A")) if isinstance(action, Offer)]
    assert prices == list(range(0, 10_001, 500))
    assert game.options(observe(after(game, 5500), "B"))[0] == Accept()
    assert Reject() in bargaining(walk_away=True).options(observe(after(bargaining(walk_away=True), 5500), "B"))


REFUSALS = {
    "I won't accept $55.": "echoed_price",
    "No deal at 55": "echoed_price",
    "55 is too expensive": "echoed_price",
    "No, 55": "echoed_price",
    "my 2nd offer: 55": "echoed_price",
    "no 45": "refused_price",
    "not more than 45": "refused_price",
    "ok. I couldn\u2019t pay $45": "refused_price",
    "45. never 45": "refused_price",
    "not 150 but 45": "refused_price",
}
OFFERS = {
    "No, 45": 4500,
    "No! 45 it is": 4500,
    "55": 5500,
    "I offer $55.00": 5500,
    "55 usd": 5500,
    "not 150, 45": 4500,
    "45, not more": 4500,
    "nobody pays 45": 4500,
}


@pytest.mark.parametrize(("text", "code"), REFUSALS.items())
def test_a_price_that_is_refused_is_asked_again_unless_the_guard_is_off(text: str, code: str) -> None:
    game, literal = (bargaining(refusal_guard=guard, reading="literal") for guard in (True, False))
    assert answer(game, after(game, 5500), text).codes == (code,)
    assert isinstance(answer(literal, after(literal, 5500), text), Offer)


@pytest.mark.parametrize(("text", "cents"), OFFERS.items())
def test_a_price_that_is_not_refused_is_an_offer(text: str, cents: int) -> None:
    game = bargaining()
    assert answer(game, after(game, 5500), text) == Offer(cents)


def test_only_the_other_seats_price_is_echoed_and_only_while_it_stands() -> None:
    game = bargaining()
    state = after(game, 5500, 4500)
    assert answer(game, after(game), "55 is fair") == Offer(5500)
    assert answer(game, state, "55 is fair") == Offer(5500)
    assert answer(game, state, "45 is fair").codes == ("echoed_price",)
    assert game.parse("45 is fair", observe(state, "B")) == Offer(4500)


_SAID = ("no", "not", "won't", "never", "i", "pay", "offer", "is", "fair", "45", "$45.00", "55", "nobody")


@pytest.mark.parametrize("reading", ["fair", "literal"])
@given(words=st.lists(st.sampled_from((*_SAID, ".", ",", ";", ":", "!")), max_size=8), last=st.booleans())
def test_the_guard_only_ever_takes_an_offer_away(reading: str, words: list[str], last: bool) -> None:
    text = " ".join(words)
    guarded, bare = (bargaining(rounds=1 + (not last), reading=reading, refusal_guard=on) for on in (True, False))
    found, was = (answer(game, after(game, 5500), text) for game in (guarded, bare))
    if isinstance(was, Offer) and found != was:
        (code,) = found.codes
        assert code == "refused_price" or (code == "echoed_price" and was.cents == 5500)
        assert found.kind == "format"
        assert not last
    else:
        assert found == was
    if isinstance(was, Offer) and reading == "literal":
        # A stop before each price leaves nothing that could refuse it; read fairly, it also parts what is offered from
        # the price that is asked.
        stopped = text.replace("$45.00", ". $45.00").replace(" 45", " . 45").replace(" 55", " . 55")
        again = answer(guarded, after(guarded, 5500), stopped)
        assert again == was or again.codes == ("echoed_price",)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("52,50", "52.50"),
        ("$52,5", "52.5"),
        ("I offer ５２，５０ now", "52.50"),
        ("0,50", "0.50"),
        ("7,99 dollars", "7.99"),
    ],
)
def test_a_decimal_comma_is_refused_with_what_to_write_instead(text: str, written: str) -> None:
    game = bargaining()
    found = answer(game, after(game, 5500), text)
    assert (found.codes, found.kind) == (("malformed_number",), "format")
    assert found.reason == (
        f"Your price has a decimal comma: write {written}, or answer with a price from $0.00 to $100.00 or accept."
    )
    assert answer(game, after(game, 5500), written) == Offer(round(100 * float(written)))


@pytest.mark.parametrize("text", ["1,000", "52,500", "1.000,50", "1,2,3", "52,50,10", "1,000.50", "45.5,5", "a52,50"])
def test_a_comma_that_is_no_decimal_one_is_refused_without_a_guess(text: str) -> None:
    found = answer(bargaining(), after(bargaining(), 5500), text)
    assert isinstance(found, Invalid) and "decimal comma" not in found.reason and without_decimal_comma(text) == ""


def test_games_of_before_and_the_last_response_keep_their_words_for_a_decimal_comma() -> None:
    literal, last = bargaining(refusal_guard=False), bargaining(rounds=1)
    for game in (literal, last):
        assert "not a plain price in dollars" in answer(game, after(game, 5500), "52,50").reason


def test_reasons_say_what_to_do() -> None:
    game = bargaining()
    texts = ("", "accept 45", "accept", "40 or 45", "45%", "150", "no deal?", "not 45", "no deal at 55", "x" * 20_001)
    for state in (after(game), after(game, 5500), after(game, 6000, 4200, 5800, 4400, 5500, 4500)):
        for found in (answer(game, state, text) for text in texts):
            if isinstance(found, Invalid):
                assert ": answer " in found.reason and found.reason.endswith(".")
                assert found.kind == ("rule" if found.codes[0] in ("nothing_to_accept", "out_of_range") else "format")


LONG = {
    "marks that canonical order would sort slowly": "\u0301" * 10_000 + "\u0327" * 10_000,
    "marks that decompose into marks": "\u0f81" * 20_000,
    "letters that grow": "\ufdfa" * 20_000,
    "numbers": "1," * 10_000,
    "more numbers": "45 " * 6_666,
    "hyphens": "a-" * 10_000,
    "invisible": "\u200b" * 19_998 + "45",
    "thanks": "thank you " * 2_000,
    "distinct letters": "".join(map(chr, range(0x20000, 0x20000 + 20_000))),
}


@pytest.mark.parametrize("text", LONG.values(), ids=list(LONG))
def test_20000_characters_of_anything_are_read(text: str) -> None:
    game = bargaining()
    read = answer(game, after(game, 5500), text)
    assert isinstance(read, Invalid | Offer | Accept)


def test_these_are_all_the_characters_that_begin_with_a_mark() -> None:
    everything = (chr(code) for code in range(sys.maxunicode + 1))
    leading = {ord(c) for c in everything if not combining(c) and combining(normalize("NFKD", c)[0])}
    assert leading == set(_LEADING_MARKS)


@given(st.text(st.sampled_from("a\u0301\u0327\u0f81\u0344\uff9e가e\u05b0 α\u0345"), max_size=60))
def test_ordered_marks_make_the_same_text(text: str) -> None:
    assert normalize("NFKC", _order_marks(text)) == normalize("NFKC", text)


# Talk.


def test_a_message_goes_out_with_an_offer_only() -> None:
    game = bargaining("cheap-talk-two-way")
    state = after(game, value=800, cost=600)
    assert answer(game, state, "9\nMessage: a  fine\tmug\u2028!") == Offer(900, "a fine mug !")
    state = game.step(state, {"A": Offer(900, "a fine mug")})
    assert state.public.messages == ((1, "A", "a fine mug"),)
    assert answer(game, state, "ok\nmessage: you win 5") == Accept()
    assert answer(game, state, "message: 7").codes == ("no_valid_input",)


def test_who_may_not_talk_has_no_marker() -> None:
    game = bargaining("cheap-talk")
    state = after(game, 900, value=800, cost=600)
    assert answer(game, state, "6\nmessage: 7").codes == ("several_prices",)
    with pytest.raises(ValueError, match="may not send"):
        game.step(state, {"B": Offer(600, "hi")})


@given(st.text(max_size=400))
def test_a_tidy_message_reads_back_as_itself(text: str) -> None:
    message = clean_message(text)
    assert len(message) <= 280 and is_clean_message(message)
    if message:
        assert split_message(f"9.00\n{write_message(message)}") == ("9.00\n", message)


def test_a_message_cut_behind_a_word_reads_back_as_itself() -> None:
    message = clean_message("word " * 100)
    assert message.endswith(" ") and len(message) == 280 and is_clean_message(message)
    assert not any(map(is_clean_message, ("two\nlines", "x" * 281, " x", 5)))
