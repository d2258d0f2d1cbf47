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
      if (page.parentElement.closest(".nl-page") && document.activeElement === document.body) title(page);
    };
    const title = (page) => {
      const found = page.querySelector("h1");
      if (!found) return;
      found.tabIndex = -1;
      found.focus();
    };
    model.on("msg:custom", () => requestAnimationFrame(() => title(el.closest(".nl-page"))));
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
