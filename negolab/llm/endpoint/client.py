"""HTTP client of one endpoint in one event loop: `openai` for addresses and headers, aiohttp for transport.

`openai` takes 0.3 s to import, so this module is imported at the first call to a model.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncGenerator, Coroutine, Generator, Mapping
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
import openai
from aiohttp.abc import AbstractStreamWriter
from typing_extensions import override

from negolab.llm.endpoint.errors import (
    AttemptFailed,
    BadResponse,
    RunFailed,
    Unreachable,
    decode_json,
    decode_text,
    raise_for,
)
from negolab.llm.endpoint.keys import Key
from negolab.match import replace_surrogates


class EagerCoroutine(Generator[Any, Any, None], Coroutine[Any, Any, None]):
    """A coroutine that runs up to its first suspension at once; a task made of it goes on from there."""

    def __init__(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self._coroutine = coroutine
        self._awaited: list[Any] = []
        self._is_done = False
        try:
            self._awaited.append(coroutine.send(None))
        except StopIteration:
            self._is_done = True

    @override
    def send(self, value: Any) -> Any:
        if self._is_done:
            raise StopIteration
        return self._awaited.pop() if self._awaited else self._coroutine.send(value)

    @override
    def throw(self, *error: Any) -> Any:
        if self._is_done:
            raise error[0]
        self._awaited.clear()
        return self._coroutine.throw(*error)

    @override
    def close(self) -> None:
        self._coroutine.close()

    @override
    def __await__(self) -> Generator[Any, Any, None]:
        return self


class EagerRequest(aiohttp.ClientRequest):
    """A request whose body is written at once.

    Before Python 3.12 aiohttp writes each body in a task that runs after everything else that is ready: with 50 answers
    at once, 50 connections lie idle until the last of them has been read. From 3.12 on tasks start eagerly.
    """

    @override
    def write_bytes(self, writer: AbstractStreamWriter, *args: Any) -> Coroutine[Any, Any, None]:
        return EagerCoroutine(super().write_bytes(writer, *args))


REQUEST_CLASS: type[aiohttp.ClientRequest] = aiohttp.ClientRequest if sys.version_info >= (3, 12) else EagerRequest


def proxy_for(url: str) -> str | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY name for an address; None: no proxy.

    Raises:
        RunFailed: The proxy's address is not one of HTTP.
    """
    target, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(target.netloc) or _excluded(target, proxies.get("no", "")):
        return None
    address = proxy if "://" in proxy else f"http://{proxy.removeprefix('//')}"
    if not _is_http_proxy(address):
        raise RunFailed(f"{url}: the environment names no proxy of HTTP for it: set another, or NO_PROXY")
    return address


def _excluded(target: SplitResult, no_proxy: str) -> bool:
    """Match the forms of NO_PROXY that the standard library does not: networks, protocols, and stars in a list."""
    return any(_entry_matches(entry.strip(), target) for entry in no_proxy.split(","))


def _entry_matches(entry: str, target: SplitResult) -> bool:
    protocol, _, name = entry.rpartition("://")
    host = target.hostname or ""
    if protocol not in ("", "all", target.scheme):
        return False
    if name == "*":
        return True
    try:
        return ip_address(host) in ip_network(name.strip("[]"), strict=False)
    except ValueError:  # one of them is no number
        domain = name.removeprefix("*").lstrip(".").lower()
        return bool(domain) and f".{host}".endswith(f".{domain}")


