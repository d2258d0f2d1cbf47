"""Where the notebooks are, and the scrubbed environment in which Voila and its kernels run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from negolab_widgets.places import OUT

HERE = Path(__file__).parent

# What a kernel may inherit: no key or token of the person who serves the page.
_KEEP = (
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
_LONGEST = 24


def notebooks() -> Path:
    """The notebooks: beside the package in a wheel, at the top of a checkout."""
    shipped = HERE / "notebooks"
    return shipped if shipped.is_dir() else HERE.parents[2] / "notebooks"


def dashboard(name: str) -> Path:
    """The notebook of a page."""
    return notebooks() / "dashboards" / f"{name}.ipynb"


def scrubbed(**more: str) -> dict[str, str]:
    """An environment without anybody's keys."""
    kept = {name: os.environ[name] for name in _KEEP if name in os.environ}
    if "PYTHONPATH" in kept:  # the page runs in a folder of its own
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in kept["PYTHONPATH"].split(os.pathsep))
    return {**kept, "JUPYTER_PATH": str(HERE / "share"), "PYDEVD_DISABLE_FILE_VALIDATION": "1", **more}


def of_participants(seats: str, folder: Path) -> dict[str, str]:
    """For the participants' Voila: nothing but the socket of the seats and a folder of its own."""
    own = dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"), str(folder))
    return scrubbed(**own, NEGOLAB_SEATS=seats)


def of_researcher(out: Path, **more: str) -> dict[str, str]:
    """For the researcher's Voila."""
    return scrubbed(**{OUT: str(out.resolve())}, **more)


def short_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for sockets, whose paths may have about a hundred characters in all."""
    short = len(tempfile.gettempdir()) <= _LONGEST or not os.access("/tmp", os.W_OK)
    return tempfile.TemporaryDirectory(prefix="nl-", dir=None if short else "/tmp", ignore_cleanup_errors=True)
