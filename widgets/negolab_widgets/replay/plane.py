"""The plane of both payoffs and the strip of each side's payoff, as SVG whose marks name their steps.

A page links them to the list of moves by `data-step`; `data-a` and `data-b` hold the payoffs in the game's unit, and
`data-places` of the drawing where *now* is marked from which step on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from IPython.display import HTML

from negolab.catalog import AnyGame
from negolab.formatting import display_unit
from negolab.game import SEATS, Seat, State, other
from negolab.record import Record, start_state
from negolab.theory.solutions import Pair, nash_point
from negolab_widgets.axis import Axis, new_axis
from negolab_widgets.html import Markup, capitalised, element, join, page
from negolab_widgets.replay.steps import Step, record_steps
from negolab_widgets.tables.decision import person_name
from negolab_widgets.tables.seats import seat_name

YOU = "You"
"""Name of the seat that looks at the plane."""


class Surroundings(NamedTuple):
    """The part of the plane that no proposal changes: frontier, points of reference, and how numbers are written.
    With `rounds` its points are what was paid after each round, else what proposals would pay."""

    frontier: Sequence[Pair]
    joined: bool
    no_deal: Pair
    nash: Pair | None
    unit: str
    scale: int
    rounds: bool
    gains: bool = False
    names: Mapping[Seat, str] = dict(zip(SEATS, SEATS, strict=True))
    axes: tuple[Seat, Seat] = SEATS

    @property
    def amount(self) -> str:
        """The payoff with its unit; what trades gain only decides about it, and is called by its unit alone."""
        payoff = "payoff so far" if self.rounds else "payoff"
        return self.unit if self.gains else f"{payoff} ({self.unit})"

    def axis_title(self, seat: Seat) -> str:
        """Title of a seat's axis."""
        name = self.names[seat]
        whose = "Your" if name == YOU else f"{name}'s"
        return f"{whose} {self.amount}"

    @property
    def ends(self) -> tuple[str, str]:
        """Words for where a match begins, the payoffs without a deal, and for where it ends."""
        return ("start", "end") if self.rounds else ("no deal", "deal")


def surroundings(record: Record) -> Surroundings:
    """Return what surrounds the proposals of a match."""
    # The frontier of the first round says nothing of the points so far.
    return deal_surroundings(record.game, start_state(record), rounds=record.game.has_paid_rounds)


def deal_surroundings(game: AnyGame, dealt: State[Any, Any], *, rounds: bool = False) -> Surroundings:
    """Return what a deal makes possible; of a game with several `rounds`, in the first one if they are not counted."""
    frontier = () if rounds else game.frontier(dealt)
    disagreement = game.disagreement(dealt)
    corner = (disagreement["A"], disagreement["B"])
    nash = nash_point(frontier, corner, game.divisible) if frontier else None
    unit, scale = display_unit(game.unit)
    gains = game.stake_unit is not None
    names = {seat: seat_name(game, seat) for seat in SEATS}
    return Surroundings(frontier, game.divisible, corner, nash, game.stake_unit or unit, scale, rounds, gains, names)


class PlanePoint(NamedTuple):
    """A proposal made in step number `step`, or of no `seat` what was paid until then; `words` stand on hover."""

    step: int
    seat: Seat | None
    a: float
    b: float
    words: str = ""


class Course(NamedTuple):
    """A match in the plane: its proposals, and what it paid in step number `end` (None: nothing that belongs here)."""

    points: tuple[PlanePoint, ...]
    end: int
    paid: Pair | None
    agreed: bool


def course(record: Record, steps: Sequence[Step]) -> Course:
    """Return the course of a match through the plane."""
    points = tuple(
        PlanePoint(number, None if record.game.has_paid_rounds else step.seat, pay["A"], pay["B"])
        for number, step in enumerate(steps, 1)
        if step.seat is not None
        for pay in step.stakes
    )
    a, b = (record.payoffs[seat] for seat in SEATS)
    paid = None if record.game.stake_unit or a is None or b is None else (a, b)
    return Course(points, len(steps), paid, record.end == "AGREED")


def seen_by(seat: Seat, made: Course, around: Surroundings) -> tuple[Course, Surroundings]:
    """Return a match and what surrounds it as a seat looks at them: what it is paid lies to the right."""
    away = other(seat)
    names = {seat: YOU, away: capitalised(person_name(f"the {around.names[away]}", away))}
    around = around._replace(names=names, axes=(seat, away))
    if seat == "A":
        return made, around
    points = tuple(point._replace(a=point.b, b=point.a) for point in made.points)
    return made._replace(points=points, paid=_turned(made.paid)), around._replace(
        frontier=[(b, a) for a, b in around.frontier][::-1], no_deal=around.no_deal[::-1], nash=_turned(around.nash)
    )


