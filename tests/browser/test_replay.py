"""The replay in a real browser: the cockpit, the list, branching a published episode, and what a narrow page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from negolab_widgets.replay.file import replay_page
from negolab_widgets.replay.steps import record_steps

from negolab.analysis.replies import proposals
from negolab.store import read
from tests.conftest import ROOT, Served, launching
from tests.formats.test_transcript import DEAL, interactions
from tests.formats.test_transcript import folder as episode
from tests.support.browser import (
    Keyboard,
    accessibility_violations,
    branch_replay,
    fits_phone,
    fits_width,
    run_notebook,
    screenshot,
)
from tests.support.command import negolab
from tests.widgets.test_replay_file import held

GOLDEN = ROOT / "data" / "replays"

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def replaying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The replay page on two published episodes, one of which crashed."""
    source, out = tmp_path_factory.mktemp("published"), tmp_path_factory.mktemp("branches")
    episode(source / "deal", interactions(*DEAL))
    episode(source / "other", interactions(*DEAL[:2]))
    episode(source / "crashed", None)
    yield from launching(out, command="page", page="replay", source=source)


def test_a_published_episode_is_branched_at_its_third_message(replaying: Served, visit: Any) -> None:
    page = visit()
    branch_replay(page, replaying.url)
    assert page.get_by_role("alert").filter(has_text="crashed").count() == 1
    assert page.locator(".nl-half").count() == 2, "two branches side by side"
    panel = page.locator(".nl-panel:has(.nl-branches)").first.bounding_box()
    assert panel["height"] <= 900, "on one screen"
    assert accessibility_violations(page) == []
    screenshot(page, "branches")
    records = read(replaying.out)
    assert [record.header.notes.get("forked_from") for record in records] == [None, records[0].id, records[0].id]
    assert all(record.end for record in records)
    assert fits_phone(page)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The replay page on the golden records, one of each game."""
    yield from launching(tmp_path_factory.mktemp("out"), command="page", page="replay", source=GOLDEN)


def open_record(visit: Any, url: str, game: str) -> Any:
    """Open a record of the list by its row."""
    page = visit(url)
    page.get_by_role("button", name="Show the list").click()
    page.locator(".nl-records tbody tr", has_text=game).first.click()
    page.locator(".nl-replay-head", has_text=game).wait_for()
    count = len(record_steps(read(GOLDEN / f"{game}.jsonl")[0]))
    page.locator(f'.nl-steps input[max="{count}"]').wait_for()
    return page


def step_number(page: Any) -> int:
    return int(page.get_by_role("slider").input_value())


def go_to(page: Any, number: int) -> None:
    page.locator(f'.nl-move[data-step="{number}"]').click()
    page.wait_for_function(f"() => document.querySelector('.nl-cockpit input').value === '{number}'")


def drawn_points(page: Any, *, strong: bool) -> list[tuple[int, float, float]]:
    """Step, payoff of A and payoff of B of the points that are drawn strong, or of those to come."""
    rows = page.evaluate(
        """(strong) => [...document.querySelectorAll('.nl-plane .nl-point')]
          .filter((one) => one.classList.contains('nl-later') !== strong)
          .map(({ dataset: { step, a, b } }) => [Number(step), Number(a), Number(b)])""",
        strong,
    )
    return sorted((step, a, b) for step, a, b in rows)


def smallest_text(page: Any) -> float:
    """Pixels of the smallest letters of the cockpit; a drawing is scaled from its own units."""
    return float(
        page.evaluate(
            """() => Math.min(...[...document.querySelectorAll('.nl-cockpit *')].filter((one) => one.checkVisibility()
              && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())).map((one) => {
                const drawing = one.closest('svg');
                const scale = drawing ? drawing.clientWidth / drawing.viewBox.baseVal.width : 1;
                return parseFloat(getComputedStyle(one).fontSize) * scale;
              }))"""
        )
    )


@pytest.mark.parametrize("game", ["balloon", "bargaining", "agenda"])
def test_the_cockpits_plane_follows_the_step(golden: Served, visit: Any, game: str) -> None:
    record = read(GOLDEN / f"{game}.jsonl")[0]
    steps = record_steps(record)
    page = open_record(visit, golden.url, game)
    for number in (1, 3, 4, len(steps)):
        go_to(page, number)
        made = [
            (next(n for n, step in enumerate(steps, 1) if step.at > proposal.at), proposal.a, proposal.b)
            for proposal in proposals(record)
        ]
        assert drawn_points(page, strong=True) == [one for one in made if one[0] <= number]
        assert drawn_points(page, strong=False) == [one for one in made if one[0] > number]
    ring, deal = page.locator(".nl-plane .nl-now").bounding_box(), page.locator("[data-mark=deal] path").bounding_box()
    assert ring["x"] <= deal["x"] + deal["width"] / 2 <= ring["x"] + ring["width"], "at the end, now is the deal"
    paid = page.locator("[data-mark=deal]").evaluate("({ dataset }) => [Number(dataset.a), Number(dataset.b)]")
    assert paid == list(record.payoffs.values())
    assert accessibility_violations(page) == []


def test_moves_and_points_are_linked_by_hover_and_click(golden: Served, visit: Any) -> None:
    page = open_record(visit, golden.url, "bargaining")
    page.locator('.nl-move[data-step="3"]').hover()
    assert page.locator('.nl-plane .nl-point.nl-linked[data-step="3"]').count() == 1
    assert "3. Buyer proposes $45.00" in page.locator(".nl-readout").inner_text()
    page.locator('.nl-plane .nl-point[data-step="5"]').hover()
    assert page.locator(".nl-move.nl-linked").get_attribute("data-step") == "5"
    page.locator('.nl-plane .nl-point[data-step="5"]').click()
    page.locator(".nl-moment h2", has_text="Buyer proposes $55.00").wait_for()
    assert step_number(page) == 5


def test_one_screen_holds_the_cockpit(golden: Served, visit: Any) -> None:
    page = open_record(visit, golden.url, "balloon")
    page.keyboard.press("End")
    page.locator(".nl-moment h2", has_text="The end").wait_for()
    for part in (".nl-replay-head", ".nl-steps", ".nl-moment", ".nl-moves", ".nl-plane", ".nl-plane-strip"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 900, part
    plane = page.locator(".nl-plane").bounding_box()
    assert abs(plane["width"] - plane["height"]) < 1, "the plane is square"
    for width in (360, 520, 700, 900, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        assert smallest_text(page) >= 12 and fits_width(page), width


def test_keys_step_through_a_match_but_not_while_one_types(golden: Served, visit: Any) -> None:
    page = open_record(visit, golden.url, "bargaining")
    count = int(page.get_by_role("slider").get_attribute("max"))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert step_number(page) == 3
    page.keyboard.press("End")
    assert step_number(page) == count
    page.keyboard.press("Home")
    assert step_number(page) == 1
    page.keyboard.press("Space")
    page.wait_for_function("() => Number(document.querySelector('.nl-cockpit input').value) >= 2")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play", exact=True).wait_for()
    page.get_by_role("button", name="Show the list").click()
    find = page.get_by_label("Find")
    find.fill("a b")
    before = step_number(page)
    for key in ("ArrowLeft", "Home", "Space", "End"):
        page.keyboard.press(key)
    assert step_number(page) == before and find.input_value().count(" ") == 2


def test_a_match_is_scrubbed_by_the_keyboard_alone_and_seen_as_a_seat(replaying: Served, visit: Any) -> None:
    page = visit(replaying.url)
    slider = page.get_by_role("slider")
    slider.wait_for()
    hand = Keyboard(page)
    hand.slide(slider, 2)
    page.locator(".nl-moment h2", has_text="B is refused").wait_for()
    hand.press(page.get_by_role("button", name="Last", exact=True))
    page.locator(".nl-moment h2", has_text="The end: agreed").wait_for()
    hand.choose(page.get_by_label("Seen by"), "seat B alone")
    page.get_by_text(", as player B saw it").wait_for()
    assert page.get_by_role("heading", name="What if").count() == 0
    # What seat A sees leaves the page a moment after the title has changed.
    page.wait_for_function("() => ![...document.querySelectorAll('.nl-view-a')].some((one) => one.offsetParent)")
    assert page.locator(".nl-plane").count() == 0, "the plane is the experimenter's"
    assert accessibility_violations(page) == []


def test_a_list_is_sorted_filtered_and_walked_through_by_the_keyboard(golden: Served, visit: Any) -> None:
    page = visit(golden.url)
    hand = Keyboard(page)
    page.get_by_role("button", name="Show the list").wait_for()
    hand.press(page.get_by_role("button", name="Show the list"))
    rows = page.locator(".nl-records tbody tr")
    rows.nth(4).wait_for()
    hand.press(page.locator(".nl-records thead button", has_text="replies"))
    page.locator("th[aria-sort=ascending]").wait_for()
    replies = [int(row.locator("td").nth(7).inner_text()) for row in rows.all()]
    assert replies == sorted(replies)
    one = read(GOLDEN / "split.jsonl")[0]
    hand.fill(page.get_by_label("Find"), one.id[:9])
    page.get_by_text("1 of 5 records").wait_for()
    assert accessibility_violations(page) == []
    hand.press(rows.first.locator("th button").first)
    page.locator(".nl-replay-head", has_text="split").wait_for()
    page.wait_for_function("() => document.activeElement.matches('h1')")
    page.keyboard.press("ArrowRight")
    assert step_number(page) == 2, "the focus is on the match that was opened"


def test_the_tour_runs_and_its_replay_moves(lab: Served, visit: Any) -> None:
    page = visit()
    run_notebook(page, lab.url, "tour.ipynb")
    slider = page.locator(".nl-replay").get_by_role("slider").first
    slider.wait_for()
    before = slider.input_value()
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    assert slider.input_value() != before
    card = page.locator(".jupyter-widgets.nl-page:has(.nl-card)").first
    drawn = card.locator(".nl-explore svg").inner_html()
    card.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("drawn => document.querySelector('.nl-explore svg').innerHTML != drawn", arg=drawn)
    assert "stock=(11,)" in card.inner_text()
    assert page.locator(".nl-kept:visible").count() == 0, "what is kept is for notebooks without a kernel"
    cells = page.locator(".jp-Cell").count()
    page.get_by_role("button", name="Next", exact=True).first.focus()
    for key in ("x", "d", "d", "a", "m"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert page.locator(".jp-Cell").count() == cells, "JupyterLab's own keys do not act while our controls are used"
    assert page.locator(".js-plotly-plot").count() > 0
    said = page.locator("[data-mime-type='application/vnd.jupyter.stderr']").all_inner_texts()
    others = [line for text in said for line in text.splitlines() if line.strip() and "part/s" not in line]
    assert not others, "only the progress of a slow machine"
    assert accessibility_violations(page, ".nl-page", least=("serious", "critical")) == []


def test_a_file_is_stepped_through_from_disk_without_a_network(visit: Any, tmp_path: Path) -> None:
    file = tmp_path / "matches.html"
    records = [read(GOLDEN / f"{game}.jsonl")[0] for game in ("bargaining", "agenda")]
    file.write_text(replay_page(records), "utf-8")
    page = visit(file.as_uri(), offline=True)
    count = page.locator(".nl-steps-count")
    for record in records:
        steps = len(record_steps(record))
        page.wait_for_function(
            "text => document.querySelector('.nl-steps-count').textContent === text", arg=f"1 of {steps}"
        )
        page.keyboard.press("ArrowRight")
        assert count.inner_text() == f"2 of {steps}"
        page.keyboard.press("End")
        assert count.inner_text() == f"{steps} of {steps}"
        assert page.locator(".nl-seats-place .nl-seat").count() == 2
        assert accessibility_violations(page) == []
        turn = page.locator("[data-turn='1']")
        if turn.is_enabled():
            turn.click()
    assert fits_phone(page)


def test_a_number_of_a_tournaments_report_opens_the_match_that_it_links(visit: Any, tmp_path: Path) -> None:
    command = ["tournament", "bargaining", "--players", "linear,boulware,conceder", "--n", "10", "--out", str(tmp_path)]
    negolab(*command).check_returncode()
    negolab("report", str(tmp_path)).check_returncode()
    matches = held((tmp_path / "report-matches.html").read_text())["matches"]
    page = visit((tmp_path / "report.html").as_uri(), {"width": 360, "height": 800})
    assert fits_width(page) and accessibility_violations(page) == []
    numbers = page.get_by_role("group", name="Payoffs against each opponent: bargaining").get_by_role("link")
    for at in (0, 5):
        id = numbers.nth(at).get_attribute("href").partition("#")[2]
        numbers.nth(at).click()
        page.wait_for_selector(".nl-cockpit-place *")
        assert matches[page.evaluate("document.getElementById('match').selectedIndex")]["id"] == id
        page.go_back()
