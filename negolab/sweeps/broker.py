"""The broker of a sweep: answers the calls of all cells in OpenAI's format, so that cells never see the key.

Limits, budget and cache hold for the sweep as a whole.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import msgspec

from negolab._internal.cluster import ANSWER_SECONDS
from negolab.llm.endpoint.call import Answer, Call, Message
from negolab.llm.endpoint.compatibility import REPETITION
from negolab.llm.endpoint.completion import BrokerInfo
from negolab.llm.endpoint.errors import BudgetReached, GameFailed, RunFailed
from negolab.llm.endpoint.keys import BROKER_PATH, CACHE_VARIABLE, DEFAULT_KEY, OFF, URL_NAMES
from negolab.llm.models import Models

if TYPE_CHECKING:
    from aiohttp import web
    from distributed import Client

    _Handler = Callable[[web.Request], Awaitable[web.Response]]


class _CompletionRequest(msgspec.Struct):
    """The required fields of a request; all others are parameters."""

    model: str
    messages: list[Message]
    stream: bool = False


class Broker:
    """Answer calls of cells by calling the models.

    `url` and `token` go into the environment of cells; `failure` is the reason why no call can be answered any more,
    such as a budget that is used up.
    """

    def __init__(self, models: Models, key: str | None) -> None:
        models.endpoint(key=key)  # fails before anything runs if the key is not set
        self._models, self._key = models, key
        self.token = secrets.token_urlsafe(24)
        self.url = ""
        self.failure: RunFailed | None = None

    def cell_environment(self) -> dict[str, str]:
        """Return environment variables for cells: this address, a token for it only, and no cache of their own."""
        return {URL_NAMES[0]: self.url, DEFAULT_KEY: self.token, CACHE_VARIABLE: OFF}

    async def serve(self, host: str) -> web.AppRunner:
        """Start to listen; ValueError if `host` is not this machine's."""
        from aiohttp import web

        app = web.Application(client_max_size=2**24)
        app.router.add_post(f"{BROKER_PATH}/chat/completions", self._guarded(self._complete))
        app.router.add_get(f"{BROKER_PATH}/models", self._guarded(self._list_models))
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, 0).start()
        except OSError:
            raise ValueError(
                f"cannot listen for cells' model calls at {host}: use one of this machine's addresses"
            ) from None
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{runner.addresses[0][1]}{BROKER_PATH}"
        return runner

    async def close(self) -> None:
        """Close the connections to the models."""
        await self._models.close()

    def _guarded(self, handler: _Handler) -> _Handler:
        """Return a handler for the cells of this sweep alone, whose failures are answers that say whom they stop."""

        async def guarded(request: web.Request) -> web.Response:
            header = request.headers.get("Authorization", "").encode("utf-8", "replace")
            if not hmac.compare_digest(header, f"Bearer {self.token}".encode()):
                return _error_response(401, "invalid_api_key", "this broker answers only cells of its own sweep")
            try:
                return await handler(request)
            except GameFailed as failed:
                return _error_response(422, "game_failed", str(failed))
            except (RunFailed, ValueError) as failed:
                if isinstance(failed, BudgetReached):
                    self.failure = self.failure or failed
                return _error_response(403, "run_failed", str(failed))

        return guarded

    async def _complete(self, request: web.Request) -> web.Response:
        call = _parse_call(await request.read())
        return _answer_response(call, await self._models.endpoint(key=self._key).answer(call))

    async def _list_models(self, request: web.Request) -> web.Response:
        names = await self._models.endpoint(key=self._key).list_models()
        return _response(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})


def _parse_call(body: bytes) -> Call:
    """Parse a request, or raise GameFailed; without a repetition it never matches a cached answer."""
    try:
        request = msgspec.json.decode(body, type=_CompletionRequest)
        params: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise GameFailed(f"not a chat completion request: {error}") from None
    if request.stream:
        raise GameFailed("a broker sends only complete answers: leave out stream")
    repetition = params.pop(REPETITION, None)
    for name in _CompletionRequest.__struct_fields__:
        params.pop(name, None)
    if not isinstance(repetition, list) or not all(isinstance(part, str | int) for part in repetition):
        repetition = [uuid.uuid4().hex]
    return Call(model=request.model, messages=tuple(request.messages), params=params, repetition=tuple(repetition))


def _answer_response(call: Call, answer: Answer) -> web.Response:
    """Return an answer as a chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.finish == "refusal":
        message = {"role": "assistant", "content": None, "refusal": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    usage, tokens = answer.usage, {}
    if usage.input is not None and usage.output is not None:
        tokens = {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        }
    return _response(
        200,
        {
            "id": answer.request_id,
            "object": "chat.completion",
            "model": answer.model or call.model,
            "system_fingerprint": answer.fingerprint,
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": answer.logprobs}],
            "usage": tokens or None,
            "negolab": BrokerInfo(answer.cost, answer.replayed, answer.sent),
        },
    )


def _error_response(status: int, code: str, message: str) -> web.Response:
    return _response(status, {"error": {"message": message, "type": code, "code": code}})


def _response(status: int, content: dict[str, Any]) -> web.Response:
    from aiohttp import web

    return web.Response(status=status, body=msgspec.json.encode(content), content_type="application/json")


def check_broker(client: Client, url: str) -> None:
    """Raise ValueError for a worker that cannot connect to the broker."""
    for address, error in client.run(_broker_error, url).items():
        if error:
            raise ValueError(
                f"the worker at {address} cannot reach the models' broker at {url} ({error}): use an address of "
                "this machine that all workers see with --broker"
            )


def _broker_error(url: str) -> str:
    """Return the error of a connection, "" if it works; without the sweep's token the broker answers 401."""
    try:
        with urlopen(url, timeout=ANSWER_SECONDS):
            return ""
    except HTTPError:
        return ""
    except OSError as error:
        return str(getattr(error, "reason", error))


@contextmanager
def serve_broker(broker: Broker, host: str = "127.0.0.1") -> Iterator[None]:
    """Run the broker in a thread with its own event loop; ValueError for a host that is not this machine."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="broker", daemon=True)
    thread.start()

    def run(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    try:
        runner = run(broker.serve(host))
        try:
            yield
        finally:
            run(runner.cleanup())
            run(broker.close())
            run(loop.shutdown_asyncgens())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
