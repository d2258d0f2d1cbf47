"""Ways in which a study ends for a participant, and the link for each back to the panel that sent them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args
from urllib.parse import quote

Ending = Literal[
    "complete", "timeout", "partner", "unpaired", "quiz", "model", "withdrawn", "declined", "ended", "error"
]
"""The way the study ended for a participant.

- complete: played to the end
- timeout: did not answer in time, or kept answering with what the rules refuse
- partner: the other person left or timed out
- unpaired: no partner came within the wait limit
- quiz: did not answer the comprehension questions correctly
- model: the language model across could not be reached
- withdrawn: pressed "Leave the study"
- declined: did not consent
- ended: ended by the experimenter
- error: code of the game or a player raised; nobody's fault
"""
ENDINGS: tuple[Ending, ...] = get_args(Ending)

CODE = "{code}"
"""Placeholder for the completion code in a link."""

_HTTPS = re.compile(
    r"https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?([/?#][\w\-.~:/?#@!$&()*+,;=%{}]*)?", re.A
)
"""Addresses without user names, quotes, spaces or backslashes, so that a browser sees the same host."""


def check_links(links: Mapping[Ending, str], codes: Mapping[Ending, str]) -> None:
    """Raise `ValueError` unless every completion link is an https address whose `CODE` can be filled in."""
    for ending, link in links.items():
        place = f"links.{ending}"
        if not _HTTPS.fullmatch(link):
            raise ValueError(f'{place} must be an address that begins with "https://", not {link[:80]!r}')
        if "{" in (rest := link.replace(CODE, "")) or "}" in rest:
            raise ValueError(f"{place}: the only word allowed in braces is {CODE}")
        if CODE in link and ending not in codes:
            raise ValueError(f'{place} needs a code: write {ending} = "..." under [codes], or leave {CODE} out')


def completion_link(link: str, code: str) -> str:
    """Return a link with the completion code filled in; "" stays ""."""
    return link.replace(CODE, quote(code, safe=""))
