"""Matrices of a tournament: the payoff of the row's player against the column's.

Colours part what differs: they are anchored at a reference, 0 where values have both signs and else the mean of all
fields, and a field whose 95% interval holds the reference has the neutral colour, however far its mean is from it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from negolab.analysis import stats
from negolab.analysis.observations import Values, as_sample, sample_text
from negolab.formatting import MINUS, format_interval, format_significant, grid_columns
from negolab_widgets.charts.chart import TONE, new_figure, plain
from negolab_widgets.charts.grid import Place, bars_text, count_text, new_grid

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Rows = Mapping[str, Mapping[str, Values]]

_SCALE = [[0, "#a8431c"], [0.5, "#f1f1ee"], [1, "#1c5a96"]]
"""Below the reference, like it, above it; apart for the colour-blind too."""
_DARK, _LIGHT, _TURN = "#14191f", "#ffffff", 0.75
"""Ink on light fields, on dark ones, and how far from the reference to the end of the scale the second is the one that
is easier to read."""
_NAME, _LETTER, _NUMBER, _PAGE = 18, 6, 62, 680
"""Letters of a name that are shown; pixels of a letter, of a field's numbers, and of a figure that fits any page."""
_FIELD, _ABOUT, _BAR, _AXIS = 46, 120, 92, 72
"""Pixels: height of a field, of what is around one matrix of several, of the colour bar and of the axis below."""


def tournament(
    rows: Rows,
    *,
    unit: str = "points",
    what: str = "mean payoff of the row",
    row: str = "player",
    column: str = "against",
    scale: float = 1,
) -> Figure:
    """Draw the mean of each pair with half its 95% interval below it.

    Args:
        rows: Values by row and then by column; pairs that never met stay empty.
        unit: Unit of the values.
        what: Word for a value.
        row, column: Titles of the axes.
        scale: Numbers are divided by it (100: cents in, dollars out).
    """
    fields = Fields.of(rows, scale)
    figure = new_figure(_across_title(column, fields.met.values()), plain(row), still=True)
    height = _FIELD * max(len(rows), 1)
    where = {"x": 0, "xanchor": "left", "y": 1 + 8 / height, "yanchor": "bottom", "ypad": 0, "nticks": 5}
    bar = {"orientation": "h", "thickness": 12, "outlinewidth": 0, "lenmode": "pixels", "len": 200, **where}
    _add_matrix(figure, rows, fields, {}, colorbar=bar)
    title = {"text": f"{plain(what, 80)} ({plain(unit)})<br>{fields.legend}", "font": {"size": 13}}
    place = {"x": 0.02, "xanchor": "left", "yref": "container", "y": 1, "yanchor": "top", "pad": {"t": 24}}
    margin = {"t": _BAR, "b": _AXIS}
    figure.update_layout(height=_BAR + _AXIS + height, margin=margin, title={**title, **place})
    return figure


