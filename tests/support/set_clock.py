"""A machine whose clock can be set, for the processes that a test starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PATCH = """
import time
from pathlib import Path

def set_time(real=time.time, file=Path(__file__).with_name("ahead")):
    return real() + float(file.read_text())

time.time = set_time
"""


class SetClock:
    """The clock of processes that are started from now on; before it is set, it is right."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._file = folder / "ahead"
        (folder / "sitecustomize.py").write_text(PATCH)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))
        self.set(0)

    def set(self, ahead: float) -> None:
        """Set the clock so many seconds ahead of the right time."""
        draft = self._file.with_suffix(".tmp")
        draft.write_text(str(ahead))
        draft.replace(self._file)


@pytest.fixture
def set_clock(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """A clock that can be set."""
    return SetClock(tmp_path_factory.mktemp("clock"), monkeypatch)
