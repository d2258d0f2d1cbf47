"""Tests that are coroutines, as the host's own code runs in an event loop; a clock that a test sets."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from negolab.studies.clock import ManualClock, manual_clock


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def clock() -> Iterator[ManualClock]:
    """The time of the host in this process, which stands still until it is advanced."""
    with manual_clock() as manual:
        yield manual
