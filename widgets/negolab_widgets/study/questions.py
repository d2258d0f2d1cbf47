"""One question of a study as a field of a form: what is wrong stands beside it, and what was entered stays."""

from __future__ import annotations

import ipywidgets as w

from negolab.studies import texts
from negolab.studies.study_config import Question, check_answers
from negolab_widgets.tables.controls import column, warning
from negolab_widgets.tables.inputs import RadioGroup

MAX_BUTTONS = 7
"""Choices that are shown as buttons; more are a list to open."""


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
        except ValueError as error:
            return str(error).removeprefix(f"{self.question.label}: ").capitalize()
        return ""

    def show_fault(self, fault: str) -> None:
        """Show a fault beside the field."""
        if self._fault.value != (notice := warning(fault)):
            self._fault.value = notice


def _question_control(question: Question) -> w.Widget:
    """Make the control for a kind of question."""
    label = (texts.REQUIRED if question.required else texts.OPTIONAL).format(question=question.label)
    if question.kind == "choice" and len(question.choices) <= MAX_BUTTONS:
        return RadioGroup(description=label, options=list(question.choices))
    if question.kind == "choice":
        options = [(texts.NO_CHOICE, ""), *((choice, choice) for choice in question.choices)]
        return w.Dropdown(description=label, options=options, value="")
    if question.kind == "number":
        return w.Text(description=label, placeholder=texts.NUMBER)
    return w.Textarea(description=label, rows=3)
