"""Questions to participants, and the checks of their answers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any, Literal

import msgspec
from typing_extensions import override

from negolab._internal.validation import TomlTable, check_distinct, check_identifier, check_text
from negolab.studies.texts import texts

LONGEST = 5_000
"""Largest number of characters in an answer."""
PARTED_BY = " | "
"""Separates the choices in an answer of kind "several"."""


class Question(TomlTable, frozen=True):
    """A question to participants.

    - text: a text
    - number: a number, from `least` to `most` if these are given, and without decimals if it must be `whole`; "35,5" is
      35.5, but "1,000" is refused as unclear
    - choice: one of `choices`
    - several: any of `choices`
    - grid: one of `choices` for each of `rows`, such as a Likert scale
    """

    name: str
    label: str
    kind: Literal["text", "number", "choice", "several", "grid"] = "text"
    choices: tuple[str, ...] = ()
    rows: dict[str, str] = {}
    """Statements of a grid by name; the answer to one is stored as "question.name"."""
    least: float | None = None
    most: float | None = None
    whole: bool = False
    required: bool = False
    when: Literal["before", "after"] = "before"
    """Before or after the matches, in a study without [[steps]]."""

    def __post_init__(self) -> None:
        check_identifier(self.name, "name")
        check_text(self.label, "label")
        self._check_choices()
        if (self.kind == "grid") != bool(self.rows):
            raise ValueError('rows and kind = "grid" go together: give both, or neither')
        for name, statement in self.rows.items():
            check_identifier(name, "the name of a row")
            check_text(statement, f"rows.{name}")
        self._check_limits()

    def _check_limits(self) -> None:
        limits = [limit for limit in (self.least, self.most) if limit is not None]
        if (limits or self.whole) and self.kind != "number":
            raise ValueError('least, most and whole apply only to kind = "number"')
        if not all(map(isfinite, limits)) or limits != sorted(limits):
            raise ValueError("least and most must be numbers, with least below most")
        if self.whole and any(limit % 1 for limit in limits):
            raise ValueError("for a whole number, least and most must be whole numbers")

    def _check_choices(self) -> None:
        if (self.kind in ("choice", "several", "grid")) != bool(self.choices):
            raise ValueError('choices and kind = "choice", "several" or "grid" go together: give both, or neither')
        if len(self.choices) == 1:
            raise ValueError("there must be two or more choices")
        for choice in self.choices:
            check_text(choice, "a choice")
            if self.kind == "several" and PARTED_BY.strip() in choice:
                raise ValueError(f"a choice must not contain {PARTED_BY.strip()!r}, which separates choices")
        check_distinct(self.choices, "the choice")

    @property
    def keys(self) -> tuple[str, ...]:
        """Names under which its answers are stored: its own, or one for each row."""
        return tuple(f"{self.name}.{row}" for row in self.rows) or (self.name,)


class QuizQuestion(Question, frozen=True, kw_only=True):
    """A comprehension question: its right answer, and what to say after a wrong one."""

    answer: str
    explanation: str = ""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in ("choice", "number"):
            raise ValueError('quiz questions must have kind = "choice" or kind = "number"')
        try:
            check_answer(self, self.answer)
        except ValueError as error:
            given = f"; the choices are {', '.join(map(repr, self.choices))}" if self.choices else ""
            raise ValueError(f"answer {self.answer!r} cannot be given: {error}{given}") from None

    def is_right(self, answer: str) -> bool:
        """Return True if a valid answer is the right one."""
        return float(answer) == float(self.answer) if self.kind == "number" else answer == self.answer

    def asked(self) -> Question:
        """Return what a participant may see of it."""
        fields = {name: getattr(self, name) for name in Question.__struct_fields__}
        return Question(**{**fields, "required": True})


def check_answers(questions: Iterable[Question], answers: object) -> dict[str, str]:
    """Validate a page's answers to questions.

    Args:
        questions: The questions that were asked.
        answers: Answers by name of the question, as they came from the page: a string; for "several", a list of
            choices; for "grid", a choice by row.

    Returns:
        The answers as stored, by key; "" for one left blank.

    Raises:
        ValueError: An answer is missing, too long, of the wrong kind, or for a question that was not asked; the text is
            for the participant.
    """
    asked = list(questions)
    if not isinstance(answers, Mapping) or not answers.keys() <= {question.name for question in asked}:
        raise ValueError(texts["wrong_answers"]["form"])
    kept: dict[str, str] = {}
    for question in asked:
        answer = answers.get(question.name, "")
        kept |= _check_grid(question, answer) if question.rows else {question.name: check_answer(question, answer)}
    return kept


def _check_grid(question: Question, answer: object) -> dict[str, str]:
    """Return the answers to a grid by key, as stored."""
    given = {} if answer == "" else answer
    if not isinstance(given, Mapping) or not given.keys() <= question.rows.keys():
        raise _wrong(question, "choice")
    kept: dict[str, str] = {}
    for key, (row, statement) in zip(question.keys, question.rows.items(), strict=True):
        of_row = msgspec.structs.replace(question, label=f"{question.label}: {statement.rstrip('.')}")
        kept[key] = check_answer(of_row, given.get(row, ""))
    return kept


def check_answer(question: Question, answer: object) -> str:
    """Return one answer as stored; `ValueError` with a text for the participant if it is not valid."""
    if question.kind == "several" and isinstance(answer, Sequence) and not isinstance(answer, str):
        chosen = [choice for choice in question.choices if choice in answer]
        answer = PARTED_BY.join(chosen) if len(chosen) == len(answer) else "?"
    if not isinstance(answer, str):
        raise _wrong(question, {"text": "missing", "number": "number"}.get(question.kind, "choice"))
    if len(answer) > LONGEST:
        raise _wrong(question, "length", most=LONGEST)
    text = answer.strip()
    if not text:
        if question.required:
            raise _wrong(question, "missing")
    elif question.kind == "number":
        text = _checked_number(question, _plain_number(text))
    elif question.kind != "text":
        chosen = text.split(PARTED_BY) if question.kind == "several" else [text]
        if not set(chosen) <= set(question.choices) or len(set(chosen)) < len(chosen):
            raise _wrong(question, "choice")
    return text


def _plain_number(text: str) -> str:
    """Return a number with the digits 0 to 9, such as "35.5" for "35,5".

    "1,000", which may mean one or a thousand, stays unchanged, and so is not a number.
    """
    text = "".join(str(unicodedata.decimal(c, c)) for c in text)
    is_decimal = re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) and not re.search(r",[0-9]{3}$", text)
    return text.replace(",", ".") if is_decimal else text


_NUMBER = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{0,20})?")
"""Form of a number: a table of answers holds no others, and no long ones."""


def _checked_number(question: Question, text: str) -> str:
    """Return a number as stored: "35.0" becomes "35" if the number must be whole."""
    if not _NUMBER.fullmatch(text):
        raise _wrong(question, "whole" if question.whole else "number")
    if question.whole:
        text, _, decimals = text.partition(".")
        if decimals.strip("0"):
            raise _wrong(question, "whole")
    for limit, kind in ((question.least, "least"), (question.most, "most")):
        if limit is not None and (float(text) < limit if kind == "least" else float(text) > limit):
            raise _wrong(question, kind, limit=write_number(limit))
    return text


def write_number(number: float) -> str:
    """Write a number as in an answer: only digits and a point, and no more of them than necessary.

    >>> write_number(1_500_000.0), write_number(0.5)
    ('1500000', '0.5')
    """
    return f"{Decimal(repr(number)).normalize():f}"


def _wrong(question: Question, kind: str, **values: Any) -> ValueError:
    return ValueError(f"{question.label}: {texts['wrong_answers'][kind].format(**values)}")


def wrong_answers(questions: Sequence[QuizQuestion], right: Mapping[str, bool]) -> dict[str, str]:
    """Return the explanations of wrong answers by name of the question; `right` contains those that were answered."""
    return {q.name: q.explanation or texts.NOT_RIGHT for q in questions if not right.get(q.name, True)}
