"""The balanced assignment over a whole log of sessions, as the vectors give it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from negolab.studies.database.participants import assign


def assigned(ops: Iterable[Sequence[str]], cells: int, *, seed: int | None = None) -> dict[str, int]:
    """Assign all sessions of a log, pairs of "start", "complete" or "drop" and a name, to `cells`; see `assign`."""
    counts = [0] * cells
    cell_of: dict[str, int] = {}
    for op, session in ops:
        if op == "start":
            cell_of[session] = assign(counts, [1] * cells, seed=seed)
            counts[cell_of[session]] += 1
        elif op == "drop":
            counts[cell_of[session]] -= 1
    return cell_of
