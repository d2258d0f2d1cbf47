"""How each model service words its answers: usage, messages and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Json = Any


class Tokens(NamedTuple):
    """True tokens of one answer: `cached` are part of `input`, what was thought is no part of `text`."""

    input: int
    cached: int
    text: int
    thought: int

    @property
    def output(self) -> int:
        return self.text + self.thought

    @property
    def total(self) -> int:
        return self.input + self.output


INPUT, CACHED, OUTPUT = 1.0, 0.1, 4.0
"""True US dollars per million tokens of every model."""
FEE = 1.055
"""What OpenRouter adds to the price of a provider."""


def true_cost(service: str, tokens: Tokens) -> float:
    """US dollars of one answer."""
    usd = ((tokens.input - tokens.cached) * INPUT + tokens.cached * CACHED + tokens.output * OUTPUT) / 1e6
    return usd * FEE if service == "openrouter" else usd


# Usage, as each service words it.


def _openai_usage(tokens: Tokens) -> Json:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {"cached_tokens": tokens.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": tokens.thought,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _plain_usage(tokens: Tokens) -> Json:
    return {"prompt_tokens": tokens.input, "completion_tokens": tokens.output, "total_tokens": tokens.total}


def _gemini_usage(tokens: Tokens) -> Json:
    """Thoughts are in the total alone."""
    return {"completion_tokens": tokens.text, "prompt_tokens": tokens.input, "total_tokens": tokens.total}


def _xai_usage(tokens: Tokens) -> Json:
    """Reasoning stands beside `completion_tokens`."""
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.text,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {
            "text_tokens": tokens.input,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": tokens.cached,
        },
        "completion_tokens_details": {
            "reasoning_tokens": tokens.thought,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
        "num_sources_used": 0,
    }


def _groq_usage(tokens: Tokens) -> Json:
    times = {"queue_time": 0.04, "prompt_time": 0.01, "completion_time": 0.02, "total_time": 0.03}
    return {
        **_plain_usage(tokens),
        **times,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.thought},
    }


def _openrouter_usage(tokens: Tokens) -> Json:
    return {
        **_plain_usage(tokens),
        "cost": true_cost("openrouter", tokens),
        "is_byok": False,
        "prompt_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": 0, "audio_tokens": 0},
        "cost_details": {"upstream_inference_cost": None},
        "completion_tokens_details": {"reasoning_tokens": tokens.thought, "image_tokens": 0},
    }


# Messages and the rest of a completion.


def _plain_message(text: str) -> Json:
    return {"role": "assistant", "content": text}


def _openai_message(text: str) -> Json:
    return {"role": "assistant", "content": text, "refusal": None, "annotations": []}


def _mistral_message(text: str) -> Json:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
    return {"role": "assistant", "tool_calls": None, "content": [thinking, {"type": "text", "text": text}]}


def _with_reasoning(name: str) -> Callable[[str], Json]:
    return lambda text: {"role": "assistant", "content": text, name: THOUGHT}


THOUGHT = "The other side wants this deal as well, so I ask for much first."


class Service(NamedTuple):
    """Form of a service's good answers: usage, message, further fields of choice and completion.

    Its models think `thinks` times as much as they say; the share `caches` of a longer chat comes from its cache.
    """

    usage: Callable[[Tokens], Json] = _plain_usage
    message: Callable[[str], Json] = _plain_message
    choice: Json = {}
    fields: Json = {}
    thinks: int = 0
    caches: float = 0.0


SERVICES: dict[str, Service] = {
    "openai": Service(_openai_usage, _openai_message, {"logprobs": None}, {"service_tier": "default"}, 20, 0.5),
    "anthropic": Service(fields={"system_fingerprint": None, "service_tier": None}),
    "gemini": Service(_gemini_usage, fields={"id": None}, thinks=30),
    "xai": Service(_xai_usage, _with_reasoning("reasoning_content"), fields={"citations": None}, thinks=30, caches=0.5),
    "mistral": Service(message=_mistral_message, thinks=10),
    "groq": Service(_groq_usage, _with_reasoning("reasoning"), fields={"x_groq": {"id": "req_01"}}, thinks=10),
    "openrouter": Service(
        _openrouter_usage,
        _with_reasoning("reasoning"),
        {"native_finish_reason": "stop", "logprobs": None},
        {"provider": "Fireworks"},
        20,
        0.5,
    ),
    "vllm": Service(choice={"stop_reason": None}, fields={"prompt_logprobs": None, "kv_transfer_params": None}),
    "ollama": Service(message=_with_reasoning("reasoning"), fields={"system_fingerprint": "fp_ollama"}, thinks=10),
    "llamacpp": Service(fields={"timings": {"prompt_n": 10, "predicted_n": 5}}),
    "dashscope": Service(),
    "gateway": Service(),
}

# Errors, as each service words them.


def openai(
    message: str, code: str | None = None, *, param: str | None = None, kind: str = "invalid_request_error"
) -> Json:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def anthropic(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011CYhr1kdGzCrPHfrhibMen"}


def gemini(code: int, status: str, message: str, *details: Json) -> Json:
    return [{"error": {"code": code, "message": message, "status": status, "details": list(details)}}]


def google(kind: str, **fields: Json) -> Json:
    """A detail of one of Gemini's errors."""
    return {"@type": f"type.googleapis.com/google.rpc.{kind}", **fields}


def xai(code: str, error: str) -> Json:
    return {"code": code, "error": error}


def mistral(message: Json, kind: str = "invalid_request_error", code: str | None = None) -> Json:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


def openrouter(code: int, message: str, **metadata: Json) -> Json:
    return {"error": {"message": message, "code": code, **({"metadata": metadata} if metadata else {})}}


def vllm(code: int, message: str, kind: str = "BadRequestError", param: str | None = None) -> Json:
    return {"object": "error", "message": message, "type": kind, "param": param, "code": code}
