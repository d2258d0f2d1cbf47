"""Differences between services as data: which parameters models take, and how errors are worded.

Facts about OpenAI, Anthropic, Gemini, xAI, Mistral, Groq, OpenRouter, DeepSeek, vLLM, Ollama and llama.cpp. Whatever
else a service does differently belongs in a row here.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

PLAIN_OUTPUT = 1_000
"""Bound on the output tokens of models that do not reason, if the user sets none."""
MORE_OUTPUT = 4_000
"""Bound for such a model once one of its texts was cut."""
DEMANDED_OUTPUT = 16_000
"""Bound for reasoning models whose service demands one."""
SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs")

WINDOWS = (
    "max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length",
    "max_input_tokens", "n_ctx",
)  # fmt: skip
"""Fields of a model in a list, or of its `meta`, that say how many tokens a prompt and its answer may have."""


class ModelTraits(NamedTuple):
    """Traits of the models whose name, without a provider before it, matches `name`.

    Attributes:
        output: Bound on output tokens if the user sets none; None for a model whose reasoning counts toward it.
        renamed: True if the bound is called `max_completion_tokens`.
        dropped: Parameters to leave out, with a notice.
    """

    name: str
    output: int | None = None
    renamed: bool = False
    dropped: tuple[str, ...] = ()


MODELS = (
    ModelTraits(r"(o\d|gpt-5$|gpt-5-)", renamed=True, dropped=SAMPLING),
    ModelTraits(r"gpt-[5-9]", renamed=True),
    ModelTraits(r"gpt-oss|grok-(3-mini|[4-9])(?!.*non-reasoning)|gemini-(2\.5|[3-9])|deepseek-(reasoner|r\d)"),
    ModelTraits(
        r"magistral|qwq|qwen3(?!.*instruct)|kimi.*thinking|glm-(4\.[5-9]|[5-9])|minimax-m|.*(reasoning|thinking)"
    ),
)
UNKNOWN_MODEL = ModelTraits("", output=PLAIN_OUTPUT)


def model_traits(model: str) -> ModelTraits:
    """Return the traits of a model, named with or without its provider."""
    name = model.rpartition("/")[2].lower()
    return next((traits for traits in MODELS if re.match(traits.name, name)), UNKNOWN_MODEL)


Kind = Literal[
    "run", "game", "quota", "credit", "key", "context", "filtered", "rejected", "stream", "parameter", "model", "rate",
    "overload",
]  # fmt: skip


class ErrorRule(NamedTuple):
    """A kind of error, recognized by its status, its code, or a pattern in its code and message."""

    kind: Kind
    statuses: tuple[int, ...] = ()
    codes: frozenset[str] = frozenset()
    pattern: str | None = None

    def matches(self, status: int, code: str, text: str) -> bool:
        """Match any of the rule's tests."""
        is_worded = self.pattern is not None and re.search(self.pattern, text, re.IGNORECASE) is not None
        return status in self.statuses or code in self.codes or is_worded


ERRORS = (
    ErrorRule("run", codes=frozenset({"run_failed"})),  # from a sweep's broker, like the next
    ErrorRule("game", codes=frozenset({"game_failed"})),
    ErrorRule("filtered", codes=frozenset({"content_policy_violation", "content_filter"})),
    ErrorRule(
        "quota", pattern=r"per_?day|per day|\bdaily\b|\b[TR]PD\b|\bfree (\w+ )?(limit|quota|allowance|requests)\b"
    ),
    ErrorRule(
        "credit",
        (402,),
        frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}),
        r"credit balance is too low|insufficient (balance|credits?|funds)|out of credits|"
        r"(key|credit|spend(ing)?|budget|monthly|weekly) limit (exceeded|reached)",
    ),
    ErrorRule(
        "key",
        (401,),
        frozenset({"invalid_api_key"}),
        r"api_key_invalid|api key not valid|(incorrect|invalid) api.?key|no auth credentials",
    ),
    ErrorRule(
        "context",
        (413,),
        frozenset({"context_length_exceeded", "string_above_max_length"}),
        r"prompt is too long|(maximum|available) context|context (length|window|size)|too large for model",
    ),
    ErrorRule("rejected", codes=frozenset({"json_validate_failed"})),
    ErrorRule(
        "stream",
        pattern=r"only supports? (the )?stream|stream(ing)?( mode)? (is|must be) (required|set|true|enabled)",
    ),
    ErrorRule("parameter", (400, 422)),
    ErrorRule(
        "model",
        (404,),
        frozenset({"model_not_found"}),
        r"(invalid|unknown|not a valid) model|model\b.{0,80}\bnot (found|exist|available)|is not found for api",
    ),
    ErrorRule("rate", (429,)),
    ErrorRule("overload", (408, 409, 425, 499, *range(500, 600)), frozenset({"overloaded_error"})),
)
"""In order: the first rule that matches decides. "parameter" applies only if a parameter of the call is named."""

ADVICE: dict[Kind, str] = {
    "credit": "the account has no credit left",
    "key": "set the environment variable that holds the key",
    "stream": "choose a model or service that does not require streaming",
    "model": "check the base URL and the model's name",
}
"""Advice about an error that ends the run."""
