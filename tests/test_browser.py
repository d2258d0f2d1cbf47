"""A person plays each game on the served page to its end; the page and the record on disk agree."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from negolab_widgets.lobby import title

from negolab.catalog import names
from negolab.store import read
from tests.conftest import Served

pytestmark = pytest.mark.browser

SHOTS = Path(os.environ.get("NEGOLAB_SHOTS", "data/runs/screenshots"))
SEEDS = {"balloon": "5", "bargaining": "5", "split": "5", "trading": "5"}


def choose(page: Any, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(label=value)


def shot(page: Any, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{name}.png"))


def sit_down(page: Any, url: str, game: str) -> None:
    page.goto(url)
    page.get_by_role("button", name="Start the match").wait_for(timeout=60_000)
    choose(page, "Game", title(game))
    page.wait_for_timeout(500)
    page.get_by_label("Seed of the deal").fill(SEEDS[game])
    page.get_by_role("button", name="Start the match").click()
    page.locator(".nl-bar").wait_for(timeout=20_000)


def reply(page: Any) -> None:
    """Press the first option's button, or play the first of a list of options."""
    buttons = page.locator(".nl-options button:visible")
    if buttons.count():
        buttons.first.click()
    else:
        page.get_by_role("button", name="Play the chosen option").click()


def play_to_the_end(page: Any) -> int:
    """Reply until the result stands there; the number of replies."""
    for replies in range(1, 80):
        log = page.locator(".nl-log > div > div").count()
        reply(page)
        page.wait_for_function(
            "n => document.querySelector('.nl-result') || document.querySelectorAll('.nl-log > div > div').length > n",
            arg=log,
            timeout=20_000,
        )
        page.wait_for_timeout(500)  # longer than a double click
        if page.locator(".nl-result").count():
            return replies
    raise AssertionError("80 replies and no end")


@pytest.mark.parametrize("game", names())
def test_a_person_plays_a_game_to_its_end(game: str, served: Served, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1200, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    sit_down(page, served.url, game)
    shot(page, f"{game}-start")
    play_to_the_end(page)
    shot(page, f"{game}-end")
    text = page.locator(".nl-result").inner_text()
    (record,) = [r for r in read(served.out) if r.id[:12] in text]
    (seat,) = (s for s, name in record.header.players.items() if name == "person")
    assert record.header.game == game
    assert f"Your result: {record.game.paid(record.payoffs[seat])}." in text
    assert not errors
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot(page, f"{game}-narrow")
    page.close()


def test_a_bad_reply_is_explained_beside_the_box(served: Served, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1200, "height": 1000})
    sit_down(page, served.url, "balloon")
    page.get_by_label("Your message").fill("I would like everything, please <img src=x onerror=alert(1)>")
    page.get_by_role("button", name="Send message").click()
    page.locator(".nl-bad").first.wait_for(timeout=20_000)
    assert page.locator(".nl-notice").inner_text().strip()
    assert page.locator(".nl-log img").count() == 0
    assert page.get_by_label("Your message").input_value(), "what was written is still there to be mended"
    shot(page, "balloon-rejected")
    page.close()


def test_the_page_serves_nothing_but_itself(served: Served, chromium: Any) -> None:
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    sit_down(page, served.url, "split")
    outside = [url for url in asked if not url.startswith((served.url, "data:", "blob:"))]
    assert outside == []
    for path in ("voila/files/play.ipynb", "voila/tree", "api/contents", "api/terminals"):
        assert page.request.get(served.url + path).status in (403, 404, 405), path
    page.close()


def test_what_is_typed_fast_is_sent_whole_and_once(served: Served, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1200, "height": 1000})
    sit_down(page, served.url, "trading")
    words = "The quick brown fox jumps over the lazy dog and runs on."
    page.get_by_label("Your message").press_sequentially(words, delay=5)
    page.get_by_role("button", name="Send message").dblclick()
    page.wait_for_function("() => document.querySelectorAll('.nl-log .nl-table').length > 1", timeout=20_000)
    page.wait_for_timeout(1000)
    assert page.locator(".nl-you .nl-said").all_inner_texts() == [words]
    page.goto("about:blank")
    page.close()


def test_a_closed_page_keeps_what_was_played(served: Served, chromium: Any) -> None:
    before = len(read(served.out))
    page = chromium.new_page()
    sit_down(page, served.url, "trading")
    reply(page)
    page.wait_for_timeout(1000)
    page.goto("about:blank")
    for _ in range(50):
        if len(read(served.out)) > before:
            break
        page.wait_for_timeout(200)
    assert read(served.out)[-1].end == "ABORTED"
    page.close()
