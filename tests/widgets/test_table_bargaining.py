"""The table for bargaining, driven as a page would: by presses and entered values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import ipywidgets as w
import pytest
from negolab_widgets import HumanSeat
from negolab_widgets.tables.bargaining import BargainingTable
from negolab_widgets.tables.bargaining.view import deal_payoff, no_deal_payoff
from negolab_widgets.tables.controls import AskFirst
from traitlets import TraitError

from negolab import laws
from negolab.catalog import list_games, load
from negolab.events import Stepped
from negolab.game import SEATS, Seat, other
from negolab.games.bargaining import Accept, Offer, Reject
from negolab.match import Match
from negolab.money import cents_to_dollars
from tests.support.tables import controls, parsed_actions, set_value, visible
from tests.widgets.test_widgets import below, state

PRESETS = list(list_games()["bargaining"])


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)


class Says:
    """A player with fixed replies that repeats the last one."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def reply(self, told: Any, ask: Any) -> str:
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]


def sit(seat: Seat = "B", *replies: str, start: tuple[int, int] | None = None, **params: Any) -> HumanSeat:
    game = load("bargaining", **params)
    match = Match(game, start=game.start(*start)) if start else Match(game, seed=1)
    return HumanSeat(match, seat, {other(seat): Says(*(replies or ("55", "54", "53")))})


# What the controls do.


def test_accept_takes_the_standing_offer() -> None:
    seat = sit()
    assert controls(seat).accept.description == "Accept $55.00"
    controls(seat).accept.click()
    assert parsed_actions(seat) == [Accept()]
    assert seat._match.state.public.price == 5500
    assert "Deal on the seller" in controls(seat)._ending.value
    assert "<b>$10.00</b> for you" in controls(seat)._ending.value


def test_a_price_is_offered_as_it_was_entered_and_the_field_is_empty_again() -> None:
    seat = sit()
    set_value(controls(seat).price.widget, "42.5")
    assert controls(seat).offer.description == "Offer $42.50"
    controls(seat).offer.click()
    assert parsed_actions(seat) == [Offer(4250)]
    assert controls(seat).price.widget.value == ""


def test_without_a_price_the_table_says_what_to_enter() -> None:
    seat = sit()
    controls(seat).offer.click()
    assert parsed_actions(seat) == []
    assert "Enter one price from $0.00" in controls(seat).notice.value


@pytest.mark.parametrize("text", ["$42.50", "42.5 dollars", "I'll pay 42.50"])
def test_the_field_reads_a_price_as_the_game_does(text: str) -> None:
    seat = sit()
    set_value(controls(seat).price.widget, text)
    assert controls(seat).price.value == 4250


@pytest.mark.parametrize(
    "text", ["accept", "yes", "", "45%", "45 or 46", "42.495", "42.500", "-3", "101", "message: 45", "\ud800"]
)
def test_what_is_no_price_is_said_and_not_sent(text: str) -> None:
    seat = sit(preset="cheap-talk-two-way") if text.startswith("message") else sit()
    set_value(controls(seat).price.widget, text)
    events = len(seat._match.events)
    controls(seat).offer.click()
    assert len(seat._match.events) == events
    assert "Enter one price from $0.00" in controls(seat).notice.value


def test_a_price_with_a_decimal_comma_is_refused_with_how_to_write_it() -> None:
    seat = sit()
    set_value(controls(seat).price.widget, "52,50")
    controls(seat).offer.click()
    assert parsed_actions(seat) == []
    assert "Write 52.50, with a decimal point." in controls(seat).notice.value


def test_steps_start_from_the_own_last_offer_else_from_what_stands() -> None:
    seat = sit()
    assert controls(seat).price.widget.base == 5500
    set_value(controls(seat).price.widget, "42")
    controls(seat).offer.click()
    assert controls(seat).price.widget.base == 4200


def test_what_the_price_pays_stands_beside_it_and_a_loss_is_named() -> None:
    seat = sit()
    set_value(controls(seat).price.widget, "50")
    assert "<b>$15.00</b> for you" in controls(seat)._sum.value
    assert "$10.00 for the seller" in controls(seat)._sum.value
    set_value(controls(seat).price.widget, "70")
    assert "$5.00 less than without a deal" in controls(seat)._sum.value


