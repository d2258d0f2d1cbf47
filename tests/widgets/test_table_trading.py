"""The table for trading, driven as a page would: every control, hostile pages, and secrecy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import ipywidgets as w
import pytest
import traitlets
from negolab_widgets import HumanSeat
from negolab_widgets.fields import Number
from negolab_widgets.tables import table
from negolab_widgets.tables.trading import TradingTable
from negolab_widgets.tables.trading.view import clock

from negolab.catalog import list_games, load
from negolab.events import Rejected, Replied
from negolab.game import Seat, other
from negolab.games.trading import GOODS
from negolab.match import Match
from tests.widgets.test_widgets import below, press

PRESETS = list_games()["trading"]
HOLDINGS = {"A": (10, 10, 10, 10, 3), "B": (10, 10, 10, 10, 10)}
VALUES = {"A": (5, 10, 15, 25, 40), "B": (6, 9, 14, 22, 36)}


@pytest.fixture(autouse=True)
def no_double_clicks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)


def alone(seat: Seat = "A", game: Any = None, **changes: Any) -> tuple[Any, Match]:
    """A seat's controls in a match; the test plays the other seat."""
    game = game or load("trading", **changes)
    match = Match(game, start=game.start(HOLDINGS, VALUES))
    return HumanSeat(match, seat, {}), match


def reply_other(seated: Any, match: Match, text: str) -> None:
    """Reply at the other seat."""
    match.submit(other(seated._seat), text)
    seated._session.advance()


def put(seated: Any, *, give: dict[str, int] | None = None, get: dict[str, int] | None = None) -> None:
    """Enter amounts as a page does."""
    composer = seated._controls.editor
    for steppers, amounts in ((composer._give, give), (composer._get, get)):
        for good, amount in (amounts or {}).items():
            steppers[GOODS.index(good)].take(amount)


def write(box: w.Widget, text: str) -> None:
    box.set_state({"value": text})


def replies(match: Match) -> list[str]:
    return [event.reply.text for event in match.events if isinstance(event, Replied)]


def everything(seated: w.Widget) -> str:
    """All synchronised widget state without widget ids."""
    text = json.dumps([part.get_state() for part in below(seated)], default=str)
    return re.sub(r"IPY_MODEL_[0-9a-f]+", "IPY_MODEL", text)


def buttons(seated: Any) -> Iterator[w.Button]:
    return (part for part in below(seated) if isinstance(part, w.Button))


def shown(widget: w.Widget) -> bool:
    return widget.layout.display != "none"


# What every control does.


def test_the_game_has_a_table_of_its_own() -> None:
    assert table(load("trading")).__module__ == "negolab_widgets.tables.trading.controls"


def test_own_goods_and_values_stand_beside_the_steppers() -> None:
    seated, _ = alone()
    ore = seated._controls.editor._facts[4].value
    assert re.sub("<[^>]+>", "", ore) == "Orehold 3net 0worth 40"
    labels = [s.name for s in (*seated._controls.editor._give, *seated._controls.editor._get)]
    assert labels == [*(f"Give {good}" for good in GOODS), *(f"Get {good}" for good in GOODS)]


def test_what_is_composed_is_valued_at_once() -> None:
    seated, _ = alone()
    put(seated, give={"Wheat": 4}, get={"Ore": 1})
    assert "<b>+20</b> for you if it is accepted" in seated._controls.editor.sum.value
    assert "You give 4 Wheat, worth 20 to you, and get 1 Ore, worth 40 to you." in seated._controls.editor.sum.value
    put(seated, give={"Brick": 2})
    assert "<b>\N{MINUS SIGN}30</b>" in seated._controls.editor.sum.value
    assert "nl-loss" in seated._controls.editor.sum.value


def test_amounts_stop_at_what_there_is() -> None:
    seated, _ = alone()
    ore = seated._controls.editor._give[4]
    for amount, kept in ((-1, 0), (5, 3)):
        ore.take(amount)
        assert ore.value == kept, "no more can be given than is held"
    assert (ore.more, ore.less) == ("one more Ore to give", "one less Ore to give")


