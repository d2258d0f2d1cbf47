"""The server process: `python server.py '{"path": ...}'`, which runs until its standard input is closed.

Its owner holds the other end of that pipe, so that the server ends with its owner, however the owner ends.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import msgspec


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Configuration of a server: `slots` answers at once, each with `context` tokens."""

    path: str
    port: int
    slots: int
    threads: int
    context: int


MODEL_ALIAS = "local"
"""The model's name at its endpoint."""


def llama_parameters(served: ServerConfig) -> Any:
    """Return the settings of llama.cpp: local only, little memory, no web pages."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = served.path
    params.model_alias = {MODEL_ALIAS}
    params.n_ctx = served.context * served.slots
    params.n_parallel = served.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = served.threads
    params.hostnames = ["127.0.0.1"]
    params.port = served.port
    params.ui = False
    params.cors_origins = ""  # by default any web page may call it
    params.cache_ram_mib = 512  # by default 8 GB
    params.n_gpu_layers = 0
    return params


def main() -> None:
    """Serve until standard input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    import xllamacpp

    _serve_until_eof(xllamacpp.Server(llama_parameters(msgspec.json.decode(sys.argv[1], type=ServerConfig))))


def _serve_until_eof(server: Any) -> None:
    """Wait for the end of standard input; the server runs in its own threads as long as it is referenced."""
    sys.stdin.buffer.read()
    # A regular exit would wait for answers that nobody will read.
    os._exit(0)


if __name__ == "__main__":
    main()
