"""The form of games without one of their own: the number of one of the `options` listed in the message.

A module of its own because a form is a module (see `negolab.protocols.Form`).
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from negolab.catalog import AnyGame
from negolab.game import Invalid, Observation
from negolab.protocols import Schema, decode_form, integer_schema, invalid_form, object_schema

MAX_OPTIONS = 100
"""Most options listed; of more, evenly spaced ones, first and last included."""

Seen = Observation[Any, Any]


class _Choice(msgspec.Struct, forbid_unknown_fields=True):
    option: int


def offered_options(told: AnyGame, seen: Seen) -> tuple[Any, ...]:
    """Return the options to choose from."""
    options = told.options(seen)
    if len(options) <= MAX_OPTIONS:
        return options
    return tuple(options[i * (len(options) - 1) // (MAX_OPTIONS - 1)] for i in range(MAX_OPTIONS))


def schema(told: AnyGame, seen: Seen, talk: int) -> Schema:
    return object_schema(option=integer_schema(1, len(offered_options(told, seen))))


def instruction(told: AnyGame, seen: Seen, talk: int) -> str:
    options = enumerate(offered_options(told, seen), 1)
    # As JSON strings, so that each stays on its line.
    lines = [f"{number}: {json.dumps(told.say(option), ensure_ascii=False)}" for number, option in options]
    return "\n".join(['Answer with one JSON object and nothing else: {"option":1}, the number of what you do.', *lines])


def action(told: AnyGame, seen: Seen, value: object) -> Any:
    choice = decode_form(value, _Choice)
    if isinstance(choice, Invalid):
        return choice
    options = offered_options(told, seen)
    if not 1 <= choice.option <= len(options):
        return invalid_form(f"option must be from 1 to {len(options)}.")
    return options[choice.option - 1]


def same(told: AnyGame, seen: Seen, decided: Any, said: Any) -> bool:
    return bool(decided == said)
