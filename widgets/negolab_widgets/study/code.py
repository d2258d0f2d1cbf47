"""A completion code: large, selectable, with a button that copies it."""

from __future__ import annotations

import anywidget
import traitlets as t

_ESM = """
export default {
  render({ model, el }) {
    const code = document.createElement("output");
    const button = document.createElement("button");
    const said = document.createElement("span");
    code.className = "nl-code";
    code.textContent = model.get("code");
    button.type = "button";
    button.className = "jupyter-button nl-copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the code");
    said.setAttribute("role", "status");
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
      said.textContent = (await copy()) ? "Copied." : "Please select the code and copy it yourself.";
    });
    el.classList.add("nl-code-line");
    el.append(code, button, said);
  },
};
"""


class Code(anywidget.AnyWidget):
    """Shows `code`, which cannot be changed from the page."""

    _esm = _ESM
    code = t.Unicode("").tag(sync=True)
