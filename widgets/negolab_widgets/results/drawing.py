"""The figure of a choice with its caption and table, and the overview of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from negolab.analysis.estimates import by_seat
from negolab.analysis.observations import SEAT_COLUMNS, drop_copies
from negolab_widgets.html import Markup, bar, element, join, panel, table
from negolab_widgets.picks import pick_button
from negolab_widgets.results import figures, matches
from negolab_widgets.results.choices import BOXES, HEAT, LINES, VIOLINS, FigureChoice
from negolab_widgets.results.data import SweepReader
from negolab_widgets.results.matches import Group, group_token, make_groups
from negolab_widgets.results.panels import MAX_PANELS
from negolab_widgets.results.variables import (
    BASIS,
    NUMBERS,
    WITHOUT_FALLBACK,
    Quantity,
    summary,
    values,
)
from negolab_widgets.results.variables import summary_table as as_table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


EMPTY_FRAME = pd.DataFrame()
_SEAT_NEEDS = {
    *("cell", "match", "deal", "draw", "deterministic", "chance", "end"),
    *("player_a", "player_b", "fallbacks_a", "fallbacks_b"),
}
"""Columns of matches that are needed when seats are drawn, besides those that are shown."""
_MATCH_COLUMNS = ("cell", "match", *SEAT_COLUMNS, "player_a", "player_b", "end")
"""Columns of the table of a group's matches."""
MAX_ROWS = 200
"""Rows of the table that are shown; the file has all."""
MAX_VALUES = {"x": 60, "colour": 12, "facet": MAX_PANELS}
"""Values of a factor that are drawn on each side."""
_HEADS = {"mean": "mean", "low": "from", "high": "to", BASIS: "based on"}
_BESIDE = dict(zip(WITHOUT_FALLBACK, ("mean, no fallback", "n, no fallback"), strict=True))
_QUARTILES = {"lower": "lower quartile", "median": "median", "upper": "upper quartile"}


class Drawing(NamedTuple):
    """A figure with its caption and table; without a figure, why there is none.

    `numbers` is the table as a frame, `groups` are those of its rows, and `rows` the matches that are drawn, by the
    numbers of their tokens.
    """

    figure: Figure | None
    said: Markup
    table: Markup = Markup("")
    numbers: pd.DataFrame | None = None
    groups: Sequence[Group] = ()
    rows: pd.DataFrame = EMPTY_FRAME


def draw_choice(
    frame: pd.DataFrame,
    rows: pd.DataFrame,
    choice: FigureChoice | None,
    width: int,
    without: str = "",
    group: Group | None = None,
) -> Drawing:
    """Draw a choice.

    Args:
        frame: All matches.
        rows: The matches that are in.
        choice: The figure to draw.
        width: Pixels.
        without: Words for the matches that are left out.
        group: Draw the matches of this group one by one.
    """
    if choice is None:
        return _without_figure("These matches have no values that can be drawn.")
    if rows.empty:
        return _without_figure(f"No matches are left: the filters exclude all {len(frame):,}.")
    outcome = choice.outcome
    if outcome.either:
        grouping = group.values if group else [factor.column for factor in choice.by]
        wanted = {*_SEAT_NEEDS, *(f"{outcome.column}_{seat}" for seat in "ab"), *grouping}
        rows = by_seat(rows[[name for name in rows if name in wanted]], [outcome.column], SEAT_COLUMNS)
    if group is not None:
        rows = group.rows(rows)
    data = values(rows, outcome, choice.by if group is None else [])
    if data.empty:
        return _without_figure(f"None of these {len(rows):,} matches has a value for this outcome: {outcome.words}.")
    if group is not None:
        return _draw_group(data, rows, outcome, width)
    if outcome.yes_no and choice.view in (BOXES, VIOLINS):
        return _without_figure(f"A yes-or-no outcome ({outcome.words}) has no distribution: choose {LINES}.")
    data, cut = _limit_values(data, choice)
    found = summary(data, outcome, choice.by)
    figure = _figure(data, found, choice, width)
    numbers = as_table(found, choice.by)
    caption = _caption(choice, rows, data, found, cut, without)
    groups = make_groups(found, choice.by)
    return Drawing(figure, caption, _render_table(numbers, choice, groups), numbers, groups, rows)


def _draw_group(data: pd.DataFrame, rows: pd.DataFrame, outcome: Quantity, width: int) -> Drawing:
    """Draw the matches of one group one by one."""
    things, known = outcome.things, len(data)
    data = drop_copies(data)
    count = _count_text(len(rows), known, things) + _copies_text(known - len(data))
    said = element("p", f"{count} {_fallback_text(data, things)}".strip())
    figure, shown = matches.strip(data, rows, outcome, width), matches.render_matches(data, rows, outcome)
    numbers = rows.loc[data.index, [name for name in _MATCH_COLUMNS if name in rows]].assign(value=data["value"])
    return Drawing(figure, said, shown, numbers, rows=rows)


def _without_figure(why: str) -> Drawing:
    return Drawing(None, element("p", why, role="status"))


def _limit_values(data: pd.DataFrame, choice: FigureChoice) -> tuple[pd.DataFrame, list[str]]:
    """Drop values of a factor beyond those that can be told apart; return the data and what was dropped, in words."""
    said = []
    most = {**MAX_VALUES, "colour": MAX_VALUES["x"] if choice.view == HEAT else MAX_VALUES["colour"]}
    for side, factor in (("x", choice.x), ("colour", choice.colour), ("facet", choice.facet)):
        if factor is None:
            continue
        there = sorted(data[factor.key].unique())
        if len(there) > most[side]:
            data = data[data[factor.key].isin(there[: most[side]])]
            said.append(f"Only the first {most[side]} of {len(there)} values of {factor.title} are drawn.")
    return data, said


