"""Answers to a study's questions, checked before they are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from negolab.people.parts import Question

LONGEST = 5_000
"""Characters of an answer."""


def checked(questions: Sequence[Question], given: Any) -> dict[str, str]:
    """An answer for each question, "" for one that was left open; `ValueError` says which one to mend."""
    if not isinstance(given, Mapping):
        raise ValueError("Answer the questions.")
    return {question.name: _answer(question, given.get(question.name, "")) for question in questions}


def _answer(question: Question, text: Any) -> str:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ValueError(f"{question.label}: at most {LONGEST} characters.")
    text = str(text).strip()
    if not text:
        if question.required:
            raise ValueError(f"{question.label}: please answer.")
        return ""
    if question.kind == "choice" and text not in question.choices:
        raise ValueError(f"{question.label}: choose one of the answers.")
    if question.kind == "number" and not _number(text):
        raise ValueError(f"{question.label}: please write a number.")
    return str(text)


def _number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False
