"""Choices to pick one of, all in view: a named group of radio buttons, which those of ipywidgets are not."""

from __future__ import annotations

import anywidget
import traitlets as t

_ESM = """
let made = 0;
export default {
  render({ model, el }) {
    const name = `nl-choices-${++made}-${Math.random().toString(36).slice(2)}`;
    const group = document.createElement("fieldset");
    const legend = document.createElement("legend");
    legend.className = "widget-label";
    legend.textContent = model.get("description");
    group.className = "nl-choices";
    group.append(legend);
    for (const option of model.get("options")) {
      const label = document.createElement("label");
      const input = document.createElement("input");
      const text = document.createElement("span");
      input.type = "radio";
      input.name = name;
      input.value = text.textContent = option;
      input.checked = option === model.get("value");
      input.addEventListener("change", () => {
        model.set("value", option);
        model.save_changes();
      });
      label.append(input, text);
      group.append(label);
    }
    el.append(group);
  },
};
"""


class Choices(anywidget.AnyWidget):
    """`value` is the chosen one of `options`, "" as long as there is none."""

    _esm = _ESM
    description = t.Unicode("").tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    value = t.Unicode("").tag(sync=True)
