"""Replay: look through records, scrub through one, see it as a seat saw it, branch it, and export its transcript."""

from __future__ import annotations

import atexit
import base64
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import ipywidgets as w

from negolab import catalog
from negolab.formats import transcript
from negolab.formats.source import Opened, opened
from negolab.game import Seat
from negolab.match import differences
from negolab.record import Record, View
from negolab.store import Store
from negolab_widgets import html, page
from negolab_widgets.charts import Chart
from negolab_widgets.places import MODULE, OUT, SOURCE
from negolab_widgets.replay.branching import Branching
from negolab_widgets.replay.comparison import Comparison
from negolab_widgets.replay.plane import plane, stakes_told
from negolab_widgets.replay.scrubber import Scrubber
from negolab_widgets.replay.shelf import Shelf, short
from negolab_widgets.replay.steps import Step, steps, steps_of
from negolab_widgets.tables.controls import column, row, shown_if, warning

log = logging.getLogger("negolab.widgets")

EYES: dict[str, Seat | None] = {"the experimenter": None, "seat A alone": "A", "seat B alone": "B"}
SUFFIXES = {"latex": "tex", "html": "html", "markdown": "md", "clembench": "tex"}


class Replay(w.VBox):  # type: ignore[misc]
    """Look through `source`: a record, several, one seat's view (`record.seen_by("A")`), or the path of a file of
    records, a run's folder, or a folder of published clembench episodes. Branches are kept in the folder `out`
    (default: `$NEGOLAB_OUT`, else `data/runs/branches`), together with the match they branch from."""

    def __init__(
        self,
        source: Record | View | Sequence[Record] | Path | str | None = None,
        *,
        out: Path | str | None = None,
    ) -> None:
        self._out = Path(out or os.environ.get(OUT) or "data/runs/branches")
        self._record: Record | None = None
        self._view: View | None = None
        self._branches: dict[str, Record] = {}
        self._faults: list[str] = []
        self._unkept: list[tuple[Record, Record]] = []
        # A page that is closed ends its kernel: what was played until then is kept.
        atexit.register(self._guarded(self._close))
        self._head, self._troubles, self._notice, self._facts = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._shelf = Shelf((), self.show, self._guarded)
        self._as = w.Dropdown(description="Seen by", options=list(EYES))
        self._as.observe(lambda _: self._guarded(self._look)(), "value")
        self._scrubber = Scrubber(self._moved, self._guarded)
        self._chart, self._stakes = Chart(height=400), w.HTML()
        self._plane = column(w.HTML(html.element("h2", "What each proposal would pay")), self._chart, self._stakes)
        self._plane.add_class("nl-panel")
        self._branching, self._comparison = Branching(self._keep, self._guarded), Comparison()
        self._style = w.Dropdown(description="Transcript as", options=list(transcript.STYLES))
        self._write = w.Button(description="Write the transcript")
        self._write.on_click(lambda _: self._guarded(self._export)())
        self._link = w.HTML()
        export = row(self._style, self._write, self._link)
        self._match = column(
            self._facts,
            row(self._as),
            self._scrubber.widget,
            self._plane,
            self._branching.widget,
            self._comparison.widget,
            export,
        )
        super().__init__(
            children=[*page.head(), self._head, self._troubles, self._notice, self._shelf.widget, self._match]
        )
        self.add_class("nl-page")
        shown_if(self._match, False)
        shown_if(self._shelf.widget, False)
        self._guarded(self._start)(source)

    def _start(self, source: Record | View | Sequence[Record] | Path | str | None) -> None:
        if module := os.environ.get(MODULE):
            catalog.module(module)
        source = source if source is not None else os.environ.get(SOURCE)
        self._head.value = html.element("h1", "Replay")
        if isinstance(source, View):
            self._open_view(source)
        elif isinstance(source, Record):
            self.show(source)
        elif source is None or source == "":
            self._head.value = html.join([self._head.value, html.element("p", EMPTY)])
        else:
            self._fill(source)

    def _fill(self, source: Sequence[Record] | Path | str) -> None:
        found = opened(source) if isinstance(source, Path | str) else Opened(_all_records(source))
        records = found.records
        if found.troubles:
            self._troubles.value = warning("Not everything could be read as it is. " + " ".join(found.troubles[:5]))
        self._shelf.put(records)
        shown_if(self._shelf.widget, len(records) > 1)
        if records:
            self.show(records[0])

    # One match.

    def show(self, record: Record) -> None:
        """Show a record from its start."""
        self._branching.leave()
        self._record = self._view = None
        shown_if(self._match, False)
        told = steps(record)  # a record that cannot be replayed stops here, and nothing of it is shown
        self._faults = differences(record)
        self._record = record
        self._branches = {f"original {short(record)}": record}
        self._comparison.put(self._branches)
        self._look(told)

    def _open_view(self, view: View) -> None:
        self._record, self._view = None, view
        for part in (self._as, self._plane, self._branching.widget, self._comparison.widget):
            shown_if(part, False)
        shown_if(self._match, True)
        self._facts.value = html.element("p", f"{view.game}, as seat {view.seat} saw it")
        self._scrubber.put(steps_of(view), view.told)

    def _look(self, told: list[Step] | None = None) -> None:
        """Show the match as the experimenter or as one seat, at the moment that is shown already."""
        record = self._record
        if record is None:
            return
        seat = EYES[self._as.value]
        fault = f"This record is not what the rules make of its replies: {self._faults[0]}" if self._faults else ""
        self._facts.value = html.join([warning(fault) if seat is None and fault else "", _facts(record, seat)])
        self._link.value = ""
        # The published layout is one of balloon's transcripts only.
        styles = [style for style in transcript.STYLES if style != "clembench" or record.header.game == "balloon"]
        if list(self._style.options) != styles:
            self._style.options = styles
            self._style.index = 0
        shown_if(self._match, True)
        for part in (self._plane, self._branching.widget):
            shown_if(part, seat is None)
        shown_if(self._comparison.widget, seat is None and len(self._branches) > 1)
        before = None if told else self._scrubber.step
        if seat is None:
            self._draw_plane(record)
            seen = told or steps(record)
            self._scrubber.put(seen, record.game, at=_moment(seen, before))
        else:
            self._chart.show(None)
            self._stakes.value = ""
            self._comparison.put({})
            view = record.seen_by(seat)
            seen = steps_of(view)
            self._scrubber.put(seen, view.told, at=_moment(seen, before))

    def _draw_plane(self, record: Record) -> None:
        figure = plane({"": record})
        shown_if(self._plane, figure is not None)
        self._chart.show(figure)
        self._stakes.value = stakes_told(record) if figure else ""

    def _moved(self, step: Step) -> None:
        if self._record is not None and step.at:
            self._branching.stand(self._record, step.at)

    # What comes of it.

    def _keep(self, parent: Record, branch: Record) -> str:
        """Keep a branch, and the match it branches from if it is not there yet; where they are."""
        if parent is self._record:
            self._branches[f"branch {len(self._branches)}, {short(branch)}"] = branch
            if EYES[self._as.value] is None:
                self._comparison.put(self._branches)
        self._unkept.append((parent, branch))
        try:
            self._store()
        except (ValueError, OSError) as error:
            return f"The branch is not kept yet: {error}. It is tried again with the next one and when the page closes."
        return f"Kept as record {short(branch)} in {self._out}."

    def _store(self) -> None:
        """Write the branches that are not written yet."""
        with Store(self._out, wait=3).free() as store:
            kept = store.ids()
            while self._unkept:
                for one in self._unkept[0]:
                    if one.id not in kept:
                        store.append(one)
                        kept.add(one.id)
                del self._unkept[0]

    def _close(self) -> None:
        self._branching.leave()
        if self._unkept:
            self._store()

    def _export(self) -> None:
        source: Record | View | None = self._view
        if self._record is not None:
            seat = EYES[self._as.value]
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

    def _guarded(self, work: Callable[..., None]) -> Callable[..., None]:
        """Run a callback; what the reader can mend is said, anything else too, and its details are logged."""

        def run(*args: object) -> None:
            self._notice.value = warning("")
            try:
                work(*args)
            except (ValueError, OSError) as error:
                self._notice.value = warning(str(error)[:500])
            except Exception as error:
                log.exception("a replay failed")
                self._notice.value = warning(f"This could not be shown: {type(error).__name__}.")

        return run


