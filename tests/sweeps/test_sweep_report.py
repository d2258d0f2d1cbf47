"""A sweep's report, one self-contained file, and the experiments run at their tiny size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from negolab_widgets.report import Report
from negolab_widgets.results.variables import column_texts

from negolab.analysis.estimates import by_seat
from negolab.analysis.observations import SEAT_COLUMNS, drop_copies
from negolab.sweeps.folder import REPORT
from negolab.sweeps.report import PLOTLY_MIME, notebook_page
from tests.conftest import ROOT, needs
from tests.support.browser import accessibility_violations, fits_width, overlapping_labels
from tests.support.command import negolab, refusal, succeeding
from tests.support.sweeps import finished_sweep, write_plan
from tests.sweeps.test_sweep import run_sweep, sweep_command

PLANS = sorted((ROOT / "notebooks" / "experiments").glob("*/plan.toml"))
SHOWS = """
import os
import plotly.graph_objects as go
from IPython.display import Markdown
from negolab.analysis import tables
frame = tables.matches(run)
display(Markdown(f"There are **{len(frame)} games**, and of keys {[n for n in os.environ if 'KEY' in n]}."))
go.Figure(go.Bar(y=list(frame.payoff_a)))
"""


def reporting(file: Path, source: str = SHOWS, parameters: str | None = "run = ''") -> Path:
    """Write a report notebook."""
    cells = [nbformat.v4.new_markdown_cell("# What came out", id="t"), nbformat.v4.new_code_cell(source, id="b")]
    if parameters is not None:
        cells.insert(1, nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}, id="a"))
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), file)
    return file


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep whose plan names a report."""
    folder = tmp_path_factory.mktemp("reported")
    reporting(folder / "found.ipynb")
    file = write_plan(folder, 'report = "found.ipynb"\n[grid]\nbeta = [0.2, 5.0]\n')
    succeeding("sweep", "run", str(file), "--out", str(folder / "out"))
    return folder / "out"


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    found = chromium.new_page(viewport={"width": 1000, "height": 900})
    yield found
    found.close()


