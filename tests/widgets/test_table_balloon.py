"""The table for balloon: ticks and their sums, proposals to answer, ends, and pages that send what they like."""

from __future__ import annotations

import random
from typing import Any

import pytest
import traitlets
from negolab_widgets.page import take
from negolab_widgets.tables import table
from negolab_widgets.tables.balloon.controls import BalloonTable
from negolab_widgets.tables.balloon.view import clock, ending, extract_arguments, talk
from typing_extensions import override

from negolab.catalog import load
from negolab.game import SEATS, Seat
from negolab.games.balloon import Instance
from negolab.match import Match
from tests.support.tables import SeatPage, below, visible
from tests.widgets.test_tables import EVIL, GameTable, blind_matches

SMALL = Instance(
    {"tent": 30, "rope": 10, "map": 5, "stove": 40},
    60,
    {"A": {"tent": 9, "rope": 4, "map": 7, "stove": 1}, "B": {"tent": 1, "rope": 5, "map": 2, "stove": 8}},
)
LENIENT = {"preset": "clembench", "strategic_reasoning": False}


def sit(seat: Seat = "A", **changes: Any) -> SeatPage:
    return SeatPage(Match(load("balloon", **{"instance": SMALL, **changes}), seed=1), seat)


def answering(*propose: set[str], argument: str = "", **changes: Any) -> SeatPage:
    """Seat B's page, with proposals to answer."""
    page = sit("B", **changes)
    hear(page, propose=propose, argument=argument)
    return page


def hear(page: SeatPage, **parts: Any) -> None:
    away: Seat = "B" if page.seat == "A" else "A"
    page.hear(page.match.told(away).compose(page.match.seen(away), **{"argument": "", **parts}))


def tick(page: SeatPage, *names: str) -> None:
    """Tick items by their row numbers, as a page does."""
    checklist = page.table.checklist
    checklist.take([checklist._names.index(name) for name in names])


def rows(page: SeatPage) -> list[Any]:
    """The displayed rows of proposals."""
    made = {row.widget: row for row in page.table.proposals._rows_by_set.values()}
    return [made[widget] for widget in page.table.proposals._rows.children]


def said_beside(page: SeatPage) -> str:
    return str(page.table.message.notice.value)


class TestBalloonTable(GameTable):
    game = "balloon"
    fault = "Hello", "ARGUMENT"
    reply = "ARGUMENT: {'x'}"

    @override
    def move(self, page: SeatPage) -> None:
        """Propose three times, refusing a set the third time, then agree."""
        made = len(page.replies())
        if made == 3:
            rows(page)[0].agree.click()
            return
        page.table.checklist.take([made, made + 1])
        for row in rows(page)[:1] if made == 2 else ():
            row.refuse.set_state({"value": True})
        page.table.message.propose.click()

    @override
    def hear_markup(self) -> SeatPage:
        one = {EVIL: 1, "rope": 2}
        return answering({EVIL}, argument=EVIL, instance=Instance(one, 2, {"A": one, "B": one}))

    @pytest.mark.parametrize("language", ["en", "de", "it"])
    @pytest.mark.parametrize(("rules", "whole"), [("clembench", True), ("seed", False)], ids=["whole", "short"])
    def test_every_form_of_a_message_is_written_in_every_language(self, language: str, rules: str, whole: bool) -> None:
        parts = {"require_argument": whole, "strategic_reasoning": whole}
        self.play(self.new_match(preset=rules, language=language, turn_limit=30, **parts))


# What is ticked.


def test_what_is_ticked_is_counted_at_once_and_beside_their_latest_set() -> None:
    page = sit()
    tick(page, "tent", "map")
    assert "35 of 60, 25 left" in page.table._sums.value and "16, 80% of your best" in page.table._sums.value
    assert page.table.message.propose.description == "Propose 2 items"
    tick(page, "tent", "stove")
    assert "70 of 60, 10 over" in page.table._sums.value and "nl-over" in page.table._sums.value
    assert "Only in" not in page.table._sums.value, "nothing of theirs stands"
    page = answering({"rope", "stove"})
    for ticked, theirs, own in ((["rope"], "1 item", 0), (["tent", "map"], "2 items", 2)):
        tick(page, *ticked)
        assert f"Only in theirs: {theirs}; only in yours: {own} items" in page.table._sums.value


