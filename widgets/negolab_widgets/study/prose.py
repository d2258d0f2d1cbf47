"""A study's own texts: plain text in which blank lines part paragraphs and lines that begin with "- " make a list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from negolab_widgets.html import Markup, element, join

_BULLET = "- "


def prose(text: str) -> Markup:
    """The text as paragraphs and lists; whatever markup it holds is text."""
    blocks = re.split(r"\n[ \t]*\n", text.strip())
    return element("div", join(part for block in blocks for part in _block(block)), cls="nl-prose-text", dir="auto")


def _block(block: str) -> Iterator[Markup]:
    for is_item, lines in groupby(_joined(block), key=lambda line: line.startswith(_BULLET)):
        if is_item:
            yield element("ul", *(element("li", line.removeprefix(_BULLET)) for line in lines))
        else:
            yield from (element("p", line) for line in lines if line)


def _joined(block: str) -> list[str]:
    """Lines, each with those that carry it on."""
    found: list[str] = []
    for line in map(str.strip, block.split("\n")):
        if not found or line.startswith(_BULLET):
            found.append(line)
        else:
            found[-1] = f"{found[-1]} {line}"
    return found
