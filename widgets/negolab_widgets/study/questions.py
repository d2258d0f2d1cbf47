"""The study's questions as a form: faults stand beside the field, and what was entered stays."""

from __future__ import annotations

from collections.abc import Hashable

import ipywidgets as w
from typing_extensions import override

from negolab.studies.config import Question, check_answers
from negolab.studies.page_state import Asked
from negolab_widgets import html
from negolab_widgets.study.views import SceneView, heading, reading_panel
from negolab_widgets.tables.controls import column, warning
from negolab_widgets.tables.inputs import RadioGroup

MAX_BUTTONS = 7
"""Choices that are shown as buttons; more are a list to open."""

NO_CHOICE = "(please choose)"


class QuestionField:
    """One question with its control and a place for its fault."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.control = _question_control(question)
        self._fault = w.HTML(warning(""))
        self.control.observe(lambda _: self.show_fault(""), "value")
        self.box = column(self.control, self._fault)
        self.box.add_class("nl-question")

    @property
    def answer(self) -> str:
        """The entered text."""
        return str(self.control.value or "")

    def fault(self) -> str:
        """Return what is wrong with the answer, "" for nothing."""
        try:
            check_answers((self.question,), {self.question.name: self.answer})
        except ValueError as why:
            return str(why).removeprefix(f"{self.question.label}: ").capitalize()
        return ""

    def show_fault(self, fault: str) -> None:
        """Show a fault beside the field."""
        if self._fault.value != (said := warning(fault)):
            self._fault.value = said


class AskedView(SceneView):
    """All open questions; the button sends the answers once all of them are valid."""

    @classmethod
    @override
    def key(cls, scene: Asked) -> Hashable:
        return scene.questions

    @override
    def may_leave(self, scene: Asked) -> bool:
        return all(question.when == "before" for question in scene.questions)

    @override
    def build(self) -> list[w.Widget]:
        self._fields = [QuestionField(question) for question in self.scene.questions]
        required = sum(question.required for question in self.scene.questions)
        some = "" if not required else "Please answer those that are required; the others may stay open."
        parts = [heading(self.scene, "Questions")]
        parts += [w.HTML(html.element("p", some))] if 0 < required < len(self._fields) else []
        send = self.button("Send answers", self._send, cls="nl-primary")
        return [*parts, reading_panel(*(field.box for field in self._fields)), send, self.notice]

    def _send(self) -> None:
        faults = [field.fault() for field in self._fields]
        for field, fault in zip(self._fields, faults, strict=True):
            field.show_fault(fault)
        wrong = sum(map(bool, faults))
        if wrong:
            self.refuse("One answer must be mended above." if wrong == 1 else f"{wrong} answers must be mended above.")
        else:
            self.refuse("")
            self.do("answer", given={field.question.name: field.answer for field in self._fields})


def _question_control(question: Question) -> w.Widget:
    """Make the control for a kind of question."""
    label = f"{question.label} ({'required' if question.required else 'optional'})"
    if question.kind == "choice" and len(question.choices) <= MAX_BUTTONS:
        return RadioGroup(description=label, options=list(question.choices))
    if question.kind == "choice":
        return w.Dropdown(description=label, options=[(NO_CHOICE, ""), *((c, c) for c in question.choices)], value="")
    if question.kind == "number":
        return w.Text(description=label, placeholder="a number")
    return w.Textarea(description=label, rows=3)
