"""The table for an agenda: its inputs, what it says of an offer, ends, and pages that send what they like."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest
from negolab_widgets.page import take
from typing_extensions import override

from negolab.game import SEATS, Seat
from negolab.match import Match
from tests.support.agenda import FOOD, PAY, START, game, issue
from tests.support.tables import SeatPage, plain, state, visible
from tests.widgets.test_tables import EVIL, GameTable, blind

fields: Any = importlib.import_module("negolab_widgets.tables.inputs")

LONG = issue("evenings", [*range(9)], [*range(8, -1, -1)], options=[f"{n} evenings" for n in range(9)])
THEIRS = "[Offer: pay = pay b; food = 1]"


def sit(*issues: dict[str, Any], seat: Seat = "A", **params: Any) -> SeatPage:
    return SeatPage(Match(game(*issues, **params), seed=1), seat)


def answering(**params: Any) -> SeatPage:
    """Seat B's page, with an offer to answer."""
    page = sit(seat="B", **params)
    page.hear(THEIRS)
    return page


def inputs(page: SeatPage) -> list[Any]:
    return list(page.table.editor.fields.inputs.values())


def put(page: SeatPage, *choices: int) -> None:
    """Choose an option for every issue, or units of goods, as a page does."""
    for each, choice in zip(inputs(page), choices, strict=True):
        if isinstance(each, fields.CountInput):
            each.stepper.take(choice)
        elif isinstance(each, fields.ListInput):
            each.list.set_state({"index": choice + 1})
        else:
            each.widget.take(choice)


def choices(page: SeatPage) -> list[int | None]:
    return list(page.table.editor.chosen)


class TestAgendaTable(GameTable):
    game = "agenda"
    fault = "[Offer: water = 9]", "water"
    reply = "[Offer: food = 1; water = 2; firewood = 0]"

    @override
    def move(self, page: SeatPage) -> None:
        """Offer once each, then accept."""
        if len(page.replies()) > 1:
            page.table.accept.click()
        else:
            put(page, *(int(isinstance(each, fields.CountInput)) for each in inputs(page)))
            page.table.offer.click()

    @override
    def hear_markup(self) -> SeatPage:
        pay = f"pay {EVIL}"
        page = sit(issue(pay, [0, 1], [1, 0], options=[pay, "much"]), title=pay, roles={"A": pay}, seat="B")
        page.hear(f"{EVIL} take [Offer: {pay} = {pay}]")
        return page


# What is chosen and sent.


def test_issues_of_each_kind_have_an_input_of_their_own() -> None:
    pay, evenings, food = inputs(sit(PAY, LONG, FOOD))
    assert (type(pay), type(evenings), type(food)) == (fields.SegmentsInput, fields.ListInput, fields.CountInput)
    assert pay.widget.notes == ["0", "10", "20"], "own points"
    assert evenings.list.options[1][0] == "0 evenings (0)"


def test_nothing_is_chosen_at_first_and_nothing_is_offered_by_a_press_too_many() -> None:
    for page, chosen, said in ((sit(), [None, 0], "Choose an option for pay"), (sit(FOOD), [0], "")):
        assert choices(page) == chosen
        page.press("Make this offer")
        assert page.replies() == [] and said in page.table.notice.value


def test_what_is_chosen_is_valued_at_once() -> None:
    page = sit(PAY, START, FOOD, reservation={"A": 12, "B": 0})
    inputs(page)[0].widget.take(1)
    assert plain(page.table.editor.sum.value) == "10 points for you so far Still to choose: start."
    put(page, 1, 1, 2)
    assert plain(page.table.editor.sum.value) == "20 points for you 8 more than without a deal."
    assert "you 2, they 1" in inputs(page)[2]._after.value
    put(page, 0, 1, 0)
    assert "nl-loss" in page.table.editor.sum.value, "less than without a deal"


def test_an_offer_is_sent_in_the_games_own_form_with_its_words() -> None:
    page = sit()
    put(page, 2, 1)
    take(page.table.words, "  A good   one.  ")
    page.press("Make this offer")
    assert page.replies() == ["A good one.\n\n[Offer: pay = pay c; food = 1]"]
    assert page.table.words.value == ""
    assert choices(page) == [2, 1], "the next offer begins at the last one"
    assert "Your offer is waiting for an answer" in page.card._text.value


def test_goods_are_the_units_of_who_makes_the_offer() -> None:
    page = answering()
    assert "food 1" not in page.card._text.value and "pay: pay b" in page.card._text.value
    page.press("Start from theirs")
    assert choices(page) == [1, 2]
    put(page, 1, 3)
    page.press("Offer this instead")
    assert page.replies()[-1] == "[Offer: pay = pay b; food = 3]"
    assert page.match.state.public.standing == (1, 0)


