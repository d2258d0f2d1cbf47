"""The content of the last page: the completion code, the link back to the panel, and how the earnings came about."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import anywidget
import ipywidgets as w
import traitlets as t

from negolab.formatting import DASH
from negolab.studies.payment import Earnings
from negolab.studies.texts import format_units, texts
from negolab_widgets import html
from negolab_widgets.html import Markup


def render_earnings(earned: Earnings) -> Markup:
    """Render the total and its parts; "" if an ending pays nothing."""
    if earned.ending != "complete" and not earned.total:
        return Markup("")
    words = texts["earned"]
    parts = [html.element("h2", words["title"]), html.element("div", earned.text(earned.total), cls="nl-big")]
    if rows := list(_rows(earned)):
        total = (words["total"], "", html.element("span", earned.text(earned.total), cls="nl-strong"))
        parts.append(html.table((words["part"], words["result"], words["amount"]), [*rows, total], words["title"]))
    if earned.unit and any(match.amount for match in earned.matches):
        points, money = earned.exchange()
        parts.append(html.element("p", words["exchange"].format(points=points, money=money)))
    if any(not match.counts for match in earned.matches):
        parts.append(html.element("p", words["drawn"]))
    return html.element("div", *parts, cls="nl-panel nl-earned")


def _rows(earned: Earnings) -> Iterator[tuple[object, object, object]]:
    """Yield the name, result in the game and amount of each part; nothing if a fixed amount is all there is."""
    words = texts["earned"]
    if earned.ending != "complete":
        return
    if earned.fee:
        yield words["fee"], "", earned.text(earned.fee)
    for number, match in enumerate(earned.matches, 1):
        name = words["match"].format(number=number) if len(earned.matches) > 1 else words["only match"]
        brought = earned.text(match.amount) if match.counts else words["not drawn"]
        paid = DASH if match.payoff is None else format_units(match.payoff, earned.unit)
        yield name, match.text or paid, brought
    limit = "floor" if earned.limit > 0 else "cap"
    for name, amount in (("extra", earned.extra), ("rounding", earned.rounding), (limit, earned.limit)):
        if amount:
            yield words[name], "", earned.text(amount)


def completion_button(link: str) -> w.HTML:
    """Make the link back to the panel, which says where it leads and tells that site nothing about this one."""
    words = texts.GO_BACK.format(host=urlsplit(link).hostname)
    return w.HTML(
        html.element("a", words, cls="jupyter-button nl-primary", href=link, target="_blank", rel="noopener noreferrer")
    )


_ESM = """
export default {
  render({ model, el }) {
    const words = model.get("words");
    const code = document.createElement("output");
    const button = document.createElement("button");
    const notice = document.createElement("span");
    code.className = "nl-code";
    code.textContent = model.get("code");
    button.type = "button";
    button.className = "jupyter-button nl-copy";
    button.textContent = words.button;
    button.setAttribute("aria-label", words.label);
    notice.setAttribute("role", "status");
    const select = () => {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    };
    // The clipboard of the browser is there on https only; the older way works everywhere.
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(model.get("code"));
        return true;
      } catch {
        select();
        return document.execCommand("copy");
      }
    };
    button.addEventListener("click", async () => {
      notice.textContent = (await copy()) ? words.copied : words.failed;
    });
    el.classList.add("nl-code-line");
    el.append(code, button, notice);
  },
};
"""


class CompletionCode(anywidget.AnyWidget):
    """A completion code, large and selectable, with a button to copy it; it cannot be changed from the page."""

    _esm = _ESM
    code = t.Unicode("").tag(sync=True)
    words = t.Dict().tag(sync=True)
