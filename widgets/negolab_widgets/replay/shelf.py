"""The list of records: filter it, sort it, choose one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

from negolab.events import Replied
from negolab.game import SEATS, Seat
from negolab.games.bargaining.money import money
from negolab.record import Record
from negolab_widgets.tables.controls import column

MOST = 200
"""Records that are listed at once; a filter finds the others."""

ALL = "all"


class Shelf:
    """`choose(record)` is called when another record is chosen. `widget` is the list with its filters."""

    def __init__(
        self,
        records: Sequence[Record],
        choose: Callable[[Record], None],
        guard: Callable[..., Callable[..., None]] = lambda work: work,
    ) -> None:
        self._choose = choose
        self._find = w.Text(
            description="Find", placeholder="player, preset, id; several words", continuous_update=False
        )
        self._game, self._end = w.Dropdown(description="Game"), w.Dropdown(description="End")
        self._sort = w.Dropdown(description="Sort by", options=list(SORTS))
        self._list = w.Select(description="Records", rows=8)
        self._count = w.HTML()
        for control in (self._find, self._game, self._end, self._sort):
            control.observe(lambda _: guard(self._narrow)(), "value")
        self._list.observe(lambda _: guard(self._chosen)(), "value")
        form = w.Box([self._find, self._game, self._end, self._sort])
        form.add_class("nl-form")
        self.widget = column(form, self._list, self._count)
        self.put(records)

    def put(self, records: Sequence[Record]) -> None:
        """Show other records; the filters start anew."""
        self._records = list(records)
        self._texts = [_searched(record) for record in records]
        self._game.options = [ALL, *sorted({record.header.game for record in records})]
        self._end.options = [ALL, *sorted({record.end or UNFINISHED for record in records})]
        self._game.index = self._end.index = 0
        self._narrow()

    def add(self, record: Record) -> None:
        """Put one more record into the list."""
        self.put([*self._records, record])

    def _narrow(self) -> None:
        found = self._found()
        listed = found[:MOST]
        old = self._list.value
        with self._list.hold_sync():
            self._list.options = [(label(self._records[i]), i) for i in listed]
            self._list.value = old if old in listed else None
        shown = f", the first {MOST} are listed" if len(found) > MOST else ""
        nothing = "; the match below stays as it was" if self._records and not found else ""
        self._count.value = f"{len(found)} of {len(self._records)} records{shown}{nothing}"

    def _found(self) -> list[int]:
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

    def _chosen(self) -> None:
        if self._list.value is not None:
            self._choose(self._records[self._list.value])


UNFINISHED = "unfinished"


def label(record: Record) -> str:
    """A record in one line."""
    header = record.header
    players = " / ".join(header.players.get(seat, "?") for seat in SEATS)
    paid = " / ".join(_number(record, seat) for seat in SEATS)
    parts = (
        header.game,
        players,
        record.end or UNFINISHED,
        f"paid {paid}",
        f"{replies(record)} replies",
        short(record),
    )
    return " · ".join(parts)


def replies(record: Record) -> int:
    """How many replies were made, refused ones included."""
    return sum(isinstance(event, Replied) for event in record.events)


def short(record: Record) -> str:
    """An id that can be told from others: those of a batch differ in their last digits only."""
    return record.id if len(record.id) <= 13 else f"{record.id[:4]}\N{HORIZONTAL ELLIPSIS}{record.id[-8:]}"


def _number(record: Record, seat: Seat) -> str:
    payoff = record.payoffs[seat]
    if payoff is None:
        return "\N{EN DASH}"
    return money(int(payoff)) if record.header.game == "bargaining" else f"{payoff:g}"


def _searched(record: Record) -> str:
    header = record.header
    notes = (str(note) for note in header.notes.values() if isinstance(note, str | int))
    return " ".join((header.id, header.game, header.preset or "", *header.players.values(), *notes)).lower()


def _payoff(seat: str) -> Callable[[Record], float]:
    return lambda record: -(record.payoffs[seat] if record.payoffs[seat] is not None else float("-inf"))  # type: ignore[index, operator]


SORTS: dict[str, Callable[[Record], Any] | None] = {
    "order of the file": None,
    "newest first": lambda record: tuple(-ord(c) for c in record.header.created),
    "payoff of A, largest first": _payoff("A"),
    "payoff of B, largest first": _payoff("B"),
    "replies, most first": lambda record: -replies(record),
    "end": lambda record: record.end or UNFINISHED,
}
"""Orders of the list; None keeps that of the file."""
