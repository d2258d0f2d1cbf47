"""Where the notebooks are, and the scrubbed environment in which Voila and its kernels run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from negolab import environment
from negolab_widgets.places import OUT

HERE = Path(__file__).parent

_LONGEST = 24


def notebooks() -> Path:
    """The notebooks: beside the package in a wheel, at the top of a checkout."""
    shipped = HERE / "notebooks"
    return shipped if shipped.is_dir() else HERE.parents[2] / "notebooks"


def dashboard(name: str) -> Path:
    """The notebook of a page."""
    return notebooks() / "dashboards" / f"{name}.ipynb"


def scrubbed(**more: str) -> dict[str, str]:
    """An environment without anybody's keys, in which Voila finds our templates."""
    return environment.scrubbed(JUPYTER_PATH=str(HERE / "share"), **more)


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
