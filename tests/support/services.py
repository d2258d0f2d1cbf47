"""Imitations of model services, all at one address: `python -m tests.support.services --port 8099`.

The model's name chooses service and case (`service_cases`; any other name of a service answers well), as in `negolab
batch bargaining --a llm:gemini/quota-per-day --b linear --base-url http://127.0.0.1:8099/v1 --out DIR`; at
`/gemini/v1` it lacks the service. `GET /counted` returns what each model was asked and what that truly took, `POST
/forget` clears it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import math
import os
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from hashlib import blake2b
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from unittest import mock

import httpx2
import msgspec
from aiohttp import web

from negolab.analysis import summary
from negolab.record import Record
from negolab.store import read
from tests.conftest import ROOT, running
from tests.support.endpoint_server import answer_text
from tests.support.fake_clock import fast_clock
from tests.support.service_cases import CASES, Case, Kind, Lasting, Request, room
from tests.support.service_forms import CACHED, INPUT, OUTPUT, SERVICES, Tokens, true_cost

CONCURRENCY = 4
"""Most calls in flight at once."""
GRACE = 0.15
"""Seconds after the first refusal in which requests that were under way may still come."""
ENDLESS = 4096
"""Tokens that an answer without a limit thinks for, if it comes to no end."""


class Counted(msgspec.Struct):
    """Requests to one model, and what they truly took.

    `refused` are those that got the case's error, `early` those among them that came although the service had said when
    to come again; `largest` is the most tokens of one answer, `last` the last request's body.
    """

    requests: int = 0
    answered: int = 0
    refused: int = 0
    early: int = 0
    input: int = 0
    output: int = 0
    largest: int = 0
    usd: float = 0.0
    last: dict[str, Any] = {}
    arrivals: list[float] = []
    refused_at: float = 0.0

    def add(self, service: str, tokens: Tokens) -> None:
        self.answered += 1
        self.input += tokens.input
        self.output += tokens.output
        self.largest = max(self.largest, tokens.total)
        self.usd += true_cost(service, tokens)


class Services:
    """The server: every service, with its counts by model; `stretch` makes outages and limits longer."""

    def __init__(self, latency: float, stretch: float) -> None:
        self.latency, self.stretch = latency, stretch
        self.counted: dict[str, Counted] = defaultdict(Counted)
        self._restarting: asyncio.Task[None] | None = None

    async def serve(self, port: int) -> None:
        """Serve on loopback until SIGTERM; print the address in one line."""
        self._server = web.Server(self.handle, access_log=None, handler_cancellation=True)
        self._runner = web.ServerRunner(self._server, shutdown_timeout=0.1)
        await self._runner.setup()
        await self._listen(port)
        print(f"services at http://127.0.0.1:{self._port}/v1", flush=True)
        await asyncio.Event().wait()

    async def _listen(self, port: int) -> None:
        self._site = web.TCPSite(self._runner, "127.0.0.1", port, backlog=1024, reuse_address=True)
        await self._site.start()
        self._port = self._runner.addresses[0][1]

    async def _restart(self, seconds: float) -> None:
        """Refuse connections for some seconds, and drop those that there are."""
        await self._site.stop()
        for connection in self._server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(seconds)
        await self._listen(self._port)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        service, _, path = request.path.removeprefix("/").rpartition("v1/")
        match request.method, path:
            case "POST", "chat/completions":
                return await self._complete(request, service)
            case "GET", "models":
                return web.json_response(
                    {"object": "list", "data": [{"id": name, "object": "model"} for name in CASES]}
                )
            case "GET", "counted":
                return web.Response(body=msgspec.json.encode(self.counted), content_type="application/json")
            case "POST", "forget":
                self.counted.clear()
                return web.json_response({})
        raise web.HTTPNotFound

    async def _complete(self, request: web.BaseRequest, service: str) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        name = service + body["model"]
        case, counted = CASES.get(name) or Case(name, Kind.GOOD), self.counted[name]
        counted.requests += 1
        counted.last = body
        counted.arrivals = [*counted.arrivals, time.monotonic() / self.stretch]
        asked = Request(body, counted.requests, counted.arrivals)
        is_hit = case.when(asked)
        await asyncio.sleep(self.latency)
        if not is_hit or (case.body is None and case.status):
            response, tokens = completion(case, asked, is_hit)
            counted.add(case.service, tokens)
            return web.json_response(response)
        self._count_refusal(counted, asked)
        if case.status:
            return error_response(case, self._left(case, asked))
        if self._restarting is None or self._restarting.done():
            self._restarting = asyncio.create_task(self._restart(self._left(case, asked)))
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    def _left(self, case: Case, asked: Request) -> float:
        """Seconds until an outage or a limit ends."""
        return self.stretch * case.when.left(asked) if isinstance(case.when, Lasting) else 0.0

    def _count_refusal(self, counted: Counted, asked: Request) -> None:
        counted.refused += 1
        if not counted.refused_at:
            counted.refused_at = time.monotonic()
        counted.early += asked.arrivals[-1] * self.stretch > counted.refused_at + GRACE


def error_response(case: Case, left: float) -> web.Response:
    """The case's own answer, with the time that is left filled in."""
    values = {
        "model": case.name,
        "left": f"{left:.3f}",
        "whole": str(math.ceil(left)),
        "ms": str(math.ceil(1000 * left)),
        "date": formatdate(math.ceil(time.time() + left), usegmt=True),
        "epoch": str(math.ceil(1000 * (time.time() + left))),
    }
    is_text = isinstance(case.body, str)
    text = case.body if is_text else json.dumps(case.body)
    headers = {name: Template(value).safe_substitute(values) for name, value in case.headers.items()}
    kind = {} if "Content-Type" in headers else {"Content-Type": "application/json"}
    body = Template(text).safe_substitute(values).encode()
    return web.Response(body=body, status=case.status, headers={**headers, **kind})


