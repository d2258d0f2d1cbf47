"""Figures for print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from negolab_widgets.charts.look import TONE

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_INK, _PAPER = "#22272c", "#ffffff"


def paper(figure: Figure) -> Figure:
    """The same figure, dark on white with framed axes, whatever the page is like. Changed in place and returned."""
    figure.update_layout(paper_bgcolor=_PAPER, plot_bgcolor=_PAPER, font={"color": _INK})
    # What has a colour of its own, such as numbers on a dark ground, keeps it.
    figure.for_each_annotation(
        lambda note: note.update(font={"color": _INK}) if note.font.color in (None, TONE) else None
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(linecolor=_INK, mirror=True, ticks="outside", tickcolor=_INK)
    return figure
