"""The bar that stays in view at every table: whose turn it is, the offer that stands, what it pays, and what to do.

Keys: A accepts, R refuses, O goes to the controls of an own offer, ? lists the keys; none fires while one types. Enter
on a number or a choice of an own offer sends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import anywidget
import ipywidgets as w
import traitlets as t

from negolab.studies.texts import table_texts
from negolab_widgets.html import Markup, StableHTML, element, fill, join

ACCEPT, REFUSE, COMPOSE = "nl-accept", "nl-refuse", "nl-compose"
"""Classes of the buttons that the keys A and R press, and of the controls to which O goes."""
UNSET = "nl-unset"
"""Class of a button while nothing is chosen that it would send: drawn quietly, its press says what is missing."""


class Decision(NamedTuple):
    """The situation of a seat in short.

    Attributes:
        offer: The offer that stands, in one line; "" if none does.
        pays: What it pays the seat; "" if that is not known.
        last: What the other did last; "" if nothing.
    """

    offer: object = ""
    pays: object = ""
    last: str = ""


def pay_class(gain: float) -> str:
    """Return the class of an amount by what it gains over no deal: a gain, a loss, or neither."""
    return "nl-gain" if gain > 0 else "nl-loss" if gain < 0 else "nl-neutral"


def end_class(gain: float) -> str:
    """Return the class of the panel that tells a seat its result, by what it gained over no deal."""
    return "nl-deal" if gain > 0 else "nl-deal nl-worse" if gain < 0 else ""


def render_pay(amount: str, compared: str = "", *, gain: float) -> Markup:
    """Render what an offer pays the seat, in the colour of its gain over no deal, and a comparison behind it."""
    pays = element("span", fill(table_texts.FOR_YOU, amount=element("b", amount)), cls=pay_class(gain))
    return join([pays, element("span", f" {compared}", cls="nl-soft") if compared else ""])


def name_accept(button: w.Button, text: str, *, gain: float) -> None:
    """Name the button that accepts: a gain over no deal recommends it, and what accepts a loss says so."""
    button.description = table_texts.AT_A_LOSS.format(answer=text) if gain < 0 else text
    set_class(button, "nl-primary", gain > 0)
    set_class(button, "nl-danger", gain < 0)


def set_class(widget: w.DOMWidget, name: str, present: bool) -> None:
    """Give a widget a class of the style sheet, or take it away."""
    (widget.add_class if present else widget.remove_class)(name)


MAX_LAST = 110
"""Characters of the other's last act that are shown."""


class DecisionBar(w.VBox):  # type: ignore[misc]
    """The bar of one table.

    Args:
        actions: The table's buttons that answer what stands.
        notice: Where the table shows why an answer was refused.
    """

    def __init__(self, actions: w.Box, notice: w.Widget) -> None:
        self._text, self._keys = StableHTML(), Shortcuts()
        self._actions = actions
        self._go = w.Button(description=table_texts.MAKE_AN_OFFER)
        self._go.add_class("nl-go")
        self._buttons = w.Box([actions, self._go, self._keys])
        self._buttons.add_class("nl-actions")
        super().__init__([self._text, self._buttons, notice])
        self.add_class("nl-decision")

    def draw(self, head: Markup, decision: Decision, *, turn: int | None, over: bool, compose: str) -> None:
        """Show whose turn it is and the decision.

        Args:
            head: Whose turn it is, and how far the match is.
            decision: What stands before the seat.
            turn: Number of the seat's turn; None: it is not on turn.
            over: The match is over.
            compose: Words of the way to the controls of an own offer; "": there is none.
        """
        last = decision.last if len(decision.last) <= MAX_LAST else f"{decision.last[:MAX_LAST]}\N{HORIZONTAL ELLIPSIS}"
        lines = [
            element("div", decision.offer, cls="nl-offered") if decision.offer else "",
            element("div", decision.pays, cls="nl-pays") if decision.pays else "",
            element("div", last, cls="nl-last nl-soft", dir="auto") if last else "",
        ]
        self._text.value = join([head, element("div", *lines, cls="nl-situation") if any(lines) else ""])
        self._go.description = compose
        answers = any(child.layout.display != "none" for child in self._actions.children)
        for widget, visible in ((self._go, compose), (self._actions, answers), (self._buttons, not over)):
            widget.layout.display = None if visible else "none"
        set_class(self, "nl-over", over)
        if turn is not None:
            self._keys.turn = turn


