"""The replay in a real browser: scrubbing, branching a published episode, and what a narrow page shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from negolab.store import read
from tests.conftest import Served, launching
from tests.formats.test_transcript import DEAL, interactions
from tests.formats.test_transcript import folder as episode
from tests.support.browser import (
    Keyboard,
    accessibility_violations,
    branch_replay,
    fits_width,
    run_notebook,
    screenshot,
)

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def replaying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The replay page on two published episodes, one of which crashed."""
    source, out = tmp_path_factory.mktemp("published"), tmp_path_factory.mktemp("branches")
    episode(source / "deal", interactions(*DEAL))
    episode(source / "other", interactions(*DEAL[:2]))
    episode(source / "crashed", None)
    yield from launching(out, command="page", page="replay", source=source)


def test_a_published_episode_is_branched_at_its_third_message(replaying: Served, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    branch_replay(page, replaying.url)
    assert page.get_by_role("alert").filter(has_text="crashed").count() == 1
    assert page.locator(".nl-half").count() == 2, "two branches side by side"
    assert accessibility_violations(page) == []
    screenshot(page, "branches")
    records = read(replaying.out)
    assert [record.header.notes.get("forked_from") for record in records] == [None, records[0].id, records[0].id]
    assert all(record.end for record in records)
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_timeout(400)
    assert fits_width(page)
    assert not errors
    page.close()


def test_a_match_is_scrubbed_by_the_keyboard_alone_and_seen_as_a_seat(replaying: Served, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(replaying.url)
    slider = page.get_by_role("slider")
    slider.wait_for(timeout=60_000)
    hand = Keyboard(page)
    hand.slide(slider, 3)
    page.locator(".nl-card h2", has_text="B replies").wait_for(timeout=60_000)
    hand.press(page.get_by_role("button", name="Last"))
    page.locator(".nl-card h2", has_text="It ended in agreement.").wait_for(timeout=60_000)
    hand.choose(page.get_by_label("Seen by"), "seat B alone")
    page.get_by_text("balloon, as seat B saw it").wait_for(timeout=60_000)
    assert page.get_by_role("heading", name="What if").count() == 0
    # What seat A sees leaves the page a moment after the title has changed.
    page.wait_for_function("() => ![...document.querySelectorAll('.nl-view-a')].some((one) => one.offsetParent)")
    assert accessibility_violations(page) == []
    page.close()


def test_the_tour_runs_and_its_replay_moves(lab: Served, chromium: Any) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    run_notebook(page, lab.url, "tour.ipynb")
    slider = page.get_by_role("slider").first
    slider.wait_for(timeout=90_000)
    before = slider.input_value()
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    assert slider.input_value() != before
    cells = page.locator(".jp-Cell").count()
    page.get_by_role("button", name="Next", exact=True).first.focus()
    for key in ("x", "d", "d", "a", "m"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert page.locator(".jp-Cell").count() == cells, "JupyterLab's own keys do not act while our controls are used"
    assert page.locator(".js-plotly-plot").count() > 0
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert accessibility_violations(page, ".nl-page", least=("serious", "critical")) == []
    assert not errors
    page.close()
