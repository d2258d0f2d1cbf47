"""The table for balloon, driven as a page would: every control, hostile pages, and secrecy."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import ipywidgets as w
import pytest
import traitlets
from negolab_widgets import HumanSeat
from negolab_widgets.tables import table
from negolab_widgets.tables.balloon import BalloonTable
from negolab_widgets.tables.balloon.view import clock, ending, extract_arguments, talk

from negolab.catalog import list_games, load
from negolab.events import Rejected, Replied
from negolab.game import Seat, other
from negolab.games.balloon import Instance
from negolab.match import Match
from tests.widgets.test_tables import blind_matches
from tests.widgets.test_widgets import below, press

PRESETS = list_games()["balloon"]
SMALL = Instance(
    {"tent": 30, "rope": 10, "<b>map</b>": 5, "stove": 40},
    60,
    {
        "A": {"tent": 9, "rope": 4, "<b>map</b>": 7, "stove": 1},
        "B": {"tent": 1, "rope": 5, "<b>map</b>": 2, "stove": 8},
    },
)


@pytest.fixture(autouse=True)
def no_double_clicks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)


def small(**changes: Any) -> Any:
    return load("balloon", **{"instance": SMALL, **changes})


def alone(game: Any, seat: Seat = "A", seed: int = 1) -> tuple[Any, Match]:
    """A seat's controls in a match; the test plays the other seat."""
    match = Match(game, seed=seed)
    seated = HumanSeat(match, seat, {})
    return seated, match


def tick(seated: Any, *names: str) -> None:
    """Tick items by their row numbers, as a page does."""
    checklist = seated._controls.checklist
    checklist.take([checklist._names.index(name) for name in names])


def write(box: w.Widget, text: str) -> None:
    box.set_state({"value": text})


def reply_other(seated: Any, match: Match, **parts: Any) -> None:
    """Reply at the other seat."""
    away = other(seated._seat)
    match.submit(away, match.told(away).compose(match.seen(away), **parts))
    seated._session.advance()


def replies(match: Match) -> list[str]:
    return [event.reply.text for event in match.events if isinstance(event, Replied)]


def everything(seated: w.Widget) -> str:
    """All synchronised widget state without widget ids."""
    text = json.dumps([part.get_state() for part in below(seated)], default=str)
    return re.sub(r"IPY_MODEL_[0-9a-f]+", "IPY_MODEL", text)


def rows(seated: Any) -> list[Any]:
    """The displayed rows of proposals."""
    made = {row.widget: row for row in seated._controls.proposals._rows_by_set.values()}
    return [made[widget] for widget in seated._controls.proposals._rows.children]


def buttons(seated: Any) -> Iterator[w.Button]:
    return (part for part in below(seated) if isinstance(part, w.Button))


# What every control does.


def test_the_game_has_a_table_of_its_own() -> None:
    assert table(small()).__module__ == "negolab_widgets.tables.balloon.controls"


def test_the_rules_speak_of_a_set_beyond_the_limit_only_where_it_can_be_agreed_to() -> None:
    shown = {}
    for preset in ("seed", "clembench"):
        game = load("balloon", preset=preset)
        seen = Match(game, seed=1).seen("A")
        shown[preset] = " ".join(table(game).rules(game, seen))
    assert "the LIMIT. Without an agreement, you both get nothing." in shown["seed"]
    assert "beyond it" not in shown["seed"]
    assert "a set beyond it pays both nothing, and so does no agreement." in shown["clembench"]


def test_the_bar_says_that_the_own_set_was_refused() -> None:
    match = Match(small(), seed=1)
    match.submit("A", match.told("A").compose(match.seen("A"), argument="This one.", propose=[{"tent", "rope"}]))
    sets: dict[str, Any] = {"propose": [{"rope"}], "refuse": [{"tent", "rope"}]}
    match.submit("B", match.told("B").compose(match.seen("B"), argument="Rather this.", **sets))
    told = table(match.game).decision(match.told("A"), match.seen("A"))
    assert told.last == "The other player refused 2 items. The other player: Rather this."


