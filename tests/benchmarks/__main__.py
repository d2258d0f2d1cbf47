"""Print bound, measured and ratio of every measurement, or of those whose names hold one of the words given; exit 1 if
one is missed by more than 30%."""

from __future__ import annotations

import multiprocessing
import re
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path

from tests.benchmarks.measurements import measure, measurements

TOLERANCE = 1.3


def main(*words: str) -> None:
    bounds = tomllib.loads((Path(__file__).parent / "bounds.toml").read_text("utf-8"))
    names = [name for name in measurements() if not words or any(word in name for word in words)]
    if not names:
        sys.exit(f"no measurement has {' or '.join(map(repr, words))} in its name")
    missed = []
    print(f"{'measurement':60} {'bound':>12} {'measured':>12} {'ratio':>7}")
    for name, measured in _measured(names):
        least = name in bounds["at_least"]
        bound = bounds["at_least" if least else "at_most"][name]
        ratio = measured / bound
        if (1 / ratio if least else ratio) > TOLERANCE:
            missed.append(name)
        print(f"{name:60} {bound:>12,} {measured:>12,.{0 if least else 2}f} {ratio:>7.2f}", flush=True)
    if missed:
        print(f"missed by more than 30%: {'; '.join(missed)}")
        sys.exit(1)


def _measured(names: list[str]) -> Iterator[tuple[str, float]]:
    """Measure each subject in a process of its own, so that memory left by one does not slow the others."""
    for _, group in groupby(names, key=lambda name: re.split("[,:]", name)[0]):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            for name in group:
                yield name, alone.submit(measure, name).result()


if __name__ == "__main__":
    main(*sys.argv[1:])
