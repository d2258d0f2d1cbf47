"""HTTP client of one endpoint in one event loop: the `openai` package with its aiohttp backend.

`openai` takes 0.3 s to import, so this module is imported at the first call to a model.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import httpx2
import openai
from typing_extensions import override

from negolab.llm.endpoint.errors import (
    AttemptFailed,
    BadResponse,
    GameFailed,
    Overloaded,
    RunFailed,
    Unreachable,
    decode_json,
    decode_text,
    raise_for,
)
from negolab.llm.endpoint.keys import Key
from negolab.llm.endpoint.services import WINDOWS
from negolab.match import replace_surrogates

CONNECT_SECONDS = 8.0
IDLE_SECONDS = 4.0
"""Longest idle time after which a connection is reused: many servers close theirs after five seconds."""
LISTING_SECONDS = 20.0
MAX_BODY = 8 * 2**20
"""Most bytes in an answer; long reasoning takes a tenth of that."""
OMITTED_PLATFORM_HEADERS = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""Headers about this machine that `openai` would send to every endpoint."""
BODY_HEADERS = (b"content-encoding", b"content-length", b"transfer-encoding")
"""Headers that do not apply to a decompressed body."""
JSON: openai.RequestOptions = {"headers": {"Content-Type": "application/json"}}


class BoundedHttpClient(openai.DefaultAioHttpClient):
    """The backend, reading no more than `MAX_BODY` of an answer, decompressed."""

    @override
    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        response = await super().send(request, **{**options, "stream": True})
        parts, size = [], 0
        try:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > MAX_BODY:
                    raise BadResponse(f"the answer is longer than {MAX_BODY // 2**20} MB")
                parts.append(part)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.raw if name.lower() not in BODY_HEADERS]
        return httpx2.Response(response.status_code, headers=headers, content=b"".join(parts), request=request)