def _turned(pair: Pair | None) -> Pair | None:
    return pair and (pair[1], pair[0])


SIDE, STRIP_HEIGHT = 340, 96
"""Size of the drawings in their own units; the style sheet scales them, but not their text."""
MAX_NUMBERED = 24
"""Proposals up to which all numbers are shown, not only that of the current one."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 12, 40


def render_plane(courses: Mapping[str, Course], around: Surroundings, *, numbered: bool = True) -> Markup:
    """Render the courses of branches, told apart by dashes, below the frontier; `numbered` points of a single one have
    the number of their step."""
    shown = [around.no_deal, *filter(None, [around.nash]), *([] if around.joined else around.frontier)]
    for each in courses.values():
        shown += [(point.a, point.b) for point in each.points] + ([each.paid] if each.paid else [])
    x = new_axis([a for a, _ in shown], _LEFT, SIDE - _RIGHT)
    y = new_axis([b for _, b in shown], SIDE - _BOTTOM, _TOP)
    return _Plane(x, y, around).render(courses, numbered and len(courses) == 1)


class _Box(NamedTuple):
    """A part of the drawing by its middle and half its sides."""

    x: float
    y: float
    across: float
    down: float

    def meets(self, other: _Box) -> bool:
        return abs(self.x - other.x) < self.across + other.across and abs(self.y - other.y) < self.down + other.down


class _Plane(NamedTuple):
    x: Axis
    y: Axis
    around: Surroundings

    def render(self, courses: Mapping[str, Course], numbered: bool) -> Markup:
        labels, marks = self.marks(courses)
        drawn = [self.course(each, at, labels, numbered=numbered) for at, each in enumerate(courses.values())]
        things = "rounds" if self.around.rounds else "proposals"
        counts = ", ".join(f"{name or 'the match'}: {len(each.points)} {things}" for name, each in courses.items())
        # Of two branches neither is at a step.
        (only, *others) = courses.values()
        now = [] if others else [element("circle", cls="nl-now", r="10.5", cx="-50", cy="-50")]
        return element(
            "svg",
            self.frame(),
            self.frontier(),
            *drawn,
            *marks,
            *now,
            cls="nl-plane",
            viewBox=f"0 0 {SIDE} {SIDE}",
            role="img",
            aria_label=f"{' and '.join(map(self.around.axis_title, self.around.axes))} by {things}. {counts}.",
            data_places=json.dumps(self.places(only)),
        )

    def places(self, each: Course) -> list[tuple[int, float, float]]:
        """List from which step on *now* is marked where."""
        pairs = [
            (1, self.around.no_deal),
            *((point.step, (point.a, point.b)) for point in each.points),
            *([(each.end, each.paid)] if each.paid else []),
        ]
        return [(step, self.x.place(a), self.y.place(b)) for step, (a, b) in pairs]

    def frame(self) -> Markup:
        left, bottom = self.x.start, self.y.start
        lines = []
        for value, label in self.x.ticks(self.around.scale, 5):
            at = self.x.place(value)
            lines += [_line(at, _TOP, at, bottom, "nl-grid-line"), _text(at, bottom, label, "middle", dy="1.2em")]
        lines += _levels(self.x, self.y, self.around.scale, 5)
        title_a, title_b = map(self.around.axis_title, self.around.axes)
        middle = (left + self.x.end) / 2
        below = _text(middle, SIDE, title_a, "middle", dy="-0.4em", cls="nl-axis-title")
        turned = f"translate(0 {(bottom + _TOP) / 2}) rotate(-90)"
        beside = _text(0, 0, title_b, "middle", dy="0.9em", cls="nl-axis-title", transform=turned)
        return element("g", *lines, below, beside, cls="nl-axes")

    def frontier(self) -> Markup:
        pairs = [(self.x.place(a), self.y.place(b)) for a, b in self.around.frontier]
        if not self.around.joined:
            return join(element("circle", cx=str(a), cy=str(b), r="2", cls="nl-frontier-dot") for a, b in pairs)
        width, height = str(SIDE - _LEFT - _RIGHT), str(SIDE - _TOP - _BOTTOM)
        # A line that goes on beyond what is in view ends at the frame.
        view = element(
            "svg",
            element("polyline", points=" ".join(f"{a - _LEFT:g},{b - _TOP:g}" for a, b in pairs), cls="nl-frontier"),
            x=str(_LEFT),
            y=str(_TOP),
            width=width,
            height=height,
        )
        return view if pairs else Markup("")

    def course(self, each: Course, at: int, labels: Sequence[_Box], *, numbered: bool) -> Markup:
        """Render the path of a branch: each line belongs to the proposal at its end."""
        places = [(self.x.place(point.a), self.y.place(point.b)) for point in each.points]
        segments = [
            _line(*start, *end, "nl-plane-line", data_step=str(point.step))
            for point, start, end in zip(each.points[1:], places, places[1:], strict=False)
        ]
        points, shown = [], [*labels, *(_Box(x, y, 5, 5) for x, y in places)]
        # Later ones lie below, so that what is to come does not hide what has been; of numbers that would lie upon
        # each other the last one is shown, and none upon a point.
        for point, (x, y) in reversed([*zip(each.points, places, strict=True)]):
            number = _Box(x, y - 18 if point.seat == "A" else y + 19, 4 * len(str(point.step)), 6)
            crowded = any(number.meets(label) for label in shown)
            points.append(self.point(point, (x, y), numbered, crowded))
            if not crowded:
                shown.append(number)
        dense = " nl-dense" if len(points) > MAX_NUMBERED else ""
        return element("g", *segments, *points, cls=f"nl-course nl-course-{at}{dense}")

    def point(self, point: PlanePoint, place: Pair, numbered: bool, crowded: bool) -> Markup:
        # A's numbers stand above, B's below: their proposals often lie close together.
        beside = "-1.2em" if point.seat == "A" else "1.95em"
        number = _text(0, 0, str(point.step), "middle", dy=beside) if numbered else ""
        return element(
            "g",
            _symbol(point.seat, 4.5),
            number,
            element("title", point.words) if point.words else "",
            cls=f"nl-point nl-point-{(point.seat or 'round').lower()}{' nl-crowded' if crowded else ''}",
            transform=f"translate({place[0]} {place[1]})",
            data_step=str(point.step),
            data_a=f"{point.a:.12g}",
            data_b=f"{point.b:.12g}",
        )

    def marks(self, courses: Mapping[str, Course]) -> tuple[list[_Box], list[Markup]]:
        """Render no deal, Nash and the deals, each with its label where it hides least; return the labels' boxes."""
        deals = {name: each.paid for name, each in courses.items() if each.paid and each.agreed}
        together = len(set(deals.values())) < 2
        start, end = self.around.ends
        marks = [
            (start, self.around.no_deal, "M-4,-4L4,4M-4,4L4,-4"),
            *([("Nash", self.around.nash, "M0,-6L6,0L0,6L-6,0z")] if self.around.nash else []),
            *((end if together else f"{end}, {name}", pair, _STAR) for name, pair in deals.items()),
        ]
        pairs = [(point.a, point.b) for each in courses.values() for point in each.points]
        taken = [_Box(self.x.place(a), self.y.place(b), 5, 5) for a, b in [*pairs, *(pair for _, pair, _ in marks)]]
        labels: list[_Box] = []
        drawn = []
        for name, pair, outline in marks:
            label, mark = self.mark(name, pair, outline, [*taken, *labels])
            labels.append(label)
            drawn.append(mark)
        return labels, drawn

    def mark(self, name: str, pair: Pair, outline: str, taken: Sequence[_Box]) -> tuple[_Box, Markup]:
        a, b = self.x.place(pair[0]), self.y.place(pair[1])
        half = 3.3 * len(name)

        def hidden(side: int, height: int) -> tuple[bool, int]:
            box = _Box(a + side * (12 + half), b + height, half, 6)
            outside = box.x + half > SIDE or box.x - half < _LEFT or box.y > self.y.start
            return outside, sum(box.meets(one) for one in taken)

        heights = (-9, 9) if name == "Nash" else (9, -9)  # the deal often lies close to it
        side, height = min(((side, height) for height in heights for side in (1, -1)), key=lambda at: hidden(*at))
        anchor = "start" if side > 0 else "end"
        label = _text(12 * side, 0, name, anchor, dy="-0.4em" if height < 0 else "1.1em")
        words = {"data_a": f"{pair[0]:.12g}", "data_b": f"{pair[1]:.12g}", "data_mark": name}
        cls = "nl-plane-mark nl-plane-deal" if outline == _STAR else "nl-plane-mark"
        drawn = element("g", element("path", d=outline), label, cls=cls, transform=f"translate({a} {b})", **words)
        return _Box(a + side * (12 + half), b + height, half, 6), drawn


