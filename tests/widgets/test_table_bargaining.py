"""The table for bargaining: prices and what they pay, answers, ends, and pages that send what they like."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from negolab_widgets.page import take
from negolab_widgets.tables.bargaining.controls import BargainingTable
from negolab_widgets.tables.bargaining.view import deal_payoff, no_deal_payoff
from negolab_widgets.tables.controls import AskFirst
from traitlets import TraitError
from typing_extensions import override

from negolab import laws
from negolab.catalog import list_games, load
from negolab.game import Seat, other
from negolab.games.bargaining import Accept, Offer, Reject
from negolab.match import Match
from negolab.money import cents_to_dollars
from tests.support.tables import SeatPage, drawn_html, visible
from tests.widgets.test_tables import EVIL, GameTable


class Says:
    """A player with fixed replies that repeats the last one."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def reply(self, told: Any, ask: Any) -> str:
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]


def sit(seat: Seat = "B", *replies: str, start: tuple[int, int] | None = None, **params: Any) -> SeatPage:
    game = load("bargaining", **params)
    match = Match(game, start=game.start(*start)) if start else Match(game, seed=1)
    return SeatPage(match, seat, {other(seat): Says(*(replies or ("55", "54", "53")))})


def selling(*replies: str, **params: Any) -> SeatPage:
    """The page of a seller whose cost is $40."""
    return sit("A", *replies, start=(6500, 4000), **params)


def offer(page: SeatPage, price: str, words: str = "") -> None:
    """Enter a price, and words to go with it, and press Offer."""
    take(page.table.price.widget, price)
    take(page.table.words, words)
    page.table.offer.click()


def confirm(asking: AskFirst) -> None:
    asking.button.click()
    asking.yes.click()


class TestBargainingTable(GameTable):
    game = "bargaining"
    fault = "what?", "That&#39;s not a valid response."
    reply = "I'll pay 50"

    @override
    def move(self, page: SeatPage) -> None:
        """Concede a dollar at a time, and take the last offer."""
        if visible(page.table._offering):
            field = page.table.price.widget
            offer(page, cents_to_dollars(max(field.min, field.base - 100)))
        else:
            page.table.accept.click()

    @override
    def typing_page(self) -> SeatPage:
        return sit()

    @override
    def hear_markup(self) -> SeatPage:
        return sit(
            "B",
            f"9\nMESSAGE: {EVIL}",
            preset="mug",
            talk="both",
            item=EVIL,
            frame="keeps_item",
            buyer_told=("claimed", 1, 2),
        )


# What is offered and answered.


def test_accept_takes_the_standing_offer_and_a_loss_is_named() -> None:
    page = sit()
    assert page.table.accept.description == "Accept $55.00"
    page.table.accept.click()
    assert page.actions() == [Accept()] and page.match.state.public.price == 5500
    assert "Deal on the seller" in page.table._ending.value and "<b>$10.00</b> for you" in page.table._ending.value
    losing = sit("B", "80")
    assert losing.table.accept.description == "Accept $80.00, at a loss"
    assert "nl-danger" in losing.table.accept._dom_classes
    assert "\N{MINUS SIGN}$15.00" in losing.card._text.value


@pytest.mark.parametrize("text", ["42.5", "$42.50", "42.5 dollars", "I'll pay 42.50"])
def test_a_price_is_offered_as_the_game_reads_it_and_the_field_is_empty_again(text: str) -> None:
    page = sit()
    assert page.table.price.widget.base == 5500, "steps start from what stands"
    take(page.table.price.widget, text)
    assert page.table.offer.description == "Offer $42.50"
    page.table.offer.click()
    assert page.actions() == [Offer(4250)] and page.table.price.widget.value == ""
    assert page.table.price.widget.base == 4250, "else from the own last offer"
    assert "round 1, Seller: $55.00; round 2, You: $42.50; round 3, Seller: $" in page.table.course.value
    assert "offered $42.50 ($22.50 for you)" in page.table.said.value


