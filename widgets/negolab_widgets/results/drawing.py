"""What stands on the page for a choice: the figure, what it says in words, and the table of its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from negolab_widgets.html import Markup, bar, element, join, panel, table
from negolab_widgets.results import figures
from negolab_widgets.results.choices import BOXES, HEAT, LINES, VIOLINS, Choice
from negolab_widgets.results.factor import by_seat
from negolab_widgets.results.panels import MOST_PANELS
from negolab_widgets.results.reading import Reading
from negolab_widgets.results.summary import NUMBERS, summary, values
from negolab_widgets.results.summary import table as as_table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NOTHING = pd.DataFrame()
MOST_ROWS = 200
"""Rows of the table that are shown; the file has all."""
MOST = {"x": 60, "colour": 12, "facet": MOST_PANELS}
"""Values of a factor that are drawn on each side."""
_HEADS = {"mean": "mean", "low": "from", "high": "to", "n": "n", "deals": "deals"}
_QUARTILES = {"lower": "lower quartile", "median": "median", "upper": "upper quartile"}


class Drawn(NamedTuple):
    """A figure with its words and its table; without a figure, why there is none. `numbers` is the table as a frame."""

    figure: Figure | None
    said: Markup
    table: Markup = Markup("")
    numbers: pd.DataFrame | None = None


def drawn(frame: pd.DataFrame, rows: pd.DataFrame, choice: Choice | None, width: int, without: str = "") -> Drawn:
    """`frame` are all matches, `rows` those that are in, `without` says which are not."""
    if choice is None:
        return _none("These matches have no number and no yes or no that could be shown.")
    if rows.empty:
        return _none(f"No match is left: the choice of matches leaves out all {len(frame):,}.")
    outcome = choice.outcome
    if outcome.either:
        rows = by_seat(rows, outcome.column)
    data = values(rows, outcome, choice.by)
    if data.empty:
        return _none(f"None of these {len(rows):,} matches has a value here: {outcome.words}.")
    if outcome.yes_no and choice.view in (BOXES, VIOLINS):
        return _none(f"Of yes and no ({outcome.words}) there is no distribution to see: choose {LINES}.")
    data, cut = _cut(data, choice)
    found = summary(data, outcome, choice.by)
    figure = _figure(data, found, choice, width)
    numbers = as_table(found, choice.by)
    return Drawn(figure, _said(choice, rows, data, cut, without), _table(numbers, choice), numbers)


def _none(why: str) -> Drawn:
    return Drawn(None, element("p", why, role="status"))


def _cut(data: pd.DataFrame, choice: Choice) -> tuple[pd.DataFrame, list[str]]:
    """No more values of a factor than can be told apart; what is cut, in words."""
    said = []
    most = {**MOST, "colour": MOST["x"] if choice.view == HEAT else MOST["colour"]}
    for side, factor in (("x", choice.x), ("colour", choice.colour), ("facet", choice.facet)):
        if factor is None:
            continue
        there = sorted(data[factor.key].unique())
        if len(there) > most[side]:
            data = data[data[factor.key].isin(there[: most[side]])]
            said.append(f"Of {factor.title} the first {most[side]} of {len(there)} values are drawn.")
    return data, said


def _figure(data: pd.DataFrame, found: pd.DataFrame, choice: Choice, width: int) -> Figure:
    sides = choice.outcome, choice.x, choice.colour, choice.facet, width
    if choice.view == HEAT:
        return figures.heat(found, *sides)
    if choice.view == LINES:
        return figures.lines(found, *sides)
    return figures.spread(data, *sides, violin=choice.view == VIOLINS)


def _said(choice: Choice, rows: pd.DataFrame, data: pd.DataFrame, cut: list[str], left_out: str) -> Markup:
    things = choice.outcome.things
    missing = len(rows) - len(data) if not cut else 0
    without = f" {missing:,} {things} have no value." if missing else ""
    how = "Wilson's, or Student's t where a deal was played more than once" if choice.outcome.yes_no else "Student's t"
    interval = f" Intervals: 95 %, {how}; a deal counts once."
    text = f"{len(data):,} {things}.{without}{interval}"
    return join(element("p", words) for words in (text, left_out, *cut) if words)


def _table(numbers: pd.DataFrame, choice: Choice) -> Markup:
    titles = [str(name) for name in numbers if name not in NUMBERS]
    quartiles = _QUARTILES if choice.view in (BOXES, VIOLINS) else {}
    heads = {**_HEADS, **quartiles}
    shown = numbers.head(MOST_ROWS)
    names = [*titles, *(name for name in heads)]
    body = [[_text(name, row[at]) for at, name in enumerate(names)] for row in shown[names].itertuples(index=False)]
    if not titles:
        body = [["all matches", *cells] for cells in body]
    top = [*(titles or ["matches"]), *heads.values()]
    more = f" The first {MOST_ROWS} of {len(numbers):,} rows; the file has all." if len(numbers) > MOST_ROWS else ""
    note = element("p", f"{choice.outcome.title}; from and to are the 95 % interval of the mean.{more}")
    return panel("What is drawn", note, table(top, body, "Means, intervals and counts", cls="nl-results"))


def _text(name: str, value: object) -> str:
    if name not in NUMBERS:
        return str(value)
    if value != value:
        return "\N{EN DASH}"
    number = float(str(value))
    return f"{int(number):,}" if name in ("n", "deals") else f"{number:.4g}"


# What was read.


def read(reading: Reading, cells: int, left: int) -> Markup:
    """How much of the sweep stands in the figures."""
    text = f"{reading.matches:,} matches of {reading.cells:,} of {cells:,} cells are read"
    meter = bar(reading.cells, cells, text, name="Cells that are read") if cells else ""
    notes = [f"{left:,} finished cells are being read." if left else ""]
    if not reading.matches and not left:
        waiting = "No cell is finished yet: what is finished comes in by itself."
        notes.append(BLANK if reading.blank else waiting if not reading.faults else "")
    elif reading.blank:
        notes.append(f"{reading.blank:,} cells hold no records.")
    first = next(iter(reading.faults.values()), "")[:300]
    faults = f"{len(reading.faults):,} cells could not be read. {first}"
    bad = element("div", faults, cls="nl-notice", role="alert") if first else ""
    said = " ".join(filter(None, notes))
    return element("div", meter, element("p", said) if said else "", bad)


BLANK = "The finished cells hold no records: a notebook keeps its records in its folder `out`."