_STAR = "M0,-9L2.1,-2.9L8.6,-2.8L3.4,1.1L5.3,7.3L0,3.6L-5.3,7.3L-3.4,1.1L-8.6,-2.8L-2.1,-2.9z"


def proposal_figure(branches: Mapping[str, Record]) -> HTML | None:
    """Draw each branch's proposals in the plane of both payoffs, for notebooks; None where the game has no stakes. All
    branches share one start."""
    courses = {name: _described(record) for name, record in branches.items()}
    if not any(each.points for each in courses.values()):
        return None
    around = surroundings(next(iter(branches.values())))
    names = [
        element("span", element("i", cls=f"nl-key-course nl-key-course-{at}"), name) for at, name in enumerate(branches)
    ]
    keys = element("div", *(names if len(names) > 1 else ()), cls="nl-plane-legend")
    drawn = render_plane(courses, around), render_legend(around, moment=False), keys
    return HTML(page(element("div", *drawn, cls="nl-branches-plane")))


def _described(record: Record) -> Course:
    """Return the course of a match, with the words of each step."""
    steps = record_steps(record)
    made = course(record, steps)
    return made._replace(points=tuple(point._replace(words=steps[point.step - 1].words) for point in made.points))


def render_legend(around: Surroundings, *, moment: bool = True) -> Markup:
    """Render what the symbols of the plane are; one without a `moment` is of a whole match."""
    proposals = {
        seat.lower(): f"{name} {'propose' if name == YOU else 'proposes'}" for seat, name in around.names.items()
    }
    keys = {
        **({"round": "after a round"} if around.rounds else proposals),
        **({"now": "now", "later": "later"} if moment else {}),
        **({"frontier" if around.joined else "frontier-dot": "frontier"} if around.frontier else {}),
    }
    shown = (element("span", element("i", cls=f"nl-key nl-key-{key}"), words) for key, words in keys.items())
    return element("div", *shown, cls="nl-plane-legend")


