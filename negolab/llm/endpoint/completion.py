"""Parsing of chat completions, which come in many variants and are not trusted."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import msgspec

from negolab.llm.endpoint.call import Answer, Usage, ending_of
from negolab.llm.endpoint.errors import (
    REFUSED,
    BadResponse,
    Overloaded,
    RunFailed,
    Unreachable,
    decode_json,
    one_line,
    raise_for,
    read_message,
    read_problem,
)
from negolab.match import replace_surrogates

MAX_TOKENS = 10_000_000
"""Larger counts are taken to be errors."""
MAX_COST = 10_000
"""US dollars; a larger cost of one answer is taken to be an error."""
MAX_NAME_LENGTH = 200
"""Most characters in a model's name, a fingerprint or an id."""


class _Message(msgspec.Struct):
    content: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Any = None


class _Choice(msgspec.Struct):
    index: Any = None
    message: _Message | None = None
    finish_reason: Any = None
    logprobs: Any = None
    error: Any = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    model: Any = None
    system_fingerprint: Any = None
    id: Any = None
    negolab: Any = None
    object: Any = None
    error: Any = None


class BrokerInfo(msgspec.Struct, frozen=True):
    """The field `negolab` that a sweep's broker adds: `cost` in US dollars, `replayed` and `sent` as in `Answer`."""

    cost: float | None = None
    replayed: bool = False
    sent: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Body).decode


def parse_completion(body: bytes) -> Answer:
    """Return the answer in a response with status 200.

    `request_id` is the completion's own id; `cost` and `replayed` come from a sweep's broker.

    Raises:
        AttemptFailed: The body holds no answer; the error has the usage, if it is reported.
        GameFailed: The body holds an error about this input.
        RunFailed: The body holds an error about the key, model or account.
    """
    try:
        completion = _decode(body)
    except (ValueError, RecursionError) as error:
        completion = _decode_leniently(body, error)
    usage = parse_usage(completion.usage)
    told = completion.error or (decode_json(body) if completion.object == "error" else None)
    if told and not completion.choices:
        _raise_error(told, body)
    if completion.choices is None:
        raise Unreachable(f"received {read_problem(200, {}, body, ()).message:.120} instead of an answer", usage=usage)
    choice = min(completion.choices, key=lambda choice: choice.index != 0, default=None)
    if choice is not None and (choice.error or choice.finish_reason == "error"):
        # An error of the provider behind a gateway, not of the model.
        raise Overloaded(f"the provider failed: {read_message(choice.error)}", usage=usage)
    if choice is None or choice.message is None:
        raise BadResponse("the answer contains no choices", usage=usage)
    text, reasoning = _text_and_reasoning(choice.message)
    finish = one_line(short_name(choice.finish_reason) or "unknown", 40)
    if not (text or "").strip() and ending_of(finish) in ("whole", "called", "unknown"):
        if choice.message.refusal:
            text, finish = str(choice.message.refusal), "refusal"
        elif choice.message.tool_calls:
            text, finish = msgspec.json.encode(choice.message.tool_calls).decode(), "tool_calls"
    broker = _broker_info(completion.negolab)
    return Answer(
        text=replace_surrogates(text or ""),
        finish=finish,
        usage=usage,
        reasoning=replace_surrogates(reasoning) if reasoning else None,
        model=short_name(completion.model),
        fingerprint=short_name(completion.system_fingerprint),
        request_id=short_name(completion.id),
        cost=broker.cost,
        replayed=broker.replayed,
        sent=broker.sent,
        logprobs=choice.logprobs,
    )


def _broker_info(field: Any) -> BrokerInfo:
    try:
        return msgspec.convert(field, type=BrokerInfo)
    except msgspec.ValidationError:
        return BrokerInfo()


