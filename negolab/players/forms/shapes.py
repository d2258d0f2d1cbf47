"""Pieces of a JSON schema, in the subset that OpenAI's strict mode and llama.cpp's grammars both honour.

There every property is required, nothing further is allowed, a choice is `anyOf` and not at the root, and the length
of a text can only be bounded by its pattern.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from negolab.players.forms.form import Schema

NULL: Schema = {"type": "null"}

LONGEST = 1000
"""Characters of a text at most; llama.cpp takes no pattern of 2,000 repetitions or more."""


def fields(**properties: Schema) -> Schema:
    """An object with exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def whole(least: int, most: int) -> Schema:
    """A whole number, both ends included."""
    return {"type": "integer", "minimum": least, "maximum": most}


def word(*words: str) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(words)}


def text(most: int) -> Schema:
    """Free text without quotation marks and line breaks, which grammars cannot count once they are escaped."""
    return {"type": "string", "pattern": r'^[^"\\\x00-\x1f\x7f]{0,' + str(min(most, LONGEST)) + "}$"}


def several(item: Schema, least: int, most: int) -> Schema:
    """A list of these."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def either(choices: Iterable[Schema]) -> Schema:
    """One of these shapes; a single one is itself."""
    given = list(choices)
    return given[0] if len(given) == 1 else {"anyOf": given}


def example(value: Any) -> str:
    """A filled form as an instruction shows it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
