"""The matches behind one mark of a figure: their distribution, and a list of them to open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from negolab.analysis.observations import SEAT_COLUMNS
from negolab.formatting import format_end
from negolab_widgets.charts.chart import HUES, plain, shorten
from negolab_widgets.charts.payoffs import thin
from negolab_widgets.html import Markup, element, panel, table
from negolab_widgets.picks import pick_button
from negolab_widgets.results.panels import Panels, padded_range
from negolab_widgets.results.variables import Factor, Quantity, column_texts

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_GOLDEN = 0.618034
"""The fractional parts of its multiples lie far apart, so marks of equal value do not hide each other."""


class Group(NamedTuple):
    """The matches whose columns have these values, as texts."""

    values: Mapping[str, str]
    words: str = "all matches"

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a frame that belong to the group; missing columns are ignored."""
        kept = pd.Series(True, index=frame.index)
        for column, text in self.values.items():
            if column in frame:
                kept &= column_texts(frame, column) == text
        return frame[kept]


def make_groups(found: pd.DataFrame, by: Sequence[Factor]) -> list[Group]:
    """Return the group of each row of a summary."""
    return [_group({factor: factor.texts[int(row[factor.key])] for factor in by}) for _, row in found.iterrows()]


def _group(texts: Mapping[Factor, str]) -> Group:
    words = ", ".join(f"{factor.title} {text}" for factor, text in texts.items())
    return Group({factor.column: text for factor, text in texts.items()}, words or "all matches")


def group_token(at: int) -> str:
    """Return the token by which the group of a summary's row is picked."""
    return f"group {at}"


def match_token(row: object) -> str:
    """Return the token by which the match of a frame's row is picked."""
    return f"match {row}"


def parse_token(token: str) -> tuple[str, int]:
    """Return what is picked ("group" or "match") and its number; raise ValueError for anything else."""
    kind, _, number = token.partition(" ")
    if kind not in ("group", "match") or not (number.isascii() and number.isdigit()):
        raise ValueError(f"nothing here is called {token[:40]!r}")
    return kind, int(number)


def evenly(data: pd.DataFrame) -> pd.DataFrame:
    """Return rows in ascending order of value; if there are too many to draw, return rows evenly spaced by rank."""
    ordered = data.sort_values("value", kind="stable")
    return ordered.loc[list(thin(list(ordered.index)))]


def strip(data: pd.DataFrame, rows: pd.DataFrame, outcome: Quantity, width: int) -> Figure:
    """Draw matches as points that can be pressed, next to a box plot of all of them.

    Args:
        data: What `variables.values` returns.
        rows: The matches.
        outcome: The outcome to draw.
        width: Width in pixels.
    """
    drawn = evenly(data)
    note = f"n = {len(data):,} {outcome.things}{_of_many(drawn, data)}. Press a point to open its match."
    panels = Panels(None, [], note, width=width, height=320, ticks=[])
    places = [at * _GOLDEN % 1 for at in range(len(drawn))]
    panels.figure.add_scatter(
        x=places,
        y=list(drawn["value"]),
        mode="markers",
        marker={"color": HUES[0], "size": 9, "opacity": 0.8},
        customdata=[match_token(row) for row in drawn.index],
        hovertext=[_hover_text(rows.loc[row], drawn["value"][row], outcome) for row in drawn.index],
        hoverinfo="text",
        showlegend=False,
    )
    if not outcome.yes_no:
        line = {"color": HUES[0], "width": 1.5}
        look = {"boxpoints": False, "fillcolor": "rgba(108, 120, 132, 0.12)", "hoverinfo": "y", "width": 0.14}
        panels.figure.add_box(x0=1.15, y=list(data["value"]), line=line, showlegend=False, **look)
    axis = {"showticklabels": False, "showgrid": False, "range": [-0.1, 1.3]}
    along = "matches" if outcome.yes_no else "matches, and their quartiles"
    panels.axes(along, outcome.title, axis, _ticks(data, outcome))
    return panels.figure


def _ticks(data: pd.DataFrame, outcome: Quantity) -> dict[str, Any]:
    if outcome.yes_no:
        return {"tickvals": [0, 100], "ticktext": ["no", "yes"], "range": [-20, 120]}
    return padded_range(data["value"])


def _of_many(drawn: pd.DataFrame, data: pd.DataFrame) -> str:
    return f", {len(drawn):,} of them shown, evenly by rank" if len(drawn) < len(data) else ""


def _hover_text(row: pd.Series[Any], value: float, outcome: Quantity) -> str:
    return f"{_value_text(value, outcome)}<br>{plain(_players(row), 80)}<br>{format_end(_end(row))}"


def _value_text(value: float, outcome: Quantity) -> str:
    if outcome.yes_no:
        return "yes" if value else "no"
    return outcome.format(value)


def _players(row: pd.Series[Any]) -> str:
    return f"{row['player_a']} / {row['player_b']}"


def _end(row: pd.Series[Any]) -> str | None:
    return None if pd.isna(end := row.get("end")) else str(end)


def render_matches(data: pd.DataFrame, rows: pd.DataFrame, outcome: Quantity) -> Markup:
    """Render the matches of `strip` as a table; the first cell of each row opens the match."""
    drawn = evenly(data)
    seat = SEAT_COLUMNS[0]
    head = ["match", *(["seat"] if outcome.either else []), outcome.title, "player A", "player B", "end"]
    body = []
    for at in drawn.index:
        row = rows.loc[at]
        seats = [row[seat]] if outcome.either else []
        value = _value_text(drawn["value"][at], outcome)
        id = str(row["match"])
        opener = pick_button(match_token(at), shorten(id, 16), name=f"Open match {id}: {value}")
        body.append([opener, *seats, value, row["player_a"], row["player_b"], format_end(_end(row))])
    note = element("p", f"{len(drawn):,} of {len(data):,} {outcome.things}, by rising {outcome.words}.")
    return panel("The matches", note, table(head, body, "Matches to open", cls="nl-results nl-long"))
