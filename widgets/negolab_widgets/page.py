"""The first children of every page (style sheet, keyboard shield), and the environment variables by which a page finds
its data."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import anywidget
import ipywidgets as w
import traitlets as t

from negolab import catalog
from negolab.studies.texts import table_texts
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
        page.addEventListener("input", tooLong, true);
        page.addEventListener("change", tooLong, true);
        page.addEventListener("input", () => { typed = true; });
        page.addEventListener("click", hold, true);
        page.addEventListener("click", ask);
      }
      page.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
      // A click on plain text stays on the page, and who pressed a button that is gone now goes on from the title.
      page.tabIndex = -1;
      if (within) take(page);
    };
    const soon = (frames, done) => {
      if (!done() && frames > 0) requestAnimationFrame(() => soon(frames - 1, done));
    };
    // A text that the server would close the connection for is not sent, and its field says so.
    const tooLong = (event) => {
      const field = event.target, most = 30000;
      if (typeof field.value !== "string" || !field.setCustomValidity) return;
      const length = field.value.length;
      field.setCustomValidity(length > most
        ? model.get("too_long").replace(/{(length|most)}/g, (_, name) => ({ length, most })[name].toLocaleString("en"))
        : "");
      if (length <= most) return;
      event.stopImmediatePropagation();
      field.reportValidity();
    };
    // What was pressed is taken away a moment later; then its focus is nowhere. The next press settles its own focus.
    const take = (page) => {
      let isOver = false;
      const end = () => { isOver = true; };
      ["pointerdown", "keydown"].forEach((kind) => document.addEventListener(kind, end, { once: true, capture: true }));
      soon(120, () => {
        const found = [...page.querySelectorAll("h1")].find((title) => title.offsetParent);
        if (isOver) return true;
        if (document.activeElement !== document.body || !found) return false;
        found.tabIndex = -1;
        found.focus({ preventScroll: page.closest(".nl-from-top") !== null });
        return true;
      });
    };
    const reveal = (page, selector) => soon(600, () => {
      const part = page.querySelector(selector);
      if (!part || !part.offsetParent) return false;
      part.scrollIntoView({ block: "nearest" });
      return true;
    });
    // A question that was opened comes into view, with the focus on the answer that changes nothing.
    const ask = ({ target }) => {
      const asking = target.closest(".nl-leaving"), question = asking && asking.querySelector(".nl-panel");
      if (!question || !target.closest("button")) return;
      const wasOpen = question.offsetParent !== null;
      soon(600, () => {
        const isOpen = question.offsetParent !== null;
        if (isOpen === wasOpen) return false;
        if (isOpen) {
          [...question.querySelectorAll("button")].at(-1).focus({ preventScroll: true });
          if (!asking.closest(".nl-decision")) question.scrollIntoView({ block: "center" });
        } else if (question.contains(document.activeElement) || document.activeElement === document.body) {
          asking.querySelector("button").focus({ preventScroll: true });
        }
        return true;
      });
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
      const unsent = button && [...event.currentTarget.querySelectorAll(":is(textarea, input)")].find(
        (field) => field.offsetParent && field.validity.customError);
      if (unsent) {
        event.stopImmediatePropagation();
        event.preventDefault();
        unsent.reportValidity();
        return;
      }
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
      const page = el.closest(".nl-page");
      if (said.after) pass(said.after);
      else if (said.reveal) reveal(page, said.reveal);
      else {
        page.scrollIntoView({ block: "start" });
        take(page);
      }
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
    too_long = t.Unicode().tag(sync=True)

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.set_texts()
        self.on_msg(self._answer)

    def set_texts(self) -> None:
        """Take the texts anew, which a warm kernel learns late."""
        self.too_long = table_texts.FIELD_TOO_LONG

    def _answer(self, _: object, said: Any, __: object) -> None:
        """Confirm that all which was sent before this message has been handled."""
        after = said.get("after") if isinstance(said, dict) else None
        if type(after) is int:
            self.send({"after": after})

    def focus(self) -> None:
        """Scroll to the page's top and put the keyboard's focus on its title, after what had it was taken away."""
        self.send({"focus": "title"})

    def reveal(self, selector: str) -> None:
        """Scroll to the first part of the page that matches, as soon as it is drawn."""
        self.send({"reveal": selector})


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
