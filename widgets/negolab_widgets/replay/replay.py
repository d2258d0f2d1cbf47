"""Replay: look through records, step through one, see it as a seat saw it, branch it, and export its transcript."""

from __future__ import annotations

import atexit
import base64
import os
from collections.abc import Sequence
from pathlib import Path

import ipywidgets as w

from negolab.formats import OpenedRecords, open_records, transcript
from negolab.game import Seat
from negolab.match import replay_differences
from negolab.record import Record, SeatRecord
from negolab.store import Store
from negolab_widgets import html, page
from negolab_widgets.charts import Chart
from negolab_widgets.faults import FaultGuard
from negolab_widgets.page import OUT, SOURCE, import_modules
from negolab_widgets.replay.branching import Branching
from negolab_widgets.replay.comparison import Comparison, proposal_figure, proposal_table
from negolab_widgets.replay.record_list import RecordList, short_id
from negolab_widgets.replay.scrubber import Scrubber, Step, record_steps, view_steps
from negolab_widgets.tables.controls import column, row, set_visible, warning

VIEWPOINTS: dict[str, Seat | None] = {"the experimenter": None, "seat A alone": "A", "seat B alone": "B"}
SUFFIXES = {"latex": "tex", "html": "html", "markdown": "md", "clembench": "tex"}


class Replay(w.VBox):  # type: ignore[misc]
    """Look through records of matches.

    Branches are kept in the folder `out`, together with the match they branch from.

    Args:
        source: A record, several, one seat's view (`record.seen_by("A")`), or the path of a file of records, a run's
            folder, or a folder of published clembench episodes.
        out: Folder of the branches (default: `$NEGOLAB_OUT`, else `data/runs/branches`).
    """

    def __init__(
        self,
        source: Record | SeatRecord | Sequence[Record] | Path | str | None = None,
        *,
        out: Path | str | None = None,
    ) -> None:
        self._out = Path(out or os.environ.get(OUT) or "data/runs/branches")
        self._guard = FaultGuard("a replay")
        self._record: Record | None = None
        self._view: SeatRecord | None = None
        self._branches: dict[str, Record] = {}
        self._faults: list[str] = []
        self._unsaved: list[tuple[Record, Record]] = []
        # A page that is closed ends its kernel: what was played until then is kept.
        atexit.register(self._guard, self._close)
        self._head, self._troubles, self._facts = w.HTML(), w.HTML(), w.HTML()
        self._record_list = RecordList((), self.show, self._guard)
        self._viewpoint = w.Dropdown(description="Seen by", options=list(VIEWPOINTS))
        self._viewpoint.observe(lambda _: self._guard(self._draw), "value")
        self._scrubber = Scrubber(self._on_moved, self._guard)
        self._chart, self._stakes = Chart(height=400), w.HTML()
        self._plane = column(w.HTML(html.element("h2", "What each proposal would pay")), self._chart, self._stakes)
        self._plane.add_class("nl-panel")
        self._branching, self._comparison = Branching(self._save_branch), Comparison()
        self._style = w.Dropdown(description="Transcript as", options=list(transcript.STYLES))
        self._write = w.Button(description="Write the transcript")
        self._write.on_click(lambda _: self._guard(self._export))
        self._link = w.HTML()
        export = row(self._style, self._write, self._link)
        self._match = column(
            self._facts,
            row(self._viewpoint),
            self._scrubber.widget,
            self._plane,
            self._branching.widget,
            self._comparison.widget,
            export,
        )
        super().__init__(
            children=[
                *page.page_head(),
                self._head,
                self._troubles,
                self._guard.notice,
                self._record_list.widget,
                self._match,
            ]
        )
        self.add_class("nl-page")
        set_visible(self._match, False)
        set_visible(self._record_list.widget, False)
        self._guard(lambda: self._start(source))

    def _start(self, source: Record | SeatRecord | Sequence[Record] | Path | str | None) -> None:
        import_modules()
        source = source if source is not None else os.environ.get(SOURCE)
        self._head.value = html.element("h1", "Replay")
        if isinstance(source, SeatRecord):
            self._open_view(source)
        elif isinstance(source, Record):
            self.show(source)
        elif source is None or source == "":
            self._head.value = html.join([self._head.value, html.element("p", NO_RECORDS)])
        else:
            self._open_source(source)

    def _open_source(self, source: Sequence[Record] | Path | str) -> None:
        found = open_records(source) if isinstance(source, Path | str) else OpenedRecords(_all_records(source))
        records = found.records
        if found.troubles:
            self._troubles.value = warning("Not everything could be read as it is. " + " ".join(found.troubles[:5]))
        self._record_list.set_records(records)
        set_visible(self._record_list.widget, len(records) > 1)
        if records:
            self.show(records[0])

    # One match.

    def show(self, record: Record) -> None:
        """Show a record from its start."""
        self._branching.leave()
        self._record = self._view = None
        set_visible(self._match, False)
        told = record_steps(record)  # a record that cannot be replayed stops here, and nothing of it is shown
        self._faults = replay_differences(record)
        self._record = record
        self._branches = {f"original {short_id(record)}": record}
        self._comparison.set_branches(self._branches)
        self._draw(told)

    def _open_view(self, view: SeatRecord) -> None:
        self._record, self._view = None, view
        for part in (self._viewpoint, self._plane, self._branching.widget, self._comparison.widget):
            set_visible(part, False)
        set_visible(self._match, True)
        self._facts.value = html.element("p", f"{view.game}, as seat {view.seat} saw it")
        self._scrubber.set_steps(view_steps(view), view.told)

    def _draw(self, told: list[Step] | None = None) -> None:
        """Show the match as the experimenter or as one seat, at the moment that is shown already."""
        record = self._record
        if record is None:
            return
        seat = VIEWPOINTS[self._viewpoint.value]
        fault = f"This record is not what the rules make of its replies: {self._faults[0]}" if self._faults else ""
        self._facts.value = html.join([warning(fault) if seat is None and fault else "", _render_facts(record, seat)])
        self._link.value = ""
        styles = transcript.styles(record.header.game)
        if list(self._style.options) != styles:
            self._style.options = styles
            self._style.index = 0
        set_visible(self._match, True)
        for part in (self._plane, self._branching.widget):
            set_visible(part, seat is None)
        set_visible(self._comparison.widget, seat is None and len(self._branches) > 1)
        before = None if told else self._scrubber.step
        if seat is None:
            self._draw_plane(record)
            seen = told or record_steps(record)
            self._scrubber.set_steps(seen, record.game, at=_matching_step(seen, before))
        else:
            self._chart.show(None)
            self._stakes.value = ""
            self._comparison.set_branches({})
            view = record.seen_by(seat)
            seen = view_steps(view)
            self._scrubber.set_steps(seen, view.told, at=_matching_step(seen, before))

    def _draw_plane(self, record: Record) -> None:
        figure = proposal_figure({"": record})
        set_visible(self._plane, figure is not None)
        self._chart.show(figure)
        self._stakes.value = proposal_table(record) if figure else ""

    def _on_moved(self, step: Step) -> None:
        if self._record is not None and step.at:
            self._branching.set_start(self._record, step.at)

    # What comes of it.

    def _save_branch(self, parent: Record, branch: Record) -> str:
        """Keep a branch, and its parent if it is not there yet; return where they are."""
        if parent is self._record:
            self._branches[f"branch {len(self._branches)}, {short_id(branch)}"] = branch
            if VIEWPOINTS[self._viewpoint.value] is None:
                self._comparison.set_branches(self._branches)
        self._unsaved.append((parent, branch))
        try:
            self._write_unsaved()
        except (ValueError, OSError) as error:
            return f"The branch is not kept yet: {error}. It is tried again with the next one and when the page closes."
        return f"Kept as record {short_id(branch)} in {self._out}."

    def _write_unsaved(self) -> None:
        """Write the branches that are not written yet."""
        with Store(self._out, wait=3).for_single_matches() as store:
            kept = store.ids()
            while self._unsaved:
                for one in self._unsaved[0]:
                    if one.id not in kept:
                        store.append(one)
                        kept.add(one.id)
                del self._unsaved[0]

    def _close(self) -> None:
        self._branching.leave()
        if self._unsaved:
            self._write_unsaved()

    def _export(self) -> None:
        source: Record | SeatRecord | None = self._view
        if self._record is not None:
            seat = VIEWPOINTS[self._viewpoint.value]
            source = self._record if seat is None else self._record.seen_by(seat)
        if source is None:
            return
        style = self._style.value
        text = transcript.export(source, style).encode()
        suffix = f"-clembench.{SUFFIXES[style]}" if style == "clembench" else f".{SUFFIXES[style]}"
        name = f"{source.id[:12] if isinstance(source, Record) else f'seat-{source.seat}'}{suffix}"
        data = f"data:application/octet-stream;base64,{base64.b64encode(text).decode()}"
        words = f"Save {name} ({len(text) / 1000:.0f} kB)"
        self._link.value = html.element("a", words, href=data, download=name)


