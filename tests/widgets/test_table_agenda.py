"""The table for an agenda, driven as a page would: every control, hostile pages, and secrecy."""

from __future__ import annotations

import importlib
import re
from typing import Any

import ipywidgets as w
import pytest
from negolab_widgets import HumanSeat
from negolab_widgets.tables import table

from negolab.events import Replied
from negolab.game import SEATS, Seat, other
from negolab.match import Match
from tests.support.agenda import FOOD, PAY, START, game, issue
from tests.widgets.test_tables import blind
from tests.widgets.test_widgets import press, state

TABLE: Any = table(game())
fields: Any = importlib.import_module("negolab_widgets.tables.inputs")

LONG = issue("evenings", [*range(9)], [*range(8, -1, -1)], options=[f"{n} evenings" for n in range(9)])


@pytest.fixture(autouse=True)
def no_double_clicks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)


def alone(*issues: dict[str, Any], seat: Seat = "A", **params: Any) -> tuple[Any, Match]:
    """A seat's controls in a match; the test plays the other seat."""
    match = Match(game(*issues, **params), seed=1)
    return HumanSeat(match, seat, {}), match


def reply_other(seated: Any, match: Match, text: str) -> None:
    match.submit(other(seated._seat), text)
    seated._session.advance()


def inputs(seated: Any) -> list[Any]:
    return list(seated._controls.editor.fields.inputs.values())


def put(seated: Any, *choices: int) -> None:
    """Choose an option for every issue, or units of goods, as a page does."""
    for each, choice in zip(inputs(seated), choices, strict=True):
        if isinstance(each, fields.CountInput):
            each.stepper.take(choice)
        elif isinstance(each, fields.ListInput):
            each.list.set_state({"index": choice + 1})
        else:
            each.widget.take(choice)


def choices(seated: Any) -> list[int | None]:
    return list(seated._controls.editor.chosen)


def write(seated: Any, text: str) -> None:
    seated._controls.words.set_state({"value": text})


def replies(match: Match) -> list[str]:
    return [event.reply.text for event in match.events if isinstance(event, Replied)]


def shown(widget: w.Widget) -> bool:
    return widget.layout.display != "none"


def plain(markup: str) -> str:
    return " ".join(re.sub("<[^>]+>", " ", markup).split())


# What every control does.


def test_issues_of_each_kind_have_an_input_of_their_own() -> None:
    seated, _ = alone(PAY, LONG, FOOD)
    kinds = [type(each) for each in inputs(seated)]
    assert kinds == [fields.SegmentsInput, fields.ListInput, fields.CountInput]
    pay, evenings, _ = inputs(seated)
    assert pay.widget.notes == ["0", "10", "20"], "own points"
    assert evenings.list.options[1][0] == "0 evenings (0)"


def test_nothing_is_chosen_at_first_and_nothing_is_offered_by_a_press_too_many() -> None:
    seated, match = alone()
    assert choices(seated) == [None, 0]
    press(seated, "Make this offer")
    assert replies(match) == []
    assert "Choose an option for pay" in seated._controls.notice.value
    goods, untouched = alone(FOOD)
    press(goods, "Make this offer")
    assert replies(untouched) == []


def test_what_is_chosen_is_valued_at_once() -> None:
    seated, _ = alone(PAY, START, FOOD, reservation={"A": 12, "B": 0})
    inputs(seated)[0].widget.take(1)
    assert plain(seated._controls.editor.sum.value) == "10 points for you so far Still to choose: start."
    put(seated, 1, 1, 2)
    assert plain(seated._controls.editor.sum.value) == "20 points for you 8 more than without a deal."
    assert "you 2, they 1" in inputs(seated)[2]._after.value
    put(seated, 0, 1, 0)
    assert "nl-loss" in seated._controls.editor.sum.value, "less than without a deal"


def test_an_offer_is_sent_in_the_games_own_form_with_its_words() -> None:
    seated, match = alone()
    put(seated, 2, 1)
    write(seated, "  A good   one.  ")
    press(seated, "Make this offer")
    assert replies(match) == ["A good one.\n\n[Offer: pay = pay c; food = 1]"]
    assert seated._controls.words.value == ""
    assert choices(seated) == [2, 1], "the next offer begins at the last one"
    assert "Your offer is waiting for an answer" in seated._card._text.value


def test_goods_are_the_units_of_who_makes_the_offer() -> None:
    seated, match = alone(seat="B")
    reply_other(seated, match, "[Offer: pay = pay b; food = 1]")
    assert "food 1" not in seated._card._text.value and "pay: pay b" in seated._card._text.value
    press(seated, "Start from theirs")
    assert choices(seated) == [1, 2]
    put(seated, 1, 3)
    press(seated, "Offer this instead")
    assert replies(match)[-1] == "[Offer: pay = pay b; food = 3]"
    assert match.state.public.standing == (1, 0)


def test_the_standing_offer_says_what_it_pays_and_is_answered_beside_it() -> None:
    for button, text in (
        ("Accept", "[Accept]"),
        ("Reject", "[Reject]"),
        ("Yes, end it", "[Walk away]"),
    ):
        seated, match = alone(seat="B", reservation={"A": 0, "B": 7})
        assert not shown(seated._controls.accept), "there is nothing to accept yet"
        reply_other(seated, match, "[Offer: pay = pay b; food = 1]")
        standing = plain(seated._card._text.value)
        assert "The other player offers" in standing and "23 points for you 16 more than without a deal." in standing
        press(seated, "Walk away")
        press(seated, button)
        assert replies(match)[-1] == text


