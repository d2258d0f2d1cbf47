"""Codebooks: TOML files that define what coders look for in what was said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from negolab._internal.validation import TomlTable, check_identifier, check_name, check_text, located, read_toml

UnitKind = Literal["utterance", "seat", "match"]
Level = Literal["nominal", "ordinal", "interval"]
RESERVED = ("id", "before", "text")
"""Columns of a sheet, whose names no code may have."""
_WHOLE = re.compile(r"-?\d{1,15}")
MOST_STEPS = 1001
"""Number of values on the longest scale, such as from 0 to 1,000."""
_YES, _NO = ("1", "x", "y", "yes", "true"), ("", "0", "n", "no", "false")


class Code(TomlTable, frozen=True, kw_only=True):
    """A code in a codebook.

    Attributes:
        definition: The definition that coders read.
        examples: Utterances that the code fits.
        scale: Smallest and largest whole number on a scale; None: yes or no.
        level: The level at which coders are compared (default: ordinal for a scale, nominal for yes and no).

    Raises:
        ValueError: The definition is empty, or the scale has fewer than two values, or too many.
    """

    definition: str
    examples: tuple[str, ...] = ()
    scale: tuple[int, int] | None = None
    level: Level | None = None

    def __post_init__(self) -> None:
        check_text(self.definition, "definition")
        if self.scale is not None and self.scale[0] >= self.scale[1]:
            raise ValueError(f"scale: [{self.scale[0]}, {self.scale[1]}] is not a scale: write [1, 5], smaller first")
        if self.scale is not None and self.scale[1] - self.scale[0] >= MOST_STEPS:
            raise ValueError(f"scale: [{self.scale[0]}, {self.scale[1]}] has more than {MOST_STEPS:,} values")

    @property
    def measured(self) -> Level:
        """The level at which coders are compared."""
        return self.level or ("ordinal" if self.scale else "nominal")


class Codebook(TomlTable, frozen=True, kw_only=True):
    """A codebook, as in its file.

    Attributes:
        codes: The codes by name.
        unit: The text to code as one: an utterance, all that one seat said, or a whole match.
        exclusive: True if exactly one code, all being yes or no, fits each unit.

    Raises:
        ValueError: There is no code, or one has a name that is not allowed.
    """

    codes: dict[str, Code]
    unit: UnitKind = "utterance"
    exclusive: bool = False

    def __post_init__(self) -> None:
        if not self.codes:
            raise ValueError("codes: no codes are defined: write [codes.NAME] and its definition")
        for name, code in self.codes.items():
            check_identifier(name, "codes: the name of a code")
            if name in RESERVED or (self.exclusive and code.scale):
                why = (
                    "is on a scale, but exclusive codes must be yes or no"
                    if code.scale
                    else "is a column of every sheet"
                )
                raise ValueError(f"codes: {name} {why}")

    def read(self, marks: Mapping[str, str]) -> dict[str, int]:
        """Return the values that a coder's marks stand for. A yes-or-no code without a mark is a no; other codes
        without one are left out.

        Raises:
            ValueError: A mark is not a value of its code, or the book is exclusive and not exactly one code fits.
        """
        codes = dict[str, int]()
        for name, code in self.codes.items():
            mark = marks.get(name, "").strip().lower().removesuffix(".0")
            if code.scale is None:
                mark = {**dict.fromkeys(_YES, "1"), **dict.fromkeys(_NO, "0")}.get(mark, mark)
            low, high = code.scale or (0, 1)
            if mark and not (_WHOLE.fullmatch(mark) and low <= int(mark) <= high):
                allowed = f"a whole number from {low} to {high}" if code.scale else "1 for yes or 0 for no"
                raise ValueError(f"{name}: {mark!r:.40} is not a valid value: write {allowed}")
            codes |= {name: int(mark)} if mark else {}
        chosen = [name for name, value in codes.items() if value]
        if self.exclusive and len(chosen) != 1:
            raise ValueError(f"exactly one code fits each {self.unit}, not {', '.join(chosen) or 'none'}")
        return codes


def read_codebook(path: Path) -> tuple[str, Codebook]:
    """Read a codebook and its name in tables, which is its file's.

    Raises:
        ValueError: The file cannot be read or is not a codebook; the message names the file and the place.
    """
    with located(path):
        check_name(path.stem, "a codebook's name")
    return path.stem, read_toml(path, Codebook)
