"""The processes of a served page, as Linux lists them: to count them, to measure them, and to kill one."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Literal

Part = Literal["host", "voila", "kernel"]

_MARKS: dict[Part, str] = {
    "host": "negolab.studies.server",
    "voila": "negolab_widgets.server.gate",
    "kernel": "ipykernel_launcher",
}


def below(pid: int) -> list[int]:
    """All descendants of a process."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, stack = [], [pid]
    while stack:
        new = children.get(stack.pop(), [])
        found += new
        stack += new
    return found


def command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def parts(launcher: int, part: Part) -> list[int]:
    """The processes below a launcher that are the host, the participants' Voila, or kernels."""
    return [pid for pid in below(launcher) if _MARKS[part] in command(pid)]


def kernels_of(voila: int) -> list[int]:
    return [pid for pid in below(voila) if _MARKS["kernel"] in command(pid)]


def kill(pid: int) -> None:
    """End a process as a crash would."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def memory(pid: int) -> tuple[int, int]:
    """Resident and proportional memory of a process, in MiB: shared pages count whole, and by their share."""
    values = {}
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
            name, _, rest = line.partition(":")
            values[name] = int(rest.split()[0])
    return values.get("Rss", 0) // 1024, values.get("Pss", 0) // 1024
