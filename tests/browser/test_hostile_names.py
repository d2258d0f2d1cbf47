"""Names that somebody else's records bring onto a page are text there: nothing runs, nothing is requested, and no link
hides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ipywidgets as w
import msgspec
import nbformat
import pandas as pd
import pyarrow.parquet as pq
import pytest
from negolab_widgets import Replay, SweepBoard, SweepResults, charts
from negolab_widgets.html import StableHTML

import negolab as nl
from negolab.analysis import match_frames
from negolab.formats import transcript
from negolab.games.balloon import Instance
from negolab.match import Match
from negolab.record import Record
from negolab.sweeps.report import PLOTLY_MIME, notebook_page
from tests.support.markup_injection import INJECTIONS, PAYLOAD
from tests.support.sweeps import finished_sweep
from tests.sweeps.test_sweep import negolab

pytestmark = pytest.mark.browser

NAMES = (
    *INJECTIONS,
    '<a href="https://evil.example/a">prize</a>',
    "[prize](https://evil.example/b) [prize][1]\n\n[1]: https://evil.example/c",
    "![x](https://evil.example/d.png) <https://evil.example/e>",
    "[![x](https://evil.example/f.png)](javascript:window.pwned=1)",
    f"```mermaid\n<img src=x onerror={PAYLOAD}>\n```",
    f"| a | b |\n|---|---|\n| <img src=x onerror={PAYLOAD}> | x |",
    f"${{{PAYLOAD}}} {{{{{PAYLOAD}}}}} {{%{PAYLOAD}%}} %{{x}}",
    f"\u2028</script><script>{PAYLOAD}</script>\u2029",
    f"</pre></code></title></svg><script>{PAYLOAD}</script>",
    f"<!--><script>{PAYLOAD}</script>-->",
    f"<meta http-equiv=refresh content='0;url=javascript:{PAYLOAD}'><base href=https://evil.example>",
)
"""Names of players, items, presets, parameters and whatever else a record says."""


def record() -> Record:
    """A match with a hostile name wherever a record has one."""
    items = dict.fromkeys((" ".join(name.replace("{", "(").replace("}", ")").split()) for name in NAMES), 10)
    game = nl.load("balloon", instance=Instance(items, 100, {"A": items, "B": items}), patience=1000)
    match = Match(game, seed=1, players={"A": NAMES[0], "B": NAMES[1]})
    for name in NAMES:
        match.submit(next(iter(match.pending())), name)
    match.abort(NAMES[1])
    kept = match.record()
    notes = {name: name for name in NAMES} | {"remark": " ".join(NAMES)}
    header = msgspec.structs.replace(kept.header, id=NAMES[1], preset=NAMES[0], created=NAMES[2], notes=notes)
    return msgspec.structs.replace(kept, header=header)


def transcript_page(folder: Path) -> str:
    whole = record()
    return transcript.html(whole) + transcript.html(whole.seen_by("A"))


def shown_by_code(**data: Any) -> Any:
    return nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", data)])


def markdown_page(folder: Path) -> str:
    texts = [f"**{name}** gains *more* than `{name}`." for name in NAMES] + list(NAMES)
    frame = pd.DataFrame({name: [name] for name in NAMES}, index=[NAMES[0]])
    cells = [shown_by_code(**{"text/markdown": text}) for text in texts]
    cells.append(shown_by_code(**{"text/html": frame.to_html()}))
    return notebook_page(nbformat.v4.new_notebook(cells=cells), NAMES[0], code=False)


def figures_page(folder: Path) -> str:
    few, numbers = (NAMES[1], NAMES[0], *NAMES[-11:-9], NAMES[-5]), list(range(4))
    frame = pd.DataFrame({"name": few, "measure": few[2], "facet": few[0], "group": few})
    frame = frame.assign(value=1.0, low=0.5, high=1.5, n=4, exact=1.2, row=few[1], column=few[2])
    points = frame.assign(a=1.0, b=1.0, a_low=0.5, a_high=1.5, b_low=0.5, b_high=1.5)
    groups = dict.fromkeys(few, numbers)
    titles = {"measure": few[2], "group": "{}", "row": "{}", "column": "{}"}
    one, pair = dict.fromkeys(few, 1.0), dict.fromkeys(few, (1.0, 1.0))
    made = [
        charts.tournament(dict.fromkeys(few, groups)),
        charts.tournaments({name: {name: groups} for name in few}),
        charts.forest(frame, marks={few[2]: one}),
        charts.exact(frame.drop(columns="group")),
        charts.panels(frame, x="measure", colour="group", row="row", column="column", titles=titles, y=few[2]),
        charts.trend({name: {1.0: numbers} for name in few}, x="x", y="y", levels=one),
        charts.payoffs(groups, marks=one),
        charts.shares(dict.fromkeys(few, (1, 2))),
        charts.frontiers(points, points),
        charts.outcomes({name: [(1, 2), (2, 1)] for name in few}, marks=pair),
    ]
    cells = [shown_by_code(**{PLOTLY_MIME: json.loads(figure.to_json())}) for figure in made]
    return notebook_page(nbformat.v4.new_notebook(cells=cells), "figures", code=False)


def hostile_sweep(folder: Path) -> Path:
    """A finished sweep whose parameters, values and players have hostile names."""
    values = json.dumps([NAMES[0], "b"])
    grid = "".join(f"{json.dumps(name)} = {values}\n" for name in (NAMES[1], NAMES[-10], NAMES[-1]))
    sweep = finished_sweep(folder, f"[grid]\nbeta = [0.2, 5.0]\n{grid}").path
    for at, file in enumerate(sorted(sweep.glob("cells/*/records.jsonl"))):
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for line in lines:
            line["header"] |= {"players": {"A": NAMES[at], "B": NAMES[-1 - at]}, "preset": NAMES[at]}
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
        match_frames.read_matches(file.parent)
        kept = match_frames.read_matches(file.parent)  # with what it was made from, so that it is taken as it is
        measured = kept.append_column(NAMES[1], kept.column("payoff_a"))
        pq.write_table(measured, file.with_name(match_frames.FILE))
    broken = sweep / "cells" / NAMES[1]
    broken.mkdir()
    (broken / "cell.json").write_bytes(next(sweep.glob("cells/beta*/cell.json")).read_bytes())
    (broken / "records.jsonl").write_text("garbage\n" * 10_000)
    return sweep


def sweep_report(folder: Path) -> str:
    ran = negolab("sweep", "report", str(hostile_sweep(folder)))
    assert ran.returncode == 0, ran.stderr
    return (folder / "out" / "report.html").read_text("utf-8")


def markup(widget: Any) -> Iterator[str]:
    """Yield the markup of a page of widgets."""
    if isinstance(widget, w.HTML | StableHTML):
        yield widget.value
    for child in getattr(widget, "children", ()):
        yield from markup(child)


def widgets_page(folder: Path) -> str:
    sweep = hostile_sweep(folder)
    board, results = SweepBoard(sweep), SweepResults(sweep)
    board._list.value = board._list.options[1][1]
    return "".join(text for page in (board, results, Replay([record()]), Replay(sweep)) for text in markup(page))


@pytest.mark.parametrize(
    "kind",
    [
        transcript_page,
        markdown_page,
        figures_page,
        widgets_page,
        pytest.param(sweep_report, marks=pytest.mark.long),
    ],
)
def test_hostile_names_are_text(kind: Callable[[Path], str], tmp_path: Path, chromium: Any) -> None:
    with ThreadPoolExecutor(1) as thread:  # with a page of playwright, this one has a running event loop
        html = thread.submit(kind, tmp_path).result()
    file = tmp_path / "page.html"
    file.write_text(html, "utf-8")
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("framenavigated", lambda frame: asked.append(frame.url))
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelectorAll('.plot:not(.js-plotly-plot)').length === 0")
    for plot in page.locator(".js-plotly-plot .nsewdrag").all():
        plot.hover(force=True)
    assert page.evaluate("window.pwned") is None
    assert set(asked) == {file.as_uri()}
    runs = ":is(iframe, object, embed, form, base, img, video, math, [onerror], [onload], [onfocus], [onmouseover])"
    assert page.locator(f"body {runs}").count() == 0
    linked = (
        "[...document.querySelectorAll('a, area')].map((a) => a.getAttribute('href') ?? a.getAttribute('xlink:href'))"
    )
    assert page.evaluate(linked) == []
    assert page.evaluate("document.body.innerText").count("pwned=1") > 5, "the names are there to be read"
    page.close()