def tournaments(
    matrices: Mapping[str, Rows], *, row: str = "player", column: str = "against", across: int = 2
) -> Figure:
    """Draw several measures of one tournament, a matrix each with its own reference and colours, with n below all.

    Args:
        matrices: Values by title (with its unit), row and column.
        row, column: Titles of the axes.
        across: Matrices beside each other.
    """
    drawn = {title: Fields.of(rows, 1) for title, rows in matrices.items()}
    across = min(across, max(len(matrices), 1))
    down = max(-(-len(matrices) // across), 1)
    most = max((len(rows) for rows in matrices.values()), default=1)
    height = 50 + down * (_ABOUT + _FIELD * most)
    titles = [f"{plain(title, 80)}<br>{fields.legend}" for title, fields in drawn.items()]
    figure = new_grid(
        down, across, height=height, gap=_ABOUT, shared_xaxes=False, shared_yaxes="rows", subplot_titles=titles
    )
    figure.update_annotations(font={"size": 13, "color": TONE})
    for at, (title, fields) in enumerate(drawn.items()):
        place = {"row": at // across + 1, "col": at % across + 1}
        _add_matrix(figure, matrices[title], fields, place, showscale=False)
    everything = [estimate for fields in drawn.values() for estimate in fields.met.values()]
    figure.update_xaxes(title={"text": plain(column)})
    figure.update_xaxes(title={"text": _across_title(column, everything)}, row=down)
    figure.update_yaxes(title={"text": plain(row)}, col=1)
    figure.update_layout(height=height, width=_width(matrices.values(), across), margin={"t": 50})
    return figure


def _width(matrices: Collection[Rows], across: int) -> int | None:
    """Return the pixels that names and numbers beside each other need; None for those of any page."""
    columns = [grid_columns(rows) for rows in matrices]
    name = _LETTER * max((min(len(one), _NAME) for names in columns for one in names), default=1) + 10
    least = name + 50 + across * max(map(len, columns), default=1) * max(name, _NUMBER)
    return least if least > _PAGE else None


Pair = tuple[str, str]


_SURE = ("exact", "constant")
"""What is known of a value that has no interval and still differs from another: all of it, or the same in all draws."""


class Fields(NamedTuple):
    """The fields of a matrix where players met.

    Attributes:
        met: Estimates by row and column.
        differ: The fields whose values are apart from the reference.
        reference: What the colours are anchored at.
        word: A word for it.
    """

    met: Mapping[Pair, stats.Estimate]
    differ: frozenset[Pair]
    reference: float
    word: str

    @classmethod
    def of(cls, rows: Rows, scale: float) -> Fields:
        """Estimate the fields of a matrix; values are divided by `scale`."""
        samples = {(r, c): as_sample(values, scale) for r, cells in rows.items() for c, values in cells.items()}
        met = {pair: estimate for pair, sample in samples.items() if (estimate := sample.mean()).n}
        reference, word = _reference([estimate.value for estimate in met.values()])
        # Without chance a value is known exactly, and has no interval.
        exact = not any(_has_interval(estimate) for estimate in met.values())
        differ = {
            pair
            for pair, estimate in met.items()
            if (_excludes(estimate, reference) if _has_interval(estimate) else exact or estimate.status in _SURE)
        }
        return cls(met, frozenset(differ), reference, word)

    @property
    def legend(self) -> str:
        """Words for the neutral colour."""
        why = " (in its interval)" if any(map(_has_interval, self.met.values())) else ""
        return f"light: like {self.word}{why}"

    @property
    def reach(self) -> float:
        """The largest distance of a mean from the reference."""
        return max((abs(estimate.value - self.reference) for estimate in self.met.values()), default=0) or 1

    def colour(self, pair: Pair) -> float | None:
        """Return where on the scale of values a field's colour is; None where nobody met."""
        if pair not in self.met:
            return None
        return self.met[pair].value if pair in self.differ else self.reference


def _reference(values: Collection[float]) -> tuple[float, str]:
    if not values or min(values) < 0 < max(values):
        return 0.0, "0"
    mean = sum(values) / len(values)
    return mean, f"the mean, {format_significant(mean, 3)}"


def _has_interval(estimate: stats.Estimate) -> bool:
    return estimate.low == estimate.low


def _excludes(estimate: stats.Estimate, reference: float) -> bool:
    return not estimate.low <= reference <= estimate.high


def _add_matrix(figure: Figure, rows: Rows, fields: Fields, at: Place, **look: object) -> None:
    """Draw the fields of one matrix with their numbers; `at` is its place among several, {} that of the only one."""
    columns = grid_columns(rows)
    reference, reach = fields.reference, fields.reach
    figure.add_heatmap(
        z=[[fields.colour((r, c)) for c in columns] for r in rows],
        hovertext=[[_words(fields.met.get((r, c)), r, c) for c in columns] for r in rows],
        hoverinfo="text",
        hoverongaps=False,
        colorscale=_SCALE,
        zmin=reference - reach,
        zmax=reference + reach,
        xgap=2,
        ygap=2,
        **look,
        **at,
    )
    for (r, c), e in fields.met.items():
        is_dark = (r, c) in fields.differ and abs(e.value - reference) > _TURN * reach
        font = {"color": _LIGHT if is_dark else _DARK, "size": 13}
        where = {"x": columns.index(c), "y": list(rows).index(r)}
        figure.add_annotation(text=_cell(e), showarrow=False, font=font, **where, **at)
    look = {"autotickangles": [0, -45, -90], "title": {"font": {"size": 13}, "standoff": 14}}
    figure.update_xaxes(**_ticks(columns), **look, **at)
    figure.update_yaxes(**_ticks(rows), autorange="reversed", **at)


def _ticks(names: Collection[str]) -> dict[str, Any]:
    texts = [plain(name, _NAME) for name in names]
    return {"tickvals": list(range(len(texts))), "ticktext": texts, "showgrid": False}


def _cell(e: stats.Estimate) -> str:
    digits = 0 if abs(e.value) >= 100 else 1 if abs(e.value) >= 10 else 2
    half = f"<br>± {(e.high - e.low) / 2:.{digits}f}" if _has_interval(e) else ""
    return f"{e.value:.{digits}f}{half}".replace("-", MINUS)


def _words(e: stats.Estimate | None, row: str, column: str) -> str:
    if e is None:
        return ""
    interval = format_interval(e.low, e.high)
    return f"{plain(row)} against {plain(column)}<br>mean {format_significant(e.value, 5)}{interval}, {sample_text(e)}"


def _across_title(column: str, estimates: Collection[stats.Estimate]) -> str:
    return f"{plain(column)}<br>({_counts(estimates)})"


def _counts(estimates: Collection[stats.Estimate]) -> str:
    """Say how many matches are behind each cell."""
    if not estimates:
        return "n = 0"
    draws = [e.draws for e in estimates]
    bars = bars_text("± 95% interval", (e.low for e in estimates), draws)
    return f"{count_text((e.n for e in estimates), draws)} per cell{bars}"
