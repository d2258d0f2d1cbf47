"""Checks of single options of a study file."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_name(value: str, what: str = "name") -> None:
    """Raise `ValueError` unless `value`, used in file names and tables, is letters, digits and inner hyphens."""
    if not _NAME.fullmatch(value) or len(value) > 60:
        raise ValueError(f"{what} must be letters, digits and hyphens, at most 60, not {value!r}")


def check_identifier(value: str, what: str) -> None:
    """Raise `ValueError` unless `value` can be the name of a column or a query parameter."""
    if not _WORD.fullmatch(value) or len(value) > 60:
        raise ValueError(f"{what} must be a letter, then letters, digits, _ or -, at most 60, not {value!r}")


def check_text(value: str, what: str) -> None:
    """Raise `ValueError` for a blank text."""
    if not value.strip():
        raise ValueError(f"{what} is empty: write the text that people read")


def check_distinct(values: Sequence[str], what: str) -> None:
    """Raise `ValueError` if `values` holds a duplicate."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{what} {value!r} stands there twice: each must be of its own")
