"""Estimates beside what is known exactly of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from negolab_widgets.charts.forest import forest
from negolab_widgets.charts.look import plain

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_INK = "#c45c00"


def exact(
    frame: pd.DataFrame,
    *,
    row: str = "players",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    known: str = "known exactly",
    bars: str = "95 % intervals",
) -> Figure:
    """The `forest` of a frame with `name`, `measure`, `value`, `low`, `high`, `n` and perhaps `facet`, and in it a tick
    at each value of the column `exact`; none where that is missing. `ranges` fix an axis by its measure,
    `known` are words for the legend, `bars` those for the intervals."""
    figure = forest(frame.assign(group=f"mean, {bars}"), row=row, ranges=ranges, bars=bars)
    facets, measures, names = (
        list(dict.fromkeys(map(str, frame[column]))) if column in frame else [""]
        for column in ("facet", "measure", "name")
    )
    there = frame.dropna(subset=["exact"])
    shown = False
    for at, facet in enumerate(facets):
        for by, measure in enumerate(measures):
            here = there[there["measure"].astype(str) == measure]
            if "facet" in here:
                here = here[here["facet"].astype(str) == facet]
            if here.empty:
                continue
            figure.add_scatter(
                x=here["exact"].tolist(),
                y=[names.index(str(name)) for name in here["name"]],
                mode="markers",
                marker={"symbol": "line-ns", "size": 17, "color": _INK, "line": {"width": 2, "color": _INK}},
                name=plain(known),
                legendgroup="exact",
                showlegend=not shown,
                hovertext=[f"{plain(known)}: {value:.6g}" for value in here["exact"]],
                hoverinfo="text",
                row=at + 1,
                col=by + 1,
            )
            shown = True
    return figure
