"""The participants' server: `python -m negolab_widgets.server.gate NOTEBOOK --Gate.seats=SOCKET ...`.

Visitors without a valid link get a small page and no kernel; those with one get a warm kernel, or wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Mapping
from math import inf
from typing import Any, ClassVar

import msgspec
from traitlets import Float, Integer, Unicode
from typing_extensions import override

from negolab.studies.links import PROXY_CHECK
from negolab.studies.metrics import GateNumbers
from negolab.studies.texts import gate_texts
from negolab_widgets.server.admission import AdmissionQueue, KernelState
from negolab_widgets.server.host_client import BELIEVED, HostClient, TokenInfo
from negolab_widgets.server.kernels import WarmKernel, processor_seconds
from negolab_widgets.server.limits import KIB, MIB, AddressQuota, TokenBuckets
from negolab_widgets.server.requests import CheckedHandler, RefusedRequest
from negolab_widgets.server.routes import JoinPage, ParticipantPage, ProxyCheck, WaitingStatus
from negolab_widgets.server.server import DashboardServer

REPLACED_GRACE = 6.0
"""Seconds after which a replaced kernel is ended; its page has been told by then."""
AWAY_AFTER = 5.0
"""Seconds without a request from a page (sent every four seconds) or an answer to a ping (sent every two) after which
its user counts as away."""
KERNEL_MEMORY = 512 * MIB
"""Limit on a participant's kernel's data, of which it uses some 280 MiB; one that needs more dies, and its page gets a
new one."""
COMPUTING = 0.1
"""Processor seconds that a visitor's kernels may use each second, in addition to a burst."""


