"""A real model on this machine, served as a user would serve it, for the tests that carry the marker `model`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, NoReturn

import pytest

from negolab.llm.local.weights import download_weights, find_weights
from tests.conftest import CI, free_port, running


class LocalModel(NamedTuple):
    """Its address, and the process that was started."""

    url: str
    pid: int


def needs_runtime() -> None:
    """What runs a model must be installed in CI; elsewhere a test without it skips, naming the command."""
    if importlib.util.find_spec("xllamacpp") is None:
        _lacks("xllamacpp is not installed: pip install 'negolab[local]'")


def needs_weights() -> None:
    """In CI the weights are fetched and must be there; elsewhere a test without them skips, naming the command."""
    needs_runtime()
    try:
        find_weights()
    except ValueError as error:
        if not CI:
            _lacks(str(error))
        download_weights()


def _lacks(text: str) -> NoReturn:
    if CI:
        pytest.fail(text)
    pytest.skip(text)


@contextmanager
def serving_model(*options: str) -> Iterator[LocalModel]:
    """`negolab model serve` until the block ends."""
    needs_weights()
    port = free_port()
    command = [sys.executable, "-m", "negolab", "model", "serve", f"--port={port}", *options]
    with running(command, "the model is at") as (line, pid):
        yield LocalModel(line.split()[4].rstrip(","), pid)