def _is_http_proxy(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or brackets that are none
        return False


CONNECT_SECONDS = 30.0
IDLE_SECONDS = 4.0
"""Longest idle time of a connection that is used again: many servers close theirs after five seconds."""
LISTING_SECONDS = 20.0
MAX_BODY = 8 * 2**20
"""Bytes of an answer; long reasoning takes a tenth of that."""
OMITTED_PLATFORM_HEADERS = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""Headers about this machine that `openai` would send to every endpoint."""


class Response(NamedTuple):
    """An HTTP response, with the key removed from its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """Send requests and return responses; `Unreachable` or `BadResponse` where none response.

    `openai` provides address and headers. aiohttp, on which its own backend is built, sends the requests: `openai` and
    httpx2 would take several times as long for each of them.
    """

    def __init__(self, url: str, key: Key) -> None:
        self.url = url
        self._key = key
        # The system's certificates take 20 ms to read; without encryption an empty context does.
        is_https = url.startswith("https:")
        trusted = httpx2.create_ssl_context() if is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unused_backend = openai.DefaultAioHttpClient(verify=trusted, trust_env=False)
        package = openai.AsyncOpenAI(
            api_key="-", base_url=url, default_headers=_omitted_headers(url), http_client=unused_backend
        )
        base = str(package.base_url).rstrip("/")
        self._chats, self._listing = f"{base}/chat/completions", f"{base}/models"
        self._default_headers = {
            name: value for name, value in package.default_headers.items() if isinstance(value, str)
        }
        self._session = aiohttp.ClientSession(
            request_class=REQUEST_CLASS,
            # The call queue bounds the concurrency, so the pool does not (0: no bound).
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, ssl=trusted),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            proxy=proxy_for(url),
        )

    async def complete(self, body: bytes, seconds: float) -> Response:
        """POST a chat completion; `seconds` cover everything up to the last byte."""
        return await self._request("POST", self._chats, body, seconds)

    async def list_models(self) -> list[str]:
        """Return the names of the models that the endpoint lists; RunFailed if it lists none."""
        try:
            response = await self._request("GET", self._listing, None, LISTING_SECONDS)
            if response.status != 200:
                raise_for(response.status, response.headers, response.body, ())
            return _model_names(decode_json(response.body))
        except AttemptFailed as error:
            raise RunFailed(f"{self.url} lists no models: {error}") from None
        except (ValueError, RecursionError, LookupError, TypeError):
            raise RunFailed(f"{self.url} lists no models: its answer is no list of them") from None

    async def _request(self, method: str, url: str, body: bytes | None, seconds: float) -> Response:
        # Per request, because a proxy would get the session's headers as well.
        headers = {**self._default_headers, "Authorization": self._key.header()}
        try:
            # Time-outs of aiohttp are per read: a trickle would outlive them.
            async with asyncio.timeout(seconds):
                request = self._session.request(method, url, headers=headers, data=body, allow_redirects=False)
                async with request as response:
                    content = await _read_body(response.content)
        except (aiohttp.ClientError, UnicodeError) as error:
            raise _translate_error(error, self.url) from None
        except TimeoutError:
            raise Unreachable(f"no answer within {seconds:g} s", is_free=False) from None
        except OSError as error:
            raise _translate_error(error, self.url) from None
        # A server may repeat the key that it was sent, in an error or an answer.
        if b"\0" in content:  # UTF-16 or UTF-32, in which the key would not be found
            content = decode_text(content).encode()
        return Response(response.status, response.headers, self._key.redact_body(content))

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


async def _read_body(content: aiohttp.StreamReader) -> bytes:
    """Read a whole body, decompressed; BadResponse for one that is too long."""
    parts, size = [], 0
    while part := await content.readany():
        size += len(part)
        if size > MAX_BODY:
            raise BadResponse(f"the answer is longer than {MAX_BODY // 2**20} MB")
        parts.append(part)
    return b"".join(parts)


def _model_names(models: Any) -> list[str]:
    """Return the names in a list of models; entries without one are skipped."""
    listed = models["data"]
    if not isinstance(listed, list):
        raise TypeError("no list")
    ids = (model.get("id") for model in listed if isinstance(model, dict))
    return [replace_surrogates(name) for name in ids if isinstance(name, str) and name]


def _omitted_headers(url: str) -> dict[str, Any]:
    """Omit headers of `openai`: the environment's key, this machine; organization and project except at OpenAI."""
    omitted = ["Authorization", *(f"X-Stainless-{name}" for name in OMITTED_PLATFORM_HEADERS)]
    if urlsplit(url).hostname != "api.openai.com":
        omitted += ["OpenAI-Organization", "OpenAI-Project"]
    return {name: openai.Omit() for name in omitted}


def _translate_error(error: Exception, url: str) -> AttemptFailed | RunFailed:
    """Translate an error of aiohttp by its kind: its text may quote headers."""
    match error:
        case aiohttp.ClientSSLError():
            return RunFailed(f"{url}: its certificate or encryption is not accepted")
        case aiohttp.InvalidURL() | UnicodeError():
            return RunFailed(f"{url} is no address that can be asked")
        case aiohttp.ClientProxyConnectionError():
            return Unreachable(f"the proxy: {_system_message(error)}", is_free=True)
        case aiohttp.ClientConnectorError():
            return Unreachable(_system_message(error), is_free=True)
        case aiohttp.ConnectionTimeoutError():
            return Unreachable(f"no connection within {CONNECT_SECONDS:g} s", is_free=True)
        case aiohttp.ClientHttpProxyError():
            return BadResponse(f"the proxy answers HTTP {error.status}", is_free=True)
        case aiohttp.ClientResponseError():
            return BadResponse("what came is no answer in HTTP")
        case _:
            return BadResponse("the connection was dropped before the answer was complete")


def _system_message(error: aiohttp.ClientConnectorError) -> str:
    """Return the system's text for a connection that could not be made."""
    number = error.os_error.errno
    return (os.strerror(number) if isinstance(number, int) and number > 0 else "unknown host").lower()


_lifetimes: dict[Client, AsyncGenerator[Client, None]] = {}


async def open_client(url: str, key: Key) -> Client:
    """Open a client that is closed with its event loop, because a loop that ends closes its generators."""
    lifetime = _client_lifetime(url, key)
    client = await anext(lifetime)
    _lifetimes[client] = lifetime
    return client


async def close_client(client: Client) -> None:
    """Close a client before its event loop ends."""
    await _lifetimes[client].aclose()


async def _client_lifetime(url: str, key: Key) -> AsyncGenerator[Client, None]:
    client = Client(url, key)
    try:
        yield client
    finally:
        _lifetimes.pop(client, None)
        await client.close()
