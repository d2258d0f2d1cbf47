"""The page of a sweep in a browser: choose a figure, look at a cell's records, and download files."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from negolab_widgets.page import SWEEP

from negolab.analysis import tables
from negolab.sweeps.folder import SweepFolder, read_folder_plan
from tests.conftest import ROOT, Served, showing
from tests.support.browser import (
    Keyboard,
    Mouse,
    accessibility_violations,
    click_mark,
    fits_phone,
    fits_width,
    run_notebook,
    screenshot,
)
from tests.support.command import negolab
from tests.support.sweeps import finish_cells, finished_sweep

pytestmark = [pytest.mark.browser, pytest.mark.long]

THERE = 20
"""Cells of 24 that are finished when the page opens."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SweepFolder]:
    """A half-finished sweep, which a notebook opens by default."""
    found = finished_sweep(tmp_path_factory.mktemp("sweep"), count=THERE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWEEP, str(found.path))
        yield found


@pytest.fixture(scope="module")
def shown(run: SweepFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the sweep with `negolab sweep show`."""
    out = tmp_path_factory.mktemp("branches")
    yield from showing([sys.executable, "-m", "negolab", "sweep", "show", str(run.path), f"--out={out}"], out, cwd=ROOT)


def figure_says(page: Any, words: str) -> None:
    page.locator(".nl-chart .js-plotly-plot text", has_text=words).first.wait_for()


def said(option: Any) -> str:
    """An option's text, in which ipywidgets writes non-breaking spaces."""
    return str(option.inner_text()).replace("\xa0", " ")


def taken(page: Any, button: str) -> tuple[str, bytes]:
    """Press a download button; return the file's name and content."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_a_sweep_is_looked_through_while_it_runs(run: SweepFolder, shown: Served, visit: Any) -> None:
    page = visit(shown.url)
    hand = Mouse(page)
    page.get_by_text(f"60 matches from {THERE} of 24 cells have been read").wait_for()
    figure_says(page, "mean ")

    hand.choose(page.get_by_label("Outcome"), "result: payoff of B (dollars)")
    figure_says(page, "mean payoff of B (dollars)")
    hand.choose(page.get_by_label("Panels"), "how")
    figure_says(page, "boulware")
    hand.press(page.get_by_role("button", name="Choose matches"))
    page.get_by_label("boulware", exact=True).first.click()
    page.get_by_text("Without how boulware.").wait_for()
    page.locator(".nl-results tbody tr").nth(5).wait_for()
    page.wait_for_function("() => document.querySelectorAll('.nl-results tbody tr').length === 6")

    name, svg = taken(page, "Figure as SVG")
    assert name == "out-payoff_b-beta-param_rounds-how.svg"
    words = " ".join("".join(part.itertext()) for part in ElementTree.fromstring(svg).iter())
    assert "mean payoff of B (dollars)" in words and "linear" in words and "boulware" not in words
    name, png = taken(page, "Figure as PNG")
    assert name.endswith(".png") and png.startswith(b"\x89PNG") and len(png) > 5000

    _, csv = taken(page, "Matches as CSV")
    found = pd.read_csv(io.BytesIO(csv))
    played = tables.with_parameters(tables.matches(run.path), run.path)
    expected = played[played["how"] == "linear"]
    keys = ["cell", "match", "payoff_b"]
    assert found[keys].to_numpy().tolist() == expected[keys].to_numpy().tolist()
    _, packed = taken(page, "Matches as Parquet")
    assert set(pd.read_parquet(io.BytesIO(packed))["match"]) == set(expected["match"])
    page.get_by_text("Saved out-matches.parquet.").wait_for()

    rest = list(read_folder_plan(run.path).cells())[THERE:]
    with ThreadPoolExecutor(1) as aside:  # playwright's own event loop runs here
        aside.submit(finish_cells, run, rest).result()
    page.get_by_text("72 matches from 24 of 24 cells have been read").wait_for()
    page.get_by_text("36 matches.").wait_for()
    assert said(page.get_by_label("Outcome").locator("option:checked")) == "result: payoff of B (dollars)"
    assert not page.get_by_label("boulware", exact=True).first.is_checked()
    assert accessibility_violations(page) == []


def test_a_cell_is_opened_in_replay_beside_its_results(shown: Served, visit: Any) -> None:
    page = visit(shown.url)
    figure_says(page, "mean ")
    page.get_by_label("Find").first.fill("beta=5 rounds=8 how=boulware repeat=0")
    option = page.get_by_label("Cells").locator("option")
    page.wait_for_function("() => [...document.querySelectorAll('select[size] option')].length === 1")
    assert said(option) == "beta=5 rounds=8 how=boulware repeat=0: done"
    page.get_by_role("button", name="Replay its records").click()
    page.get_by_role("heading", name="Replay").wait_for()
    page.get_by_role("button", name="Show the list").click()
    rows = page.locator(".nl-records tbody tr")
    rows.nth(2).wait_for()
    assert "time:beta=5.0" in said(rows.first) and "boulware" in said(rows.first)


def test_two_clicks_lead_from_a_heat_map_to_the_step_that_decided_a_match(shown: Served, visit: Any) -> None:
    page = visit(shown.url)
    figure_says(page, "mean ")
    page.get_by_label("Figure", exact=True).select_option(label="heat map of means")
    page.locator(".nl-chart .hm").first.wait_for()
    click_mark(page, page.locator(".nl-chart .hm").first, 1 / 6, 1 / 4)
    page.get_by_role("heading", name="Matches of beta 0.2, rounds 4").wait_for()
    figure_says(page, "Press a point to open its match")
    click_mark(page, page.locator(".nl-chart .scatterlayer .point").first)
    page.get_by_role("heading", name="at the step that decided it").wait_for()
    page.wait_for_function("() => document.activeElement.matches('.nl-opened')")
    at = int(page.get_by_role("slider").input_value())
    assert at > 1 and re.match("(Seller|Buyer) ", said(page.locator(".nl-move.nl-current .nl-move-words")))
    assert accessibility_violations(page) == []
    page.get_by_role("button", name="All cells").click()
    page.locator(".nl-chart .hm").first.wait_for()
    assert page.get_by_role("slider").count() == 0


def test_the_keyboard_leads_from_the_board_to_a_match(shown: Served, visit: Any) -> None:
    page = visit(shown.url)
    figure_says(page, "mean ")
    hand = Keyboard(page)
    hand.press(page.get_by_role("button", name="2 done: beta 0.2, rounds 8, how linear"))
    page.get_by_role("heading", name="Matches of beta 0.2, rounds 8, how linear").wait_for()
    page.wait_for_function("() => document.activeElement.matches('.nl-group')")
    hand.press(page.get_by_role("button", name="Open match").first)
    page.get_by_role("heading", name="at the step that decided it").wait_for()
    hand.press(page.get_by_role("button", name="All cells"))
    hand.press(page.get_by_role("button", name="the matches of beta 1, rounds 4"))
    page.get_by_role("heading", name="Matches of beta 1, rounds 4").wait_for()


def test_everything_is_reached_by_the_keyboard_and_fits_a_phone(shown: Served, visit: Any) -> None:
    page = visit(shown.url)
    figure_says(page, "mean ")
    hand = Keyboard(page)
    hand.choose(page.get_by_label("Figure", exact=True), "heat map")
    page.locator(".nl-chart .hm").first.wait_for()
    page.get_by_label("Y axis").wait_for()
    hand.press(page.get_by_role("button", name="Choose matches"))
    hand.press(page.get_by_label("0.2", exact=True).first)
    page.get_by_text("Without beta 0.2.").wait_for()
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function(
        "() => [...document.querySelectorAll('.nl-chart .main-svg')].every((one) => one.clientWidth < 360)",
    )
    page.wait_for_timeout(500)
    screenshot(page, "results-360")
    assert fits_width(page) and accessibility_violations(page) == []


def test_the_notebook_shows_the_same_in_jupyterlab(run: SweepFolder, lab: Served, visit: Any) -> None:
    page = visit()
    run_notebook(page, lab.url, "dashboards/results.ipynb")
    page.get_by_text(re.compile(r"\d+ matches from \d+ of 24 cells have been read")).wait_for()
    figure_says(page, "mean ")
    name, svg = taken(page, "Figure as SVG")
    assert name.startswith("out-surplus_share") and b"mean share of the joint surplus" in svg


def test_a_tournament_is_shown_while_it_is_played(tmp_path: Path, visit: Any) -> None:
    command = [sys.executable, "-m", "negolab", "tournament"]
    play = ["trading", "--players", "random-legal,tit-for-tat,fair-split", "--out", str(tmp_path / "run")]
    negolab("tournament", *play, "--n", "10").check_returncode()
    showing_it = contextmanager(showing)([*command, "show", str(tmp_path / "run")], tmp_path / "branches", cwd=ROOT)
    with showing_it as shown:
        page = visit(shown.url)
        page.get_by_text("60 of 60 matches").wait_for()
        page.get_by_role("group", name="Payoffs against each opponent: trading").wait_for()
        assert accessibility_violations(page) == []
        negolab("tournament", *play, "--n", "20").check_returncode()
        page.get_by_text("120 of 120 matches").wait_for()
        assert fits_phone(page)
        screenshot(page, "tournament-360")
