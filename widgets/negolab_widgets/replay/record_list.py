"""The list of records: a table that is filtered and sorted here, of which the page gets some rows at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

from negolab import catalog
from negolab.events import Replied
from negolab.formats import ListedRecord
from negolab.formatting import DASH, display_unit, format_end, format_money, format_number
from negolab.match import Match
from negolab.record import Record
from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import Markup, StableHTML, element
from negolab_widgets.layout import box, framed, row
from negolab_widgets.tables.controls import Collapsible

PAGE = 100
"""Rows that are on the page at once."""

ALL = "all"

COLUMNS = {
    "id": "record",
    "game": "game",
    "preset": "preset",
    "a": "player A",
    "b": "player B",
    "end": "end",
    "payoff_a": "paid to A",
    "payoff_b": "paid to B",
    "replies": "replies",
    "seed": "seed",
    "created": "played",
}
"""Fields of `ListedRecord` with the heads of their columns."""


class RecordList:
    """Records in a table, and buttons that go through them in its order.

    Args:
        choose: Called with a record when another one is chosen.
        guard: Runs the callbacks of its controls.
        hidden: Called when the table was hidden with the row that had the focus.
    """

    def __init__(
        self,
        choose: Callable[[ListedRecord], None],
        guard: FaultGuard,
        hidden: Callable[[], None],
    ) -> None:
        self._choose, self._on_hidden = choose, hidden
        self._records: Sequence[ListedRecord] = ()
        self._texts: list[str] | None = None
        self._order: list[int] = []
        self._sort: tuple[str, bool] | None = None
        self._first, self._current = 0, -1
        self._find = w.Text(description="Find", placeholder="id, player, preset; several words")
        self._game, self._end = w.Dropdown(description="Game"), w.Dropdown(description="End")
        self._table = StableHTML()
        self._table.on_msg(lambda _, sent, __: guard(self._on_sent, sent))
        self._previous = guard.button("Previous", self._walk, -1)
        self._next = guard.button("Next", self._walk, 1)
        self._place = w.HTML()
        filters = self._find, self._game, self._end
        guard.on_change(self._arrange, *filters)
        self.widget = framed(box(*filters, cls="nl-form"), self._table)
        self._fold = Collapsible(guard.button, "the list", self.widget, ("Show {part}", "Hide {part}"))
        self.controls = row(self._previous, self._place, self._next, self._fold.button)

    def set_records(self, records: Sequence[ListedRecord]) -> None:
        """Show other records and reset the filters."""
        self._records, self._texts, self._sort, self._current = records, None, None, -1
        self._find.value = ""
        self._game.options = [ALL, *sorted({record.game for record in records})]
        self._end.options = [ALL, *sorted({format_end(record.end) for record in records})]
        self._game.index = self._end.index = 0
        self._arrange()

    def choose(self, index: int) -> None:
        """Choose the record of this index in the order of the files."""
        self._current = index
        self._show()
        self._choose(self._records[index])

    def _on_sent(self, sent: Any) -> None:
        """Do what was pressed in the table; a page can send anything."""
        match sent:
            case {"open": int(index)} if 0 <= index < len(self._records):
                self.choose(index)
                self._fold.show(is_open=False)
                self._on_hidden()
            case {"sort": str(name)} if name in COLUMNS:
                self._sort_by(name)
            case {"page": int(by)}:
                self._first = max(0, min(self._first + by * PAGE, len(self._order) - 1))
                self._show()

    def _sort_by(self, name: str) -> None:
        """Sort upwards, downwards, and then in the order of the files again."""
        orders = [(name, False), (name, True), None]
        self._sort = orders[(orders.index(self._sort) + 1) % 3 if self._sort in orders[:2] else 0]
        self._arrange()

    def _walk(self, by: int) -> None:
        at = self._order.index(self._current) if self._current in self._order else -1
        self.choose(self._order[max(0, min(at + by, len(self._order) - 1))])

    def _arrange(self) -> None:
        """Filter, sort, and show the first page."""
        found = self._matching()
        if self._sort is not None:
            name, downwards = self._sort
            known = {i: value for i in found if (value := getattr(self._records[i], name)) is not None}
            found = sorted(known, key=known.__getitem__, reverse=downwards) + [i for i in found if i not in known]
        self._order, self._first = found, 0
        self._show()

    def _matching(self) -> list[int]:
        words, game, end = self._find.value.lower().split(), self._game.value, self._end.value
        if words and self._texts is None:
            self._texts = [_search_text(record) for record in self._records]
        texts, any_game, any_end = self._texts or (), game in (ALL, None), end in (ALL, None)
        return [
            i
            for i, record in enumerate(self._records)
            if (any_game or record.game == game)
            and (any_end or format_end(record.end) == end)
            and all(word in texts[i] for word in words)
        ]

    def _show(self) -> None:
        self._table.value = self._render()
        at = self._order.index(self._current) if self._current in self._order else None
        place = "" if at is None else f"{at + 1:,} of {len(self._order):,}"
        self._place.value = element("span", place, cls="nl-soft nl-number")
        self._previous.disabled = not at
        self._next.disabled = not self._order or at == len(self._order) - 1

    def _render(self) -> Markup:
        """Render the rows in view, with the number of all."""
        rows = self._order[self._first : self._first + PAGE]
        last = self._first + len(rows)
        shown = f", rows {self._first + 1:,} to {last:,}" if len(self._order) > PAGE else ""
        count = element("span", f"{len(self._order):,} of {len(self._records):,} records{shown}", role="status")
        turn = [
            _button(words, {"page": by}, disabled=not there)
            for words, by, there in (("Previous rows", -1, self._first), ("Next rows", 1, last < len(self._order)))
        ]
        head = element("tr", *(self._render_head(name, words) for name, words in COLUMNS.items()))
        body = (self._render_row(i) for i in rows)
        table = element(
            "table",
            element("caption", "Records", cls="nl-hidden"),
            element("thead", head),
            element("tbody", *body),
            cls="nl-facts nl-records",
        )
        scrolled = element("div", table, cls="nl-wide", tabindex="0", role="group", aria_label="Records")
        pages = turn if len(self._order) > PAGE else []
        return element("div", scrolled, element("div", count, *pages, cls="nl-row"))

    def _render_head(self, name: str, words: str) -> Markup:
        order = {} if self._sort is None or self._sort[0] != name else {"aria_sort": _direction(self._sort[1])}
        return element("th", _button(words, {"sort": name}), scope="col", **order)

    def _render_row(self, index: int) -> Markup:
        record = self._records[index]
        current = {"aria_current": "true"} if index == self._current else {}
        name = element(
            "th",
            _button(short_id(record.id), {"open": index}, title=f"Open record {record.id}"),
            copy_button(record.id),
            scope="row",
        )
        cells = (
            record.game,
            record.preset or DASH,
            record.a,
            record.b,
            format_end(record.end),
            _format_payoff(record, record.payoff_a),
            _format_payoff(record, record.payoff_b),
            str(record.replies),
            DASH if record.seed is None else str(record.seed),
            record.created[:16].replace("T", " "),
        )
        return element(
            "tr", name, *(element("td", cell) for cell in cells), data_send=json.dumps({"open": index}), **current
        )


def _button(words: str, message: dict[str, Any], *, disabled: bool = False, **more: str) -> Markup:
    off = {"disabled": ""} if disabled else {}
    return element("button", words, type="button", data_send=json.dumps(message), **off, **more)


def _direction(downwards: bool) -> str:
    return "descending" if downwards else "ascending"


def count_replies(of: Record | Match) -> int:
    """Count the replies, refused ones included."""
    return sum(isinstance(event, Replied) for event in of.events)


def short_id(name: str) -> str:
    """Shorten an id to its ends: those of a batch differ in their last digits only."""
    return name if len(name) <= 13 else f"{name[:4]}\N{HORIZONTAL ELLIPSIS}{name[-8:]}"


def copy_button(name: str) -> Markup:
    """Render a button that copies an id."""
    return element("button", "copy", type="button", cls="nl-copy-id", data_copy=name, aria_label=f"Copy the ID {name}")


def _format_payoff(record: ListedRecord, payoff: float | None) -> str:
    """Write a payoff without its unit, unless it is money; the game of an unreadable record is not known."""
    if payoff is None:
        return DASH
    try:
        unit = catalog.imported_class(record.game).unit
    except ValueError:
        return format_number(payoff)
    return format_money(payoff) if display_unit(unit)[0] == "dollars" else format_number(payoff)


def _search_text(record: ListedRecord) -> str:
    notes = record.notes.decode("utf-8", "replace")
    return " ".join((record.id, record.game, record.preset or "", record.a, record.b, notes)).lower()