@pytest.mark.parametrize(
    ("column", "falling", "order"),
    [
        (1, True, [3, 0, 1, 2]),
        (2, True, [0, 2, 1, 3]),
        (3, True, [2, 1, 0, 3]),
        (3, False, [3, 0, 1, 2]),
        (4, True, [1, 0, 2, 3]),
        (0, False, [0, 1, 2, 3]),
    ],
    ids=["effort", "importance", "worth per effort", "rising", "proposed by", "as they came"],
)
def test_items_are_sorted_by_any_column_and_back(column: int, falling: bool, order: list[int]) -> None:
    checklist = answering({"rope"}).table.checklist if column == 4 else sit().table.checklist
    checklist.set_state({"falling": falling, "sort": column})
    assert checklist.order == order


def test_many_items_can_be_found_by_name_and_by_tick() -> None:
    page = sit(instance=None, items=300)
    names = list(page.match.state.public.terms.effort)
    take(page.table.find, "a1")
    assert {names[at] for at in page.table.checklist.order} == {name for name in names if "A1" in name}
    take(page.table.find, "")
    tick(page, names[7], names[9])
    take(page.table.only, True)
    assert page.table.checklist.order == [7, 9]
    page.press("Propose 2 items")
    assert page.replies()[0].startswith("PROPOSAL: {")


def test_few_items_need_no_box_to_find_them_and_none_costs_more_than_a_row_of_text() -> None:
    pages = {items: sit(instance=None, items=items) for items in (1, 25, 300)}
    assert [visible(page.table._choosing.children[2]) for page in pages.values()] == [False, True, True]
    assert len(below(pages[1].widget)) == len(below(pages[300].widget))


# What is sent.


@pytest.mark.parametrize(
    ("changes", "argument", "reply"),
    [
        ({}, "It is cold {there}.", "PROPOSAL: {'tent', 'rope'}\nARGUMENT: {'It is cold (there).'}"),
        ({}, "", "PROPOSAL: {'tent', 'rope'}\nARGUMENT: {''}"),
        ({"require_argument": False}, "", "PROPOSAL: {'tent', 'rope'}"),
        ({**LENIENT, "require_argument": False}, "", "PROPOSAL: {'tent', 'rope'}"),
    ],
    ids=["braces are its own", "no words of ours are put in", "the argument is optional", "there is no box for one"],
)
def test_a_proposal_is_sent_in_the_games_own_form(changes: dict[str, Any], argument: str, reply: str) -> None:
    page = sit(**changes)
    message = page.table.message
    assert not visible(message.reasoning) and not visible(message._braces)
    assert visible(message.argument) is visible(message.plain) is ("preset" not in changes)
    tick(page, "rope", "tent")
    take(message.argument, argument)
    assert ("Braces { } in your text are sent as ( )." in message._braces.value) is ("{" in argument)
    page.press("Propose 2 items")
    assert page.replies() == [reply]
    assert message.argument.value == "" and not visible(message._braces)
    assert page.table.checklist.names == {"tent", "rope"}, "what was ticked stays, to go on from"


def test_an_argument_can_be_sent_alone_but_not_an_empty_one() -> None:
    page = sit()
    assert sit(require_argument=False).table.message.argument.description == "Your argument (optional)"
    page.press("Argument only")
    assert page.replies() == [] and "nothing to send yet" in said_beside(page)
    take(page.table.message.argument, "Hello")
    page.press("Argument only")
    assert page.replies() == ["ARGUMENT: {'Hello'}"]
    assert "nothing to send" not in page.state()


@pytest.mark.parametrize("language", ["en", "de", "it"])
def test_reasoning_has_a_box_that_the_other_never_sees(language: str) -> None:
    page = sit(strategic_reasoning=True, language=language)
    message = page.table.message
    assert not message.argument.continuous_update and not message.reasoning.continuous_update, "sent before the press"
    tick(page, "rope")
    take(message.reasoning, "I want the map.")
    page.press("Propose 1 item")
    assert "I want the map." in page.replies()[0]
    assert page.match.seen("A").private.reasoning == ("'I want the map.'",)
    assert "I want the map" not in SeatPage(Match.replay(page.match.record()), "B").state()


def test_what_is_no_proposal_is_refused_until_it_is_mended() -> None:
    page = sit()
    for ticked, button, said in (
        ((), "Propose a set", "First check the items you want to propose."),
        (("tent", "stove"), "Propose 2 items", "10 over the LIMIT"),
    ):
        tick(page, *ticked)
        page.press(button)
        assert said in said_beside(page) and len(page.match.events) == 1
        tick(page, "rope")
        assert said not in said_beside(page), "it goes away when what it speaks of is changed"
    page = sit(**LENIENT)
    tick(page, "tent", "stove")
    page.press("Propose 2 items")
    assert page.match.state.public.active["A"] == (frozenset({"tent", "stove"}),), "where it is allowed"


