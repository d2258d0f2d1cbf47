"""Which cell of a study the next participant plays: a balanced counter, as a pure function of the counts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence


def assign(counts: Sequence[int], weights: Sequence[float] | None = None, *, seed: int | None = None) -> int:
    """The cell with the fewest sessions for its weight; `counts` are those active or completed, dropped ones do not
    count. Ties go to the lowest index, or with a `seed` to the first in a permutation of the cells that is drawn anew
    for each block, so that the order within a block cannot be foreseen."""
    weights = [1] * len(counts) if weights is None else weights
    _check(counts, weights)
    loads = [count / weight for count, weight in zip(counts, weights, strict=True)]
    least = min(loads)
    tied = [cell for cell, load in enumerate(loads) if load == least]
    if seed is None or len(tied) == 1:
        return tied[0]
    return next(cell for cell in block(len(counts), int(least), seed) if cell in tied)


def block(cells: int, number: int, seed: int) -> list[int]:
    """The order in which ties are broken in block `number`."""
    order = list(range(cells))
    random.Random(f"{seed}:{number}").shuffle(order)
    return order


def _check(counts: Sequence[int], weights: Sequence[float]) -> None:
    if not counts:
        raise ValueError("there must be at least one cell")
    if len(weights) != len(counts) or not all(weight > 0 for weight in weights):
        raise ValueError(f"weights must be {len(counts)} numbers above 0, not {list(weights)!r}")


def assigned(
    ops: Iterable[Sequence[str]], cells: int, weights: Sequence[float] | None = None, *, seed: int | None = None
) -> dict[str, int]:
    """The cell of every session, in the order of their starts, from the log of starts, completions and drops."""
    counts = [0] * cells
    cell_of: dict[str, int] = {}
    dropped: set[str] = set()
    for op, session in ops:
        if op not in ("start", "complete", "drop"):
            raise ValueError(f"unknown operation {op!r}: start, complete or drop")
        if (op == "start") == (session in cell_of):
            raise ValueError(f"session {session!r} {'starts twice' if op == 'start' else 'never started'}")
        if op == "start":
            cell_of[session] = assign(counts, weights, seed=seed)
            counts[cell_of[session]] += 1
        elif op == "drop" and session not in dropped:
            dropped.add(session)
            counts[cell_of[session]] -= 1
    return cell_of
