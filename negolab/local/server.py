"""The server process: `python server.py '{"path": ...}'`. It lives as long as its standard input.

Whoever starts it holds the other end of that pipe, so that it ends with its owner, however that one ends.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import msgspec


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What is served where. `context` counts tokens of one slot; `slots` answers are written at once."""

    path: str
    port: int
    slots: int
    threads: int
    context: int


ALIAS = "local"
"""What the model is called at its endpoint."""


def parameters(served: Served) -> Any:
    """The server's settings; those that are not obvious keep it off the network, off the user's memory and quiet."""
    import xllamacpp

    chosen = xllamacpp.CommonParams()
    chosen.model.path = served.path
    chosen.model_alias = {ALIAS}
    chosen.n_ctx = served.context * served.slots
    chosen.n_parallel = served.slots
    chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = served.threads
    chosen.hostnames = ["127.0.0.1"]
    chosen.port = served.port
    chosen.ui = False
    chosen.cors_origins = ""  # by default any page in a browser may ask
    chosen.cache_ram_mib = 512  # by default 8 GB
    chosen.n_gpu_layers = 0
    return chosen


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    import xllamacpp

    _hold(xllamacpp.Server(parameters(msgspec.json.decode(sys.argv[1], type=Served))))


def _hold(server: Any) -> None:
    """It works on threads of its own for as long as it is held."""
    sys.stdin.buffer.read()
    # Its own end would wait for answers that nobody hears any more.
    os._exit(0)


if __name__ == "__main__":
    main()
