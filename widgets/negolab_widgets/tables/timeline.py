"""The course of a match as SVG: what both seats offered, in steps over the rounds or messages.

All positions are percentages, so that a drawing fills its place on the page and its text is never scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from negolab.game import SEATS, Seat
from negolab.studies.texts import table_texts
from negolab_widgets.axis import Axis, new_axis, round_step
from negolab_widgets.html import Markup, capitalised, element

LEFT, RIGHT, TOP, BOTTOM = 13.0, 95.0, 10.0, 83.0
"""Positions where the axes begin and end, as percentages."""
SHOWN = 8
"""Minimum number of rounds or messages for which there is room."""
MAX_TICKS = 12
"""Maximum number of rounds or messages for which each one is numbered."""
_KEPT = 8192
"""Maximum number of marks, and of lines, that are cached."""


class Timeline(NamedTuple):
    """The offers of a match, as far as one seat may know them.

    Attributes:
        seat: The seat whose view it is.
        title: What is drawn, such as "Offers".
        rows: Round or message, seat, and amount of each offer.
        counted: What is counted, such as "round".
        lines: Amounts that the viewer knows, by name.
        amount: Formats an amount.
        tick: The label of a number on the axis, with `{}` for the number.
        scale: Divisor for the amounts on the axis, such as 100 for cents.
        last: The axis extends at least to this number.
        now: Words for the last offer, with `{amount}` for its amount, such as "deal $50".
        theirs: What the other is called; "": the other player.
        steps: True if an amount holds until the next one; otherwise, each stands on its own.
    """

    seat: Seat
    title: str
    rows: Sequence[tuple[int, Seat, float]]
    counted: str
    lines: Mapping[str, float]
    amount: Callable[[float], str]
    tick: str = "{}"
    scale: int = 1
    last: int = SHOWN
    now: str = "{amount}"
    theirs: str = ""
    steps: bool = True

    def name(self, seat: Seat) -> str:
        """Return what a seat is called, as the beginning of a sentence."""
        return capitalised(table_texts.YOU if seat == self.seat else self.theirs or table_texts.THE_OTHER)

    def render(self) -> Markup:
        """Render the offers as a panel."""
        last = max([self.last, *(number for number, _, _ in self.rows)])
        x = Axis(0.5, last + 0.5, LEFT, RIGHT)
        y = new_axis([*self.lines.values(), *(value for _, _, value in self.rows)], BOTTOM, TOP)
        words = table_texts.AT_NUMBER
        told = (
            words.format(counted=self.counted, number=number, who=self.name(seat), amount=self.amount(value))
            for number, seat, value in self.rows
        )
        about = element("title", self.title), element("desc", "; ".join(told))
        drawn = [*about, *self._grid(x, y, last), *(part for seat in SEATS for part in self._offers(x, y, seat))]
        keys = (element("span", self.name(seat), cls=f"nl-person nl-person-{seat.lower()}") for seat in SEATS)
        head = element("div", element("h2", self.title), element("span", *keys, cls="nl-keyed"), cls="nl-timeline-head")
        return element("div", head, element("svg", *drawn, cls="nl-timeline", role="img"), cls="nl-panel")

    def _grid(self, x: Axis, y: Axis, last: int) -> Iterator[Markup]:
        for value, label in y.ticks(self.scale, 4):
            at = y.place(value)
            yield _line(LEFT, at, RIGHT, at, "nl-grid-line")
            yield _text(LEFT, at, self.tick.format(label), "end", dx="-6", dy="4")
        every = 1 if last <= MAX_TICKS else int(round_step(last / MAX_TICKS))
        for number in range(every, last + 1, every):
            yield _text(x.place(number), 100, str(number), "middle", dy="-18")
        yield _text(RIGHT, 100, self.counted, "end", dy="-2")
        for name, value in self.lines.items():
            at = y.place(value)
            yield _line(LEFT, at, RIGHT, at, "nl-known-line")
            yield _text(RIGHT, at, f"{name} {self.amount(value)}", "end", dy="-5")

    def _offers(self, x: Axis, y: Axis, seat: Seat) -> Iterator[Markup]:
        """Draw the steps and marks of a seat, and say its last amount."""
        own = [(x.place(number), y.place(value), value) for number, by, value in self.rows if by == seat]
        kind = seat.lower()
        for (start, high, _), (end, low, _) in pairwise(own) if self.steps else ():
            yield _line(start, high, end, high, f"nl-step-{kind}")
            yield _line(end, high, end, low, f"nl-step-{kind}")
        for across, down, value in own:
            yield _mark(across, down, seat, f"{self.name(seat)}: {self.amount(value)}")
        if own:
            across, down, value = own[-1]
            is_last = self.rows[-1][1] == seat
            words = (self.now if is_last else "{amount}").format(amount=self.amount(value))
            above = down < max((y.place(value) for _, by, value in self.rows if by != seat), default=100)
            side = {"text_anchor": "end", "dx": "-9"} if across > 70 else {"text_anchor": "start", "dx": "9"}
            if is_last:
                yield element("circle", cx=f"{across}%", cy=f"{down}%", r="10", cls="nl-now-mark")
            yield element(
                "text", words, x=f"{across}%", y=f"{down}%", dy="-8" if above else "18", cls=f"nl-said-{kind}", **side
            )


_SYMBOLS = {"A": element("circle", r="5.5"), "B": element("rect", x="-5", y="-5", width="10", height="10", rx="1")}


# A replay draws every step, and most of a step is the same as in the previous one.
@lru_cache(_KEPT)
def _mark(across: float, down: float, seat: Seat, said: str) -> Markup:
    title = element("title", said)
    return element("svg", _SYMBOLS[seat], title, x=f"{across}%", y=f"{down}%", cls=f"nl-mark-{seat.lower()}")


@lru_cache(_KEPT)
def _line(x1: float, y1: float, x2: float, y2: float, cls: str) -> Markup:
    return element("line", x1=f"{x1}%", y1=f"{y1}%", x2=f"{x2}%", y2=f"{y2}%", cls=cls)


def _text(x: float, y: float, words: str, anchor: str, **more: str) -> Markup:
    return element("text", words, x=f"{x}%", y=f"{y}%", text_anchor=anchor, **more)
