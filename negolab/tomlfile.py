"""Files in TOML that people write: read into typed values, with each mistake said as its author would name it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect as kinds

from negolab import catalog
from negolab.fitting import choices, plain

S = TypeVar("S", bound=msgspec.Struct)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a file."""


def text(path: Path) -> str:
    """The words of a file; `ValueError` if they cannot be read."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is no text in UTF-8") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None


def table(text: str, kind: type[S], own: tuple[str, ...] = ()) -> dict[str, Any]:
    """The keys and values of a file; `ValueError` for one that `kind` does not have, with the near ones. Fields in
    `own` are no keys of the file."""
    shape = kinds.type_info(kind)
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(_brackets(text, shape) or str(error)) from None
    for key in own:
        if key in found:
            raise ValueError(_unknown("", key, [name for name in _fields(shape) if name not in own]))
    _check(found, shape, "", own)
    return found


def converted(table: dict[str, Any], kind: type[S]) -> S:
    """The table as a typed value; `ValueError` says where in it the mistake is."""
    try:
        return msgspec.convert(table, type=kind)
    except msgspec.ValidationError as error:
        raise ValueError(_said(str(error), table, kinds.type_info(kind))) from None


# What a table may hold.


def _fields(shape: kinds.Type) -> dict[str, kinds.Type]:
    return {field.encode_name: field.type for field in shape.fields} if isinstance(shape, kinds.StructType) else {}


def _listed(shape: kinds.Type) -> kinds.Type | None:
    """The tables of a list of tables."""
    shape = plain(shape)
    inner = shape.item_type if isinstance(shape, kinds.VarTupleType) else None
    return inner if isinstance(inner, kinds.StructType | kinds.DictType) else None


def _check(found: dict[str, Any], shape: kinds.Type, where: str, own: tuple[str, ...] = ()) -> None:
    known = {name: kind for name, kind in _fields(shape).items() if name not in own}
    for key, value in found.items():
        if key not in known:
            raise ValueError(_unknown(where, key, known))
        kind = plain(known[key])
        if (inner := _listed(kind)) is not None:
            if isinstance(value, dict):
                raise ValueError(_twice(key))
            for i, one in enumerate(value if isinstance(value, list) else []):
                if isinstance(one, dict) and isinstance(inner, kinds.StructType):
                    _check(one, inner, where + _place(key, i, one, many=True))
        elif isinstance(kind, kinds.StructType) and isinstance(value, dict):
            _check(value, kind, where + _place(key, 0, value, many=False))
        elif isinstance(kind, kinds.DictType) and isinstance(value, dict):
            for word in value:
                if (words := choices(kind.key_type)) and word not in words:
                    raise ValueError(f"{where}{key}: unknown word {word!r}: {catalog.near(word, words)}")


def _unknown(where: str, key: str, known: Any) -> str:
    return f"{where}unknown key {key!r}: {catalog.near(key, list(known))}"


def _twice(key: str) -> str:
    return f"{key}: each one begins with [[{key}]], in two brackets"


def _brackets(text: str, shape: kinds.Type) -> str:
    """What is wrong where [things] stands beside [[things]]; "" if that is not the mistake."""
    for key, kind in _fields(shape).items():
        if _listed(kind) is not None and re.search(rf"^\s*\[\s*{key}\s*\]", text, re.MULTILINE):
            return _twice(key)
    return ""


# Saying where a mistake is.


def _one(key: str) -> str:
    return key.removesuffix("s")


def _place(key: str, number: int, found: Any, *, many: bool) -> str:
    """A table of the file, as one would name it."""
    if not many:
        return f"{key}: "
    name = found.get("name") if isinstance(found, dict) else None
    return f"{_one(key)} {name!r}: " if isinstance(name, str) else f"{_one(key)} {number + 1}: "


_TYPES = {
    "str": 'a text in quotes, "..."',
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list, [...]",
    "object": "a table",
}
_GOT = {"str": "a text", "float": "a number with a point"}


def _said(error: str, found: dict[str, Any], shape: kinds.Type) -> str:
    """An error of `msgspec.convert`, with the place as one would name it and types in plain words."""
    said, _, path = error.partition(" - at `$")
    steps = list(_steps(path, found, shape))
    where = "".join(step for step, _ in steps)
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", said):
        return f"{where}{missing[1]} is missing: write {missing[1]} = ..."
    if wrong := re.fullmatch(r"Expected `([^`]+)`, got `(\w+)`", said):
        wanted = [_TYPES.get(kind, kind) for kind in wrong[1].split(" | ") if kind != "null"]
        return f"{where}expected {' or '.join(wanted)}, not {_GOT.get(wrong[2], _TYPES.get(wrong[2], wrong[2]))}"
    if choice := re.fullmatch(r"Invalid enum value '?(.*?)'?", said):
        return f"{where}unknown word {choice[1]!r}: {catalog.near(choice[1], choices(steps[-1][1]))}"
    return where + said


def _steps(path: str, found: Any, shape: kinds.Type) -> Iterator[tuple[str, kinds.Type]]:
    """The places on the way to a mistake, each with what belongs there."""
    for key, index in re.findall(r"\.(\w+)(?:\[(\d+)\])?", path):
        found = found.get(key, {}) if isinstance(found, dict) else {}
        shape = plain(_fields(shape).get(key, shape))
        many = _listed(shape)
        if index:
            found = found[int(index)] if isinstance(found, list) else {}
            shape = many or shape
        yield _place(key, int(index or 0), found, many=many is not None), shape