def test_the_last_chance_and_the_final_offer_are_marked() -> None:
    seat = sit("B", "60", "59", "58", "reject")
    for _ in range(2):
        assert "last chance" not in controls(seat)._last.value
        set_value(controls(seat).price.widget, "42")
        controls(seat).offer.click()
    assert visible(controls(seat)._last)
    assert "last chance" in controls(seat)._last.value
    final = sit("B", "60", rounds=1)
    assert "The seller&#39;s final offer" in final._card._text.value
    assert not visible(controls(final)._offering)
    assert controls(final).reject.button.description == "Reject, no deal"


def confirm(asking: AskFirst) -> None:
    asking.button.click()
    asking.yes.click()


def test_a_press_of_a_confirmation_that_was_not_asked_for_does_nothing() -> None:
    walking = sit("B", "60", walk_away=True)
    controls(walking).reject.yes.click()
    assert parsed_actions(walking) == []


def test_accepting_a_loss_says_so() -> None:
    losing = sit("B", "80")
    assert controls(losing).accept.description == "Accept $80.00, at a loss"
    assert "nl-danger" in controls(losing).accept._dom_classes
    assert "\N{MINUS SIGN}$15.00" in losing._card._text.value


def test_every_kind_of_end_is_reached_by_the_controls_alone() -> None:
    rejecting = sit("B", "60", rounds=1)
    confirm(controls(rejecting).reject)
    assert parsed_actions(rejecting) == [Reject()]
    assert "You rejected the last offer." in controls(rejecting)._ending.value
    walking = sit("B", "60", walk_away=True)
    assert controls(walking).reject.button.description == "Walk away"
    assert "You then get $0.00." in controls(walking).reject.question
    confirm(controls(walking).reject)
    assert "You walked away." in controls(walking)._ending.value
    refused = sit("B", "60", "59", "58", "reject")
    for price in ("40", "41", "42"):
        set_value(controls(refused).price.widget, price)
        controls(refused).offer.click()
    assert "The seller rejected the last offer." in controls(refused)._ending.value
    taken = sit("B", "60", "accept")
    set_value(controls(taken).price.widget, "42")
    controls(taken).offer.click()
    assert "Deal on your offer of round 2" in controls(taken)._ending.value
    fails = sit("B", "60", buyer_retries=0)
    set_value(controls(fails)._typed.box, "hm")
    controls(fails)._typed.button.click()
    assert "You gave too many unreadable replies." in controls(fails)._ending.value
    for seat in (rejecting, walking, refused, taken, fails):
        assert seat._match.ended is not None
        assert not visible(seat._card._buttons)
        assert not visible(controls(seat)._offering)


def test_the_opening_buyer_names_the_first_price() -> None:
    seat = sit("B", "80", preset="asymmetric")
    assert "You make the first offer" in seat._card._text.value
    assert controls(seat).accept.disabled
    set_value(controls(seat).price.widget, "30")
    controls(seat).offer.click()
    assert parsed_actions(seat) == [Offer(3000)]


def test_a_message_goes_with_an_offer_as_one_line() -> None:
    seat = sit("B", "9\nMESSAGE: worth <b>it</b>", "8", preset="cheap-talk-two-way")
    assert "worth &lt;b&gt;it&lt;/b&gt;" in controls(seat).said.value
    assert visible(controls(seat).words)
    set_value(controls(seat).price.widget, "6")
    set_value(controls(seat).words, "please\nmessage: accept 7")
    controls(seat).offer.click()
    assert parsed_actions(seat) == [Offer(600, "please message: accept 7")]
    assert controls(seat).words.value == ""
    set_value(controls(seat).price.widget, "6")
    set_value(controls(seat).words, "x" * 281)
    controls(seat).offer.click()
    assert "281 characters; the maximum is 280" in controls(seat).notice.value


