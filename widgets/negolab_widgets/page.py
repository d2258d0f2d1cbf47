"""The first children of every page (style sheet, keyboard shield), and the environment variables by which a page finds
its data."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import anywidget
import ipywidgets as w

from negolab import catalog
from negolab_widgets import html

_ESM = """
export default {
  render({ model, el }) {
    let frames = 120;
    const shield = () => {
      const page = el.closest(".nl-page");
      // The mark counts on the focused element itself, not on what it stands in.
      if (!page) {
        if (frames-- > 0) requestAnimationFrame(shield);
        return;
      }
      const within = page.parentElement.closest(".nl-page");
      // Of pages in each other the outermost holds presses: held twice they would lose their order.
      if (!within) {
        page.addEventListener("input", () => { typed = true; });
        page.addEventListener("click", hold, true);
      }
      page.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
      // A click on plain text stays on the page, and who pressed a button that is gone now goes on from the title.
      page.tabIndex = -1;
      if (within) take(page, 120);
    };
    // What was pressed is taken away a moment later; then its focus is nowhere.
    const take = (page, frames) => {
      const found = [...page.querySelectorAll("h1")].find((title) => title.offsetParent);
      if (document.activeElement === document.body && found) {
        found.tabIndex = -1;
        found.focus();
      } else if (frames > 0) requestAnimationFrame(() => take(page, frames - 1));
    };
    // ipywidgets keeps what was typed last to itself while the kernel is busy with what was typed before, but sends a
    // press at once: words would be cut off. So a press that follows typing waits until the kernel has answered what
    // was sent before it; by then the last of it is on its way. Presses behind one that waits keep their order.
    const held = [];
    let typed = false, passing = false, asked = 0;
    const pass = (after) => {
      while (held.length && held[0].after <= after) {
        const { button } = held.shift();
        passing = true;
        button.click();
        passing = false;
      }
    };
    const hold = (event) => {
      const button = event.target.closest("button");
      if (!button || passing || !(typed || held.length)) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      typed = false;
      const after = ++asked;
      held.push({ button, after });
      model.send({ after });
      setTimeout(() => pass(after), 10000);
    };
    model.on("msg:custom", (said) => {
      if (!said.after) take(el.closest(".nl-page"), 120);
      else pass(said.after);
    });
    shield();
  },
};
"""


class Shield(anywidget.AnyWidget):
    """Keep JupyterLab's shortcuts from the page, and a press of a button behind what was typed before it.

    Without it an arrow key on a slider would unfold a heading, and a letter typed on a button could delete the cell.
    """

    _esm = _ESM

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.on_msg(self._answer)

    def _answer(self, _: object, said: Any, __: object) -> None:
        """Confirm that all which was sent before this message has been handled."""
        after = said.get("after") if isinstance(said, dict) else None
        if type(after) is int:
            self.send({"after": after})

    def focus(self) -> None:
        """Put the keyboard's focus on the page's title, after what had it was taken away."""
        self.send({"focus": "title"})


def page_head() -> tuple[w.Widget, Shield]:
    """Make the first children of a page."""
    return w.HTML(html.theme()), Shield(layout={"display": "none"})


_ARRIVAL_ESM = "export default { render({ model }) { model.send({ here: true }); } };"


class Arrival(anywidget.AnyWidget):
    """Call `came` whenever a browser draws the page: a kernel that was started ahead has its page ready long before."""

    _esm = _ARRIVAL_ESM

    def __init__(self, came: Callable[[], None]) -> None:
        super().__init__(layout={"display": "none"})
        self.on_msg(lambda *_: came())


OUT = "NEGOLAB_OUT"
"""The folder that keeps what is played."""

SOURCE = "NEGOLAB_RECORDS"
"""The file or folder that a replay opens."""

MODULES = "NEGOLAB_MODULES"
"""Modules, files and folders of the researcher's own games and players, with `os.pathsep` between."""


def import_modules() -> None:
    """Import the researcher's own modules that the environment names; `ValueError` if one cannot be imported."""
    for module in filter(None, os.environ.get(MODULES, "").split(os.pathsep)):
        catalog.game_module(module)


SCENARIOS = "NEGOLAB_SCENARIOS"
"""Scenario files that the lobby offers, with `os.pathsep` between."""


def scenario_files() -> list[str]:
    """Return the scenario files that the environment names."""
    return list(filter(None, os.environ.get(SCENARIOS, "").split(os.pathsep)))


SEATS = "NEGOLAB_SEATS"
"""The host's socket for participants' pages."""

ADMIN = "NEGOLAB_ADMIN"
"""The host's socket for the researcher's pages."""

SWEEP = "NEGOLAB_SWEEP"
"""The folder of the sweep that the page of results shows."""