def test_what_is_ticked_is_counted_at_once() -> None:
    seated, _ = alone(small())
    tick(seated, "tent", "<b>map</b>")
    sums = seated._controls._sums.value
    assert "35 of 60, 25 left" in sums
    assert "16, 80% of your best" in sums
    assert seated._controls.message.propose.description == "Propose 2 items"


def test_what_is_ticked_is_compared_with_their_latest_set() -> None:
    seated, match = alone(small(), "B")
    tick(seated, "rope")
    assert "Only in" not in seated._controls._sums.value, "nothing of theirs stands"
    reply_other(seated, match, propose=[{"rope", "stove"}])
    assert "Only in theirs: 1 item; only in yours: 0 items" in seated._controls._sums.value
    tick(seated, "tent", "<b>map</b>")
    assert "Only in theirs: 2 items; only in yours: 2 items" in seated._controls._sums.value


def test_the_bar_says_when_the_limit_is_passed() -> None:
    seated, _ = alone(small())
    tick(seated, "tent", "stove")
    assert "70 of 60, 10 over" in seated._controls._sums.value
    assert "nl-over" in seated._controls._sums.value


def test_items_are_sorted_by_any_column_and_back() -> None:
    seated, _ = alone(small())
    checklist = seated._controls.checklist
    for column, falling, order in ((1, True, [3, 0, 1, 2]), (2, True, [0, 2, 1, 3]), (3, True, [2, 1, 0, 3])):
        checklist.set_state({"falling": falling, "sort": column})
        assert checklist.order == order
    checklist.set_state({"falling": False})
    assert checklist.order == [3, 0, 1, 2]
    checklist.set_state({"sort": 0})
    assert checklist.order == [0, 1, 2, 3]


def test_items_are_sorted_by_who_proposed_them() -> None:
    seated, match = alone(small(), "B")
    reply_other(seated, match, propose=[{"rope"}], argument="")
    seated._controls.checklist.set_state({"falling": True, "sort": 4})
    assert seated._controls.checklist.order[0] == 1


def test_a_proposal_is_sent_in_the_games_own_form_and_the_boxes_are_cleared() -> None:
    seated, match = alone(small())
    tick(seated, "rope", "tent")
    write(seated._controls.message.argument, "It is cold {there}.")
    press(seated, "Propose 2 items")
    assert replies(match) == ["PROPOSAL: {'tent', 'rope'}\nARGUMENT: {'It is cold (there).'}"]
    assert seated._controls.message.argument.value == ""
    assert seated._controls.checklist.names == {"tent", "rope"}, "what was ticked stays, to go on from"


def test_an_empty_argument_is_not_filled_with_words_of_ours() -> None:
    seated, match = alone(small())
    tick(seated, "rope")
    press(seated, "Propose 1 item")
    assert replies(match) == ["PROPOSAL: {'rope'}\nARGUMENT: {''}"]


def test_an_argument_can_be_sent_alone_but_not_an_empty_one() -> None:
    seated, match = alone(small())
    press(seated, "Argument only")
    assert replies(match) == []
    assert "nothing to send yet" in seated._controls.message.notice.value
    write(seated._controls.message.argument, "Hello")
    press(seated, "Argument only")
    assert replies(match) == ["ARGUMENT: {'Hello'}"]
    assert "nothing to send" not in everything(seated)


def test_their_proposals_are_rows_to_compare_agree_to_refuse_and_start_from() -> None:
    seated, match = alone(small(), "B")
    reply_other(seated, match, propose=[{"tent"}, {"rope", "stove"}], argument="Take it.")
    newest, earlier = rows(seated)
    assert "Their latest" in newest.picture.value
    assert "<b>13</b> for you" in newest.picture.value
    assert "effort 50" in newest.picture.value
    earlier.start.click()
    assert seated._controls.checklist.names == {"tent"}
    assert "your ticked set" in earlier.picture.value
    assert [mark for mark in seated._controls.checklist.marks if mark] == ["theirs", "theirs"]
    earlier.refuse.set_state({"value": True})
    tick(seated, "stove")
    press(seated, "Propose 1 item and refuse 1")
    assert replies(match)[-1] == "REFUSE: {'tent'}\nPROPOSAL: {'stove'}\nARGUMENT: {''}"
    assert not any(row.refuse.value for row in rows(seated))
    assert match.state.public.active["A"] == (frozenset({"rope", "stove"}),)


