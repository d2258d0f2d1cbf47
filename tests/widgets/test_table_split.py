"""The table for split: what is said, what is kept, rounds and ends, and pages that send what they like."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from negolab_widgets.page import take
from negolab_widgets.tables.split import view as table
from negolab_widgets.tables.split.controls import SplitTable
from traitlets import TraitError
from typing_extensions import override

from negolab.catalog import load
from negolab.game import SEATS, observe
from negolab.games.split import EndTalk, Message, Proposal
from negolab.match import Match
from negolab.players.lookup import player
from tests.support.tables import SeatPage, visible
from tests.widgets.test_tables import EVIL, GameTable


class Says:
    """A player with one message and one proposal for all rounds."""

    def __init__(self, words: str, ask: str) -> None:
        self.words, self.ask = words, ask

    def reply(self, told: Any, ask: Any) -> str:
        return self.words if ask.seen.public.phase == "talk" else self.ask


def sit(opponent: Any = "greedy", **params: Any) -> SeatPage:
    game = load("split", **{"first": "A", **params})
    found = player(opponent, game, seed=1) if isinstance(opponent, str) else opponent
    return SeatPage(Match(game, seed=1), "A", {"B": found})


def say_nothing(page: SeatPage) -> None:
    page.table.speech.skip.click()


def keep(page: SeatPage, *units: int) -> None:
    """Enter how much of each type to keep, as a page does."""
    for number, amount in zip(page.table.share.numbers, units, strict=False):
        take(number, amount)


def say(page: SeatPage, words: str) -> str:
    """Send a message; return what is said beside its box."""
    take(page.table.speech.words, words)
    page.table.speech.send.click()
    return str(page.table.speech.notice.value)


class TestSplitTable(GameTable):
    game = "split"
    offering = "_asking"
    fault = "I keep all", "cannot be read"
    reply = "<coins_to_self>9</coins_to_self>"

    @override
    def new_match(self, **params: Any) -> Match:
        rounds = {} if params.get("preset") == "lewis-2017" else {"rounds": 2}
        return super().new_match(**rounds, **params)

    @override
    def move(self, page: SeatPage) -> None:
        """Say nothing, and keep a unit of each type."""
        if page.match.seen(page.seat).public.phase == "talk":
            speech = page.table.speech
            (speech.end if visible(speech.end) else speech.skip).click()
            return
        for number in page.table.share.numbers:
            number.value += 1
        page.table.ask.click()

    @override
    def hear_markup(self) -> SeatPage:
        page = sit(Says(f"<message>{EVIL}</message>", "<coins_to_self>1</coins_to_self>"))
        say(page, EVIL)
        return page

    @override
    def typing_page(self) -> SeatPage:
        return SeatPage(self.new_match(preset="no-press"))


# What is said.


def test_a_message_is_sent_as_it_was_written_and_the_box_is_empty_again() -> None:
    page = sit()
    say(page, "  My value is 7 per coin.\nReally. ")
    assert page.actions() == [Message("My value is 7 per coin.\nReally.")]
    assert page.table.speech.words.value == "" and "Really." in page.table.said.value


def test_nothing_is_said_by_its_own_button_and_not_by_an_empty_message() -> None:
    page = sit()
    assert "There is nothing to send yet" in say(page, "") and page.actions() == []
    say_nothing(page)
    assert page.actions() == [Message("")] and "passed" in page.table.said.value


@pytest.mark.parametrize(
    ("words", "params", "said"),
    [
        *((words, {}, "contains a tag") for words in ("a</message>b", "<message>x", "<think>x</think>y", "</think>")),
        ("x<<message_end>>", {}, "contains a tag"),
        ("123456", {"max_chars": 5}, "6 characters and at most 5"),
        *((words, {"preset": "lewis-2017"}, "press End the talk") for words in ("<selection>", "deal! <SELECTION>")),
    ],
)
def test_words_that_would_not_arrive_as_they_are_stay_unsent(words: str, params: dict[str, Any], said: str) -> None:
    page = sit(**params)
    assert said in say(page, words)
    assert page.actions() == [] and page.table.speech.words.value == words


def test_free_talk_is_ended_by_its_own_button() -> None:
    page = sit(Says("hi", "<no_agreement>"), preset="lewis-2017", talk_limit=8)
    speech = page.table.speech
    assert visible(speech.end) and not visible(sit().table.speech.end)
    clock = "Round 1 of 1, at most {} more messages before the talk ends"
    assert table.clock(*page.told) == clock.format(8)
    take(speech.words, "hello")
    speech.end.click()
    assert "has not been sent" in speech.notice.value and page.actions() == []
    speech.send.click()
    assert table.clock(*page.told) == clock.format(6)
    speech.end.click()
    assert page.actions() == [Message("hello"), EndTalk()]
    assert "ended the talk" in page.table.said.value
    assert speech.end.disabled and not page.table.no_deal.disabled
    speech.end.click()
    assert "The talk of this round is over" in speech.notice.value
    page.table.no_deal.click()
    assert page.match.ended is not None and page.match.ended.end == "NO_DEAL"


def test_what_could_not_be_read_is_filled_in_or_ends_the_match() -> None:
    filled = sit(attempts=1, rounds=1)
    filled.type("<message>a<message>b")
    assert "could not be read, so it passed" in filled.table.said.value
    ends = sit(attempts=1, fallback="end")
    ends.type("<message>a<message>b")
    assert ends.match.ended is not None and ends.match.ended.end == "FORFEIT"
    assert "one of your replies could not be read" in ends.table._ending.value


# What is kept.


def test_a_share_says_what_it_brings() -> None:
    page = sit(preset="no-press", fixed=((10,), (1,)))
    keep(page, 6)
    assert page.table.ask.description == "Keep 6 coins"
    for words in (
        "<b>60</b> of 100 points",
        "37.5 points if the other player asks for everything",
        "Leaves 4 coins for them, 4 points.",
    ):
        assert words in page.table.share.sum.value
    assert page.table.share.numbers[0].text == "keep {value} of 10 coins"


def test_the_share_is_filed_and_the_next_round_starts_from_nothing() -> None:
    page = sit(preset="no-press")
    keep(page, 6)
    page.table.ask.click()
    assert page.actions() == [Proposal((6,))]
    assert page.table.share.keep == (0,) and page.table.ask.description == "Send your choice"
    assert page.table.compose == "Choose what you keep", "the bar's button goes there"
    assert "Nothing chosen yet." in page.table.share.sum.value
    assert "You asked for 6 coins and got 3.75 coins: 37.5 points." in page.table._standing.value
    assert visible(page.table._past) and "37.5" in page.table.course.value
    rounds = page.table._table.value
    assert "1, you" in rounds and "1, the other player" in rounds and rounds.count("<tr>") == 3


def test_a_press_too_many_asks_for_nothing_only_if_that_was_chosen() -> None:
    page = sit(preset="no-press")
    page.table.ask.click()
    assert "Choose what you keep first" in page.table.notice.value and page.actions() == []
    keep(page, 1)
    keep(page, 0)
    assert page.table.ask.description == "Keep nothing"
    for _ in range(2):
        page.table.ask.click()
        assert page.actions() == [Proposal((0,))]


def test_a_share_chosen_during_the_talk_is_still_there_after_it() -> None:
    page = sit()
    assert page.table.ask.disabled and not page.table.share.numbers[0].disabled
    keep(page, 7)
    say_nothing(page)
    assert page.table.share.keep == (7,)
    assert not page.table.ask.disabled and page.table.speech.send.disabled


def test_no_deal_is_there_only_where_the_proposals_must_agree() -> None:
    assert not visible(sit(preset="classic").table.no_deal)
    page = sit(Says("", "<no_deal/>"), preset="deal-or-no-deal", rounds=1)
    say_nothing(page)
    assert visible(page.table.no_deal)
    assert "unless" not in page.table.share.sum.value, "nothing kept pays nothing in any case"
    page.table.share.numbers[1].value += 1
    assert "0 points unless the other player keeps exactly the rest." in page.table.share.sum.value
    page.table.no_deal.click()
    assert page.actions() == [Message(""), Proposal(None)]
    assert "You proposed no deal" in page.table._standing.value
    assert page.match.ended is not None and page.match.ended.end == "NO_DEAL", "no units at all are an end without one"


def test_with_hands_both_possible_worths_stand_there_and_no_value_until_they_are_revealed() -> None:
    page = sit(preset="trust-and-split", rounds=1)
    assert f"<b>{page.match.seen('A').private.hand}</b>" in page.table._hand.value
    keep(page, 6)
    assert "60 points" in page.table.share.sum.value and "6 points" in page.table.share.sum.value
    assert "worth" not in page.table.share.numbers[0].description
    say_nothing(page)
    page.table.ask.click()
    settled = page.match.state.public.history[0]
    for who, seat in (("You", "A"), ("They", "B")):
        assert f"{who} held {settled.hands[seat]}" in page.table._standing.value
    assert f"The other player: {settled.points['B']:.2f} points." in page.table._ending.value


def test_the_bar_says_what_all_of_it_is_worth_where_the_seat_knows() -> None:
    known, hands = (load("split", preset=preset, first="A") for preset in ("no-press", "trust-and-split"))
    seen = Match(known, seed=1).seen("A")
    (own,) = table.values_of(seen, "A") or ()
    assert f"All of it is worth <b>{10 * own} points</b> to you." in str(table.decision(known, seen).pays)
    depends = table.decision(hands, Match(hands, seed=1).seen("A"))
    assert depends.pays == "", "the worth depends on the other's hand"


def test_an_own_proposal_stands_there_while_the_other_is_awaited() -> None:
    class Waits:
        def reply(self, told: Any, ask: Any) -> Any:
            return asyncio.get_running_loop().create_future()

    async def scene() -> None:
        page = sit(Waits(), preset="no-press")
        keep(page, 6)
        page.table.ask.click()
        assert "You proposed: you keep 6 coins" in page.table._waiting.value
        assert visible(page.table._waiting) and not visible(page.table._asking)
        events = len(page.match.events)
        page.table.ask.click()
        assert len(page.match.events) == events
        assert "It is not your turn." in page.table.notice.value
        assert page.widget._session.thinking is not None
        page.widget._session.thinking.cancel()

    asyncio.run(scene())


def test_a_proposal_that_the_state_holds_is_drawn_from_it_for_its_seat_alone() -> None:
    game = load("split", preset="no-press")
    one = game.step(game.deal(random.Random(1)), {"A": Proposal((6,))})
    drawn = [SplitTable.render(game, observe(one, seat)) for seat in SEATS]
    assert ["You proposed: you keep 6 coins" in each for each in drawn] == [True, False]


def test_many_types_and_an_empty_stock_are_drawn_too() -> None:
    page = sit(items=tuple("abcdefghijkl"), stock=(0, *[3] * 11), quota=0, rounds=2)
    first, second, *_ = page.table.share.numbers
    assert first.max == 0
    first.value += 1
    second.value += 1
    page.table.ask.click()
    assert page.actions() == [Proposal((0, 1, *[0] * 10))]


def test_earlier_rounds_are_put_away() -> None:
    page = sit(Says("<message>not again</message>", "<coins_to_self>1</coins_to_self>"), rounds=2)
    say_nothing(page)
    keep(page, 1)
    page.table.ask.click()
    assert page.table.said.value.count("not again") == 1, "player B spoke first in round 2"


def test_the_clock_counts_rounds_and_own_messages_left() -> None:
    match = Match(load("split", quota=2, rounds=1, first="A"), seed=1)
    said = [table.clock(match.game, match.seen("A"))]
    for seat in ("A", "B", "A", "B"):
        match.submit(seat, "<message>x</message>")  # type: ignore[arg-type]
        said.append(table.clock(match.game, match.seen("A")))
    assert said[:2] == ["Round 1 of 1; you have 2 messages left", "Round 1 of 1; you have 1 message left"]
    assert said[-1] == "Round 1 of 1; you both now choose in secret"
    for seat in SEATS:
        match.submit(seat, "5")
    assert table.clock(match.game, match.seen("A")) == "1 round played"


# A page that does not keep to its controls.


def test_buttons_of_another_phase_send_nothing() -> None:
    page = sit()
    page.table.ask.click()
    assert "after the talk" in page.table.notice.value
    page.table.no_deal.click()
    assert page.actions() == []
    say_nothing(page)
    for button in (page.table.speech.skip, page.table.speech.send):
        take(page.table.speech.words, "psst")
        button.click()
        assert "The talk of this round is over" in page.table.speech.notice.value
    page.table.no_deal.click()
    assert "No deal is not possible here" in page.table.notice.value
    assert page.actions() == [Message("")]


def test_more_than_there_is_cannot_be_asked_for() -> None:
    page = sit(preset="no-press")
    (number,) = page.table.share.numbers
    keep(page, 99)
    assert page.table.share.keep == (10,)
    number.set_state({"max": 500})
    keep(page, 400)
    page.table.ask.click()
    assert "Only 10 coins can be had" in page.table.notice.value and page.actions() == []
    page.table.draw()
    for value in ("x", None, [1]):
        with pytest.raises(TraitError):
            take(number, value)
    assert page.table.share.keep == (10,)
