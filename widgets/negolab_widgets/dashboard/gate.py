"""`python -m negolab_widgets.dashboard.gate NOTEBOOK --Gate.seats=SOCKET ...`: the participants' Voila.

Whoever has no valid link gets a small page and no kernel. Whoever has one gets a kernel that is already warm, or waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from traitlets import Bool, Float, Integer, Unicode
from typing_extensions import override

from negolab_widgets.dashboard.crowds import Crowds
from negolab_widgets.dashboard.door import Door
from negolab_widgets.dashboard.entrance import Entry, Join, Waiting
from negolab_widgets.dashboard.front import Refused
from negolab_widgets.dashboard.host import Admission, Denied, Host, Unreachable
from negolab_widgets.dashboard.pool import Warm
from negolab_widgets.dashboard.rates import Buckets
from negolab_widgets.dashboard.server import Server
from negolab_widgets.dashboard.tokens import Tokens
from negolab_widgets.dashboard.visitors import State, Visitors

FAREWELL = 6.0
"""Seconds after which a replaced kernel is ended: its page has been told by then."""
SILENT = 12.0
"""Seconds without a beat of a page (they come every four) after which its person counts as away."""
MANY = "Many people have just come from where you are. Please try again in a moment."


class Gate(Server):
    """The participants' server."""

    seats = Unicode("", config=True, help="The host's socket for seats.")
    max_kernels = Integer(30, config=True, help="Visitors who have a kernel at the same time.")
    keep_place = Float(15.0, config=True, help="Seconds for which a place is kept after its page was closed.")
    patience = Float(10.0, config=True, help="Seconds without asking after which a place in the line is lost.")
    check_token = Bool(True, config=True)
    check_owner = Bool(True, config=True)

    kind = "gate"
    # What a visitor sends to a kernel must not write to the terminal of the one who serves.
    kernel_options: ClassVar[dict[str, Any]] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    @override
    def initialize(self, argv: list[str] | None = None) -> None:
        super().initialize(argv)
        self.host = Host(self.seats)
        self.visitors = Visitors(self.max_kernels, self.patience, self.keep_place)
        self.openings = Buckets(rate=0.2, burst=6)  # how often one visitor may ask for a new kernel
        # A class behind one address may come together; a program that makes people of itself must go slowly.
        self.newcomers = Buckets(rate=1 / 20, burst=40)
        self.crowds = Crowds(max(1, self.max_kernels * 3 // 4))
        self._by_open: set[str] = set()
        self._silent: set[str] = set()
        self.tokens = Tokens()

    @override
    def pages(self) -> list[tuple[Any, ...]]:
        return [(r"", Entry), (r"join/([A-Za-z0-9._~-]{1,300})", Join), (r"waiting", Waiting)]

    @override
    def fault(self) -> str:
        if not (self.check_token and self.check_owner):
            return "the check of tokens or owners"
        return super().fault()

    # Tokens.

    def shown(self, door: Door) -> str:
        """The token that the browser shows."""
        return (door.get_cookie(self.cookie) or "")[:300]

    @override
    async def admitted(self, door: Door) -> str:
        token = self.shown(door)
        if not self.check_token:
            return token or "anyone"
        if not token:
            raise Refused(403)
        known = self.tokens.visitor(token)
        if known is not None:
            return known
        visitor = (await self.admission(door, token)).visitor
        if visitor is None:  # the open link is nobody's seat
            raise Refused(403)
        return visitor

    async def admission(self, door: Door, token: str, query: Mapping[str, str] | None = None) -> Admission:
        """What the host says of a token; too many bad ones from one address, and it is not asked."""
        # A token that was good before is no guess: its owner is not held up by others behind the same address.
        is_guess = not self.tokens.known(token)
        if is_guess:
            self.front.attempt(door.request)
        try:
            found = await self.host.admit(token, query or {})
        except Denied as denied:
            self.tokens.forget(token)
            raise Refused(403, str(denied)) from None
        except Unreachable:
            raise Refused(503, after=2) from None
        if is_guess:
            self.front.was_good(door.request)
        if found.visitor is not None:
            if found.by_open:
                self._by_open.add(found.visitor)
            self.tokens.remember(token, found.visitor)
        return found

    async def is_good(self, token: str) -> bool:
        """Whether a token that a browser holds is still somebody's."""
        if self.tokens.visitor(token) is not None:
            return True
        try:
            return (await self.host.admit(token)).visitor is not None
        except (Denied, Unreachable):
            return False

    async def join(self, door: Door, token: str, query: Mapping[str, str], *, is_open: bool) -> str:
        """The personal token behind a link. The open one makes only so many new people for one address."""
        wait = self.newcomers.take(self.front.address(door.request)) if is_open and self.limit_rates else 0
        if wait:
            raise Refused(429, MANY, after=wait)
        try:
            own = await self.host.join(token, query)
        except Denied as denied:
            raise Refused(403, str(denied)) from None
        except Unreachable:
            raise Refused(503, after=2) from None
        if is_open:
            self._by_open.add(own.visitor)
        return own.token

    # Kernels.

    async def hand_out(self, door: Door) -> Warm | None:
        """A kernel for whose turn has come; None: wait. It speaks for the participant before its page is sent."""
        await self.pool.tidy()  # a kernel that died while it was warm is given to nobody
        if self.crowded(door) or not self.visitors.enter(door.visitor, len(self.pool), time.monotonic()):
            return None
        if self.limit_rates and (wait := self.openings.take(door.visitor)):
            raise Refused(429, after=wait)
        warm = self.pool.take()
        assert warm is not None, "the line lets nobody in without a warm kernel"
        if self.check_token:
            await self._bind(self.shown(door), warm.kernel)
        former = self.visitors.seat(door.visitor, warm.kernel, time.monotonic())
        if former is not None:
            self.later(self._end_later(former))
        return warm

    def crowded(self, door: Door) -> bool:
        """Whether enough of those who came by the open link are there from that address."""
        if not self.limit_rates or door.visitor not in self._by_open:
            return False
        return self.crowds.full(door.visitor, self.front.address(door.request), self.visitors.places())

    async def _bind(self, token: str, kernel: str) -> None:
        """Tell the host. A kernel of which it is not sure whether it was told is given to nobody else."""
        try:
            await self.host.bind(token, kernel)
        except (Denied, Unreachable) as error:
            self.later(self._shutdown(kernel))
            raise Refused(403, str(error)) if isinstance(error, Denied) else Refused(503, after=2) from None

    async def _end_later(self, kernel: str) -> None:
        await asyncio.sleep(FAREWELL)
        await self._shutdown(kernel)

    @override
    def owns(self, visitor: str, kernel: str) -> bool:
        if not self.check_owner:
            return kernel in self.kernel_manager
        return self.visitors.owner(kernel) == visitor and kernel in self.kernel_manager

    @override
    async def state(self, visitor: str, kernel: str) -> State:
        state = self.visitors.state(visitor, kernel)
        if state == "here" and not await self.lives(kernel):
            await self.end(kernel)
            return "gone"
        if state == "here":
            self.visitors.beat(kernel, time.monotonic())
            if kernel in self._silent:
                self.later(self._tell_away(kernel, False))
        return state

    @override
    async def sweep(self) -> None:
        now = time.monotonic()
        heard = self.visitors.seen()
        self._silent &= heard.keys()
        for kernel, seen in heard.items():
            if now - seen > SILENT:
                # Told anew each time: the host may have been started again.
                self.later(self._tell_away(kernel, True))
        await super().sweep()

    async def _tell_away(self, kernel: str, is_away: bool) -> None:
        """Tell the host. What it did not hear, it is told with the next beat or sweep."""
        if is_away:
            self._silent.add(kernel)
        with contextlib.suppress(Denied, Unreachable):
            await self.host.away(kernel, is_away)
            if not is_away:
                self._silent.discard(kernel)

    @override
    def watched(self) -> dict[str, float]:
        return self.visitors.seen()

    @override
    async def end(self, kernel: str) -> None:
        self.visitors.left(kernel, time.monotonic())
        await super().end(kernel)


if __name__ == "__main__":
    Gate.launch_instance()