def test_an_offer_is_sent_in_the_games_own_form_with_its_words_behind_it() -> None:
    seated, match = alone()
    put(seated, give={"Wheat": 2, "Sheep": 1}, get={"Brick": 1})
    write(seated._controls.words, "  A good one.  ")
    press(seated, "Make this offer")
    assert replies(match) == ["[Offer: 2 Wheat, 1 Sheep -> 1 Brick] A good one."]
    assert seated._controls.editor.is_empty
    assert seated._controls.words.value == ""
    assert "You get 1 Brick for 2 Wheat, 1 Sheep" in seated._card._text.value


def test_a_message_can_be_sent_without_an_offer_and_silence_is_a_pass() -> None:
    seated, match = alone()
    write(seated._controls.words, "Let us talk.")
    press(seated, "Message only")
    reply_other(seated, match, "Pass.")
    press(seated, "Message only")
    assert replies(match) == ["Let us talk.", "Pass.", "Pass."]


def test_the_waiting_offer_stands_with_its_gain_and_can_be_accepted() -> None:
    seated, match = alone("B")
    reply_other(seated, match, "[Offer: 2 Brick -> 1 Ore] Please.")
    waiting = seated._card._text.value
    assert "You get 2 Brick for 1 Ore" in waiting
    assert '<span class="nl-neutral"><b>+8</b> for you' in waiting
    assert "Without any trade it is a draw." in unescape(waiting)
    assert "Accepting does not end the match." in waiting
    assert "nl-primary" in seated._controls.accept._dom_classes, "filled until an own offer is composed"
    press(seated, "Accept")
    assert replies(match)[-1] == "[Accept]"
    assert match.seen("B").private.holdings == (10, 10, 10, 12, 9)
    assert "<dd>+8</dd>" in seated._facts.value
    assert "+2" in seated._controls.editor._facts[3].value, "the net flow so far"
    assert "\N{MINUS SIGN}1" in seated._controls.editor._facts[4].value


def test_an_offer_can_be_denied_or_answered_with_another() -> None:
    for label, text in (
        ("Deny", "[Deny] Too dear."),
        ("Deny, offer mine", "[Deny] [Offer: 3 Wheat -> 1 Brick] Too dear."),
        ("Accept, offer mine", "[Accept] [Offer: 3 Wheat -> 1 Brick] Too dear."),
    ):
        seated, match = alone("B")
        reply_other(seated, match, "[Offer: 2 Brick -> 1 Ore]")
        assert seated._controls.counter.disabled and seated._controls.extend.disabled, "nothing of an own offer yet"
        put(seated, give={"Wheat": 3}, get={"Brick": 1})
        write(seated._controls.words, "Too dear.")
        press(seated, label)
        assert replies(match)[-1] == text


def test_only_the_answers_that_fit_are_offered() -> None:
    seated, match = alone("B")
    controls = seated._controls
    assert controls.accept.disabled
    assert controls.deny.disabled
    assert controls.offer.disabled
    reply_other(seated, match, "Hello.")
    assert controls.accept.disabled
    assert [shown(b) for b in (controls.offer, controls.speak, controls.counter, controls.extend)] == [
        True,
        True,
        False,
        False,
    ]
    press(seated, "Message only")
    reply_other(seated, match, "[Offer: 1 Wheat -> 1 Wood]")
    assert not controls.accept.disabled
    assert [shown(b) for b in (controls.offer, controls.speak, controls.counter, controls.extend)] == [
        False,
        False,
        True,
        True,
    ]


def test_goods_from_an_accepted_offer_can_be_offered_on() -> None:
    seated, match = alone()
    press(seated, "Message only")
    reply_other(seated, match, "[Offer: 5 Ore -> 6 Brick]")
    put(seated, give={"Ore": 7}, get={"Brick": 9})
    press(seated, "Deny, offer mine")
    assert "You do not have everything you would give." in seated._controls.notice.value
    press(seated, "Accept, offer mine")
    assert replies(match)[-1] == "[Accept] [Offer: 7 Ore -> 9 Brick]"