class Response(NamedTuple):
    """An HTTP response, with the key removed from its headers and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """Send requests and return responses.

    Raises:
        RunFailed: The address, or the proxy address in the environment, cannot be used.
    """

    def __init__(self, url: str, key: Key) -> None:
        self.url = url
        self.close = self.disconnect
        """Ends the client and, if `open_client` opened it, its lifetime."""
        # Joined here, because `openai` parses each address that it has to join.
        self._chats = f"{url}/chat/completions"
        self._key = key
        try:
            backend = BoundedHttpClient(
                # The call queue bounds the concurrency, so the pool does not (0: no bound).
                limits=httpx2.Limits(max_connections=0, keepalive_expiry=IDLE_SECONDS),
                # Timeouts are per read: a trickle would outlive them, so `_response` bounds the whole call.
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                follow_redirects=False,
            )
        except (ValueError, httpx2.InvalidURL):
            raise RunFailed(f"{url}: the environment sets no HTTP proxy for it: set one, or NO_PROXY") from None
        self._openai = openai.AsyncOpenAI(
            api_key=key.reveal(),
            base_url=url,
            max_retries=0,
            default_headers=_headers(url, key),
            http_client=backend,
        )

    async def complete(self, body: bytes, seconds: float) -> Response:
        """POST a chat completion; `seconds` covers everything up to the last byte."""
        request = self._openai.post(self._chats, content=body, options=JSON, cast_to=httpx2.Response)
        return await self._response(request, seconds)

    async def list_models(self) -> dict[str, int | None]:
        """Return the models that the endpoint lists, like `Endpoint.list_models`."""
        try:
            response = await self._response(self._openai.get("/models", cast_to=httpx2.Response), LISTING_SECONDS)
            if response.status != 200:
                raise_for(*response, ())
            return _model_windows(decode_json(response.body))
        except (AttemptFailed, GameFailed) as error:
            raise RunFailed(f"{self.url} lists no models: {error}") from None
        except (ValueError, RecursionError, LookupError, TypeError):
            raise RunFailed(f"{self.url} lists no models: its answer is not a list") from None

    async def _response(self, request: Awaitable[httpx2.Response], seconds: float) -> Response:
        try:
            async with asyncio.timeout(seconds):
                response = await request
        except openai.APIStatusError as error:
            response = error.response
        except TimeoutError:
            raise BadResponse(f"no answer within {seconds:g} s") from None
        except (openai.APIConnectionError, aiohttp.ClientError, httpx2.InvalidURL, OSError, UnicodeError) as error:
            raise _translate_error(error, self.url) from None
        content = response.content
        # A server may repeat the key that it was sent, in an error or an answer.
        if b"\0" in content:  # UTF-16 or UTF-32, in which the key would not be found
            content = decode_text(content).encode()
        headers = httpx2.Headers([(name, self._key.redact(value)) for name, value in response.headers.items()])
        return Response(response.status_code, headers, self._key.redact_body(content))

    async def disconnect(self) -> None:
        """Close all connections."""
        await self._openai.close()


def _model_windows(models: Any) -> dict[str, int | None]:
    """Return the context windows in a list of models, by model name; entries without a name are skipped."""
    listed = models["data"]
    if not isinstance(listed, list):
        raise TypeError("not a list")
    named = (model for model in listed if isinstance(model, dict) and isinstance(model.get("id"), str))
    return {replace_surrogates(model["id"]): _window(model) for model in named if model["id"]}


def _window(model: dict[str, Any]) -> int | None:
    meta = model.get("meta")
    fields = {**meta, **model} if isinstance(meta, dict) else model
    return next((size for name in WINDOWS if type(size := fields.get(name)) is int and size > 0), None)


def _headers(url: str, key: Key) -> dict[str, Any]:
    """Return headers with this key, whatever the environment holds, and without those that `openai` adds about this
    machine and, except at OpenAI, about organization and project."""
    omitted = [f"X-Stainless-{name}" for name in OMITTED_PLATFORM_HEADERS]
    if urlsplit(url).hostname != "api.openai.com":
        omitted += ["OpenAI-Organization", "OpenAI-Project"]
    return {"Authorization": f"Bearer {key.reveal()}", **{name: openai.Omit() for name in omitted}}


MEANINGS: tuple[tuple[tuple[type[BaseException], ...], Any, str], ...] = (
    ((aiohttp.ClientSSLError,), RunFailed, "{url}: its certificate or encryption is not accepted"),
    ((aiohttp.InvalidURL, httpx2.InvalidURL, UnicodeError), RunFailed, "{url} is not a usable address"),
    ((aiohttp.ClientProxyConnectionError,), Unreachable, "the proxy: {system}"),
    ((aiohttp.ClientConnectorError,), Unreachable, "{system}"),
    ((aiohttp.ConnectionTimeoutError,), Unreachable, f"no connection within {CONNECT_SECONDS:g} s"),
    ((aiohttp.ClientHttpProxyError,), Unreachable, "the proxy answers HTTP {status}"),
    ((aiohttp.ClientResponseError,), BadResponse, "the response is not HTTP"),
    ((BaseException,), Overloaded, "the connection was dropped before the answer was complete"),
)
"""Errors of the backend, what they mean for the call, and the text; the first match applies."""


def _translate_error(error: BaseException, url: str) -> AttemptFailed | RunFailed:
    """Translate an error by its aiohttp type, because its text may quote headers."""
    cause = next((cause for cause in _causes(error) if isinstance(cause, aiohttp.ClientError)), error)
    kind, text = next((kind, text) for causes, kind, text in MEANINGS if isinstance(cause, causes))
    said = text.format(url=url, system=_system_message(cause), status=getattr(cause, "status", ""))
    return RunFailed(said) if kind is RunFailed else kind(said, is_free=kind is Unreachable)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__


def _system_message(error: BaseException) -> str:
    """Return the system's text for a connection that could not be made."""
    number = getattr(getattr(error, "os_error", None), "errno", None)
    return (os.strerror(number) if isinstance(number, int) and number > 0 else "unknown host").lower()


async def open_client(url: str, key: Key) -> Client:
    """Open a client that is closed with its event loop: a loop closes its generators when it ends."""
    lifetime = _client_lifetime(url, key)
    client = await anext(lifetime)
    client.close = lifetime.aclose
    return client


async def _client_lifetime(url: str, key: Key) -> AsyncGenerator[Client, None]:
    client = Client(url, key)
    try:
        yield client
    finally:
        await client.disconnect()
