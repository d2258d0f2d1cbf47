"""A persona: the system message of a model, from a file of text."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

LONGEST = 100_000
"""Bytes of a persona at most."""


class Persona(msgspec.Struct, frozen=True):
    """The text, and what a record says of it: the file's name without its folder, and the hash of its bytes."""

    text: str
    file: str
    sha256: str


def persona(path: str) -> Persona:
    """Read a persona; `ValueError` names the file and what is wrong with it."""
    file = Path(path).expanduser()
    try:
        with file.open("rb") as opened:
            found = opened.read(LONGEST + 1)
        text = found.decode("utf-8-sig").strip()
    except OSError as error:
        raise ValueError(f"persona {path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise ValueError(f"persona {path} is not UTF-8 text") from None
    if not text or len(found) > LONGEST:
        must = f"must hold some text, at most {LONGEST} bytes"
        raise ValueError(f"persona {path} {must}")
    return Persona(text, file.name, hashlib.sha256(found).hexdigest())
