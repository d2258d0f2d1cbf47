"""An environment without secrets, for processes that run other people's code or that other people can reach."""

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
PATHS = (
    "PATH",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONPYCACHEPREFIX",
    "IPYTHONDIR",
    "JUPYTER_PATH",
    "JUPYTER_CONFIG_PATH",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
"""Variables that say where code is."""


def scrubbed_environment(also: Collection[str] = (), **more: str) -> dict[str, str]:
    """Return those of this process's variables that `ALLOWED` and `also` name, and those in `more`."""
    variables = {name: os.environ[name] for name in (*ALLOWED, *also) if name in os.environ and name not in PATHS}
    paths = {name: text for name, text in absolute_paths().items() if name in ALLOWED}
    return {**variables, **paths, "PYDEVD_DISABLE_FILE_VALIDATION": "1", **more}


def absolute_paths() -> dict[str, str]:
    """Return the variables in `PATHS`, for a process that runs in another folder and must run nothing from it.

    A relative entry means the folder in which a process runs, and so does an empty one, as in `:/my/libs`.
    """
    found = {}
    for name in PATHS:
        entries = [str(Path(entry).resolve()) for entry in os.environ.get(name, "").split(os.pathsep) if entry]
        # A folder whose name contains the separator would be read as two.
        if usable := [entry for entry in entries if os.pathsep not in entry]:
            found[name] = os.pathsep.join(usable)
    return found
