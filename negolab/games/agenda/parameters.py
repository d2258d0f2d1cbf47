"""The parameters of an agenda, given by a scenario file; each check names the place, the value and the remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Annotated, Literal, NoReturn

import msgspec
from msgspec import Meta
from typing_extensions import override

from negolab.game import SEATS, Game, Seat
from negolab.games.agenda.scenario import (
    MAX_OPTIONS,
    Brief,
    Draw,
    Issue,
    Points,
    Reservation,
    Roles,
    fold,
    parse_discount,
)
from negolab.games.agenda.state import Message, Private, Public
from negolab.reading import Reading

Opens = Literal["A", "B", "drawn"]
Answer = Literal["must", "may"]
Show = Literal["nothing", "order", "all"]
Correlation = Literal[-1, 0, 1]

MAX_AGREEMENTS = 10**9
_FORBIDDEN = re.compile(r"[;=\[\]]")


class Parameters(Game[Public, Private, Message], frozen=True, kw_only=True):
    """Parameters of an agenda.

    `reading` says whether a text is read as meant or literally. `turns` limits the messages of both seats together,
    `max_chars` the characters of a message's talk. `answer` says whether an offer must be answered (with "may", silence
    rejects it). A payoff is the points, multiplied by `discount` once per message before the agreement. `show` is what
    a seat sees of the other's points. `issues` are the tables of points; if it is a number, that many issues, each with
    `options` options, have their points drawn at the deal, from `low` to `high`; both seats' points are equal with a
    `correlation` of 1, opposed with -1 and independent with 0. `draw.permute` shuffles the values of goods.
    """

    title: str
    turns: Annotated[int, Meta(ge=2)] = 20
    opens: Opens = "A"
    talk: bool = True
    max_chars: Annotated[int, Meta(ge=1)] = 1000
    reading: Reading = "fair"
    answer: Answer = "must"
    walk_away: bool = True
    discount: str | int | float = "1"
    show: Show = "nothing"
    source: str | None = ""
    roles: Roles = Roles()
    brief: Brief = Brief()
    reservation: Reservation = Reservation()
    issues: Annotated[int, Meta(ge=1)] | Annotated[tuple[Issue, ...], Meta(min_length=1)]
    draw: Draw = Draw()
    # `Game` has a method of this name.
    option_count: Annotated[int, Meta(ge=2, le=MAX_OPTIONS)] = msgspec.field(default=4, name="options")
    correlation: Correlation | None = 0
    low: Points = 0
    high: Points = 100

    @override
    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "discount", str(self.discount))
        super().__post_init__()
        if not self.title.strip() or len(self.title.splitlines()) > 1:
            raise ValueError(f"title must be one line of text that people read, not {self.title!r}")
        parse_discount(self.discount)
        for seat in SEATS:
            if not getattr(self.roles, seat).strip():
                raise ValueError(f"roles.{seat} is empty: name the role, or leave it out")
        if not isinstance(self.issues, int):
            _check_issues(self, self.issues)
        elif self.low > self.high:
            raise ValueError(f"low must be at most high = {self.high}, not {self.low}")
        elif self.draw.permute:
            raise ValueError("draw.permute needs goods: give issues with units, or leave it out")
        _check_count(self)

    @property
    def agenda(self) -> tuple[Issue, ...]:
        """The issues; they are numbered if their points are drawn."""
        return numbered_issues(self.issues, self.option_count) if isinstance(self.issues, int) else self.issues

    def is_last(self, public: Public) -> bool:
        """Return True if the next message is the last one."""
        return len(public.messages) == self.turns - 1


@lru_cache(maxsize=64)
def numbered_issues(count: int, options: int) -> tuple[Issue, ...]:
    """Return issues whose points are drawn at the deal: `issue 1`, `issue 2`, ... with `option 1`, `option 2`, ..."""
    names = tuple(f"option {number}" for number in range(1, options + 1))
    return tuple(Issue(f"issue {number}", names) for number in range(1, count + 1))


def _check_count(game: Parameters) -> None:
    issues = game.issues
    sizes = [game.option_count] * min(issues, 64) if isinstance(issues, int) else [issue.size for issue in issues]
    if prod(sizes) > MAX_AGREEMENTS:
        raise ValueError(f"issues: more than the maximum of {MAX_AGREEMENTS:,} agreements: use fewer issues or options")


def _check_issues(game: Parameters, issues: tuple[Issue, ...]) -> None:
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
        raise ValueError(f"{place} must not contain {found[0]!r}, which offers use: {name!r}")
    if len(name.splitlines()) > 1 or name.endswith(("\n", "\r")):
        raise ValueError(f"{place} must be on one line, not {name!r}")


def _check_options(at: int, issue: Issue) -> None:
    if (issue.options is None) == (issue.units is None):
        both = "both options and" if issue.options is not None else "neither options nor"
        raise ValueError(f"issues[{at}] ({issue.name!r}) has {both} units: give one of them")
    for k, option in enumerate(issue.options or ()):
        _check_name(f"issues[{at}].options[{k}]", option)
    _check_unique([(f"issues[{at}].options[{k}]", option) for k, option in enumerate(issue.options or ())])


def _check_row(at: int, issue: Issue, seat: Seat, told: bool) -> None:
    """Check one seat's points for an issue; they may be missing only if this view hides that seat's numbers (not
    `told`)."""
    place, row = f"issues[{at}].{seat}", issue.points(seat)
    if row is None:
        if told:
            _ask_for_points(place, "is missing", issue)
    elif issue.options is None:
        if isinstance(row, tuple):
            _ask_for_points(place, "is a list", issue)
    elif not isinstance(row, tuple):
        _ask_for_points(place, "is one number", issue)
    elif len(row) != len(issue.options):
        raise ValueError(
            f"{place} has {_count(len(row), 'number')} for {_count(len(issue.options), 'option')} "
            f"of {issue.name!r}: give one per option"
        )


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
            raise ValueError(f"{place} is the same as {before}, {name!r}: names are not case-sensitive")


def _check_permuted(seats: tuple[Seat, ...], issues: Sequence[Issue]) -> None:
    if len(set(seats)) < len(seats):
        raise ValueError(f"draw.permute names a seat twice: {list(seats)}")
    if seats and not any(issue.units is not None for issue in issues):
        raise ValueError("draw.permute shuffles the values of goods, but no issue has units: leave it out")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
