"""What tests of models share: a hostile endpoint in its own process, and calls to it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import msgspec

from negolab.llm.endpoint.call import Call, Message
from tests.conftest import ROOT, running
from tests.support.endpoint_server import Settings


class Server(NamedTuple):
    """A running endpoint: the base URL to give to a client, and its process."""

    url: str
    pid: int

    @property
    def root(self) -> str:
        return self.url.removesuffix("/v1")

    def set(self, **settings: Any) -> None:
        """Change how it behaves."""
        httpx.post(f"{self.root}/set", json=settings).raise_for_status()

    def reset(self, **settings: Any) -> None:
        """Behave as new, except for these settings; nothing is counted yet."""
        self.set(**{**msgspec.to_builtins(Settings(latency=0.005)), **settings, "forget": True})

    def counts(self) -> dict[str, Any]:
        """What came and what was answered."""
        return dict(httpx.get(f"{self.root}/counts").json())


@contextmanager
def hostile(port: int = 0, **settings: Any) -> Iterator[Server]:
    """A hostile endpoint until the caller is done with it."""
    words = [f"--{n.replace('_', '-')}={v if isinstance(v, str) else json.dumps(v)}" for n, v in settings.items()]
    command = [sys.executable, "-m", "tests.support.endpoint_server", f"--port={port}", *words]
    with running(command, "endpoint at", stop=signal.SIGTERM, cwd=ROOT) as (line, pid):
        yield Server(line.split()[2], pid)


def call(text: str = "a price such as 1", *, n: int = 0, model: str = "fake", **params: Any) -> Call:
    """A small call; `n` makes its body another."""
    return Call(
        model=model,
        messages=(Message("system", f"You are the seller. ({n})"), Message("user", text)),
        params={"max_tokens": 20, **params},
        repetition=("match", "A", n),
    )
