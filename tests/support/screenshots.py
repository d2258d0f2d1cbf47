"""`python -m tests.support.screenshots [FOLDER]`: pictures of every table (start, middle, end),
of the replay with two branches, of
every page of a participant's visit and of the monitor, 360 and 1280 px wide, light and dark. Default folder:
`data/runs/screenshots`, which git ignores."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from negolab.catalog import game_names
from tests.conftest import ROOT, Served, launch_chromium, launching, serving
from tests.support import browser, study_visit
from tests.support.browser import Mouse, branch_replay, play_to_end, screenshot, start_match
from tests.support.study_server import serving_study

WIDTHS = {"1280": {"width": 1280, "height": 900}, "360": {"width": 360, "height": 800}}
SCHEMES = ("light", "dark")
MIDDLE = {"split": 5}
"""The move that is the middle of a game, where it is not the second."""


def pictures(page: Any, name: str) -> None:
    """Save the page as it is now, at both widths."""
    for width, size in WIDTHS.items():
        page.set_viewport_size(size)
        page.wait_for_timeout(400)
        screenshot(page, f"{name}-{width}")
    page.set_viewport_size(WIDTHS["1280"])


def table(page: Any, scheme: str, *, served: Served, game: str) -> None:
    """Play one game from its start to its end."""
    page.goto(served.url)
    hand = Mouse(page)
    at_table = start_match(hand, game)

    def each(move: int) -> None:
        if move in (0, MIDDLE.get(game, 1)):
            page.wait_for_timeout(500)
            pictures(page, f"{game}-{'middle' if move else 'start'}-{scheme}")

    play_to_end(hand, at_table, game, each)
    page.wait_for_timeout(800)
    pictures(page, f"{game}-end-{scheme}")


def replay(page: Any, scheme: str, *, served: Served) -> None:
    """Show a list of records, one of them, and two branches of it side by side."""
    branch_replay(page, served.url, lambda: pictures(page, f"replay-{scheme}"))
    pictures(page, f"branches-{scheme}")


def lobby(page: Any, scheme: str, *, served: Served) -> None:
    """Show the lobby."""
    page.goto(served.url)
    page.get_by_role("button", name="Start the match").wait_for(timeout=60_000)
    pictures(page, f"lobby-{scheme}")


def study(launched: Any, scheme: str) -> None:
    """Show a participant's pages, then the monitor, on a server with one place."""

    def show(page: Any, name: str) -> None:
        pictures(page, f"study-{name}-{scheme}")

    folder = Path(tempfile.mkdtemp(prefix="negolab-screens-"))
    with serving_study(folder, study_visit.STUDY, *study_visit.OPTIONS) as server:
        study_visit.visit(launched, server, show, color_scheme=scheme).close()
        page = launched.new_page(viewport=WIDTHS["1280"], color_scheme=scheme)
        page.goto(server.desk)
        page.get_by_role("cell", name="complete", exact=True).first.wait_for(timeout=60_000)
        pictures(page, f"monitor-{scheme}")
        page.close()


def main() -> None:
    if len(sys.argv) > 1:
        browser.SHOTS = Path(sys.argv[1])
    out = Path(tempfile.mkdtemp(prefix="negolab-screens-"))
    play = [sys.executable, "-m", "negolab"]
    look = launching(out, command="page", page="replay", source=ROOT / "data" / "replays")
    with launch_chromium() as launched, closing(serving(play, out)) as served, closing(look) as shown:
        playing, replaying = next(served), next(shown)
        work: list[Callable[[Any, str], None]] = [partial(lobby, served=playing), partial(replay, served=replaying)]
        work += [partial(table, served=playing, game=game) for game in game_names()]
        for scheme in SCHEMES:
            for one in work:
                page = launched.new_page(viewport=WIDTHS["1280"], color_scheme=scheme)
                one(page, scheme)
                page.close()
            study(launched, scheme)
    print(f"{len(list(browser.SHOTS.glob('*.png')))} pictures in {browser.SHOTS}")


if __name__ == "__main__":
    main()
