"""A chat completion as servers send it, read without trusting any of it."""

from __future__ import annotations

from typing import Any

import msgspec

from negolab.match import clean
from negolab.players.endpoint.call import Usage
from negolab.players.endpoint.trouble import Broken, parsed, raise_for, short, words

ENDS = ("length", "content_filter")
"""Reasons to stop after which an answer may well have no text."""
MOST_TOKENS = 10_000_000
"""No request or answer has more: who counts more has not counted."""
LONGEST_WORD = 200
"""Characters of a model's name, a fingerprint or an id."""


class _Message(msgspec.Struct):
    content: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: Any = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    model: Any = None
    system_fingerprint: Any = None
    id: Any = None
    negolab: Any = None
    error: Any = None


class Paid(msgspec.Struct, frozen=True):
    """What a sweep's broker says of an answer besides, under the name `negolab`: its cost in US dollars, and whether it
    was kept from another run."""

    cost: float | None = None
    replayed: bool = False


class Completion(msgspec.Struct, frozen=True):
    """What one attempt brought; fields as in `Answer`. `id` is the completion's own."""

    text: str
    finish: str
    usage: Usage
    reasoning: str | None
    model: str | None
    fingerprint: str | None
    id: str | None
    paid: Paid = Paid()


_decode = msgspec.json.Decoder(_Body).decode


def read(body: bytes) -> Completion:
    """The answer in a response of status 200; `Broken` if it holds none."""
    try:
        found = _decode(body)
    except (ValueError, RecursionError) as error:
        found = _by_another_reader(body, error)
    usage = usage_of(found.usage)
    if found.error and not found.choices:
        _raise_error(found.error, body)
    choice = found.choices[0] if found.choices else None
    if choice is None or choice.message is None:
        raise Broken("the answer holds no choice", paid=usage)
    text, reasoning = _words(choice.message)
    finish = short(word(choice.finish_reason) or "unknown", 40)
    if text is None:
        refusal = choice.message.refusal
        if not (refusal or reasoning or finish in ENDS):
            raise Broken("the answer holds no text", paid=usage)
        text, finish = (str(refusal), "refusal") if refusal else ("", finish)
    return Completion(
        clean(text),
        finish,
        usage,
        clean(reasoning) if reasoning else None,
        word(found.model),
        word(found.system_fingerprint),
        word(found.id),
        _paid(found.negolab),
    )


def _paid(found: Any) -> Paid:
    try:
        return msgspec.convert(found, type=Paid)
    except msgspec.ValidationError:
        return Paid()


def _by_another_reader(body: bytes, error: Exception) -> _Body:
    """Half a surrogate pair or a byte that is no UTF-8 is wrong, but no reason to lose an answer that was paid."""
    try:
        return msgspec.convert(parsed(body), type=_Body)
    except (ValueError, RecursionError):
        said = short(words(body[:400]))
        raise Broken(f"the answer is not a chat completion ({error}): {said:.120}") from None


def _raise_error(error: Any, body: bytes) -> None:
    """Some routers report a failure with status 200 and the true status inside."""
    code = error.get("code") if isinstance(error, dict) else None
    if type(code) is int and 400 <= code < 600:
        raise_for(code, {}, body, {})
    raise Broken(f"the answer is an error: {short(str(error))}")


def _words(message: _Message) -> tuple[str | None, str | None]:
    """Text and reasoning of a message; a content in parts is put together."""
    content = message.content
    thought = next((t for t in (message.reasoning_content, message.reasoning) if isinstance(t, str) and t), None)
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        thought = thought or "".join(_part(p) for p in parts if p.get("type") == "thinking") or None
        content = "".join(_part(part) for part in parts if part.get("type") == "text")
    return (content if isinstance(content, str) else None), thought


def _part(part: Any) -> str:
    """The words of one part: its text, or those of the parts inside it."""
    if not isinstance(part, dict):
        return ""
    inner = part.get("thinking", part.get("text"))
    if isinstance(inner, list):
        return "".join(map(_part, inner))
    return inner if isinstance(inner, str) else ""


def usage_of(usage: Any) -> Usage:
    """Tokens as the endpoint counted them; details are often missing."""
    if not isinstance(usage, dict):
        return Usage()
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    return Usage(
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        _count(usage, "prompt_cache_hit_tokens") if cached is None else cached,
        _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(found: Any, name: str) -> int | None:
    value = found.get(name) if isinstance(found, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS:
        return None
    return int(value)


def word(value: Any) -> str | None:
    """A name that the endpoint gives, no longer than a name is."""
    return clean(value[:LONGEST_WORD]) if isinstance(value, str) and value else None
