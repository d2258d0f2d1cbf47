"""The inputs of a move: one for each of its fields, by the field's kind (see `negolab.moves`).

Nothing is filled in at first, because what stood there would suggest itself.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import ipywidgets as w
from msgspec import UNSET
from typing_extensions import override

from negolab.formatting import format_money
from negolab.money import cents_to_dollars
from negolab.moves import Amounts, Choice, Count, Either, Field, Group, Several, Words
from negolab.studies.texts import table_texts
from negolab_widgets import html
from negolab_widgets.fields import CheckGroup, PriceField, Segments, Stepper
from negolab_widgets.html import element
from negolab_widgets.layout import box, set_visible, styled
from negolab_widgets.tables.controls import Table

MAX_SEGMENTS = 6
"""Options up to which they stand beside each other; more are in a list."""
MAX_LISTED = 24
"""Options up to which a list is opened; a longer one is searched."""


class Beside(NamedTuple):
    """Words of a table beside an input.

    Attributes:
        about: Lines below its name.
        notes: A short text for each option.
        marks: A mark for each option, or lines behind a number.
    """

    about: Sequence[str] = ()
    notes: Sequence[str] = ()
    marks: Sequence[str] = ()


NOTHING_BESIDE = Beside()


class FieldInput(ABC):
    """Base of the inputs. What a page sent is checked against the field.

    Attributes:
        widget: What stands on the page.
        value: That of the field; UNSET while nothing is filled in.
    """

    widget: w.DOMWidget

    def __init__(self, table: Table, name: str, field: Any, changed: Callable[[], None]) -> None:
        self.field, self.label, self._changed = field, field.label or name.replace("_", " ").capitalize(), changed
        self.build(table)

    @abstractmethod
    def build(self, table: Table) -> None:
        """Make the widget."""

    @property
    @abstractmethod
    def value(self) -> Any:
        """The value of the field."""

    @abstractmethod
    def put(self, value: Any) -> None:
        """Show this value; UNSET: none."""

    def draw(self, field: Any, *, asked: bool, beside: Beside = NOTHING_BESIDE) -> None:
        """Show what the field is now, and what is to be said beside it."""
        self.field = field
        self.widget.disabled = not asked


class SegmentsInput(FieldInput):
    """A choice of options that stand beside each other."""

    @override
    def build(self, table: Table) -> None:
        self.widget = Segments(description=self.label, options=list(choices(self.field).values()))
        table.on_change(self.widget, self._changed)

    @property
    @override
    def value(self) -> Any:
        # A page may have sent more options than there are.
        at, options = self.widget.value, list(choices(self.field))
        return options[at] if 0 <= at < len(options) else UNSET

    @override
    def put(self, value: Any) -> None:
        self.widget.value = -1 if value is UNSET else list(choices(self.field)).index(value)

    @override
    def draw(self, field: Any, *, asked: bool, beside: Beside = NOTHING_BESIDE) -> None:
        super().draw(field, asked=asked)
        self.widget.options = list(choices(field).values())
        self.widget.notes, self.widget.marks = list(beside.notes), list(beside.marks)
        self.widget.about = "; ".join(filter(None, beside.about))


class ListInput(FieldInput):
    """A choice of more options than can stand beside each other; a long list is searched."""

    @override
    def build(self, table: Table) -> None:
        self._is_long, self._words = len(choices(self.field)) > MAX_LISTED, list[str]()
        self._find = w.Text(description=table_texts.FIND, continuous_update=False, placeholder=table_texts.FIND_HINT)
        set_visible(self._find, self._is_long)
        self.list = styled(
            w.Select(description=self.label, rows=6) if self._is_long else w.Dropdown(description=self.label),
            "nl-issue-list",
        )
        self._facts = w.HTML()
        self.widget = w.VBox([self._find, self.list, self._facts])
        table.on_change(self._find, self._narrow)
        table.on_change(self.list, self._changed)

    @property
    @override
    def value(self) -> Any:
        return UNSET if self.list.value in (None, -1) else list(choices(self.field))[self.list.value]

    @override
    def put(self, value: Any) -> None:
        self._find.value = ""
        self._narrow()
        self.list.value = -1 if value is UNSET else list(choices(self.field)).index(value)

    @override
    def draw(self, field: Any, *, asked: bool, beside: Beside = NOTHING_BESIDE) -> None:
        super().draw(field, asked=asked)
        options = list(choices(field).values())
        noted = zip(options, beside.notes, strict=False)
        self._words = [table_texts.OPTION.format(option=option, note=note) for option, note in noted] or options
        self._narrow()
        marked = zip(beside.marks, options, strict=False)
        facts = [*beside.about, *(table_texts.MARKED.format(mark=mark, option=o) for mark, o in marked if mark)]
        self._facts.value = element("div", "; ".join(filter(None, facts)), cls="nl-mark")
        self._find.disabled = self.list.disabled = not asked

    def _narrow(self) -> None:
        wanted = self._find.value.lower().split()
        found = [(t, at) for at, t in enumerate(self._words) if all(word in t.lower() for word in wanted)]
        named = (*([] if self._is_long else [(table_texts.NO_OPTION, -1)]), *found)
        if self.list.options != named:
            self.list.options = named
            if wanted and found:
                self.list.value = found[0][1]


class CountInput(FieldInput):
    """A number to step or to type, between what is said about it and what follows from it."""

    @override
    def build(self, table: Table) -> None:
        self.stepper = Stepper(self.label, self.field.unit or self.label)
        table.on_change(self.stepper, self._changed)
        self._facts, self._after = w.HTML(), w.HTML()
        self.widget = box(self._facts, self.stepper, self._after, cls="nl-portion")

    @property
    @override
    def value(self) -> int:
        # A page may have sent any number; it is clipped when it is drawn.
        return int(max(self.field.least, min(self.stepper.value, self.field.most)))

    @override
    def put(self, value: Any) -> None:
        self.stepper.value = self.field.least if value is UNSET else value

    @override
    def draw(self, field: Any, *, asked: bool, beside: Beside = NOTHING_BESIDE) -> None:
        self.field = field
        head, *about = beside.about or (self.label, self.field.unit)
        lines = [element("div", line, cls="nl-soft") for line in about if line]
        self._facts.value = html.join([element("div", head, cls="nl-strong"), *lines])
        self.stepper.limit(field.most, low=field.least)
        self.stepper.disabled = not asked
        self.draw_after(beside.marks or [table_texts.PRICE_RANGE.format(low=field.least, high=field.most)])

    def draw_after(self, lines: Sequence[str]) -> None:
        """Show what follows from the number: a line, and others in small."""
        first, *rest = lines or [""]
        marks = "; ".join(filter(None, rest))
        self._after.value = html.join([element("div", first), element("div", marks, cls="nl-mark") if marks else ""])


_STEPS = (
    ("\N{MINUS SIGN}$1", -100, "dollar_less"),
    ("\N{MINUS SIGN}$0.25", -25, "quarter_less"),
    ("+$0.25", 25, "quarter_more"),
    ("+$1", 100, "dollar_more"),
)


class Zone(NamedTuple):
    """The part of all prices that a slider spans, in cents.

    Attributes:
        low, high: Its ends.
        ends: What stands below them.
        marks: Prices to mark, each with its words and the letter of its seat.
    """

    low: int
    high: int
    ends: Sequence[str]
    marks: Sequence[Sequence[Any]] = ()


class PriceInput(FieldInput):
    """A price in dollars to type, to step to or to slide to.

    `read` turns what was typed into cents (None: no price), `start` says from which price a step goes as long as none
    stands there, `zone` what the slider spans.
    """

    @override
    def build(self, table: Table) -> None:
        self.read: Callable[[str], int | None] = read_dollars
        self.start: Callable[[], int] = lambda: self.field.least
        self.zone: Callable[[], Zone] = self._all_prices
        steps = [[text, by, table_texts["price_steps"][name]] for text, by, name in _STEPS]
        self.widget = styled(PriceField(description=self.label, steps=steps), "nl-price")
        table.on_change(self.widget, self._changed)

    @property
    @override
    def value(self) -> Any:
        cents = self.read(self.widget.value)
        return UNSET if cents is None or not self.field.least <= cents <= self.field.most else cents

    @override
    def put(self, value: Any) -> None:
        self.widget.value = "" if value is UNSET else cents_to_dollars(value)

    @property
    def fault(self) -> str:
        """The fault of what was typed; "" if it is a price."""
        low, high = format_money(self.field.least), format_money(self.field.most)
        return table_texts.ENTER_PRICE.format(low=low, high=high) if self.value is UNSET else ""

    @override
    def draw(self, field: Any, *, asked: bool, beside: Beside = NOTHING_BESIDE) -> None:
        super().draw(field, asked=asked)
        low, high = cents_to_dollars(field.least), cents_to_dollars(field.most)
        self.widget.placeholder = table_texts.PRICE_RANGE.format(low=low, high=high)
        self.widget.min, self.widget.max, self.widget.base = field.least, field.most, self.start()
        self.widget.zone = [list(part) if isinstance(part, Sequence) else part for part in self.zone()]

    def _all_prices(self) -> Zone:
        low, high = self.field.least, self.field.most
        return Zone(low, high, [format_money(low), format_money(high)])


def read_dollars(text: str) -> int | None:
    """Read dollars, such as 42.5 or $42.50, as cents."""
    found = re.fullmatch(r"\s*\$?\s*([0-9]{1,9})(?:\.([0-9]{1,2}))?\s*", text)
    return None if found is None else int(found[1]) * 100 + int((found[2] or "0").ljust(2, "0"))


class WordsInput(FieldInput):
    """A box for free text."""

    @override
    def build(self, table: Table) -> None:
        label = self.field.label or table_texts.YOUR_MESSAGE
        self.widget = w.Textarea(description=label, rows=1, continuous_update=False)
        table.on_change(self.widget, self._changed)

    @property
    @override
    def value(self) -> str:
        return str(self.widget.value)

    @override
    def put(self, value: Any) -> None:
        self.widget.value = "" if value is UNSET else value

    @override
    def draw(self, field: Any, *, asked: bool, beside: Beside = NOTHING_BESIDE) -> None:
        super().draw(field, asked=asked)
        limited = field.most <= 10**6
        self.widget.placeholder = table_texts.AT_MOST.format(most=f"{field.most:,}") if limited else ""


class TicksInput(FieldInput):
    """Boxes to tick, for a list of options."""

    @override
    def build(self, table: Table) -> None:
        self.label = table_texts.SOME_OF.format(name=self.label, least=self.field.least, most=self.field.most)
        self.widget = CheckGroup(description=self.label, options=list(choices(self.field.of).values()))
        table.on_change(self.widget, self._changed)

    @property
    @override
    def value(self) -> Any:
        ticked = [option for option, words in choices(self.field.of).items() if words in self.widget.value]
        return ticked if self.field.least <= len(ticked) <= self.field.most else UNSET

    @override
    def put(self, value: Any) -> None:
        self.widget.value = [] if value is UNSET else [choices(self.field.of)[option] for option in value]

    @override
    def draw(self, field: Any, *, asked: bool, beside: Beside = NOTHING_BESIDE) -> None:
        super().draw(field, asked=asked)
        self.widget.options = list(choices(field.of).values())


class GroupInput(FieldInput):
    """Inputs for several fields; those with one possible value have none.

    `touched` says that something was filled in: a press too many must not send what nobody chose.
    """

    @override
    def build(self, table: Table) -> None:
        self.touched = False
        self.inputs: dict[str, FieldInput] = {}
        for name, field in self._fields(self.field).items():
            if (kind := input_kind(field)) is not None:
                self.inputs[name] = kind(table, name, field, self._touch)
        self.widget = styled(w.VBox([each.widget for each in self.inputs.values()]), "nl-issues")

    @staticmethod
    def _fields(field: Any) -> Mapping[str, Field]:
        return {name: first_kind(each) for name, each in field.fields.items()}

    @property
    def missing(self) -> list[str]:
        """The labels of the inputs in which nothing is filled in."""
        return [each.label for each in self.inputs.values() if each.value is UNSET]

    @property
    @override
    def value(self) -> Any:
        if self.missing or not (self.touched or not self.inputs):
            return UNSET
        fields = self._fields(self.field)
        return {n: self.inputs[n].value if n in self.inputs else _fixed(field) for n, field in fields.items()}

    @override
    def put(self, value: Any) -> None:
        for name, each in self.inputs.items():
            each.put(UNSET if value is UNSET else value[name])
        self.touched = value is not UNSET

    @override
    def draw(
        self,
        field: Any,
        *,
        asked: bool,
        beside: Beside = NOTHING_BESIDE,
        each_beside: Callable[[str], Beside] = lambda name: NOTHING_BESIDE,
    ) -> None:
        self.field = field
        for name, each in self.inputs.items():
            each.draw(self._fields(field)[name], asked=asked, beside=each_beside(name))

    def _touch(self) -> None:
        self.touched = True
        self._changed()


class AmountsInput(GroupInput):
    """A number for each of some goods; `value` has those of which there are any, UNSET if there is none."""

    @staticmethod
    @override
    def _fields(field: Amounts) -> Mapping[str, Field]:
        return {good: Count(0, most, label=good) for good, most in field.most.items()}

    @property
    @override
    def value(self) -> Any:
        return {good: each.value for good, each in self.inputs.items() if each.value} or UNSET

    @property
    @override
    def missing(self) -> list[str]:
        return [] if self.value is not UNSET else [self.label]

    @override
    def put(self, value: Any) -> None:
        for good, each in self.inputs.items():
            each.put(0 if value is UNSET else value.get(good, 0))


def choices(field: Field) -> dict[Any, str]:
    """Return the words of each value of a field that is one of a list; nothing for another field."""
    match field:
        case Choice(options=options):
            yes_no = {True: table_texts.YES, False: table_texts.NO}
            return {option: yes_no[option] if isinstance(option, bool) else str(option) for option in options}
        case Count(least=least, words=words):
            return dict(enumerate(words, least))
    return {}


def input_kind(field: Field) -> type[FieldInput] | None:
    """Return the input for a field; None if there is nothing to fill in."""
    match field:
        case _ if len(found := choices(field)) > 1:
            return SegmentsInput if len(found) <= MAX_SEGMENTS else ListInput
        case Count(least=least, most=most, unit=unit) if least < most:
            return PriceInput if unit == "cents" else CountInput
        case Words():
            return WordsInput
        case Several(of=of) if choices(of):
            return TicksInput
        case Amounts():
            return AmountsInput
        case Group():
            return GroupInput
    return None


def first_kind(field: Field) -> Field:
    """Return the field itself, or the first of its kinds that has an input."""
    if isinstance(field, Either):
        return next((first_kind(each) for each in field.of if input_kind(first_kind(each)) is not None), field.of[0])
    return field


def _fixed(field: Field) -> Any:
    """Return the value of a field that has no input: its only one, else its default."""
    match field:
        case Choice(options=(only,)):
            return only
        case Count(least=least):
            return least
    return None if field.default is UNSET else field.default