def completion(case: Case, asked: Request, is_hit: bool) -> tuple[dict[str, Any], Tokens]:
    """A completion as the case's service words it, and the tokens that it truly takes."""
    service = SERVICES[case.service]
    digest = blake2b(msgspec.json.encode(asked.body), digest_size=16).digest()
    messages = asked.body["messages"]
    text = Template(case.wrap).safe_substitute(text=answer_text("price", asked.body, digest))
    put = sum(len(message["content"]) for message in messages) // 4 + 4 * len(messages)
    said = len(text) // 4 + 1
    cached = int(put * service.caches) if len(messages) > 2 else 0
    thinks = service.thinks if case.thinks is None else case.thinks
    tokens = Tokens(put, cached, said, thinks * said + (digest[0] if thinks else 0))
    finish = "stop"
    message = service.message(text)
    if is_hit:
        message, finish = {**message, **(case.message or {})}, case.finish or "stop"
    most = room(asked) or ENDLESS
    if finish == "length" or most < max(case.little, tokens.output):
        message, finish = {**message, "content": ""}, "length"
        tokens = Tokens(put, cached, 0, most)
    choice = {"index": 0, "message": message, "finish_reason": finish, **service.choice}
    body = {
        "id": f"chatcmpl-{digest.hex()[:12]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": case.name,
        "choices": [choice],
        "usage": service.usage(tokens),
        **service.fields,
    }
    return body, tokens


# Batches against them.


ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "openrouter": "https://openrouter.ai/api/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "ollama": "http://127.0.0.1:11434/v1",
}
"""Where services are reached."""


class RunningServices(NamedTuple):
    """The server in a process of its own."""

    url: str
    pid: int

    def address(self, url: str) -> str:
        """The address of the imitation of the service at `url`; any other address as it is."""
        return next((f"{self._root}/{name}/v1" for name, real in ADDRESSES.items() if url == real), url)

    def counted(self, name: str) -> Counted:
        """What a model was asked, and what that took."""
        counted = msgspec.json.decode(httpx2.get(self._root + "/counted").content, type=dict[str, Counted])
        return counted.get(name, Counted())

    def forget(self) -> None:
        httpx2.post(self._root + "/forget").raise_for_status()

    @property
    def _root(self) -> str:
        return self.url.removesuffix("/v1")


