"""Admission of visitors to kernels: first come, first served, but after those who had fewer recently.

No I/O is done here; the time is an argument.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Literal

KernelState = Literal["here", "gone", "replaced"]

_MAX_FORMER = 1000
_MAX_WAITING = 1000
CALLED = 3.0
"""Seconds for which a kernel is held for a visitor who was told to come in; a page comes right away."""
LATELY = 600.0
"""Seconds for which a kernel that was handed out counts, so that a visitor who keeps reloading waits for everybody
else."""


class AdmissionQueue:
    """Give each visitor a place with a kernel, or a place in the queue.

    Args:
        most: Number of places.
        patience: Seconds without a request after which a visitor loses their place in the queue.
        keep: Seconds for which a place is kept after its page was closed (long enough for a reload).
    """

    def __init__(self, most: int, patience: float = 10.0, keep: float = 15.0) -> None:
        self._most, self._patience, self._keep = most, patience, keep
        self._waiting: dict[str, float] = {}
        self._called: dict[str, float] = {}  # visitor in the queue -> when first told to come in
        self._reserved_until: dict[str, float] = {}  # place whose kernel is yet to come or has just ended -> until when
        self._owners: dict[str, str] = {}  # kernel -> visitor
        self._former: dict[str, str] = {}  # kernel replaced by another tab -> visitor
        self._seen: dict[str, float] = {}  # kernel -> when its page last asked
        self._handed_out: deque[tuple[float, str]] = deque()  # when and to whom, recently

    # The queue.

    def may_enter(self, visitor: str, warm: int, now: float) -> bool:
        """Return True if it is the visitor's turn, given `warm` ready kernels; otherwise, put the visitor in the
        queue."""
        self._expire(now)
        places = self.places()
        free = self._most - len(places)
        for before in self._waiting_before(visitor):
            if not self._is_late(before, now) and (before in places or free > 0):
                warm -= 1
                free -= before not in places
        if warm > 0 and (visitor in places or free > 0):
            if visitor in self._waiting:
                self._waiting[visitor] = now
                self._called.setdefault(visitor, now)
            return True
        if visitor in self._waiting or len(self._waiting) < _MAX_WAITING:
            self._waiting[visitor] = now
        return False

    def enter(self, visitor: str, warm: int, now: float) -> bool:
        """Like `may_enter`, but also take the place immediately, before its kernel is handed out."""
        if not self.may_enter(visitor, warm, now):
            return False
        self._waiting.pop(visitor, None)
        self._reserved_until[visitor] = now + self._keep
        return True

    def count_ahead(self, visitor: str) -> int:
        """Count the visitors ahead of this one."""
        return len(self._waiting_before(visitor))

    def waiting(self) -> int:
        """Return the number of visitors in the queue."""
        return len(self._waiting)

    def _waiting_before(self, visitor: str) -> list[str]:
        had = Counter(who for _, who in self._handed_out)
        line = sorted(dict.fromkeys([*self._waiting, visitor]), key=had.__getitem__)
        return line[: line.index(visitor)]

    def places(self) -> set[str]:
        """Return the visitors who have a place."""
        return self._reserved_until.keys() | set(self._owners.values())

    def _is_late(self, visitor: str, now: float) -> bool:
        """Return True if the visitor was told to come in but did not, so that nobody waits for them any longer."""
        return now - self._called.get(visitor, now) > CALLED

    def _expire(self, now: float) -> None:
        self._waiting = {who: asked for who, asked in self._waiting.items() if now - asked <= self._patience}
        self._called = {who: called for who, called in self._called.items() if who in self._waiting}
        self._reserved_until = {who: until for who, until in self._reserved_until.items() if until >= now}
        while self._handed_out and now - self._handed_out[0][0] > LATELY:
            self._handed_out.popleft()

    # The kernels.

    def assign_kernel(self, visitor: str, kernel: str, now: float) -> str | None:
        """Give the visitor a kernel, and return the one it replaces, if there was one."""
        self._handed_out.append((now, visitor))
        former = next((held for held, owner in self._owners.items() if owner == visitor), None)
        if former is not None:
            del self._owners[former]
            self._seen.pop(former, None)
            self._former[former] = visitor
            if len(self._former) > _MAX_FORMER:
                del self._former[next(iter(self._former))]
        self._reserved_until.pop(visitor, None)
        self._owners[kernel], self._seen[kernel] = visitor, now
        return former

    def release_kernel(self, kernel: str, now: float) -> None:
        """Note that the kernel has ended or its page was closed."""
        visitor = self._owners.pop(kernel, None)
        self._seen.pop(kernel, None)
        if visitor is not None:
            self._reserved_until[visitor] = now + self._keep

    def owner(self, kernel: str) -> str | None:
        """Return the visitor whose kernel it is, or was before another tab replaced it."""
        return self._owners.get(kernel) or self._former.get(kernel)

    def state(self, visitor: str, kernel: str) -> KernelState:
        """Return the state to report to the kernel's page; somebody else's kernel is as unknown as one that never
        existed."""
        if self._owners.get(kernel) == visitor:
            return "here"
        return "replaced" if self._former.get(kernel) == visitor else "gone"

    def record_page_alive(self, kernel: str, now: float) -> None:
        """Note that the kernel's page has sent a request."""
        if kernel in self._seen:
            self._seen[kernel] = now

    def last_seen(self) -> dict[str, float]:
        """Return when each kernel's page last sent a request."""
        return dict(self._seen)