def test_an_offer_that_cannot_be_covered_says_so_before_it_is_accepted() -> None:
    seated, match = alone()
    press(seated, "Message only")
    reply_other(seated, match, "[Offer: 1 Wheat -> 5 Ore]")
    assert "You cannot accept it: you hold only 3 Ore." in seated._card._text.value
    assert "</b> for you" not in seated._card._text.value
    assert seated._controls.accept.disabled
    assert seated._controls.extend.disabled
    assert not seated._controls.deny.disabled
    seated._controls.accept.click()
    assert "You do not have what this offer asks for." in seated._controls.answer_notice.value
    assert match.ended is None, "a slip costs nothing"
    press(seated, "Deny")
    assert seated._controls.answer_notice.value.count("hold") == 0


def test_what_is_composed_can_be_cleared() -> None:
    seated, _ = alone()
    put(seated, give={"Wheat": 3}, get={"Ore": 1})
    press(seated, "Clear")
    assert seated._controls.editor.is_empty


def test_turns_are_counted_as_they_are_played() -> None:
    seated, match = alone(max_turns=3)
    assert clock(match.told("A"), match.seen("A")) == "Turn 1 of 3, 2 left for you"
    assert clock(match.told("B"), match.seen("B")) == "Turn 1 of 3, 1 left for you"
    press(seated, "Message only")
    reply_other(seated, match, "Pass.")
    press(seated, "Send message and finish")
    assert clock(match.told("A"), match.seen("A")) == "3 turns played"
    old = load("trading", preset="textarena-0.7.4", max_turns=0)
    assert clock(old, Match(old, seed=1).seen("A")) == "Turn 1 of 1, 1 left for you"


def test_a_reply_can_be_typed_with_its_tokens() -> None:
    seated, match = alone()
    write(seated._controls._typed.box, "[Offer: 1 Wheat -> 1 Wood]")
    press(seated, "Send reply")
    assert match.state.public.waiting is not None
    assert seated._controls._typed.box.value == ""


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("seed", "loses the match."),
        ("tolerant", "You may correct one reply"),
        ("textarena-0.7.4", "forgiven"),
    ],
)
def test_what_a_fault_costs_is_said_beside_the_box(preset: str, words: str) -> None:
    seated, _ = alone(preset=preset)
    assert words in seated._controls._warning.value


# Ends.


@pytest.mark.parametrize("preset", PRESETS)
def test_on_the_last_turn_a_message_or_the_end_takes_the_place_of_an_offer(preset: str) -> None:
    game = load("trading", preset=preset, max_turns=1)
    seated, match = alone(preset=preset, max_turns=2 - game.lenient)
    table = seated._controls
    assert table.compose == "Make an offer"
    assert shown(table.offer) and not shown(table.finish)
    table.finish.click()
    assert replies(match) == [], "a press of what is not shown"
    press(seated, "Message only")
    other_side = HumanSeat(match, "B", {})
    table = other_side._controls
    assert "There is no offer waiting, and nobody can answer a new one." in other_side._card._text.value
    assert table.compose == "" and not shown(other_side._card._go)
    assert shown(table.finish) and shown(table._last) and shown(table.words)
    assert not any(map(shown, (*table._composing, table.offer, table.counter, table.extend)))
    write(table.words, "Good bye.")
    press(other_side, "Finish the match")
    assert replies(match)[-1] == "Good bye."
    assert match.ended is not None


def test_an_offer_that_waits_on_the_last_turn_can_only_be_answered() -> None:
    seated, match = alone("B", max_turns=2)
    reply_other(seated, match, "[Offer: 2 Brick -> 1 Ore]")
    table = seated._controls
    assert shown(table.accept) and shown(table.deny) and not shown(table.finish)
    assert table.compose == "" and not any(map(shown, (table.speak, table.counter, table.extend)))
    press(seated, "Accept")
    assert match.ended is not None and match.ended.end == "AGREED"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("trade", [True, False])
