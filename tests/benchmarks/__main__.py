"""Print bound, measured and ratio of every measurement; exit 1 if one is missed by more than 30 %."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from tests.benchmarks.measurements import measurements

TOLERANCE = 1.3


def main() -> None:
    bounds = tomllib.loads((Path(__file__).parent / "bounds.toml").read_text("utf-8"))
    missed = []
    print(f"{'measurement':52} {'bound':>12} {'measured':>12} {'ratio':>7}")
    for name, measure in measurements().items():
        measured = measure()
        least = name in bounds["at_least"]
        bound = bounds["at_least" if least else "at_most"][name]
        ratio = measured / bound
        if (1 / ratio if least else ratio) > TOLERANCE:
            missed.append(name)
        print(f"{name:52} {bound:>12,} {measured:>12,.{0 if least else 2}f} {ratio:>7.2f}", flush=True)
    if missed:
        print(f"missed by more than 30 %: {'; '.join(missed)}")
        sys.exit(1)


main()
