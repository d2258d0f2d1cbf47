"""HTML that is drawn again and again: only what is new changes on the page, nothing flickers or scrolls back."""

from __future__ import annotations

import anywidget
import traitlets as t

_ESM = """
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName;
const become = (old, fresh) => {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  fill(old, fresh);
};
const fill = (old, fresh) => {
  const had = [...old.childNodes], wanted = [...fresh.childNodes];
  wanted.forEach((node, at) => {
    if (!had[at]) old.append(node);
    else if (alike(had[at], node)) become(had[at], node);
    else had[at].replaceWith(node);
  });
  had.slice(wanted.length).forEach((node) => node.remove());
};
export default {
  render({ model, el }) {
    const draw = () => {
      const fresh = document.createElement("template");
      fresh.innerHTML = model.get("value");
      fill(el, fresh.content);
    };
    model.on("change:value", draw);
    draw();
    return () => model.off("change:value", draw);
  },
};
"""


class Steady(anywidget.AnyWidget):
    """Shows `value`, which must be `Markup`: what people wrote is escaped in it."""

    _esm = _ESM
    value = t.Unicode("").tag(sync=True)
