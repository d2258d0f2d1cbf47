"""The study's questions as a form: faults stand beside the field, and what was entered stays."""

from __future__ import annotations

from collections.abc import Hashable

import ipywidgets as w
from typing_extensions import override

from negolab.people.parts import Question
from negolab.people.questions import checked
from negolab.people.scenes import Asked
from negolab_widgets import html
from negolab_widgets.study.choices import Choices
from negolab_widgets.study.view import View, heading, panel
from negolab_widgets.tables.controls import column, warning

MOST_BUTTONS = 7
"""Choices that are shown all at once; more are a list to open."""

NONE = "(please choose)"


class Field:
    """One question with its control, and the place where its fault is named."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.control = _control(question)
        self._fault = w.HTML(warning(""))
        self.control.observe(lambda _: self.tell(""), "value")
        self.box = column(self.control, self._fault)
        self.box.add_class("nl-question")

    @property
    def given(self) -> str:
        """What was entered, as text."""
        return str(self.control.value or "")

    def fault(self) -> str:
        """What is wrong with what was entered; "" if nothing is."""
        try:
            checked((self.question,), {self.question.name: self.given})
        except ValueError as why:
            return str(why).removeprefix(f"{self.question.label}: ").capitalize()
        return ""

    def tell(self, fault: str) -> None:
        """Name a fault beside the field."""
        if self._fault.value != (said := warning(fault)):
            self._fault.value = said


class AskedView(View):
    """All open questions; the button sends the answers once all of them will do."""

    @classmethod
    @override
    def key(cls, scene: Asked) -> Hashable:
        return scene.questions

    @override
    def leaving(self, scene: Asked) -> bool:
        return all(question.when == "before" for question in scene.questions)

    @override
    def build(self) -> list[w.Widget]:
        self._fields = [Field(question) for question in self.scene.questions]
        required = sum(question.required for question in self.scene.questions)
        some = "" if not required else "Please answer those that are required; the others may stay open."
        parts = [heading(self.scene, "Questions")]
        parts += [w.HTML(html.element("p", some))] if 0 < required < len(self._fields) else []
        send = self.button("Send answers", self._send, cls="nl-primary")
        return [*parts, panel(*(field.box for field in self._fields)), send, self.notice]

    def _send(self) -> None:
        faults = [field.fault() for field in self._fields]
        for field, fault in zip(self._fields, faults, strict=True):
            field.tell(fault)
        wrong = sum(map(bool, faults))
        if wrong:
            self.refuse("One answer must be mended above." if wrong == 1 else f"{wrong} answers must be mended above.")
        else:
            self.do("answer", given={field.question.name: field.given for field in self._fields})


def _control(question: Question) -> w.Widget:
    """The control for a kind of question."""
    label = f"{question.label} ({'required' if question.required else 'optional'})"
    if question.kind == "choice" and len(question.choices) <= MOST_BUTTONS:
        return Choices(description=label, options=list(question.choices))
    if question.kind == "choice":
        return w.Dropdown(description=label, options=[(NONE, ""), *((c, c) for c in question.choices)], value="")
    if question.kind == "number":
        return w.Text(description=label, placeholder="a number")
    return w.Textarea(description=label, rows=3)
