"""Environment without secrets, for processes that run other people's code or that other people can reach."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

ALLOWED = (
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
    "NEGOLAB_NEGMAS",
    "SYSTEMROOT",
)
"""Variables that are passed on; none of them holds a key or token."""


def scrubbed_environment(also: Collection[str] = (), **more: str) -> dict[str, str]:
    """Return this process's variables that `ALLOWED` and `also` name, and those in `more`."""
    variables = {name: os.environ[name] for name in (*ALLOWED, *also) if name in os.environ}
    return {**variables, **python_path(), "PYDEVD_DISABLE_FILE_VALIDATION": "1", **more}


def python_path() -> dict[str, str]:
    """Return PYTHONPATH, if it is set, for a process that runs in another folder, from which it must import nothing.

    Python takes a relative entry, and an empty one, as in `:/my/libs`, from the folder in which it runs.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    absolute = os.pathsep.join(str(Path(path).resolve()) for path in entries if path)
    return {"PYTHONPATH": absolute} if "PYTHONPATH" in os.environ else {}