def _decode_leniently(body: bytes, error: Exception) -> _Body:
    """Accept lone surrogates and invalid UTF-8: they are no reason to lose an answer that was paid for."""
    with suppress(ValueError, RecursionError):
        return msgspec.convert(decode_json(body), type=_Body)
    if body.lstrip()[:1] != b"{":
        raise Unreachable(f"received {read_problem(200, {}, body, ()).message:.120} instead of an answer")
    raise BadResponse(f"the answer is not a chat completion ({error})")


def _raise_error(error: Any, body: bytes) -> None:
    """Raise the error of a router that sends status 200 with the true status, or words for it, in the body."""
    code = str(error.get("code") if isinstance(error, dict) else "")
    status = int(code) if re.fullmatch("[45][0-9]{2}", code) else 200
    problem = read_problem(status, {}, body, ())
    kind = problem.kind()
    if kind == "model":
        raise RunFailed(f"{problem.line}: check the model's name")
    if kind is not None or status in REFUSED:
        raise_for(status, {}, body, ())
    raise BadResponse(f"the answer is an error: {read_message(error)}")


def _text_and_reasoning(message: _Message) -> tuple[str | None, str | None]:
    """Return a message's text and reasoning; content in parts is joined."""
    content = message.content
    reasoning = next((t for t in (message.reasoning_content, message.reasoning) if isinstance(t, str) and t), None)
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        reasoning = reasoning or "".join(_part_text(p) for p in parts if p.get("type") == "thinking") or None
        content = "".join(_part_text(part) for part in parts if part.get("type") in ("text", "output_text"))
    return (content if isinstance(content, str) else None), reasoning


def _part_text(part: Any) -> str:
    """Return the text of a part, or of the parts inside it."""
    if not isinstance(part, dict):
        return ""
    inner = part.get("thinking", part.get("text"))
    if isinstance(inner, list):
        return "".join(map(_part_text, inner))
    return inner if isinstance(inner, str) else ""


def parse_usage(usage: Any) -> Usage:
    """Read token counts; any of them may be missing or nonsense."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    cached = _first(_count(details, "cached_tokens"), _count(usage, "cache_read_input_tokens"))
    written = _first(_count(details, "cache_write_tokens"), _count(usage, "cache_creation_input_tokens"))
    prompt, output = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    input, total = _first(prompt, _count(usage, "input_tokens")), _count(usage, "total_tokens")
    if input is not None:
        # Anthropic counts its cache apart from the input, and gateways count some of it this way: what cannot be part
        # of the input is not.
        is_apart = prompt is None and "cache_read_input_tokens" in usage
        input += (cached or 0) * (is_apart or (cached or 0) > input)
        input += (written or 0) * (is_apart or (cached or 0) + (written or 0) > input)
    output = _first(output, _count(usage, "output_tokens"))
    if input is not None and output is not None and total is not None:
        # Some services count reasoning only in the total.
        output = max(output, total - input)
    of_output = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    reasoning = _count(of_output, "reasoning_tokens")
    return Usage(
        input,
        output,
        _first(cached, _count(usage, "prompt_cache_hit_tokens")),
        reasoning if reasoning is None or output is None else min(reasoning, output),
        written,
        _charge(usage),
    )


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _charge(usage: dict[str, Any]) -> float | None:
    """Return what a gateway says it charges, in US dollars, including what it has charged to the user's own key."""
    cost = _number(usage, "cost", MAX_COST)
    upstream = _number(usage.get("cost_details"), "upstream_inference_cost", MAX_COST)
    upstream = _number(usage, "upstream_inference_cost", MAX_COST) if upstream is None else upstream
    return (cost or 0) + upstream if upstream and (usage.get("is_byok") or not cost) else cost


def _count(counts: Any, name: str) -> int | None:
    value = _number(counts, name, MAX_TOKENS)
    return None if value is None else int(value)


def _number(fields: Any, name: str, most: float) -> float | None:
    value = fields.get(name) if isinstance(fields, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= most else None


def short_name(value: Any) -> str | None:
    """Return a name that the endpoint gives, cut to a plausible length; None if it is not a name."""
    return replace_surrogates(value[:MAX_NAME_LENGTH]) if isinstance(value, str) and value else None
