"""The figures and tables of a report, as files for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from negolab._internal.files import atomic_write
from negolab.analysis.columns import write_table
from negolab.analysis.observations import sample_text
from negolab.analysis.standings import Standings, Table
from negolab_widgets.charts import paper
from negolab_widgets.report import Report
from negolab_widgets.results.variables import BASIS, summary, summary_table, values

FORMATS = ("pdf", "png", "svg")
_SIZE = {"width": 680, "scale": 2}
"""Width in pixels, and the number of PNG pixels for each of them."""


def write_figures(report: Report, folder: Path) -> list[Path]:
    """Write the figure of each outcome that varies, dark on white, as PDF, PNG and SVG.

    Args:
        report: The report on a run.
        folder: Created if it does not exist.

    Returns:
        The files.

    Raises:
        ValueError: Kaleido, or the Chromium that it draws with, is not installed.
    """
    if find_spec("kaleido") is None:
        raise ValueError("--figures needs kaleido: pip install 'negolab[figures]'")
    import plotly.io as pio

    figures = {_stem(outcome.column): paper(drawn.figure) for outcome, drawn, _ in report.drawings() if drawn.figure}
    files = {folder / f"{name}.{to}": figure for name, figure in figures.items() for to in FORMATS}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        pio.write_images(list(files.values()), list(files), **_SIZE)
    except RuntimeError as error:  # Plotly's own error, which says how to install a browser
        raise ValueError(f"--figures needs Chrome or Chromium on this machine: {error}".split("\n")[0]) from error
    return list(files)


def write_tables(report: Report, folder: Path) -> list[Path]:
    """Write the estimates for each condition, all differences compared, and a tournament's rankings, as CSV and LaTeX.

    Args:
        report: The report on a run.
        folder: Created if it does not exist.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, table in _tables(report):
        files += [folder / f"{name}.csv", folder / f"{name}.tex"]
        write_table(table, files[-2])
        text = table.to_latex(index=False, escape=True, na_rep="", float_format="{:.4g}".format)
        atomic_write(files[-1], text.encode())
    return files


def _tables(report: Report) -> Iterator[tuple[str, pd.DataFrame]]:
    estimates = []
    for outcome in report.outcomes:
        data = values(report.rows, outcome._replace(either=False), report.factors)
        found = summary_table(summary(data, outcome, report.factors), report.factors)
        named = pd.DataFrame({"outcome": outcome.words, "unit": outcome.unit}, found.index)
        estimates.append(pd.concat([named, found], axis=1))
    yield "estimates", pd.concat(estimates)
    if report.effects:
        yield "differences", pd.DataFrame(_differences(report))
    if report.is_tournament:
        yield "rankings", pd.DataFrame(row for table in Standings(report.path).tables for row in _ranks(table))


def _ranks(table: Table) -> Iterator[dict[str, object]]:
    found = table.ranking
    for name in table.order if found else ():
        assert found is not None
        first, last = found.ranks[name] if found.ranks else (None, None)
        yield {
            "game": table.game,
            "unit": table.unit,
            "player": name,
            "first rank": first,
            "last rank": last,
            "mean": found.mean[name],
            "above the average": found.strength[name],
            "half-width": None if table.exact else found.half[name],
            "draws": found.draws,
        }


def _differences(report: Report) -> Iterator[dict[str, object]]:
    known = {one.column: one for one in report.outcomes}
    titles = {one.column: one.title for one in report.factors}
    for effect in report.effects:
        outcome, found = known[effect.outcome], effect.difference
        numbers = {"difference": found.value, "low": found.low, "high": found.high}
        yield {
            "outcome": outcome.words,
            "unit": outcome.unit,
            "condition": titles[effect.factor],
            "of": effect.second,
            "less": effect.first,
            **{name: value / outcome.scale for name, value in numbers.items()},
            "n": found.n,
            "draws": found.draws,
            BASIS: sample_text(found),
        }


def _stem(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name).strip("-.")
