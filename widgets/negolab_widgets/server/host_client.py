"""The gate's client of the host's socket for seats."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx2
import msgspec

from negolab.studies.metrics import GateNumbers
from negolab_widgets.server.requests import RefusedRequest

_NO_QUERY: Mapping[str, str] = MappingProxyType({})


class Unreachable(RefusedRequest):
    """The host does not answer, for now."""

    def __init__(self) -> None:
        super().__init__(503, after=2)


class Denied(RefusedRequest):
    """The host does not know the token, or not any more; says why in one sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(403, why)


class TokenInfo(NamedTuple):
    """The host's answer on a token. `visitor` is None for the open link, which gives everybody a link of their own;
    `by_open`: who holds the token came by the open link."""

    visitor: str | None
    title: str
    by_open: bool = False


MAX_KNOWN = 10_000
"""Tokens whose last answer is kept."""
BELIEVED = 10.0
"""Seconds for which the host's answer on a good token is believed."""


class HostClient:
    """Ask the host over its Unix socket; each call opens a new connection, so that a host started again is found.

    The last answers on good tokens are kept by digests, so that nobody who reads this memory has a link.
    """

    def __init__(self, socket: str, timeout: float = 10.0) -> None:
        self._client = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(uds=socket, limits=httpx2.Limits(max_keepalive_connections=0)),
            base_url="http://host",
            timeout=timeout,
        )
        self._known: dict[bytes, tuple[TokenInfo, float]] = {}

    async def check(self) -> None:
        """Raise `Unreachable` if the host or its database is away."""
        try:
            response = await self._client.get("/health")
        except httpx2.HTTPError:
            raise Unreachable from None
        if response.status_code != 200:
            raise Unreachable

    def known(self, token: str, within: float = inf) -> TokenInfo | None:
        """Return the last answer on a good token, if it came in these last seconds."""
        info, at = self._known.get(_digest(token), (None, -inf))
        return info if time.monotonic() - at <= within else None

    async def admit(self, token: str, query: Mapping[str, str] = _NO_QUERY) -> TokenInfo:
        """Look up a token; uses nothing up. `query` is what came with a link, such as the id that a panel adds.

        While the host is away its last answer holds, so that the pages of those who are there stay open.
        """
        digest = _digest(token)
        try:
            answer = await self._post("/admit", {"token": token, "query": dict(query)})
            info = TokenInfo(answer["visitor"], answer["title"], answer.get("link") == "open")
        except Denied:
            self._known.pop(digest, None)
            raise
        except Unreachable:
            if (last := self.known(token)) is None:
                raise
            info = last
        self._known.pop(digest, None)
        self._known[digest] = info, time.monotonic()
        if len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return info

    async def join(self, token: str, query: Mapping[str, str] = _NO_QUERY) -> str:
        """Return the personal token behind a link; the open link makes a new participant."""
        return str((await self._post("/join", {"token": token, "query": dict(query)}))["token"])

    async def bind(self, token: str, kernel: str) -> None:
        """Let this kernel, and no other, speak for the participant from now on."""
        await self._post("/bind", {"token": token, "kernel": kernel})

    async def away(self, kernel: str, is_away: bool) -> None:
        """Say that the person at a kernel's page may be gone, or is back."""
        await self._post("/away", {"kernel": kernel, "away": is_away})

    async def report(self, numbers: GateNumbers) -> None:
        """Report what the researcher's monitor shows of the participants' server."""
        await self._post("/gate", msgspec.structs.asdict(numbers))

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            response = await self._client.post(path, json=body)
            answer: dict[str, Any] = response.json() if response.status_code != 204 else {}
        except (httpx2.HTTPError, ValueError):
            raise Unreachable from None
        if response.status_code == 403:
            raise Denied(str(answer.get("why", "")))
        if response.status_code not in (200, 204):
            raise Unreachable
        return answer


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
