"""Form fields (numbers, prices, radio buttons and checkboxes), each a widget that sends its value in one message."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget
import traitlets as t

from negolab.studies.texts import table_texts

MAX_NUMBER = 10**9 - 1


def script(package: str, name: str) -> str:
    """Read a field's browser code: the script `name` of a package, preceded by the code that all fields share."""
    return "".join(
        files(of).joinpath(file).read_text("utf-8") for of, file in ((__name__, "field.js"), (package, name))
    )


class Field(anywidget.AnyWidget):
    """Base class of fields.

    The page reports what it shows, in a separate message or with a press; the kernel says what to show. Neither waits
    for the other's answer, so no press can overtake a value, and no value can come back after it was cleared.

    Attributes:
        value: The field's value; `observe` it. Setting it shows it on the page.
        description: Its label.
        shown: What the page was last told to show, preceded by a number that makes each update distinct.
        disabled: True if the page accepts no input.
    """

    value: Any = None
    description = t.Unicode("").tag(sync=True)
    shown = t.List().tag(sync=True)
    disabled = t.Bool(False).tag(sync=True)
    _on_page: Any = None
    _count = 0

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.on_msg(lambda _, said, __: self.take(said["value"]))

    @t.default("shown")  # type: ignore[untyped-decorator]
    def _first(self) -> list[Any]:
        return [0, self.value]

    def take(self, value: Any) -> None:
        """Take the value that the page shows; if it had to be corrected, show the corrected one.

        Raises:
            TraitError: It is not a value of this field.
        """
        self._on_page = value
        try:
            self.value = value
        finally:
            self._show()

    @t.observe("value")  # type: ignore[untyped-decorator]
    def _show(self, _: object = None) -> None:
        if self.value != self._on_page:
            self._on_page, self._count = self.value, self._count + 1
            self.shown = [self._count, self.value]


class Number(Field):
    """A whole number from `min` to `max`, set with a native slider, with a field between two buttons, or with both.

    Attributes:
        description: Label of the slider.
        text: How the slider's value is read aloud, with `{value}` for the number ("": only the number).
        name: Label of the field.
        less, more: Tooltips of its buttons.
    """

    _esm = script(__name__, "number.js")
    value = t.CInt(0)
    min = t.CInt(0).tag(sync=True)
    max = t.CInt(100).tag(sync=True)
    has_slider = t.Bool(True).tag(sync=True)
    text = t.Unicode("").tag(sync=True)
    name = t.Unicode("").tag(sync=True)
    less = t.Unicode("").tag(sync=True)
    more = t.Unicode("").tag(sync=True)
    fault = t.Unicode().tag(sync=True)

    @t.default("fault")  # type: ignore[untyped-decorator]
    def _fault(self) -> str:
        return table_texts.ENTER_NUMBER

    @t.validate("value")  # type: ignore[untyped-decorator]
    def _within(self, proposal: t.Bunch) -> int:
        return self._clipped(int(proposal.value))

    @t.observe("min", "max")  # type: ignore[untyped-decorator]
    def _clip(self, _: t.Bunch) -> None:
        self.value = self._clipped(self.value)

    def limit(self, most: int, *, low: int = 0) -> None:
        """Set the range and clip the value to it, because a page may have sent ends that do not overlap the new
        ones."""
        with self.hold_trait_notifications():
            self.min, self.max = low, max(low, min(most, MAX_NUMBER))
            self.value = self._clipped(self.value)

    def _clipped(self, value: int) -> int:
        return int(max(self.min, min(self.max, value)))


class Slider(Number):
    """A slider that, unlike that of ipywidgets, has a name for screen readers and can be moved with the arrow keys."""


class Stepper(Number):
    """A number from 0 to a maximum with a button on either side.

    Args:
        name: Label.
        what: Completes "one more ...".
    """

    def __init__(self, name: str, what: str, **more: Any) -> None:
        less, more_hint = (text.format(what=what) for text in (table_texts.LESS, table_texts.MORE))
        super().__init__(name=name, less=less, more=more_hint, **{"has_slider": False, "max": MAX_NUMBER, **more})


class PriceField(Field):
    """A price in dollars to type, to slide to, or to step to (from `base`, in cents, as long as the field is empty).

    `value` is the text as typed, which the game reads; `steps` are the buttons, each with its text, cents and tooltip;
    `zone` describes the slider: its ends in cents, their labels, and prices to mark.
    """

    _esm = script(__name__, "price.js")
    value = t.Unicode("")
    placeholder = t.Unicode("").tag(sync=True)
    min = t.Int(0).tag(sync=True)
    max = t.Int(0).tag(sync=True)
    base = t.Int(0).tag(sync=True)
    steps = t.List().tag(sync=True)
    zone = t.List([0, 0, ["", ""], []]).tag(sync=True)
    slider = t.Unicode().tag(sync=True)

    @t.default("slider")  # type: ignore[untyped-decorator]
    def _slider(self) -> str:
        return table_texts.SLIDE_PRICE


class RadioGroup(Field):
    """Radio buttons as a named group, unlike those of ipywidgets. `value` is the selected one of `options` ("":
    none)."""

    _esm = script(__name__, "choices.js")
    options = t.List(t.Unicode()).tag(sync=True)
    several = t.Bool(False).tag(sync=True)
    value: Any = t.Unicode("")


class CheckGroup(RadioGroup):
    """Checkboxes as a named group. `value` lists the checked ones of `options`."""

    several = t.Bool(True).tag(sync=True)
    value = t.List(t.Unicode())


class ChoiceGrid(Field):
    """Statements that are each answered with one of the same `options`, such as a Likert scale. `rows` are their keys
    and words; `value` is the selected option by key."""

    _esm = script(__name__, "grid.js")
    rows = t.List(t.List(t.Unicode())).tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    value = t.Dict()


class Segments(Field):
    """Radio buttons side by side, each with a note and a mark below it. `value` is the index of the selected one of
    `options` (-1: none); `about` appears below the description. What a browser sends is checked."""

    _esm = script(__name__, "segments.js")
    about = t.Unicode("").tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    notes = t.List(t.Unicode()).tag(sync=True)
    marks = t.List(t.Unicode()).tag(sync=True)
    value = t.CInt(-1)

    @t.validate("value")  # type: ignore[untyped-decorator]
    def _one_of_them(self, proposal: t.Bunch) -> int:
        value = int(proposal.value)
        return value if 0 <= value < len(self.options) else -1


class Choice(Field):
    """A native drop-down list. `options` are keys, each with its words and the name of its group ("": none); `value` is
    the selected key, and `about` appears below. What a browser sends is checked."""

    _esm = script(__name__, "choice.js")
    options = t.List().tag(sync=True)
    about = t.Unicode("").tag(sync=True)
    value = t.Unicode("")

    @property
    def keys_offered(self) -> list[str]:
        return [key for key, *_ in self.options]

    @t.validate("value")  # type: ignore[untyped-decorator]
    def _one_of_them(self, proposal: t.Bunch) -> str:
        if proposal.value not in self.keys_offered:
            raise t.TraitError(f"{proposal.value!r} is not one of {', '.join(self.keys_offered)}")
        return str(proposal.value)


class Cards(Choice):
    """Radio buttons as cards with pictures; `options` are keys, each with a title, a line and a picture (`Markup`)."""

    _esm = script(__name__, "cards.js")
