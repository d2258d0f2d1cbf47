"""The hostile endpoint in a process of its own, and calls to it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2
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
        """Change settings while it runs."""
        httpx2.post(f"{self.root}/set", json=settings).raise_for_status()

    def reset(self, **settings: Any) -> None:
        """Restore the default settings, except for these, and clear the counts."""
        self.set(**{**msgspec.to_builtins(Settings(latency=0.005)), **settings, "forget": True})

    def counts(self) -> dict[str, Any]:
        """The server's counts of requests and answers."""
        return dict(httpx2.get(f"{self.root}/counts").json())


@contextmanager
def running_endpoint(port: int = 0, **settings: Any) -> Iterator[Server]:
    """Run a hostile endpoint until the block ends."""
    words = [f"--{n.replace('_', '-')}={v if isinstance(v, str) else json.dumps(v)}" for n, v in settings.items()]
    command = [sys.executable, "-m", "tests.support.endpoint_server", f"--port={port}", *words]
    with running(command, "endpoint at", stop=signal.SIGTERM, cwd=ROOT) as (line, pid):
        yield Server(line.split()[2], pid)


def make_call(text: str = "a price such as 1", *, n: int = 0, model: str = "fake", **params: Any) -> Call:
    """Make a small call; `n` makes its body distinct."""
    return Call(
        model=model,
        messages=(Message("system", f"You are the seller. ({n})"), Message("user", text)),
        params={"max_tokens": 20, **params},
        repetition=("match", "A", n),
    )
