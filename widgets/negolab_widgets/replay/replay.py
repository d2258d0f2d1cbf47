"""Replay: look through records, step through one, see it as a seat saw it, branch it, and export its transcript."""

from __future__ import annotations

import atexit
import base64
import os
from collections.abc import Sequence
from pathlib import Path

import ipywidgets as w
from typing_extensions import override

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.formats import ListedRecord, Listing, list_record, list_source, transcript
from negolab.formatting import format_end, format_model
from negolab.game import SEATS, Seat
from negolab.record import Record, SeatRecord
from negolab.store import Store
from negolab.verification import replay_differences
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard
from negolab_widgets.fields import Choice
from negolab_widgets.layout import column, row, set_visible, warning
from negolab_widgets.page import OUT, SOURCE, Page, import_modules
from negolab_widgets.replay.branching import Branching
from negolab_widgets.replay.cards import render_record
from negolab_widgets.replay.cockpit import Cockpit
from negolab_widgets.replay.comparison import Comparison
from negolab_widgets.replay.plane import Course, Surroundings, course, surroundings
from negolab_widgets.replay.record_list import RecordList, copy_button, short_id
from negolab_widgets.replay.steps import Step, format_pay, format_stake, record_steps, subject, view_steps
from negolab_widgets.tables import table
from negolab_widgets.tables.controls import Collapsible
from negolab_widgets.tables.seats import SeatTables, role_name

EVERYTHING = "the experimenter"
"""The viewpoint from which all is seen; the others are the seats."""
SUFFIXES = {"latex": ".tex", "html": ".html", "markdown": ".md", "clembench": "-clembench.tex"}


