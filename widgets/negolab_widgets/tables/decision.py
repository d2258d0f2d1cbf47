"""The card of what a seat can do: whose turn it is, the standing offer, what it pays, the seat's own offer, the
buttons.

Keys: A accepts, R refuses, O goes to the controls for the seat's own offer, and ? lists the keys; none fires during
typing. Enter on a number or choice of one's own offer sends it.
"""

from __future__ import annotations

from typing import NamedTuple

import anywidget
import ipywidgets as w
import traitlets as t

from negolab.game import Seat
from negolab.studies.texts import table_texts
from negolab_widgets.html import Markup, StableHTML, element, fill, join

ACCEPT, REFUSE, COMPOSE, SEND = "nl-accept", "nl-refuse", "nl-compose", "nl-send"
"""Classes of the buttons that the keys A and R press, of the controls that O goes to, and of the buttons that send from
them."""
UNSET = "nl-unset"
"""Class of a button while there is nothing chosen to send; it is drawn unobtrusively, and pressing it says what is
missing."""

MAX_LAST = 110
"""Maximum number of characters shown of the other's last action."""
LONG = 60
"""Number of characters above which an offer is set in smaller type."""


class Decision(NamedTuple):
    """A seat's situation in short.

    Attributes:
        says: The situation in a few words, such as "The seller offers".
        offer: The standing offer; "" if there is none.
        pays: What the offer pays the seat; "" if unknown.
        last: What the other did last; "" if nothing.
        by: Who made the standing offer; None if nobody did.
    """

    says: str = ""
    offer: object = ""
    pays: object = ""
    last: str = ""
    by: Seat | None = None

    def render(self, head: Markup | str = "") -> Markup:
        """Render the situation after a `head`, such as whose turn it is."""
        last = self.last if len(self.last) <= MAX_LAST else f"{self.last[:MAX_LAST]}\N{HORIZONTAL ELLIPSIS}"
        lines = [
            element("div", self.offer, cls=f"nl-offered {'nl-many' if len(str(self.offer)) > LONG else ''}")
            if self.offer
            else "",
            self.pays,
            element("div", last, cls="nl-last nl-soft", dir="auto") if last else "",
        ]
        situation = element("div", *lines, cls="nl-situation") if any(lines) else ""
        by = f"nl-by-{self.by.lower()}" if self.by else ""
        says = element("span", self.says) if self.says else ""
        return element("div", element("div", head, says, cls="nl-says"), situation, cls=f"nl-case {by}")


def person_name(role: str, seat: Seat) -> str:
    """Return what people call a seat; a role that is only its letter means nothing to them."""
    return table_texts.THE_OTHER if role.endswith(f" {seat}") else role


def pay_class(gain: float) -> str:
    """Return the class of an amount according to its gain over no deal: a gain, a loss, or neither."""
    return "nl-gain" if gain > 0 else "nl-loss" if gain < 0 else "nl-neutral"


def end_class(gain: float) -> str:
    """Return the class of the panel that tells a seat its result, according to its gain over no deal."""
    return "nl-deal" if gain > 0 else "nl-deal nl-worse" if gain < 0 else ""


def render_pay(amount: str, compared: str = "", *, gain: float, bar: tuple[float, float] | None = None) -> Markup:
    """Render what an offer pays the seat, followed by a comparison and a bar.

    Args:
        amount: What the offer pays.
        compared: The comparison.
        gain: The offer's gain over no deal, which determines the color.
        bar: The offer's share, and that of no deal, of the most that the seat could get.
    """
    pays = element("span", fill(table_texts.FOR_YOU, amount=element("b", amount)), cls=pay_class(gain))
    drawn: object = ""
    if bar is not None:
        share, without = (f"{100 * max(0.0, min(1.0, part)):.1f}%" for part in bar)
        fill_ = element("i", style=f"width: {share}", cls="nl-loss" if gain < 0 else "")
        drawn = element("div", fill_, element("u", style=f"left: {without}"), cls="nl-scale", aria_hidden="true")
    return element("div", pays, element("span", compared, cls="nl-soft") if compared else "", drawn, cls="nl-pays")


def name_accept(button: w.Button, text: str, *, gain: float) -> None:
    """Name the button that accepts; with a gain over no deal, it stands out, and with a loss, it says so."""
    button.description = table_texts.AT_A_LOSS.format(answer=text) if gain < 0 else text
    set_class(button, "nl-primary", gain > 0)
    set_class(button, "nl-danger", gain < 0)


def set_class(widget: w.DOMWidget, name: str, present: bool) -> None:
    """Add a class of the style sheet to a widget, or remove it."""
    (widget.add_class if present else widget.remove_class)(name)


NOT_ON_TURN, OVER = -1, -2
"""Values in place of a turn's number if there is no turn."""


