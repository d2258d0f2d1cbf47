"""The gate's side of the host's socket for seats."""

from __future__ import annotations

from typing import Any, NamedTuple

import httpx


class Unreachable(Exception):
    """The host does not answer, for now."""


class Denied(Exception):
    """The host knows no such token, or not any more; says why in one sentence."""


class Admission(NamedTuple):
    """What the host says of a token. `visitor` is None for the open link, which gives everybody a link of their own."""

    visitor: str | None
    title: str


class Host:
    """Asks the host over its Unix socket; a new connection each time, so that a host started again is found."""

    def __init__(self, socket: str, timeout: float = 10.0) -> None:
        self._client = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=socket, limits=httpx.Limits(max_keepalive_connections=0)),
            base_url="http://host",
            timeout=timeout,
        )

    async def admit(self, token: str) -> Admission:
        """Whom a token is for; uses nothing up."""
        said = await self._post("/admit", {"token": token})
        return Admission(said["visitor"], said["title"])

    async def join(self, token: str) -> str:
        """The personal token behind a link; the open link makes a new participant."""
        return str((await self._post("/join", {"token": token}))["token"])

    async def bind(self, token: str, kernel: str) -> str | None:
        """From now on this kernel speaks for the participant; the kernel that did so before."""
        replaced = (await self._post("/bind", {"token": token, "kernel": kernel}))["replaced"]
        return None if replaced is None else str(replaced)

    async def _post(self, path: str, body: dict[str, str]) -> dict[str, Any]:
        try:
            answer = await self._client.post(path, json=body)
            said: dict[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError):
            raise Unreachable from None
        if answer.status_code == 403:
            raise Denied(str(said.get("why", "")))
        if answer.status_code != 200:
            raise Unreachable
        return said
