"""Who has which kernel, and who waits for one: first come, first served. No I/O; the time is an argument."""

from __future__ import annotations

from typing import Literal

State = Literal["here", "gone", "replaced"]

_MOST_FORMER = 1000
_MOST_WAITING = 1000


class Visitors:
    """At most `most` visitors have a place, each with one kernel; the others stand in a line. Who does not ask for
    `patience` seconds loses the place in the line; who closed the page keeps the other place for `keep` seconds, which
    is enough for a reload."""

    def __init__(self, most: int, patience: float = 10.0, keep: float = 15.0) -> None:
        self._most, self._patience, self._keep = most, patience, keep
        self._line: dict[str, float] = {}
        self._holds: dict[str, float] = {}  # a place whose kernel is still to come or has just ended: until when
        self._kernels: dict[str, str] = {}  # visitor -> kernel
        self._owners: dict[str, str] = {}  # kernel -> visitor
        self._former: dict[str, str] = {}  # a kernel that another tab replaced -> visitor
        self._seen: dict[str, float] = {}  # kernel -> when its page last asked

    # The line.

    def may_enter(self, visitor: str, warm: int, now: float) -> bool:
        """Whether the visitor's turn has come, with `warm` kernels ready; who must wait is put into the line."""
        self._forget(now)
        places = self.places()
        free = self._most - len(places)
        for before in self._before(visitor):
            if before in places or free > 0:
                warm -= 1
                free -= before not in places
        if warm > 0 and (visitor in places or free > 0):
            if visitor in self._line:
                self._line[visitor] = now
            return True
        if visitor in self._line or len(self._line) < _MOST_WAITING:
            self._line[visitor] = now
        return False

    def enter(self, visitor: str, warm: int, now: float) -> bool:
        """As `may_enter`; then the place is taken at once, before its kernel is handed out."""
        if not self.may_enter(visitor, warm, now):
            return False
        self._line.pop(visitor, None)
        self._holds[visitor] = now + self._keep
        return True

    def ahead(self, visitor: str) -> int:
        """How many stand before the visitor."""
        return len(self._before(visitor))

    def _before(self, visitor: str) -> list[str]:
        line = list(self._line)
        return line[: line.index(visitor)] if visitor in self._line else line

    def places(self) -> set[str]:
        """Who has a place."""
        return self._holds.keys() | self._kernels.keys()

    def _forget(self, now: float) -> None:
        self._line = {who: asked for who, asked in self._line.items() if now - asked <= self._patience}
        self._holds = {who: until for who, until in self._holds.items() if until >= now}

    # The kernels.

    def seat(self, visitor: str, kernel: str, now: float) -> str | None:
        """Give the visitor a kernel; the one it replaces, if there was one."""
        former = self._kernels.get(visitor)
        if former is not None:
            del self._owners[former]
            self._seen.pop(former, None)
            self._former[former] = visitor
            if len(self._former) > _MOST_FORMER:
                del self._former[next(iter(self._former))]
        self._holds.pop(visitor, None)
        self._kernels[visitor], self._owners[kernel], self._seen[kernel] = kernel, visitor, now
        return former

    def left(self, kernel: str, now: float) -> None:
        """The kernel has ended or its page was closed."""
        visitor = self._owners.pop(kernel, None)
        self._seen.pop(kernel, None)
        if visitor is not None:
            del self._kernels[visitor]
            self._holds[visitor] = now + self._keep

    def owner(self, kernel: str) -> str | None:
        """Whose kernel it is, or was before another tab replaced it."""
        return self._owners.get(kernel) or self._former.get(kernel)

    def state(self, visitor: str, kernel: str) -> State:
        """What the page of that kernel is to be told. Somebody else's kernel is as unknown as one that never was."""
        if self._owners.get(kernel) == visitor:
            return "here"
        return "replaced" if self._former.get(kernel) == visitor else "gone"

    def beat(self, kernel: str, now: float) -> None:
        """The page of the kernel has asked."""
        if kernel in self._seen:
            self._seen[kernel] = now

    def seen(self) -> dict[str, float]:
        """When the page of each kernel last asked."""
        return dict(self._seen)
