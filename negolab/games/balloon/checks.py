"""Checks of parameters: their errors name parameter and value."""

from __future__ import annotations

from typing import Any


def check(name: str, value: Any, fits: bool, must: str) -> None:
    """`ValueError` unless it fits."""
    if not fits:
        raise ValueError(f"{name} must be {must}, not {value!r}")


def whole(value: Any, least: int) -> bool:
    """Whether it is an integer of at least `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def span(value: Any) -> bool:
    """Whether it is a range of integers from 1 on, both ends included."""
    return isinstance(value, tuple) and len(value) == 2 and whole(value[0], 1) and whole(value[1], value[0])


def share(value: Any) -> bool:
    """Whether it is a part of a whole, above 0 and at most 1."""
    return isinstance(value, int | float) and 0 < value <= 1
