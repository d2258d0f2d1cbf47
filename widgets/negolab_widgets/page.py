"""What every page of ours begins with: the style sheet, and a shield for its keys."""

from __future__ import annotations

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
    model.on("msg:custom", () => take(el.closest(".nl-page"), 120));
    shield();
  },
};
"""


class Shield(anywidget.AnyWidget):
    """Keeps JupyterLab's shortcuts from the page it stands on: there, an arrow key on a slider would unfold a heading
    instead of moving it, and a letter typed on a button could delete the cell."""

    _esm = _ESM

    def focus(self) -> None:
        """Put the keyboard's focus on the page's title, after what had it was taken away."""
        self.send({"focus": "title"})


def head() -> tuple[w.Widget, Shield]:
    """The first children of a page."""
    return w.HTML(html.theme()), Shield(layout={"display": "none"})
