"""`python -m tests.support.screenshots [FOLDER [PART ...]]`: pictures of every page, 360 and 1280 px wide, light and
dark, each checked with axe, for overflow and for labels on each other. What is found is printed beside the picture's
name. Default folder: `data/runs/screenshots`, which git ignores. Parts: see `PARTS`; all if none is named."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from negolab.catalog import game_names
from negolab.formats import transcript
from negolab.store import read
from tests.conftest import ROOT, Served, launch_chromium, launching, serving, showing
from tests.support import browser, study_visit
from tests.support.browser import (
    MOVES,
    Mouse,
    accessibility_violations,
    branch_replay,
    choose_game_card,
    click_mark,
    fill_seed,
    fits_width,
    leave_match,
    open_lobby,
    overlapping_labels,
    play_to_end,
    screenshot,
    start_match,
)
from tests.support.command import NEGOLAB, negolab
from tests.support.study_server import StudyServer, serving_study
from tests.support.sweeps import finished_sweep

WIDTHS = {"1280": {"width": 1280, "height": 900}, "360": {"width": 360, "height": 740}}
MIDDLE = {"split": 5}
"""The move that is the middle of a game, where it is not the second."""


def pictures(page: Any, name: str) -> None:
    """Save the page as it is now at both widths, and a phone's window as it stands; print what is wrong with it."""
    for width, size in WIDTHS.items():
        page.set_viewport_size(size)
        page.wait_for_timeout(500)
        if width == "360" and page.locator(".nl-decision").count():
            page.screenshot(path=str(browser.SHOTS / f"{name}-{width}-window.png"))
        screenshot(page, f"{name}-{width}")
        faults = [*accessibility_violations(page), *overlapping_labels(page)]
        for fault in faults if fits_width(page) else [*faults, "wider than the window"]:
            print(f"{name}-{width}: {fault}", flush=True)
    page.set_viewport_size(WIDTHS["1280"])
    page.wait_for_timeout(500)


# The lobby and its tables


def serve_lobby(folder: Path) -> Any:
    negolab("new", "game", "ultimatum", cwd=folder).check_returncode()
    return serving(NEGOLAB, folder / "out", f"--module={folder / 'ultimatum.py'}")


def show_lobby(page: Any, scheme: str, served: Served) -> None:
    """Show each game in the lobby, an error beside its field, and every table from start to end."""
    page.goto(served.url)
    open_lobby(page)
    for game in game_names():
        choose_game_card(Mouse(page), game)
        page.wait_for_timeout(400)
        pictures(page, f"lobby-{game}-{scheme}")
    fill_seed(Mouse(page), "twelve")
    page.get_by_role("button", name="Start the match").click()
    page.get_by_text("The seed must be a whole number").wait_for()
    pictures(page, f"lobby-error-{scheme}")
    for game in game_names():
        show_table(page, scheme, game)
    show_own_table(page, scheme)


def show_table(page: Any, scheme: str, game: str) -> None:
    """Play one game from its start to its end."""
    hand = Mouse(page)
    table = start_match(hand, game)

    def each(move: int) -> None:
        if move in (0, MIDDLE.get(game, 1)):
            page.wait_for_timeout(500)
            pictures(page, f"{game}-{'middle' if move else 'start'}-{scheme}")

    play_to_end(hand, table, game, each)
    page.wait_for_timeout(800)
    pictures(page, f"{game}-end-{scheme}")
    leave_match(hand)


def show_own_table(page: Any, scheme: str) -> None:
    """Show the plain table of a game of somebody's own."""
    open_lobby(page)
    page.locator(".nl-game", has_text="Ultimatum").click()
    page.wait_for_timeout(800)
    table = start_match(Mouse(page), "ultimatum", choose_game=False)
    pictures(page, f"own-game-start-{scheme}")
    table.locator(".nl-portion button").last.click()
    table.get_by_role("button", name="Offer", exact=True).click()
    table.locator(".nl-result").wait_for()
    pictures(page, f"own-game-end-{scheme}")
    leave_match(Mouse(page))


# Replay


def serve_replay(folder: Path) -> Any:
    return launching(folder, command="page", page="replay", source=ROOT / "data" / "replays")


def show_replay(page: Any, scheme: str, served: Served) -> None:
    """Show the list of records, each game in the cockpit, and two branches side by side."""
    rows = page.locator(".nl-records tbody tr")

    def open_list() -> None:
        page.goto(served.url)
        page.get_by_role("button", name="Show the list").click()
        rows.first.wait_for()

    open_list()
    pictures(page, f"records-{scheme}")
    for game in game_names():
        open_list()
        rows.filter(has_text=game).first.click()
        page.locator(".nl-replay-head", has_text=game).wait_for()
        page.locator(".nl-move").nth(3).click()
        page.wait_for_timeout(1000)
        pictures(page, f"replay-{game}-{scheme}")
    branch_replay(page, served.url)
    pictures(page, f"branches-{scheme}")


# Sweeps and what is written


def serve_sweep(folder: Path) -> Any:
    out = folder / "branches"
    command = [*NEGOLAB, "sweep", "show", str(finished_sweep(folder).path), f"--out={out}"]
    return showing(command, out, cwd=ROOT)


