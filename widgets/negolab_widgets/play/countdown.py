"""A clock that counts down in the browser; only the host decides what happens at its end."""

from __future__ import annotations

import time
from typing import Any

import anywidget
import traitlets as t

_ESM = """
const MARKS = [60, 30, 10], SHORT = 20;
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
export default {
  render({ model, el }) {
    const shown = document.createElement("div");
    const announced = document.createElement("div");
    shown.setAttribute("role", "timer");
    announced.setAttribute("aria-live", "polite");
    announced.className = "nl-hidden";
    el.classList.add("nl-countdown");
    el.append(shown, announced);
    let ends = 0, before = 0;
    const now = () => Math.max(0, Math.ceil((ends - Date.now()) / 1000));
    const words = (left) => {
      if (left === 0 && model.get("over")) return model.get("over");
      const total = Math.max(left, Math.round(model.get("total")));
      const values = { left: clock(left), gone: clock(total - left), total: clock(total) };
      return model.get("words").replace(/{(left|gone|total)}/g, (_, name) => values[name]);
    };
    const draw = () => {
      const left = now(), text = words(left);
      if (shown.textContent !== text) shown.textContent = text;
      shown.classList.toggle("nl-short", model.get("urgent") && left < SHORT);
      if (model.get("urgent") && MARKS.some((mark) => before > mark && left <= mark)) announced.textContent = text;
      before = left;
    };
    const start = () => {
      ends = Date.now() + model.get("seconds") * 1000;
      before = now();
      draw();
    };
    model.on("change:serial", start);
    start();
    model.send({ ask: "left" });
    const timer = setInterval(draw, 250);
    return () => {
      clearInterval(timer);
      model.off("change:serial", start);
    };
  },
};
"""


class Countdown(anywidget.AnyWidget):
    """Count `seconds` down.

    `words` may contain {left}, {gone} and {total}; `over` replaces them at 0; an `urgent` clock warns below 20 seconds
    and is read aloud at 60, 30 and 10.
    """

    _esm = _ESM
    seconds = t.CFloat(0.0).tag(sync=True)
    total = t.CFloat(0.0).tag(sync=True)
    words = t.Unicode("{left}").tag(sync=True)
    over = t.Unicode("").tag(sync=True)
    urgent = t.Bool(False).tag(sync=True)
    serial = t.CInt(0).tag(sync=True)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._ends = time.monotonic()
        self.on_msg(lambda *_: self._resume())

    def start(self, seconds: float, *, words: str | None = None, total: float = 0.0) -> None:
        """Count down from `seconds`, starting now."""
        self._ends = time.monotonic() + seconds
        with self.hold_sync():
            if words is not None:
                self.words = words
            self.total = total
            self._resume()

    def _resume(self) -> None:
        """Send the time left, because a page that has just drawn the clock missed the time until then."""
        with self.hold_sync():
            self.seconds = max(0.0, self._ends - time.monotonic())
            self.serial += 1
