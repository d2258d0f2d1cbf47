"""The tables of a scenario file, and what follows from them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Annotated

import msgspec
from msgspec import Meta

from negolab._internal.validation import Name, check_fields
from negolab.game import Seat

Row = tuple[int, ...]
PointsTable = tuple[Row, ...]
"""A seat's points: a row per issue, a number per option. For goods, option k gives k units to A."""

MAX_OPTIONS = 10_000
Points = Annotated[int, Meta(ge=-(10**9), le=10**9)]


class Roles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of the seats; both read them."""

    A: Name = "player A"
    B: Name = "player B"


class Brief(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each seat's brief, in words; None if it is hidden in this view."""

    A: str | None = ""
    B: str | None = ""


class Reservation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each seat's points without a deal; None if they are hidden in this view."""

    A: Points | None = 0
    B: Points | None = 0

    def __post_init__(self) -> None:
        check_fields(self)


class Issue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An issue with `options`, or goods with `units`, whose options are the numbers of units that A gets, from 0.

    `A` and `B` are the seats' points: one per option, or the value of one unit; None if they are hidden in this view.
    """

    name: Name
    options: Annotated[tuple[Name, ...], Meta(min_length=2)] | None = None
    units: Annotated[int, Meta(ge=1, le=MAX_OPTIONS)] | None = None
    A: tuple[Points, ...] | Points | None = None
    B: tuple[Points, ...] | Points | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def size(self) -> int:
        """Number of options."""
        return len(self.options) if self.options is not None else (self.units or 0) + 1

    def points(self, seat: Seat) -> tuple[int, ...] | int | None:
        """Return the seat's points as the scenario writes them."""
        return self.A if seat == "A" else self.B


class Draw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Random draws at the deal: for each seat in `permute`, the values of the goods are shuffled among the goods."""

    permute: tuple[Seat, ...] = ()


def fold(text: str) -> str:
    """Fold a name for comparison: NFKC, case folding, and a single space for any whitespace."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=64)
def parse_discount(text: str) -> Fraction:
    """Parse `9/10` or `0.9`; raise `ValueError` unless it is above 0 and at most 1."""
    try:
        discount = Fraction(text)
    except (ValueError, ZeroDivisionError):
        discount = Fraction(0)
    if not 0 < discount <= 1:
        raise ValueError(
            f'discount must be a fraction such as "9/10" or a decimal, above 0 and at most 1, not {text!r}'
        )
    return discount


def points_table(issues: Sequence[Issue], rows: Sequence[Row | int | None], seat: Seat) -> PointsTable:
    """Return a seat's points per option, given the points as a scenario writes them."""
    return tuple(_points_row(issue, row, seat) for issue, row in zip(issues, rows, strict=True))


def _points_row(issue: Issue, row: Row | int | None, seat: Seat) -> Row:
    if row is None:
        raise ValueError(f"the points of {seat} in issue {issue.name!r} are not known in this view")
    if isinstance(row, tuple):
        return row
    units = range(issue.size)
    return tuple(row * (n if seat == "A" else units[-1] - n) for n in units)


def without_points(issues: tuple[Issue, ...], seat: Seat) -> tuple[Issue, ...]:
    """Return the issues without one seat's points."""
    return tuple(msgspec.structs.replace(issue, **{seat: None}) for issue in issues)


def importance(table: PointsTable) -> tuple[int, ...]:
    """Rank the issues by how much they matter to a seat: 1 for the widest span of points; equal spans share a rank."""
    spans = [max(row) - min(row) for row in table]
    return tuple(1 + sum(other > span for other in spans) for span in spans)


def iter_offers(issues: Sequence[Issue], most: int) -> Iterator[tuple[int, ...]]:
    """Yield all agreements in lexicographic order; if there are more than `most`, yield `most` evenly spaced ones,
    including the first and the last."""
    sizes = [issue.size for issue in issues]
    count = prod(sizes)
    chosen = range(count) if count <= most else (i * (count - 1) // (most - 1) for i in range(most))
    for index in chosen:
        digits = []
        for size in reversed(sizes):
            index, digit = divmod(index, size)
            digits.append(digit)
        yield tuple(reversed(digits))