def test_every_preset_is_played_by_controls_alone(preset: str, trade: bool) -> None:
    game = load("trading", preset=preset, max_turns=4)
    match = Match(game, start=game.start(HOLDINGS, VALUES))
    seats = {seat: HumanSeat(match, seat, {}) for seat in ("A", "B")}
    while match.ended is None:
        seated = seats[match.state.public.to_move]
        seated._session.advance()
        incoming = seated._controls._incoming() is not None
        # Beside an acceptance, an offer that repeats the accepted one quotes it.
        put(seated, give={"Wheat": 3 if seated is seats["A"] else 2}, get={"Wood": 1})
        answer = "Accept" if trade else "Deny"
        more = f"{answer}, offer mine" if incoming else "Make this offer"
        press(seated, more if shown(seated._controls.editor.goods) else answer)
    assert match.ended.end == ("AGREED" if trade else "NO_DEAL")
    assert not [event for event in match.events if isinstance(event, Rejected)]
    for seated in seats.values():
        seated._session.advance()
        assert not shown(seated._controls._offering)
        assert not shown(seated._card._buttons)
        drawn = everything(seated)
        assert ("You gave" in drawn) is trade
        assert "All turns were played" in drawn


def test_a_typed_fault_that_would_lose_the_match_is_said_and_not_sent() -> None:
    seated, match = alone()
    write(seated._controls._typed.box, "[Offer: 99 Ore -> 1 Wood]")
    press(seated, "Send reply")
    assert replies(match) == []
    assert "offer only what is yours" in seated._controls._typed.notice.value
    assert seated._controls._typed.box.value == "[Offer: 99 Ore -> 1 Wood]"


def test_a_second_error_in_a_turn_is_not_sent_where_one_is_forgiven() -> None:
    seated, match = alone(preset="textarena-0.7.4")
    for _ in range(3):
        write(seated._controls._typed.box, "[Offer: 99 Ore -> 1 Wood]")
        press(seated, "Send reply")
    assert match.ended is None
    assert len(replies(match)) == 1
    assert "You do not have everything your offer gives." in seated._controls._typed.notice.value


def test_after_a_forfeit_the_own_message_and_its_fault_stand_there() -> None:
    seated, match = alone()
    seated._controls.context.send("[Offer: 99 Ore -> <b>1</b> Wood]")
    assert match.ended is not None
    assert match.ended.end == "FORFEIT"
    assert "One of your messages broke the rules" in everything(seated)
    assert "99 Ore -&gt; &lt;b&gt;1" in seated._controls._after.value
    other_side = HumanSeat(Match.replay(match.record()), "B", {})
    assert "99 Ore" not in everything(other_side)


def test_a_refusal_goes_away_when_the_offer_is_changed() -> None:
    seated, _ = alone()
    press(seated, "Make this offer")
    assert "An offer needs something" in seated._controls.notice.value
    put(seated, give={"Wheat": 1})
    assert "An offer needs something" not in seated._controls.notice.value


def test_a_typed_fault_that_may_be_mended_stays_in_the_box() -> None:
    seated, match = alone(preset="tolerant")
    write(seated._controls._typed.box, "[Offer: 99 Ore -> 1 Wood]")
    press(seated, "Send reply")
    assert match.ended is None
    assert "offer only what is yours" in seated._controls._typed.notice.value
    assert seated._controls._typed.box.value


def test_after_the_end_the_own_gain_and_trades_stand_there() -> None:
    seated, match = alone("B", max_turns=2)
    reply_other(seated, match, "[Offer: 2 Brick -> 1 Ore]")
    press(seated, "Accept")
    drawn = seated._controls._after.value
    assert "All turns were played, with 1 trade." in drawn
    assert "nl-deal" not in drawn, "a gain may still be the smaller one"
    for cell in ("1 Ore", "2 Brick", "+8"):
        assert f"<td>{cell}</td>" in drawn


# A hostile page.


