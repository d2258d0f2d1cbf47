"""The environment of processes that run other people's code, or are reached by other people: no key is in it."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TEMP",
    "TMP",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "SYSTEMROOT",
)
"""What is handed on: no key or token of whoever starts the process."""


def scrubbed(also: Collection[str] = (), **more: str) -> dict[str, str]:
    """This process's environment without anybody's keys: what `KEPT` and `also` name, and `more`."""
    kept = {name: os.environ[name] for name in (*KEPT, *also) if name in os.environ}
    if "PYTHONPATH" in kept:  # the process may run in a folder of its own
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in kept["PYTHONPATH"].split(os.pathsep))
    return {**kept, "PYDEVD_DISABLE_FILE_VALIDATION": "1", **more}
