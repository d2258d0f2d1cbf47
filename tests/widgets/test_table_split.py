"""The table for split, driven as a page would: by presses and entered values."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import ipywidgets as w
import pytest
from negolab_widgets import HumanSeat
from negolab_widgets.tables.split import SplitTable
from negolab_widgets.tables.split import view as table
from traitlets import TraitError

from negolab import laws
from negolab.catalog import list_games, load
from negolab.game import SEATS, Seat, observe, other
from negolab.games.split import EndTalk, Message, Proposal
from negolab.match import Match
from negolab.players.lookup import player
from tests.support.tables import controls, parsed_actions, set_value, visible
from tests.widgets.test_widgets import below, state

PRESETS = list(list_games()["split"])
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)


class Says:
    """A player with one message and one proposal for all rounds."""

    def __init__(self, words: str, ask: str) -> None:
        self.words, self.ask = words, ask

    def reply(self, told: Any, ask: Any) -> str:
        return self.words if ask.seen.public.phase == "talk" else self.ask


class Waits:
    """A player who never answers."""

    def reply(self, told: Any, ask: Any) -> Any:
        return asyncio.get_running_loop().create_future()


def sit(seat: Seat = "A", opponent: Any = "greedy", seed: int = 1, **params: Any) -> HumanSeat:
    game = load("split", **{"first": "A", **params})
    found = player(opponent, game, seed=seed) if isinstance(opponent, str) else opponent
    return HumanSeat(Match(game, seed=seed), seat, {other(seat): found})


def ask(seat: HumanSeat, units: int = 1) -> None:
    """Claim an amount of the first type in stock and submit it."""
    stock = seat._match.seen(seat._seat).public.stock
    number = controls(seat).share.numbers[next(at for at, most in enumerate(stock) if most)]
    set_value(number, units)
    controls(seat).ask.click()


def say_nothing(seat: HumanSeat) -> None:
    controls(seat).speech.skip.click()


# What the controls do.


def test_a_message_is_sent_as_it_was_written_and_the_box_is_empty_again() -> None:
    seat = sit()
    set_value(controls(seat).speech.words, "  My value is 7 per coin.\nReally. ")
    controls(seat).speech.send.click()
    assert parsed_actions(seat) == [Message("My value is 7 per coin.\nReally.")]
    assert controls(seat).speech.words.value == ""
    assert "Really." in controls(seat).said.value


def test_nothing_is_said_by_its_own_button_and_not_by_an_empty_message() -> None:
    seat = sit()
    controls(seat).speech.send.click()
    assert "There is nothing to send yet" in controls(seat).speech.notice.value
    assert parsed_actions(seat) == []
    say_nothing(seat)
    assert parsed_actions(seat) == [Message("")]
    assert "passed" in controls(seat).said.value


@pytest.mark.parametrize("words", ["a</message>b", "<message>x", "<think>x</think>y", "x<<message_end>>", "</think>"])
def test_words_that_would_not_arrive_as_they_are_stay_unsent(words: str) -> None:
    seat = sit()
    set_value(controls(seat).speech.words, words)
    controls(seat).speech.send.click()
    assert parsed_actions(seat) == []
    assert "contains a tag" in controls(seat).speech.notice.value
    assert controls(seat).speech.words.value == words


def test_a_message_that_is_too_long_is_said_beside_its_box() -> None:
    seat = sit(max_chars=5)
    set_value(controls(seat).speech.words, "123456")
    controls(seat).speech.send.click()
    assert "6 characters and at most 5" in controls(seat).speech.notice.value
    assert parsed_actions(seat) == []


def test_a_share_says_what_it_brings() -> None:
    seat = sit(preset="no-press", fixed=((10,), (1,)))
    share = controls(seat).share
    set_value(share.numbers[0], 6)
    assert controls(seat).ask.description == "Keep 6 coins"
    assert "<b>60</b> of 100 points" in share.sum.value
    assert "37.5 points if the other player asks for everything" in share.sum.value
    assert "Leaves 4 coins for them, 4 points." in share.sum.value
    assert share.numbers[0].text == "keep {value} of 10 coins"


def test_the_share_is_filed_and_the_next_round_starts_from_nothing() -> None:
    seat = sit(preset="no-press")
    set_value(controls(seat).share.numbers[0], 6)
    controls(seat).ask.click()
    assert parsed_actions(seat) == [Proposal((6,))]
    assert controls(seat).share.keep == (0,)
    assert controls(seat).ask.description == "Send your choice"
    assert controls(seat).compose == "Choose what you keep", "the bar's button goes there"
    assert "Nothing chosen yet." in controls(seat).share.sum.value
    assert "You asked for 6 coins and got 3.75 coins: 37.5 points." in controls(seat)._standing.value
    assert visible(controls(seat)._past)
    assert "37.5" in controls(seat).course.value


def test_a_press_too_many_asks_for_nothing_only_if_that_was_chosen() -> None:
    seat = sit(preset="no-press")
    controls(seat).ask.click()
    assert "Choose what you keep first" in controls(seat).notice.value
    assert parsed_actions(seat) == []
    set_value(controls(seat).share.numbers[0], 1)
    set_value(controls(seat).share.numbers[0], 0)
    assert controls(seat).ask.description == "Keep nothing"
    controls(seat).ask.click()
    assert parsed_actions(seat) == [Proposal((0,))]
    controls(seat).ask.click()
    assert parsed_actions(seat) == [Proposal((0,))]


def test_a_share_chosen_during_the_talk_is_still_there_after_it() -> None:
    seat = sit()
    assert controls(seat).ask.disabled
    assert not controls(seat).share.numbers[0].disabled
    set_value(controls(seat).share.numbers[0], 7)
    say_nothing(seat)
    assert controls(seat).share.keep == (7,)
    assert not controls(seat).ask.disabled
    assert controls(seat).speech.send.disabled


def test_no_deal_is_there_only_where_the_proposals_must_agree() -> None:
    assert not visible(controls(sit(preset="classic")).no_deal)
    seat = sit(preset="deal-or-no-deal")
    say_nothing(seat)
    assert visible(controls(seat).no_deal)
    assert "unless" not in controls(seat).share.sum.value, "nothing kept pays nothing in any case"
    controls(seat).share.numbers[1].value += 1
    assert "0 points unless the other player keeps exactly the rest." in controls(seat).share.sum.value
    controls(seat).no_deal.click()
    assert parsed_actions(seat) == [Message(""), Proposal(None)]
    assert "You proposed no deal" in controls(seat)._standing.value


def test_with_hands_both_possible_worths_stand_there_and_no_value() -> None:
    seat = sit(preset="trust-and-split")
    hand = seat._match.seen("A").private.hand
    assert f"<b>{hand}</b>" in controls(seat)._hand.value
    set_value(controls(seat).share.numbers[0], 6)
    assert "60 points" in controls(seat).share.sum.value
    assert "6 points" in controls(seat).share.sum.value
    assert "worth" not in controls(seat).share.numbers[0].description


def test_the_bar_says_what_all_of_it_is_worth_where_the_seat_knows() -> None:
    known, hands = (load("split", preset=preset, first="A") for preset in ("no-press", "trust-and-split"))
    seen = Match(known, seed=1).seen("A")
    (own,) = table.values_of(seen, "A") or ()
    assert f"All of it is worth <b>{10 * own} points</b> to you." in str(table.decision(known, seen).pays)
    depends = table.decision(hands, Match(hands, seed=1).seen("A"))
    assert depends.pays == "", "the worth depends on the other's hand"


def test_an_own_proposal_stands_there_while_the_other_is_awaited() -> None:
    async def scene() -> None:
        seat = sit("A", Waits(), preset="no-press")
        set_value(controls(seat).share.numbers[0], 6)
        controls(seat).ask.click()
        assert "You proposed: you keep 6 coins" in controls(seat)._waiting.value
        assert visible(controls(seat)._waiting)
        assert not visible(controls(seat)._asking)
        events = len(seat._match.events)
        controls(seat).ask.click()
        assert len(seat._match.events) == events
        assert "It is not your turn." in controls(seat).notice.value
        assert seat._session.thinking is not None
        seat._session.thinking.cancel()

    asyncio.run(scene())


def test_a_proposal_that_the_state_holds_is_drawn_from_it() -> None:
    game = load("split", preset="no-press")
    start = game.deal(random.Random(1))
    one = game.step(start, {"A": Proposal((6,))})
    assert "You proposed: you keep 6 coins" in SplitTable.render(game, observe(one, "A"))
    assert "You proposed" not in SplitTable.render(game, observe(one, "B"))


def test_a_typed_reply_is_read_like_any_other() -> None:
    seat = sit(preset="no-press")
    set_value(controls(seat)._typed.box, "I keep all")
    controls(seat)._typed.button.click()
    assert "cannot be read" in controls(seat)._typed.notice.value
    set_value(controls(seat)._typed.box, "<coins_to_self>9</coins_to_self>")
    controls(seat)._typed.button.click()
    assert parsed_actions(seat)[-1] == Proposal((9,))
    assert controls(seat)._typed.box.value == ""


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seat", SEATS)
def test_every_preset_is_played_to_its_end_by_the_controls_alone(preset: str, seat: Seat) -> None:
    page = sit(seat, "equal", preset=preset)
    for _ in range(200):
        if page._match.ended is not None:
            break
        if page._match.seen(seat).public.phase == "talk":
            say_nothing(page)
        else:
            for number in controls(page).share.numbers:
                number.value += 1
            controls(page).ask.click()
    assert page._match.ended is not None
    assert page._match.ended.end in ("AGREED", "NO_DEAL")
    assert len(page._match.state.public.history) == page._match.game.rounds
    assert visible(controls(page)._ending)
    for part in (controls(page)._asking, controls(page)._typing, controls(page).speech.widget):
        assert not visible(part)
    assert "went wrong" not in state(page)


def test_no_units_at_all_are_an_end_without_a_deal() -> None:
    page = sit("A", Says("", "<no_deal/>"), preset="deal-or-no-deal", rounds=1)
    say_nothing(page)
    controls(page).no_deal.click()
    assert page._match.ended is not None
    assert page._match.ended.end == "NO_DEAL"


def test_what_could_not_be_read_is_filled_in_or_ends_the_match() -> None:
    filled = sit(attempts=1, rounds=1)
    set_value(controls(filled)._typed.box, "<message>a<message>b")
    controls(filled)._typed.button.click()
    assert "could not be read, so it passed" in controls(filled).said.value
    ends = sit(attempts=1, fallback="end")
    set_value(controls(ends)._typed.box, "<message>a<message>b")
    controls(ends)._typed.button.click()
    assert ends._match.ended is not None
    assert ends._match.ended.end == "FORFEIT"
    assert "one of your replies could not be read" in controls(ends)._ending.value


def test_free_talk_is_ended_by_its_own_button() -> None:
    seat = sit("A", Says("hi", "<no_agreement>"), preset="lewis-2017", talk_limit=8)
    game, speech = seat._match.game, controls(seat).speech
    assert visible(speech.end) and not visible(controls(sit()).speech.end)
    assert table.clock(game, seat._match.seen("A")) == "Round 1 of 1, at most 8 more messages before the talk ends"
    set_value(speech.words, "hello")
    speech.end.click()
    assert "has not been sent" in speech.notice.value and parsed_actions(seat) == []
    speech.send.click()
    assert table.clock(game, seat._match.seen("A")) == "Round 1 of 1, at most 6 more messages before the talk ends"
    speech.end.click()
    assert parsed_actions(seat) == [Message("hello"), EndTalk()]
    assert "ended the talk" in controls(seat).said.value
    assert speech.end.disabled and not controls(seat).no_deal.disabled
    speech.end.click()
    assert "The talk of this round is over" in speech.notice.value
    controls(seat).no_deal.click()
    assert seat._match.ended is not None and seat._match.ended.end == "NO_DEAL"


@pytest.mark.parametrize("words", ["<selection>", "deal! <SELECTION>"])
def test_the_tag_that_ends_the_talk_is_not_sent_by_accident(words: str) -> None:
    seat = sit(preset="lewis-2017")
    set_value(controls(seat).speech.words, words)
    controls(seat).speech.send.click()
    assert "press End the talk" in controls(seat).speech.notice.value
    assert parsed_actions(seat) == []


# A page that does not keep to its controls.


def test_buttons_of_another_phase_send_nothing() -> None:
    seat = sit()
    controls(seat).ask.click()
    assert "after the talk" in controls(seat).notice.value
    controls(seat).no_deal.click()
    assert parsed_actions(seat) == []
    say_nothing(seat)
    for button in (controls(seat).speech.skip, controls(seat).speech.send):
        set_value(controls(seat).speech.words, "psst")
        button.click()
        assert "The talk of this round is over" in controls(seat).speech.notice.value
    controls(seat).no_deal.click()
    assert "No deal is not possible here" in controls(seat).notice.value
    assert parsed_actions(seat) == [Message("")]


def test_more_than_there_is_cannot_be_asked_for() -> None:
    seat = sit(preset="no-press")
    number = controls(seat).share.numbers[0]
    set_value(number, 99)
    assert controls(seat).share.keep == (10,)
    number.set_state({"max": 500})
    set_value(number, 400)
    controls(seat).ask.click()
    assert "Only 10 coins can be had" in controls(seat).notice.value
    assert parsed_actions(seat) == []
    controls(seat).draw()
    assert controls(seat).share.keep == (10,)
    for value in ("x", None, [1]):
        with pytest.raises(TraitError):
            set_value(number, value)
    assert controls(seat).share.keep == (10,)


# What is shown.


def test_what_the_rounds_reveal_of_both_is_shown() -> None:
    seat = sit(preset="trust-and-split", rounds=1)
    say_nothing(seat)
    ask(seat)
    settled = seat._match.state.public.history[0]
    shown = controls(seat)._standing.value
    assert f"You held {settled.hands['A']}" in shown
    assert f"They held {settled.hands['B']}" in shown
    assert f"The other player: {settled.points['B']:.2f} points." in controls(seat)._ending.value


def test_words_of_a_player_are_no_markup_and_earlier_rounds_are_put_away() -> None:
    seat = sit("A", Says(f"<message>{HOSTILE}</message>", "<coins_to_self>1</coins_to_self>"), rounds=2)
    say_nothing(seat)
    drawn = "".join(p.value for p in below(seat) if isinstance(p, w.HTML))
    assert HOSTILE not in drawn
    assert "&lt;img src=x" in controls(seat).said.value
    assert HOSTILE not in SplitTable.render(seat._match.told("A"), seat._match.seen("A"))
    ask(seat)
    assert "&lt;img" in controls(seat).said.value, "player B spoke first in round 2"
    assert controls(seat).said.value.count("&lt;img") == 1


def test_the_clock_counts_rounds_and_own_messages_left() -> None:
    game = load("split", quota=2, rounds=1, first="A")
    match = Match(game, seed=1)
    assert table.clock(game, match.seen("A")) == "Round 1 of 1, 2 messages left for you"
    match.submit("A", "<message>hello</message>")
    assert table.clock(game, match.seen("A")) == "Round 1 of 1, 1 message left for you"
    for seat in ("B", "A", "B"):
        match.submit(seat, "<message>x</message>")  # type: ignore[arg-type]
    assert table.clock(game, match.seen("A")) == "Round 1 of 1, both choose in secret now"
    for seat in SEATS:
        match.submit(seat, "5")
    assert table.clock(game, match.seen("A")) == "1 round played"


@pytest.mark.parametrize("preset", PRESETS)
def test_every_position_of_a_match_is_drawn(preset: str) -> None:
    game = load("split", preset=preset)
    for match, _ in laws.positions(game, 2):
        for seat in SEATS:
            drawn = SplitTable.render(match.told(seat), match.seen(seat))
            assert drawn
            assert table.clock(match.told(seat), match.seen(seat))


def test_many_types_and_an_empty_stock_are_drawn_too() -> None:
    items = tuple("abcdefghijkl")
    seat = sit(items=items, stock=(0, *[3] * 11), quota=0, rounds=2)
    assert controls(seat).share.numbers[0].max == 0
    controls(seat).share.numbers[0].value += 1
    controls(seat).share.numbers[1].value += 1
    controls(seat).ask.click()
    assert parsed_actions(seat) == [Proposal((0, 1, *[0] * 10))]


def test_every_round_has_a_line_for_each_side() -> None:
    seat = sit(rounds=2)
    say_nothing(seat)
    controls(seat).share.numbers[0].value += 1
    controls(seat).ask.click()
    table_ = controls(seat)._table.value
    assert "1, you" in table_
    assert "1, the other player" in table_
    assert table_.count("<tr>") == 3
