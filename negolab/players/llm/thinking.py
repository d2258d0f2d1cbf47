"""Reasoning that a model wrote among its words, between `<think>` and `</think>`."""

from __future__ import annotations

import re
from typing import NamedTuple

_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


class Spoken(NamedTuple):
    """What is left for the other side, and what was for the model alone."""

    text: str
    thought: str | None = None


def spoken(answer: str) -> Spoken:
    """The answer without its reasoning: blocks, one that was never closed, and whatever stands before a closing tag
    whose opening one the chat template wrote. A text without such tags stays as it is."""
    tags = list(_TAG.finditer(answer))
    if not tags:
        return Spoken(answer)
    said: list[str] = []
    thought: list[str] = []
    at, inside = 0, False
    for tag in tags:
        piece = answer[at : tag.start()]
        closes = bool(tag[1])
        if inside:
            thought.append(piece)
        elif closes:
            # No opening tag: all before it was reasoning.
            thought += [*said, piece]
            said = []
        else:
            said.append(piece)
        at, inside = tag.end(), not closes
    (thought if inside else said).append(answer[at:])
    return Spoken("".join(said).strip(), joined(*thought))


def joined(*thoughts: str | None) -> str | None:
    """Reasoning from several places as one text; None if there is none."""
    return "\n\n".join(thought.strip() for thought in thoughts if thought and thought.strip()) or None
