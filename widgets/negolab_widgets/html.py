"""Small builders of HTML. Text is escaped when it becomes a child or an attribute; what these builders made is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup
from markupsafe import escape as _escape

__all__ = [
    "Markup",
    "bar",
    "element",
    "escape",
    "facts",
    "folded",
    "join",
    "label",
    "pairs",
    "panel",
    "said",
    "shown",
    "table",
]


def escape(text: object) -> Markup:
    """Text as HTML text, quotes included; `Markup` stays as it is."""
    return _escape(text if isinstance(text, Markup) else str(text))


def join(parts: Iterable[object]) -> Markup:
    """Parts one after the other, each escaped unless it is `Markup`."""
    return Markup("").join(map(escape, parts))


def element(tag: str, *children: object, cls: str = "", **attributes: str) -> Markup:
    """An element. Children that are no `Markup` are text and escaped. Underscores in names of attributes become
    hyphens (`aria_label`), one at the end is dropped (`for_`)."""
    named = {"class": cls, **attributes} if cls else attributes
    written = (f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in named.items())
    return Markup(f"<{tag}{''.join(written)}>{join(children)}</{tag}>")


def said(text: str) -> Markup:
    """Text with its line breaks, as somebody wrote it."""
    return element("div", text, cls="nl-said", dir="auto")


def folded(title: str, body: object, *, is_open: bool = False) -> Markup:
    """A part that opens and closes. Drawn again it forgets whether it was open: only for what is drawn once."""
    opened = {"open": ""} if is_open else {}
    return element("details", element("summary", title), body, cls="nl-folded", **opened)


def panel(title: str, *body: object, cls: str = "") -> Markup:
    """A titled part of the table."""
    inner = (element("h2", title, cls="nl-heading"), *body)
    return element("div", *inner, cls=f"nl-panel {cls}".rstrip())


def bar(value: float, limit: float, text: str, *, name: str) -> Markup:
    """A bar that fills towards a limit, with its words beside it; beyond the limit it says so by its colour too."""
    share = max(0.0, min(1.0, value / limit)) if limit else float(value > 0)
    fill = element("span", cls="nl-fill nl-over" if value > limit else "nl-fill", style=f"width: {share:.1%}")
    numbers = {"aria_valuenow": f"{value:g}", "aria_valuemin": "0", "aria_valuemax": f"{limit:g}"}
    track = element("span", fill, cls="nl-track", role="meter", aria_label=name, aria_valuetext=text, **numbers)
    return element("div", track, element("span", text, cls="nl-bar-text"), cls="nl-meter")


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: str, *, cls: str = "") -> Markup:
    """A table: the first cell of a row names it. Numbers stand right; `caption` is for screen readers."""
    top = join(element("th", cell, scope="col") for cell in head)
    whole = element(
        "table",
        element("caption", caption, cls="nl-hidden"),
        element("thead", element("tr", top)) if head else "",
        element("tbody", join(_row(cells) for cells in rows)),
        cls=f"nl-facts {cls}".rstrip(),
    )
    return element("div", whole, cls="nl-wide", tabindex="0", role="group", aria_label=caption)


def _row(cells: Sequence[object]) -> Markup:
    first, *rest = cells
    return element("tr", element("th", first, scope="row"), *(element("td", cell) for cell in rest))


def pairs(rows: Iterable[tuple[str, object]]) -> Markup:
    """Names and what they name, as many beside each other as there is room for."""
    return element(
        "dl", *(element("div", element("dt", name), element("dd", value)) for name, value in rows), cls="nl-pairs"
    )


def facts(values: Mapping[str, Any]) -> Markup:
    """Facts as tables: a mapping of mappings becomes rows and columns, anything else a line."""
    single = [(label(name), shown(value)) for name, value in values.items() if not _is_grid(value)]
    grids = (_grid(name, value) for name, value in values.items() if _is_grid(value))
    return join([table((), single, "Your facts") if single else "", *grids])


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(v, Mapping) for v in value.values())


def _grid(name: str, grid: Mapping[str, Mapping[str, Any]]) -> Markup:
    columns = list(dict.fromkeys(column for row in grid.values() for column in row))
    body = ([str(key), *(shown(row.get(column)) for column in columns)] for key, row in grid.items())
    return table((label(name), *map(label, columns)), body, label(name))


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
def theme() -> Markup:
    """The style sheet, as an element to put on the page once."""
    colours = files("negolab.formats").joinpath("colours.css").read_text("utf-8")
    return Markup(f"<style>{colours}{files('negolab_widgets').joinpath('theme.css').read_text('utf-8')}</style>")