def test_a_refusal_can_be_sent_alone() -> None:
    seated, match = alone(small(), "B")
    reply_other(seated, match, propose=[{"tent"}], argument="")
    rows(seated)[0].refuse.set_state({"value": True})
    press(seated, "Only refuse 1")
    assert replies(match)[-1] == "REFUSE: {'tent'}\nARGUMENT: {''}"
    assert rows(seated) == []


def test_an_agreement_ends_the_match_and_the_agreed_set_is_shown() -> None:
    seated, match = alone(small(), "B")
    reply_other(seated, match, propose=[{"stove", "rope"}], argument="")
    write(seated._controls.message.argument, "Fine.")
    rows(seated)[0].agree.click()
    assert match.ended is not None
    assert match.ended.payoffs == {"A": 5, "B": 13}
    drawn = everything(seated)
    assert "The agreed set: 2 items" in drawn
    assert "It ended in agreement." in drawn
    assert seated._controls._offering.layout.display == "none"
    assert [row.agree.disabled for row in seated._controls.proposals._rows_by_set.values()] == [True]


def test_earlier_proposals_are_behind_a_button() -> None:
    game = load("balloon", turn_limit=None)
    seated, match = alone(game, "B")
    names = list(match.state.public.terms.effort)
    reply_other(seated, match, propose=[{name} for name in names[:7]], argument="")
    assert len(rows(seated)) == 4
    press(seated, "Show earlier proposals")
    assert len(rows(seated)) == 7
    assert seated._controls.proposals._more.layout.display == "none"


def test_rows_and_their_buttons_are_made_once() -> None:
    seated, match = alone(small(), "B")
    reply_other(seated, match, propose=[{"tent"}], argument="")
    before = rows(seated)[0].widget
    write(seated._controls.message.argument, "No.")
    press(seated, "Argument only")
    reply_other(seated, match, propose=[{"rope"}], argument="")
    assert rows(seated)[1].widget is before


def test_reasoning_has_a_box_that_the_other_never_sees() -> None:
    for language in ("en", "de", "it"):
        seated, match = alone(small(strategic_reasoning=True, language=language))
        tick(seated, "rope")
        write(seated._controls.message.reasoning, "I want the map.")
        press(seated, "Propose 1 item")
        assert "I want the map." in replies(match)[0]
        assert match.seen("A").private.reasoning == ("'I want the map.'",)
        assert "I want the map" not in everything(HumanSeat(Match.replay(match.record()), "B", {}))


def test_there_is_no_box_for_what_the_rules_do_not_take() -> None:
    seated, _ = alone(small())
    assert seated._controls.message.reasoning.layout.display == "none"
    seated, match = alone(small(preset="clembench", strategic_reasoning=False, require_argument=False))
    assert seated._controls.message.argument.layout.display == "none"
    assert seated._controls.message.plain.layout.display == "none"
    tick(seated, "rope")
    press(seated, "Propose 1 item")
    assert replies(match) == ["PROPOSAL: {'rope'}"]


def test_an_argument_is_optional_where_it_is() -> None:
    seated, match = alone(small(require_argument=False))
    assert seated._controls.message.argument.description == "Your argument (optional)"
    tick(seated, "rope")
    press(seated, "Propose 1 item")
    assert replies(match) == ["PROPOSAL: {'rope'}"]


