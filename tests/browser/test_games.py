"""A person plays each game to its end in JupyterLab; the lobby and the tables on the served page."""

from __future__ import annotations

from typing import Any

import pytest

from negolab.catalog import game_names
from negolab.store import read
from tests.conftest import SLOW, Served
from tests.support.browser import (
    MOVES,
    Keyboard,
    Mouse,
    accessibility_violations,
    check_result,
    choose_game_card,
    fits_width,
    leave_match,
    open_lobby,
    play_to_end,
    run_notebook,
    screenshot,
    start_match,
)

pytestmark = [pytest.mark.browser, pytest.mark.long]

SERIOUS = ("serious", "critical")
IN_VIEW = """(part) => {
  const { top, bottom, left, width, height } = part.getBoundingClientRect();
  const there = document.elementFromPoint(left + width / 2, top + height / 2);
  return top >= 0 && bottom <= innerHeight && part.contains(there);
}"""
"""True if a part is inside the window and nothing covers it."""


@pytest.mark.parametrize("game", game_names() if SLOW else ["agenda", "bargaining"])
def test_a_person_plays_a_game_in_its_notebook(game: str, lab: Served, visit: Any) -> None:
    """By keyboard, which JupyterLab wants for itself; `test_play` plays by mouse."""
    page = visit()
    run_notebook(page, lab.url, f"games/{game}.ipynb")
    hand, start = Keyboard(page), page.get_by_role("button", name="Start the match")
    start.wait_for()
    # As after a click beside it: from here on the keyboard goes its own way.
    start.focus()
    table = start_match(hand, game, choose_game=False)
    assert accessibility_violations(page, ".nl-page", least=SERIOUS) == []
    play_to_end(hand, table, game)
    check_result(table, lab.out, game)
    page.get_by_role("button", name="Another game").click()
    start.wait_for()