@pytest.mark.parametrize(("text", "end"), [("Hello", "ABORTED"), ("AGREE: {'rope'} ARGUMENT: {''}", "FORFEIT")])
def test_typed_faults_beyond_patience_are_said_and_not_sent_for_they_end_it(text: str, end: str) -> None:
    page = sit(patience=0)
    typed = page.type(text)
    assert page.replies() == [] and typed.box.value == text
    assert typed.notice.value != page.table.new_notice().value
    page.table.context.send(text)
    assert page.match.ended is not None and page.match.ended.end == end
    assert "ended because one of your messages broke the rules" in page.state()
    assert "Your message was:" in page.table._ending.value


def test_a_forgiven_fault_says_how_many_more_are() -> None:
    page = sit()
    page.type("PROPOSAL: {'rope'}")
    assert page.match.seen("A").private.patience == 1
    assert "One more message against the rules is forgiven." in page.table._patience.value


# What is answered.


def test_their_proposals_are_rows_to_compare_agree_to_refuse_and_start_from() -> None:
    page = answering({"tent"}, {"rope", "stove"}, argument="Take it.")
    newest, earlier = rows(page)
    assert all(words in newest.picture.value for words in ("Their latest", "<b>13</b> for you", "effort 50"))
    earlier.start.click()
    assert page.table.checklist.names == {"tent"} and "your checked set" in earlier.picture.value
    assert [mark for mark in page.table.checklist.marks if mark] == ["theirs", "theirs"]
    earlier.refuse.set_state({"value": True})
    tick(page, "stove")
    page.press("Propose 1 item and refuse 1")
    assert page.replies()[-1] == "REFUSE: {'tent'}\nPROPOSAL: {'stove'}\nARGUMENT: {''}"
    assert not any(row.refuse.value for row in rows(page))
    assert page.match.state.public.active["A"] == (frozenset({"rope", "stove"}),)


def test_a_refusal_can_be_sent_alone_and_a_row_that_is_gone_answers_nothing() -> None:
    page = answering({"tent"})
    (stale,) = rows(page)
    stale.refuse.set_state({"value": True})
    assert stale.agree.disabled
    stale.agree.click()
    assert "You checked this set to refuse it" in page.table.proposals.notice.value and page.match.ended is None
    page.press("Only refuse 1")
    assert page.replies()[-1] == "REFUSE: {'tent'}\nARGUMENT: {''}" and rows(page) == []
    hear(page, propose=[{"rope"}])
    events = len(page.match.events)
    stale.refuse.set_state({"value": True})
    assert page.table.proposals.refused == ()
    stale.agree.click()
    assert len(page.match.events) == events
    assert "no active proposal" in page.table.proposals.notice.value


def test_an_agreement_ends_the_match_and_the_agreed_set_is_shown() -> None:
    page = answering({"stove", "rope"})
    (row,) = rows(page)
    for refused in (True, False):
        row.refuse.value = refused
        assert row.agree.disabled is refused
    row.agree.click()
    assert page.match.ended is not None and page.match.ended.payoffs == {"A": 5, "B": 13}
    assert "The agreed set: 2 items" in page.state() and "It ended in agreement." in page.state()
    assert row.agree.disabled


def test_the_other_sides_agreement_ends_it_too() -> None:
    page = sit()
    assert ending(*page.told) == "", "nothing is agreed while it runs"
    tick(page, "rope", "tent")
    page.press("Propose 2 items")
    hear(page, agree=[{"rope", "tent"}])
    assert page.match.ended is not None and page.match.ended.end == "AGREED"
    assert "13, 65% of your best" in page.state()


def test_rows_and_their_buttons_are_made_once_and_earlier_ones_are_behind_a_button() -> None:
    page = sit("B", instance=None, turn_limit=None)
    names = list(page.match.state.public.terms.effort)
    hear(page, propose=[{name} for name in names[:6]])
    before = rows(page)[0].widget
    take(page.table.message.argument, "No.")
    page.press("Argument only")
    hear(page, propose=[{names[6]}])
    assert rows(page)[1].widget is before
    assert len(rows(page)) == 4
    page.press("Show earlier proposals")
    assert len(rows(page)) == 7 and not visible(page.table.proposals._more)


# Ends, and what is said of the match.


