"""The names of item types: which words mean which type, and the marks that enclose a proposal."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

_TAGS = ("items_to_self", "split", "propose", "proposal")
_WRAPPERS = ("items_to_self", "proposal", "split", "keep")
_NAME = re.compile(r"[a-z]+")


class Names(NamedTuple):
    """`types`: every form of a name -> its type; `opening`: the tags that open a proposal; `wrappers`: the JSON keys
    that may hold one."""

    items: tuple[str, ...]
    types: dict[str, int]
    opening: re.Pattern[str]
    wrappers: frozenset[str]


def singular(item: str) -> str:
    """The name without one final "s"."""
    return item.removesuffix("s") or item


def forms(item: str) -> tuple[str, str]:
    """Singular and plural: the name with and without one final "s"."""
    one = singular(item)
    return one, one + "s"


@lru_cache(maxsize=256)
def names(items: tuple[Any, ...]) -> Names:
    """The tables of these types; `ValueError` if a name is malformed or two of them could be mistaken."""
    if not items:
        raise ValueError("items must name at least one type, not ()")
    types: dict[str, int] = {}
    for at, item in enumerate(items):
        if not isinstance(item, str) or not _NAME.fullmatch(item) or "and" in forms(item):
            raise ValueError(f'items must be words of the letters a-z other than "and", not {item!r}')
        for form in forms(item):
            if form in types:
                raise ValueError(
                    f"items must differ in singular and plural: {items[types[form]]!r} and {item!r} do not"
                )
            types[form] = at
    own = (f"{items[0]}_to_self",) if len(items) == 1 else ()
    tags = "|".join((*_TAGS, *own))
    opening = re.compile(rf"<(?P<tag>{tags})>|<<(?P<proposal>proposal)_start>>|<no_deal(?: ?/)?>")
    return Names(items, types, opening, frozenset(_WRAPPERS + own))
