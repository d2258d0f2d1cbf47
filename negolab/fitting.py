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
}
_OWN_WORDS = ("Expected `", "Invalid enum value")
"""How msgspec begins what it says by itself. Anything else is said by the type, and stays as it is."""
_OF_TYPE = re.compile(r"Invalid enum value|.*, got ")
"""What it says where the type itself is wrong, not a bound of it."""


def fit(value: Any, kind: Any, name: str) -> Any:
    """The value as this type; `ValueError` says what `name` must be."""
    try:
        return msgspec.convert(value, type=kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name} {_must(kinds.type_info(kind), value, str(error))}") from None


def misfit(
    error: msgspec.ValidationError, kind: type[msgspec.Struct], given: dict[str, Any], called: str = "{}"
) -> str:
    """What is wrong with values that were `given` for the fields of `kind`: the first field that does not fit, and what
    it must be. `called` is how a field is named, with {} for its name."""
    said, _, where = str(error).partition(" - at ")
    named = re.search(r"`\$\.(\w+)", where)
    if named is None:
        return said
    name = called.format(named[1])
    if not said.startswith(_OWN_WORDS):
        return f"{name}: {said}"
    (shape,) = (field.type for field in msgspec.structs.fields(kind) if field.encode_name == named[1])
    return f"{name} {_must(kinds.type_info(shape), given[named[1]], str(error))}"


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


def _must(shape: kinds.Type, value: Any, said: str) -> str:
    wanted, found = _wanted(shape) if _OF_TYPE.match(said) else None, reprlib.repr(value)
    return f"cannot be {found}: {said}" if wanted is None else f"must be {wanted}, not {found}"


def _wanted(shape: kinds.Type, *, many: bool = False) -> str | None:
    """What fits, one or `many` of it; None for what has fields of its own, of which an error says more."""
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
