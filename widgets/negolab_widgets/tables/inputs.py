"""Inputs that tables share: a stepper for a number, a slider, a group of radio buttons, and one of segments."""

from __future__ import annotations

from collections.abc import Callable

import anywidget
import ipywidgets as w
import traitlets as t

from negolab.studies.texts import table_texts
from negolab_widgets.tables.controls import Table, row

MAX_NUMBER = 10**9 - 1


class Stepper:
    """A number from 0 to a maximum with a button on either side; `what` completes "one more ...".

    Each key stroke is sent, so that no press on another control comes before it.
    """

    def __init__(self, controls: Table, label: str, what: str, changed: Callable[[], None]) -> None:
        less, more = (text.format(what=what) for text in (table_texts.LESS, table_texts.MORE))
        # Without a tooltip of its own the browser would show "null".
        self.field = w.BoundedIntText(description=label, tooltip="", min=0, max=MAX_NUMBER, continuous_update=True)
        self.less = controls.button("\N{MINUS SIGN}", lambda: self._step(-1), cls="nl-step", hint=less)
        self.more = controls.button("+", lambda: self._step(1), cls="nl-step", hint=more)
        controls.on_change(self.field, changed)
        self.widget = row(self.less, self.field, self.more)
        self.widget.add_class("nl-stepper")

    @property
    def value(self) -> int:
        return int(self.field.value)

    def put(self, value: int) -> None:
        """Show this number."""
        self.field.value = value

    def draw(self, *, most: int, asked: bool) -> None:
        """Allow at most `most` from now on."""
        top = max(0, min(most, MAX_NUMBER))
        # All at once: a page may have sent ends that the new ones do not meet.
        with self.field.hold_trait_notifications():
            self.field.min, self.field.max = 0, top
            self.field.value = max(0, min(int(self.field.value), top))
        for control in (self.field, self.less, self.more):
            control.disabled = not asked

    def _step(self, by: int) -> None:
        self.field.value = min(self.field.max, max(0, self.value + by))


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
    """A slider of the browser's own: named for screen readers and moved by the arrow keys, unlike that of ipywidgets.

    A whole number from `min` to `max` in steps of `step`; `text` is how the value is read aloud. What a browser sends
    is clipped to the range.
    """

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
        """Set the range and a value in it at once: a page may have sent a value that the new range does not hold."""
        with self.hold_trait_notifications():
            self.min, self.max = low, high
            self.value = max(low, min(high, value))

    def _clipped(self, value: int) -> int:
        return int(max(self.min, min(self.max, value)))


_CHOICES_ESM = """
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
    const inputs = model.get("options").map((option) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      const text = document.createElement("span");
      input.type = model.get("several") ? "checkbox" : "radio";
      input.name = name;
      input.value = text.textContent = option;
      input.checked = [model.get("value")].flat().includes(option);
      input.addEventListener("change", () => {
        const chosen = inputs.filter((one) => one.checked).map((one) => one.value);
        model.set("value", model.get("several") ? chosen : option);
        model.save_changes();
      });
      label.append(input, text);
      group.append(label);
      return input;
    });
    el.append(group);
  },
};
"""


class RadioGroup(anywidget.AnyWidget):
    """Radio buttons as a named group, which those of ipywidgets are not. `value` is the chosen one of `options`, "" for
    none."""

    _esm = _CHOICES_ESM
    description = t.Unicode("").tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    several = t.Bool(False).tag(sync=True)
    value = t.Unicode("").tag(sync=True)


class CheckGroup(anywidget.AnyWidget):
    """Boxes to tick as a named group. `value` are the ticked ones of `options`."""

    _esm = _CHOICES_ESM
    description = t.Unicode("").tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    several = t.Bool(True).tag(sync=True)
    value = t.List(t.Unicode()).tag(sync=True)