def test_amounts_from_a_page_are_cut_to_what_can_be_offered() -> None:
    seated, match = alone()
    put(seated, give={"Ore": 10**30, "Wood": -5}, get={"Wheat": 10**30})
    assert seated._controls.editor.give == (0, 0, 0, 0, 3)
    assert seated._controls.editor.get == (999_999_999, 0, 0, 0, 0)
    for wrong in ("many", None, [1], {"a": 1}):
        with pytest.raises((traitlets.TraitError, TypeError, ValueError)):
            seated._controls.editor._give[0].take(wrong)
    press(seated, "Make this offer")
    assert replies(match) == ["[Offer: 3 Ore -> 999999999 Wheat]"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_rewritten_maximum_offers_nothing_that_is_not_held(preset: str) -> None:
    seated, match = alone(preset=preset)
    seated._controls.editor._give[4].set_state({"max": 500})
    seated._controls.editor._give[4].take(400)
    put(seated, get={"Wheat": 1})
    press(seated, "Make this offer")
    assert len(match.events) == 1
    assert "You do not have everything you would give." in seated._controls.notice.value


def test_half_an_offer_is_not_sent() -> None:
    seated, match = alone()
    for half in ({"give": {"Wheat": 1}}, {"get": {"Ore": 1}}):
        press(seated, "Clear")
        put(seated, **half)
        press(seated, "Make this offer")
        assert "something to give and something to get" in seated._controls.notice.value
    assert len(match.events) == 1


@pytest.mark.parametrize("words", ["[Accept]", "so [DENY] it", "[Offer: 1 Wheat -> 1 Ore]", "[offer me more]"])
@pytest.mark.parametrize("preset", PRESETS)
def test_tokens_in_the_words_are_not_sent_as_moves(words: str, preset: str) -> None:
    seated, match = alone("B", preset=preset)
    reply_other(seated, match, "[Offer: 1 Wheat -> 1 Wood]")
    write(seated._controls.words, words)
    press(seated, "Deny" if "ccept" in words else "Accept, at a loss")
    assert len(match.events) == 3
    assert re.search("bracket|exactly one|cannot be read", seated._controls.answer_notice.value)
    assert seated._controls.words.value == words, "what was written is still there to be mended"


def test_disabled_answers_do_nothing_and_say_why() -> None:
    seated, match = alone()
    press(seated, "Accept")
    assert "No offer is waiting for you." in seated._controls.answer_notice.value
    press(seated, "Deny")
    seated._controls.counter.click()
    seated._controls.extend.click()
    assert len(match.events) == 1


def test_hidden_buttons_leave_only_legal_replies() -> None:
    seated, match = alone("B")
    reply_other(seated, match, "[Offer: 1 Wheat -> 1 Wood]")
    put(seated, give={"Wheat": 1}, get={"Ore": 1})
    seated._controls.offer.click()
    seated._controls.speak.click()
    assert len(match.events) == 3
    assert "answer it with [Accept] or [Deny]" in seated._controls.notice.value


# What is text stays text.


def test_markup_in_words_is_text() -> None:
    seated, match = alone("B")
    reply_other(seated, match, "<img src=x onerror=alert(1)> [Offer: 1 Wheat -> 1 Wood]")
    write(seated._controls.words, "<script>alert(2)</script>")
    press(seated, "Deny")
    drawn = "".join(part.value for part in below(seated) if isinstance(part, w.HTML))
    drawn += TradingTable.render(match.told("B"), match.seen("B"))
    assert "<img" not in drawn
    assert "<script" not in drawn
    assert "&lt;img src=x" in drawn


# What never shows.


def test_the_end_tells_nothing_of_the_other_but_who_won() -> None:
    drawn = set()
    for values in ((6, 9, 14, 22, 36), (6, 9, 14, 22, 35)):
        game = load("trading", max_turns=1)
        match = Match(game, start=game.start(HOLDINGS, {**VALUES, "B": values}))
        seated = HumanSeat(match, "A", {})
        press(seated, "Finish the match")
        drawn.add(everything(seated))
    assert len(drawn) == 1


def test_ends_that_a_page_sends_do_not_break_the_table() -> None:
    seated, _ = alone()
    field = next(part for part in below(seated) if isinstance(part, Number))
    for name, value in (("max", 10**9), ("value", 10**8), ("min", 10**8)):
        field.set_state({name: value})
    seated._on_reply("Let us talk.")
    assert "went wrong" not in everything(seated)
    assert field.min == 0
    assert field.value <= field.max < 10**6
