"""The account of money: what calls to models use, and a run's ledger, a file to which lines are only appended.

One line is written before a call is sent and another when it is over. A call that was in flight when the process was
killed is therefore known, and is charged like the most expensive call to its model so far.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from operator import add
from pathlib import Path
from typing import Annotated

import msgspec

from negolab._internal.files import check_in_place, open_for_append, open_itself
from negolab.game import Reply

FILE = "calls.ndjson"
PICO = 10**12
"""Costs are summed as integers in 1e-12 US dollars, so that sums are exact."""
TOKENS = ("input", "output", "cached", "reasoning")
"""Tokens that a model's usage counts: `cached` is part of `input`, and `reasoning` is part of `output`."""
_SYNC_EVERY = 1.0
"""Seconds between fsyncs: a killed process loses nothing that it has written, a power failure at most this much."""


_LONGEST = 1 << 16
"""Largest number of bytes in a line."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
"""Checked when a ledger is read: a number below 0 would lift a budget, and sums stay within floats."""


class Cost(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The cost of calls to models.

    Attributes:
        pico: `PICO`ths of a US dollar paid.
        input, output, cached, reasoning: `TOKENS` of paid calls.
        calls: Calls that were paid for, or may have been.
        answers: The calls that brought an answer.
        uncounted: The calls of unknown usage.
        unpriced: The calls whose tokens are known but whose price is not.
        refused: Attempts rejected with HTTP 429.
        replayed: Answers from the cache that another run has paid for.
        saved: `PICO`ths of a dollar that the replayed answers would have cost.
        unsaved: The replayed answers of unknown price.
    """

    pico: Count = 0
    input: Count = 0
    output: Count = 0
    cached: Count = 0
    reasoning: Count = 0
    calls: Count = 0
    answers: Count = 0
    uncounted: Count = 0
    unpriced: Count = 0
    refused: Count = 0
    replayed: Count = 0
    saved: Count = 0
    unsaved: Count = 0

    @classmethod
    def of_reply(cls, reply: Reply) -> Cost:
        """Return what a model's reply used, according to its record; nothing for any other reply."""
        if reply.via != "model":
            return cls()
        usage, known = reply.usage or {}, reply.cost is not None
        if usage.get("replayed"):
            return cls.of_replayed(reply.cost)
        tokens = {name: count for name in TOKENS if isinstance(count := usage.get(name), int)}
        counted = "input" in tokens and "output" in tokens
        return cls(
            round((reply.cost or 0.0) * PICO),
            **tokens,
            calls=1,
            answers=1,
            uncounted=int(not (known or counted)),
            unpriced=int(counted and not known),
        )

    @classmethod
    def of_replayed(cls, usd: float | None) -> Cost:
        """Return the cost of an answer from the cache that another run has paid for: nothing, but it saved its
        price."""
        return cls(replayed=1, saved=round((usd or 0.0) * PICO), unsaved=int(usd is None))

    def plus(self, other: Cost) -> Cost:
        """Return the sum of both."""
        return Cost(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    def times(self, factor: int) -> Cost:
        """Return a multiple."""
        return Cost(*(factor * value for value in msgspec.structs.astuple(self)))

    def max_with(self, other: Cost) -> Cost:
        """Return the larger of each value."""
        return Cost(*map(max, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    @property
    def usd(self) -> float:
        """US dollars paid."""
        return self.pico / PICO

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input + self.output


NOTHING = Cost()
LOST = Cost(calls=1, uncounted=1)
"""A call of unknown usage."""


class Line(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A line in the file: a call that is sent (`estimate`), or one that is over (`took`).

    `of` is its match, seat, turn and attempt; `finish` is the answer's stop reason or the kind of failure. Call 0 is
    what was paid before there was a ledger.
    """

    call: int
    at: float = 0.0
    model: str = ""
    of: tuple[str | int, ...] = ()
    estimate: Cost | None = None
    took: Cost | None = None
    finish: str = ""


class Ledger:
    """The account for a run, or for all that a database's host lets models do.

    Args:
        file: The file (None: kept only in memory).
        opening: Returns what was paid before there was a file.

    Raises:
        ValueError: The file contains something that is not a line of a ledger.
        OSError: The file cannot be written.

    Attributes:
        total: The cost known to have been paid.
        presumed: The presumed cost of calls of unknown usage, for a cap that must hold.
        largest: The most that a call to each model used.
        games: The cost of each match.
    """

    def __init__(self, file: Path | None = None, opening: Callable[[], Cost] = Cost) -> None:
        self.total = self.presumed = NOTHING
        self.largest: dict[str, Cost] = {}
        self.games: defaultdict[str, Cost] = defaultdict(Cost)
        self._flying: dict[int, Line] = {}
        self._last = 0
        self._file = file
        self._out: int | None = None
        self._lock = threading.Lock()
        self._synced = time.monotonic()
        whole = self._load(self._file) if self._file is not None and self._file.exists() else 0
        before = NOTHING if whole else opening()
        if self._file is not None:
            self._out = open_for_append(self._file)
            os.ftruncate(self._out, whole)
            self._size = whole
        if before != NOTHING:
            self.end(0, before, "before")
        for call in list(self._flying):
            self.end(call, None, "killed")

    def begin(self, model: str, of: tuple[str | int, ...], estimate: Cost) -> int:
        """Note a call before it is sent, and return its number."""
        with self._lock:
            self._last += 1
            line = Line(self._last, round(time.time(), 3), model, of, estimate)
            self._write(line)
            self._flying[line.call] = line
            return line.call

    def end(self, call: int, took: Cost | None, finish: str) -> None:
        """Note what a call took (None: unknown)."""
        with self._lock:
            line = Line(call, round(time.time(), 3), took=took or (LOST if took is None else NOTHING), finish=finish)
            self._count(line)
            self._write(line)

    def add(self, took: Cost) -> None:
        """Count what needs no line, such as an answer from the cache."""
        with self._lock:
            self.total = self.total.plus(took)

    def close(self) -> None:
        """Fsync and close the file; a call still in flight counts as after a kill."""
        if self._out is not None:
            os.fsync(self._out)
            os.close(self._out)
            self._out = None

    def _count(self, line: Line) -> None:
        if line.took is None:
            self._flying[line.call] = line
            self._last = max(self._last, line.call)
            return
        took, begun = line.took, self._flying.pop(line.call, None)
        self.total = self.total.plus(took)
        if begun is None:
            return
        if took.uncounted:
            self.presumed = self.presumed.plus(self.largest.get(begun.model) or begun.estimate or NOTHING)
        elif took.pico or took.tokens:
            self.largest[begun.model] = self.largest.get(begun.model, NOTHING).max_with(took)
        if begun.of:
            game = str(begun.of[0])
            self.games[game] = self.games[game].plus(took)

    def _load(self, file: Path) -> int:
        """Count the lines in a file, and return how many of its bytes are whole lines."""
        whole = 0
        with open(open_itself(file, os.O_RDONLY, 0), "rb") as opened:  # noqa: PTH123
            for number, line in enumerate(iter(partial(opened.readline, _LONGEST), b""), 1):
                if len(line) < _LONGEST and not line.endswith(b"\n"):
                    break
                try:
                    self._count(_decode(line))
                except (msgspec.DecodeError, RecursionError) as error:
                    why = f"its costs cannot be read ({error}): move the file elsewhere"
                    raise ValueError(f"{file}, line {number}: {why}") from None
                whole += len(line)
        return whole

    def _write(self, line: Line) -> None:
        if self._out is None:
            return
        data = msgspec.json.encode(line) + b"\n"
        assert self._file is not None
        check_in_place(self._file, os.fstat(self._out), self._size)
        try:
            if (written := os.write(self._out, data)) < len(data):  # the disk is full
                os.ftruncate(self._out, os.fstat(self._out).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._size += len(data)
            if time.monotonic() - self._synced > _SYNC_EVERY:
                os.fsync(self._out)
                self._synced = time.monotonic()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._file)) from None


_decode = msgspec.json.Decoder(Line).decode


def paid(folder: Path) -> Cost:
    """Return what a run has paid, according to its ledger; nothing if it has none."""
    ledger = Ledger()
    if (folder / FILE).is_file():
        ledger._load(folder / FILE)
    return ledger.total.plus(LOST.times(len(ledger._flying)))