class Replay(Page):
    """Browse records and replay matches.

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
        self._head, self._troubles = html.StableHTML(), w.HTML()
        self._record_list = RecordList(self._open_listed, self._guard, lambda: self._shield.focus())
        self._viewpoint = Choice(description="Seen by", options=[(EVERYTHING, EVERYTHING, "")], value=EVERYTHING)
        self._guard.on_change(self._draw, self._viewpoint)
        self._controls = row(self._viewpoint, self._record_list.controls, cls="nl-replay-controls")
        self._cockpit = Cockpit(self._on_moved, self._guard)
        self._tables, self._stakes = SeatTables(), w.HTML()
        self._branching, self._comparison = Branching(self._save_branch), Comparison()
        self._style = w.Dropdown(description="Transcript as", options=list(transcript.STYLES))
        self._link = w.HTML()
        export = row(self._style, self._guard.button("Write the transcript", self._export), self._link)
        self._views = Collapsible(self._guard.button, "what the seats see", self._tables.widget)
        self._what_if = Collapsible(self._guard.button, "what if", self._branching.widget)
        self._match = column(
            self._cockpit,
            self._views.widget,
            self._stakes,
            self._comparison.widget,
            self._what_if.widget,
            export,
        )
        super().__init__(
            [
                self._head,
                self._troubles,
                self._guard.notice,
                self._controls,
                self._record_list.widget,
                self._match,
            ],
            self._guard.show,
        )
        self.add_class("nl-replay")
        for part in (self._match, self._controls, self._record_list.controls):
            set_visible(part, False)
        self._guard(self._start, source)

    @override
    def kept(self) -> html.Markup:
        return super().kept() if self._record is None else render_record(self._record)

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
        found = list_source(source) if isinstance(source, Path | str) else Listing(_list_records(source))
        records = found.records
        if found.troubles:
            self._troubles.value = warning("Some records could not be read in full. " + " ".join(found.troubles[:5]))
        self._record_list.set_records(records)
        for part in (self._record_list.controls, self._controls):
            set_visible(part, len(records) > 1)
        if records:
            latest = max(range(len(records)), key=lambda at: (records[at].end is not None, records[at].created))
            self._record_list.choose(latest)

    def _open_listed(self, listed: ListedRecord) -> None:
        """Show a record of the list; of one that cannot be shown nothing else is left on the page."""
        self._leave()
        self.show(listed.open())

    # One match.

    def show(self, record: Record, *, step: int = 1) -> None:
        """Show a record at a step.

        Args:
            record: The match.
            step: Number of an event from 1: the step that `record.events[step - 1]` belongs to is shown.
        """
        self._leave()
        told = record_steps(record)  # a record that cannot be replayed stops here, and nothing of it is shown
        self._faults = replay_differences(record)
        self._record = record
        self._branches = {f"original {short_id(record.id)}": record}
        self._comparison.set_branches(self._branches)
        self._draw(told, next((n for n, one in enumerate(told, 1) if one.at >= step), len(told)))

    def _leave(self) -> None:
        """Take the match off the page."""
        self._branching.leave()
        self._record = self._view = None
        set_visible(self._match, False)
        self._head.value = html.element("h1", "Replay")

    def _open_view(self, view: SeatRecord) -> None:
        self._record, self._view = None, view
        set_visible(self._what_if.widget, False)
        set_visible(self._match, True)
        self._draw_for_seat(view, None)

    @property
    def _viewed(self) -> Seat | None:
        """The seat whose view is shown; None: everything is."""
        return next((seat for seat in SEATS if seat == self._viewpoint.value), None)

    def _draw(self, told: list[Step] | None = None, first: int = 1) -> None:
        """Show the match as the experimenter or as one seat: a new one at step number `first`, else at the moment that
        is shown already."""
        record = self._record
        if record is None:
            return
        seats = ((seat, f"{role_name(record.game, seat)} alone", "") for seat in SEATS)
        self._viewpoint.options = [(EVERYTHING, EVERYTHING, ""), *seats]
        seat = self._viewed
        self._style.options = transcript.styles(record.header.game)
        self._link.value = ""
        for part in (self._match, self._controls):
            set_visible(part, True)
        set_visible(self._what_if.widget, seat is None)
        set_visible(self._comparison.widget, seat is None and len(self._branches) > 1)
        before = None if told else self._cockpit.current
        if seat is None:
            self._draw_for_experimenter(record, told or record_steps(record), before, first)
        else:
            self._draw_for_seat(record.seen_by(seat), before)

    def _draw_for_experimenter(self, record: Record, steps: list[Step], before: Step | None, first: int) -> None:
        fault = f"This record differs from a replay of its replies: {self._faults[0]}" if self._faults else ""
        self._head.value = html.join([render_record_head(record), warning(fault) if fault else ""])
        drawn = course(record, steps), surroundings(record)
        has_plane = bool(drawn[0].points)
        self._stakes.value = _render_stakes(*drawn, record.game) if has_plane else ""
        self._tables.set_game(record.game)
        at = first if before is None else _matching_step(steps, before)
        self._cockpit.show(steps, record.game, drawn if has_plane else None, at=at)

    def _draw_for_seat(self, view: SeatRecord, before: Step | None) -> None:
        self._head.value = render_view_head(view)
        self._stakes.value = ""
        self._comparison.set_branches({})
        self._views.show()
        steps = view_steps(view)
        self._tables.set_game(view.told)
        self._cockpit.show(steps, view.told, at=1 if before is None else _matching_step(steps, before))

    def _on_moved(self, step: Step) -> None:
        self._tables.show(step.seen)
        if self._record is not None and step.at:
            self._branching.set_start(self._record, step.at)

    # What comes of it.

    def _save_branch(self, parent: Record, branch: Record) -> str:
        """Keep a branch, and its parent if it is not there yet; return where they are."""
        if parent is self._record:
            self._branches[f"branch {len(self._branches)}, {short_id(branch.id)}"] = branch
            if self._viewed is None:
                self._comparison.set_branches(self._branches)
        self._unsaved.append((parent, branch))
        try:
            self._write_unsaved()
        except (ValueError, OSError) as error:
            return (
                f"The branch is not saved yet: {error}. Saving is retried with the next one and when the page closes."
            )
        return f"Saved as record {short_id(branch.id)} in {self._out}."

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
            seat = self._viewed
            source = self._record if seat is None else self._record.seen_by(seat)
        if source is None:
            return
        style = self._style.value
        text = transcript.export(source, style).encode()
        name = f"{source.id[:12] if isinstance(source, Record) else f'seat-{source.seat}'}{SUFFIXES[style]}"
        data = f"data:application/octet-stream;base64,{base64.b64encode(text).decode()}"
        words = f"Save {name} ({len(text) / 1000:.0f} kB)"
        self._link.value = html.element("a", words, href=data, download=name)


NO_RECORDS = "No records were given. Start it with a file or folder: negolab replay FILE --browser."


def _list_records(source: Sequence[Record]) -> tuple[ListedRecord, ...]:
    """List records; raise ValueError if an item is none."""
    try:
        records = tuple(source)
    except TypeError:
        raise ValueError(f"Replay shows a record, a list of records, a view or a path, not {source!r:.80}") from None
    for one in records:
        if not isinstance(one, Record):
            raise ValueError(f"Replay shows records, not {one!r:.80}")
    return tuple(map(list_record, records))


def _matching_step(steps: list[Step], before: Step) -> int:
    """Return the number of the first step at which a seat saw what it saw in `before`, else 1."""
    alike = (any(before.seen.get(seat) == seen for seat, seen in step.seen.items()) for step in steps)
    return next((number for number, found in enumerate(alike, 1) if found), 1)


def _render_head(*facts: object) -> html.Markup:
    """Render the title with facts on its line."""
    words = (html.element("span", fact) for fact in facts)
    return html.element("div", html.element("h1", "Replay"), *words, cls="nl-replay-head")


def render_view_head(view: SeatRecord) -> html.Markup:
    """Render whose view of which game it is."""
    role = table(view.told).role(view.told, view.seat)
    return _render_head(f"{catalog.title(view.game)}, as {role} saw it")


def render_record_head(record: Record) -> html.Markup:
    """Render whose match it was, how it ended and what it paid."""
    header, game = record.header, record.game
    preset = f", {catalog.preset_title(catalog.module_of(game), header.preset)}" if header.preset else ""
    title = catalog.title(header.game).partition(": ")[0]
    deal = "explicit deal" if header.seed is None else f"seed {header.seed}"
    paid = (
        html.element(
            "span",
            f"{subject(game, seat)} ({header.players.get(seat, '?')}): ",
            html.element("b", format_pay(pay, game)),
        )
        for seat, pay in record.payoffs.items()
    )
    named = f"{deal}, record {short_id(header.id)} "
    name = html.element("span", named, copy_button(header.id), title=header.id, cls="nl-id nl-soft")
    end = html.element("b", format_end(record.end))
    models = header.notes.get("models", {}).items()
    settings = (html.element("span", f"{subject(game, seat)}: {format_model(note)}") for seat, note in models)
    return _render_head(f"{title}{preset}", *paid, *settings, end, name)


def _render_stakes(each: Course, around: Surroundings, game: AnyGame) -> html.Markup:
    """Render what the plane shows as a table: each point with its step and its values for both."""
    rows = [
        (
            n,
            f"step {p.step}",
            *([around.names[p.seat]] if p.seat else []),
            format_stake(p.a, game),
            format_stake(p.b, game),
        )
        for n, p in enumerate(each.points, 1)
    ]
    thing, by = ("round", []) if around.rounds else ("proposal", ["by"])
    head = (thing, "at", *by, *map(around.axis_title, SEATS))
    name = "What was paid after each round" if around.rounds else "What each proposal would pay"
    return html.details(name, html.table(head, rows, name, cls="nl-long"))
