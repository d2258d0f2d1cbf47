"""The table for trading: offers and their worth, answers, ends, and pages that send what they like."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
import traitlets
from negolab_widgets.fields import Number
from negolab_widgets.page import take
from negolab_widgets.tables.trading.view import clock
from typing_extensions import override

from negolab.catalog import list_games, load
from negolab.game import SEATS, Seat
from negolab.games.trading import GOODS
from negolab.match import Match
from tests.support.tables import SeatPage, below, drawn_html, visible
from tests.widgets.test_tables import EVIL, GameTable

PRESETS = list_games()["trading"]
HOLDINGS = {"A": (10, 10, 10, 10, 3), "B": (10, 10, 10, 10, 10)}
VALUES = {"A": (5, 10, 15, 25, 40), "B": (6, 9, 14, 22, 36)}
TOO_MUCH = "[Offer: 99 Ore -> 1 Wood]"


def new_match(values: dict[str, Any] = VALUES, **changes: Any) -> Match:
    game = load("trading", **changes)
    return Match(game, start=game.start(HOLDINGS, values))


def sit(seat: Seat = "A", **changes: Any) -> SeatPage:
    return SeatPage(new_match(**changes), seat)


def answering(offer: str = "2 Brick -> 1 Ore", seat: Seat = "B", **changes: Any) -> SeatPage:
    """A page with an offer to answer."""
    page = sit(seat, **changes)
    if seat == "A":
        page.press("Message only")
    page.hear(f"[Offer: {offer}]")
    return page


def put(page: SeatPage, *, give: dict[str, int] | None = None, get: dict[str, int] | None = None) -> None:
    """Enter amounts as a page does."""
    editor = page.table.editor
    for steppers, amounts in ((editor._give, give), (editor._get, get)):
        for good, amount in (amounts or {}).items():
            steppers[GOODS.index(good)].take(amount)


def shown(page: SeatPage) -> list[str]:
    """The buttons that are on the page, by their names in the table."""
    names = ("accept", "deny", "finish", "offer", "speak", "counter", "extend")
    return [name for name in names if visible(getattr(page.table, name))]


class TestTradingTable(GameTable):
    game = "trading"
    fault = TOO_MUCH, "offer only what is yours"
    reply = "[Offer: 1 Wheat -> 1 Wood]"

    @override
    def new_match(self, **params: Any) -> Match:
        return new_match(max_turns=4, **params)

    @override
    def move(self, page: SeatPage) -> None:
        """Offer, then accept and offer, as long as an offer can be answered."""
        # Beside an acceptance, an offer that repeats the accepted one quotes it.
        put(page, give={"Wheat": 3 if page.seat == "A" else 2}, get={"Wood": 1})
        names = [name for name in ("offer", "extend", "accept") if name in shown(page)]
        getattr(page.table, names[0]).click()

    @override
    def hear_markup(self) -> SeatPage:
        page = sit("B")
        page.hear(f"{EVIL} [Offer: 1 Wheat -> 1 Wood]")
        take(page.table.words, EVIL)
        page.press("Deny")
        return page


# What is composed and sent.


def test_own_goods_and_values_stand_beside_the_steppers() -> None:
    editor = sit().table.editor
    assert re.sub("<[^>]+>", "", editor._facts[4].value) == "Orehold 3net 0worth 40"
    labels = [stepper.name for stepper in (*editor._give, *editor._get)]
    assert labels == [*(f"Give {good}" for good in GOODS), *(f"Get {good}" for good in GOODS)]
    assert (editor._give[4].more, editor._give[4].less) == ("one more Ore to give", "one less Ore to give")


def test_what_is_composed_is_valued_at_once_and_can_be_cleared() -> None:
    page = sit()
    put(page, give={"Wheat": 4}, get={"Ore": 1})
    assert "<b>+20</b> for you if it is accepted" in page.table.editor.sum.value
    assert "You give 4 Wheat, worth 20 to you, and get 1 Ore, worth 40 to you." in page.table.editor.sum.value
    put(page, give={"Brick": 2})
    assert "<b>\N{MINUS SIGN}30</b>" in page.table.editor.sum.value and "nl-loss" in page.table.editor.sum.value
    page.press("Clear")
    assert page.table.editor.is_empty


def test_an_offer_is_sent_in_the_games_own_form_with_its_words_behind_it() -> None:
    page = sit()
    put(page, give={"Wheat": 2, "Sheep": 1}, get={"Brick": 1})
    take(page.table.words, "  A good one.  ")
    page.press("Make this offer")
    assert page.replies() == ["[Offer: 2 Wheat, 1 Sheep -> 1 Brick] A good one."]
    assert page.table.editor.is_empty and page.table.words.value == ""
    assert "You get 1 Brick for 2 Wheat, 1 Sheep" in page.card._text.value


def test_a_message_can_be_sent_without_an_offer_and_silence_is_a_pass() -> None:
    page = sit()
    take(page.table.words, "Let us talk.")
    page.press("Message only")
    page.hear("Pass.")
    page.press("Message only")
    assert page.replies() == ["Let us talk.", "Pass.", "Pass."]


def test_half_an_offer_is_refused_until_it_is_changed() -> None:
    page = sit()
    for half in ({}, {"give": {"Wheat": 1}}, {"get": {"Ore": 1}}):
        page.press("Clear")
        put(page, **half)
        page.press("Make this offer")
        assert "An offer needs something to give and something to get" in page.table.notice.value
        put(page, get={"Wood": 1})
        assert "An offer needs something" not in page.table.notice.value
    assert len(page.match.events) == 1


@pytest.mark.parametrize(
    ("preset", "cost", "box", "sent"),
    [
        ("seed", "loses the match.", "offer only what is yours", 0),
        ("tolerant", "You may correct one reply", "offer only what is yours", 1),
        ("textarena-0.7.4", "forgiven", "You do not have everything your offer gives.", 1),
    ],
)
def test_what_a_fault_costs_is_said_and_one_that_would_lose_the_match_is_not_sent(
    preset: str, cost: str, box: str, sent: int
) -> None:
    page = sit(preset=preset)
    assert cost in drawn_html(page.table.help)
    for _ in range(3):
        typed = page.type(TOO_MUCH)
    assert page.match.ended is None and len(page.replies()) == sent
    assert box in typed.notice.value and typed.box.value == TOO_MUCH


# What is answered.


def test_only_the_answers_that_fit_are_offered() -> None:
    page = sit("B")
    assert not {"accept", "deny"} & set(shown(page)) and page.table.offer.disabled
    page.hear("Hello.")
    assert shown(page) == ["offer", "speak"]
    page.press("Message only")
    page.hear("[Offer: 1 Wheat -> 1 Wood]")
    assert shown(page) == ["accept", "deny", "counter", "extend"]
    assert page.table.counter.disabled and page.table.extend.disabled, "nothing of an own offer yet"


def test_the_waiting_offer_stands_with_its_gain_and_can_be_accepted() -> None:
    page = answering()
    waiting = page.card._text.value
    assert "You get 2 Brick for 1 Ore" in waiting and '<span class="nl-neutral"><b>+8</b> for you' in waiting
    assert "Without any trade it is a draw." in unescape(waiting) and "Accepting does not end the match." in waiting
    assert "nl-primary" in page.table.accept._dom_classes, "filled until an own offer is composed"
    page.press("Accept")
    assert page.replies()[-1] == "[Accept]"
    assert page.match.seen("B").private.holdings == (10, 10, 10, 12, 9)
    assert "<dd>+8</dd>" in page.widget._facts.value
    brick, ore = page.table.editor._facts[3:]
    assert "+2" in brick.value and "\N{MINUS SIGN}1" in ore.value, "the net flow so far"


@pytest.mark.parametrize(
    ("button", "text"),
    [
        ("Deny", "[Deny] Too dear."),
        ("Deny, offer mine", "[Deny] [Offer: 3 Wheat -> 1 Brick] Too dear."),
        ("Accept, offer mine", "[Accept] [Offer: 3 Wheat -> 1 Brick] Too dear."),
    ],
)
def test_an_offer_can_be_denied_or_answered_with_another(button: str, text: str) -> None:
    page = answering()
    put(page, give={"Wheat": 3}, get={"Brick": 1})
    take(page.table.words, "Too dear.")
    page.press(button)
    assert page.replies()[-1] == text


def test_goods_from_an_accepted_offer_can_be_offered_on() -> None:
    page = answering("5 Ore -> 6 Brick", "A")
    put(page, give={"Ore": 7}, get={"Brick": 9})
    page.press("Deny, offer mine")
    assert "You do not have everything you would give." in page.table.notice.value
    page.press("Accept, offer mine")
    assert page.replies()[-1] == "[Accept] [Offer: 7 Ore -> 9 Brick]"


def test_an_offer_that_cannot_be_covered_says_so_before_it_is_accepted() -> None:
    page = answering("1 Wheat -> 5 Ore", "A")
    assert "You cannot accept it: you hold only 3 Ore." in page.card._text.value
    assert "</b> for you" not in page.card._text.value
    assert page.table.accept.disabled and page.table.extend.disabled and not page.table.deny.disabled
    page.table.accept.click()
    assert "You do not have what this offer asks for." in page.table.answer_notice.value
    assert page.match.ended is None, "a slip costs nothing"
    page.press("Deny")
    assert page.table.answer_notice.value.count("hold") == 0


# Turns and ends.


def test_turns_are_counted_as_they_are_played() -> None:
    page = sit(max_turns=3)
    for seat, left in zip(SEATS, (2, 1), strict=True):
        assert clock(page.match.told(seat), page.match.seen(seat)) == f"Turn 1 of 3; you have {left} left"
    page.press("Message only")
    page.hear("Pass.")
    page.press("Send message and finish")
    assert clock(*page.told) == "3 turns played"
    old = load("trading", preset="textarena-0.7.4", max_turns=0)
    assert clock(old, Match(old, seed=1).seen("A")) == "Turn 1 of 1; you have 1 left"


@pytest.mark.parametrize("preset", PRESETS)
def test_on_the_last_turn_a_message_or_the_end_takes_the_place_of_an_offer(preset: str) -> None:
    page = sit(preset=preset, max_turns=2 - load("trading", preset=preset).lenient)
    assert page.table.compose == "Make an offer" and shown(page) == ["offer", "speak"]
    page.table.finish.click()
    assert page.replies() == [], "a press of what is not shown"
    page.press("Message only")
    last = SeatPage(page.match, "B")
    table = last.table
    assert "There is no offer waiting, and nobody can answer a new one." in last.card._text.value
    assert table.compose == "" and not visible(last.card._go)
    assert visible(table.finish) and visible(table._last) and visible(table.words)
    assert not any(map(visible, (*table._composing, table.offer, table.counter, table.extend)))
    take(table.words, "Good bye.")
    last.press("Finish the match")
    assert page.replies()[-1] == "Good bye." and page.match.ended is not None
    assert "You gave" not in last.drawn() and "All turns were played" in last.drawn()


def test_an_offer_that_waits_on_the_last_turn_can_only_be_answered_and_its_trade_is_told() -> None:
    page = answering(max_turns=2)
    assert shown(page) == ["accept", "deny"] and page.table.compose == ""
    page.press("Accept")
    assert page.match.ended is not None and page.match.ended.end == "AGREED"
    drawn = page.table._after.value
    assert "All turns were played, with 1 trade." in drawn and "You gave" in drawn
    assert "nl-deal" not in drawn, "a gain may still be the smaller one"
    assert all(f"<td>{cell}</td>" in drawn for cell in ("1 Ore", "2 Brick", "+8"))


def test_after_a_forfeit_the_own_message_and_its_fault_stand_there() -> None:
    page = sit()
    page.table.context.send("[Offer: 99 Ore -> <b>1</b> Wood]")
    assert page.match.ended is not None and page.match.ended.end == "FORFEIT"
    assert "One of your messages broke the rules" in page.state()
    assert "99 Ore -&gt; &lt;b&gt;1" in page.table._after.value
    assert "99 Ore" not in SeatPage(Match.replay(page.match.record()), "B").state()


# A hostile page, and what never shows.


def test_amounts_from_a_page_are_cut_to_what_can_be_offered() -> None:
    page = sit()
    editor = page.table.editor
    put(page, give={"Ore": 10**30, "Wood": -5}, get={"Wheat": 10**30})
    assert editor.deal == ((0, 0, 0, 0, 3), (999_999_999, 0, 0, 0, 0))
    for wrong in ("many", None, [1], {"a": 1}):
        with pytest.raises((traitlets.TraitError, TypeError, ValueError)):
            editor._give[0].take(wrong)
    page.press("Make this offer")
    assert page.replies() == ["[Offer: 3 Ore -> 999999999 Wheat]"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_rewritten_maximum_offers_nothing_that_is_not_held(preset: str) -> None:
    page = sit(preset=preset)
    page.table.editor._give[4].set_state({"max": 500})
    put(page, give={"Ore": 400}, get={"Wheat": 1})
    page.press("Make this offer")
    assert len(page.match.events) == 1
    assert "You do not have everything you would give." in page.table.notice.value


@pytest.mark.parametrize("words", ["[Accept]", "so [DENY] it", "[Offer: 1 Wheat -> 1 Ore]", "[offer me more]"])
@pytest.mark.parametrize("preset", PRESETS)
def test_tokens_in_the_words_are_not_sent_as_moves(words: str, preset: str) -> None:
    page = answering("1 Wheat -> 1 Wood", preset=preset)
    take(page.table.words, words)
    page.press("Deny" if "ccept" in words else "Accept, at a loss")
    assert len(page.match.events) == 3
    assert re.search("bracket|exactly one|cannot be read", page.table.answer_notice.value)
    assert page.table.words.value == words, "what was written is still there to be mended"


def test_disabled_and_hidden_buttons_leave_only_legal_replies() -> None:
    page = sit()
    page.press("Accept")
    assert "No offer is waiting for you." in page.table.answer_notice.value
    for button in (page.table.deny, page.table.counter, page.table.extend):
        button.click()
    assert len(page.match.events) == 1
    page = answering("1 Wheat -> 1 Wood")
    put(page, give={"Wheat": 1}, get={"Ore": 1})
    page.table.offer.click()
    page.table.speak.click()
    assert len(page.match.events) == 3
    assert "answer it with [Accept] or [Deny]" in page.table.notice.value


def test_the_end_tells_nothing_of_the_other_but_who_won() -> None:
    drawn = set()
    for ore in (36, 35):
        page = SeatPage(new_match({**VALUES, "B": (6, 9, 14, 22, ore)}, max_turns=1))
        page.press("Finish the match")
        drawn.add(page.state())
    assert len(drawn) == 1


def test_ends_that_a_page_sends_do_not_break_the_table() -> None:
    page = sit()
    field = next(part for part in below(page.widget) if isinstance(part, Number))
    for name, value in (("max", 10**9), ("value", 10**8), ("min", 10**8)):
        field.set_state({name: value})
    page.table.context.send("Let us talk.")
    assert "went wrong" not in page.state()
    assert field.min == 0 and field.value <= field.max < 10**6
