"""The list of records: filter it, sort it, choose one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

from negolab.events import Replied
from negolab.game import SEATS, Seat
from negolab.record import Record
from negolab_widgets.faults import FaultGuard
from negolab_widgets.tables.controls import column, row, set_visible

MAX_LISTED = 200
"""Records that are listed at once."""

ALL = "all"


class RecordList:
    """A list of records with filters.

    Args:
        records: The records at first.
        choose: Called with a record when another one is chosen.
        guard: Runs the callbacks of its controls.
    """

    def __init__(
        self,
        records: Sequence[Record],
        choose: Callable[[Record], None],
        guard: FaultGuard | None = None,
    ) -> None:
        self._choose = choose
        guard = guard or FaultGuard("the list of records")
        self._find = w.Text(
            description="Find", placeholder="player, preset, id; several words", continuous_update=False
        )
        self._game, self._end = w.Dropdown(description="Game"), w.Dropdown(description="End")
        self._sort = w.Dropdown(description="Sort by", options=list(SORTS))
        self._list = w.Select(description="Records", rows=8)
        self._count, self._first = w.HTML(), 0
        self._previous = guard.button(f"Previous {MAX_LISTED}", lambda: self._turn_page(-MAX_LISTED))
        self._next = guard.button(f"Next {MAX_LISTED}", lambda: self._turn_page(MAX_LISTED))
        self._pages = row(self._previous, self._next)
        for control in (self._find, self._game, self._end, self._sort):
            control.observe(lambda _: guard(self._show_first), "value")
        self._list.observe(lambda _: guard(self._on_chosen), "value")
        form = w.Box([self._find, self._game, self._end, self._sort])
        form.add_class("nl-form")
        self.widget = column(form, self._list, self._count, self._pages)
        self.set_records(records)

    def set_records(self, records: Sequence[Record]) -> None:
        """Show other records and reset the filters."""
        self._records = list(records)
        self._texts = [_search_text(record) for record in records]
        self._game.options = [ALL, *sorted({record.header.game for record in records})]
        self._end.options = [ALL, *sorted({record.end or UNFINISHED for record in records})]
        self._game.index = self._end.index = 0
        self._show_first()

    def add(self, record: Record) -> None:
        """Add a record to the list."""
        self.set_records([*self._records, record])

    def _show_first(self) -> None:
        """List the records from the first that matches the filters."""
        self._first = 0
        self._show_page()

    def _turn_page(self, by: int) -> None:
        self._first = max(0, self._first + by)
        self._show_page()

    def _show_page(self) -> None:
        found = self._matching()
        listed = found[self._first : self._first + MAX_LISTED]
        old = self._list.value
        with self._list.hold_sync():
            self._list.options = [(record_label(self._records[i]), i) for i in listed]
            self._list.value = old if old in listed else None
        last = self._first + len(listed)
        shown = f"; listed: {self._first + 1:,} to {last:,}" if len(found) > MAX_LISTED else ""
        set_visible(self._pages, len(found) > MAX_LISTED)
        self._previous.disabled, self._next.disabled = self._first == 0, last >= len(found)
        nothing = "; the match below stays as it was" if self._records and not found else ""
        self._count.value = f"{len(found):,} of {len(self._records):,} records{shown}{nothing}"

    def _matching(self) -> list[int]:
        words = self._find.value.lower().split()
        game, end = self._game.value, self._end.value
        found = [
            i
            for i, record in enumerate(self._records)
            if game in (ALL, None, record.header.game)
            and end in (ALL, None, record.end or UNFINISHED)
            and all(word in self._texts[i] for word in words)
        ]
        key = SORTS[self._sort.value]
        return sorted(found, key=lambda i: key(self._records[i])) if key else found

    def _on_chosen(self) -> None:
        if self._list.value is not None:
            self._choose(self._records[self._list.value])


UNFINISHED = "unfinished"


def record_label(record: Record) -> str:
    """Describe a record in one line."""
    header = record.header
    players = " / ".join(header.players.get(seat, "?") for seat in SEATS)
    paid = " / ".join(_format_payoff(record, seat) for seat in SEATS)
    parts = (
        header.game,
        players,
        record.end or UNFINISHED,
        f"paid {paid}",
        f"{count_replies(record)} replies",
        short_id(record),
    )
    return " · ".join(parts)


def count_replies(record: Record) -> int:
    """Count the replies, refused ones included."""
    return sum(isinstance(event, Replied) for event in record.events)


def short_id(record: Record) -> str:
    """Shorten an id to its ends: those of a batch differ in their last digits only."""
    return record.id if len(record.id) <= 13 else f"{record.id[:4]}\N{HORIZONTAL ELLIPSIS}{record.id[-8:]}"


def _format_payoff(record: Record, seat: Seat) -> str:
    payoff = record.payoffs[seat]
    if payoff is None:
        return "\N{EN DASH}"
    try:
        game = record.game
    except ValueError:  # an unreadable record is listed too
        return f"{payoff:g}"
    return game.format_payoff(payoff).removesuffix(f" {game.unit}")


def _search_text(record: Record) -> str:
    header = record.header
    notes = (str(note) for note in header.notes.values() if isinstance(note, str | int))
    return " ".join((header.id, header.game, header.preset or "", *header.players.values(), *notes)).lower()


def _by_payoff(seat: str) -> Callable[[Record], float]:
    return lambda record: -(record.payoffs[seat] if record.payoffs[seat] is not None else float("-inf"))  # type: ignore[index, operator]


SORTS: dict[str, Callable[[Record], Any] | None] = {
    "order of the file": None,
    "newest first": lambda record: tuple(-ord(c) for c in record.header.created),
    "payoff of A, largest first": _by_payoff("A"),
    "payoff of B, largest first": _by_payoff("B"),
    "replies, most first": lambda record: -count_replies(record),
    "end": lambda record: record.end or UNFINISHED,
}
"""Sort keys by name; None keeps the order of the file."""
