"""A disk that a test fills."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest


class SmallDisk:
    """A file system of a few megabytes at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self, left: int = 0) -> None:
        """Fill it but for so many bytes."""
        with self._ballast.open("wb", buffering=0) as out:
            for size in (65536, 4096):
                with suppress(OSError):
                    while out.write(b"x" * size):
                        pass
            out.truncate(out.tell() - left)

    def clear(self) -> None:
        """Make room again."""
        self._ballast.unlink()

    def files(self) -> list[str]:
        """Name the files on it, without what fills it."""
        found = (file for file in self.path.rglob("*") if file.is_file() and file != self._ballast)
        return sorted(file.relative_to(self.path).as_posix() for file in found)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small disk, for those who may mount one."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(path)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("only root can mount a small disk")
    yield SmallDisk(path)
    subprocess.run(["umount", "-l", str(path)], check=True)