def show_sweep(page: Any, scheme: str, served: Served) -> None:
    """Follow a sweep's results from the first figure over a heat map and a distribution to a match."""
    page.goto(served.url)
    page.locator(".nl-chart .js-plotly-plot text", has_text="mean ").first.wait_for()
    page.get_by_text("72 matches from 24 of 24 cells have been read").wait_for()
    page.get_by_label("Outcome").select_option(label="result: payoff of B (dollars)")
    page.locator(".nl-chart .js-plotly-plot text", has_text="mean payoff of B").first.wait_for()
    pictures(page, f"results-1-{scheme}")
    page.get_by_label("Figure", exact=True).select_option(label="heat map of means")
    cell = page.locator(".nl-chart .hm").first
    cell.wait_for()
    pictures(page, f"results-2-heat-map-{scheme}")
    click_mark(page, cell, 1 / 6, 1 / 4)
    page.get_by_role("heading", name="Matches of beta 0.2, rounds 4").wait_for()
    page.locator(".nl-chart text", has_text="Press a point").first.wait_for()
    pictures(page, f"results-3-distribution-{scheme}")
    click_mark(page, page.locator(".nl-chart .scatterlayer .point").first)
    page.get_by_role("heading", name="at the step that decided it").wait_for()
    pictures(page, f"results-4-match-{scheme}")


def write_papers(folder: Path) -> Any:
    """Write the reports of sweeps, a tournament among them, and the transcript of a match of each game."""
    files = {"report": finished_sweep(folder / "plain").path / "report.html"}
    for experiment in ("barter", "people"):
        files[f"report-{experiment}"] = folder / experiment / "report.html"
        plan = ROOT / "notebooks" / "experiments" / experiment / "plan.toml"
        negolab("sweep", "run", str(plan), "--tiny", f"--out={folder / experiment}", cwd=ROOT).check_returncode()
    for file in files.values():
        negolab("sweep", "report", str(file.parent), cwd=ROOT).check_returncode()
    for game in game_names():
        (record,) = read(ROOT / "data" / "replays" / f"{game}.jsonl")[:1]
        files[f"transcript-{game}"] = folder / f"{game}.html"
        files[f"transcript-{game}"].write_text(transcript.html(record), "utf-8")
    yield files


def show_papers(page: Any, scheme: str, files: dict[str, Path]) -> None:
    for what, file in files.items():
        page.goto(file.as_uri())
        page.wait_for_timeout(1500)
        pictures(page, f"{what}-{scheme}")


# Studies


def serve_study(folder: Path) -> Any:
    with serving_study(folder, study_visit.STUDY, *study_visit.OPTIONS) as server:
        yield server


def show_study(page: Any, scheme: str, server: StudyServer) -> None:
    """Show a participant's pages, then the monitor, on a server with one place."""
    show = lambda page, name: pictures(page, f"study-{name}-{scheme}")
    study_visit.Visit(page.context.browser, server, show, color_scheme=scheme).pass_through().close()
    page.goto(server.desk)
    page.get_by_role("cell", name="complete", exact=True).first.wait_for()
    pictures(page, f"monitor-{scheme}")


def serve_guide(folder: Path) -> Any:
    return serving(NEGOLAB, folder / "out")


def show_guide(page: Any, scheme: str, served: Served) -> None:
    """Make the pictures of README and guide anew, in their places: the second turn of a match of bargaining."""
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(served.url)
    hand = Mouse(page)
    table = start_match(hand, "bargaining")
    MOVES["bargaining"](hand, table)
    page.wait_for_timeout(1500)
    hand.fill(table.locator(".nl-compose input:visible").first, "50.50")
    page.wait_for_timeout(1000)
    page.screenshot(path=str(ROOT / f"notebooks/guide/play{'' if scheme == 'light' else '-dark'}.png"))
    leave_match(hand)


PARTS: dict[str, tuple[Callable[[Path], Any], Callable[[Any, str, Any], None]]] = {
    "lobby": (serve_lobby, show_lobby),
    "replay": (serve_replay, show_replay),
    "sweep": (serve_sweep, show_sweep),
    "papers": (write_papers, show_papers),
    "study": (serve_study, show_study),
    "guide": (serve_guide, show_guide),
}
"""What each part serves from a folder, as long as its generator runs, and what it shows of that in a colour scheme."""


def main() -> None:
    if unknown := set(sys.argv[2:]) - PARTS.keys():
        sys.exit(f"no part is called {' or '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    if len(sys.argv) > 1:
        browser.SHOTS = Path(sys.argv[1])
    browser.SHOTS.mkdir(parents=True, exist_ok=True)
    with launch_chromium() as launched:
        for serve, show in (PARTS[part] for part in sys.argv[2:] or PARTS):
            with tempfile.TemporaryDirectory() as folder, closing(serve(Path(folder))) as servers:
                served = next(servers)
                for scheme in ("light", "dark"):
                    page = launched.new_page(viewport=WIDTHS["1280"], color_scheme=scheme)
                    show(page, scheme, served)
                    page.close()
    print(f"{len(list(browser.SHOTS.glob('*.png')))} pictures in {browser.SHOTS}")


if __name__ == "__main__":
    main()
