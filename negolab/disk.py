"""Files that are whole or not there, also if the power fails."""

from __future__ import annotations

import os
from pathlib import Path


def written(file: Path, text: bytes) -> None:
    """Make this the text of a file. Who reads it, at any time, finds all of the old text or all of the new."""
    draft = file.with_name(f"{file.name}.tmp")
    with draft.open("wb") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)
    synced(file.parent)


def synced(folder: Path) -> None:
    """Force the names in a folder to the disk: a file that was put in another's place could be the old one again."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    there = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(there)
    finally:
        os.close(there)
