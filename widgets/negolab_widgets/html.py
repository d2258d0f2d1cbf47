"""Builders of HTML. Text is escaped when it becomes a child or an attribute; `Markup`, which these builders return, is
not escaped again."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import anywidget
import traitlets as t
from markupsafe import Markup
from markupsafe import escape as _escape

from negolab.formatting import grid_columns, is_grid, label
from negolab.studies.texts import table_texts

__all__ = [
    "Markup",
    "StableHTML",
    "bar",
    "details",
    "element",
    "escape",
    "facts",
    "fill",
    "format_value",
    "image",
    "join",
    "page",
    "pairs",
    "panel",
    "preformatted",
    "prose",
    "still",
    "table",
    "theme",
]


def escape(text: object) -> Markup:
    """Escape text, quotes included; `Markup` stays as it is."""
    return _escape(text if isinstance(text, Markup) else str(text))


def capitalised(text: str) -> str:
    """Return a text as a sentence begins."""
    return text[:1].upper() + text[1:]


def join(parts: Iterable[object]) -> Markup:
    """Concatenate parts, each escaped unless it is `Markup`."""
    return Markup("".join(map(escape, parts)))


def element(tag: str, *children: object, cls: str = "", **attributes: str) -> Markup:
    """Build an element.

    Args:
        tag: Its name.
        children: Text, which is escaped, or `Markup`.
        cls: Its CSS classes.
        attributes: Other attributes; underscores become hyphens (`aria_label`), one at the end is dropped (`for_`).

    Example:
        >>> element("b", "a < b", cls="x")
        Markup('<b class="x">a &lt; b</b>')
    """
    named = {"class": cls, **attributes} if cls else attributes
    written = (f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in named.items())
    return Markup(f"<{tag}{''.join(written)}>{join(children)}</{tag}>")


def fill(text: str, **parts: object) -> Markup:
    """Fill the placeholders of a text; both are escaped unless they are `Markup`."""
    return escape(text).format(**parts)


def preformatted(text: str) -> Markup:
    """Text with its line breaks, as somebody wrote it; see `drawn_soon`."""
    return element("div", drawn_soon(text), cls="nl-said", dir="auto")


_RUN = re.compile(r"[^\x00-\x7f\s]{64,}")
"""Characters beyond ASCII without a space between them."""
_MOST_MARKS = 8
"""Marks shown on one letter: no script has more."""
_LONG_RUN, _PIECE = 500, 64
"""Characters of a run that is drawn in pieces, and of a piece."""


@lru_cache(maxsize=128)
def drawn_soon(text: str) -> Markup:
    """Escape a text so that no browser takes seconds to draw it.

    Thousands of marks on one letter, or of letters that join each other, would hold up whoever reads them: marks beyond
    `_MOST_MARKS` become an ellipsis, and long words may break, which does not change their text.
    """
    parts, at = [], 0
    for run in _RUN.finditer(text):
        pieces = _pieces(run[0], _PIECE if len(run[0]) >= _LONG_RUN else len(run[0]))
        parts += [escape(text[at : run.start()]), Markup("<wbr>").join(pieces)]
        at = run.end()
    return join([*parts, text[at:]])


def _pieces(run: str, size: int) -> list[str]:
    """Shorten piles of marks, and part a run into pieces of some `size`, none of which begins with a mark."""
    pieces, marks = [""], 0
    for character in run:
        marks = marks + 1 if _is_mark(character) else 0
        if not marks and len(pieces[-1]) >= size:
            pieces.append("")
        if marks <= _MOST_MARKS + 1:
            pieces[-1] += character if marks <= _MOST_MARKS else "\N{HORIZONTAL ELLIPSIS}"
    return pieces


def _is_mark(character: str) -> bool:
    """Return True for a mark on the letter before it, also for the two vowels that browsers take apart into one."""
    return character in "\N{THAI CHARACTER SARA AM}\N{LAO VOWEL SIGN AM}" or unicodedata.category(character)[0] == "M"


def details(title: object, body: object) -> Markup:
    """A part that opens and closes; drawn again it forgets whether it was open, so use it for what is drawn once."""
    return element("details", element("summary", title), body, cls="nl-folded")


def panel(title: str, *body: object, cls: str = "") -> Markup:
    """A titled part of a page."""
    inner = (element("h2", title, cls="nl-heading"), *body)
    return element("div", *inner, cls=f"nl-panel {cls}".rstrip())


def bar(value: float, limit: float, text: str, *, name: str) -> Markup:
    """A bar that fills towards `limit`, with its text beside it; beyond the limit its colour changes too."""
    share = max(0.0, min(1.0, value / limit)) if limit else float(value > 0)
    fill = element("span", cls="nl-fill nl-over" if value > limit else "nl-fill", style=f"width: {share:.1%}")
    numbers = {"aria_valuenow": f"{value:g}", "aria_valuemin": "0", "aria_valuemax": f"{limit:g}"}
    track = element("span", fill, cls="nl-track", role="meter", aria_label=name, aria_valuetext=text, **numbers)
    return element("div", track, element("span", text, cls="nl-bar-text"), cls="nl-meter")


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: str, *, cls: str = "") -> Markup:
    """A table whose rows are named by their first cells. `caption` is for screen readers."""
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
    """A list of names and values, as many beside each other as there is room for."""
    return element(
        "dl", *(element("div", element("dt", name), element("dd", value)) for name, value in rows), cls="nl-pairs"
    )


def facts(values: Mapping[str, Any]) -> Markup:
    """Values by name as tables: a mapping of mappings becomes rows and columns, anything else a line."""
    single = [(label(name), format_value(value)) for name, value in values.items() if not is_grid(value)]
    grids = (_grid(name, value) for name, value in values.items() if is_grid(value))
    return join([table((), single, table_texts.FACTS) if single else "", *grids])


def _grid(name: str, grid: Mapping[str, Mapping[str, Any]]) -> Markup:
    columns = grid_columns(grid)
    body = ([str(key), *(format_value(row.get(column)) for column in columns)] for key, row in grid.items())
    return table((label(name), *map(label, columns)), body, label(name))


def format_value(value: Any) -> str:
    """Format a value for people: lists with commas, nothing as a dash, floats with at most two decimals."""
    match value:
        case None | () | []:
            return "\N{EN DASH}"
        case bool():
            return table_texts.YES if value else table_texts.NO
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case list() | tuple() | frozenset():
            return ", ".join(format_value(v) for v in value)
        case dict():
            return ", ".join(f"{label(str(k))} {format_value(v)}" for k, v in value.items())
    return str(value)


@cache
def theme() -> Markup:
    """The style sheet, as an element to put on a page once."""
    colours = files("negolab.formats").joinpath("colours.css").read_text("utf-8")
    return Markup(f"<style>{colours}{files('negolab_widgets').joinpath('theme.css').read_text('utf-8')}</style>")


def image(drawing: str, alt: str) -> Markup:
    """Turn a drawing, which is SVG, into an image, which is also shown where HTML may hold neither styles nor SVG."""
    encoded = base64.b64encode(drawing.encode()).decode()
    width = drawing.partition('viewBox="')[2].split()[2]
    return element("img", src=f"data:image/svg+xml;base64,{encoded}", alt=alt, width=width)


def still(part: Markup, alt: str) -> Markup:
    """Turn the drawing in a part of a page into an image with the colours and lines of the style sheet."""
    colours, _, rest = theme().removeprefix("<style>").partition("\n}")
    lines = (line for line in rest.splitlines() if line.startswith((":root", ".nl-plane", ".nl-point")))
    style = f"{colours} }} svg {{ font: 12px system-ui, sans-serif }} {' '.join(lines)}"
    head = f' xmlns="http://www.w3.org/2000/svg"><style>{style}</style>'
    return Markup(_SVG.sub(lambda drawn: image(drawn[0].replace(">", head, 1), alt), part))


_SVG = re.compile("<svg.*</svg>", re.DOTALL)


def page(*parts: object, cls: str = "nl-display") -> Markup:
    """Put parts on a page of their own of this class, with the style sheet."""
    # JupyterLab would take what stands between two dollar signs for mathematics.
    return element("div", theme(), *parts, cls=f"nl-page {cls} tex2jax_ignore mathjax_ignore")


_BULLET = "- "


def prose(text: str) -> Markup:
    """Render a researcher's own text: blank lines part paragraphs, lines that begin with "- " make a list."""
    blocks = re.split(r"\n[ \t]*\n", text.strip())
    return element(
        "div", join(part for block in blocks for part in _render_block(block)), cls="nl-prose-text", dir="auto"
    )