_ESM = """
const TYPING = "textarea, select, input:not([type=radio]):not([type=checkbox]):not([type=range])";
const FILLED = "input:is([type=number], [type=range], [type=radio], [type=checkbox], [inputmode=decimal])";
const seen = (node) => node && node.offsetParent && !node.disabled;
const outermost = (node) => {
  let page = node.closest(".nl-page");
  for (let outer; page && (outer = page.parentElement.closest(".nl-page")); page = outer);
  return page;
};
export default {
  render({ model, el }) {
    const details = document.createElement("details");
    details.className = "nl-keys";
    details.innerHTML = `<summary>?</summary><dl><dt>A</dt><dd></dd><dt>R</dt><dd></dd><dt>O</dt><dd></dd>
      <dt>?</dt><dd></dd></dl>`;
    const { title, accept, refuse, offer, show } = model.get("texts");
    details.firstChild.setAttribute("aria-label", title);
    [...details.querySelectorAll("dd")].forEach((dd, at) => { dd.textContent = [accept, refuse, offer, show][at]; });
    el.append(details);
    const bar = () => el.closest(".nl-decision");
    const compose = () => {
      const part = [...bar().closest(".nl-page").querySelectorAll(".nl-compose")].find((each) => each.offsetParent);
      const first = (kinds) => part && [...part.querySelectorAll(kinds)].find(seen);
      const field = first("input, textarea, select") || first("button");
      if (!field) return;
      field.focus({ preventScroll: true });
      part.scrollIntoView({ block: "nearest" });
    };
    const press = (kind) => {
      const button = [...bar().querySelectorAll(`.${kind}`)].find(seen);
      if (button) button.click();
    };
    const keys = {
      a: () => press("nl-accept"),
      r: () => press("nl-refuse"),
      o: compose,
      "?": () => { details.open = !details.open; },
    };
    // Enter on a number or a choice sends what was composed, once however long it is held.
    const send = (event) => {
      const part = event.target.matches(FILLED) && event.target.closest(".nl-compose");
      const button = part && [...part.querySelectorAll(".nl-primary")].find(seen);
      if (button) { event.preventDefault(); if (!event.repeat) button.click(); }
    };
    const pressed = (event) => {
      if (event.key === "Enter") return send(event);
      const act = keys[event.key.toLowerCase()];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (event.target.closest(TYPING) || event.target.isContentEditable || !el.offsetParent) return;
      event.preventDefault();
      act();
    };
    const clicked = ({ target }) => { if (target.closest(".nl-go") && bar()?.contains(target)) compose(); };
    // Whoever writes something keeps the focus.
    const arrive = (frames) => {
      const place = bar();
      const focused = document.activeElement;
      if (focused && focused.closest(TYPING) && seen(focused)) return;
      if (!place && frames > 0) { requestAnimationFrame(() => arrive(frames - 1)); return; }
      if (!place) return;
      place.tabIndex = -1;
      place.focus({ preventScroll: true });
    };
    let page = null;
    const attach = (frames) => {
      page = bar() && outermost(el);
      if (page) {
        page.addEventListener("keydown", pressed);
        // Above the page, whose shield lets no press through.
        document.addEventListener("click", clicked, true);
      } else if (frames > 0) requestAnimationFrame(() => attach(frames - 1));
    };
    attach(300);
    const turned = () => arrive(120);
    model.on("change:turn", turned);
    if (model.get("turn") >= 0) arrive(300);
    return () => {
      model.off("change:turn", turned);
      if (page) { page.removeEventListener("keydown", pressed); document.removeEventListener("click", clicked, true); }
    };
  },
};
"""


class Shortcuts(anywidget.AnyWidget):
    """The keys of a bar, and its focus: the bar takes it when `turn`, the number of the seat's turn, changes."""

    _esm = _ESM
    turn = t.Int(-1).tag(sync=True)
    texts = t.Dict().tag(sync=True)

    @t.default("texts")  # type: ignore[untyped-decorator]
    def _texts(self) -> Mapping[str, str]:
        return table_texts["keys"]