@pytest.mark.parametrize(
    ("button", "text"), [("Accept", "[Accept]"), ("Reject", "[Reject]"), ("Yes, end it", "[Walk away]")]
)
def test_the_standing_offer_says_what_it_pays_and_is_answered_beside_it(button: str, text: str) -> None:
    page = sit(seat="B", reservation={"A": 0, "B": 7})
    assert not visible(page.table.accept), "there is nothing to accept yet"
    page.hear(THEIRS)
    standing = plain(page.card._text.value)
    assert "The other player offers" in standing and "23 points for you 16 more than without a deal." in standing
    page.press("Walk away")
    page.press(button)
    assert page.replies()[-1] == text


def test_the_last_offers_of_both_are_marked() -> None:
    page = sit(PAY, LONG, FOOD)
    put(page, 2, 8, 3)
    page.press("Make this offer")
    page.hear("[Offer: pay = pay a; evenings = 0 evenings; food = 2]")
    pay, evenings, food = inputs(page)
    assert pay.widget.marks == ["theirs", "", "yours"]
    assert plain(evenings._facts.value) == "theirs: 0 evenings; yours: 8 evenings"
    assert "yours: you 3; theirs: you 1" in food._after.value
    assert choices(page) == [2, 8, 3], "what was chosen stays"


def test_only_what_the_scenario_allows_can_be_done() -> None:
    silent = sit(talk=False, walk_away=False).table
    assert not any(map(visible, (silent.words, silent.speak, silent.walk_away)))
    page = answering(answer="may", turns=3)
    assert visible(page.table.speak), "silence rejects"
    take(page.table.words, "Hm.")
    page.press("Message only")
    assert page.match.state.public.standing is None
    last = sit(turns=3)
    put(last, 0, 0)
    last.press("Make this offer")
    last.hear("[Reject]")
    assert visible(last.table._last) and not visible(last.table.offer)


def test_talk_that_would_count_as_an_offer_is_not_sent() -> None:
    page = sit()
    put(page, 1, 1)
    take(page.table.words, "I mean it [Accept]")
    page.press("Make this offer")
    assert page.replies() == [] and "in brackets" in page.table.notice.value and page.table.words.value


def test_what_the_seat_may_see_of_the_other_is_shown() -> None:
    whole, order = (sit(PAY, START, FOOD, show=show) for show in ("all", "order"))
    assert inputs(whole)[0].widget.notes == ["0 / 30", "10 / 15", "20 / 0"]
    assert "Points: yours / the other" in whole.table._title.value
    assert "4 to them" in inputs(whole)[2]._facts.value
    assert inputs(order)[0].widget.about == "no. 1 of 3 for the other player"
    assert "4 to the other" not in inputs(order)[2]._facts.value


def test_a_payoff_that_falls_with_messages_is_said_before_it_is_accepted() -> None:
    assert "It pays 11.5 if it is accepted next." in answering(discount="1/2").card._text.value


# Ends, and what a page may send.


def test_the_end_says_what_was_agreed_and_keeps_ones_points() -> None:
    page = sit()
    put(page, 1, 2)
    page.press("Make this offer")
    page.hear("[Accept] Fine.")
    ending = plain(page.table._ending.value)
    assert ending == "You agreed 20 points 20 more than without a deal. pay pay b (10) food you 2, they 1 (10)"
    assert visible(page.table._points)
    assert page.widget._table.clock(*page.told) == "2 messages"


@pytest.mark.parametrize(
    ("reply", "said"),
    [("[Walk away]", "The other player walked away."), ("Goodbye.", "There was no time for another message.")],
)
def test_the_end_without_an_agreement_says_why(reply: str, said: str) -> None:
    page = sit(turns=2)
    take(page.table.words, "Hello.")
    page.press("Message only")
    page.hear(reply)
    assert said in page.table._ending.value


@pytest.mark.parametrize("sent", [7, -3, 10**12])
def test_a_page_cannot_choose_what_there_is_not_or_what_it_has_added(sent: int) -> None:
    page = sit()
    inputs(page)[0].widget.set_state({"options": ["x"] * 9})
    put(page, sent, max(min(sent, 10**9 - 1), 0))
    assert choices(page)[0] is None and choices(page)[1] in range(4)
    page.press("Make this offer")
    assert page.replies() == []


def test_the_page_holds_no_points_of_the_other() -> None:
    secret = issue("pay", [0, 10, 20], [7919, 104729, 15485863])
    page = sit(secret, FOOD, brief={"B": "The budget is large."}, reservation={"A": 0, "B": 32452843})
    put(page, 2, 1)
    page.press("Make this offer")
    page.hear("[Accept]")
    words = ("7919", "7,919", "104729", "104,729", "15485863", "32452843", "budget")
    # Ids of widgets are hexadecimal digits by chance.
    assert not [word for word in words if re.search(rf"(?<![0-9a-f]){word}(?![0-9a-f])", state(page.widget))]


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("show", ["nothing", "order", "all"])
def test_a_table_is_blind_to_what_a_scenario_does_not_show(show: str, seat: Seat) -> None:
    told = game(PAY, LONG, START, FOOD, show=show, answer="may", discount="9/10", opens="drawn")
    assert blind(told, seat, seed=1) > 2