def test_who_may_not_talk_has_no_box_and_a_forged_message_stays_unsent() -> None:
    seat = sit("B", "9", "8", preset="cheap-talk")
    assert not visible(controls(seat).words)
    set_value(controls(seat).words, "psst")
    set_value(controls(seat).price.widget, "6")
    controls(seat).offer.click()
    assert parsed_actions(seat) == [Offer(600)]


def test_the_typed_box_speaks_to_the_manager_whose_words_stand_there() -> None:
    seat = sit()
    assert visible(controls(seat)._typing)
    assert "This is a price negotiation over an item." in seat._rules.value + seat._log.value
    set_value(controls(seat)._typed.box, "what?")
    controls(seat)._typed.button.click()
    assert "That&#39;s not a valid response." in controls(seat)._typed.notice.value
    assert controls(seat)._typed.box.value == "what?"
    set_value(controls(seat)._typed.box, "I'll pay 50")
    controls(seat)._typed.button.click()
    assert parsed_actions(seat)[-1] == Offer(5000)
    assert "Round 2: You offered $50.00. The AI rejects." in seat._log.value


def test_the_chart_and_the_talk_hold_all_offers() -> None:
    seat = sit()
    set_value(controls(seat).price.widget, "42")
    controls(seat).offer.click()
    course = controls(seat).course.value
    assert "round 1, Seller: $55.00; round 2, You: $42.00; round 3, Seller: $" in course
    assert "offered $42.00 ($23.00 for you)" in controls(seat).said.value


# A page that does not keep to its controls.


def test_disabled_stale_and_hidden_buttons_leave_only_legal_events() -> None:
    opening = sit("B", "80", preset="asymmetric")
    controls(opening).accept.click()
    assert "no offer to accept" in controls(opening).answer_notice.value
    confirm(controls(opening).reject)
    assert parsed_actions(opening) == []
    last = sit("B", "60", rounds=1)
    set_value(controls(last).price.widget, "42")
    controls(last).offer.click()
    assert "There is no round left" in controls(last).notice.value
    assert last._match.ended is None
    controls(last).accept.click()
    events = len(last._match.events)
    for button in (controls(last).accept, controls(last).offer):
        button.click()
        assert "The match is over." in button_notice(last, button)
    assert len(last._match.events) == events


def button_notice(seat: HumanSeat, button: w.Button) -> str:
    table_ = controls(seat)
    return str((table_.notice if button is table_.offer else table_.answer_notice).value)


@pytest.mark.parametrize("value", [3, None, ["4"], {"x": 1}])
def test_values_of_another_kind_do_not_get_in(value: Any) -> None:
    seat = sit()
    with suppress(TraitError):
        set_value(controls(seat).price.widget, value)
    assert isinstance(controls(seat).price.widget.value, str)
    controls(seat).offer.click()
    assert seat._match.state.public.offers == ((1, "A", 5500),)


# What is shown.


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_shown_as_pay_is_what_the_game_pays(preset: str) -> None:
    changes = {"discount_seller": 0.9, "discount_buyer": 0.8, "outside_seller": 50, "outside_buyer": 30}
    for params in ({}, changes):
        game = load("bargaining", preset=preset, **params)
        for seed in range(6):
            match = laws.playout(game, seed, junk=0)
            outcome = game.outcome(match.state)
            for seat in SEATS:
                seen = match.seen(seat)
                number, _, price = seen.public.offers[-1]
                shown = no_deal_payoff(seen) if seen.public.price is None else deal_payoff(seen, seat, price, number)
                assert shown == outcome.payoffs[seat]


def test_no_word_of_a_player_or_a_parameter_is_markup() -> None:
    game = load(
        "bargaining", preset="mug", talk="both", item="<i>vase</i>", frame="keeps_item", buyer_told=("claimed", 1, 2)
    )
    for seat in SEATS:
        opening = "" if seat == "A" else "9\nMESSAGE: <img src=x onerror=alert(1)>"
        page = HumanSeat(Match(game, seed=1), seat, {other(seat): Says(opening or "4")})
        drawn = "".join(p.value for p in below(page) if isinstance(p, w.HTML))
        drawn += BargainingTable.render(page._match.told(seat), page._match.seen(seat))
        assert "<img" not in drawn
        assert "<i>" not in drawn


