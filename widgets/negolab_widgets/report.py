"""The report on a run: what moved, by how much and with what certainty, as one page for a coauthor.

A run is a folder of records, such as a batch or an exported study, or a sweep. The page begins with the largest
differences between its conditions and one figure of all outcomes, followed by a figure for each outcome that varies,
what went wrong, the tables, the methods, and how to run it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import pandas as pd

from negolab._internal import manifest
from negolab._internal.files import read_text
from negolab._internal.version import __version__
from negolab.analysis import tables
from negolab.analysis.columns import to_frame, unify
from negolab.analysis.comparisons import Effect, find_effects
from negolab.analysis.estimates import by_seat, fallbacks_by_player, without_result
from negolab.analysis.match_frames import read_matches
from negolab.analysis.measures import MEANINGS
from negolab.analysis.observations import SEAT_COLUMNS, drop_copies, sample_text
from negolab.analysis.standings import Standings, is_tournament
from negolab.coding import associations
from negolab.events import Rejected
from negolab.formats.spreadsheet import LEFT_OUT
from negolab.formatting import counted, format_significant, label
from negolab.record import Record
from negolab.sweeps import folder as sweeps
from negolab.sweeps.plan import axis_values
from negolab.sweeps.report import draw_figure, make_page
from negolab_widgets.axis import Axis, new_axis
from negolab_widgets.html import Markup, capitalised, details, element, join, table
from negolab_widgets.replay.file import replay_page
from negolab_widgets.results.choices import HEAT, LINES, FigureChoice
from negolab_widgets.results.data import SweepFrame, SweepReader
from negolab_widgets.results.drawing import Drawing, draw_choice
from negolab_widgets.results.variables import (
    Quantity,
    column_texts,
    factors,
    format_value,
    game_class,
    main_outcomes,
    outcomes,
    summary,
    values,
)
from negolab_widgets.standings import render_details, render_rankings

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WIDTH, PHONE = 680, 336
"""Width of a figure in pixels, and its width on a phone."""
MAX_NAMED, MAX_LISTED = 3, 200
"""Maximum number of differences in the first paragraph, and in the full list."""
MAX_COLUMNS = 8
"""Maximum number of conditions side by side in the first figure."""
MANY = 4
"""Number of values from which two numeric factors make a heat map."""
_METHODS = files("negolab_widgets").joinpath("report.md")


class RunMatches(NamedTuple):
    """The matches of a run, with what is known about its plan."""

    played: SweepFrame
    fields: Mapping[str, Any]
    orders: Mapping[str, Sequence[Any]]
    faults: Mapping[str, str]
    states: str
    broken: pd.DataFrame


def read_run(path: Path) -> RunMatches:
    """Read the matches of a sweep, or of a folder of records.

    Raises:
        ValueError: There are no records, or some cannot be read.
    """
    fields = manifest.read(path) if path.is_dir() else {}
    if "notebook" not in fields:
        folders = manifest.game_folders(path, fields).values() if is_tournament(fields) else [path]
        frame = to_frame(unify(map(read_matches, folders)))
        if frame.empty:
            raise ValueError(f"{path} has no records: give the folder of a run or sweep")
        return RunMatches(SweepFrame(frame.assign(cell=frame["deal"])), fields, {}, {}, "", pd.DataFrame())
    reading, now = SweepReader(path), sweeps.read_sweep_status(path)
    for cell in reading.unread_cells():
        reading.read_cell(cell)
    orders = axis_values(now.plan.axes())
    counts = now.counts()
    states = ", ".join(f"{counts[state]:,} {state}" for state in counts) + f" of {len(now.cells):,} cells"
    failed = [(id, end.state, end.error) for id, end in now.ended.items() if end.error is not None]
    rows = [{"cell": id, "state": state, "why": f"{why.kind}: {why.text}"} for id, state, why in failed]
    return RunMatches(reading.frame(), fields, orders, reading.faults, states, pd.DataFrame(rows))


class Report:
    """The content of a report on a run.

    The conditions are the parameters of a sweep, else treatments, else players (with a row per seat if they sat in
    both), plus anything else that distinguishes records.

    Args:
        path: The run's folder.
        beside: Name of the file with matches to step through, to which links in a tournament's report lead.

    Attributes:
        examples: Those matches, once the content has been built.
    """

    def __init__(self, path: Path, beside: str = "") -> None:
        self.path, self.run, self.beside = path, read_run(path), beside
        self.examples: dict[tuple[str, str, str], Record] = {}
        self.frame = self.run.played.frame
        self.games = sorted(set(self.frame["game"])) if len(self.frame) else []
        own = self.run.played.parameters.values()
        found = factors(self.run.played, self.run.orders) if self.games else []
        meet = bool(self.games) and not own and bool(set(self.frame["player_a"]) & set(self.frame["player_b"]))
        # An experiment compares its treatments, not the people in them.
        is_treated = any(one.column == "treatment" for one in found)
        players = () if is_treated else SEAT_COLUMNS[1:2] if meet else ("player_a", "player_b")
        wanted = own or ("game", "preset", "treatment", *players)
        told_apart = {tuple(one.codes(self.frame)): one for one in reversed(found) if one.column in self.frame}
        twins = {one.column for one in found if one.column in self.frame} - {one.column for one in told_apart.values()}
        self.factors = [one for one in found if one.column in wanted and one.column not in twins]
        self.by_player = any(one.column == SEAT_COLUMNS[1] for one in self.factors)
        there = main_outcomes(self.frame, outcomes(self.frame, own), either=self.by_player)
        self.outcomes = [one._replace(words=self._words(one.words)) for one in there]
        bases = [one.column for one in self.outcomes]
        self.rows = by_seat(self.frame, bases, SEAT_COLUMNS) if self.by_player else self.frame

    def _words(self, words: str) -> str:
        """Return an outcome's words as used in a sentence, with a seat's role if all matches are of one game."""
        of, _, seat = words.removesuffix(" of either seat").rpartition(" of ")
        roles = [word for word in game_class(self.games[0]).seat_words.values() if word[:2] == f"{seat} "]
        if len(self.games) == 1 and roles:
            return f"{of} of the {roles[0][3:-1]}"
        return "agreement" if words == "ended in agreement" else words.removesuffix(" of either seat")

    @property
    def title(self) -> str:
        """The games and the run's name."""
        return f"{', '.join(map(str.capitalize, self.games)) or 'No matches yet'}: {self.path.resolve().name}"

    @property
    def is_tournament(self) -> bool:
        """True if the run is a tournament."""
        return is_tournament(self.run.fields)

    @cached_property
    def effects(self) -> list[Effect]:
        """The differences between conditions, with clear and large ones first."""
        texts = {one.column: list(one.texts) for one in self.factors}
        data = self.rows.assign(**{name: column_texts(self.rows, name) for name in texts})
        ordered = [one.column for one in self.factors if one.places is not None]
        beside = {SEAT_COLUMNS[0]: ("A",)} if self.by_player else {}  # seats are settings that are not compared
        return find_effects(data, {**texts, **beside}, [one.column for one in self.outcomes], ordered)

    def what_moved(self) -> list[str]:
        """Return the sentences of the first paragraph."""
        if not self.factors:
            return ["This run has one condition, so there is nothing to compare. Its outcomes:"]
        best: dict[str, Effect] = {}
        for effect in self.effects:
            best.setdefault(effect.outcome, effect)
        clear = [self.sentence(effect) for effect in best.values() if effect.is_clear][:MAX_NAMED]
        count, hidden = len(self.effects), len(self.effects) > max(len(clear), 1)
        shown = f" The largest are named here, at most {MAX_NAMED} and one per outcome; all are listed below." * hidden
        intervals = any(effect.difference.low == effect.difference.low for effect in self.effects)
        how = ", with simultaneous 95% intervals" * intervals
        compared = f"Compared: {counted(count, 'difference')}{how}.{shown}"
        if clear or not best:
            return [*clear, compared]
        none = "None of the differences is larger than chance explains. The largest of them:"
        return [none, self.sentence(next(iter(best.values()))), compared]

    def sentence(self, effect: Effect) -> str:
        """Say how much an outcome differs between two conditions."""
        outcome = next(one for one in self.outcomes if one.column == effect.outcome)
        title = next(one.title for one in self.factors if one.column == effect.factor)
        found, sign = effect.difference, 1 if effect.difference.value >= 0 else -1
        change, *ends = (
            _number(value / outcome.scale, outcome) if value == value else ""
            for value in (abs(found.value), *sorted((sign * found.low, sign * found.high)))
        )
        unit = "percentage points" if outcome.unit.startswith("%") else outcome.unit.replace("dollars", "")
        unit = f"{unit} " if unit else ""
        interval = f" [{', '.join(ends)}]" if all(ends) else ""
        way, than = f"{change} {unit}{'higher' if sign > 0 else 'lower'}{interval}", "than"
        if found.value == 0 and not interval:
            way, than = "the same", "as"
        words = capitalised(outcome.words)
        among = " among deals" * self._needs_deal(outcome)
        at = f"{title} {effect.second} {than} with {effect.first}"
        return f"{words}{among} was {way} with {at} ({sample_text(found)})."

    def _needs_deal(self, outcome: Quantity) -> bool:
        """Return True if only matches that ended in an agreement have this outcome."""
        agreed = self.rows["agreed"].eq(True)
        return bool(agreed[self.rows[outcome.column].notna()].all() and not agreed.all())

    # The page, from top to bottom.

    def body(self) -> tuple[Markup, list[tuple[Figure, Figure]]]:
        """Return the page's content, with `FIGURE` in place of each figure, and the figures, each also for a phone."""
        drawn = [(outcome, wide, narrow) for outcome, wide, narrow in self.drawings() if wide.figure is not None]
        varied = {outcome: one for outcome, one, _ in drawn}
        same = ", ".join(one.words for one in self.outcomes if one not in varied)
        each = [join([element("h3", of.title), FIGURE, details("Table", one.table)]) for of, one in varied.items()]
        head = element("h2", "Outcome by outcome"), element("p", f"The same in all matches: {same}." if same else "")
        parts = [
            *(element("h1", self.title), element("p", self._counts()), element("p", self._constants(), cls="soft")),
            *self._ranking(),
            *(element("h2", "What moved"), element("p", " ".join(self.what_moved())), self._side_by_side()),
            *((*head, *each) if each else ()),
            *self._codes(),
            *self._faults(),
            *self._methods(),
        ]
        return join(parts), [(wide.figure, narrow.figure) for _, wide, narrow in drawn]

    def _ranking(self) -> Iterator[Markup]:
        """Yield the ranking of a tournament and who met whom; nothing for any other run."""
        if self.is_tournament:
            found = Standings(self.path)
            self.examples = found.examples()
            links = {where: f"{quote(self.beside)}#{record.id}" for where, record in self.examples.items()}
            yield element("h2", "Ranking")
            yield render_rankings(found)
            yield element("h2", "Who met whom")
            yield render_details(found, links)

    def _counts(self) -> str:
        frame, written = self.frame, str(self.run.fields.get("written", ""))[:10]
        if not len(frame):
            return f"No match is finished yet ({self.run.states})."
        stopped, copies = int(frame["stopped"].notna().sum()), len(frame) - len(drop_copies(frame))
        drawn = f" on {frame['draw'].nunique():,} random draws" if frame["chance"].any() else ""
        missing = manifest.planned_matches(self.path) - len(frame)
        twice = int(frame.duplicated(["cell", "match"]).sum())
        said = (
            f"{counted(len(frame), 'match')}{drawn}",
            f"{missing:,} planned matches are missing" * (missing > 0),
            f"{twice:,} have the ID of another match: negolab check lists them" * bool(twice),
            f"{stopped:,} of them stopped before their end" * bool(stopped),
            f"{copies:,} copies, which add no information (same draw, deterministic players)" * bool(copies),
            self.run.states,
            f"run on {written}" * bool(written),
        )
        return "; ".join(filter(None, said)) + "."

    def _constants(self) -> str:
        varied = {one.column for one in self.factors}
        names = {column: name for name, column in self.run.played.parameters.items()}
        names |= {name: label(name) for name in ("preset", "treatment", "player_a", "player_b")}
        there = [name for name in names if name in self.frame and name not in varied]
        same = [name for name in there if self.frame[name].notna().all() and self.frame[name].nunique() == 1]
        said = dict.fromkeys(f"{names[name]} {format_value(self.frame[name].iloc[0])}" for name in same)
        return f"The same in all matches: {', '.join(said)}." if said else ""

    def _side_by_side(self) -> Markup:
        """Render each outcome as a row, with its estimate and interval at each value of the factor that moved results
        most."""
        if not self.outcomes:
            return Markup("")
        first = next((effect.factor for effect in self.effects), None)
        factor = next((one for one in self.factors if one.column == first), None)
        by = [factor] if factor else []
        heads = [f"{factor.title} {text}" for text in factor.texts[:MAX_COLUMNS]] if factor else ["all matches"]
        rows = []
        for outcome in self.outcomes:
            data = values(self.rows, outcome._replace(either=False), by)
            found = summary(data, outcome, by) if len(data) else data
            at = {int(row[factor.key]) if factor else 0: row for _, row in found.iterrows()}
            ends = [row[name] for row in at.values() for name in ("mean", "low", "high") if row[name] == row[name]]
            axis = new_axis(ends or [0], 0, 100)
            cells = [_estimate_cell(at.get(code), outcome, axis) for code in range(len(heads))]
            rows.append([outcome.title, *cells])
        more = len(factor.texts) - MAX_COLUMNS if factor else 0
        note = f" The first {MAX_COLUMNS} of {len(factor.texts)} values." if factor and more > 0 else ""
        others = [one.title for one in self.factors if one is not factor]
        over = f" Over all values of {', '.join(others)}." if others else ""
        said = f"Means and shares with 95% intervals; each row has its own scale.{over}{note}"
        about = element("p", said, cls="soft")
        return join([table(["outcome", *heads], rows, "Outcomes by condition"), about, *self._folded()])

    def _folded(self) -> Iterator[Markup]:
        """Yield the definitions of the outcomes, and all differences."""
        titles: dict[str, list[str]] = {}
        for one in self.outcomes:
            titles.setdefault(one.column.removesuffix("_a").removesuffix("_b"), []).append(one.title)
        defined = {", ".join(of): MEANINGS[base] for base, of in titles.items() if base in MEANINGS}
        texts = [element("p", element("b", title), f": {meaning}.") for title, meaning in defined.items()]
        if texts:
            yield details("Definitions of the outcomes", join(texts))
        if len(self.effects) > 1:
            listed = [element("p", self.sentence(effect)) for effect in self.effects[:MAX_LISTED]]
            more = f", the first {MAX_LISTED}" if len(self.effects) > MAX_LISTED else ""
            yield details(f"All {len(self.effects):,} differences{more}", join(listed))

    def drawings(self) -> Iterator[tuple[Quantity, Drawing, Drawing]]:
        """Yield each outcome that varies, with its figure and table for a page and for a phone."""
        x, colour, facet = [*self.factors, None, None, None][:3]
        grid = [one for one in (x, colour) if one and one.places is not None and len(one.texts) >= MANY]
        view = HEAT if len(grid) == 2 else LINES
        for outcome in self.outcomes if self.factors else ():
            data = values(self.rows, outcome._replace(either=False), [])
            if data["value"].nunique() > 1:
                choice = FigureChoice(outcome, view, x, colour, facet)
                wide, narrow = (draw_choice(self.frame, self.frame, choice, width) for width in (WIDTH, PHONE))
                yield outcome, wide, narrow

    def _codes(self) -> Iterator[Markup]:
        """Yield what was said, if it has been coded: codes by condition, and the payoff that goes with each."""
        if not self.games:
            return
        seats = by_seat(self.frame, (), SEAT_COLUMNS).assign(seat=lambda rows: rows[SEAT_COLUMNS[0]])
        coded = associations.coded_seats(self.path, seats)
        if coded.empty:
            return
        parts = {"all coded": coded, "last before an agreement": associations.before_agreement(coded)}
        for factor in self.factors[:1]:
            codes = factor.codes(coded)
            parts |= {
                f"{factor.title} {text}": coded[codes == at] for at, text in enumerate(factor.texts[:MAX_COLUMNS])
            }
        cells = {head: _rate_cells(associations.estimates(part, associations.BY)) for head, part in parts.items()}
        rows = [[" / ".join(code), *(found.get(code, "") for found in cells.values())] for code in cells["all coded"]]
        yield element("h2", "What was said")
        yield table(["codebook / coder / code", *parts], rows, "Codes by condition")
        yield element("p", _CODED, cls="soft")

    def _faults(self) -> Iterator[Markup]:
        """Yield what went wrong, if anything did."""
        frame = self.frame
        unread = pd.DataFrame({"cell": self.run.faults.keys(), "why": self.run.faults.values()})
        found = {
            "Unfinished cells": self.run.broken,
            "Finished cells that could not be read": unread,
            "Matches without a regular result": without_result(frame) if len(frame) else frame,
            "Moves that a rule made in place of a player": fallbacks_by_player(frame) if len(frame) else frame,
            "Rows of the spreadsheet that were left out": _left_out(self.path / LEFT_OUT),
        }
        there = {title: rows for title, rows in found.items() if len(rows)}
        if there:
            yield element("h2", "What went wrong")
        for title, rows in there.items():
            yield element("h3", title)
            yield table(list(map(str, rows.columns)), [list(map(format_value, row)) for row in rows.values], title)
        if len(frame):
            yield from (element("p", words, cls="soft") for words in self._code_meanings())

    def _code_meanings(self) -> Iterator[str]:
        """Yield the first reason given for each rejection code that preceded a move by a rule."""
        names = ("fallback_codes_a", "fallback_codes_b")
        left = {code for name in names for text in self.frame[name].dropna() for code in text.split()}
        events = (event for _, record in tables.records(self.path) for event in record.events) if left else iter(())
        while left and (event := next(events, None)):
            if isinstance(event, Rejected) and (code := event.invalid.codes[0]) in left:
                left.remove(code)
                yield f"{code}, such as: {event.invalid.reason}"

    def _methods(self) -> Iterator[Markup]:
        for block in _METHODS.read_text("utf-8").format(version=__version__).strip().split("\n\n"):
            heading = block.removeprefix("# ")
            yield element("p" if heading == block else "h2", heading)
        plan = self.run.fields.get("plan", {})
        told = {
            name: plan[name]
            for name in ("notebook", "game", "preset", "a", "b", "n", "seed", "repeats")
            if name in plan
        }
        again = ", ".join(f"{name} {format_value(value)}" for name, value in told.items())
        yield (
            element("p", f"The plan of this run: {again}. The full text is in manifest.json.") if again else Markup("")
        )


