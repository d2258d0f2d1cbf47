"""Earnings on a participant's page: the parts of the amount, and the link back to the panel."""

from __future__ import annotations

from typing import Any

import pytest
from negolab_widgets.study.last_page import completion_button, render_earnings

from negolab.studies.endings import Ending
from negolab.studies.payment import Earnings, Payment, Payoff, earnings


def shown(payoffs: list[Payoff], ending: Ending = "complete", unit: str = "points", **options: Any) -> str:
    return str(render_earnings(made(payoffs, ending, unit, **options)))


def made(payoffs: list[Payoff], ending: Ending = "complete", unit: str = "points", **options: Any) -> Earnings:
    return earnings(Payment("GBP", **{"rate": 0.01, **options}), ending, payoffs, unit=unit, seed=1)


def cells(page: str) -> list[str]:
    return [part.split("<")[0] for part in page.replace('<span class="nl-strong">', "").split(">") if part.strip()]


def test_the_parts_stand_above_the_total() -> None:
    page = shown([130, -20], show_up=2, rounding=0.25)
    told = [cell for cell in cells(page) if cell.strip()]
    assert told[told.index("For taking part") :][:12] == [
        "For taking part",
        "£2.00",
        "Match 1",
        "130 points",
        "£1.30",
        "Match 2",
        "−20 points",
        "−£0.20",
        "Rounding",
        "−£0.10",
        "Total",
        "£3.00",
    ]
    assert "100 points are worth £1.00." in page


def test_a_match_that_was_not_drawn_says_so() -> None:
    page = shown([100, 200], counts="one")
    assert page.count("not drawn") == 1
    assert "One match was drawn at random" in page


def test_money_of_a_game_is_written_as_at_its_table() -> None:
    page = shown([1250], unit="cents", rate=0.001)
    assert "$12.50" in page and "£1.25" in page and "10 dollars are worth £1.00." in page


@pytest.mark.parametrize(("payoff", "words"), [(-900, "Raised to the minimum"), (900, "Reduced to the maximum")])
def test_what_floor_and_cap_change_is_a_part(payoff: int, words: str) -> None:
    assert words in shown([payoff], cap=5)


def test_an_ending_with_a_fixed_amount_shows_that_and_no_parts() -> None:
    page = shown([100], "partner", endings={"partner": 1.5})
    assert "£1.50" in page and "table" not in page
    assert shown([100], "declined") == ""


def test_the_link_says_where_it_leads_and_tells_that_site_nothing() -> None:
    link = completion_button('https://app.prolific.com/submissions/complete?cc=A&x="').value
    assert "Continue to app.prolific.com" in link
    assert 'rel="noopener noreferrer"' in link and 'target="_blank"' in link
    assert "cc=A&amp;x=&#34;" in link