EMPTY = "No records were given. Start it with a file or folder: negolab replay FILE --browser."


def _all_records(source: Sequence[Record]) -> tuple[Record, ...]:
    """The records; `ValueError` for what is none."""
    try:
        records = tuple(source)
    except TypeError:
        raise ValueError(f"Replay shows a record, a list of records, a view or a path, not {source!r:.80}") from None
    for one in records:
        if not isinstance(one, Record):
            raise ValueError(f"Replay shows a list of records; {one!r:.80} is none")
    return records


def _moment(steps: list[Step], before: Step | None) -> int:
    """Number of the step at which a seat saw what it saw in another list of steps; the first if there is none."""
    if before is None:
        return 1
    for number, step in enumerate(steps, 1):
        if any(before.seen.get(seat) == seen for seat, seen in step.seen.items()):
            return number
    return 1


def _facts(record: Record, seat: Seat | None) -> html.Markup:
    """Whose match it was; to a seat only what it knows."""
    header = record.header
    if seat is not None:
        return html.element("p", f"{header.game}, as seat {seat} saw it")
    game = record.game
    rows = [
        ("game", f"{header.game}, preset {header.preset or 'none'}"),
        *((f"player {s}", name) for s, name in header.players.items()),
        ("deal", "explicit" if header.seed is None else f"seed {header.seed}"),
        ("end", record.end or "unfinished"),
        *((f"paid to {s}", game.paid(pay)) for s, pay in record.payoffs.items()),
        ("record", header.id),
    ]
    return html.panel("The match", html.pairs(rows))
