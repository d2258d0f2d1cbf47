"""The bar that stays in view: keys, focus, and a phone's screen."""

from __future__ import annotations

from typing import Any

import pytest

from negolab.catalog import game_names
from tests.conftest import Served
from tests.support.browser import (
    MOVES,
    Keyboard,
    Mouse,
    accessibility_violations,
    fits_width,
    is_turn,
    leave_match,
    start_match,
)

pytestmark = [pytest.mark.browser, pytest.mark.long]

PHONE = {"width": 360, "height": 740}
MOST_KEYS = 6
"""Keys from one's turn to an offer that is accepted."""
ACCEPTING = sorted({*game_names()} - {"split"})
"""Games in which a standing offer can be accepted."""


def until_turn(page: Any, table: Any) -> bool:
    """Wait for the seat's turn; False if the match is over."""
    for _ in range(200):
        if table.locator(".nl-result").count():
            return False
        if is_turn(table):
            page.wait_for_timeout(300)
            return True
        page.wait_for_timeout(100)
    raise AssertionError("nobody's turn")


@pytest.mark.parametrize("game", ACCEPTING)
def test_a_standing_offer_is_accepted_by_few_keys(game: str, chromium: Any, served: Served) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(served.url)
    hand = Keyboard(page)
    table = start_match(hand, game)
    accept = table.locator(".nl-decision .nl-accept:enabled:visible")
    for _ in range(12):
        assert until_turn(page, table)
        if accept.count():
            break
        MOVES[game](hand, table)
        page.wait_for_timeout(500)
    assert page.evaluate("() => document.activeElement.closest('.nl-decision') !== null"), "the bar has the focus"
    keys = ["a"]
    page.keyboard.press("a")
    page.wait_for_timeout(1500)
    if table.get_by_text("needs an argument").or_(table.get_by_text("write an argument")).count():
        for key in ("Tab", "y", "Enter"):
            keys.append(key)
            page.keyboard.press(key)
    assert accepted(table), table.locator(".nl-decision").inner_text()
    assert len(keys) <= MOST_KEYS
    leave_match(Mouse(page))
    page.close()


def accepted(table: Any) -> bool:
    """Return True if the match is over by agreement, or goes on after an accepted trade."""
    over = table.locator(".nl-result").count() > 0
    return over or "accepted: you" in table.inner_text()


def test_keys_do_nothing_while_one_types(chromium: Any, served: Served) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(served.url)
    table = start_match(Mouse(page), "trading")
    assert until_turn(page, table)
    page.keyboard.press("o")
    assert page.evaluate("() => document.activeElement.closest('.nl-compose') !== null")
    words = table.get_by_label("Your message")
    words.focus()
    page.keyboard.type("a or r?")
    assert words.input_value() == "a or r?"
    assert not table.locator(".nl-keys").evaluate("keys => keys.open")
    page.keyboard.press("Tab")
    page.keyboard.press("?")
    assert table.locator(".nl-keys").evaluate("keys => keys.open")
    assert is_turn(table)
    leave_match(Mouse(page))
    page.close()


@pytest.mark.parametrize("game", game_names())
def test_a_phone_shows_turn_offer_and_action_after_each_move(game: str, chromium: Any, served: Served) -> None:
    page = chromium.new_page(viewport=PHONE)
    page.goto(served.url)
    hand = Mouse(page)
    table = start_match(hand, game)
    for _ in range(4):
        if not until_turn(page, table):
            break
        bar = table.locator(".nl-decision")
        box = bar.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= PHONE["height"] + 1, "the bar is in view"
        assert box["height"] <= 0.4 * PHONE["height"], "and leaves room"
        assert "It is your turn." in bar.inner_text() and bar.locator(".nl-offered").inner_text()
        assert bar.get_by_text("You are").is_visible()
        assert bar.locator("button:visible:enabled").count() >= 1
        assert fits_width(page)
        assert accessibility_violations(page, ".nl-page") == []
        MOVES[game](hand, table)
        page.wait_for_timeout(700)
    leave_match(hand)
    page.close()