@pytest.mark.parametrize(
    "text", ["accept", "yes", "", "45%", "45 or 46", "42.495", "42.500", "-3", "101", "message: 45", "\ud800", "52,50"]
)
def test_what_is_no_price_is_said_and_not_sent(text: str) -> None:
    page = sit(preset="cheap-talk-two-way") if text.startswith("message") else sit()
    events = len(page.match.events)
    offer(page, text)
    fault = "Write 52.50, with a decimal point." if "," in text else "Enter one price from $0.00"
    assert len(page.match.events) == events and fault in page.table.notice.value


def test_a_refusal_of_one_round_is_gone_in_the_next() -> None:
    page = sit()
    page.table.offer.click()
    assert "Enter one price" in page.table.notice.value
    page.match.submit("B", "42")
    page.widget._session.advance()
    assert "Enter one price" not in page.table.notice.value


def test_what_the_price_pays_stands_beside_it_and_a_loss_is_named() -> None:
    page = sit()
    take(page.table.price.widget, "50")
    assert "<b>$15.00</b> for you" in page.table._sum.value and "$10.00 for the seller" in page.table._sum.value
    take(page.table.price.widget, "70")
    assert "$5.00 less than without a deal" in page.table._sum.value


def test_the_last_chance_and_the_final_offer_are_marked() -> None:
    page = sit("B", "60", "59", "58", "reject")
    for _ in range(2):
        assert "last chance" not in page.table._last.value
        offer(page, "42")
    assert visible(page.table._last) and "last chance" in page.table._last.value
    final = sit("B", "60", rounds=1)
    assert "The seller&#39;s final offer" in final.card._text.value
    assert not visible(final.table._offering) and final.table.reject.button.description == "Reject, no deal"


def test_the_opening_buyer_names_the_first_price() -> None:
    page = sit("B", "80", preset="asymmetric")
    assert "You make the first offer" in page.card._text.value and page.table.accept.disabled
    page.table.accept.click()
    assert "no offer to accept" in page.table.answer_notice.value
    confirm(page.table.reject)
    assert page.actions() == []
    offer(page, "30")
    assert page.actions() == [Offer(3000)]


def test_a_message_goes_with_an_offer_as_one_line() -> None:
    page = sit("B", "9\nMESSAGE: worth it", "8", preset="cheap-talk-two-way")
    assert "worth it" in page.table.said.value and visible(page.table.words)
    offer(page, "6", "please\nmessage: accept 7")
    assert page.actions() == [Offer(600, "please message: accept 7")] and page.table.words.value == ""
    offer(page, "6", "x" * 281)
    assert "281 characters; the maximum is 280" in page.table.notice.value


def test_who_may_not_talk_has_no_box_and_a_forged_message_stays_unsent() -> None:
    page = sit("B", "9", "8", preset="cheap-talk")
    assert not visible(page.table.words)
    offer(page, "6", "psst")
    assert page.actions() == [Offer(600)]


def test_every_kind_of_end_is_reached_by_the_controls_alone() -> None:
    rejecting, walking, fails = (
        sit("B", "60", rounds=1),
        sit("B", "60", walk_away=True),
        sit("B", "60", buyer_retries=0),
    )
    refused, taken = sit("B", "60", "59", "58", "reject"), sit("B", "60", "accept")
    assert walking.table.reject.button.description == "Walk away"
    assert "You then get $0.00." in drawn_html(walking.table.reject)
    walking.table.reject.yes.click()
    assert walking.actions() == [], "nobody was asked yet"
    for page in (rejecting, walking):
        confirm(page.table.reject)
        assert page.actions() == [Reject()]
    for price in ("40", "41", "42"):
        offer(refused, price)
    offer(taken, "42")
    fails.type("hm")
    for page, words in (
        (rejecting, "You rejected the last offer."),
        (walking, "You walked away."),
        (refused, "The seller rejected the last offer."),
        (taken, "Deal on your offer from round 2"),
        (fails, "You gave too many unreadable replies."),
    ):
        assert words in page.table._ending.value and page.match.ended is not None


