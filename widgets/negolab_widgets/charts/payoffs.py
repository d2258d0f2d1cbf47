"""Payoffs and shares of many matches by group, with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from negolab.analysis import stats
from negolab.analysis.observations import Values, as_sample, sample_text
from negolab.formatting import format_interval, format_significant
from negolab_widgets.charts.chart import COLOURS, TONE, error_bars, new_figure, plain
from negolab_widgets.charts.grid import DASHES, add_known, add_words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_DOTS = 400
"""Maximum number of single observations drawn per group; if there are more, they are evenly spaced among the sorted
values."""


def payoffs(
    groups: Mapping[str, Values],
    *,
    unit: str = "points",
    what: str = "payoff",
    one: str = "one match",
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Draw each group's single payoffs and their mean with its 95% interval, with n beside the name.

    Args:
        groups: Payoffs by name.
        unit: Unit of the payoffs.
        what: Word for a payoff.
        one: Word for what a single payoff belongs to.
        marks: Reference points by name.
    """
    figure = new_figure(f"{what} ({unit})", "")
    samples = [as_sample(values) for values in groups.values()]
    estimates = [sample.mean() for sample in samples]
    for at, sample in enumerate(samples):
        drawn = thin(sorted(sample.values))
        dots = {"color": TONE, "size": 5, "opacity": 0.35}
        # Spread by the golden ratio, which is even and reproducible.
        heights = [at + 0.14 + 0.22 * (k * 0.6180339887 % 1) for k in range(len(drawn))]
        hover = "%{x:.6g}<extra></extra>"
        figure.add_scatter(
            x=drawn, y=heights, mode="markers", marker=dots, showlegend=at == 0, name=one, hovertemplate=hover
        )
    for at, (name, mark) in enumerate((marks or {}).items()):
        # Drawn through all rows and named in the legend, because several often lie close together.
        label, ends = f"{plain(name)} {format_significant(mark, 5)}", [-0.65, max(len(estimates), 1) - 0.5]
        add_known(figure, [mark, mark], ends, label, DASHES[at % len(DASHES)], name=label)
    _add_means(figure, estimates, "mean, 95% interval", f"mean {what}")
    _add_row_names(figure, groups, estimates)
    return figure


def shares(groups: Mapping[str, stats.Estimate | tuple[int, int]], *, what: str = "share of matches") -> Figure:
    """Draw a bar per group with its 95% interval, with n beside the name.

    Args:
        groups: By name, an estimate from 0 to 1, or the hits and n of independent trials.
        what: Word for the share.
    """
    figure = new_figure(f"{what} (%)", "")
    estimates = [e if isinstance(e, stats.Estimate) else _share(*e) for e in groups.values()]
    percent = [e._replace(value=100 * e.value, low=100 * e.low, high=100 * e.high) for e in estimates]
    bars = {"color": COLOURS["A"], "opacity": 0.45, "line": {"width": 0}}
    places = list(range(len(percent)))
    figure.add_bar(
        x=[e.value for e in percent], y=places, width=0.5, orientation="h", marker=bars, hoverinfo="skip", name=what
    )
    _add_means(figure, percent, "95% interval", what)
    _add_row_names(figure, groups, estimates)
    figure.update_xaxes(range=[0, 100])
    figure.update_layout(showlegend=False)
    return figure


def _share(hits: int, n: int) -> stats.Estimate:
    return stats.estimate_share([k < hits for k in range(n)])


def thin(values: Sequence[float]) -> Sequence[float]:
    """Take at most `MAX_DOTS` evenly spaced values."""
    if len(values) <= MAX_DOTS:
        return values
    return [values[k * (len(values) - 1) // (MAX_DOTS - 1)] for k in range(MAX_DOTS)]


def _add_means(figure: Figure, estimates: Sequence[stats.Estimate], name: str, what: str) -> None:
    figure.add_scatter(
        x=[e.value for e in estimates],
        y=list(range(len(estimates))),
        mode="markers",
        marker={"color": TONE, "size": 9, "symbol": "diamond"},
        error_x=error_bars(estimates, TONE),
        name=name,
        hovertext=[
            f"{what} {format_significant(e.value, 5)}{format_interval(e.low, e.high)}, {sample_text(e)}"
            for e in estimates
        ],
        hoverinfo="text",
    )


def _add_row_names(figure: Figure, names: Iterable[str], estimates: Sequence[stats.Estimate]) -> None:
    """Name groups above their rows, because beside them a name leaves no room on a phone."""
    count = max(len(estimates), 1)
    for at, (name, e) in enumerate(zip(names, estimates, strict=True)):
        place = {"xref": "paper", "x": 0, "xanchor": "left", "y": at - 0.3, "yanchor": "bottom"}
        add_words(figure, f"{plain(name, 32)}, {sample_text(e)}", place)
    figure.update_yaxes(range=[count - 0.5, -0.65], showticklabels=False, showgrid=False)
    figure.update_layout(height=90 + 64 * count)
