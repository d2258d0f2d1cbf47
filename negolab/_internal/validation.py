"""Validation messages in plain words: what a value must be, and where in a parameter or a TOML file it is wrong.

They are all made from msgspec's validation errors and the expected type.
"""

from __future__ import annotations

import difflib
import json
import re
import reprlib
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect as types

from negolab._internal.files import read_text

S = TypeVar("S", bound=msgspec.Struct)
MAX_TIME = 2**37
"""A time that is read must be less than this, in seconds since 1970: in the year 6325, as calendars and tables end in
9999."""


def suggest(name: str, known: Iterable[str], main: Iterable[str] = ()) -> str:
    """Return the end of an error message about an unknown name: "did you mean ...?" or, if none is similar, the `main`
    names or all.

    >>> suggest("splt", ["split", "trading"])
    'did you mean split?'
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"choose from {', '.join(main or known)}."


@contextmanager
def located(where: object, kinds: type[Exception] | tuple[type[Exception], ...] = ValueError) -> Iterator[None]:
    """Raise an error of these kinds as a one-line `ValueError` that begins with where it is."""
    try:
        yield
    except kinds as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())}") from None


# Types in words.

_WORDS: dict[type[types.Type], tuple[str, str]] = {
    types.BoolType: ("true or false", "true or false"),
    types.IntType: ("a whole number", "whole numbers"),
    types.FloatType: ("a number", "numbers"),
    types.StrType: ("text", "strings"),
    types.StructType: ("a table", "tables"),
}
"""One value and several values of a type in words, without bounds."""


def without_none(kind: types.Type) -> types.Type:
    """Return a type without its `| None` and without what `Meta` adds to its documentation."""
    if isinstance(kind, types.Metadata):
        return without_none(kind.type)
    if isinstance(kind, types.UnionType):
        rest = [one for one in kind.types if not isinstance(one, types.NoneType)]
        return without_none(rest[0]) if len(rest) == 1 else types.UnionType(tuple(rest))
    return kind


def choices(kind: types.Type) -> list[str]:
    """Return the values of a `Literal` or an enum; none for any other type."""
    match without_none(kind):
        case types.LiteralType(values):
            return list(map(str, values))
        case types.EnumType(cls):
            return [str(member.value) for member in cls]
        case _:
            return []


def _describe_type(kind: types.Type, *, many: bool = False) -> str | None:
    """Return one value of the type, or `many`, and its bounds in words; None for a type without a plain name."""
    kind = without_none(kind)
    match kind:
        case types.LiteralType() | types.EnumType():
            values = choices(kind)
            return values[0] if len(values) == 1 else f"one of {', '.join(values)}"
        case types.UnionType():
            parts = [_describe_type(one, many=many) for one in kind.types]
            return None if None in parts else " or ".join(map(str, parts))
        case types.CollectionType():
            items = _describe_type(kind.item_type, many=True)
            return _describe_list(items and f"{_describe_length(kind)}{items}", many=many)
        case types.TupleType() if len(set(map(repr, kind.item_types))) == 1:
            items = _describe_type(kind.item_types[0], many=True)
            return _describe_list(items and f"{len(kind.item_types)} {items}", many=many)
        case types.DictType():
            key, value = _describe_type(kind.key_type), _describe_type(kind.value_type)
            length = (size := _describe_length(kind)) and f" of {size}entries"
            table = f"{'tables' if many else 'a table'}{length}"
            return key and value and f"{table} in which every key is {key} and every value is {value}"
        case _:
            words = _WORDS.get(type(kind))
            return words and words[many] + _describe_bounds(kind)


def _describe_length(kind: types.CollectionType | types.DictType | types.StrType) -> str:
    """Return the bounds of a length in words, followed by a space; "" if there are none."""
    match kind.min_length, kind.max_length:
        case None, None:
            return ""
        case 1, None:
            return "one or more "
        case least, None:
            return f"at least {least} "
        case None, most:
            return f"at most {most} "
        case least, most:
            return f"{least} to {most} "


_LARGEST = sys.float_info.max
"""An upper bound that excludes only infinity and needs no words."""


def _describe_bounds(kind: types.Type) -> str:
    """Return the bounds of a number or a text as the end of a phrase, such as ` from 1 up`; "" if there are none."""
    if isinstance(kind, types.StrType):
        length = (size := _describe_length(kind)) and f" of {size}characters"
        return length + ("" if kind.pattern is None else f" that fits {kind.pattern}")
    if not isinstance(kind, types.IntType | types.FloatType):
        return ""
    most = None if kind.le == _LARGEST else kind.le
    if kind.ge is not None and kind.gt is None and kind.lt is None:
        return f" from {_number(kind.ge)} " + ("up" if most is None else f"to {_number(most)}")
    bounds = {"at least": kind.ge, "above": kind.gt, "at most": most, "below": kind.lt}
    said = " and ".join(f"{words} {_number(bound)}" for words, bound in bounds.items() if bound is not None)
    return said and f" {said}"


def _number(bound: float) -> str:
    return f"{int(bound):,}" if bound == int(bound) else f"{bound:g}"


def _describe_list(items: str | None, *, many: bool) -> str | None:
    return items and f"{'lists' if many else 'a list'} of {items}"


# The place of an error.

_OWN_WORDS = ("Expected `", "Invalid enum value")
"""Beginnings of msgspec's own messages; any other message comes from the type itself and is passed on."""
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_PATH = re.compile(r"`\$(.*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class _Place(NamedTuple):
    """A step toward an invalid value: the path so far, its key or index, the expected type and the value there."""

    path: str
    key: str | int
    kind: types.Type
    value: Any


def _parse_error(error: msgspec.ValidationError, kind: Any, value: Any) -> tuple[str, list[_Place], str]:
    """Return the message without its path, the places from the root to the error, and the part of the path without a
    name."""
    message, _, at = str(error).partition(" - at ")
    path = match[1] if (match := _PATH.search(at)) else ""
    places, end = [_Place("", "", types.type_info(kind), value)], 0
    while step := _STEP.match(path, end):
        last = places[-1]
        inner = _type_at(last.kind, last.value, step)
        if inner is None:
            break
        key: str | int = step[1] or int(step[2])
        end = step.end()
        places.append(_Place(path[:end], key, inner, last.value[key]))
    return message, places, path[end:]


def _type_at(kind: types.Type, value: Any, step: re.Match[str]) -> types.Type | None:
    """Return the type one step inside `kind`; None if the type alone does not determine it."""
    kind = without_none(kind)
    match kind, value:
        case types.UnionType(), _:
            return next(filter(None, (_type_at(one, value, step) for one in kind.types)), None)
        case types.StructType(), dict():
            return _fields(kind).get(step[1])
        case types.CollectionType(), list() | tuple():
            return kind.item_type
        case types.TupleType(), list() | tuple():
            return kind.item_types[int(step[2])]
        case _:
            return None


def _fields(kind: types.Type) -> dict[str, types.Type]:
    return {field.encode_name: field.type for field in kind.fields} if isinstance(kind, types.StructType) else {}


# Texts in a file's options.

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_name(value: str, what: str = "name") -> None:
    """Raise `ValueError` unless `value`, used in file names and tables, has only letters, digits and inner hyphens."""
    if not _NAME.fullmatch(value) or len(value) > 60:
        raise ValueError(f"{what} must be letters, digits and hyphens, at most 60, not {value!r}")


def check_identifier(value: str, what: str) -> None:
    """Raise `ValueError` unless `value` can be the name of a column or a query parameter."""
    if not _WORD.fullmatch(value) or len(value) > 60:
        raise ValueError(f"{what} must be a letter, then letters, digits, _ or -, at most 60, not {value!r}")


def check_text(value: str, what: str) -> None:
    """Raise `ValueError` for a blank text."""
    if not value.strip():
        raise ValueError(f"{what} is empty: write the text that people read")


def check_distinct(values: Sequence[str], what: str) -> None:
    """Raise `ValueError` if `values` holds a duplicate."""
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(f"{what} {value!r} appears twice: values must be unique")


# Single values.


def convert_value(value: Any, kind: Any, name: str = "", label: str = "{}", *, strict: bool = True) -> Any:
    """Convert a value called `name` to a type; a `ValueError` says what it must be (see `explain_validation_error`)."""
    try:
        return msgspec.convert(value, type=kind, strict=strict)
    except msgspec.ValidationError as error:
        raise ValueError(explain_validation_error(error, kind, value, label, name)) from None


def check_fields(value: msgspec.Struct) -> None:
    """Raise `ValueError` for the first field that does not fit its declared type and the bounds of its `Meta`.

    msgspec checks both when it decodes, and neither when Python constructs. None fits any field: it is not told.
    """
    names, told = _declared(type(value))
    convert_value({shown: getattr(value, name) for name, shown in names}, told)


@cache
def _declared(kind: type[msgspec.Struct]) -> tuple[tuple[tuple[str, str], ...], type[msgspec.Struct]]:
    """Return each field's name and its name in data, and a type with the same fields, all of which may be None."""
    fields = msgspec.structs.fields(kind)
    # msgspec converts an enum member's written form to the member, but refuses the member itself.
    has_enum = ["EnumType(" in repr(types.type_info(field.type)) for field in fields]
    told = [
        (field.encode_name, Any if enum else field.type | None) for field, enum in zip(fields, has_enum, strict=True)
    ]
    return tuple((field.name, field.encode_name) for field in fields), msgspec.defstruct(kind.__name__, told)


def explain_validation_error(
    error: msgspec.ValidationError, kind: Any, value: Any, label: str = "{}", name: str = ""
) -> str:
    """Say which part of `value` is invalid and what it must be.

    `label` formats the path of that part, which begins with `name`, as in instance.limit or buyer_values[1].
    """
    message, places, rest = _parse_error(error, kind, value)
    path = f"{name}{places[-1].path}".removeprefix(".")
    if missing := _MISSING.fullmatch(message):
        return f"{label.format(f'{path}.{missing[1]}'.removeprefix('.'))} is missing"
    if message.startswith(_OWN_WORDS):
        return f"{label.format(path)} {_describe_fault(error, places[-1], rest)}"
    return f"{label.format(path)}: {message}" if path else message


def _describe_fault(error: msgspec.ValidationError, place: _Place, rest: str) -> str:
    """Say what the value at a place must be, and what it is; `rest` is the part of its path without a name."""
    words = None if re.search(r"\.\w", rest) else _describe_type(place.kind)
    if not rest and isinstance(without_none(place.kind), types.DictType):
        words = words or "a table"
    shown = reprlib.repr(place.value)
    return f"cannot be {shown}: {error}" if words is None else f"must be {words}, not {shown}"


# TOML files.


class TomlTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class for the tables in a TOML file."""


Positive = Annotated[float, msgspec.Meta(gt=0, le=_LARGEST)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Name = Annotated[str, msgspec.Meta(max_length=10_000)]
"""A name that a game shows, often and on every screen."""


_PART = r"""[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_LONG_KEY = re.compile(rf"(?:^[ \t]*\[*|[{{,])(?:{_PART}\.){{50}}", re.MULTILINE)
"""A key with so many parts that it would fill the memory, because TOML's parser keeps every beginning of it."""


def read_toml(path: Path, kind: type[S]) -> S:
    """Read a file as a typed value; a `ValueError` names the file, the place in it and what to do."""
    text = read_text(path)
    with located(path):
        return convert_table(parse_toml(text, kind), kind)


def parse_toml(text: str, kind: type[S], own: tuple[str, ...] = ()) -> dict[str, Any]:
    """Parse TOML whose keys must be fields of `kind` other than those in `own`; a `ValueError` names an unknown key."""
    expected = types.type_info(kind)
    if long := _LONG_KEY.search(text):
        raise ValueError(f"line {text.count(chr(10), 0, long.end()) + 1}: a key has too many parts")
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(_explain_brackets(text, expected) or _explain_syntax(str(error))) from None
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
    except ValueError:  # Python refuses to read an integer of thousands of digits
        raise ValueError("a number has too many digits") from None
    known = {name: field for name, field in _fields(expected).items() if name not in own}
    _check_keys(table, known, "", known)
    return table


def check_table(table: dict[str, Any], kind: type[S]) -> None:
    """Raise `ValueError`, naming the place, unless a parsed table can be converted to `kind`."""
    known = _fields(types.type_info(kind))
    _check_keys(table, known, "", known)
    convert_table(table, kind)


def convert_table(table: dict[str, Any], kind: type[S]) -> S:
    """Convert a parsed table to a typed value; a `ValueError` names the place of the mistake."""
    try:
        return msgspec.convert(table, type=kind)
    except msgspec.ValidationError as error:
        raise ValueError(_explain_toml_error(error, kind, table)) from None


_SYNTAX = re.compile(r"(.*) \(at (line \d+), column \d+\)")
_REMEDIES = {
    "Unterminated string": 'a quote is not closed: text must end with the quote that it begins with, "..."',
    "Illegal character '\\n'": "a quote is not closed: text must end on its line, with the quote that it begins with",
    "Expected \"'": "a quote is not closed: text must end with the quote that it begins with",
    "Invalid value": 'write text in quotes, "...", and true, false and numbers without',
    "Cannot overwrite a value": "this name appears twice: write it only once",
    "Cannot declare": "this table already exists: write it only once",
    "Unclosed array": "a list ends with ], with commas between its items and quotes around text",
    "Expected '=' after a key": "write name = value; a comment begins with #",
    "Invalid statement": "write name = value; a comment begins with #",
    "Expected newline": 'a line has one value: text in quotes, "...", or a list in brackets, [...]',
    "Unescaped '\\'": "write each backslash twice, or put the text between single quotes",
}


def _explain_syntax(message: str) -> str:
    """Say where a text is not TOML, and how to fix the usual mistakes."""
    found = _SYNTAX.fullmatch(message)
    remedy = next((words for begin, words in _REMEDIES.items() if message.startswith(begin)), None)
    if found is None:
        return message if remedy is None else f"{message}: {remedy}"
    return f"{found[2]}: {found[1]}" + ("" if remedy is None else f": {remedy}")


def _item_type(kind: types.Type) -> types.Type | None:
    """Return the table type in a list of tables, or in one among several types; None for any other type."""
    kind = without_none(kind)
    if isinstance(kind, types.UnionType):
        return next(filter(None, map(_item_type, kind.types)), None)
    item = kind.item_type if isinstance(kind, types.VarTupleType) else None
    return item if isinstance(item, types.StructType | types.DictType) else None


def _check_keys(table: dict[str, Any], known: dict[str, types.Type], where: str, top: dict[str, types.Type]) -> None:
    """Raise `ValueError` for a key that is not `known`; those of `top` are named as misplaced inside a table."""
    for key, value in table.items():
        if key not in known:
            if where and key in top:
                raise ValueError(f"{where}{key!r} is below a line in brackets: move it above the first one")
            raise ValueError(f"{where}unknown key {key!r}: {suggest(key, known)}")
        kind = without_none(known[key])
        if (item := _item_type(kind)) is not None:
            if isinstance(value, dict):
                raise ValueError(_ask_for_two_brackets(key))
            for i, one in enumerate(value if isinstance(value, list) else []):
                if isinstance(one, dict) and isinstance(item, types.StructType):
                    _check_keys(one, _fields(item), f"{where}{_name_item(key, i, value)}: ", top)
        elif isinstance(kind, types.StructType) and isinstance(value, dict):
            _check_keys(value, _fields(kind), f"{where}{key}: ", top)
        elif isinstance(kind, types.DictType) and isinstance(value, dict):
            for word in value:
                if (words := choices(kind.key_type)) and word not in words:
                    raise ValueError(f"{where}{key}: unknown word {word!r}: {suggest(word, words)}")


def _ask_for_two_brackets(key: str) -> str:
    return f"{key}: each one begins with [[{key}]], in double brackets"


def _explain_brackets(text: str, kind: types.Type) -> str:
    """Explain the mistake of writing [things] for [[things]]; "" if the text does not make it."""
    for key, field in _fields(kind).items():
        if _item_type(field) is not None and re.search(rf"^\s*\[\s*{key}\s*\]", text, re.MULTILINE):
            return _ask_for_two_brackets(key)
    return ""


def _name_item(key: str, number: int, items: list[Any]) -> str:
    """Name a table in a list as its author would: by its name, or else by its number from 1."""
    name = items[number].get("name") if isinstance(items[number], dict) else None
    return f"{key.removesuffix('s')} {repr(name) if isinstance(name, str) else f'{number + 1} of {len(items)}'}"


def _explain_toml_error(error: msgspec.ValidationError, kind: Any, table: dict[str, Any]) -> str:
    """Say which part of a file's table is invalid, what it must be, and how that is written."""
    message, places, rest = _parse_error(error, kind, table)
    where = [""]
    for before, place in pairwise(places):
        if isinstance(place.key, str):
            where.append(place.key)
        elif _item_type(before.kind) is not None:
            where[-1] = _name_item(str(before.key), place.key, before.value)
        else:
            where[-1] += f"[{place.key}]"
    if message.startswith(_OWN_WORDS):
        fault = f"{where.pop()} {_describe_fault(error, places[-1], rest)}{_toml_hint(places)}"
    elif missing := _MISSING.fullmatch(message):
        name = missing[1]
        tables = _item_type(_fields(without_none(places[-1].kind)).get(name, types.AnyType())) is not None
        fault = f"{name} is missing: " + (f"begin one with [[{name}]]" if tables else f"write {name} = ...")
    else:
        fault = message
    return ": ".join((*filter(None, where), fault))


def _toml_hint(places: list[_Place]) -> str:
    """Say how the value at the last place is written in TOML, if its author may not know it; otherwise ""."""
    kind, value = without_none(places[-1].kind), places[-1].value
    match kind:
        case types.StructType() | types.DictType() if len(places) == 2:
            return f": begin it with [{places[-1].key}]"
        case types.StrType() if isinstance(value, bool | int | float):
            return ': write it in quotes, "..."'
        case types.BoolType() | types.IntType() | types.FloatType() if isinstance(value, str) and isinstance(
            parse_value(value), bool | int | float
        ):
            return ": write it without quotes"
        case _:
            return ""


def is_json(text: str | bytes) -> bool:
    """Return True for a text that is one JSON value."""
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def parse_value(value: str) -> Any:
    """Parse a value as JSON, or else keep the text."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value.strip()
