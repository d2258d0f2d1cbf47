"""Work on parts of a source, such as the records of an export, in worker processes if there are many."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from tqdm import tqdm

from negolab import user_code
from negolab._internal.workers import WorkerPool, count_workers, is_loop_running, run_blocking
from negolab.formats import Part
from negolab.record import decode_raw
from negolab.store import PART

AUTOMATIC_FROM = 8
"""Number of parts above which workers do the work; below it, starting them takes longer than they save."""
_SHOWN_AFTER = 2.0
"""Seconds after which progress is shown."""
T = TypeVar("T")
_Said = list[tuple[str, type[Warning]]]
_Job = tuple[int, Callable[[], Any]]


def work_on(
    jobs: Sequence[Callable[[], T]], take: Callable[[T], object], what: str, parts: Sequence[Part] = ()
) -> None:
    """Call jobs, in worker processes if there are many, and call `take` with their results, in order.

    Args:
        jobs: What to call: module-level functions, or partials of them.
        take: Called with each result in this process.
        what: Title of the progress bar shown for longer work.
        parts: The records that the jobs are about, to load their games in the workers.

    Raises:
        ValueError: Raised by a job, or a job ended its worker twice.
        OSError: Raised by a job.
    """
    code = _code_of(parts)
    # Many small files, such as those of a tournament, are little work.
    is_much = not parts or sum(part.stop - part.start for part in parts) > AUTOMATIC_FROM * PART
    workers = 1 if code is None else count_workers(None, len(jobs), AUTOMATIC_FROM if is_much else len(jobs))
    off = None if not is_loop_running() else False  # outside notebooks, only for people at a terminal
    with tqdm(total=len(jobs), desc=what, unit="part", file=sys.stderr, delay=_SHOWN_AFTER, disable=off) as bar:
        if workers == 1:
            for job in jobs:
                take(job())
                bar.update()
            return
        found: dict[int, tuple[T | Exception, _Said]] = {}
        taken = 0

        def keep(done: Sequence[_Job], results: Sequence[tuple[T | Exception, _Said]]) -> None:
            nonlocal taken
            found.update(zip((at for at, _ in done), results, strict=True))
            while taken in found:
                result, said = found.pop(taken)
                for text, category in said:
                    warnings.warn(text, category, stacklevel=2)
                if isinstance(result, Exception):
                    raise result
                take(result)
                taken += 1
                bar.update()

        run_blocking(_pool(jobs, what, workers, code or [], keep).work())


def _pool(jobs: Sequence[Any], what: str, workers: int, code: list[str], keep: Any) -> WorkerPool:
    async def may_begin() -> bool:
        return True

    def fail(job: _Job, reason: str) -> None:
        raise ValueError(f"{what}: part {job[0] + 1} of {len(jobs)} cannot be processed: {reason}")

    numbered, notify = iter(enumerate(jobs)), partial(tqdm.write, file=sys.stderr)
    load = partial(load_code, code)
    return WorkerPool(
        load, numbered, len(jobs), workers, keep=keep, fail=fail, may_begin=may_begin, notify=notify, what="parts"
    )


def load_code(code: Sequence[str]) -> Callable[[Any], Any]:
    """Load the games' code in a worker, and return the function that runs a job."""
    for pinned in code:
        user_code.load(pinned)
    return _call


def _call(job: _Job) -> tuple[Any, _Said]:
    """Return a job's result, or the error for the caller to raise, and the warnings for the caller to repeat."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = job[1]()
        except (ValueError, OSError) as error:
            result = error
    return result, [(str(each.message), each.category) for each in said]


def _code_of(parts: Iterable[Part]) -> list[str] | None:
    """Return the games' code that workers must load, pinned to the code running here; None if they cannot load it."""
    games = {game for part in parts if ":" in (game := _first_game(part))}
    modules = [sys.modules[home] for game in games if (home := game.partition(":")[0]) in sys.modules]
    sources = [user_code.source_of(module) for module in modules]
    known = [source for source in sources if source is not None and user_code.current(source) == source]
    return [source.pinned for source in known] if len(known) == len(sources) else None


def _first_game(part: Part) -> str:
    """Return the game of a part's first record; "" if it is not a record."""
    try:
        with part.file.open("rb") as lines:
            lines.seek(part.start)
            return decode_raw(lines.readline()).header.game
    except (ValueError, RecursionError):
        return ""