def render_strip(each: Course, around: Surroundings) -> Markup:
    """Render what each point pays both, in order: filled and joined what a seat asks for itself, hollow what the
    other one leaves it; what rounds paid is all filled."""
    what = capitalised(around.amount)
    words = f"{what}, round by round" if around.rounds else f"{what} by proposal. Filled: the proposer's"
    caption = element("div", words, cls="nl-plane-legend")
    count = len(each.points)
    values = [value for point in each.points for value in (point.a, point.b)]
    x = Axis(0.5, max(count, 2) + 0.5, _LEFT, SIDE - _RIGHT)
    y = new_axis([*values, *around.no_deal], STRIP_HEIGHT - 6, 8)
    drawn = (part for seat in SEATS for part in _strip_of(seat, each.points, x, y))
    places_now = [(1, x.start), *((point.step, x.place(number)) for number, point in enumerate(each.points, 1))]
    now = element("line", cls="nl-now", x1="-50", x2="-50", y1="2", y2=str(STRIP_HEIGHT - 2))
    return caption + element(
        "svg",
        now,
        element("g", *_levels(x, y, around.scale, 3), cls="nl-axes"),
        *drawn,
        cls="nl-plane-strip",
        viewBox=f"0 0 {SIDE} {STRIP_HEIGHT}",
        role="img",
        aria_label=f"{words}, for {' and '.join(around.names.values())}",
        data_places=json.dumps(places_now),
    )


def _strip_of(seat: Seat, points: Sequence[PlanePoint], x: Axis, y: Axis) -> list[Markup]:
    places = [
        (point, x.place(number), y.place(point.a if seat == "A" else point.b)) for number, point in enumerate(points, 1)
    ]
    own = [place for place in places if place[0].seat in (seat, None)]
    lines = (
        _line(*start[1:], *end[1:], f"nl-line-{seat.lower()}", data_step=str(end[0].step))
        for start, end in pairwise(own)
    )
    symbols = (
        element(
            "g",
            _symbol(seat, 3.5 if point.seat in (seat, None) else 2.5),
            cls=f"nl-point nl-point-{seat.lower()}{'' if point.seat in (seat, None) else ' nl-hollow'}",
            transform=f"translate({a:g} {b:g})",
            data_step=str(point.step),
        )
        for point, a, b in places
    )
    return [*lines, *symbols]


def _levels(x: Axis, y: Axis, scale: int, count: int) -> Iterator[Markup]:
    """Draw about `count` round values of the vertical axis, a line each, with its number at the left."""
    for value, label in y.ticks(scale, count):
        at = y.place(value)
        yield _line(x.start, at, x.end, at, "nl-grid-line")
        yield _text(x.start - 4, at, label, "end", dy="0.35em")


def _symbol(seat: Seat | None, size: float) -> Markup:
    if seat != "B":
        return element("circle", r=f"{size:g}")
    return element("rect", x=f"{-size:g}", y=f"{-size:g}", width=f"{2 * size:g}", height=f"{2 * size:g}")


def _line(x1: float, y1: float, x2: float, y2: float, cls: str, **more: str) -> Markup:
    return element("line", x1=f"{x1:g}", y1=f"{y1:g}", x2=f"{x2:g}", y2=f"{y2:g}", cls=cls, **more)


def _text(x: float, y: float, words: str, anchor: str, **more: str) -> Markup:
    return element("text", words, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, **more)
