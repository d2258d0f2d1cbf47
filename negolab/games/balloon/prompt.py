"""Balloon's languages, each in one file in `texts/`: five tag words, the prompt, a reason per fault, stock phrases."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from string import Template

import msgspec

from negolab.games.balloon.state import Terms

_FOLDER = resources.files(__package__) / "texts"


class Tags(msgspec.Struct, frozen=True, gc=False):
    """The words that open a block, without the colon."""

    propose: str
    refuse: str
    agree: str
    argument: str
    reasoning: str


class Prompt(msgspec.Struct, frozen=True, gc=False):
    """Parts of the prompt; `opening` has the slots `$limit`, `$effort` and `$importance`."""

    opening: str
    reasoning_format: str
    rules: str
    argument_rule: str
    reasoning_rule: str
    second: str


class Phrases(msgspec.Struct, frozen=True, gc=False):
    """Stock arguments, by what they go with, and one stock reasoning. They contain no numbers."""

    argument: str
    propose: str
    agree: str
    refuse: str
    reasoning: str


class Language(msgspec.Struct, frozen=True):
    tags: Tags
    prompt: Prompt
    reasons: dict[str, str]
    phrases: Phrases


@cache
def languages() -> tuple[str, ...]:
    """Return the names of all languages."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml")))


@cache
def language(name: str) -> Language:
    """Load a language by name; raise `ValueError` if there is none."""
    if name not in languages():
        raise ValueError(f"language must be one of {', '.join(languages())}, not {name!r}")
    return msgspec.convert(tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8")), Language)


def full_prompt(terms: Terms, importance: Mapping[str, int], *, second: bool) -> str:
    """Write a seat's first prompt; `second` is True for the seat that reads a message before it writes one."""
    parts = language(terms.language).prompt
    opening = Template(parts.opening).substitute(
        limit=terms.limit,
        effort=json.dumps(terms.effort, ensure_ascii=False),
        importance=json.dumps(importance, ensure_ascii=False),
    )
    return "".join(
        (
            opening,
            parts.reasoning_format if terms.strategic_reasoning else "\n",
            "\n",
            parts.rules,
            parts.argument_rule if terms.require_argument else "",
            parts.reasoning_rule if terms.strategic_reasoning else "",
            f"\n\n{parts.second}" if second else "",
        )
    )


def fault_reason(name: str, code: str, slots: Mapping[str, object]) -> str:
    """Write the explanation of a fault for its author."""
    return Template(language(name).reasons[code]).substitute(slots)
