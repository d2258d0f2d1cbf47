"""The gate's client for the host's socket for seats."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import httpx2

from negolab_widgets.server.requests import RefusedRequest


class Unreachable(RefusedRequest):
    """The host does not answer at the moment."""


class Denied(RefusedRequest):
    """The host does not know the token, or no longer does; the message says why in one sentence."""


class TokenInfo(NamedTuple):
    """The host's answer about a token. `visitor` is None for the open link, which gives everybody their own link;
    `by_open`: the token's holder came by the open link. `names`: the open link carries a panel's ID."""

    visitor: str | None
    title: str
    by_open: bool = False
    names: bool = False


MAX_KNOWN = 10_000
"""Maximum number of tokens whose last answer is kept."""
BELIEVED = 10.0
"""Seconds for which the host's answer about a valid token is trusted."""


class HostClient:
    """Ask the host over its Unix socket; each call opens a new connection, so that a restarted host is found.

    The last answers about valid tokens are stored by digest, so that nobody who reads this memory obtains a link.
    """

    def __init__(self, socket: str) -> None:
        self._client = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(uds=socket, limits=httpx2.Limits(max_keepalive_connections=0)),
            base_url="http://host",
            timeout=10.0,
        )
        self._known: dict[bytes, tuple[TokenInfo, float]] = {}

    def known(self, token: str, within: float = inf) -> TokenInfo | None:
        """Return the last answer about a valid token if it came within the last `within` seconds."""
        info, at = self._known.get(_digest(token), (None, -inf))
        return info if time.monotonic() - at <= within else None

    async def admit(self, token: str, query: Mapping[str, str] | None = None) -> TokenInfo:
        """Look up a token, without using it up. `query` is what came with a link, such as the ID that a panel adds.

        While the host is away, its last answer holds, so that the pages of current visitors stay open.
        """
        digest = _digest(token)
        try:
            answer = await self.ask("/admit", token=token, query=dict(query or {}))
            by_open, names = answer.get("link") == "open", bool(answer.get("names"))
            info = TokenInfo(answer["visitor"], answer["title"], by_open, names)
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

    async def ask(self, path: str, **body: Any) -> dict[str, Any]:
        """Send a request to a route, and return its answer.

        Args:
            path: Path of the route, such as "/bind".
            **body: Fields of the JSON body (none: the route is only read).

        Raises:
            Denied: The host does not know the token.
            Unreachable: The host or its database is away.
        """
        try:
            response = await (self._client.post(path, json=body) if body else self._client.get(path))
            answer: dict[str, Any] = response.json() if response.status_code != 204 else {}
        except (httpx2.HTTPError, ValueError):
            raise Unreachable(503, after=2) from None
        if response.status_code == 403:
            raise Denied(403, str(answer.get("why", "")))
        if response.status_code not in (200, 204):
            raise Unreachable(503, after=2)
        return answer


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
