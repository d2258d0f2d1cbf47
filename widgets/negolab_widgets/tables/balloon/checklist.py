"""A table of items to tick, sorted by any of its columns: one widget for all rows, so that 300 stay usable.

The browser draws what it is given; order and totals are made in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import anywidget
import traitlets as t

from negolab.games.balloon.words import WORDS

_ESM = """
function make(tag, parent, text, cls) {
  const el = document.createElement(tag);
  if (text !== undefined) el.textContent = text;
  if (cls) el.className = cls;
  parent.append(el);
  return el;
}
export default {
  render({ model, el }) {
    el.classList.add("nl-checklist");
    const box = make("div", el, undefined, "nl-wide");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", model.get("caption"));
    const table = make("table", box, undefined, "nl-facts");
    make("caption", table, model.get("caption"), "nl-hidden");
    const head = make("tr", make("thead", table));
    const body = make("tbody", table);
    const heads = model.get("head").map((text, at) => {
      const th = make("th", head);
      th.scope = "col";
      const button = make("button", th, text);
      button.type = "button";
      button.title = model.get("sort_by").replace("{column}", text.toLowerCase());
      button.addEventListener("click", () => {
        const again = model.get("sort") === at;
        model.set("falling", again ? !model.get("falling") : at > 0);
        model.set("sort", at);
        model.save_changes();
      });
      return th;
    });
    const rows = model.get("cells").map((cells, at) => {
      const tr = document.createElement("tr");
      const label = make("label", make("th", tr));
      tr.firstChild.scope = "row";
      const input = make("input", label);
      input.type = "checkbox";
      make("bdi", label, cells[0]);
      cells.slice(1).forEach((text) => make("td", tr, text));
      const mark = make("td", tr, "", "nl-mark");
      const change = () => {
        const chosen = new Set(model.get("chosen"));
        input.checked ? chosen.add(at) : chosen.delete(at);
        model.set("chosen", [...chosen].sort((a, b) => a - b));
        model.save_changes();
      };
      input.addEventListener("change", change);
      tr.addEventListener("click", (event) => {
        if (event.target.closest("label") || input.disabled) return;
        input.checked = !input.checked;
        change();
      });
      return { tr, input, mark };
    });
    const tick = () => {
      const chosen = new Set(model.get("chosen"));
      rows.forEach(({ tr, input }, at) => {
        input.checked = chosen.has(at);
        input.disabled = model.get("disabled");
        tr.classList.toggle("nl-chosen", chosen.has(at));
      });
    };
    const mark = () => model.get("marks").forEach((text, at) => {
      if (rows[at].mark.textContent !== text) rows[at].mark.textContent = text;
    });
    const order = () => {
      const focus = document.activeElement;
      body.replaceChildren(...model.get("order").map((at) => rows[at].tr));
      if (body.contains(focus)) focus.focus();
      heads.forEach((th, at) => {
        const by = model.get("sort") === at ? (model.get("falling") ? "descending" : "ascending") : "none";
        th.setAttribute("aria-sort", by);
      });
    };
    const sorted = () => { order(); box.scrollTop = 0; };
    const heard = { chosen: tick, disabled: tick, marks: mark, order, sort: sorted, falling: sorted };
    for (const [name, draw] of Object.entries(heard)) model.on(`change:${name}`, draw);
    tick(); mark(); order();
    return () => {
      for (const [name, draw] of Object.entries(heard)) model.off(`change:${name}`, draw);
    };
  },
};
"""


class Checklist(anywidget.AnyWidget):
    """Rows to tick.

    `cells` are the rows' texts, a name first; `keys` are what columns sort by; `marks` is a last column. `chosen`
    holds the numbers of ticked rows, `order` those that are shown, from top to bottom. A click on a heading sorts by
    its column, another one reverses the order.
    """

    _esm = _ESM
    caption = t.Unicode("").tag(sync=True)
    sort_by = t.Unicode().tag(sync=True)
    head = t.List(t.Unicode()).tag(sync=True)
    cells = t.List(t.List(t.Unicode())).tag(sync=True)
    marks = t.List(t.Unicode()).tag(sync=True)
    chosen = t.List(t.Int()).tag(sync=True)
    order = t.List(t.Int()).tag(sync=True)
    sort = t.Int(-1).tag(sync=True)
    falling = t.Bool(False).tag(sync=True)
    disabled = t.Bool(False).tag(sync=True)

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
        """The ticked names."""
        return frozenset(self._names[at] for at in self.chosen)

    def tick(self, names: Collection[str]) -> None:
        """Tick exactly these."""
        self.chosen = [at for at, name in enumerate(self._names) if name in names]

    def find(self, words: str, *, ticked: bool = False) -> None:
        """Show only rows whose name holds all of these words, of the `ticked` ones if so wanted."""
        wanted = words.lower().split()
        chosen = self.names if ticked else frozenset(self._names)
        self._found = [
            at for at, name in enumerate(self._names) if name in chosen and all(word in name.lower() for word in wanted)
        ]
        self._sort()

    def mark(self, marks: Sequence[str]) -> None:
        """Write the last column."""
        if list(marks) != self.marks:
            self.marks = list(marks)
            self._sort()

    def _sort(self) -> None:
        self.order = sorted(self._found, key=self._key(), reverse=self.falling)

    def _key(self) -> Callable[[int], Any]:
        """Return what the chosen column sorts by, the order of the items if there is none."""
        if 0 <= self.sort < len(self._keys):
            return self._keys[self.sort].__getitem__
        marks = list(self.marks)
        return marks.__getitem__ if self.sort == len(self._keys) else lambda at: at

    @t.validate("chosen")  # type: ignore[untyped-decorator]
    def _known(self, proposal: t.Bunch) -> list[int]:
        return sorted({at for at in proposal.value if 0 <= at < len(self._names)})
