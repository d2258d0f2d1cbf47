"""The processes of a served page, as /proc lists them: to count, to measure and to kill them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

ProcessKind = Literal["host", "voila", "admin", "kernel"]

_MARKS: dict[ProcessKind, str] = {
    "host": "negolab.studies.server",
    "voila": "negolab_widgets.server.gate",
    "admin": "negolab_widgets.server.admin",
    "kernel": "ipykernel_launcher",
}


def descendants(pid: int) -> list[int]:
    """All descendants of a process."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    pids, stack = [], [pid]
    while stack:
        new = children.get(stack.pop(), [])
        pids += new
        stack += new
    return pids


def command_line(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def processes_of(launcher: int, part: ProcessKind) -> list[int]:
    """Process ids of a launcher's host, of its participants' or its researcher's Voila, or of its kernels."""
    return [pid for pid in descendants(launcher) if _MARKS[part] in command_line(pid)]


def kernels_of(voila: int) -> list[int]:
    return [pid for pid in descendants(voila) if _MARKS["kernel"] in command_line(pid)]


def kill(pid: int) -> None:
    """Kill a process with SIGKILL."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def until(holds: Callable[[], object], seconds: float = 180) -> None:
    """Poll until `holds()`; fail after so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def memory(pid: int) -> tuple[int, int]:
    """Resident (RSS) and proportional (PSS) memory of a process in MiB."""
    values = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
            name, _, rest = line.partition(":")
            values[name] = int(rest.split()[0])
    return values.get("Rss", 0) // 1024, values.get("Pss", 0) // 1024
