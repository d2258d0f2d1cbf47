"""Time and peak memory of reading a million recorded turns into frames and files."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from negolab.catalog import load
from negolab.match import Match
from negolab.players.lookup import player
from negolab.store import Store

TURNS = 1_000_000
GAMES = {
    "balloon": ("linear", "boulware"),
    "bargaining": ("boulware", "linear"),
    "split": ("truthful", "liar"),
    "trading": ("fair-split", "greedy-honest"),
}
"""Each gives a quarter of the turns."""

_READ = """
import json, re, time
from pathlib import Path
import negolab as nl
from negolab.analysis import tables
began = time.perf_counter()
rows = {work}
seconds = time.perf_counter() - began
# Not by getrusage, which begins with what the process had that started this one.
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps([rows, seconds, peak]))
"""


class Took(NamedTuple):
    """Rows, seconds after the imports, and the largest size of the process in MB, imports included."""

    rows: int
    seconds: float
    megabytes: float


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Play the records once; they are removed at exit."""
    folder = tempfile.TemporaryDirectory()
    with Store(Path(folder.name) / "run") as store:
        for name, (a, b) in GAMES.items():
            _play(store, name, a, b)
    return folder


def _play(store: Store, name: str, a: str, b: str) -> None:
    game = load(name)
    seats = {"A": player(a, game), "B": player(b, game)}
    turns = seed = 0
    while turns < TURNS / len(GAMES):
        match = Match(game, seed=seed, players={"A": a, "B": b})
        while asks := match.pending():
            for seat, ask in asks.items():
                match.act(seat, seats[seat].reply(match.told(seat), ask))
                turns += 1
        store.append(match.record())
        seed += 1


@cache
def took(work: str) -> Took:
    """Run one line of Python, in which `path` is the records, in a process of its own."""
    folder = _folder().name
    code = _READ.format(work=work.replace("path", repr(f"{folder}/run")).replace("out", repr(f"{folder}/out.parquet")))
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found = Took(*json.loads(done.stdout))
    print(work, found, file=sys.stderr)
    return found


@cache
def _small_records() -> tempfile.TemporaryDirectory[str]:
    """Play 100,000 short matches once; they are removed at exit."""
    folder = tempfile.TemporaryDirectory()
    command = ["batch", "bargaining", "--a", "linear", "--b", "random-legal", "--n", "100000", "--out", folder.name]
    subprocess.run([sys.executable, "-m", "negolab", *command], check=True, capture_output=True)
    return folder


def megabytes(work: str) -> float:
    """Peak memory of one line of Python, in which `path` is 100,000 records of bargaining."""
    code = _READ.format(work=work.replace("path", repr(_small_records().name)))
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return Took(*json.loads(done.stdout)).megabytes


_MATCHES, _PARQUET = "len(tables.matches(path))", "tables.to_parquet(path, out)"

MEASUREMENTS: dict[str, Callable[[], float]] = {
    "tables: 1,000,000 turns into matches, s": lambda: took(_MATCHES).seconds,
    "tables: 1,000,000 turns into matches, MB": lambda: took(_MATCHES).megabytes,
    "tables: 1,000,000 turns into Parquet, s": lambda: took(_PARQUET).seconds,
    "tables: 1,000,000 turns into Parquet, MB": lambda: took(_PARQUET).megabytes,
    "tables: 100,000 records of bargaining as a list, MB": lambda: megabytes("len(nl.read(path))"),
    "tables: 100,000 records of bargaining into matches, MB": lambda: megabytes("len(tables.matches(path))"),
    "tables: 100,000 records of bargaining into measures, MB": lambda: megabytes("len(tables.measures(path))"),
}