@pytest.mark.parametrize(
    ("changes", "end", "words"),
    [
        ({"turn_limit": 1}, "OUT_OF_TIME", "The last message was sent"),
        ({"empty_turn_limit": 0}, "NO_DEAL", "Too many messages in a row contained no proposal."),
    ],
)
def test_a_limit_ends_it_without_a_set(changes: dict[str, Any], end: str, words: str) -> None:
    page = sit(**changes)
    take(page.table.message.argument, "Well.")
    page.press("Argument only")
    assert page.match.ended is not None and page.match.ended.end == end
    assert words in page.state()


def test_a_limit_on_empty_messages_is_said_before_it_bites_and_an_agreement_does_not_break_it() -> None:
    page = answering({"rope"}, empty_turn_limit=1, **LENIENT)
    take(page.table.message.argument, "Hm.")
    page.press("Argument only")
    assert "1 in a row without a proposal (limit: 1)" in clock(*page.told)
    assert "must contain a proposal" in SeatPage(page.match).state()
    page = answering({"rope"}, empty_turn_limit=0, **LENIENT)
    rows(page)[0].agree.click()
    assert page.match.ended is not None and page.match.ended.end == "AGREED"


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("seed", "the LIMIT. Without an agreement, you both get nothing."),
        ("clembench", "a set beyond it pays both nothing, and so does no agreement."),
    ],
)
def test_the_rules_speak_of_a_set_beyond_the_limit_only_where_it_can_be_agreed_to(preset: str, words: str) -> None:
    page = sit(instance=None, preset=preset)
    rules = " ".join(page.widget._table.rules(*page.told))
    assert words in rules and ("beyond it" in rules) is (preset == "clembench")


def test_the_bar_says_that_the_own_set_was_refused() -> None:
    page = sit()
    tick(page, "tent", "rope")
    page.press("Propose 2 items")
    hear(page, argument="Rather this.", propose=[{"rope"}], refuse=[{"tent", "rope"}])
    assert table(page.match.game).decision(*page.told).last == (
        "The other player refused 2 items. The other player: Rather this."
    )


def test_the_words_of_an_argument_are_read_out_of_their_quotes() -> None:
    for text, words in (
        ("PROPOSAL: {'a'}\nARGUMENT: {'It\\'s fine'}", "It's fine"),
        ("ARGUMENT: {'a', 'b'} ARGUMENT: {no quotes here}", "'a', 'b'\nno quotes here"),
        ("nothing", ""),
    ):
        assert extract_arguments(text, "ARGUMENT") == words


def test_what_was_handed_on_against_the_rules_is_marked() -> None:
    page = sit("B", **LENIENT)
    page.hear("AGREE: {'rope'} AGREE: {'tent'} ARGUMENT: {'two'}")
    (entry,) = talk(*page.told)
    assert entry.note == "against the rules, so none of its moves counts" and "AGREE" in entry.text


def test_a_long_match_is_drawn_from_its_latest_messages() -> None:
    match = Match(load("balloon", instance=SMALL, turn_limit=None), seed=1)
    for number in range(70):
        seat = SEATS[number % 2]
        match.submit(seat, match.told(seat).compose(match.seen(seat), argument=f"word {number}"))
    drawn = BalloonTable.render(match.told("A"), match.seen("A"))
    assert "10 earlier messages" in drawn and "word 9<" not in drawn and "word 69<" in drawn


# A hostile page, and what never shows.


def test_ticks_that_name_no_item_are_dropped_and_rewritten_rows_change_nothing() -> None:
    page = sit()
    checklist = page.table.checklist
    checklist.take([3, -1, 99, 3, 1])
    assert checklist.value == [1, 3]
    for wrong in ("all", [["x"]], {"a": 1}, None):
        with pytest.raises(traitlets.TraitError):
            checklist.take(wrong)
    checklist.set_state({"sort": 10**9, "order": [5, 5], "cells": [["gold", "1", "1", "1"]], "marks": []})
    checklist.take([1])
    page.press("Propose 1 item")
    assert page.match.state.public.active["A"] == (frozenset({"rope"}),)


@pytest.mark.parametrize("kind", ["weakly-correlated", "subset-sum", "inversely-correlated"])
def test_how_the_other_was_drawn_does_not_show(kind: str) -> None:
    drawn = [{"A": "uncorrelated", "B": kind_b} for kind_b in ("uncorrelated", kind)]
    pair = [load("balloon", mode="independent", correlation=each) for each in drawn]
    left, right = (Match(game, seed=2) for game in pair)
    assert left.state.private["B"] != right.state.private["B"]
    assert blind_matches(left, right, "A", random.Random(1)) > 2