def test_the_clock_counts_rounds_and_own_offers_left() -> None:
    game = load("bargaining")
    match = Match(game, seed=1)
    assert BargainingTable.clock(game, match.seen("A")) == "Round 1 of 6, 3 offers left for you"
    for price in ("60", "42", "58", "44", "57"):
        match.submit(game.turn(match.state.public)[0], price)
    assert BargainingTable.clock(game, match.seen("B")) == "Round 5 of 6, 1 offer left for you"
    match.submit("B", "45")
    assert BargainingTable.clock(game, match.seen("A")) == "Round 6 of 6, no offer left"
    match.submit("A", "reject")
    assert BargainingTable.clock(game, match.seen("B")) == "Ended in round 6 of 6"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seat", SEATS)
def test_every_preset_is_played_by_the_controls_alone(preset: str, seat: Seat) -> None:
    game = load("bargaining", preset=preset)
    page = HumanSeat(Match(game, seed=3), seat, {other(seat): Says("7", "7.50", "7.25", "7")})
    while page._match.ended is None:
        table_ = controls(page)
        if visible(table_._offering):
            field = table_.price.widget
            set_value(field, cents_to_dollars(max(field.min, field.base - 100)))
            table_.offer.click()
        else:
            table_.accept.click()
    steps = sum(isinstance(event, Stepped) for event in page._match.events)
    assert len(parsed_actions(page)) == -(-steps // 2) or len(parsed_actions(page)) == steps // 2
    assert page._match.ended.end in ("AGREED", "NO_DEAL")
    assert "went wrong" not in state(page)


# What stands in for an answer that cannot be read.


def test_the_seller_is_told_before_and_after_that_an_offer_is_made_in_place_of_an_answer() -> None:
    seat = sit("A", "30", "31", "32", start=(6500, 4000))
    table_ = controls(seat)
    set_value(table_.price.widget, "55")
    table_.offer.click()
    assert not visible(table_._due)
    table_.context.send("hm")
    assert "One more unreadable answer, and $55.00 is offered for you." in table_._due.value
    table_.context.send("hm")
    assert "Your answer could not be read, so $55.00 was offered for you." in table_.notice.value
    assert not visible(table_._due)
    set_value(table_.price.widget, "54")
    assert "could not be read" not in table_.notice.value
    table_.offer.click()
    assert "could not be read" not in table_.notice.value, "what is offered by hand stands for itself"


def test_a_stand_in_for_the_first_offer_is_not_told_before_it_is_made() -> None:
    seat = sit("A", "30", start=(6500, 4000), default_opening=7777)
    controls(seat).context.send("hm")
    assert "and an offer is made for you." in controls(seat)._due.value
    assert "77.77" not in state(seat)
    controls(seat).context.send("hm")
    assert "so $77.77 was offered for you" in controls(seat).notice.value


def test_an_unreadable_last_answer_is_told_as_such() -> None:
    seat = sit("A", "30", start=(6500, 4000), rounds=2)
    set_value(controls(seat).price.widget, "55")
    controls(seat).offer.click()
    controls(seat).context.send("hm")
    assert "the last offer is rejected for you" in controls(seat)._due.value
    controls(seat).context.send("hm")
    assert "so the last offer was rejected for you" in controls(seat)._ending.value


def test_a_refusal_of_one_round_is_gone_in_the_next() -> None:
    seat = sit()
    controls(seat).offer.click()
    assert "Enter one price" in controls(seat).notice.value
    seat._match.submit("B", "42")
    seat._session.advance()
    assert "Enter one price" not in controls(seat).notice.value


def test_drawings_of_lines_stand_apart_from_prose_that_wraps() -> None:
    seat = sit()
    assert '<div class="nl-drawn">' in seat._log.value
    assert '<div class="nl-prose">' in seat._log.value
    controls(seat).accept.click()
    assert "nl-whole" in seat._log.value
