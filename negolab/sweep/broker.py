"""The broker: the one process of a sweep that calls models. Cells reach it by OpenAI's format, without the key; limits,
budget and the answers that are kept hold for the sweep as a whole."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from negolab.players.cache import OFF, PLACE
from negolab.players.endpoint.call import Answer, Call, Message
from negolab.players.endpoint.completion import Paid
from negolab.players.endpoint.endpoint import REPETITION
from negolab.players.endpoint.failures import BudgetReached, GameFailed, RunFailed
from negolab.players.endpoint.keys import BROKER, DEFAULT_KEY, URL_NAMES
from negolab.players.endpoint.models import Models

if TYPE_CHECKING:
    from aiohttp import web


class _Asked(msgspec.Struct):
    """What a request must hold; the rest are parameters."""

    model: str
    messages: list[Message]
    stream: bool = False


class Broker:
    """Answers calls of cells by calling the models themselves. `url` and `token` are what a cell is told; `failure`
    says why no cell can be answered any more, such as that the budget is used up."""

    def __init__(self, models: Models, key: str | None) -> None:
        models.at(key=key)  # a key that is not set is said before anything runs
        self._models, self._key = models, key
        self.token = secrets.token_urlsafe(24)
        self.url = ""
        self.failure: RunFailed | None = None

    def told(self) -> dict[str, str]:
        """What the environment of a cell says: this address, a token that is good for nothing else, and that answers
        are kept here and not there."""
        return {URL_NAMES[0]: self.url, DEFAULT_KEY: self.token, PLACE: OFF}

    async def serve(self, host: str) -> web.AppRunner:
        """Begin to listen."""
        from aiohttp import web

        app = web.Application(client_max_size=2**24)
        app.router.add_post(f"{BROKER}/chat/completions", self._complete)
        app.router.add_get(f"{BROKER}/models", self._listed)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, 0).start()
        except OSError:
            raise ValueError(f"cells cannot be served at {host}: name an address of this machine") from None
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{runner.addresses[0][1]}{BROKER}"
        return runner

    async def close(self) -> None:
        """End the connections to the models."""
        await self._models.close()

    async def _complete(self, request: web.Request) -> web.Response:
        if not self._known(request):
            return _refused(401, "invalid_api_key", "this broker answers the cells of its own sweep")
        try:
            call = _call(await request.read())
        except ValueError as error:
            return _refused(422, "game_failed", str(error))
        try:
            return _answered(call, await self._models.at(key=self._key).answer(call))
        except GameFailed as failed:
            return _refused(422, "game_failed", str(failed))
        except (RunFailed, ValueError) as failed:
            if isinstance(failed, BudgetReached):
                self.failure = self.failure or failed
            return _refused(403, "run_failed", str(failed))

    async def _listed(self, request: web.Request) -> web.Response:
        if not self._known(request):
            return _refused(401, "invalid_api_key", "this broker answers the cells of its own sweep")
        try:
            names = await self._models.at(key=self._key).names()
        except (RunFailed, ValueError) as failed:
            return _refused(403, "run_failed", str(failed))
        return _response(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    def _known(self, request: web.Request) -> bool:
        shown = request.headers.get("Authorization", "")
        return hmac.compare_digest(shown.encode("utf-8", "replace"), f"Bearer {self.token}".encode())


def _call(body: bytes) -> Call:
    """What a request asks for; `ValueError` in words. Without a repetition it is asked anew each time."""
    try:
        asked = msgspec.json.decode(body, type=_Asked)
        rest: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ValueError(f"not a request for a chat completion: {error}") from None
    if asked.stream:
        raise ValueError("a broker's answers come whole: leave out stream")
    repetition = rest.pop(REPETITION, None)
    for name in _Asked.__struct_fields__:
        rest.pop(name, None)
    if not isinstance(repetition, list) or not all(isinstance(part, str | int) for part in repetition):
        repetition = [uuid.uuid4().hex]
    return Call(model=asked.model, messages=tuple(asked.messages), params=rest, repetition=tuple(repetition))


def _answered(call: Call, answer: Answer) -> web.Response:
    """An answer as OpenAI's format has it."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.finish == "refusal":
        message = {"role": "assistant", "content": None, "refusal": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    usage, found = answer.usage, {}
    if usage.input is not None and usage.output is not None:
        found = {
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
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
            "usage": found or None,
            "negolab": Paid(answer.cost, answer.replayed),
        },
    )


def _refused(status: int, code: str, message: str) -> web.Response:
    return _response(status, {"error": {"message": message, "type": code, "code": code}})


def _response(status: int, found: dict[str, Any]) -> web.Response:
    from aiohttp import web

    return web.Response(status=status, body=msgspec.json.encode(found), content_type="application/json")


@contextmanager
def serving(broker: Broker, host: str = "127.0.0.1") -> Iterator[None]:
    """The broker in a thread of its own, with its own event loop. `ValueError` for a host that is not this machine."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="broker", daemon=True)
    thread.start()

    def done(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        runner = done(broker.serve(host))
        try:
            yield
        finally:
            done(runner.cleanup())
            done(broker.close())
            done(loop.shutdown_asyncgens())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
