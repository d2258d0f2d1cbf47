"""The tables of a scenario file, and the checks of a scenario: each names the place, the value and the remedy."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

import msgspec

from negolab.game import SEATS, Seat

if TYPE_CHECKING:
    from negolab.games.agenda.rules import Agenda

Opens = Literal["A", "B", "drawn"]
Answer = Literal["must", "may"]
Show = Literal["nothing", "order", "all"]
Correlation = Literal[-1, 0, 1]
Row = tuple[int, ...]
Table = tuple[Row, ...]
"""Points of a seat: a row per issue, a number per option. Of goods, option k gives k units to A."""

MAX_AGREEMENTS = 10**9
MAX_POINTS = 10**9
MAX_OPTIONS = 10_000
_FORBIDDEN = re.compile(r"[;=\[\]]")
_CHOICES: dict[str, tuple[Any, ...]] = {
    "opens": get_args(Opens),
    "answer": get_args(Answer),
    "show": get_args(Show),
    "correlation": get_args(Correlation),
}


class Roles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of the seats; both read them."""

    A: str = "player A"
    B: str = "player B"


class Brief(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What each seat is told in words. None: not told to this seat."""

    A: str | None = ""
    B: str | None = ""


class Reservation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points of each seat without a deal. None: not told to this seat."""

    A: int | None = 0
    B: int | None = 0


class Issue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An issue with `options`, or goods with `units`: the options are then how many of them A gets, from 0.

    `A` and `B` are the seats' points: one per option, or the value of one unit. None: not told to this seat.
    """

    name: str
    options: tuple[str, ...] | None = None
    units: int | None = None
    A: tuple[int, ...] | int | None = None
    B: tuple[int, ...] | int | None = None

    @property
    def size(self) -> int:
        """Number of options."""
        return len(self.options) if self.options is not None else (self.units or 0) + 1

    def points(self, seat: Seat) -> tuple[int, ...] | int | None:
        """Return the seat's points as the scenario writes them."""
        return self.A if seat == "A" else self.B


class Draw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Chance at the deal: of the seats in `permute`, the values of the goods are shuffled among the goods."""

    permute: tuple[Seat, ...] = ()


def fold(text: str) -> str:
    """Fold a name for comparison: NFKC, case folding, and one blank for any white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=64)
def numbered_issues(count: int, options: int) -> tuple[Issue, ...]:
    """Return issues whose points are drawn at the deal: `issue 1`, `issue 2`, ... with `option 1`, `option 2`, ..."""
    names = tuple(f"option {number}" for number in range(1, options + 1))
    return tuple(Issue(f"issue {number}", names) for number in range(1, count + 1))


@lru_cache(maxsize=64)
def parse_discount(text: str) -> Fraction:
    """Parse `9/10` or `0.9`; `ValueError` unless it is above 0 and at most 1."""
    try:
        discount = Fraction(text)
    except (ValueError, ZeroDivisionError):
        discount = Fraction(0)
    if not 0 < discount <= 1:
        raise ValueError(
            f'discount must be a fraction such as "9/10" or a decimal, above 0 and at most 1, not {text!r}'
        )
    return discount


def points_table(issues: Sequence[Issue], rows: Sequence[Row | int | None], seat: Seat) -> Table:
    """Return a seat's points per option from points as a scenario writes them."""
    return tuple(_points_row(issue, row, seat) for issue, row in zip(issues, rows, strict=True))


def _points_row(issue: Issue, row: Row | int | None, seat: Seat) -> Row:
    if row is None:
        raise ValueError(f"the points of {seat} in issue {issue.name!r} are not known here")
    if isinstance(row, tuple):
        return row
    units = range(issue.size)
    return tuple(row * (n if seat == "A" else units[-1] - n) for n in units)


def check_scenario(game: Agenda) -> None:
    """Raise `ValueError` for the first mistake."""
    if not game.title.strip() or len(game.title.splitlines()) > 1:
        raise ValueError(f"title must be one line of text that people read, not {game.title!r}")
    for name, choices in _CHOICES.items():
        if getattr(game, name) not in (*choices, None):
            raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, not {getattr(game, name)!r}")
    _check_whole("turns", game.turns, 2)
    _check_whole("max_chars", game.max_chars, 1)
    parse_discount(game.discount)
    for seat in SEATS:
        if not getattr(game.roles, seat).strip():
            raise ValueError(f"roles.{seat} is empty: name the role, or leave it out")
        reservation = getattr(game.reservation, seat)
        if reservation is not None:
            _check_points(f"reservation.{seat}", reservation)
    if isinstance(game.issues, int):
        _check_random(game, game.issues)
    else:
        _check_issues(game, game.issues)
    _check_count(game)


def _check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    if type(value) is not int or value < least or (most is not None and value > most):
        upper = "" if most is None else f" to {most:,}"
        raise ValueError(f"{name} must be a whole number from {least}{upper}, not {value!r}")


def _check_points(place: str, value: Any) -> None:
    if type(value) is not int or abs(value) > MAX_POINTS:
        raise ValueError(f"{place} must be a whole number from {-MAX_POINTS:,} to {MAX_POINTS:,}, not {value!r}")


def _check_random(game: Agenda, count: int) -> None:
    """Check the parameters of points that are drawn."""
    _check_whole("issues", count, 1)
    _check_whole("options", game.option_count, 2, MAX_OPTIONS)
    for name in ("low", "high"):
        _check_points(name, getattr(game, name))
    if game.low > game.high:
        raise ValueError(f"low must be at most high = {game.high}, not {game.low}")
    if game.draw.permute:
        raise ValueError("draw.permute needs goods: give issues with units, or leave it out")


