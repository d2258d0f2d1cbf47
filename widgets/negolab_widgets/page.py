"""What every page of ours begins with: the style sheet, and a shield for its keys."""

from __future__ import annotations

import anywidget
import ipywidgets as w

from negolab_widgets import html

_ESM = """
export default {
  render({ el }) {
    let frames = 120;
    const shield = () => {
      const page = el.closest(".nl-page");
      // The mark counts on the focused element itself, not on what it stands in.
      if (page) page.addEventListener("focusin", ({ target }) => { target.dataset.lmSuppressShortcuts = "true"; });
      else if (frames-- > 0) requestAnimationFrame(shield);
    };
    shield();
  },
};
"""


class Shield(anywidget.AnyWidget):
    """Keeps JupyterLab's shortcuts from the page it stands on: there, an arrow key on a slider would unfold a heading
    instead of moving it, and a letter typed on a button could delete the cell."""

    _esm = _ESM


def head() -> list[w.Widget]:
    """The first children of a page."""
    return [w.HTML(html.theme()), Shield(layout={"display": "none"})]