_GRID_ESM = """
let made = 0;
export default {
  render({ model, el }) {
    const name = `nl-grid-${++made}-${Math.random().toString(36).slice(2)}`;
    const make = (tag, cls, inside) => {
      const made = document.createElement(tag);
      made.className = cls;
      inside.append(made);
      return made;
    };
    const group = make("fieldset", "nl-likert", el);
    make("legend", "widget-label", group).textContent = model.get("description");
    for (const [key, statement] of model.get("rows")) {
      const row = make("div", "nl-likert-row", group);
      const title = make("div", "nl-likert-statement", row);
      title.id = `${name}-${key}`;
      title.textContent = statement;
      const choices = make("div", "nl-likert-choices", row);
      choices.setAttribute("role", "radiogroup");
      choices.setAttribute("aria-labelledby", title.id);
      for (const option of model.get("options")) {
        const label = make("label", "", choices);
        const input = make("input", "", label);
        input.type = "radio";
        input.name = `${name}-${key}`;
        input.checked = model.get("value")[key] === option;
        input.addEventListener("change", () => {
          model.set("value", { ...model.get("value"), [key]: option });
          model.save_changes();
        });
        make("span", "", label).textContent = option;
      }
    }
  },
};
"""


class ChoiceGrid(anywidget.AnyWidget):
    """Statements that are each answered by one of the same `options`, such as a Likert scale. `rows` are their keys and
    words, `value` the chosen option by key."""

    _esm = _GRID_ESM
    description = t.Unicode("").tag(sync=True)
    rows = t.List(t.List(t.Unicode())).tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    value = t.Dict().tag(sync=True)


_SEGMENTS_ESM = """
let made = 0;
export default {
  render({ model, el }) {
    const name = `nl-segments-${++made}-${Math.random().toString(36).slice(2)}`;
    const make = (tag, cls, inside) => {
      const made = document.createElement(tag);
      made.className = cls;
      inside.append(made);
      return made;
    };
    const head = make("div", "nl-segments-head", el);
    const title = make("div", "nl-strong", head);
    const about = make("div", "nl-soft", head);
    const group = make("div", "nl-segments-row", el);
    title.id = `${name}-title`;
    title.textContent = model.get("description");
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-labelledby", title.id);
    const cells = model.get("options").map((option, at) => {
      const cell = make("label", "nl-segment", group);
      const input = make("input", "nl-segment-input", cell);
      input.type = "radio";
      input.name = name;
      make("span", "nl-segment-name", cell).textContent = option;
      const note = make("span", "nl-segment-note", cell);
      const mark = make("span", "nl-segment-mark", cell);
      input.addEventListener("change", () => {
        model.set("value", at);
        model.save_changes();
      });
      return { input, note, mark };
    });
    group.dataset.count = cells.length;
    const draw = () => {
      about.textContent = model.get("about");
      cells.forEach(({ input, note, mark }, at) => {
        input.checked = at === model.get("value");
        input.disabled = model.get("disabled");
        note.textContent = model.get("notes")[at] || "";
        mark.textContent = model.get("marks")[at] || "";
      });
    };
    model.on("change", draw);
    draw();
    el.classList.add("nl-segments");
    return () => model.off("change", draw);
  },
};
"""


class Segments(anywidget.AnyWidget):
    """Radio buttons beside each other, each with a note and a mark below it. `value` is the index of the chosen one of
    `options`, -1 for none; `about` stands below the description. What a browser sends is checked."""

    _esm = _SEGMENTS_ESM
    description = t.Unicode("").tag(sync=True)
    about = t.Unicode("").tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    notes = t.List(t.Unicode()).tag(sync=True)
    marks = t.List(t.Unicode()).tag(sync=True)
    value = t.CInt(-1).tag(sync=True)
    disabled = t.Bool(False).tag(sync=True)

    @t.validate("value")  # type: ignore[untyped-decorator]
    def _one_of_them(self, proposal: t.Bunch) -> int:
        value = int(proposal.value)
        return value if 0 <= value < len(self.options) else -1
