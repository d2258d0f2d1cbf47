"""Whole runs of models over HTTP on loopback: throughput relative to the ideal, and the cost of a turn."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import negolab as nl
from negolab.llm.cache import Cache
from negolab.llm.endpoint.policy import Limits
from negolab.llm.models import Models
from tests.support.endpoints import Server, running_endpoint

CONNECTIONS = 50


class Took(NamedTuple):
    """One run: seconds from its first call to its end, CPU seconds of this process, and answered calls."""

    seconds: float
    cpu: float
    answered: int

    def ideal(self, latency: float) -> float:
        """The ideal time, requests x latency / connections, relative to the measured one."""
        return self.answered * latency / CONNECTIONS / self.seconds


def took(latency: float, games: int, rounds: int = 6) -> Took:
    """Run bargaining between two models whose prices never meet, with a cache on disk and records written."""
    with tempfile.TemporaryDirectory() as folder, running_endpoint(latency=latency) as server:
        asyncio.run(_played(server, Path(folder) / "warm", 10, rounds))
        server.reset(latency=latency)
        seconds, cpu = asyncio.run(_played(server, Path(folder) / "run", games, rounds))
        found = Took(seconds, cpu, server.counts()["answered"])
    print(found, file=sys.stderr)
    return found


async def _played(server: Server, folder: Path, games: int, rounds: int) -> tuple[float, float]:
    with Cache(folder / "answers.db") as cache:
        models = Models(cache=cache, limits=Limits(at_once=CONNECTIONS), keys={"NEGOLAB_BASE_URL": server.url})
        game = nl.load("bargaining", rounds=rounds)
        began, busy = time.monotonic(), time.process_time()
        await nl.run(game, "llm:fake", "llm:fake", n=games, out=folder, models=models, at_once=2 * CONNECTIONS)
        spent = time.monotonic() - began, time.process_time() - busy
        await models.close()
    return spent


def share(latency: float) -> Callable[[], float]:
    """Throughput of 300 games in percent of the ideal."""
    return lambda: 100 * took(latency, 300).ideal(latency)


def turn(messages: int) -> Callable[[], float]:
    """CPU milliseconds of a turn, in games whose history grows to twice so many messages."""

    def measured() -> float:
        found = took(0.02, max(20, 2400 // messages), rounds=2 * messages)
        return 1000 * found.cpu / found.answered

    return measured


MEASUREMENTS: dict[str, Callable[[], float]] = {
    "runs: 300 games at 50 ms and 50 connections, % of the ideal": share(0.05),
    "runs: 300 games at 1 s and 50 connections, % of the ideal": share(1.0),
    "runs: a model's turn at 8 messages, CPU ms": turn(8),
    "runs: a model's turn at 60 messages, CPU ms": turn(60),
}