class DecisionCard(w.VBox):  # type: ignore[misc]
    """The card of one table: the result or the current situation, the controls for the seat's own offer, and the
    buttons.

    On a phone, the controls are a sheet that the button for one's own offer opens.

    Args:
        result: How the match ended, once it has.
        composer: The table's controls for the seat's own offer.
        actions: The table's buttons; those of the class `SEND` belong to the controls.
        notice: The place where the table shows why an answer was refused.
    """

    def __init__(self, result: w.Widget, composer: w.Box, actions: w.Box, notice: w.Widget) -> None:
        self._text = StableHTML()
        self._go = w.Button().add_class("nl-go")
        self._back = w.Button(description=table_texts.BACK).add_class("nl-back")
        self._buttons = w.Box([actions, self._go, self._back]).add_class("nl-actions")
        super().__init__([result, self._text, composer, notice, self._buttons])
        self.add_class("nl-decision")

    def draw(self, head: Markup, decision: Decision, *, over: bool, compose: str) -> None:
        """Show whose turn it is and the decision.

        Args:
            head: Whose turn it is.
            decision: The seat's situation.
            over: The match is over.
            compose: Text of the button that leads to the controls for the seat's own offer; "": none.
        """
        self._text.value = decision.render(head)
        self._go.description = compose
        for widget, visible in ((self._go, compose), (self._buttons, not over), (self._text, not over)):
            widget.layout.display = None if visible else "none"
        set_class(self, "nl-over", over)


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
    const summary = document.createElement("summary");
    summary.textContent = "?";
    summary.setAttribute("aria-label", model.get("title"));
    details.append(summary);
    el.append(details);
    const card = () => el.closest(".nl-page")?.querySelector(".nl-decision");
    let sent = null;
    const rest = () => { card().tabIndex = -1; card().focus({ preventScroll: true }); };
    const first = (within, kinds) => [...within.querySelectorAll(kinds)].find(seen);
    const sheet = (open) => { if (card()) card().dataset.open = open ? "compose" : ""; };
    const compose = () => {
      if (!card()) return;
      sheet(true);
      const part = [...card().querySelectorAll(".nl-compose")].find((each) => each.offsetParent);
      const field = part && (first(part, "input, textarea, select") || first(part, "button"));
      if (!field) return;
      field.focus({ preventScroll: true });
      part.scrollIntoView({ block: "nearest" });
    };
    // The end of a match may take the place of the card.
    const press = (kind) => card() && first(card(), `.${kind}`)?.click();
    const shut = () => {
      details.open = false;
      sheet(false);
      for (const each of el.closest(".nl-page").querySelectorAll(".nl-head details")) each.open = false;
    };
    const keys = {
      a: () => press("nl-accept"),
      r: () => press("nl-refuse"),
      o: compose,
      "?": () => { details.open = !details.open; },
    };
    // Enter on a number or a choice sends what was composed, once however long it is held.
    const send = (event) => {
      if (!event.target.matches(FILLED) || !event.target.closest(".nl-compose")) return;
      let around = event.target, button;
      while (card()?.contains(around) && !(button = first(around, ".nl-send"))) around = around.parentElement;
      if (button) { event.preventDefault(); if (!event.repeat) { button.click(); sent = event.target; } }
    };
    const typed = () => { sent = null; };
    const pressed = (event) => {
      if (event.key === "Enter") return send(event);
      if (event.key === "Escape") {
        if (card()?.contains(event.target)) rest();
        return shut();
      }
      const act = keys[event.key.toLowerCase()];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (event.target.closest(TYPING) || event.target.isContentEditable || !el.offsetParent) return;
      event.preventDefault();
      act();
    };
    const clicked = ({ target }) => {
      if (!card()?.contains(target)) return;
      if (target.closest(".nl-go")) compose();
      if (target.closest(".nl-back")) sheet(false);
    };
    // Whoever writes something keeps the focus, but not in a field that was sent and is as it was.
    const arrive = (frames) => {
      const place = card(), focused = document.activeElement;
      if (focused && focused !== sent && focused.closest(TYPING) && seen(focused)) return;
      if (!place && frames > 0) { requestAnimationFrame(() => arrive(frames - 1)); return; }
      if (place) rest();
    };
    let page = null;
    const attach = (frames) => {
      page = card() && outermost(el);
      if (page) {
        page.addEventListener("keydown", pressed);
        page.addEventListener("input", typed);
        // Above the page, whose shield lets no press through.
        document.addEventListener("click", clicked, true);
      } else if (frames > 0) requestAnimationFrame(() => attach(frames - 1));
    };
    attach(300);
    const turned = () => {
      const turn = model.get("turn");
      sheet(false);
      if (turn >= 0) arrive(120);
      else if (turn === OVER) shut();
    };
    model.on("change:turn", turned);
    if (model.get("turn") >= 0) arrive(300);
    return () => {
      model.off("change:turn", turned);
      page?.removeEventListener("keydown", pressed);
      page?.removeEventListener("input", typed);
      if (page) document.removeEventListener("click", clicked, true);
    };
  },
};
"""


class Shortcuts(anywidget.AnyWidget):
    """The "?" of a table, its keys, and its focus, which moves to the card when the number of the seat's `turn`
    changes."""

    _esm = f"const OVER = {OVER};{_ESM}"
    turn = t.Int(NOT_ON_TURN).tag(sync=True)
    title = t.Unicode().tag(sync=True)

    @t.default("title")  # type: ignore[untyped-decorator]
    def _title(self) -> str:
        return table_texts["keys"]["title"]


def render_keys() -> Markup:
    """Render the list of keys."""
    rows = zip(("A", "R", "O", "?"), ("accept", "refuse", "offer", "show"), strict=True)
    words = table_texts["keys"]
    listed = (element("div", element("dt", key), element("dd", words[name])) for key, name in rows)
    return join([element("h2", words["title"]), element("dl", *listed, cls="nl-key-list")])
