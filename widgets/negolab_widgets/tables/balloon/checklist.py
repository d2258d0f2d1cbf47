"""A table of items to check, sortable by any column; one widget serves all rows, so that 300 of them remain usable.

The browser draws what it is given; order and totals are computed in Python.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import traitlets as t

from negolab.games.balloon.words import WORDS
from negolab_widgets.fields import Field, script


class Checklist(Field):
    """Rows to check.

    `cells` are the rows' texts, starting with a name; `keys` are what columns sort by; `marks` is a final column.
    `value` holds the numbers of checked rows, and `order` those shown, from top to bottom. Clicking a heading sorts by
    its column; clicking it again reverses the order.
    """

    _esm = script(__package__, "checklist.js")
    value = t.List(t.Int())
    caption = t.Unicode("").tag(sync=True)
    sort_by = t.Unicode().tag(sync=True)
    head = t.List(t.Unicode()).tag(sync=True)
    cells = t.List(t.List(t.Unicode())).tag(sync=True)
    marks = t.List(t.Unicode()).tag(sync=True)
    order = t.List(t.Int()).tag(sync=True)
    sort = t.Int(-1).tag(sync=True)
    falling = t.Bool(False).tag(sync=True)

    def __init__(
        self, caption: str, head: Sequence[str], cells: Sequence[Sequence[str]], keys: Sequence[Sequence[float]]
    ) -> None:
        self._names = [row[0] for row in cells]
        self._keys = keys
        self._found = list(range(len(cells)))
        super().__init__(
            caption=caption,
            sort_by=WORDS.SORT,
            head=list(head),
            cells=[list(row) for row in cells],
            marks=[""] * len(cells),
            order=self._found,
        )
        self.observe(lambda _: self._sort(), ["sort", "falling"])

    @property
    def names(self) -> frozenset[str]:
        """The checked names."""
        return frozenset(self._names[at] for at in self.value)

    def tick(self, names: Collection[str]) -> None:
        """Check exactly these."""
        self.value = [at for at, name in enumerate(self._names) if name in names]

    def find(self, words: str, *, ticked: bool = False) -> None:
        """Show only rows whose name contains all of these words and, if `ticked`, only checked ones."""
        wanted = words.lower().split()
        chosen = self.names if ticked else frozenset(self._names)
        self._found = [
            at for at, name in enumerate(self._names) if name in chosen and all(word in name.lower() for word in wanted)
        ]
        self._sort()

    def mark(self, marks: Sequence[str]) -> None:
        """Fill in the last column."""
        if list(marks) != self.marks:
            self.marks = list(marks)
            self._sort()

    def _sort(self) -> None:
        """Sort by the chosen column; without one, rows are in the order of the items."""
        columns: dict[int, Sequence[Any]] = dict(enumerate((*self._keys, list(self.marks))))
        column = columns.get(self.sort, range(len(self._names)))
        self.order = sorted(self._found, key=column.__getitem__, reverse=self.falling)

    @t.validate("value")  # type: ignore[untyped-decorator]
    def _known(self, proposal: t.Bunch) -> list[int]:
        return sorted({at for at in proposal.value if 0 <= at < len(self._names)})
