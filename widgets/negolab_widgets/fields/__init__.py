"""Form fields: number, price, radio buttons and checkboxes, each a widget that sends its value in one message."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget
import traitlets as t

from negolab.studies.texts import table_texts

MAX_NUMBER = 10**9 - 1


def script(package: str, name: str) -> str:
    """Read the browser's side of a field: the script `name` of a package, behind what all fields share."""
    return "".join(
        files(of).joinpath(file).read_text("utf-8") for of, file in ((__name__, "field.js"), (package, name))
    )


class Field(anywidget.AnyWidget):
    """Base class of fields.

    The page tells what it shows, in a message of its own or with a press; the kernel tells what to show. Neither waits
    for the other's answer, so that no value can be overtaken by a press, nor come back after it was cleared.

    Attributes:
        value: What the field holds; `observe` it. Setting it shows it on the page.
        description: Its label.
        shown: What the page was told to show last, behind a number that makes it news.
        disabled: The page takes no input.
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
        """Take what the page shows; what it cannot hold is shown corrected.

        Raises:
            TraitError: It is no value of this field.
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
    """A whole number from `min` to `max`, set by a slider of the browser's own, by a field between two buttons, or by
    both.

    Attributes:
        description: Label of the slider.
        text: How the slider's value is read aloud, with `{value}` in its place; "": the number alone.
        name: Label of the field.
        less, more: Hints of its buttons.
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
        """Set the range, and clip the value to it: a page may have sent ends that the new ones do not meet."""
        with self.hold_trait_notifications():
            self.min, self.max = low, max(low, min(most, MAX_NUMBER))
            self.value = self._clipped(self.value)

    def _clipped(self, value: int) -> int:
        return int(max(self.min, min(self.max, value)))


class Slider(Number):
    """A slider that is named for screen readers and moved by the arrow keys, unlike that of ipywidgets."""


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
    """A price in dollars to type, to slide to, or to step to from `base` in cents as long as none stands there.

    `value` is the text as typed, which the game reads; `steps` are the buttons: their text, cents and hint; `zone` is
    what the slider spans: its ends in cents, their words, and prices to mark.
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
    """Radio buttons as a named group, which those of ipywidgets are not. `value` is the chosen one of `options`, "" for
    none."""

    _esm = script(__name__, "choices.js")
    options = t.List(t.Unicode()).tag(sync=True)
    several = t.Bool(False).tag(sync=True)
    value: Any = t.Unicode("")


class CheckGroup(RadioGroup):
    """Boxes to tick as a named group. `value` are the ticked ones of `options`."""

    several = t.Bool(True).tag(sync=True)
    value = t.List(t.Unicode())


class ChoiceGrid(Field):
    """Statements that are each answered by one of the same `options`, such as a Likert scale. `rows` are their keys and
    words, `value` the chosen option by key."""

    _esm = script(__name__, "grid.js")
    rows = t.List(t.List(t.Unicode())).tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    value = t.Dict()


class Segments(Field):
    """Radio buttons beside each other, each with a note and a mark below it. `value` is the index of the chosen one of
    `options`, -1 for none; `about` stands below the description. What a browser sends is checked."""

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
    """A list of the browser's own to choose from. `options` are keys, each with its words and the name of its group
    ("": none), `value` is the chosen key, and `about` stands below. What a browser sends is checked."""

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
    """Radio buttons as cards with pictures: `options` are keys, each with a title, a line and a picture (`Markup`)."""

    _esm = script(__name__, "cards.js")