def test_a_reply_can_be_typed_with_its_tags() -> None:
    seated, match = alone(small())
    typed = seated._controls._typed
    write(typed.box, "PROPOSAL: {'rope'}")
    typed.button.click()
    assert match.seen("A").private.patience == 1
    assert "ARGUMENT" in typed.notice.value
    assert typed.box.value, "what was written is still there to be mended"
    assert "One more message against the rules is forgiven." in seated._controls._patience.value
    write(typed.box, "PROPOSAL: {'rope'} ARGUMENT: {'x'}")
    typed.button.click()
    assert match.state.public.active["A"] == (frozenset({"rope"}),)
    assert typed.box.value == ""


def test_texts_reach_python_before_the_press() -> None:
    seated, _ = alone(small())
    message = seated._controls.message
    assert not message.argument.continuous_update
    assert not message.reasoning.continuous_update


def test_many_items_can_be_found_by_name_and_by_tick() -> None:
    seated, match = alone(load("balloon", items=300))
    controls = seated._controls
    names = list(match.state.public.terms.effort)
    controls.find.set_state({"value": "a1"})
    assert {names[at] for at in controls.checklist.order} == {name for name in names if "A1" in name}
    controls.find.set_state({"value": ""})
    tick(seated, names[7], names[9])
    controls.only.set_state({"value": True})
    assert controls.checklist.order == [7, 9]
    press(seated, "Propose 2 items")
    assert replies(match)[0].startswith("PROPOSAL: {")


def test_few_items_need_no_box_to_find_them() -> None:
    for items, shown in ((1, False), (25, True)):
        seated, _ = alone(load("balloon", items=items))
        finder = seated._controls._choosing.children[2]
        assert (finder.layout.display is None) is shown


def test_no_item_costs_more_than_a_row_of_text() -> None:
    few, many = (len(below(alone(load("balloon", items=items))[0])) for items in (1, 300))
    assert few == many


# Ends.


def test_the_other_sides_agreement_ends_it_too() -> None:
    seated, match = alone(small())
    tick(seated, "rope", "tent")
    press(seated, "Propose 2 items")
    reply_other(seated, match, agree=[{"rope", "tent"}], argument="")
    assert match.ended is not None
    assert match.ended.end == "AGREED"
    assert "13, 65% of your best" in everything(seated)


@pytest.mark.parametrize(
    ("changes", "end", "words"),
    [
        ({"turn_limit": 1}, "OUT_OF_TIME", "The last message was sent"),
        ({"empty_turn_limit": 0}, "NO_DEAL", "Too many messages in a row contained no proposal."),
    ],
)
def test_a_limit_ends_it_without_a_set(changes: dict[str, Any], end: str, words: str) -> None:
    seated, match = alone(small(**changes))
    write(seated._controls.message.argument, "Well.")
    press(seated, "Argument only")
    assert match.ended is not None
    assert match.ended.end == end
    assert words in everything(seated)


@pytest.mark.parametrize(("text", "end"), [("Hello", "ABORTED"), ("AGREE: {'rope'} ARGUMENT: {''}", "FORFEIT")])
def test_typed_faults_beyond_patience_are_said_and_not_sent_for_they_end_it(text: str, end: str) -> None:
    seated, match = alone(small(patience=0))
    typed = seated._controls._typed
    write(typed.box, text)
    typed.button.click()
    assert replies(match) == []
    assert typed.box.value == text
    assert typed.notice.value != seated._controls.new_notice().value
    seated._controls.context.send(text)
    assert match.ended is not None
    assert match.ended.end == end
    assert "ended because one of your messages broke the rules" in everything(seated)
    assert "Your message was:" in seated._controls._ending.value


def test_a_refusal_goes_away_when_what_it_speaks_of_is_changed() -> None:
    seated, _ = alone(small())
    seated._controls.message.propose.click()
    assert "First tick what you want" in seated._controls.message.notice.value
    tick(seated, "rope")
    assert "First tick what you want" not in seated._controls.message.notice.value


