"""Escape and small builders. Every text that a player or a model wrote goes through `escape`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from html import escape as _escape
from importlib.resources import files
from typing import Any


def escape(text: object) -> str:
    """Text as HTML text, quotes included."""
    return _escape(str(text), quote=True)


def element(tag: str, *children: str, cls: str = "", **attributes: str) -> str:
    """An element around children that are HTML already."""
    named = {"class": cls, **attributes} if cls else attributes
    written = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in named.items())
    return f"<{tag}{written}>{''.join(children)}</{tag}>"


def said(text: str) -> str:
    """Text with its line breaks, as somebody wrote it."""
    return element("div", escape(text), cls="nl-said")


def folded(title: str, body: str, *, is_open: bool = False) -> str:
    """A part that opens and closes."""
    opened = {"open": ""} if is_open else {}
    return element("details", element("summary", escape(title)), body, cls="nl-folded", **opened)


def facts(values: Mapping[str, Any]) -> str:
    """Facts as tables: a mapping of mappings becomes rows and columns, anything else a line."""
    single = {name: value for name, value in values.items() if not _is_grid(value)}
    grids = {name: value for name, value in values.items() if _is_grid(value)}
    lines = _table((), ((label(name), shown(value)) for name, value in single.items()), "Your facts") if single else ""
    return lines + "".join(_grid(name, grid) for name, grid in grids.items())


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(v, Mapping) for v in value.values())


def _grid(name: str, grid: Mapping[str, Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(column for row in grid.values() for column in row))
    body = ([str(key), *(shown(row.get(column)) for column in columns)] for key, row in grid.items())
    return _table((label(name), *map(label, columns)), body, label(name))


def _table(head: Iterable[str], body: Iterable[Iterable[str]], caption: str) -> str:
    top = "".join(element("th", escape(cell), scope="col") for cell in head)
    rows = "".join(_row(cells) for cells in body)
    return element(
        "table",
        element("caption", escape(caption), cls="nl-hidden"),
        element("thead", element("tr", top)) if top else "",
        element("tbody", rows),
        cls="nl-facts",
    )


def _row(cells: Iterable[str]) -> str:
    first, *rest = cells
    return element("tr", element("th", escape(first), scope="row"), *(element("td", escape(c)) for c in rest))


def label(name: str) -> str:
    """A field's name as words."""
    return name.replace("_", " ")


def shown(value: Any) -> str:
    """A value as one would write it: lists with commas, nothing as a dash, floats with at most two decimals."""
    match value:
        case None | () | []:
            return "\N{EN DASH}"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case list() | tuple() | frozenset():
            return ", ".join(shown(v) for v in value)
        case dict():
            return ", ".join(f"{label(str(k))} {shown(v)}" for k, v in value.items())
    return str(value)


@cache
def theme() -> str:
    """The style sheet, as an element to put on the page once."""
    return element("style", files("negolab_widgets").joinpath("theme.css").read_text("utf-8"))
