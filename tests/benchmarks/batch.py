"""`negolab batch` between strategies, with records on disk and its summary, as users start it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

REPEATS = 3
TIME = ("time:beta=0.2", "time:beta=1.0")


class Took(NamedTuple):
    """Seconds of a command: of the processors, its workers included, and of the clock."""

    cpu: float
    wall: float


def took(game: str, players: tuple[str, str], n: int, *more: str) -> Took:
    """Play one batch; the best of several for each number."""
    runs = [_once(game, players, n, *more) for _ in range(REPEATS)]
    return Took(min(run.cpu for run in runs), min(run.wall for run in runs))


def _once(game: str, players: tuple[str, str], n: int, *more: str) -> Took:
    a, b = players
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "negolab", "batch", game, "--a", a, "--b", b, "--n", str(n), "--out", out]
        before, began = os.times(), time.perf_counter()
        subprocess.run([*command, *more], check=True, capture_output=True)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return Took(cpu, time.perf_counter() - began)


def rate(game: str, players: tuple[str, str], n: int, *more: str) -> float:
    """Games per CPU second in one process; the start is that of a batch of one game, and not counted."""
    more = (*more, "--workers", "1")
    return n / (took(game, players, n + 1, *more).cpu - took(game, players, 1, *more).cpu)


def factor() -> float:
    """Time of 50,000 games in one process relative to that with two workers, start and summary included."""
    one, two = (took("bargaining", TIME, 50_000, "--workers", count).wall for count in "12")
    return one / two


MEASUREMENTS: dict[str, Callable[[], float]] = {
    "batch: bargaining, two time players, games/CPU s": partial(rate, "bargaining", TIME, 10_000),
    "batch: bargaining over 20 rounds, two time players, games/CPU s": partial(
        rate, "bargaining", TIME, 10_000, "--set", "rounds=20"
    ),
    "batch: trading, games/CPU s": partial(rate, "trading", ("fair-split", "greedy-honest"), 4_000),
    "batch: split, games/CPU s": partial(rate, "split", ("truthful", "liar"), 4_000),
    "batch: balloon, games/CPU s": partial(rate, "balloon", ("linear", "boulware"), 1_000),
    "batch: 50,000 games, two workers over one": factor,
}