def test_a_set_that_is_to_be_refused_is_not_agreed_to() -> None:
    seated, match = alone(small(), "B")
    reply_other(seated, match, propose=[{"rope"}], argument="")
    (row,) = rows(seated)
    row.refuse.value = True
    assert row.agree.disabled
    row.agree.click()
    assert "You ticked this set to refuse it" in seated._controls.proposals.notice.value
    assert match.ended is None
    row.refuse.value = False
    assert not row.agree.disabled
    row.agree.click()
    assert match.ended is not None


def test_braces_that_are_sent_as_other_signs_are_named() -> None:
    seated, match = alone(small())
    message = seated._controls.message
    assert message._braces.layout.display == "none"
    write(message.argument, "{rope}")
    assert message._braces.layout.display != "none"
    assert "Braces { } in your text are sent as ( )." in message._braces.value
    tick(seated, "rope")
    message.propose.click()
    assert "(rope)" in replies(match)[0]
    assert message._braces.layout.display == "none"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("language", ["en", "de", "it"])
def test_every_preset_is_played_by_controls_alone(preset: str, language: str) -> None:
    for argues in (True, False):
        for thinks in (True, False):
            game = load(
                "balloon",
                preset=preset,
                language=language,
                turn_limit=30,
                require_argument=argues,
                strategic_reasoning=thinks,
            )
            _agree_in_four(game)


def _agree_in_four(game: Any) -> None:
    match = Match(game, seed=4)
    seats = [HumanSeat(match, seat, {}) for seat in ("A", "B")]
    for number in range(3):
        seated = seats[number % 2]
        seated._session.advance()
        seated._controls.checklist.take([number, number + 1])
        for row in rows(seated)[:1] if number == 2 else ():
            row.refuse.set_state({"value": True})
        next(b for b in buttons(seated) if b.description.startswith("Propose 2 items")).click()
    seats[1]._session.advance()
    rows(seats[1])[0].agree.click()
    assert match.ended is not None
    assert match.ended.end == "AGREED"
    assert not [event for event in match.events if isinstance(event, Rejected)]


# A hostile page.


def test_a_set_over_the_limit_costs_no_patience_where_it_is_forbidden() -> None:
    seated, match = alone(small())
    tick(seated, "tent", "stove")
    press(seated, "Propose 2 items")
    assert "10 over the LIMIT" in seated._controls.message.notice.value
    assert len(match.events) == 1
    seated, match = alone(small(preset="clembench", strategic_reasoning=False))
    tick(seated, "tent", "stove")
    press(seated, "Propose 2 items")
    assert match.state.public.active["A"] == (frozenset({"tent", "stove"}),)


def test_nothing_ticked_is_no_proposal() -> None:
    seated, match = alone(small())
    press(seated, "Propose a set")
    assert "First tick what you want to propose." in seated._controls.message.notice.value
    assert len(match.events) == 1


def test_ticks_that_name_no_item_are_dropped() -> None:
    seated, _ = alone(small())
    checklist = seated._controls.checklist
    checklist.take([3, -1, 99, 3, 1])
    assert checklist.value == [1, 3]
    for wrong in ("all", [["x"]], {"a": 1}, None):
        with pytest.raises(traitlets.TraitError):
            checklist.take(wrong)
    checklist.set_state({"sort": 10**9, "order": [5, 5]})
    tick(seated, "rope")
    press(seated, "Propose 1 item")
    assert seated._match.state.public.active["A"] == (frozenset({"rope"}),)


def test_rewritten_rows_change_nothing_that_is_sent() -> None:
    seated, match = alone(small())
    seated._controls.checklist.set_state({"cells": [["gold", "1", "1", "1"]], "marks": []})
    seated._controls.checklist.take([0])
    press(seated, "Propose 1 item")
    assert replies(match) == ["PROPOSAL: {'tent'}\nARGUMENT: {''}"]


def test_a_stale_row_answers_nothing_and_says_why() -> None:
    seated, match = alone(small(), "B")
    reply_other(seated, match, propose=[{"tent"}], argument="")
    (stale,) = rows(seated)
    stale.refuse.set_state({"value": True})
    press(seated, "Only refuse 1")
    reply_other(seated, match, propose=[{"rope"}], argument="")
    events = len(match.events)
    stale.refuse.set_state({"value": True})
    assert seated._controls.proposals.refused == ()
    stale.agree.click()
    assert len(match.events) == events
    assert "no active proposal" in seated._controls.proposals.notice.value


