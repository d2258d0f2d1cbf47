"""Values that do not fit where they were put: what would, in plain words."""

from __future__ import annotations

import re
import reprlib
from typing import Any

import msgspec
from msgspec import inspect as kinds

_PLAIN: dict[type[kinds.Type], tuple[str, str]] = {
    kinds.BoolType: ("true or false", "true or false"),
    kinds.IntType: ("a whole number", "whole numbers"),
    kinds.FloatType: ("a number", "numbers"),
    kinds.StrType: ("a text", "texts"),
    kinds.StructType: ("a table", "tables"),
}
_OWN_WORDS = ("Expected `", "Invalid enum value")
"""How msgspec begins what it says by itself. Anything else is said by the type, and stays as it is."""
_OF_TYPE = re.compile(r"Invalid enum value|.*, got ")
"""What it says where the type itself is wrong, not a bound of it."""
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_PATH = re.compile(r"`\$(.*)`")
_FIELD = re.compile(r"\.\w")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def fit(value: Any, kind: Any, name: str, called: str = "{}") -> Any:
    """The value as this type; `ValueError` says what `name` must be, named as in `misfit`."""
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        raise ValueError(misfit(error, kind, value, called, name)) from None


def misfit(error: msgspec.ValidationError, kind: Any, given: Any, called: str = "{}", name: str = "") -> str:
    """What is wrong with what was `given` for `kind`: the first place in it that does not fit, and what must be there.
    `called` is how a place is named, with {} for the way to it from `name`, as in instance.limit or buyer_values[1]."""
    said, _, at = str(error).partition(" - at ")
    path = found[1] if (found := _PATH.search(at)) else ""
    end, shape, value = _reached(path, kinds.type_info(kind), given)
    place = f"{name}{path[:end]}".removeprefix(".")
    if missing := _MISSING.fullmatch(said):
        return f"{called.format(f'{place}.{missing[1]}'.removeprefix('.'))} is missing"
    if not said.startswith(_OWN_WORDS):
        return f"{called.format(place)}: {said}" if place else said
    wanted = _wanted(shape) if _OF_TYPE.match(said) and not _FIELD.search(path, end) else None
    shown = reprlib.repr(value)
    must = f"cannot be {shown}: {error}" if wanted is None else f"must be {wanted}, not {shown}"
    return f"{called.format(place)} {must}"


def _reached(path: str, shape: kinds.Type, value: Any) -> tuple[int, kinds.Type, Any]:
    """How far a path of msgspec's leads by steps that are named, what belongs there and what is there."""
    end = 0
    while (step := _STEP.match(path, end)) and (inner := _inner(plain(shape), value, step)) is not None:
        shape, value, end = inner, value[step[1] or int(step[2])], step.end()
    return end, shape, value


def _inner(shape: kinds.Type, value: Any, step: re.Match[str]) -> kinds.Type | None:
    """What belongs one step further in; None where the type alone does not say it."""
    match shape, value:
        case kinds.StructType(), dict():
            return next(field.type for field in shape.fields if field.encode_name == step[1])
        case kinds.CollectionType(), list() | tuple():
            return shape.item_type
        case kinds.TupleType(), list() | tuple():
            return shape.item_types[int(step[2])]
        case _:
            return None


def plain(shape: kinds.Type) -> kinds.Type:
    """A type without its `| None`."""
    if isinstance(shape, kinds.UnionType):
        rest = [one for one in shape.types if not isinstance(one, kinds.NoneType)]
        return rest[0] if len(rest) == 1 else kinds.UnionType(tuple(rest))
    return shape


def choices(shape: kinds.Type) -> list[str]:
    """The words of a type that takes one of a few."""
    shape = plain(shape)
    return [str(value) for value in shape.values] if isinstance(shape, kinds.LiteralType) else []


def _wanted(shape: kinds.Type, *, many: bool = False) -> str | None:
    """What fits, one or `many` of it; None for what has no plain name."""
    shape = plain(shape)
    match shape:
        case kinds.LiteralType():
            few = choices(shape)
            return few[0] if len(few) == 1 else f"one of {', '.join(few)}"
        case kinds.UnionType():
            parts = [_wanted(one, many=many) for one in shape.types]
            return None if None in parts else " or ".join(map(str, parts))
        case kinds.CollectionType():
            return _list(_wanted(shape.item_type, many=True), many=many)
        case kinds.TupleType() if len(set(map(repr, shape.item_types))) == 1:
            inner = _wanted(shape.item_types[0], many=True)
            return _list(inner and f"{len(shape.item_types)} {inner}", many=many)
        case kinds.DictType():
            key, held = _wanted(shape.key_type), _wanted(shape.value_type)
            return key and held and f"{'tables' if many else 'a table'} in which {key} has {held}"
        case _:
            one, some = _PLAIN.get(type(shape), (None, None))
            return some if many else one


def _list(inner: str | None, *, many: bool) -> str | None:
    return inner and f"{'lists' if many else 'a list'} of {inner}"