@pytest.mark.browser
def test_a_report_is_one_file_that_shows_words_and_figures_and_asks_nobody(
    run: Path, page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-report")
    ran = sweep_command("report", str(run))
    assert (ran.returncode, ran.stdout.strip()) == (0, str(run / "report.html")), ran.stderr
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((run / "report.html").as_uri())
    page.get_by_text("There are 6 games, and of keys [].").wait_for()
    page.locator(".js-plotly-plot .bars").first.wait_for(state="attached")
    assert page.title() == "out: report"
    assert asked == [(run / "report.html").as_uri()]
    assert page.get_by_text("import plotly").count() == 0, "its code is not shown"
    sweep_command("report", str(run), "--code", "--out", str(run / "code.html"))
    assert "import plotly" in re.sub("<[^>]*>", "", (run / "code.html").read_text("utf-8"))


@pytest.mark.parametrize(
    ("source", "parameters", "said"),
    [
        (SHOWS, None, "has no parameter run: it would not know which sweep to report on"),
        (
            "1 / 0",
            "run = ''",
            "own.ipynb stopped in the cell that begins with `1 / 0`: ZeroDivisionError: division",
        ),
        (
            "from IPython.display import HTML; HTML('<script src=\"https://elsewhere.example/x.js\"></script>')",
            "run = ''",
            'own.ipynb loads content from another address, <script src="https://...: remove it',
        ),
    ],
)
def test_what_is_wrong_with_a_report_notebook_is_one_line(
    run: Path, tmp_path: Path, source: str, parameters: str | None, said: str
) -> None:
    own, out = reporting(tmp_path / "own.ipynb", source, parameters), tmp_path / "x.html"
    assert said in refusal("sweep", "report", str(run), "--notebook", str(own), "--out", str(out))
    assert not out.exists()


@pytest.mark.long
@pytest.mark.browser
def test_nothing_that_cells_say_runs_in_a_report_and_what_cannot_be_read_is_said(tmp_path: Path, page: Any) -> None:
    hostile = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
    grid = f"repeats = 2\n[grid]\nbeta = [0.2, 5.0]\nrounds = [4, 6]\nhow = ['well', '{hostile}', 'raises']\n"
    file = write_plan(tmp_path, grid)
    game = (tmp_path / "game.ipynb").read_text("utf-8")
    (tmp_path / "game.ipynb").write_text(game.replace("no such thing", hostile), "utf-8")
    out = tmp_path / "out"
    assert run_sweep(file, out).states == {"done": 16, "failed": 8}
    torn = next((out / "cells").glob("*well*/records.jsonl"))
    torn.write_text("garbage\n" * 10_000, "utf-8")
    succeeding("sweep", "report", str(out))
    page.goto((out / "report.html").as_uri())
    page.locator(".js-plotly-plot").first.wait_for()
    page.get_by_role("heading", name="Finished cells that could not be read").wait_for()
    assert page.get_by_text(hostile).count() > 0 and page.evaluate("window.pwned") is None
    few = page.get_by_text(re.compile(r"n = \d( to \d)? "))
    assert few.count() > 0, "parameters that records name as well are kept apart"


def test_a_folder_without_records_has_no_report(tmp_path: Path) -> None:
    assert "has no records: give the folder of a run or sweep" in refusal("sweep", "report", str(tmp_path))


@pytest.fixture(scope="module")
def plain_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a sweep whose plan names none."""
    grid = "repeats = 2\n[grid]\nbeta = [0.2, 5.0]\nrounds = [4, 6]\n"
    return reported(finished_sweep(tmp_path_factory.mktemp("plain"), grid).path)


def words(report: Path) -> str:
    return unescape(
        re.sub("<style>.*?</style>|<script.*?</script>|<[^>]*>", " ", report.read_text("utf-8"), flags=re.S)
    )


def test_any_sweep_has_a_report_that_says_first_what_moved(plain_report: Path) -> None:
    text = words(plain_report)
    parts = ["Bargaining: ", "8 done of 8 cells", "What moved", "Outcome by outcome", "Methods", "Cite and run again"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "What went wrong" not in text, "nothing did"


def test_the_differences_of_a_report_are_those_of_its_tables(plain_report: Path) -> None:
    report = Report(plain_report.parent)
    frame = report.frame
    assert report.effects and len(report.effects) == len(report.outcomes) * len(report.factors)
    for effect in report.effects:
        settings = [one.column for one in report.factors if one.column != effect.factor]
        side = column_texts(frame, effect.factor).map({effect.first: "first", effect.second: "second"})
        means = drop_copies(frame).assign(side=side).groupby([*settings, "side"])[effect.outcome].mean().unstack()
        expected = (means["second"].astype(float) - means["first"].astype(float)).mean()
        assert effect.difference.value == pytest.approx(expected, abs=1e-9), effect
    clear = next((effect for effect in report.effects if effect.is_clear), None)
    said = report.what_moved()
    assert clear is None or report.sentence(clear) == said[0]
    text = words(plain_report)
    assert " ".join(said) in text
    listed = text.partition(f"All {len(report.effects)} differences")[2]
    assert all(report.sentence(effect) in listed for effect in report.effects)
    assert "Definitions of the outcomes" in text and "share of the possible joint surplus that was reached" in text


def test_a_template_in_the_working_directory_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "basic").mkdir()
    run = f"cycler.__init__.__globals__.os.system('touch {tmp_path / 'ran'}')"
    (tmp_path / "basic/index.html.j2").write_text(f"{{{{ {run} }}}}")
    monkeypatch.chdir(tmp_path)
    assert "seen" in notebook_page(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("seen")]), "", code=False
    )
    assert not (tmp_path / "ran").exists()


def test_a_report_reads_the_name_of_its_folder_as_a_text_in_whatever_language_it_says_it_is(tmp_path: Path) -> None:
    """Papermill writes a parameter for a shell in quotes that are none in Python."""
    run = finished_sweep(tmp_path / "a\\'\"+print('ran')#").path
    notebook = reporting(tmp_path / "mine.ipynb", "import pathlib\nassert pathlib.Path(run).is_dir()")
    notebook.write_text(notebook.read_text().replace('"language": "python"', '"language": "bash"'))
    succeeding("sweep", "report", str(run), "--notebook", str(notebook))


def test_figures_and_tables_are_written_for_a_paper(plain_report: Path, tmp_path: Path) -> None:
    needs("chromium", "chromium")
    ran = sweep_command("report", str(plain_report.parent), "--figures", str(tmp_path / "f"), "--tables", str(tmp_path))
    assert ran.returncode == 0 and str(tmp_path / "estimates.tex") in ran.stdout, ran.stderr
    report = Report(plain_report.parent)
    begins = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<svg"}
    names = {outcome.column for outcome, drawn, _ in report.drawings() if drawn.figure}
    assert {file.name for file in (tmp_path / "f").iterdir()} == {f"{n}.{to}" for n in names for to in begins}
    assert all(file.read_bytes().startswith(begins[file.suffix[1:]]) for file in (tmp_path / "f").iterdir())
    frame = pd.read_csv(tmp_path / "estimates.csv")
    row = frame[frame["outcome"] == report.outcomes[0].words].iloc[0]
    at = {one.column: one.texts[0] for one in report.factors}
    cell = drop_copies(report.frame)
    for column, text in at.items():
        cell = cell[column_texts(cell, column) == text]
    assert row["mean"] == pytest.approx(float(cell[report.outcomes[0].column].mean()) / report.outcomes[0].scale)
    assert len(pd.read_csv(tmp_path / "differences.csv")) == len(report.effects)
    assert (tmp_path / "differences.tex").read_text().startswith("\\begin{tabular}")


def test_a_batch_has_a_report_on_its_players_and_one_condition_is_said_to_be_one(tmp_path: Path) -> None:
    play = ["batch", "bargaining", "--preset", "asymmetric", "--a", "linear"]
    succeeding(*play, "--b", "boulware", "--n", "20", "--swap", "--out", str(tmp_path / "both"))
    text = words(reported(tmp_path / "both"))
    found = Report(tmp_path / "both").effects
    rows = by_seat(Report(tmp_path / "both").frame, ["payoff"], SEAT_COLUMNS)
    earned = rows.groupby("(player)")["payoff"].mean()
    payoff = next(effect for effect in found if effect.outcome == "payoff")
    assert payoff.difference.value == pytest.approx(earned[payoff.second] - earned[payoff.first])
    assert "Payoff was $" in text and f"with player {payoff.second} than with {payoff.first}" in text
    succeeding(*play, "--b", "linear", "--n", "3", "--out", str(tmp_path / "one"))
    text = words(reported(tmp_path / "one"))
    assert "This run has one condition, so there is nothing to compare." in text
    assert "payoff of the seller (dollars)" in text, "people read roles"
    (tmp_path / "one" / "report.html").unlink()
    file = negolab("report", str(tmp_path / "one" / "records.jsonl"))
    assert file.returncode == 0 and (tmp_path / "one" / "report.html").is_file(), file.stderr


def test_a_report_before_any_cell_is_finished_says_so_and_runs_no_notebook_that_no_plan_names(tmp_path: Path) -> None:
    sweep = finished_sweep(tmp_path, count=0)
    # A notebook that lies there, though the plan names none, is not run.
    reporting(sweep.path / REPORT, f"open({str(tmp_path / 'ran')!r}, 'w')")
    html = reported(sweep.path).read_text("utf-8")
    assert not (tmp_path / "ran").exists()
    assert "No match is finished yet (" in html
    assert "<script" not in html, "plotly is packed into reports with figures only"


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_read_on_a_phone_by_everybody_in_the_dark_too(
    plain_report: Path, chromium: Any, scheme: str
) -> None:
    assert plain_report.stat().st_size < 1_500_000
    for width in (360, 1280):
        page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.goto(plain_report.as_uri())
        page.locator(".js-plotly-plot .scatterlayer .point").first.wait_for(state="attached")
        assert fits_width(page) and accessibility_violations(page) == [] and overlapping_labels(page) == []
        widths = page.locator(".plot").evaluate_all(
            "all => all.map(one => [one.scrollWidth, one.parentElement.clientWidth])"
        )
        assert widths and all(drawn <= room for drawn, room in widths)
        ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        ink = page.evaluate("() => getComputedStyle(document.querySelector('.plot text')).fill")
        assert (ground, ink) == COLOURS[scheme]
        page.close()


def reported(sweep: Path) -> Path:
    succeeding("sweep", "report", str(sweep))
    return sweep / "report.html"


COLOURS = {
    "light": ("rgb(255, 255, 255)", "rgb(77, 90, 105)"),
    "dark": ("rgb(20, 25, 31)", "rgb(170, 182, 194)"),
}
"""The ground of a page and the ink of its figures: colours.css."""


def test_charts_that_the_packed_script_lacks_bring_the_whole_of_plotly() -> None:
    def page(kind: str) -> str:
        shown = nbformat.v4.new_output("display_data", {PLOTLY_MIME: {"data": [{"type": kind}]}})
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[shown])])
        return notebook_page(notebook, "x", code=False)

    assert len(page("bar")) < 700_000 < 1_500_000 < len(page("surface"))


@pytest.mark.long
@pytest.mark.parametrize("file", PLANS, ids=lambda file: file.parent.name)
def test_a_study_runs_small_and_reports(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    succeeding("sweep", "run", str(file), "--tiny", "--out", str(out), timeout=600)
    succeeding("sweep", "report", str(out), timeout=600)
    html = (out / "report.html").read_text("utf-8")
    assert 'class="plot"' in html or file.parent.name == "published", "it shows a figure"
