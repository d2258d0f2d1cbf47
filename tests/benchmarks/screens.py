"""Latency of the replay: scrubbing a long record, opening and filtering a long list."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from functools import cache
from pathlib import Path

from negolab_widgets import Replay

from negolab.catalog import load
from negolab.games.balloon import Instance
from negolab.match import Match
from negolab.runs.batch import batch
from negolab.store import Store
from tests.conftest import launch_chromium, launching

MESSAGES = 600
RECORDS = 10_000


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
    """Write a run's folder of 10,000 matches, half of balloon, half of trading."""
    folder = Path(tempfile.mkdtemp(prefix="negolab-benchmark-"))
    with Store(folder) as store:
        for game, a, b in (("balloon", "linear", "boulware"), ("trading", "fair-split", "greedy-honest")):
            for record in batch(game, a, b, n=RECORDS // 2, seed=1):
                store.append(record)
    return folder


def worst_step() -> float:
    """Milliseconds of the slowest step in Python."""
    slider = Replay(long_record())._scrubber.slider
    took = []
    for at in range(2, slider.max + 1):
        began = time.perf_counter()
        slider.value = at
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
    """Press the key and wait in the page for the card's next change."""
    return float(
        page.evaluate(  # type: ignore[attr-defined]
            """() => new Promise((done) => {
              const slider = document.querySelector('.nl-page input[type=range]');
              const began = performance.now();
              const watch = new MutationObserver(() => {
                if (!document.querySelector('.nl-card')) return;
                watch.disconnect();
                requestAnimationFrame(() => done(performance.now() - began));
              });
              const card = document.querySelector('.nl-card').closest('.widget-html');
              watch.observe(card, { childList: true, subtree: true });
              slider.value = Number(slider.value) + 1;
              slider.dispatchEvent(new Event('input', { bubbles: true }));
            })"""
        )
    )


def opening() -> float:
    """Seconds to list a folder's records."""
    folder = many_records()
    began = time.perf_counter()
    Replay(folder)
    return time.perf_counter() - began


def filtering() -> float:
    """Seconds of the slowest filter or sort order."""
    shelf = Replay(many_records())._record_list
    took = []
    for control, value in (
        (shelf._find, "linear 0000123"),
        (shelf._find, "boulware"),
        (shelf._game, "trading"),
        (shelf._find, ""),
        (shelf._game, "all"),
        (shelf._sort, "payoff of A, largest first"),
        (shelf._sort, "replies, most first"),
        (shelf._sort, "newest first"),
        (shelf._end, "AGREED"),
    ):
        began = time.perf_counter()
        control.value = value
        took.append(time.perf_counter() - began)
    return max(took)
