"""A person plays each game to its end on the served page: by mouse every day, by keyboard in the long tests."""

from __future__ import annotations

from typing import Any

import pytest

from negolab.catalog import game_names
from tests.conftest import SLOW, Served
from tests.support.browser import (
    Keyboard,
    Mouse,
    accessibility_violations,
    check_result,
    fits_phone,
    open_lobby,
    play_to_end,
    screenshot,
    start_match,
)

pytestmark = pytest.mark.browser


HANDS = [
    pytest.param(game, hand, marks=[] if (game, hand) == ("bargaining", Mouse) else [pytest.mark.long])
    for game in game_names()
    for hand in (Mouse, Keyboard)
    if SLOW or hand is Keyboard or game == "bargaining"
]


@pytest.mark.parametrize(("game", "hand"), HANDS)
def test_a_person_plays_a_game_on_the_served_page(game: str, hand: Any, served: Served, visit: Any) -> None:
    page = visit(served.url)
    open_lobby(page)
    assert accessibility_violations(page) == []
    table = start_match(hand(page), game)
    assert accessibility_violations(page) == []
    screenshot(page, f"{game}-start")
    if (way := table.locator(".nl-go:visible")).count():
        hand(page).press(way.first)
        page.wait_for_function("() => document.activeElement.closest('.nl-compose')")
    moves = play_to_end(hand(page), table, game)
    assert moves
    screenshot(page, f"{game}-end")
    check_result(table, served.out, game)
    assert accessibility_violations(page) == []
    assert fits_phone(page)
    for name in ("Replay", "Play"):
        page.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("button", name="Rematch").wait_for()


@pytest.mark.long
def test_keys_work_right_after_an_offer_was_sent_and_escape_leaves_a_field(served: Served, visit: Any) -> None:
    page = visit(served.url)
    open_lobby(page)
    table = start_match(Keyboard(page), "bargaining")
    in_field = "() => document.activeElement.closest('.nl-compose')"
    on_card = "() => document.activeElement.matches('.nl-decision')"
    page.keyboard.press("o")
    page.wait_for_function(in_field)
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    page.wait_for_function(on_card)
    page.keyboard.press("?")
    table.locator(".nl-keys[open]").wait_for()
    page.keyboard.press("o")
    page.wait_for_function(in_field)
    page.keyboard.press("Escape")
    page.wait_for_function(on_card)
    assert table.locator(".nl-keys[open]").count() == 0
