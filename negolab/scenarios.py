"""Scenarios: a game's parameters, written in a TOML file by a researcher who needs no Python.

The keys of a file are the game's parameters, and tables within it are the structs that a parameter is made of.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from negolab._internal.files import read_text
from negolab._internal.validation import convert_table, located, parse_toml

SUFFIX = ".toml"


def read_scenario(path: str | os.PathLike[str], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Read the parameters for a game of the class `kind` from a file.

    Returns:
        The parameters as plain data, checked by constructing the game.

    Raises:
        ValueError: The file cannot be read, is not TOML, or contains an unknown parameter or a wrong value; the message
            names the file and the place.
    """
    path = Path(path)
    text = read_text(path)
    with located(path):
        table = parse_toml(text, kind, own=("preset",))
        convert_table(table, kind)
        return table


def read_scenarios(folder: Path, kind: type[msgspec.Struct]) -> dict[str, dict[str, Any]]:
    """Read every scenario file in a folder, by the file's name without its suffix."""
    return {path.stem: read_scenario(path, kind) for path in sorted(folder.glob(f"*{SUFFIX}"))}
