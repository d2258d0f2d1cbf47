"""A language model on this machine, served with `negolab model serve`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from negolab.llm.local.weights import download_weights, find_weights
from tests.conftest import NEGOLAB_CI, free_port, missing, running


class LocalModel(NamedTuple):
    """The address and the process of a served model."""

    url: str
    pid: int


def needs_runtime() -> None:
    """Skip if the runtime is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        missing("xllamacpp is not installed: pip install 'negolab[local]'")


def needs_weights() -> None:
    """Skip if the weights are not on this machine; in `.ci/run`, fetch them."""
    needs_runtime()
    try:
        find_weights()
    except ValueError as error:
        if not NEGOLAB_CI:
            missing(str(error))
        download_weights()


@contextmanager
def serving_model(*options: str) -> Iterator[LocalModel]:
    """Run `negolab model serve` until the block ends."""
    needs_weights()
    port = free_port()
    command = [sys.executable, "-m", "negolab", "model", "serve", f"--port={port}", *options]
    with running(command, "the model is at") as (line, pid):
        yield LocalModel(line.split()[4].rstrip(","), pid)
