"""The balanced assignment over a whole log of sessions, as the vectors give it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from negolab.studies.database.participants import assign


def assigned(
    ops: Iterable[Sequence[str]], cells: int, weights: Sequence[float] | None = None, *, seed: int | None = None
) -> dict[str, int]:
    """Assign all sessions of a log to cells.

    Args:
        ops: Pairs of an operation, "start", "complete" or "drop", and a session's name, in order of time.
        cells: Number of cells.
        weights: As in `assign`; None: equal ones.
        seed: As in `assign`.

    Returns:
        Index of the cell by session, in order of the starts.

    Raises:
        ValueError: An operation is unknown, or a session starts twice or never.
    """
    counts = [0] * cells
    cell_of: dict[str, int] = {}
    dropped: set[str] = set()
    for op, session in ops:
        if op not in ("start", "complete", "drop"):
            raise ValueError(f"unknown operation {op!r}: start, complete or drop")
        if (op == "start") == (session in cell_of):
            raise ValueError(f"session {session!r} {'starts twice' if op == 'start' else 'never started'}")
        if op == "start":
            cell_of[session] = assign(counts, weights or [1] * cells, seed=seed)
            counts[cell_of[session]] += 1
        elif op == "drop" and session not in dropped:
            dropped.add(session)
            counts[cell_of[session]] -= 1
    return cell_of
