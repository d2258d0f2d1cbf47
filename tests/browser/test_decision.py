"""The bar that stays in view: keys, focus, and a phone's screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from negolab.catalog import game_names
from tests.browser.test_slow_line import entries_page
from tests.conftest import Served
from tests.support.browser import (
    MOVES,
    Keyboard,
    Mouse,
    accessibility_violations,
    enter,
    fits_width,
    is_turn,
    leave_match,
    open_sheet,
    start_match,
)
from tests.support.entries import OFFERED
from tests.support.gate_server import running_gate

pytestmark = [pytest.mark.browser, pytest.mark.long]

PHONE, SMALL, WIDE = ({"width": 360, "height": 740}, {"width": 1024, "height": 768}, {"width": 1280, "height": 800})
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
def test_a_standing_offer_is_accepted_by_few_keys(game: str, visit: Any, served: Served) -> None:
    page = visit(served.url)
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
    if table.get_by_text("needs an argument").or_(table.get_by_text("Write an argument")).count():
        for key in ("Tab", "y", "Enter"):
            keys.append(key)
            page.keyboard.press(key)
    assert accepted(table), table.locator(".nl-decision").inner_text()
    assert len(keys) <= MOST_KEYS
    leave_match(Mouse(page))


def accepted(table: Any) -> bool:
    """Return True if the match is over by agreement, or goes on after an accepted trade."""
    over = table.locator(".nl-result").count() > 0
    return over or "accepted: you" in table.inner_text()


def test_keys_do_nothing_while_one_types(visit: Any, served: Served) -> None:
    page = visit(served.url)
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


IN_WINDOW = """part => {
  const { left, right, top, bottom } = part.getBoundingClientRect();
  const inside = left >= -1 && top >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
  const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return inside && (part.contains(above) || above.contains(part));
}"""


def come_to_rest_in_window(table: Any, *needed: str) -> None:
    """Wait until all parts that match, at least one of each kind, are inside the window and uncovered."""
    for _ in range(50):
        found = {kind: table.locator(kind).evaluate_all(f"parts => parts.map({IN_WINDOW})") for kind in needed}
        if all(found.values()) and all(map(all, found.values())):
            return
        table.page.wait_for_timeout(100)
    raise AssertionError(found)


def check_window(hand: Mouse, table: Any) -> None:
    """Check that what a move needs is inside the window and uncovered: on a phone, in the sheet of an own offer."""
    page = table.page
    come_to_rest_in_window(table, ".nl-case", ":is(.nl-actions button, .nl-send, .nl-options button):visible")
    if page.viewport_size == PHONE:
        open_sheet(hand, table)
        come_to_rest_in_window(table, ".nl-composer", ":is(.nl-send, .nl-options button):visible")
        hand.press(table.locator(".nl-back"))
    else:
        assert page.evaluate("() => document.scrollingElement.scrollHeight <= innerHeight + 1"), "no scrolling"
    assert fits_width(page)


WORDS = ".nl-composer textarea:visible"


@pytest.mark.parametrize("game", game_names())
def test_what_a_move_needs_is_in_the_window_and_uncovered(game: str, visit: Any, served: Served) -> None:
    page = visit(served.url)
    hand = Mouse(page)
    table = start_match(hand, game)
    for _ in range(3):
        if not until_turn(page, table):
            break
        assert "It is your turn." in table.locator(".nl-case").inner_text()
        for size in PHONE, SMALL, WIDE:
            page.set_viewport_size(size)
            check_window(hand, table)
            if size != PHONE and table.locator(WORDS).count():
                come_to_rest_in_window(table, WORDS)
        assert accessibility_violations(page, ".nl-page") == []
        before = table.inner_text()
        MOVES[game](hand, table)
        page.wait_for_function("([table, before]) => table.innerText !== before", arg=[table.element_handle(), before])
        page.wait_for_timeout(700)
    leave_match(hand)


WHOLE = "column => [...column.children].slice(0, -1).every((part) => part.scrollHeight <= part.clientHeight + 1)"
SCROLLS_INSIDE = "list => list.clientHeight >= 96 && list.scrollHeight > list.clientHeight"


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a page with tables of many sizes, and of games of a user's own; where it keeps what it is sent."""
    folder = tmp_path_factory.mktemp("entries")
    with running_gate("pool_size=2", page=entries_page(folder), warm=False) as gate:
        yield gate.url, folder


def try_table(visit: Any, url: str, kind: str) -> Any:
    """Open the page of a kind of entry."""
    page = visit()
    enter(page, url, kind.replace(" ", "-"))
    page.get_by_role("button", name=f"Try {kind}", exact=True).click()
    return page


@pytest.mark.parametrize("kind", [*OFFERED, "hands", "job"])
def test_what_a_move_needs_is_in_the_window_however_much_there_is(
    kind: str, visit: Any, entries: tuple[str, Path]
) -> None:
    page = try_table(visit, entries[0], kind)
    table = page.locator(".nl-page .nl-page")
    for size in WIDE, SMALL, PHONE:
        page.set_viewport_size(size)
        check_window(Mouse(page), table)
        if "items" in kind and size != PHONE:
            assert table.locator(".nl-checklist .nl-wide").evaluate(SCROLLS_INSIDE)
            assert table.locator(".nl-filling").evaluate(WHOLE), "nothing lies upon what the set sums to"
    assert accessibility_violations(page, ".nl-page") == []


KEYS = {
    "hands": (["o", "Tab", "Enter"], "paper"),
    "job": (["o", "ArrowUp", "ArrowUp", "Tab", "Tab", "Tab", "ArrowUp", "Enter"], "$2, 1 days off"),
    "picnic": (["o", "Space", "Tab", "Tab", "Space", "Enter"], "take bread, cherries"),
}
"""What is pressed at the table of a game of a user's own, from the bar on, and what is said by it."""


@pytest.mark.parametrize("kind", KEYS)
def test_own_games_are_played_by_the_keyboard_in_inputs_without_a_line_for_them(
    kind: str, visit: Any, entries: tuple[str, Path]
) -> None:
    (url, folder), (keys, meant) = entries, KEYS[kind]
    page = try_table(visit, url, kind)
    page.locator(".nl-decision").wait_for()
    page.wait_for_function("document.activeElement.closest('.nl-decision')")
    assert accessibility_violations(page) == []
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(1000)
    assert json.loads((folder / f"{kind}.jsonl").read_text()) == meant