def _figure(data: pd.DataFrame, found: pd.DataFrame, choice: FigureChoice, width: int) -> Figure:
    sides = choice.outcome, choice.x, choice.colour, choice.facet, width
    if choice.view == HEAT:
        return figures.heat_map(found, *sides)
    if choice.view == LINES:
        return figures.means(found, *sides)
    return figures.distributions(drop_copies(data), *sides, violin=choice.view == VIOLINS)


def _caption(
    choice: FigureChoice, rows: pd.DataFrame, data: pd.DataFrame, found: pd.DataFrame, cut: list[str], left_out: str
) -> Markup:
    things = choice.outcome.things
    count = _count_text(len(data) if cut else len(rows), len(data), things)
    copies = _copies_text(len(data) - len(drop_copies(data)))
    how = "Clopper and Pearson's" if choice.outcome.yes_no else "Student's t"
    draws = data["draw"].nunique()
    interval = f" Intervals: 95%, {how}; clustered by random draw ({draws:,} draws)."
    if (found["draws"] == 0).all():
        interval = " Nothing is random in the game or its players: the means are exact."
    elif found["low"].isna().all():
        interval = " No intervals: each group has one random draw, or the same value on all."
    press = " Press a mark, or its row in the table, to see its matches."
    text = f"{count}{copies}{interval}{press}"
    return join(element("p", words) for words in (text, _fallback_text(data, things), left_out, *cut) if words)


def _count_text(rows: int, known: int, things: str) -> str:
    missing = f" {rows - known:,} {things} have no value." if rows > known else ""
    return f"{known:,} {things}.{missing}"


def _copies_text(count: int) -> str:
    """Say how many games of one draw between players without chance are left out; "" for none."""
    are = "is a copy" if count == 1 else "are copies"
    return f" {count:,} {are} (the same draw, players without chance) and excluded." if count else ""


def _fallback_text(data: pd.DataFrame, things: str) -> str:
    """Say in how many matches a rule made moves in place of a player; "" for none."""
    count = int(data["fallback"].sum())
    if not count:
        return ""
    return (
        f"In {count:,} of these {len(data):,} {things} a rule made moves in place of a player whose replies could not "
        "be used (fallbacks). The figure includes all; the table also shows the means without them."
    )


def _render_table(numbers: pd.DataFrame, choice: FigureChoice, groups: Sequence[Group]) -> Markup:
    titles = [str(name) for name in numbers if name not in (*NUMBERS, *WITHOUT_FALLBACK, BASIS)]
    beside = {name: head for name, head in _BESIDE.items() if name in numbers}
    quartiles = _QUARTILES if choice.view in (BOXES, VIOLINS) else {}
    known = numbers["low"].notna().any()
    bounds = {name: head for name, head in _HEADS.items() if known or name not in ("low", "high")}
    heads = {**bounds, **beside, **quartiles}
    shown = numbers.head(MAX_ROWS)
    names = [*titles, *(name for name in heads)]
    body: list[list[object]] = [
        [_format_cell(name, row[at], choice.outcome) for at, name in enumerate(names)]
        for row in shown[names].itertuples(index=False)
    ]
    if not titles:
        body = [["all matches", *cells] for cells in body]
    for at, (row, group) in enumerate(zip(body, groups, strict=False)):
        row[0] = pick_button(group_token(at), row[0], name=f"{row[0]}: the matches of {group.words}")
    top = [*(titles or ["matches"]), *heads.values()]
    more = f" The first {MAX_ROWS} of {len(numbers):,} rows; the file has all." if len(numbers) > MAX_ROWS else ""
    interval = "; from and to are the 95% interval of the mean" if known else ""
    note = element("p", f"{choice.outcome.title}{interval}.{more}")
    return panel("Values in the figure", note, table(top, body, "Means, intervals and counts", cls="nl-results"))


def _format_cell(name: str, value: object, outcome: Quantity) -> str:
    if name not in (*NUMBERS, *WITHOUT_FALLBACK):
        return str(value)
    if value != value:
        return "\N{EN DASH}"
    number = float(str(value))
    return f"{int(number):,}" if name in ("n", "draws", "n_no_fallback") else outcome.format(number)


# What was read.


def render_reading(reading: SweepReader, cells: int, left: int) -> Markup:
    """Render how much of the sweep is in the figures."""
    text = f"{reading.matches:,} matches from {reading.cells_read:,} of {cells:,} cells have been read"
    meter = bar(reading.cells_read, cells, text, name="Cells read") if cells else ""
    waiting = "" if reading.faults else "No cell is finished yet. Finished cells appear automatically."
    nothing = NO_RECORDS if reading.empty_cells else waiting
    some = f"{reading.empty_cells:,} cells have no records." if reading.empty_cells else ""
    notes = f"{left:,} finished cells are being read." if left else "", some if reading.matches or left else nothing
    first = next(iter(reading.faults.values()), "")[:300]
    faults = f"{len(reading.faults):,} cells could not be read. {first}"
    bad = element("div", faults, cls="nl-notice", role="alert") if first else ""
    said = " ".join(filter(None, notes))
    return element("div", meter, element("p", said) if said else "", bad)


NO_RECORDS = "The finished cells have no records: a notebook writes its records to its folder `out`."