def test_the_last_offers_of_both_are_marked() -> None:
    seated, match = alone(PAY, LONG, FOOD)
    put(seated, 2, 8, 3)
    press(seated, "Make this offer")
    reply_other(seated, match, "[Offer: pay = pay a; evenings = 0 evenings; food = 2]")
    pay, evenings, food = inputs(seated)
    assert pay.widget.marks == ["theirs", "", "yours"]
    assert plain(evenings._facts.value) == "theirs: 0 evenings; yours: 8 evenings"
    assert "yours: you 3; theirs: you 1" in food._after.value
    assert choices(seated) == [2, 8, 3], "what was chosen stays"


def test_only_what_the_scenario_allows_can_be_done() -> None:
    seated, match = alone(talk=False, walk_away=False)
    hidden = seated._controls.words, seated._controls.speak, seated._controls.walk_away
    assert not any(map(shown, hidden))
    seated, match = alone(seat="B", answer="may", turns=3)
    reply_other(seated, match, "[Offer: pay = pay b; food = 1]")
    assert shown(seated._controls.speak), "silence rejects"
    write(seated, "Hm.")
    press(seated, "Message only")
    assert match.state.public.standing is None
    last, match = alone(turns=3)
    put(last, 0, 0)
    press(last, "Make this offer")
    reply_other(last, match, "[Reject]")
    assert shown(last._controls._last) and not shown(last._controls.offer)


def test_talk_that_would_count_as_an_offer_is_not_sent() -> None:
    seated, match = alone()
    put(seated, 1, 1)
    write(seated, "I mean it [Accept]")
    press(seated, "Make this offer")
    assert replies(match) == []
    assert "in brackets" in seated._controls.notice.value
    assert seated._controls.words.value


def test_what_the_seat_may_see_of_the_other_is_shown() -> None:
    seated, _ = alone(PAY, START, FOOD, show="all")
    assert inputs(seated)[0].widget.notes == ["0 / 30", "10 / 15", "20 / 0"]
    assert "Points: yours / the other" in seated._controls._title.value
    order, _ = alone(PAY, START, FOOD, show="order")
    assert inputs(order)[0].widget.about == "no. 1 of 3 for the other player"
    assert "4 to them" in inputs(seated)[2]._facts.value
    assert "4 to the other" not in inputs(order)[2]._facts.value


def test_a_payoff_that_falls_with_messages_is_said_before_it_is_accepted() -> None:
    seated, match = alone(seat="B", discount="1/2")
    reply_other(seated, match, "[Offer: pay = pay b; food = 1]")
    assert "It pays 11.5 if it is accepted next." in seated._card._text.value


# Ends, and what a page may send.


def test_the_end_says_what_was_agreed_and_keeps_ones_points() -> None:
    seated, match = alone()
    put(seated, 1, 2)
    press(seated, "Make this offer")
    reply_other(seated, match, "[Accept] Fine.")
    ending = plain(seated._controls._ending.value)
    assert ending == "You agreed 20 points 20 more than without a deal. pay pay b (10) food you 2, they 1 (10)"
    assert shown(seated._controls._points)
    assert not shown(seated._controls._offering)
    assert TABLE.clock(match.told("A"), match.seen("A")) == "2 messages"


@pytest.mark.parametrize("ended", ["[Walk away]", None])
def test_the_end_without_an_agreement_says_why(ended: str | None) -> None:
    seated, match = alone(turns=2)
    write(seated, "Hello.")
    press(seated, "Message only")
    reply_other(seated, match, ended or "Goodbye.")
    said = "The other player walked away." if ended else "There was no time for another message."
    assert said in seated._controls._ending.value


@pytest.mark.parametrize("sent", [7, -3, 10**12])
def test_a_page_cannot_choose_what_there_is_not(sent: int) -> None:
    seated, match = alone()
    put(seated, sent, max(min(sent, 10**9 - 1), 0))
    assert choices(seated)[0] is None
    assert choices(seated)[1] <= 3
    press(seated, "Make this offer")
    assert replies(match) == []


def test_a_page_cannot_choose_an_option_that_it_has_added() -> None:
    seated, match = alone()
    inputs(seated)[0].widget.set_state({"options": ["x"] * 9})
    put(seated, 7, 1)
    assert choices(seated) == [None, 1]
    press(seated, "Make this offer")
    assert replies(match) == []


def test_names_and_talk_are_escaped() -> None:
    bad = issue("pay <b>", [0, 1], [1, 0], options=["<s>little", "much"])
    seated, match = alone(bad, title="<script>", roles={"A": "<i>one</i>"}, seat="B")
    reply_other(seated, match, "<u>take</u> [Offer: pay <b> = <s>little]")
    drawn = [part.value for part in (seated._facts, seated._card._text, seated._controls.said)]
    drawn.append(TABLE.render(match.told("B"), match.seen("B")))
    assert not re.search("<(script|i|u|s)>|pay <b>", "".join(drawn))


def test_the_page_holds_no_points_of_the_other() -> None:
    secret = issue("pay", [0, 10, 20], [7919, 104729, 15485863])
    seated, match = alone(secret, FOOD, brief={"B": "The budget is large."}, reservation={"A": 0, "B": 32452843})
    put(seated, 2, 1)
    press(seated, "Make this offer")
    reply_other(seated, match, "[Accept]")
    page = state(seated)
    words = ("7919", "7,919", "104729", "104,729", "15485863", "32452843", "budget")
    # Ids of widgets are hexadecimal digits by chance.
    assert not [word for word in words if re.search(rf"(?<![0-9a-f]){word}(?![0-9a-f])", page)]


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("show", ["nothing", "order", "all"])
def test_a_table_is_blind_to_what_a_scenario_does_not_show(show: str, seat: Seat) -> None:
    told = game(PAY, LONG, START, FOOD, show=show, answer="may", discount="9/10", opens="drawn")
    assert sum(blind(told, seat, seed) for seed in range(2)) > 2
