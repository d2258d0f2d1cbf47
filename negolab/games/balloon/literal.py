"""Python set displays, read as Python reads them: by its own parser, with a fast path for plain quoted names."""

from __future__ import annotations

import ast
import threading
import warnings
from functools import lru_cache
from typing import Literal, NamedTuple

_LONG = 2_000
_silent = threading.Lock()


class Display(NamedTuple):
    """What stood in braces. In a `mixed` set an element that is no string, and so no item, stands as ''; a `dict` has
    no names, and one without keys is `empty`."""

    names: frozenset[str]
    kind: Literal["strings", "mixed", "dict", "empty"]


def display(body: str) -> Display:
    """What `{body}` denotes; `ValueError` if `ast.literal_eval` would raise anything."""
    return _kept(body) if len(body) <= _LONG else _read(body)


def _read(body: str) -> Display:
    plain = _plain(body)
    return _parsed(_tree(body)) if plain is None else Display(plain, "strings")


_kept = lru_cache(maxsize=4096)(_read)


def _plain(body: str) -> frozenset[str] | None:
    """The names of `'A01', 'B02'`: one kind of quote, one comma and space between, nothing escaped."""
    quote = body[:1]
    if quote not in ("'", '"') or body[-1:] != quote or "\\" in body or not body.isprintable():
        return None
    parts = body[1:-1].split(f"{quote}, {quote}")
    return frozenset(parts) if body.count(quote) == 2 * len(parts) else None


def _tree(body: str) -> ast.expr:
    # Warnings about odd escapes are nobody's business here, and under `-W error` they would change the reading.
    with _silent, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(f"{{{body}}}", mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise ValueError("no Python literal") from error


def _parsed(tree: ast.expr) -> Display:
    if isinstance(tree, ast.Dict):
        for key, value in zip(tree.keys, tree.values, strict=True):
            _hashable(key)
            _value(value)
        return Display(frozenset(), "dict" if tree.keys else "empty")
    if not isinstance(tree, ast.Set):
        raise ValueError("no set")
    values = [_hashable(part) for part in tree.elts]
    strings = frozenset(value for value in values if isinstance(value, str))
    if all(isinstance(value, str) for value in values):
        return Display(strings, "strings")
    return Display(strings | {""}, "mixed")


def _hashable(part: ast.expr | None) -> object:
    """The value of one element. One at a time: in a set, numbers made to collide would take quadratic time."""
    value = _value(part)
    try:
        hash(value)
    except TypeError as error:
        raise ValueError("unhashable") from error
    return value


def _value(part: ast.expr | None) -> object:
    try:
        return ast.literal_eval(part)  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("no Python literal") from error
