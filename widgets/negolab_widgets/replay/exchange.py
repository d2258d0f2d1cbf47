"""How a reply came: who wrote it, what it took, and for a language model what passed between it and the game."""

from __future__ import annotations

from typing import Any

from negolab.game import Reply
from negolab_widgets.html import Markup, element, folded, join, said

TOKENS = {
    "input": "tokens in",
    "cached": "of them cached",
    "output": "tokens out",
    "reasoning": "of them reasoning",
}
_LATER = ("queued", "latency", "attempts", "finish", "fingerprint", "replayed")


def exchange(reply: Reply) -> Markup:
    """Facts in one line; prompt, raw answer and reasoning folded below."""
    parts = {
        "What the model was told": reply.asked,
        "What it wrote": reply.raw,
        "Its reasoning, seen by nobody else": reply.reasoning,
    }
    return join([_facts(reply), *(folded(title, scrolled(title, text)) for title, text in parts.items() if text)])


def scrolled(title: str, text: str) -> Markup:
    """A text that may be long: the keyboard can go into it and scroll it."""
    return element("div", said(text), cls="nl-scrolled", tabindex="0", role="group", **{"aria-label": title})


def _facts(reply: Reply) -> Markup:
    facts = [*_source(reply), *_times(reply), *_tokens(reply.usage or {}), *_cost(reply)]
    return element("div", join([" · ".join(facts)]), cls="nl-who") if facts else Markup("")


def _source(reply: Reply) -> list[str]:
    usage = reply.usage or {}
    found = [reply.model or "", f"by {reply.via}" if reply.via else ""]
    found.append("" if usage.get("finish") in (None, "stop") else f"stopped by {usage['finish']}")
    found.append("kept from an earlier run" if usage.get("replayed") else "")
    return [fact for fact in found if fact]


def _times(reply: Reply) -> list[str]:
    usage = reply.usage or {}
    if "latency" in usage:
        found = [f"{usage['latency']:.2f} s to answer"]
        found += [f"{usage['queued']:.2f} s in line"] if usage.get("queued", 0) >= 0.005 else []
        return found + ([f"{usage['attempts']} attempts"] if usage.get("attempts", 1) > 1 else [])
    if reply.asked_at is not None and reply.answered_at is not None:
        return [f"{reply.answered_at - reply.asked_at:.2f} s"]
    return []


def _tokens(usage: dict[str, Any], prefix: str = "") -> list[str]:
    """Counts, also as others nest and name them."""
    found: list[str] = []
    for name, value in usage.items():
        if isinstance(value, dict):
            found += _tokens(value, f"{prefix}{name} ")
        elif name not in _LATER and type(value) is int and value:
            found.append(f"{value:,} {prefix}{TOKENS.get(name, name.replace('_', ' '))}")
    return found


def _cost(reply: Reply) -> list[str]:
    if reply.cost is not None:
        return [f"${reply.cost:.4f}" if reply.cost >= 0.001 or not reply.cost else f"${reply.cost:.6f}"]
    return ["cost unknown"] if reply.via == "model" else []