@contextmanager
def running_services(port: int = 0, latency: float = 0.005, stretch: float = 1.0) -> Iterator[RunningServices]:
    """Run all services until the block ends."""
    options = [f"--port={port}", f"--latency={latency}", f"--stretch={stretch}"]
    command = [sys.executable, "-m", "tests.support.services", *options]
    with running(command, "services at", stop=signal.SIGTERM, cwd=ROOT) as (line, pid):
        yield RunningServices(line.split()[2], pid)


MOST_SECONDS = 15.0
"""Seconds after which a batch is stopped (status 130)."""
OUTAGE_SPEED = 20.0
"""How many times as fast our clock goes where a service is down for half a minute of it."""
PRICE = f"{INPUT},{CACHED},{OUTPUT}"
_TOKENS = re.compile(r"^tokens +([\d,]+) in, ([\d,]+) out", re.MULTILINE)
_COST = re.compile(r"^cost +\$([\d.,]+)", re.MULTILINE)


class Played(NamedTuple):
    """A batch that was played: how it ended, what it printed, and what it kept."""

    status: int
    out: str
    err: str
    seconds: float
    records: list[Record]

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()

    @property
    def stopped(self) -> int:
        """Records of games that the run stopped."""
        return summary.tally_records(self.records).stopped

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Tokens in and out, as printed."""
        *_, found = _TOKENS.findall(self.out) or [None]
        return None if found is None else (_number(found[0]), _number(found[1]))

    @property
    def usd(self) -> float | None:
        """US dollars, as printed."""
        *_, found = _COST.findall(self.out) or [None]
        return None if found is None else float(found.replace(",", ""))


def _number(text: str) -> int:
    return int(text.replace(",", ""))


@contextmanager
def _signals(seconds: float) -> Iterator[None]:
    """Interrupt after some seconds, as Ctrl-C does, and restore what the command line changes."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    sigpipe, sigalrm = signal.getsignal(signal.SIGPIPE), signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPIPE, sigpipe)
        signal.signal(signal.SIGALRM, sigalrm)


def play_batch(
    name: str,
    url: str,
    folder: Path,
    *options: str,
    settings: str = "",
    n: int = 10,
    speed: float = 1.0,
    most: float = MOST_SECONDS,
) -> Played:
    """Play `negolab batch` in this process: the model sells, a script buys; `speed` is that of our clock."""
    from negolab import cli

    player = ",".join(filter(None, (f"llm:{name}", settings)))
    words = ["batch", "bargaining", "--a", player, "--b", "linear", "--n", str(n), "--out", str(folder)]
    words += ["--base-url", url, "--concurrency", str(CONCURRENCY), *options]
    if "--price" not in options and not name.startswith("openrouter/"):
        words += ["--price", f"{name}={PRICE}"]
    out, err = io.StringIO(), io.StringIO()
    environment = {"NEGOLAB_CACHE": str(folder.parent / "answers.db"), "OPENAI_API_KEY": "sk-proj-0123456789abcdef4711"}
    began = time.monotonic()
    try:
        with (
            _signals(most),
            fast_clock(speed),
            mock.patch.object(sys, "argv", ["negolab", *words]),
            mock.patch.dict(os.environ, environment),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            cli.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    seconds = time.monotonic() - began
    return Played(status, out.getvalue(), err.getvalue(), seconds, read(folder) if folder.exists() else [])


def play_case(case: Case, services: RunningServices, folder: Path, *options: str, **more: Any) -> Played:
    """Play a batch against one case, with its settings and options; an outage takes half a minute of our clock."""
    speed = OUTAGE_SPEED if case.kind == Kind.PASSING and case.status != 429 else 1.0
    more = {"settings": case.settings, "speed": speed, **more}
    return play_batch(case.name, services.url, folder, *case.options, *options, **more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.005, help="seconds until an answer")
    parser.add_argument("--stretch", type=float, default=1.0, help="how many times as long outages and limits last")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Services(options.latency, options.stretch).serve(options.port))


if __name__ == "__main__":
    main()