def _render_block(block: str) -> Iterator[Markup]:
    for is_item, lines in groupby(_join_continued_lines(block), key=lambda line: line.startswith(_BULLET)):
        if is_item:
            yield element("ul", *(element("li", line.removeprefix(_BULLET)) for line in lines))
        else:
            yield from (element("p", line) for line in lines if line)


def _join_continued_lines(block: str) -> list[str]:
    """Join each line with those that continue it."""
    stripped = "\n".join(map(str.strip, block.split("\n")))
    return re.sub(rf"\n(?!{_BULLET})", " ", stripped).split("\n")


_ESM = """
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName;
const become = (old, fresh) => {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  fill(old, fresh);
};
const fill = (old, fresh) => {
  const had = [...old.childNodes], wanted = [...fresh.childNodes];
  wanted.forEach((node, at) => {
    if (!had[at]) old.append(node);
    else if (alike(had[at], node)) become(had[at], node);
    else had[at].replaceWith(node);
  });
  had.slice(wanted.length).forEach((node) => node.remove());
};
const copy = async (button) => {
  const text = button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The clipboard of the browser is there on https only; the older way works everywhere.
    const field = document.createElement("textarea");
    field.value = text;
    button.after(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    button.focus();
  }
  button.classList.add("nl-copied");
  setTimeout(() => button.classList.remove("nl-copied"), 1500);
};
export default {
  render({ model, el }) {
    el.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-copy]"), pressed = target.closest("[data-send]");
      if (button) copy(button);
      else if (pressed?.matches("tr") && getSelection().toString()) return;
      else if (pressed) model.send(JSON.parse(pressed.dataset.send));
    });
    const draw = () => {
      const fresh = document.createElement("template");
      fresh.innerHTML = model.get("value");
      fill(el, fresh.content);
    };
    model.on("change:value", draw);
    draw();
    return () => model.off("change:value", draw);
  },
};
"""


class StableHTML(anywidget.AnyWidget):
    """Show `value`, which must be `Markup`, and change only what is new when it is set again: nothing flickers or
    scrolls back. A press on an element with `data-send` sends this JSON to `on_msg`, one with `data-copy` copies it."""

    _esm = _ESM
    value = t.Unicode("").tag(sync=True)
