"""Cost of model calls and accuracy of rate limits, over HTTP on loopback."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from negolab.llm.endpoint.call import Call, Message
from negolab.llm.endpoint.endpoint import Endpoint
from negolab.llm.endpoint.policy import Limits
from negolab.llm.models import Models
from tests.support.endpoints import running_endpoint

CALLS = 2000
GAMES, TURNS = 300, 6


def chat(messages: int, n: int) -> Call:
    """Make a distinct call with `n` messages."""
    said = tuple(
        Message("user" if i % 2 else "assistant", f"{'I could pay a little more. ' * 4}{i}") for i in range(messages)
    )
    last = Message("user", f"Round {n}: a price such as 52.50.")
    return Call(model="fake", messages=(*said[1:], last), params={"max_tokens": 20}, repetition=(n,))


def cost(messages: int) -> float:
    """CPU milliseconds of one call with 50 in flight: the best of three."""

    async def calls() -> float:
        models = Models(keys={}, limits=Limits(at_once=50))
        endpoint = models.endpoint(server.url)
        await endpoint.answer(chat(messages, -1))
        asked = [chat(messages, n) for n in range(CALLS)]

        async def some(waiting: Iterator[Call]) -> None:
            for one in waiting:
                await endpoint.answer(one)

        best = 1e9
        for _ in range(3):
            waiting = iter(asked)
            began = time.process_time()
            await asyncio.gather(*(some(waiting) for _ in range(50)))
            best = min(best, time.process_time() - began)
        await models.close()
        return 1000 * best / CALLS

    with running_endpoint(latency=0.02) as server:
        return asyncio.run(calls())


class Kept(NamedTuple):
    """A limited run: answers per second, the share of refused attempts, and the slowest 1% of calls."""

    rate: float
    refused: float
    slowest: float


def play(url: str, games: int, turns: int, limits: Limits) -> Kept:
    """Run games concurrently, each a sequence of calls."""
    took: list[float] = []

    async def game(endpoint: Endpoint, n: int) -> None:
        for turn in range(turns):
            began = time.monotonic()
            await endpoint.answer(chat(2, n * turns + turn))
            took.append(time.monotonic() - began)

    async def all_() -> Kept:
        models = Models(keys={}, limits=limits)
        endpoint = models.endpoint(url)
        await endpoint.list_models()
        began = time.monotonic()
        await asyncio.gather(*(game(endpoint, n) for n in range(games)))
        spent = models.usage
        await models.close()
        rate = spent.calls / (time.monotonic() - began)
        return Kept(rate, spent.refused / (spent.refused + spent.calls), sorted(took)[int(0.99 * len(took))])

    found = asyncio.run(all_())
    print(found, file=sys.stderr)
    return found


@cache
def undeclared() -> Kept:
    """Run 300 games of 6 turns against an undeclared limit of 100 requests per second."""
    with running_endpoint(latency=0.05, rate=100, burst=100) as server:
        return play(server.url, GAMES, TURNS, Limits())


@cache
def declared() -> Kept:
    """Run one minute's calls under a declared and enforced limit of 300 per minute."""
    with running_endpoint(latency=0.05, rate=5, burst=5) as server:
        return play(server.url, 50, 6, Limits(requests_per_minute=300))


def off(rate: float) -> float:
    """Deviation from the declared rate in percent."""
    return 100 * abs(rate / 5 - 1)


def of(run: Callable[[], Kept], part: Callable[[Kept], float]) -> Callable[[], float]:
    """Make a measurement of one field of a run."""
    return lambda: part(run())


MEASUREMENTS: dict[str, Callable[[], float]] = {
    "models: a call with 8 messages, CPU ms": lambda: cost(8),
    "models: a call with 60 messages, CPU ms": lambda: cost(60),
    "models: 100 a second undeclared, answers/s": of(undeclared, lambda kept: kept.rate),
    "models: 100 a second undeclared, refused %": of(undeclared, lambda kept: 100 * kept.refused),
    "models: 100 a second undeclared, slowest 1% of calls, s": of(undeclared, lambda kept: kept.slowest),
    "models: 300 a minute declared, missed by %": of(declared, lambda kept: off(kept.rate)),
    "models: 300 a minute declared, refused %": of(declared, lambda kept: 100 * kept.refused),
}
