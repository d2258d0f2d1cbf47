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
    open_sheet,
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


IN_WINDOW = """part => {
  const { left, right, top, bottom } = part.getBoundingClientRect();
  const inside = left >= -1 && top >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
  const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return inside && (part.contains(above) || above.contains(part));
}"""


def come_to_rest_in_window(table: Any, *needed: str) -> None:
    """Wait until all parts that match, at least one of each kind, are inside the window and uncovered."""
    for _ in range(100):
        kinds = [table.locator(kind).all() for kind in needed]
        if all(kinds) and all(part.evaluate(IN_WINDOW) for parts in kinds for part in parts):
            return
        table.page.wait_for_timeout(100)
    raise AssertionError([part.inner_text()[:50] for parts in kinds for part in parts if not part.evaluate(IN_WINDOW)])


SIZES = {"1280": {"width": 1280, "height": 800}, "1024": {"width": 1024, "height": 768}, "360": PHONE}


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("game", game_names())
def test_what_a_move_needs_is_in_the_window_and_uncovered(game: str, width: str, chromium: Any, served: Served) -> None:
    page = chromium.new_page(viewport=SIZES[width])
    page.goto(served.url)
    hand = Mouse(page)
    table = start_match(hand, game)
    for _ in range(3):
        if not until_turn(page, table):
            break
        assert "It is your turn." in table.locator(".nl-case").inner_text()
        come_to_rest_in_window(table, ".nl-case", ".nl-actions button:visible")
        if width == "360":
            open_sheet(hand, table)
            come_to_rest_in_window(table, ".nl-composer", ".nl-send:visible")
            hand.press(table.locator(".nl-back"))
        else:
            assert page.evaluate("() => document.scrollingElement.scrollHeight <= innerHeight + 1"), "no scrolling"
        assert fits_width(page)
        assert accessibility_violations(page, ".nl-page") == []
        before = table.inner_text()
        MOVES[game](hand, table)
        page.wait_for_function("([table, before]) => table.innerText !== before", arg=[table.element_handle(), before])
        page.wait_for_timeout(700)
    leave_match(hand)
    page.close()
