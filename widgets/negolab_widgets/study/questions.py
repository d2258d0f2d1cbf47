"""One question of a study as a field of a form: what is wrong stands beside it, and what was entered stays."""

from __future__ import annotations

from typing import Any

import ipywidgets as w

from negolab.studies.questions import Question, check_answers
from negolab.studies.texts import texts
from negolab_widgets.fields import CheckGroup, ChoiceGrid, RadioGroup
from negolab_widgets.html import capitalised
from negolab_widgets.layout import column, warning

MAX_BUTTONS = 7
"""Choices that are shown as buttons; more are a list to open."""


class QuestionField:
    """One question with its control and a place for its fault."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.control = _question_control(question)
        self._notice = w.HTML(warning(""))
        self.control.observe(lambda _: self.show_fault(""), "value")
        self.box = column(self.control, self._notice, cls="nl-question")

    @property
    def answer(self) -> Any:
        """Answers as they were entered, in the form that `check_answers` takes."""
        return self.control.value or ""

    def fill(self, answer: str) -> None:
        """Enter an answer unless it is "", or not valid: the question may have changed since it was given."""
        if answer and not self._fault_of(answer):
            self.control.value = answer

    def fault(self) -> str:
        """Return the fault of what was entered, "" for none."""
        return self._fault_of(self.answer)

    def _fault_of(self, answer: Any) -> str:
        try:
            check_answers((self.question,), {self.question.name: answer})
        except ValueError as error:
            return capitalised(str(error).removeprefix(f"{self.question.label}: "))
        return ""

    def show_fault(self, fault: str) -> None:
        """Show a fault beside the field."""
        self._notice.value = warning(fault)


def _question_control(question: Question) -> w.Widget:
    """Make the control for a kind of question."""
    label = (texts.REQUIRED if question.required else texts.OPTIONAL).format(question=question.label)
    choices = list(question.choices)
    match question.kind:
        case "grid":
            return ChoiceGrid(description=label, rows=[list(row) for row in question.rows.items()], options=choices)
        case "several":
            return CheckGroup(description=label, options=choices)
        case "choice" if len(choices) <= MAX_BUTTONS:
            return RadioGroup(description=label, options=choices)
        case "choice":
            options = [(texts.NO_CHOICE, ""), *((choice, choice) for choice in choices)]
            return w.Dropdown(description=label, options=options, value="")
        case "number":
            return w.Text(description=label, placeholder=texts.NUMBER)
    return w.Textarea(description=label, rows=3)
