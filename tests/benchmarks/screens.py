"""Latency of the lobby and a table, and of the replay: scrubbing a long record, opening and filtering a long list."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from negolab_widgets import Replay
from negolab_widgets.replay.record_list import COLUMNS

from negolab.catalog import game_names, load
from negolab.games.balloon import Instance
from negolab.match import Match
from negolab.runs.batch import batch
from negolab.store import Store
from tests.conftest import launch_chromium, launching
from tests.support.browser import MOVES, Mouse, leave_match, start_match

MESSAGES = 600
RECORDS = 100_000


@cache
def long_record() -> Path:
    """Write a balloon match of 600 messages under the reference rules, with proposals made and withdrawn."""
    items = {f"{'ABC'[i % 3]}{10 + i}": 10 + i for i in range(35)}
    worth = {name: 7 + i for i, name in enumerate(items)}
    instance = Instance(items, 600, {"A": worth, "B": dict(zip(items, reversed(worth.values()), strict=True))})
    match = Match(load("balloon", "clembench", instance=instance, items=35, strategic_reasoning=False), seed=1)
    names = list(items)
    for at in range(MESSAGES - 1):
        kept = {names[(at + k) % 35] for k in range(9)}
        refused = f"REFUSE: { {names[(at - 1 + k) % 35] for k in range(9)} }\n" if at else ""
        match.submit(next(iter(match.pending())), f"{refused}PROPOSAL: {kept}\nARGUMENT: {{'This serves us both.'}}")
    match.submit(next(iter(match.pending())), f"AGREE: {kept}\nARGUMENT: {{'Agreed.'}}")
    assert match.ended is not None
    path = Path(tempfile.mkdtemp(prefix="negolab-benchmark-")) / "long.jsonl"
    path.write_bytes(match.record().to_line())
    return path


@cache
def many_records() -> Path:
    """Write a run's folder of 100,000 matches of bargaining by its time players."""
    folder = Path(tempfile.mkdtemp(prefix="negolab-benchmark-"))
    with Store(folder) as store:
        for record in batch("bargaining", "linear", "boulware", n=RECORDS, seed=1):
            store.append(record)
    return folder


def opening_the_lobby() -> float:
    """Median seconds until a browser without cache shows the lobby's button to start."""
    took = []
    with TemporaryDirectory() as out, closing(launching(Path(out))) as pages, launch_chromium() as launched:
        url = next(pages).url
        for _ in range(7):
            time.sleep(5)  # until the next kernel is warm
            page = launched.new_page(viewport={"width": 1280, "height": 900})
            took.append(_seconds(partial(_open_lobby, page, url)))
            page.close()
    return statistics.median(took)


def _open_lobby(page: Any, url: str) -> None:
    page.goto(url)
    page.get_by_role("button", name="Start the match").wait_for(timeout=60_000)


def opening_a_table() -> float:
    """Median seconds from the press that starts a match in the lobby until its table says whose turn it is."""
    took = []
    with TemporaryDirectory() as out, closing(launching(Path(out))) as pages, launch_chromium() as launched:
        page = launched.new_page(viewport={"width": 1280, "height": 900})
        _open_lobby(page, next(pages).url)
        for _ in range(7):
            page.wait_for_timeout(1000)  # until the page is at rest
            took.append(_seconds(partial(_start, page)))
            leave_match(Mouse(page))
    return statistics.median(took)


def _start(page: Any) -> None:
    page.get_by_role("button", name="Start the match").click()
    page.locator(".nl-decision .nl-turn").wait_for(timeout=60_000)


_EFFECT = """() => {
  const bar = document.querySelector(".nl-page .nl-page .nl-decision");
  let pressed = null, was = bar.innerText;
  addEventListener("click", () => { pressed = performance.now(); was = bar.innerText; }, true);
  window.effects = [];
  new MutationObserver(() => {
    if (pressed === null || bar.innerText === was) return;
    window.effects.push((performance.now() - pressed) / 1000);
    pressed = null;
  }).observe(bar, { subtree: true, childList: true, characterData: true });
}"""
"""Keeps the seconds from the last press at a table until its bar says something else, by the page's own clock."""


def effect_of_a_press() -> float:
    """Median seconds from a press at a table until the bar shows what came of it, of the slowest game."""
    with TemporaryDirectory() as out, closing(launching(Path(out))) as pages, launch_chromium() as launched:
        page, url = launched.new_page(viewport={"width": 1280, "height": 900}), next(pages).url
        hand, medians = Mouse(page), []
        for game in game_names():
            page.goto(url)
            table = start_match(hand, game)
            page.evaluate(_EFFECT)
            for _ in range(5):
                if not table.locator(".nl-result").count():
                    MOVES[game](hand, table)
                    page.wait_for_timeout(1500)
            medians.append(statistics.median(page.evaluate("window.effects")))
            leave_match(hand)
    return max(medians)


def worst_step() -> float:
    """Milliseconds of the slowest step in Python."""
    cockpit = Replay(long_record())._cockpit
    took = []
    for at in range(2, cockpit.count + 1):
        began = time.perf_counter()
        cockpit.step = at
        took.append(time.perf_counter() - began)
    return 1000 * max(took)


def step_in_the_browser() -> float:
    """Milliseconds from an arrow key on the served page until the step's card and tables are drawn."""
    out = Path(tempfile.mkdtemp(prefix="negolab-benchmark-"))
    pages = launching(out, command="page", page="replay", source=long_record())
    with launch_chromium() as launched:
        page = launched.new_page(viewport={"width": 1280, "height": 900})
        page.goto(next(pages).url)
        slider = page.get_by_role("slider")
        slider.wait_for(timeout=60_000)
        page.wait_for_timeout(3000)
        slider.focus()
        took = [_one_step(page) for _ in range(60)]
        page.close()
    pages.close()
    shutil.rmtree(out)
    return statistics.median(took)


def _one_step(page: object) -> float:
    """Press the key and wait in the page until the moment has changed."""
    return float(
        page.evaluate(  # type: ignore[attr-defined]
            """() => new Promise((done) => {
              const began = performance.now();
              const watch = new MutationObserver(() => {
                watch.disconnect();
                requestAnimationFrame(() => done(performance.now() - began));
              });
              watch.observe(document.querySelector('.nl-moment'), { childList: true, subtree: true });
              document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
            })"""
        )
    )


def opening() -> float:
    """Seconds until the list and the first record are there."""
    folder = many_records()
    began = time.perf_counter()
    Replay(folder)
    return time.perf_counter() - began


def filtering() -> float:
    """Seconds of the slowest filter or sort order."""
    shelf = Replay(many_records())._record_list
    sought = (
        (shelf._find, "linear 0000123"),
        (shelf._find, "boulware"),
        (shelf._find, ""),
        (shelf._end, "agreed"),
        (shelf._end, "all"),
    )
    took = [_seconds(partial(setattr, control, "value", value)) for control, value in sought]
    return max(took + [_seconds(partial(shelf._on_sent, {"sort": name})) for name in COLUMNS])


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
