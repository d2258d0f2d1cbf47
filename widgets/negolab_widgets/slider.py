"""A slider that is the browser's own: named for screen readers and moved by the arrow keys, which that of ipywidgets,
whose handle has no name, is not."""

from __future__ import annotations

import anywidget
import traitlets as t

_ESM = """
let made = 0;
export default {
  render({ model, el }) {
    const id = `nl-slider-${++made}-${Math.random().toString(36).slice(2)}`;
    const label = document.createElement("label");
    const input = document.createElement("input");
    label.className = "widget-label";
    label.htmlFor = input.id = id;
    input.type = "range";
    const draw = () => {
      label.textContent = model.get("description");
      for (const name of ["min", "max", "step"]) input[name] = model.get(name);
      input.value = model.get("value");
      input.disabled = model.get("disabled");
      input.setAttribute("aria-valuetext", model.get("text") || String(model.get("value")));
    };
    input.addEventListener("input", () => {
      model.set("value", Number(input.value));
      model.save_changes();
    });
    model.on("change", draw);
    draw();
    el.classList.add("nl-slider");
    el.append(label, input);
    return () => model.off("change", draw);
  },
};
"""


class Slider(anywidget.AnyWidget):
    """A whole number from `min` to `max` in steps of `step`; `text` is how the value is read aloud. What a browser
    sends is clipped to the range and to whole numbers."""

    _esm = _ESM
    value = t.CInt(0).tag(sync=True)
    min = t.CInt(0).tag(sync=True)
    max = t.CInt(100).tag(sync=True)
    step = t.CInt(1).tag(sync=True)
    description = t.Unicode("").tag(sync=True)
    text = t.Unicode("").tag(sync=True)
    disabled = t.Bool(False).tag(sync=True)

    @t.validate("value")  # type: ignore[untyped-decorator]
    def _within(self, proposal: t.Bunch) -> int:
        return self._clipped(int(proposal.value))

    @t.observe("min", "max")  # type: ignore[untyped-decorator]
    def _clip(self, _: t.Bunch) -> None:
        self.value = self._clipped(self.value)

    def put(self, value: int, low: int, high: int) -> None:
        """Another range and a value in it, at once: a page may have sent a range that the new one does not meet."""
        with self.hold_trait_notifications():
            self.min, self.max = low, high
            self.value = max(low, min(high, value))

    def _clipped(self, value: int) -> int:
        return int(max(self.min, min(self.max, value)))