def _check_count(game: Agenda) -> None:
    issues = game.issues
    sizes = [game.option_count] * min(issues, 64) if isinstance(issues, int) else [issue.size for issue in issues]
    if prod(sizes) > MAX_AGREEMENTS:
        raise ValueError(
            f"issues: there are more than {MAX_AGREEMENTS:,} agreements, the most that are allowed: "
            "use fewer issues or options"
        )


def _check_issues(game: Agenda, issues: tuple[Issue, ...]) -> None:
    if not issues:
        raise ValueError("issues: there must be at least one: begin it with [[issues]]")
    for at, issue in enumerate(issues):
        _check_name(f"issues[{at}].name", issue.name)
        if not issue.name[0].isalpha():
            raise ValueError(f"issues[{at}].name must begin with a letter, not {issue.name!r}")
        _check_options(at, issue)
        for seat in SEATS:
            _check_row(at, issue, seat, told=getattr(game.reservation, seat) is not None)
    _check_unique([(f"issues[{at}].name", issue.name) for at, issue in enumerate(issues)])
    _check_permuted(game.draw.permute, issues)


def _check_name(place: str, name: str) -> None:
    """Check that a name can be written into an offer and found there."""
    if not fold(name):
        raise ValueError(f"{place} is empty: write a name")
    if (found := _FORBIDDEN.search(name)) is not None:
        raise ValueError(f"{place} must not hold {found[0]!r}, which offers are written with: {name!r}")
    if len(name.splitlines()) > 1 or name.endswith(("\n", "\r")):
        raise ValueError(f"{place} must be on one line, not {name!r}")


def _check_options(at: int, issue: Issue) -> None:
    if (issue.options is None) == (issue.units is None):
        both = "both options and" if issue.options is not None else "neither options nor"
        raise ValueError(f"issues[{at}] ({issue.name!r}) has {both} units: give one of them")
    if issue.units is not None:
        _check_whole(f"issues[{at}].units", issue.units, 1, MAX_OPTIONS)
        return
    assert issue.options is not None
    if len(issue.options) < 2:
        raise ValueError(f"issues[{at}].options has {len(issue.options)} of at least 2 options: {list(issue.options)}")
    for k, option in enumerate(issue.options):
        _check_name(f"issues[{at}].options[{k}]", option)
    _check_unique([(f"issues[{at}].options[{k}]", option) for k, option in enumerate(issue.options)])


def _check_row(at: int, issue: Issue, seat: Seat, told: bool) -> None:
    """Check one seat's points of an issue; only a seat that is `told` nothing of the other may lack them."""
    place, row = f"issues[{at}].{seat}", issue.points(seat)
    if row is None:
        if told:
            _ask_for_points(place, "is missing", issue)
    elif issue.options is None:
        if isinstance(row, tuple):
            _ask_for_points(place, "is a list", issue)
        _check_points(place, row)
    elif not isinstance(row, tuple):
        _ask_for_points(place, "is one number", issue)
    else:
        if len(row) != len(issue.options):
            raise ValueError(
                f"{place} has {_count(len(row), 'number')} for {_count(len(issue.options), 'option')} "
                f"of {issue.name!r}: give one per option"
            )
        for k, points in enumerate(row):
            _check_points(f"{place}[{k}]", points)


def _ask_for_points(place: str, mistake: str, issue: Issue) -> NoReturn:
    seat = place[-1]
    if issue.options is None:
        raise ValueError(f"{place} {mistake}: give the value of one unit of {issue.name!r}, such as {seat} = 5")
    shown = ", ".join(map(str, range(0, 10 * issue.size, 10))) if issue.size <= 6 else "0, 10, ..."
    raise ValueError(f"{place} {mistake}: give a number per option of {issue.name!r}, such as {seat} = [{shown}]")


def _check_unique(named: list[tuple[str, str]]) -> None:
    first: dict[str, str] = {}
    for place, name in named:
        if (before := first.setdefault(fold(name), place)) != place:
            raise ValueError(f"{place} is the same as {before}, {name!r}: small and capital letters count alike")


def _check_permuted(seats: tuple[Seat, ...], issues: Sequence[Issue]) -> None:
    if len(set(seats)) < len(seats):
        raise ValueError(f"draw.permute names a seat twice: {list(seats)}")
    if seats and not any(issue.units is not None for issue in issues):
        raise ValueError("draw.permute shuffles the values of goods, but no issue has units: leave it out")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def without_points(issues: tuple[Issue, ...], seat: Seat) -> tuple[Issue, ...]:
    """Return the issues without the points of a seat."""
    return tuple(msgspec.structs.replace(issue, **{seat: None}) for issue in issues)


def importance(table: Table) -> tuple[int, ...]:
    """Rank the issues by how much they matter to a seat: 1 for the widest span of points; equal spans share a rank."""
    spans = [max(row) - min(row) for row in table]
    return tuple(1 + sum(other > span for other in spans) for span in spans)


def iter_offers(issues: Sequence[Issue], most: int) -> Iterator[tuple[int, ...]]:
    """Yield all agreements in lexicographic order; beyond `most` evenly spaced ones, first and last included."""
    sizes = [issue.size for issue in issues]
    count = prod(sizes)
    chosen = range(count) if count <= most else (i * (count - 1) // (most - 1) for i in range(most))
    for index in chosen:
        digits = []
        for size in reversed(sizes):
            index, digit = divmod(index, size)
            digits.append(digit)
        yield tuple(reversed(digits))