def test_a_limit_on_empty_messages_is_said_before_it_bites() -> None:
    seated, match = alone(small(preset="clembench", empty_turn_limit=1, strategic_reasoning=False), "B")
    reply_other(seated, match, propose=[{"rope"}], argument="")
    write(seated._controls.message.argument, "Hm.")
    press(seated, "Argument only")
    assert "1 of at most 1 in a row without a proposal" in clock(match.told("A"), match.seen("A"))
    other_side = HumanSeat(match, "A", {})
    assert "must contain a proposal" in everything(other_side)


def test_agreeing_under_that_limit_does_not_lose_the_match() -> None:
    seated, match = alone(small(preset="clembench", empty_turn_limit=0, strategic_reasoning=False), "B")
    reply_other(seated, match, propose=[{"rope"}], argument="")
    rows(seated)[0].agree.click()
    assert match.ended is not None
    assert match.ended.end == "AGREED"


# What is text stays text.


def test_markup_in_names_and_words_is_text() -> None:
    seated, match = alone(small(), "B")
    evil = "<img src=x onerror=alert(1)>"
    reply_other(seated, match, propose=[{"<b>map</b>"}], argument=evil)
    drawn = "".join(part.value for part in below(seated) if isinstance(part, w.HTML))
    drawn += BalloonTable.render(match.told("B"), match.seen("B"))
    assert "<img" not in drawn
    assert "<b>map" not in drawn
    assert "&lt;b&gt;map&lt;/b&gt;" in drawn
    assert "&lt;img src=x" in drawn


def test_the_words_of_an_argument_are_read_out_of_their_quotes() -> None:
    assert extract_arguments("PROPOSAL: {'a'}\nARGUMENT: {'It\\'s fine'}", "ARGUMENT") == "It's fine"
    assert (
        extract_arguments("ARGUMENT: {'a', 'b'} ARGUMENT: {no quotes here}", "ARGUMENT") == "'a', 'b'\nno quotes here"
    )
    assert extract_arguments("nothing", "ARGUMENT") == ""


def test_what_was_handed_on_against_the_rules_is_marked() -> None:
    game = small(preset="clembench", strategic_reasoning=False)
    match = Match(game, seed=1)
    match.submit("A", "AGREE: {'rope'} AGREE: {'tent'} ARGUMENT: {'two'}")
    (entry,) = talk(match.told("B"), match.seen("B"))
    assert entry.note == "against the rules, so none of its moves counts"
    assert "AGREE" in entry.text


def test_a_long_match_is_drawn_from_its_latest_messages() -> None:
    game = small(turn_limit=None)
    match = Match(game, seed=1)
    for number in range(70):
        seat: Seat = "AB"[number % 2]  # type: ignore[assignment]
        match.submit(seat, match.told(seat).compose(match.seen(seat), argument=f"word {number}"))
    drawn = BalloonTable.render(match.told("A"), match.seen("A"))
    assert "10 earlier messages" in drawn
    assert "word 9<" not in drawn
    assert "word 69<" in drawn


# What never shows.


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", ["weakly-correlated", "subset-sum", "inversely-correlated"])
def test_how_the_other_was_drawn_does_not_show(preset: str, kind: str) -> None:
    drawn = [{"A": "uncorrelated", "B": kind_b} for kind_b in ("uncorrelated", kind)]
    pair = [load("balloon", preset=preset, mode="independent", correlation=each) for each in drawn]
    left, right = (Match(game, seed=2) for game in pair)
    assert left.state.private["B"] != right.state.private["B"]
    assert blind_matches(left, right, "A", random.Random(1)) > 2


def test_nothing_is_agreed_while_it_runs() -> None:
    match = Match(small(), seed=1)
    assert ending(match.told("A"), match.seen("A")) == ""