NO_RECORDS = "No records were given. Start it with a file or folder: negolab replay FILE --browser."


def _all_records(source: Sequence[Record]) -> tuple[Record, ...]:
    """Check that all items are records; raise ValueError otherwise."""
    try:
        records = tuple(source)
    except TypeError:
        raise ValueError(f"Replay shows a record, a list of records, a view or a path, not {source!r:.80}") from None
    for one in records:
        if not isinstance(one, Record):
            raise ValueError(f"Replay shows a list of records; {one!r:.80} is none")
    return records


def _matching_step(steps: list[Step], before: Step | None) -> int:
    """Return the number of the first step at which a seat saw what it saw in `before`, else 1."""
    if before is None:
        return 1
    for number, step in enumerate(steps, 1):
        if any(before.seen.get(seat) == seen for seat, seen in step.seen.items()):
            return number
    return 1


def _render_facts(record: Record, seat: Seat | None) -> html.Markup:
    """Render whose match it was; to a seat only what it knows."""
    header = record.header
    if seat is not None:
        return html.element("p", f"{header.game}, as seat {seat} saw it")
    game = record.game
    rows = [
        ("game", f"{header.game}, preset {header.preset or 'none'}"),
        *((f"player {s}", name) for s, name in header.players.items()),
        ("deal", "explicit" if header.seed is None else f"seed {header.seed}"),
        ("end", record.end or "unfinished"),
        *((f"paid to {s}", game.format_payoff(pay)) for s, pay in record.payoffs.items()),
        ("record", header.id),
    ]
    return html.panel("The match", html.pairs(rows))