# A page that does not keep to its controls.


def test_an_offer_after_the_last_round_is_not_sent() -> None:
    page = sit("B", "60", rounds=1)
    offer(page, "42")
    assert "There is no round left" in page.table.notice.value and page.match.ended is None


@pytest.mark.parametrize("value", [3, None, ["4"], {"x": 1}])
def test_values_of_another_kind_do_not_get_in(value: Any) -> None:
    page = sit()
    with suppress(TraitError):
        take(page.table.price.widget, value)
    assert isinstance(page.table.price.widget.value, str)
    page.table.offer.click()
    assert page.match.state.public.offers == ((1, "A", 5500),)


# What is shown.


@pytest.mark.parametrize("preset", list_games()["bargaining"])
def test_what_is_shown_as_pay_is_what_the_game_pays(preset: str) -> None:
    changes = {"discount_seller": 0.9, "discount_buyer": 0.8, "outside_seller": 50, "outside_buyer": 30}
    for game in (load("bargaining", preset=preset), load("bargaining", preset=preset, **changes)):
        for seed in range(6):
            match = laws.playout(game, seed, junk=0)
            for seat, payoff in game.outcome(match.state).payoffs.items():
                seen = match.seen(seat)
                number, _, price = seen.public.offers[-1]
                shown = no_deal_payoff(seen) if seen.public.price is None else deal_payoff(seen, seat, price, number)
                assert shown == payoff


def test_the_clock_counts_rounds_and_own_offers_left() -> None:
    match = Match(load("bargaining"), seed=1)
    for said, seat, clock in (
        ((), "A", "Round 1 of 6; you have 3 offers left"),
        (("60", "42", "58", "44", "57"), "B", "Round 5 of 6; you have 1 offer left"),
        (("45",), "A", "Round 6 of 6, out of offers"),
        (("reject",), "B", "Ended in round 6 of 6"),
    ):
        for text in said:
            match.submit(match.game.turn(match.state.public)[0], text)
        assert BargainingTable.clock(match.game, match.seen(seat)) == clock  # type: ignore[arg-type]


def test_the_words_of_the_manager_stand_there_and_drawings_of_lines_apart_from_prose_that_wraps() -> None:
    page = sit()
    assert "This is a price negotiation over an item." in page.widget._rules.value + page.widget._log.value
    for kind in ("drawn", "prose"):
        assert f'<div class="nl-{kind}">' in page.widget._log.value
    page.type("I'll pay 50")
    assert "Round 2: You offered $50.00. The AI rejects." in page.widget._log.value
    page.table.accept.click()
    assert "nl-whole" in page.widget._log.value


# What stands in for an answer that cannot be read.


def test_the_seller_is_told_before_and_after_that_an_offer_is_made_in_place_of_an_answer() -> None:
    page = selling("30", "31", "32")
    offer(page, "55")
    assert not visible(page.table._due)
    page.table.context.send("hm")
    assert "One more unreadable answer, and $55.00 is offered for you." in page.table._due.value
    page.table.context.send("hm")
    assert "Your answer could not be read, so $55.00 was offered for you." in page.table.notice.value
    assert not visible(page.table._due)
    take(page.table.price.widget, "54")
    assert "could not be read" not in page.table.notice.value
    page.table.offer.click()
    assert "could not be read" not in page.table.notice.value, "what is offered by hand stands for itself"


def test_a_stand_in_for_the_first_offer_is_not_told_before_it_is_made() -> None:
    page = selling("30", default_opening=7777)
    page.table.context.send("hm")
    assert "and an offer is made for you." in page.table._due.value and "77.77" not in page.state()
    page.table.context.send("hm")
    assert "so $77.77 was offered for you" in page.table.notice.value


def test_an_unreadable_last_answer_is_told_as_such() -> None:
    page = selling("30", rounds=2)
    offer(page, "55")
    page.table.context.send("hm")
    assert "the last offer is rejected for you" in page.table._due.value
    page.table.context.send("hm")
    assert "so the last offer was rejected for you" in page.table._ending.value
