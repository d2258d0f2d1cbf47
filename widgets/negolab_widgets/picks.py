"""Parts of a page that can be pressed: buttons in its HTML, and marks in its figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget

from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import Markup, element

_ESM = """
export default {
  render({ model, el }) {
    let page = null, frames = 120;
    const own = (part) => part && part.closest(".nl-page") === page;
    const pick = (token) => { if (typeof token === "string") model.send({ picked: token }); };
    const onMark = ({ points }) => pick(points.map((one) => one.customdata).find((one) => typeof one === "string"));
    // Plotly drops its listeners when it draws anew, so they are put in place before each press.
    const listen = ({ target }) => {
      const plot = target.closest?.(".js-plotly-plot");
      if (!own(plot) || !plot.on) return;
      plot.removeListener("plotly_click", onMark);
      plot.on("plotly_click", onMark);
    };
    const press = ({ target }) => {
      const button = target.closest?.("button[data-pick]");
      if (own(button)) pick(button.dataset.pick);
    };
    const find = () => {
      page = el.closest(".nl-page");
      if (!page) {
        if (frames-- > 0) requestAnimationFrame(find);
        return;
      }
      page.addEventListener("pointerdown", listen, true);
      page.addEventListener("click", press);
    };
    // What is to have the focus may be drawn a moment later.
    const focus = (selector, frames) => {
      const part = [...(page?.querySelectorAll(selector) ?? [])].find((one) => one.offsetParent);
      if (part) {
        part.tabIndex = -1;
        part.focus({ preventScroll: true });
        part.scrollIntoView({ block: "start" });
      } else if (frames > 0) requestAnimationFrame(() => focus(selector, frames - 1));
    };
    const heard = (said) => { if (said.focus) requestAnimationFrame(() => focus(said.focus, 120)); };
    model.on("msg:custom", heard);
    find();
    return () => {
      model.off("msg:custom", heard);
      page?.removeEventListener("pointerdown", listen, true);
      page?.removeEventListener("click", press);
    };
  },
};
"""


class Picks(anywidget.AnyWidget):
    """Call `picked` with the token of the button (`pick_button`) or mark (an item of its trace's `customdata`) that was
    pressed on the page containing this widget; a page can send any text."""

    _esm = _ESM

    def __init__(self, picked: Callable[[str], None], guard: FaultGuard) -> None:
        super().__init__(layout={"display": "none"})
        self._picked, self._guard = picked, guard
        self.on_msg(lambda _, said, __: self._hear(said))

    def focus(self, selector: str) -> None:
        """Focus the first part of the page that matches, and scroll to it."""
        self.send({"focus": selector})

    def _hear(self, said: Any) -> None:
        if isinstance(said, dict) and isinstance(token := said.get("picked"), str):
            self._guard(self._picked, token)


def pick_button(token: str, *children: object, name: str = "") -> Markup:
    """Build a button that sends a token; `name` is for screen readers, in case its text does not say enough."""
    label = {"aria_label": name} if name else {}
    return element("button", *children, cls="nl-pick", type="button", data_pick=token, **label)