class Gate(DashboardServer):
    """Serve participants, each with their own link and kernel."""

    seats = Unicode("", config=True, help="The host's socket for seats.")
    max_kernels = Integer(30, config=True, help="Visitors with a kernel at the same time.")
    keep_place = Float(15.0, config=True, help="Seconds for which a place is kept after its page was closed.")
    patience = Float(10.0, config=True, help="Seconds without asking after which a place in the queue is lost.")
    computing_at_once = Float(60.0, config=True, help="Processor seconds for one visitor's kernels; a page needs few.")

    kind = "gate"
    max_frame = 128 * KIB
    kernel_memory = KERNEL_MEMORY
    # Nothing that a visitor sends to a kernel may write to the server operator's terminal.
    kernel_options: ClassVar[dict[str, Any]] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    @override
    def initialize(self, argv: list[str] | None = None) -> None:
        super().initialize(argv)
        self.host = HostClient(self.seats)
        self.queue = AdmissionQueue(self.max_kernels, self.patience, self.keep_place)
        self.openings = TokenBuckets(rate=0.2, burst=6)  # how often a visitor may ask for a new kernel
        # A class behind one address may arrive together; a program that poses as many people must go slowly.
        self.newcomers = TokenBuckets(rate=1 / 20, burst=40)
        self.crowds = AddressQuota(max(1, self.max_kernels * 3 // 4))
        self._silent: set[str] = set()
        self.computing = TokenBuckets(COMPUTING, self.computing_at_once)
        self._computed: dict[str, float] = {}  # kernel -> processor seconds counted so far

    @override
    def pages(self) -> list[tuple[Any, ...]]:
        return [
            (r"", ParticipantPage),
            (r"join/([A-Za-z0-9._~-]{1,300})", JoinPage),
            (r"waiting", WaitingStatus),
            (PROXY_CHECK, ProxyCheck),
        ]

    # Tokens.

    def browser_token(self, handler: CheckedHandler) -> str:
        """Return the token that the browser sends."""
        return (handler.get_cookie(self.cookie) or "")[:300]

    @override
    async def authenticate(self, handler: CheckedHandler) -> str:
        token = self.browser_token(handler)
        if not token:
            raise RefusedRequest(403)
        info = self.host.known(token, BELIEVED) or await self.look_up_token(handler, token)
        if info.visitor is None:  # the open link is not anyone's seat
            raise RefusedRequest(403)
        return info.visitor

    @override
    def holder(self, handler: CheckedHandler) -> str:
        info = self.host.known(self.browser_token(handler))
        if info is None or info.visitor is None:
            return super().holder(handler)
        self.door.recognise(handler.request, info.visitor)
        return f"visitor {info.visitor}"

    async def look_up_token(
        self, handler: CheckedHandler, token: str, query: Mapping[str, str] | None = None
    ) -> TokenInfo:
        """Ask the host about a token, unless too many invalid ones came from its address."""
        known = self.host.known(token)
        if known is not None and known.visitor is not None:
            # A token that was valid before is not a guess, so others behind the same address do not hold up its owner.
            return await self.host.admit(token, query)
        self.checks.count_guess(handler.request)
        info = await self.host.admit(token, query)
        self.checks.forgive_guess(handler.request)
        return info

    async def is_valid(self, token: str) -> bool:
        """Return True if a token held by a browser still belongs to somebody."""
        try:
            info = self.host.known(token, BELIEVED) or await self.host.admit(token)
        except RefusedRequest:
            return False
        return info.visitor is not None

    async def join(self, handler: CheckedHandler, token: str, query: Mapping[str, str], *, is_open: bool) -> str:
        """Return the personal token behind a link; the open link creates only a limited number of new people per
        address."""
        if is_open and (wait := self.newcomers.take(self.checks.address(handler.request))):
            raise RefusedRequest(429, gate_texts.CROWDED, after=wait)
        return str((await self.host.ask("/join", token=token, query=dict(query)))["token"])

    # Kernels.

    async def hand_out_kernel(self, handler: CheckedHandler) -> WarmKernel | None:
        """Return a kernel if it is the visitor's turn, else None; the kernel is bound to the participant before its
        page is sent."""
        await self.host.ask("/health")  # while it is away, it could not give anyone a seat
        await self.pool.tidy()  # a kernel that died while warm is not given to anyone
        if self.is_over_quota(handler) or not self.queue.enter(handler.visitor, len(self.pool), time.monotonic()):
            return None
        if wait := self.computing.take(handler.visitor, 0) or self.openings.take(handler.visitor):
            raise RefusedRequest(429, after=wait)
        warm = self.pool.take()
        assert warm is not None, "the queue lets nobody in without a warm kernel"
        await self._bind_kernel(self.browser_token(handler), warm.kernel)
        self._computed[warm.kernel] = self._processor_seconds(warm.kernel)
        former = self.queue.assign_kernel(handler.visitor, warm.kernel, time.monotonic())
        if former is not None:
            self.run_later(self._end_later(former))
        return warm

    def is_over_quota(self, handler: CheckedHandler) -> bool:
        """Return True if the open link already has enough visitors from that address."""
        info = self.host.known(self.browser_token(handler))
        if info is None or not info.by_open:
            return False
        return self.crowds.full(handler.visitor, self.checks.address(handler.request), self.queue.places())

    async def _bind_kernel(self, token: str, kernel: str) -> None:
        """Tell the host whose kernel it is; if the host may not have heard, the kernel is not given to anyone else."""
        try:
            await self.host.ask("/bind", token=token, kernel=kernel)
        except RefusedRequest:
            self.run_later(self._shutdown(kernel))
            raise

    async def _end_later(self, kernel: str) -> None:
        await asyncio.sleep(REPLACED_GRACE)
        await self._shutdown(kernel)

    @override
    def owns(self, visitor: str, kernel: str) -> bool:
        return self.queue.owner(kernel) == visitor and kernel in self.kernel_manager

    @override
    async def state(self, visitor: str, kernel: str) -> KernelState:
        state = self.queue.state(visitor, kernel)
        if state == "here" and not await self.is_alive(kernel):
            await self.end(kernel)
            return "gone"
        if state == "here":
            self.hear_of(kernel, is_here=True)
        return state

    @override
    def hear_of(self, kernel: str, *, is_here: bool) -> None:
        if is_here:
            self.queue.record_page_alive(kernel, time.monotonic())
        if is_here == (kernel in self._silent) and (is_here or not self._connections(kernel)):
            self.run_later(self._tell_away(kernel, not is_here))

    @override
    async def sweep(self) -> None:
        now = time.monotonic()
        last_seen = self.queue.last_seen()
        self._silent &= last_seen.keys()
        for kernel, seen in last_seen.items():
            if now - seen > AWAY_AFTER:
                # Told again each time, because the host may have been restarted.
                self.run_later(self._tell_away(kernel, True))
        self._end_busy()
        await super().sweep()
        self.run_later(self._report())

    def _end_busy(self) -> None:
        """End kernels that compute endlessly, which a message can cause; their pages get new ones."""
        self._computed = {kernel: used for kernel, used in self._computed.items() if kernel in self.kernel_manager}
        for kernel, before in list(self._computed.items()):
            self._computed[kernel] = used = max(before, self._processor_seconds(kernel))
            visitor = self.queue.owner(kernel)
            if visitor is not None and self.computing.take(visitor, used - before, patience=inf):
                self.refusals["computing"] += 1
                self.queue.release_kernel(kernel, time.monotonic())
                self.run_later(self._shutdown(kernel, now=True))

    def _processor_seconds(self, kernel: str) -> float:
        return processor_seconds(self.kernel_manager.get_kernel(kernel).provisioner.pid)

    async def _report(self) -> None:
        """Report to the host; anything that did not get through is sent with the next sweep."""
        numbers = GateNumbers(
            kernels=len(self.queue.last_seen()),
            max_kernels=self.max_kernels,
            warm=len(self.pool),
            queue=self.queue.waiting(),
            connections=len(self.door.connections),
            refused=dict(self.refusals),
        )
        with contextlib.suppress(RefusedRequest):
            await self.host.ask("/gate", **msgspec.structs.asdict(numbers))

    async def _tell_away(self, kernel: str, is_away: bool) -> None:
        """Tell the host whether a user is away; if that does not get through, it is sent with the next request or
        sweep."""
        if is_away:
            self._silent.add(kernel)
        with contextlib.suppress(RefusedRequest):
            await self.host.ask("/away", kernel=kernel, away=is_away)
            if not is_away:
                self._silent.discard(kernel)

    @override
    def handed_out(self) -> dict[str, float]:
        return self.queue.last_seen()

    @override
    async def end(self, kernel: str) -> None:
        self.queue.release_kernel(kernel, time.monotonic())
        await super().end(kernel)


if __name__ == "__main__":
    Gate.launch_instance()
