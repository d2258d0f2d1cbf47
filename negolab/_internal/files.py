"""Durable file writes, which replace a file as a whole or create a new one, and the folder of notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def atomic_write(path: Path, data: bytes, *, new: bool = False) -> None:
    """Atomically replace `path` with `data`; fsync file and folder. An error leaves nothing half-written.

    `new`: create `path` itself instead; `FileExistsError` if it is there.
    """
    draft = path if new else path.with_name(f"{path.name}.tmp")
    out = draft.open("xb" if new else "wb")
    try:
        with out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        draft.unlink()
        raise
    draft.replace(path)
    fsync_folder(path.parent)


@contextmanager
def private_files() -> Iterator[None]:
    """Let files and folders made inside be the user's alone (0600 and 0700), as they hold what people said."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def notebooks() -> Path:
    """Return the folder of notebooks: inside the package in a wheel, at the top of a checkout."""
    package = Path(__file__).parents[1]
    shipped = package / "notebooks"
    return shipped if shipped.is_dir() else package.parent / "notebooks"


def fsync_folder(folder: Path) -> None:
    """Fsync a folder: without it a replaced file can be the old one again after a power failure."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
