"""The moves of a game that does not define them, derived from its options and the types of its actions.

Each type of action among the options is a move, with the type's fields: a whole number from the options' smallest to
their largest, one of their values, some of those in a set, or free text. Actions that do not fit this are chosen from a
list of their words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_type_hints

import msgspec

from negolab.moves import HEAD, Choice, Count, Field, Move, Moves, Several, Words, as_json

MAX_OPTIONS = 100
"""Largest number of options in a list; if there are more, it has evenly spaced ones, including the first and the
last."""
LISTED = "option"
"""Kind of the move that chooses one of the listed options, and the name of its field."""
MAX_CHOICES = 24
"""Largest number of values with gaps between them that are listed one by one."""


def derived_moves(game: Any, seen: Any, talk: int) -> Moves:
    """Return the moves that follow from a game's options."""
    options = game.options(seen)
    by_type: dict[type, list[Any]] = {}
    for option in options:
        by_type.setdefault(type(option), []).append(option)
    found = [(kind, found, _fields(game, seen, kind, found, talk)) for kind, found in by_type.items()]
    moves = tuple(_move(kind, found[0], fields) for kind, found, fields in found if fields is not None)
    return Moves(moves) if len(moves) == len(found) else listed_moves(game, options)


def _move(kind: type, like: Any, fields: dict[str, Field]) -> Move:
    tag = getattr(getattr(kind, "__struct_config__", None), "tag", None)
    name = tag if isinstance(tag, str) else kind.__name__.lower()
    return Move(name, partial(_made, like), fields, name.replace("_", " ").capitalize(), _means(fields))


def listed_moves(game: Any, options: Sequence[Any]) -> Moves:
    """Return the move that chooses one of the options by its number."""
    options = _evenly_spaced(options)
    said = [game.say(option) for option in options]
    # As JSON strings, so that each stays on its line.
    lines = [f"{number}: {json.dumps(text, ensure_ascii=False)}" for number, text in enumerate(said, 1)]
    field = Count(1, len(said), words=tuple(said))
    told = "\n".join([f'{HEAD}: {{"option":1}}, the number of what you do.', *lines])
    return Moves((Move(LISTED, lambda option: options[option - 1], {LISTED: field}),), tag="", bare=True, told=told)


def _made(like: Any, **values: Any) -> Any:
    sets = {name: frozenset(value) for name, value in values.items() if isinstance(value, list)}
    return msgspec.structs.replace(like, **values | sets)


def _fields(game: Any, seen: Any, kind: type, options: list[Any], talk: int) -> dict[str, Field] | None:
    """Return the fields for a type of action; None if some part of it is not a number, a word or a yes or no."""
    if not issubclass(kind, msgspec.Struct):
        return None
    hints = get_type_hints(kind, include_extras=True)

    def takes(name: str, value: Any) -> bool:
        """Return True if the game reads back an action with this value, although no option has it."""
        tried = _made(options[0], **{name: value})
        return bool(game.parse(game.say(tried), seen) == tried)

    found: dict[str, Field] = {}
    for name in kind.__struct_fields__:
        observed = [getattr(option, name) for option in options]
        if all(isinstance(value, frozenset) for value in observed):
            if any(type(one) not in (int, str) for value in observed for one in value):
                return None
            found[name] = _set_field(observed, hints[name])
            continue
        if any(type(value) not in (bool, int, str) for value in observed):
            return None
        field = _field(sorted(set(observed), key=observed.index), name, hints[name], talk, partial(takes, name))
        found |= {} if field is None else {name: field}
    return found


def _meta(hint: Any) -> msgspec.Meta:
    return next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, msgspec.Meta)), msgspec.Meta())


def _set_field(observed: list[frozenset[Any]], hint: Any) -> Field:
    """Return a field for some of the elements of these sets, in a fixed order."""
    within = tuple(sorted(frozenset[Any]().union(*observed), key=lambda one: (isinstance(one, str), one)))
    sizes = [len(value) for value in observed]
    return Several(Choice(within), min(sizes), max(sizes), label=_meta(hint).title or "")


def _field(observed: list[Any], name: str, hint: Any, talk: int, takes: Callable[[Any], bool]) -> Field | None:
    """Return a field derived from the options' values; None for words if none may be written."""
    meta = _meta(hint)
    label = meta.title or name.replace("_", " ").capitalize()
    if observed == [""]:
        return Words(min(talk, meta.max_length or talk), label=label, default="") if talk and takes("x") else None
    if type(observed[0]) is int:
        least, most = min(observed), max(observed)
        gap = next((number for number in range(least, most) if number not in observed), None)
        if gap is None or len(observed) > MAX_CHOICES or takes(gap):
            return Count(least, most, (meta.extra or {}).get("unit", ""), label=label)
    return Choice(tuple(observed), label=label)


def _means(fields: dict[str, Field]) -> str:
    """Say what the fields may hold."""
    parts = [f"{name} from {field.least} to {field.most}" for name, field in fields.items() if isinstance(field, Count)]
    for name, field in fields.items():
        if isinstance(field, Choice) and len(field.options) > 1:
            parts.append(f"{name} one of {', '.join(map(as_json, field.options))}")
        if isinstance(field, Several) and isinstance(field.of, Choice):
            parts.append(f"{name} {field.least} to {field.most} of {', '.join(map(as_json, field.of.options))}")
    return f"with {' and '.join(parts)}" if parts else ""


def _evenly_spaced(options: Sequence[Any]) -> Sequence[Any]:
    if len(options) <= MAX_OPTIONS:
        return options
    return [options[i * (len(options) - 1) // (MAX_OPTIONS - 1)] for i in range(MAX_OPTIONS)]
