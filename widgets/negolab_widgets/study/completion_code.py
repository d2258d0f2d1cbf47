"""The completion code that a participant takes back to those who invited them."""

from __future__ import annotations

from collections.abc import Mapping

import anywidget
import traitlets as t

from negolab.studies.texts import texts

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
    """A completion code, large and selectable, with a button that copies it; it cannot be changed from the page."""

    _esm = _ESM
    code = t.Unicode("").tag(sync=True)
    words = t.Dict().tag(sync=True)

    @t.default("words")  # type: ignore[untyped-decorator]
    def _words(self) -> Mapping[str, str]:
        return texts["copy_code"]
