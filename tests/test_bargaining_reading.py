"""Bargaining: what replies and messages mean, beyond the examples of the conformance vectors."""

from __future__ import annotations

import sys
from unicodedata import combining, normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negolab.game import Invalid, observe
from negolab.games.bargaining import Accept, Offer, Reject
from negolab.games.bargaining.normal import _LEADING_MARKS, _ordered
from negolab.games.bargaining.reading import is_tidy, read, read_price, say_message, split_message, tidy
from tests.test_bargaining import after, answer, bargaining


@given(st.from_regex(r"[0-9]{1,7}(\.[0-9]{1,2})?", fullmatch=True), st.integers(0, 2))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_plain_price_is_read_as_the_grammar_reads_it(text: str, made: int) -> None:
    game = bargaining(rounds=2)
    rules = game._grammar()
    cents = read_price(text, game.price_lo, game.price_hi)
    found = read(text, rules, made > 0, made == 2)
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


def test_reasons_say_what_to_do() -> None:
    game = bargaining()
    for state in (after(game), after(game, 5500), after(game, 6000, 4200, 5800, 4400, 5500, 4500)):
        for text in ("", "accept 45", "accept", "40 or 45", "45%", "150", "no deal?", "x" * 20_001):
            found = answer(game, state, text)
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
@settings(deadline=None, derandomize=True)
def test_ordered_marks_make_the_same_text(text: str) -> None:
    assert normalize("NFKC", _ordered(text)) == normalize("NFKC", text)


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
@settings(deadline=None, derandomize=True)
def test_a_tidy_message_reads_back_as_itself(text: str) -> None:
    message = tidy(text)
    assert len(message) <= 280 and is_tidy(message)
    if message:
        assert split_message(f"9.00\n{say_message(message)}") == ("9.00\n", message)


def test_a_message_cut_behind_a_word_reads_back_as_itself() -> None:
    message = tidy("word " * 100)
    assert message.endswith(" ") and len(message) == 280 and is_tidy(message)
    assert not is_tidy("two\nlines") and not is_tidy("x" * 281) and not is_tidy(" x") and not is_tidy(5)