def _left_out(file: Path) -> pd.DataFrame:
    """Count the rows that an import left out, by match and reason; empty if nothing was imported."""
    if file.is_symlink() or not file.is_file():  # a link would expose another of the reader's files
        return pd.DataFrame()
    rows = pd.read_csv(StringIO(read_text(file)), dtype=str, keep_default_na=False)
    if not {"match", "reason"} <= {*rows}:
        return pd.DataFrame()
    return rows.groupby(["match", "reason"], sort=False).size().rename("rows").reset_index().head(MAX_LISTED)


def _estimate_cell(row: Any, outcome: Quantity, axis: Axis) -> Markup:
    """Render an estimate as a number above a line for its interval."""
    if row is None:
        return element("span", "no value", cls="soft")
    mean = _number(row["mean"], outcome)
    known = row["low"] == row["low"]
    ends = f"[{_number(row['low'], outcome)}, {_number(row['high'], outcome)}]" if known else f"n = {int(row['n']):,}"
    low, high = (axis.place(row[name] if known else row["mean"]) for name in ("low", "high"))
    line = f'<line x1="{low}" x2="{high}" y1="6" y2="6"/><circle cx="{axis.place(row["mean"])}" cy="6" r="3.5"/>'
    drawing = Markup(f'<svg class="estimate" viewBox="0 0 100 12" aria-hidden="true">{line}</svg>')
    return join([element("b", mean), " ", element("span", ends, cls="soft"), drawing])


