"""What every page of ours begins with: the style sheet, and a shield for its keys."""

from __future__ import annotations

from typing import Any

import anywidget
import ipywidgets as w

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
      page.addEventListener("input", () => { typed = true; });
      page.addEventListener("click", hold, true);
      page.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
      // A click on plain text stays on the page, and who pressed a button that is gone now goes on from the title.
      page.tabIndex = -1;
      if (page.parentElement.closest(".nl-page")) take(page, 120);
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
    // was sent before it; by then the last of it is on its way.
    let typed = false, passing = false, asked = 0, waiting = null;
    const pass = () => {
      const button = waiting;
      waiting = null;
      if (!button) return;
      passing = true;
      button.click();
      passing = false;
    };
    const hold = (event) => {
      const button = event.target.closest("button");
      if (!button || passing || !(typed || waiting)) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      if (waiting) return;
      typed = false;
      waiting = button;
      const mine = ++asked;
      model.send({ after: mine });
      setTimeout(() => { if (mine === asked) pass(); }, 10000);
    };
    model.on("msg:custom", (said) => {
      if (!said.after) take(el.closest(".nl-page"), 120);
      else if (said.after === asked) pass();
    });
    shield();
  },
};
"""


class Shield(anywidget.AnyWidget):
    """Keeps JupyterLab's shortcuts from the page it stands on: there, an arrow key on a slider would unfold a heading
    instead of moving it, and a letter typed on a button could delete the cell. And sees that a press comes after what
    was typed before it."""

    _esm = _ESM

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.on_msg(self._answer)

    def _answer(self, _: object, said: Any, __: object) -> None:
        """All that was sent before this has been heard."""
        after = said.get("after") if isinstance(said, dict) else None
        if type(after) is int:
            self.send({"after": after})

    def focus(self) -> None:
        """Put the keyboard's focus on the page's title, after what had it was taken away."""
        self.send({"focus": "title"})


def head() -> tuple[w.Widget, Shield]:
    """The first children of a page."""
    return w.HTML(html.theme()), Shield(layout={"display": "none"})
