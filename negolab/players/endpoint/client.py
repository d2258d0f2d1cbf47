"""One connection pool to one endpoint, in one event loop: the `openai` package with its own retries off.

The package takes 0.3 s to import, so this module is imported by those who talk to a model, at their first call.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import aiohttp
import httpx2
import openai

from negolab.match import clean
from negolab.players.endpoint.failures import RunFailed
from negolab.players.endpoint.keys import Key
from negolab.players.endpoint.trouble import Broken, Silent, Trouble, parsed, raise_for, words

CONNECT_SECONDS = 30.0
IDLE_SECONDS = 4.0
"""A connection that was idle for longer is not used again: many servers close theirs after five seconds."""
LISTING_SECONDS = 20.0
LONGEST = 8 * 2**20
"""Bytes of an answer: a long thought has a tenth of that, and what an endpoint sends has to fit into memory."""
UNSAID = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""What the package would tell every endpoint about this machine."""
FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError, OSError)
"""What the layers below raise where no answer came; some of aiohttp's own pass through all of them."""
Error = TypeVar("Error", bound=BaseException)


class Came(NamedTuple):
    """What an endpoint sent back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """Sends requests and returns what came; raises `Silent` or `Broken` where nothing did."""

    def __init__(self, url: str, key: Key) -> None:
        self.url = url
        self._key = key
        # The scheduler bounds the calls at once, so the pool does not (0: no bound).
        limits = httpx2.Limits(max_connections=0, keepalive_expiry=IDLE_SECONDS)
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        # The system's certificates take 20 ms to read. Without encryption none is needed; without any, none is trusted.
        trusted = True if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._pool = openai.DefaultAioHttpClient(limits=limits, timeout=timeout, verify=trusted, follow_redirects=False)
        self._openai = openai.AsyncOpenAI(
            api_key="-",
            base_url=url,
            max_retries=0,
            timeout=timeout,
            default_headers=_headers(url, key),
            http_client=self._pool,
        )
        base = str(self._openai.base_url).rstrip("/")
        self._chats, self._listing = httpx2.URL(f"{base}/chat/completions"), httpx2.URL(f"{base}/models")
        said = self._openai.default_headers
        self._said = httpx2.Headers({name: value for name, value in said.items() if isinstance(value, str)})
        self._timeout = {"timeout": timeout.as_dict()}

    async def complete(self, body: bytes, seconds: float) -> Came:
        """POST a chat completion; the time covers everything up to the last byte.

        What the package would do anew for every call (half of a call's CPU) is done once: its address, headers and
        connections are used, its request is not built.
        """
        return await self._sent(
            httpx2.Request("POST", self._chats, headers=self._said, content=body, extensions=self._timeout), seconds
        )

    async def names(self) -> list[str]:
        """The models that the endpoint lists; `RunFailed` if it lists none."""
        try:
            came = await self._sent(
                httpx2.Request("GET", self._listing, headers=self._said, extensions=self._timeout), LISTING_SECONDS
            )
            if came.status != 200:
                raise_for(came.status, came.headers, came.body, ())
            return _ids(parsed(came.body))
        except Trouble as trouble:
            raise RunFailed(f"{self.url} lists no models: {trouble}") from None
        except (ValueError, RecursionError, LookupError, TypeError):
            raise RunFailed(f"{self.url} lists no models: its answer is no list of them") from None

    async def _sent(self, request: httpx2.Request, seconds: float) -> Came:
        # The package's own time-outs are for each read: a trickle would outlive them.
        try:
            async with asyncio.timeout(seconds):
                response = await self._pool.send(request, stream=True)
                try:
                    body = await _read(response)
                finally:
                    await response.aclose()
            # A server may repeat the key that it was sent, in an error or an answer: it stops here.
            if b"\0" in body:  # another UTF, in which the key would not be found
                body = words(body).encode()
            return Came(response.status_code, response.headers, self._key.hidden_in_bytes(body))
        except TimeoutError:
            raise Silent(f"no answer within {seconds:g} s", free=False) from None
        except FAILURES as error:
            raise _trouble(error, self.url) from None

    async def close(self) -> None:
        """End all connections."""
        await self._openai.close()


async def _read(response: httpx2.Response) -> bytes:
    """All of a body, unpacked; `Broken` for one that is too long. What is not read by then never will be."""
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > LONGEST:
            raise Broken(f"the answer is longer than {LONGEST // 2**20} MB")
        parts.append(part)
    return b"".join(parts)


def _ids(found: Any) -> list[str]:
    """The names in a list of models; what has none is passed over."""
    listed = found["data"]
    if not isinstance(listed, list):
        raise TypeError("no list")
    ids = (model.get("id") for model in listed if isinstance(model, dict))
    return [clean(name) for name in ids if isinstance(name, str) and name]


def _headers(url: str, key: Key) -> dict[str, Any]:
    """The key in the header itself, so that no other of the environment goes out in its place; the organization and
    project that the environment names are told to OpenAI only."""
    left_out = [f"X-Stainless-{about}" for about in UNSAID]
    if urlsplit(url).hostname != "api.openai.com":
        left_out += ["OpenAI-Organization", "OpenAI-Project"]
    return {"Authorization": key.header(), **{name: openai.Omit() for name in left_out}}


def _trouble(error: Exception, url: str) -> Trouble | RunFailed:
    """What a failure of the layers below means. Their words may quote headers: only kinds and the system's words are
    passed on."""
    if _cause(error, aiohttp.ClientSSLError):
        return RunFailed(f"{url}: its certificate or encryption is not accepted")
    if _cause(error, aiohttp.InvalidURL):
        return RunFailed(f"{url} is no address that can be asked")
    if refused := _cause(error, aiohttp.ClientConnectorError):
        return Silent(_system(refused), free=True)
    if _cause(error, aiohttp.ConnectionTimeoutError):
        return Silent(f"no connection within {CONNECT_SECONDS:g} s", free=True)
    return Broken("the connection was dropped before the answer was complete")


def _cause(error: BaseException | None, kind: type[Error]) -> Error | None:
    """The first of a kind in a chain of causes."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error


def _system(refused: aiohttp.ClientConnectorError) -> str:
    """The system's own words for a connection that could not be made."""
    number = refused.os_error.errno
    return (os.strerror(number) if isinstance(number, int) and number > 0 else "unknown host").lower()


_open: dict[Client, AsyncGenerator[Client, None]] = {}


async def opened(url: str, key: Key) -> Client:
    """A client for as long as its event loop runs: a loop that ends closes its generators, and this one its client."""
    life = _life(url, key)
    client = await anext(life)
    _open[client] = life
    return client


async def closed(client: Client) -> None:
    """End a client before its event loop does."""
    await _open[client].aclose()


async def _life(url: str, key: Key) -> AsyncGenerator[Client, None]:
    client = Client(url, key)
    try:
        yield client
    finally:
        _open.pop(client, None)
        await client.close()