_CODED = (
    "Share of the coded units that a code fits, or its mean on a scale, with 95% intervals by draw. Nobody was "
    "assigned what to say: what goes with a code is an association, not its effect."
)


def _rate_cells(found: pd.DataFrame) -> dict[tuple[str, ...], Markup]:
    """Render the rate of each code above its interval, and the number of matches."""
    cells = {}
    for *code, n, mean, low, high in found.itertuples(index=False):
        known = f" [{format_significant(low)}, {format_significant(high)}]," if low == low else ""
        sample = element("span", f"{known} n = {n:,}", cls="soft")
        cells[tuple(code)] = join([element("b", format_significant(mean)), sample])
    return cells


def _number(value: float, outcome: Quantity) -> str:
    """Format a number with as many digits as a sentence needs."""
    return outcome.format(value) if outcome.unit == "dollars" else format_significant(value)


FIGURE = Markup("<!-- figure -->")
"""Placeholder for a figure in a body."""


def report_pages(path: Path, name: str) -> dict[str, str]:
    """Return the report on a run as pages that need no network, by file name; a tournament has a second page, with
    matches to step through.

    Args:
        path: The folder of a sweep or of records.
        name: File name of the report.

    Raises:
        ValueError: There are no records, or some cannot be read.
    """
    report = Report(path, f"{Path(name).stem}-matches.html")
    body, figures = report.body()
    drawn = [draw_figure(*(json.loads(each.to_json()) for each in pair)) for pair in figures]
    parts = body.split(FIGURE)
    whole = "".join(str(part) + figure for part, figure in zip(parts, [*(html for html, _ in drawn), ""], strict=True))
    pages = {name: make_page(report.title, whole, set().union(*(kinds for _, kinds in drawn)))}
    return pages | ({report.beside: replay_page([*report.examples.values()])} if report.examples else {})
