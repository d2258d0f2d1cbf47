"""A hostile endpoint:
`python -m tests.support.endpoint_server --port 0 --latency 0.05 --faults '{"drop": 0.02, "429": 0.05}'`.

It serves chat completions over HTTP with the latency and the faults of its settings. The fault of a request is drawn
from a hash of its body and of how often that body came: the same at any concurrency. `GET /counts` returns
counts, `POST /set` changes any `Settings` while it runs (with `"forget": true` the counts restart).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import sys
import time
from collections import Counter
from hashlib import blake2b
from typing import Any

import msgspec
from aiohttp import web

ERRORS: dict[str, tuple[int, dict[str, Any]]] = {
    "500": (500, {"message": "The server had an error."}),
    "503": (503, {"message": "Overloaded."}),
    "context": (
        400,
        {"message": "This model's maximum context length is 4096 tokens.", "code": "context_length_exceeded"},
    ),
    "overflow": (
        400,
        {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"},
    ),
    "policy": (400, {"message": "Your request was rejected.", "code": "content_policy_violation"}),
    "quota": (429, {"message": "You exceeded your current quota.", "code": "insufficient_quota"}),
    "forbidden": (403, {"message": "Not in your country."}),
    "missing": (404, {"message": "The model does not exist.", "code": "model_not_found"}),
}
BODIES = {
    "json": b'{"id": "x", "choices": [{"message": {"content": "4',
    "html": b"<html><body>502 Bad Gateway</body></html>",
    "empty": b'{"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}',
    "inner": b'{"error": {"code": 502, "message": "Provider returned error"}}',
}
HUGE = 64
"""Megabytes of an answer that is huge."""
CAME = web.RequestKey("came", float)
EARLY = 0.04
"""Share of the latency by which an answer may set out early, so that it is not late on average: an event loop wakes up
to a millisecond after its time, and then has others to answer first."""


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    """Behaviour: seconds until an answer; the chance of each fault, and which attempts of a body it can befall, those
    behind `after` up to `first`; `rate` answers a second out of a bucket of `burst` (0: no limit); what to answer
    (price, or a text), with which further `fields` of the message, with or without `usage`; parameters that it
    `refuses`; the `key` that it wants; the `window` that it lists for its models; whether what is huge is `packed`; the
    answer of the fault "raw": bytes as Latin-1, status and headers."""

    latency: float = 0.05
    faults: dict[str, float] = {}
    first: int = 1_000_000
    after: int = 0
    rate: float = 0.0
    burst: float = 10.0
    answer: str = "price"
    fields: dict[str, Any] = {}
    usage: bool = True
    refuses: list[str] = []
    key: str | None = None
    window: int | None = None
    packed: bool = False
    raw: str = ""
    status: int = 200
    headers: dict[str, str] = {}


class HostileEndpoint:
    """The server's settings, its bucket, and what it counted."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.forget()

    def forget(self) -> None:
        self.came: Counter[bytes] = Counter()
        self.answers: Counter[bytes] = Counter()
        self.faults: Counter[str] = Counter()
        self.running = self.peak = self.tokens_in = self.tokens_out = 0
        self.began = self.last = self.late = 0.0
        self.level, self.filled = self.settings.burst, time.monotonic()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        match request.method, request.path:
            case "POST", "/v1/chat/completions":
                return await self.complete(request)
            case "GET", "/v1/models":
                return await self.models(request)
            case "GET", "/counts":
                return await self.counts(request)
            case "POST", "/set":
                return await self.set(request)
        raise web.HTTPNotFound

    # Requests

    async def counts(self, request: web.BaseRequest) -> web.Response:
        """`answered_again` counts answers beyond the first to one body, `window` the seconds from first to last."""
        return web.json_response(
            {
                "requests": self.came.total(),
                "distinct": len(self.came),
                "answered": self.answers.total(),
                "answered_again": self.answers.total() - len(self.answers),
                "faults": dict(self.faults),
                "running": self.running,
                "peak": self.peak,
                "input": self.tokens_in,
                "output": self.tokens_out,
                "window": self.last - self.began,
            }
        )

    async def set(self, request: web.BaseRequest) -> web.Response:
        changes = await request.json()
        forget = changes.pop("forget", False)
        self.settings = msgspec.convert({**msgspec.to_builtins(self.settings), **changes}, type=Settings)
        if forget:
            self.forget()
        return web.json_response(msgspec.to_builtins(self.settings))

    async def models(self, request: web.BaseRequest) -> web.Response:
        if self._stranger(request):
            return self._unknown(request)
        if self.settings.raw:
            return web.Response(body=self.settings.raw.encode("latin-1"), status=self.settings.status)
        window = {} if self.settings.window is None else {"max_model_len": self.settings.window}
        return web.json_response({"data": [{"id": "fake", **window}, {"id": "fake-2", **window}]})

    # Answers

    async def complete(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            return await self._answered(request, body, request[CAME])
        finally:
            self.running -= 1

    async def _answered(self, request: web.BaseRequest, body: bytes, came: float) -> web.StreamResponse:
        self.last = came
        self.began = self.began or self.last
        digest = blake2b(body, digest_size=16).digest()
        self.came[digest] += 1
        if self._stranger(request):
            return self._unknown(request)
        fault = self._fault(digest, self.came[digest])
        if fault is None and self.settings.rate and (wait := self._empty()) is not None:
            fault = "bucket"
            self.faults[fault] += 1
            return self._too_many(wait)
        if fault is not None:
            self.faults[fault] += 1
            early = await self._early(request, fault)
            if early is not None:
                return early
        asked = msgspec.json.decode(body)
        for name in self.settings.refuses:
            if name in asked:
                reason = f"Unsupported parameter: '{name}' is not supported with this model."
                return _error(400, {"message": reason, "code": "unsupported_parameter", "param": name})
        content, put, out = self._completion(asked, digest, fault)
        await self._think(came)
        if fault == "empty" or (fault not in BODIES and self.settings.usage):
            self.tokens_in += put
            self.tokens_out += out
        if fault in BODIES:
            return web.Response(body=content, content_type="text/html" if fault == "html" else "application/json")
        if fault == "huge":
            return await self._endlessly(request, content)
        if fault in ("trickle", "cut"):
            return await self._slowly(request, content, fault == "cut")
        self.answers[digest] += 1
        return web.Response(body=content, headers={"Content-Type": "application/json", "x-request-id": digest.hex()})

    def _fault(self, digest: bytes, attempt: int) -> str | None:
        settings = self.settings
        if not settings.faults or not settings.after < attempt <= settings.first:
            return None
        drawn = blake2b(digest + b"%d/0" % attempt, digest_size=8).digest()
        chance = int.from_bytes(drawn, "big") / 2**64
        for fault, share in settings.faults.items():
            if chance < share:
                return fault
            chance -= share
        return None

    def _empty(self) -> float | None:
        """Take a token from the bucket; if it is empty, return the seconds until the next one."""
        now = time.monotonic()
        settings = self.settings
        self.level = min(settings.burst, self.level + (now - self.filled) * settings.rate)
        self.filled = now
        if self.level >= 1:
            self.level -= 1
            return None
        return (1 - self.level) / settings.rate

    async def _early(self, request: web.BaseRequest, fault: str) -> web.StreamResponse | None:
        """Answer faults that need no completion."""
        if fault in ERRORS:
            return _error(*ERRORS[fault])
        if fault == "raw":
            settings = self.settings
            return web.Response(body=settings.raw.encode("latin-1"), status=settings.status, headers=settings.headers)
        if fault == "429":
            return self._too_many(0.05)
        if fault == "drop":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault == "hang":
            await asyncio.sleep(3600)
        return None

    def _too_many(self, wait: float) -> web.Response:
        return _error(429, {"message": "Too many requests."}, {"Retry-After": f"{wait:.3f}"})

    async def _slowly(self, request: web.BaseRequest, content: bytes, cut: bool) -> web.StreamResponse:
        """Answer byte by byte, or with half of the body before the connection is dropped."""
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(content))})
        await response.prepare(request)
        if cut:
            await response.write(content[: len(content) // 2])
            await asyncio.sleep(0.01)
            assert request.transport is not None
            request.transport.abort()
            return response
        for byte in content:
            await response.write(bytes([byte]))
            await asyncio.sleep(0.2)
        return response

    async def _endlessly(self, request: web.BaseRequest, content: bytes) -> web.StreamResponse:
        """Answer with 64 MB of blanks before the body and no length; compressed if the client accepts it."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if self.settings.packed:
            response.enable_compression()
        await response.prepare(request)
        for _ in range(HUGE):
            await response.write(b" " * 2**20)
        await response.write(content)
        return response

    async def _think(self, came: float) -> None:
        """Wait until an answer is due, its own work included. The mean lateness of wake-ups is subtracted as far as
        `EARLY` allows."""
        latency = self.settings.latency
        due, most = came + latency, EARLY * latency
        await asyncio.sleep(due - min(self.late, most) - time.monotonic())
        now = time.monotonic()
        self.late = min(max(0.0, self.late + min(now - due, most) / 100), most)

    def _completion(self, asked: dict[str, Any], digest: bytes, fault: str | None) -> tuple[bytes, int, int]:
        """The body of an answer, and its tokens in and out."""
        if fault in BODIES:
            return BODIES[fault], 10, 2
        cut = fault == "length"
        text = answer_text(self.settings.answer, asked, digest)
        put = sum(len(message["content"]) for message in asked["messages"]) // 4 + 4 * len(asked["messages"])
        out = len(text) // 4 + 1
        usage = {"prompt_tokens": put, "completion_tokens": out, "total_tokens": put + out}
        message = {"role": "assistant", "content": text[: len(text) // 2] if cut else text, **self.settings.fields}
        choice = {"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}
        if asked.get("logprobs"):
            choice["logprobs"] = {"content": log_probabilities(text, asked.get("top_logprobs", 0))}
        completion = {
            "id": "chatcmpl-" + digest.hex()[:12],
            "object": "chat.completion",
            "model": f"{asked['model']}-2026",
            "system_fingerprint": "fp_fake",
            "choices": [choice],
            "usage": usage if self.settings.usage else None,
        }
        return msgspec.json.encode(completion), put, out

    def _stranger(self, request: web.BaseRequest) -> bool:
        return self.settings.key is not None and request.headers.get("Authorization") != f"Bearer {self.settings.key}"

    def _unknown(self, request: web.BaseRequest) -> web.Response:
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return _error(401, {"message": f"Incorrect API key provided: {shown}.", "code": "invalid_api_key_format"})


def _error(status: int, error: dict[str, Any], headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": error}, status=status, headers=headers)


def answer_text(mode: str, asked: dict[str, Any], digest: bytes) -> str:
    """The text of an answer; a requested schema is followed in any mode but a fixed text."""
    messages = asked["messages"]
    wanted = (asked.get("response_format") or {}).get("json_schema")
    if wanted is not None and mode == "price":
        return json.dumps(instance(wanted["schema"], wanted["schema"], random.Random(digest)))
    return price(messages) if mode == "price" else mode


def log_probabilities(text: str, top: int) -> list[dict[str, Any]]:
    """Each character as a token, the less probable the later it comes, with `top` others."""
    return [
        {
            "token": char,
            "logprob": -0.125 * at,
            "bytes": list(char.encode()),
            "top_logprobs": [{"token": str(other), "logprob": -1.0 - other, "bytes": None} for other in range(top)],
        }
        for at, char in enumerate(text)
    ]


def price(messages: list[dict[str, str]]) -> str:
    """A legal move of bargaining that ends nothing early: the seller asks much, the buyer offers little."""
    last = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    if "a price" not in last.splitlines()[-1] and "reject" in last:
        return "reject"
    seller = any("You are the seller" in message["content"] for message in messages)
    return f"{95 - len(messages) % 10 if seller else 1 + len(messages) % 10}.00"


def instance(schema: dict[str, Any], root: dict[str, Any], rng: random.Random) -> Any:
    """A random instance of a JSON schema."""
    if "$ref" in schema:
        definition: Any = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            definition = definition[part]
        return instance(definition, root, rng)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return instance(rng.choice(schema[several]), root, rng)
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    return _of_kind(kind, schema, root, rng)


def _of_kind(kind: str, schema: dict[str, Any], root: dict[str, Any], rng: random.Random) -> Any:
    if kind == "object":
        return {name: instance(inner, root, rng) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        least = schema.get("minItems", 0)
        count = rng.randint(least, min(schema.get("maxItems", least + 2), least + 2))
        return [instance(schema.get("items", {"type": "string"}), root, rng) for _ in range(count)]
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", 0), schema.get("maximum", schema.get("minimum", 0) + 10)
        return rng.randint(math.ceil(low), math.floor(high))
    return {"boolean": rng.random() < 0.5, "null": None}.get(kind, "well")


def _timed_request(*about: Any) -> web.BaseRequest:
    """A request stamped with its arrival time: its handler may start later, behind others."""
    request = web.BaseRequest(*about, asyncio.get_running_loop(), client_max_size=64 * 2**20)
    request[CAME] = time.monotonic()
    return request


async def serve(settings: Settings, port: int) -> None:
    """Serve on loopback until SIGTERM; print the address in one line."""
    server = web.Server(
        HostileEndpoint(settings).handle, request_factory=_timed_request, handler_cancellation=True, access_log=None
    )
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    host, chosen = runner.addresses[0][:2]
    print(f"endpoint at http://{host}:{chosen}/v1", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)

    kinds = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    for name in kinds:
        parser.add_argument(f"--{name.replace('_', '-')}")
    options = vars(parser.parse_args())
    port = options.pop("port")
    words = ("answer", "key")
    settings = {k: v if k in words else json.loads(v) for k, v in options.items() if v is not None}

    try:
        asyncio.run(serve(msgspec.convert(settings, type=Settings), port))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