def test_the_lobby_is_all_in_view_and_links_no_monitor_without_a_study(served: Served, visit: Any) -> None:
    page = visit(served.url)
    open_lobby(page)
    assert page.get_by_role("navigation", name="Pages").get_by_role("link").all_inner_texts() == ["Play", "Replay"]
    start = page.get_by_role("button", name="Start the match")
    for game in game_names():
        choose_game_card(Mouse(page), game)
        for width, height in ((1280, 800), (1024, 768), (360, 740)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(300)
            for part in (start, page.get_by_label("Preset"), page.get_by_label("Opponent")):
                assert part.evaluate(IN_VIEW), (game, width, part)
            assert fits_width(page)
        assert accessibility_violations(page) == []


def test_the_lobby_shows_what_was_chosen_last_after_a_match(served: Served, visit: Any) -> None:
    page = visit(served.url)
    hand = Keyboard(page)
    open_lobby(page)
    choose_game_card(hand, "bargaining")
    hand.choose(page.get_by_label("Preset"), "Seller knows your value, you a ch")
    hand.choose(page.get_by_label("Opponent"), "Concedes slowly")
    choose_game_card(hand, "split")
    choose_game_card(hand, "bargaining")
    start_match(hand, "bargaining", choose_game=False)
    leave_match(hand)
    chosen = [page.get_by_label(name).locator("option:checked").inner_text() for name in ("Preset", "Opponent")]
    assert chosen == ["Seller knows your value, you a checked range", "Concedes slowly (boulware)"]
    record = read(served.out)[-1]
    assert (record.header.preset, record.header.players["A"]) == ("verified", "boulware")


def test_the_focus_is_seen_and_not_lost(served: Served, visit: Any) -> None:
    page = visit(served.url)
    hand = Keyboard(page)
    open_lobby(page)
    outline = "() => getComputedStyle(document.activeElement).outlineStyle"
    for field in (page.get_by_label("Preset"), page.get_by_role("button", name="More: seat and seed")):
        hand.reach(field)
        assert page.evaluate(outline) == "solid", field
    hand.reach(page.locator(".nl-game input:checked"))
    assert page.evaluate("() => getComputedStyle(document.activeElement.closest('.nl-game')).outlineStyle") == "solid"
    table = start_match(hand, "trading")
    page.wait_for_function("() => document.activeElement.closest('.nl-decision')")
    hand.reach(table.get_by_label("Your message"))
    assert page.evaluate(outline) == "solid"
    leave_match(hand)
    page.wait_for_function("() => document.activeElement.innerText === 'Choose a game'")


def test_a_bad_reply_is_explained_beside_the_box(served: Served, visit: Any) -> None:
    page = visit(served.url)
    table = start_match(Mouse(page), "balloon")
    table.locator(".nl-keys summary").click()
    box = table.get_by_label("Your message")
    box.fill("I would like everything, please <img src=x onerror=alert(1)>")
    table.get_by_role("button", name="Send message").click()
    table.locator(".nl-notice", has_text="ARGUMENT").wait_for()
    assert table.locator("img").count() == 0
    assert box.input_value(), "what was written is still there to be mended"
    screenshot(page, "balloon-rejected")


def test_the_page_serves_nothing_but_itself(served: Served, visit: Any) -> None:
    page = visit(served.url)
    start_match(Mouse(page), "split")
    for path in ("voila/files/play.ipynb", "voila/tree", "api/contents", "api/terminals"):
        assert page.request.get(served.base + path).status in (403, 404, 405), path


def test_what_is_typed_fast_is_sent_whole_and_once(served: Served, visit: Any) -> None:
    page = visit(served.url)
    table = start_match(Mouse(page), "trading")
    words = "The quick brown fox jumps over the lazy dog and runs on."
    table.get_by_label("Your message").press_sequentially(words, delay=5)
    table.get_by_role("button", name="Message only").dblclick()
    page.wait_for_timeout(2500)
    leave_match(Mouse(page))
    said = [e.reply.text for e in read(served.out)[-1].events if hasattr(e, "reply") and words in e.reply.text]
    assert said == [words]


def test_presses_behind_one_that_waits_for_what_was_typed_are_kept(served: Served, visit: Any) -> None:
    page = visit(served.url)
    table = start_match(Mouse(page), "trading")
    table.get_by_label("Your message").evaluate(
        """box => {
          box.value = "Three of these?";
          box.dispatchEvent(new Event("input", { bubbles: true }));
          const [give, , , get] = [...document.querySelectorAll(".nl-stepper button")].filter(b => b.innerText === "+");
          [give, give, give, get].forEach(button => button.click());
        }"""
    )
    table.get_by_label("Give Wheat").evaluate("field => new Promise(done => setTimeout(done, 2500))")
    amounts = [field.input_value() for field in table.locator(".nl-stepper input").all()]
    assert sorted(amounts)[-2:] == ["1", "3"]
    leave_match(Mouse(page))


def test_a_page_that_is_loaded_again_goes_on_with_the_match(served: Served, visit: Any) -> None:
    page = visit(served.url)
    table = start_match(Mouse(page), "trading")
    MOVES["trading"](Mouse(page), table)
    page.wait_for_timeout(1000)
    before = table.inner_text()
    page.goto("about:blank")
    page.goto(served.url)
    page.locator(".nl-bar").wait_for()
    assert page.locator(".nl-page .nl-page").inner_text() == before
    leave_match(Mouse(page))
    assert read(served.out)[-1].end == "ABORTED"


def test_who_goes_to_a_page_that_is_slow_to_come_is_not_called_back(served: Served, visit: Any) -> None:
    page = visit(served.url)
    page.get_by_role("button", name="Start the match").wait_for()
    page.route("**/replay", lambda route: (page.wait_for_timeout(6000), route.continue_()))
    page.get_by_role("link", name="Replay").click()
    page.get_by_role("heading", name="Replay").wait_for()
    assert page.url.partition("?")[0].endswith("/replay")


def test_a_text_that_is_too_long_to_be_sent_says_so_and_keeps_the_page(visit: Any, served: Served) -> None:
    page = visit(served.url)
    table = start_match(Mouse(page), "trading")
    words = table.get_by_label("Your message")
    words.fill("long " * 60_000)
    table.get_by_role("button", name="Message only").click()
    said = words.evaluate("field => field.validationMessage")
    assert said == "This text has 300,000 characters; the maximum is 30,000."
    words.fill("Let us trade.")
    table.get_by_role("button", name="Message only").click()
    table.locator(".nl-past .nl-you", has_text="Let us trade.").first.wait_for()
    leave_match(Mouse(page))
