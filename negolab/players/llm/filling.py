"""The model fills in a form, and the game's `say` writes the words."""

from __future__ import annotations

import json
import re
from typing import Any

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Ask, Invalid, Reply
from negolab.match import clean
from negolab.players.forms import form_of
from negolab.players.llm.manner import Free, Seen
from negolab.players.llm.sentences import sentences
from negolab.players.llm.thinking import spoken

_FENCED = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that may be half a character, which no record can hold."""
_FRAME = 50
"""Tokens for all but the free text of a form."""
_CHARACTERS = 3
"""Of free text to a token, so that the form can still be closed within `max_tokens`."""


class Filling(Free):
    """Constrained by a JSON schema of what is legal now; servers that ignore it are told in words as well."""

    def __init__(self, *, talk: bool, max_tokens: int) -> None:
        self._talk = max(40, _CHARACTERS * (max_tokens - _FRAME)) if talk else 0

    @override
    def closing(self, told: AnyGame, seen: Seen) -> str:
        return form_of(told).instruction(told, seen, self._talk)

    @override
    def body(self, told: AnyGame, seen: Seen) -> dict[str, Any]:
        schema = form_of(told).schema(told, seen, self._talk)
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "move", "strict": True, "schema": schema},
            }
        }

    @override
    def words(self, told: AnyGame, ask: Ask, text: str, fault: Invalid | None) -> str | Invalid:
        value = filled_object(text)
        # A whole object that ended just at the limit of tokens was not cut.
        if fault is not None and (value is None or fault.codes != ("cut",)):
            return fault
        if value is None:
            return Invalid(("bad_json",), sentences(told).bad_json, "format")
        action = form_of(told).action(told, ask.seen, value)
        return action if isinstance(action, Invalid) else told.say(action)

    @override
    def own(self, reply: Reply) -> str:
        filled = "" if reply.raw is None else spoken(reply.raw).text
        return super().own(reply) if filled_object(filled) is None else filled


def filled_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, fenced as code or not; None if it is none."""
    fenced = _FENCED.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
        if _HALF.search(text):
            value = json.loads(clean(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
