"""What a worker of ours loads first: Ctrl-C in a terminal reaches all processes, and only the driver is to act."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Called by Dask in the worker's main thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
