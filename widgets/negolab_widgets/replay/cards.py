"""Steps of a match in full: what was said, why it was refused, and how a model came to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from negolab.catalog import AnyGame
from negolab.events import Ended, Rejected, Replied
from negolab.formatting import display_unit, format_end
from negolab.game import SEATS, Reply, Seat, observe
from negolab.record import Record, final_state
from negolab_widgets.html import Markup, capitalised, details, drawn_soon, element, join, pairs, panel, preformatted
from negolab_widgets.replay.record_list import count_replies
from negolab_widgets.replay.steps import Step, describe_stakes, record_steps
from negolab_widgets.tables.seats import render_seats, seat_name

TOKEN_NAMES = {
    "input": "tokens in",
    "cached": "of them cached",
    "output": "tokens out",
    "reasoning": "of them reasoning",
}
_NOT_TOKENS = ("queued", "latency", "attempts", "finish", "fingerprint", "replayed")


def reply_details(reply: Reply) -> Markup:
    """Render how a reply was made: facts in one line, with a model's prompt, raw answer and reasoning folded below."""
    parts = {
        "What the model was told": reply.asked,
        "What it wrote": reply.raw,
        "Its private reasoning": reply.reasoning,
    }
    return join(
        [_facts_line(reply), *(details(title, scrollable(title, text)) for title, text in parts.items() if text)]
    )


def scrollable(title: str, text: str, left_out: Iterable[tuple[int, int, str]] = ()) -> Markup:
    """Render a text that may be long so that the keyboard can reach and scroll it; parts left out are struck through,
    with the reason."""
    parts: list[object] = []
    at = 0
    for start, end, why in left_out:
        struck = element("del", drawn_soon(text[start:end]), title=why)
        gap = " " if text[end : end + 1].isalnum() else ""
        parts += [drawn_soon(text[at:start]), struck, element("small", f" ({why}){gap}", cls="nl-who")]
        at = end
    said = element("div", *parts, drawn_soon(text[at:]), cls="nl-said", dir="auto") if parts else preformatted(text)
    return element("div", said, cls="nl-scrolled", tabindex="0", role="group", **{"aria-label": title})


def _facts_line(reply: Reply) -> Markup:
    facts = [*_source_facts(reply), *_time_facts(reply), *_token_facts(reply.usage or {}), *_cost_facts(reply)]
    return element("div", join([" · ".join(facts)]), cls="nl-who") if facts else Markup("")


def _source_facts(reply: Reply) -> list[str]:
    usage = reply.usage or {}
    found = (
        reply.model,
        f"by {reply.via}" if reply.via else "",
        "" if usage.get("finish") in (None, "stop") else f"stopped by {usage['finish']}",
        "cached from an earlier run" if usage.get("replayed") else "",
    )
    return [fact for fact in found if fact]


def _time_facts(reply: Reply) -> list[str]:
    usage = reply.usage or {}
    if "latency" in usage:
        found = [f"{usage['latency']:.2f} s to answer"]
        found += [f"{usage['queued']:.2f} s in the queue"] if usage.get("queued", 0) >= 0.005 else []
        return found + ([f"{usage['attempts']} attempts"] if usage.get("attempts", 1) > 1 else [])
    if reply.asked_at is not None and reply.answered_at is not None:
        return [f"{reply.answered_at - reply.asked_at:.2f} s"]
    return []


def _token_facts(usage: dict[str, Any], prefix: str = "") -> list[str]:
    """Format token counts, including those that other providers nest and name differently."""
    found: list[str] = []
    for name, value in usage.items():
        if isinstance(value, dict):
            found += _token_facts(value, f"{prefix}{name} ")
        elif name not in _NOT_TOKENS and type(value) is int and value:
            found.append(f"{value:,} {prefix}{TOKEN_NAMES.get(name, name.replace('_', ' '))}")
    return found


def _cost_facts(reply: Reply) -> list[str]:
    if reply.cost is not None:
        return [f"${reply.cost:.4f}" if reply.cost >= 0.001 or not reply.cost else f"${reply.cost:.6f}"]
    return ["cost unknown"] if reply.via == "model" else []


def render_step(step: Step, game: AnyGame) -> Markup:
    """Render a step: what happened, what it would pay, the raw words, reasons, tokens, seconds and cost."""
    stakes = describe_stakes(step, game)
    agreed = "If accepted, " if step.seat and not game.has_paid_rounds else ""
    words = f"{agreed}{stakes}{_unit(game)}."
    body: list[object] = [element("p", capitalised(words))] if stakes else []
    match step.entry:
        case Replied(_, reply):
            body += [scrollable("the reply", reply.text, step.left_out), *_render_rejection(step), reply_details(reply)]
        case Rejected(_, _, _, unread):
            came = () if unread is None else (scrollable("the answer", unread.text), reply_details(unread))
            body += [*_render_rejection(step), *came]
        case Ended(_, _, reason):
            unit = display_unit(game.unit)[0]
            body += [element("p", f"Payoffs are {unit}."), element("div", reason or "", cls="nl-who")]
    if step.news:
        body.append(scrollable("what the seat reads", step.news))
    return _card(step.words, *body, bad=step.rejection is not None, seat=step.seat)


def _unit(game: AnyGame) -> str:
    """Name the unit of what proposals would pay, if the numbers do not show it."""
    unit = game.stake_unit or game.unit
    return "" if display_unit(unit)[0] == "dollars" else f" ({unit})"


def _render_rejection(step: Step) -> list[Markup]:
    """Render what kind of fault it was; the reason is in the step's words."""
    if step.rejection is None:
        return []
    invalid = step.rejection.invalid
    return [element("div", f"{invalid.kind} fault: {', '.join(invalid.codes)}", cls="nl-who")]


def _card(title: str, *body: object, bad: bool, seat: Seat | None) -> Markup:
    paper = {"A": "nl-from-a", "B": "nl-from-b", None: "nl-from-master"}[seat]
    classes = f"nl-panel nl-card {'nl-bad' if bad else paper}"
    return element("div", element("h2", title, cls="nl-heading"), *body, cls=classes)


MAX_STEPS = 40
"""Maximum number of steps shown of a record."""


def render_record(record: Record) -> Markup:
    """Render how a match ended and what was said in it."""
    header, told = record.header, record.game
    facts = [
        *((f"player {seat}", name) for seat, name in header.players.items()),
        ("end", format_end(record.end)),
        *((f"paid to {seat_name(told, seat)}", told.format_payoff(record.payoffs[seat])) for seat in SEATS),
        ("replies", str(count_replies(record))),
        ("record", header.id),
    ]
    cards = [render_step(step, told) for step in record_steps(record)[1:]]
    left = len(cards) - MAX_STEPS
    more = element("p", f"and {left} more steps: Replay(record) shows them all") if left > 0 else ""
    last = final_state(record)
    seen = {seat: observe(last, seat) for seat in SEATS}
    steps = details("Every step", join([*cards[:MAX_STEPS], more]))
    return join([panel(f"Record of {header.game}", pairs(facts)), render_seats(told, seen), steps])
