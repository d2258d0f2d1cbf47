"""One connection pool to one endpoint, in one event loop: the `openai` package with its own retries off.

The package takes 0.3 s to import, so this module is imported by those who talk to a model, at their first call.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import httpx2
import openai

from negolab.match import clean
from negolab.players.endpoint.eager import REQUEST
from negolab.players.endpoint.failures import RunFailed
from negolab.players.endpoint.keys import Key
from negolab.players.endpoint.proxy import proxy
from negolab.players.endpoint.trouble import Broken, Silent, Trouble, parsed, raise_for, words

CONNECT_SECONDS = 30.0
IDLE_SECONDS = 4.0
"""A connection that was idle for longer is not used again: many servers close theirs after five seconds."""
LISTING_SECONDS = 20.0
LONGEST = 8 * 2**20
"""Bytes of an answer: a long thought has a tenth of that, and what an endpoint sends has to fit into memory."""
UNSAID = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""What the package would tell every endpoint about this machine."""


class Came(NamedTuple):
    """What an endpoint sent back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """Sends requests and returns what came; raises `Silent` or `Broken` where nothing did.

    The package says where requests go and with which headers. They are sent by aiohttp, of which its own backend is
    made: what the package and httpx2 would do anew for each of them takes several times as long.
    """

    def __init__(self, url: str, key: Key) -> None:
        self.url = url
        self._key = key
        # The system's certificates take 20 ms to read. Without encryption none is needed; without any, none is trusted.
        is_https = url.startswith("https:")
        trusted = httpx2.create_ssl_context() if is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        idle = openai.DefaultAioHttpClient(verify=trusted, trust_env=False)
        package = openai.AsyncOpenAI(api_key="-", base_url=url, default_headers=_headers(url), http_client=idle)
        base = str(package.base_url).rstrip("/")
        self._chats, self._listing = f"{base}/chat/completions", f"{base}/models"
        self._said = {name: value for name, value in package.default_headers.items() if isinstance(value, str)}
        self._session = aiohttp.ClientSession(
            request_class=REQUEST,
            # The scheduler bounds the calls at once, so the pool does not (0: no bound).
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, ssl=trusted),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            proxy=proxy(url),
        )

    async def complete(self, body: bytes, seconds: float) -> Came:
        """POST a chat completion; the time covers everything up to the last byte."""
        return await self._sent("POST", self._chats, body, seconds)

    async def names(self) -> list[str]:
        """The models that the endpoint lists; `RunFailed` if it lists none."""
        try:
            came = await self._sent("GET", self._listing, None, LISTING_SECONDS)
            if came.status != 200:
                raise_for(came.status, came.headers, came.body, ())
            return _ids(parsed(came.body))
        except Trouble as trouble:
            raise RunFailed(f"{self.url} lists no models: {trouble}") from None
        except (ValueError, RecursionError, LookupError, TypeError):
            raise RunFailed(f"{self.url} lists no models: its answer is no list of them") from None

    async def _sent(self, method: str, url: str, body: bytes | None, seconds: float) -> Came:
        # Not the session's own headers, which it would send to a proxy as well.
        headers = {**self._said, "Authorization": self._key.header()}
        try:
            # Time-outs of the layers below are for each read: a trickle would outlive them.
            async with asyncio.timeout(seconds):
                asked = self._session.request(method, url, headers=headers, data=body, allow_redirects=False)
                async with asked as response:
                    found = await _read(response.content)
        except (aiohttp.ClientError, UnicodeError) as error:
            raise _trouble(error, self.url) from None
        except TimeoutError:
            raise Silent(f"no answer within {seconds:g} s", free=False) from None
        except OSError as error:
            raise _trouble(error, self.url) from None
        # A server may repeat the key that it was sent, in an error or an answer: it stops here.
        if b"\0" in found:  # another UTF, in which the key would not be found
            found = words(found).encode()
        return Came(response.status, response.headers, self._key.hidden_in_bytes(found))

    async def close(self) -> None:
        """End all connections."""
        await self._session.close()


async def _read(content: aiohttp.StreamReader) -> bytes:
    """All of a body, unpacked; `Broken` for one that is too long. What is not read by then never will be."""
    parts, size = [], 0
    while part := await content.readany():
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


def _headers(url: str) -> dict[str, Any]:
    """What is left out of the package's headers: its own key, lest that of the environment goes out; what it says of
    this machine; and the organization and project that the environment names, which are told to OpenAI only."""
    left_out = ["Authorization", *(f"X-Stainless-{about}" for about in UNSAID)]
    if urlsplit(url).hostname != "api.openai.com":
        left_out += ["OpenAI-Organization", "OpenAI-Project"]
    return {name: openai.Omit() for name in left_out}


def _trouble(error: Exception, url: str) -> Trouble | RunFailed:
    """What a failure of the layers below means. Their words may quote headers: only kinds and the system's words are
    passed on."""
    match error:
        case aiohttp.ClientSSLError():
            return RunFailed(f"{url}: its certificate or encryption is not accepted")
        case aiohttp.InvalidURL() | UnicodeError():
            return RunFailed(f"{url} is no address that can be asked")
        case aiohttp.ClientProxyConnectionError():
            return Silent(f"the proxy: {_system(error)}", free=True)
        case aiohttp.ClientConnectorError():
            return Silent(_system(error), free=True)
        case aiohttp.ConnectionTimeoutError():
            return Silent(f"no connection within {CONNECT_SECONDS:g} s", free=True)
        case aiohttp.ClientHttpProxyError():
            return Broken(f"the proxy answers HTTP {error.status}", free=True)
        case aiohttp.ClientResponseError():
            return Broken("what came is no answer in HTTP")
        case _:
            return Broken("the connection was dropped before the answer was complete")


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
