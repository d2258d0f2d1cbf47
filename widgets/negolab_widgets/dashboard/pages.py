"""Our own small pages: behind a link, while one waits, and when something is refused. No kernel stands behind them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files

from markupsafe import Markup, escape

_COLOURS = files("negolab.formats").joinpath("colours.css").read_text(encoding="utf-8")
_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; background: var(--nl-paper); color: var(--nl-ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 34rem; margin: 12vh auto 0; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.5rem; font-weight: 600; overflow-wrap: anywhere; }
p { margin: 0 0 0.75rem; }
form { display: inline-block; margin: 0.25rem 0.75rem 0 0; }
button { font: inherit; font-weight: 600; min-height: 2.5rem; padding: 0 1.25rem; border: 1px solid var(--nl-accent);
  border-radius: var(--nl-radius); background: var(--nl-accent); color: var(--nl-accent-ink); cursor: pointer; }
button.second { background: var(--nl-paper); color: var(--nl-ink); border-color: var(--nl-edge); }
:focus-visible { outline: 3px solid var(--nl-accent); outline-offset: 2px; }
"""
INVITED = "<p>You are invited to a study in this browser. Nothing begins before you press Start inside.</p>"
_WAIT = """
const place = document.getElementById("place");
const said = (ahead) => ahead === 0 ? "You are next." : ahead === 1 ? "One person is before you."
  : `${ahead} people are before you.`;
const ask = async () => {
  try {
    const answer = await fetch("waiting", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (answer.status === 403) return location.reload();
    if (answer.ok) {
      const { ready, ahead } = await answer.json();
      if (ready) return location.reload();
      if (place.textContent !== said(ahead)) place.textContent = said(ahead);
    }
  } catch { /* asked again */ }
  setTimeout(ask, 1500);
};
setTimeout(ask, 700);
"""


def _allowed(script: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


POLICY = "; ".join(
    [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src {_allowed(_WAIT)}",
        "connect-src 'self'",
        "img-src data:",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
"""The Content-Security-Policy of these pages: the one script is named by its hash."""

TITLES = {
    403: "This page is not open to you",
    404: "There is no such page",
    405: "That cannot be done here",
    429: "Too many requests",
    500: "Something went wrong",
    503: "Please wait a moment",
}
WORDS = {
    403: "This page needs your personal link. Please open the link that you were sent.",
    404: "Please open the link that you were sent.",
    405: "Please open the link that you were sent.",
    429: "Please wait a little. This page tries again by itself.",
    500: "It was noted. Nothing that you did is lost. Please reload the page.",
    503: "The study cannot be reached just now. Nothing that you did is lost. This page tries again by itself.",
}

DESK_WORDS = {
    **WORDS,
    **dict.fromkeys((403, 404, 405), "Please open the address that negolab printed when it was started."),
    503: "negolab cannot be reached just now. This page tries again by itself.",
}
"""What the researcher is told instead."""


def _page(title: str, *parts: str, script: str = "") -> str:
    return Markup(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        '<link rel="icon" href="data:;base64,="><style>{}</style></head>'
        "<body><main><h1>{}</h1>{}</main>{}</body></html>\n"
    ).format(
        title,
        Markup(_COLOURS + _STYLE),
        title,
        Markup("").join(Markup(part) for part in parts),
        Markup(f"<script>{script}</script>" if script else ""),
    )


def join(title: str, known: bool) -> str:
    """What a link shows: one button. Nothing has happened yet. `known`: an open link, in a browser that took part."""
    if not known:
        return _page(title, INVITED, "<form method='post'><button>Continue</button></form>")
    return _page(
        title,
        "<p>Somebody has already taken part in this browser.</p>",
        "<form method='post'><button>Continue where I was</button></form>",
        "<form method='post'><input type='hidden' name='new' value='1'>"
        "<button class='second'>Take part as a new person</button></form>",
    )


def waiting(ahead: int) -> str:
    """While all places are taken or no kernel is ready; the script asks on and moves on by itself."""
    several = "One person is before you." if ahead == 1 else f"{ahead} people are before you."
    place = several if ahead else "You are next."
    return _page(
        "Please wait a moment",
        f"<p id='place' role='status'>{escape(place)}</p>",
        "<p>This page goes on by itself. Please keep it open.</p>",
        "<noscript><p>This study needs JavaScript. Please switch it on and reload the page.</p></noscript>",
        script=_WAIT,
    )


def refusal(status: int, why: str = "", words: Mapping[int, str] = WORDS) -> str:
    """A refused request, in plain words."""
    known = status if status in TITLES else 500 if status >= 500 else 404
    return _page(TITLES[known], f"<p>{escape(why or words[known])}</p>")
