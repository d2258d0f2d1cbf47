"""The form of any game: the number of one of its `options`, which are listed in the message."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from negolab.catalog import AnyGame
from negolab.game import Invalid, Observation
from negolab.players.forms.form import Schema, filled, wrong
from negolab.players.forms.shapes import fields, whole

MOST = 100
"""Options listed at most; of more, evenly spaced ones, first and last included."""

Seen = Observation[Any, Any]


class _Filled(msgspec.Struct, forbid_unknown_fields=True):
    option: int


def listed(told: AnyGame, seen: Seen) -> tuple[Any, ...]:
    """The options to choose from."""
    options = told.options(seen)
    if len(options) <= MOST:
        return options
    return tuple(options[i * (len(options) - 1) // (MOST - 1)] for i in range(MOST))


def schema(told: AnyGame, seen: Seen, talk: int) -> Schema:
    return fields(option=whole(1, len(listed(told, seen))))


def instruction(told: AnyGame, seen: Seen, talk: int) -> str:
    options = enumerate(listed(told, seen), 1)
    # As JSON strings, so that each stays on its line.
    lines = [f"{number}: {json.dumps(told.say(option), ensure_ascii=False)}" for number, option in options]
    return "\n".join(['Answer with one JSON object and nothing else: {"option":1}, the number of what you do.', *lines])


def action(told: AnyGame, seen: Seen, value: object) -> Any:
    found = filled(value, _Filled)
    if isinstance(found, Invalid):
        return found
    options = listed(told, seen)
    if not 1 <= found.option <= len(options):
        return wrong(f"option must be from 1 to {len(options)}.")
    return options[found.option - 1]


def same(told: AnyGame, seen: Seen, decided: Any, said: Any) -> bool:
    return bool(decided == said)
