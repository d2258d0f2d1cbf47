"""What model services do, as data: good answers, wrong set-ups, outages, limits, and answers that are of no use.

A case is named `service/what`, which is also the name of its model. Bodies and headers are those of the services;
`$model` stands for the model's name, `$left`, `$whole`, `$ms`, `$date` and `$epoch` for the time until a limit ends: in
seconds, whole seconds and milliseconds, as an HTTP date, and in milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from tests.support.service_forms import (
    SERVICES,
    THOUGHT,
    Json,
    anthropic,
    gemini,
    google,
    mistral,
    openai,
    openrouter,
    vllm,
    xai,
)

METRIC = "generativelanguage.googleapis.com/generate_content_free_tier_requests"


def _quota(*ids: str) -> Json:
    model = {"location": "global", "model": "$model"}
    return google(
        "QuotaFailure",
        violations=[
            {"quotaMetric": METRIC, "quotaId": name, "quotaDimensions": model, "quotaValue": "10"} for name in ids
        ],
    )


def _gemini_limit(delay: str, *quotas: str) -> Json:
    message = (
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: "
        f"{METRIC}, limit: 10, model: $model\nPlease retry in {delay}."
    )
    more = google("RetryInfo", retryDelay=delay)
    return gemini(429, "RESOURCE_EXHAUSTED", message, _quota(*quotas), more)


LOGIN = "<!DOCTYPE html>\n<html><head><title>Campus WiFi</title></head><body><form>Please sign in.</form></body></html>"
NGINX = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body>\r\n</html>"


# Cases.


class Request(NamedTuple):
    """A request as conditions see it: its body, its number (from 1), and when it and those before it came (seconds)."""

    body: Json
    number: int
    arrivals: list[float]


Condition = Callable[[Request], bool]


class Lasting:
    """True for some seconds, from the request after the first `after` ones on."""

    def __init__(self, seconds: float, after: int = 6) -> None:
        self.seconds, self.after = seconds, after

    def left(self, request: Request) -> float:
        """Seconds until the end; 0 before the beginning and after it."""
        if request.number <= self.after:
            return 0.0
        return max(0.0, request.arrivals[self.after] + self.seconds - request.arrivals[-1])

    def __call__(self, request: Request) -> bool:
        return self.left(request) > 0


def always(request: Request) -> bool:
    return True


def after(count: int) -> Condition:
    return lambda request: request.number > count


def each(count: int) -> Condition:
    """True for every so many-th request."""
    return lambda request: request.number % count == 0


def has(name: str) -> Condition:
    return lambda request: name in request.body


def lacks(name: str) -> Condition:
    return lambda request: name not in request.body


def is_long(request: Request) -> bool:
    return len(request.body["messages"]) > 3


def room(request: Request) -> int | None:
    """The most tokens that an answer may take (None: the request does not say)."""
    return request.body.get("max_completion_tokens", request.body.get("max_tokens"))


def asks_too_much(request: Request) -> bool:
    return (room(request) or 0) > 512


def asks_more_than(tokens: int) -> Condition:
    return lambda request: (room(request) or 0) > tokens


def has_little_room(request: Request) -> bool:
    limit = room(request)
    return limit is not None and limit < 16_000


def has_plain_room(request: Request) -> bool:
    return room(request) == 1_000


def has_no_room_by_default(request: Request) -> bool:
    limit = room(request)
    return limit is None or limit < 16_000


class Kind(Enum):
    """What `negolab batch` makes of a case."""

    GOOD = "good"
    SETUP = "wrong set-up"
    PASSING = "passes"
    STOPS = "stops the run"
    UNUSABLE = "never usable"
    REJECTED = "asked again"
    TOO_LONG = "games fail"


class Case(NamedTuple):
    """What a model does instead of answering well, and what `negolab batch` makes of it.

    Attributes:
        says: Pattern of the last line on stderr, for `TOO_LONG` and `REJECTED` of a line of the summary.
        status, body, headers: The answer to requests for which `when` holds; a status of 0 refuses connections.
        message, finish: Changes of an otherwise good answer, without a `body`: fields of the message, and the reason
            to stop; with "length" it has thought as long as it may, and nothing else.
        wrap: Template of the text of every answer.
        thinks: How many times as much as it says the model thinks (None: as the service's others).
        little: Answers with less room than this are cut.
        settings: Settings of the player.
        options: Options of `negolab batch`.
    """

    name: str
    kind: Kind
    says: str = ""
    status: int = 200
    body: Json = None
    headers: dict[str, str] = {}
    when: Condition = always
    message: Json = None
    finish: str | None = None
    wrap: str = "$text"
    thinks: int | None = None
    little: int = 0
    settings: str = ""
    options: tuple[str, ...] = ()

    @property
    def service(self) -> str:
        return self.name.partition("/")[0]


GOOD, SETUP, PASSING, STOPS = Kind.GOOD, Kind.SETUP, Kind.PASSING, Kind.STOPS
UNUSABLE, REJECTED, TOO_LONG = Kind.UNUSABLE, Kind.REJECTED, Kind.TOO_LONG

KEY = r"variable|OPENAI_API_KEY"
NAME = r"name|pull"
SCHEMA_FORM = r"form=(free|schema)"
NO_WORDS = {"content": None}

GOOD_ANSWERS = [
    *(Case(f"{service}/good", GOOD) for service in SERVICES),
    Case("xai/deep", GOOD, thinks=800),
    Case("gemini/deep", GOOD, thinks=800),
    Case("xai/grok-4-deep", GOOD, thinks=800),
    Case("gemini/gemini-2.5-pro-deep", GOOD, thinks=800),
    Case("vllm/harmony", GOOD, wrap="<|channel|>analysis<|message|>12.00 or 80.00?<|end|>"
                                    "<|start|>assistant<|channel|>final<|message|>$text<|return|>"),
    Case("gemini/thought-tags", GOOD, wrap="<thought>I could ask for 12.00 or 80.00.</thought>$text"),
    Case("ollama/think-tags", GOOD, wrap="<think>\nI could ask for 12.00 or 80.00.\n</think>\n\n$text"),
    *(Case(f"gateway/{reason}", GOOD, when=has_plain_room, message={"content": "5"}, finish=reason)
      for reason in ("max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded", "abort",
                     "insufficient_system_resource")),
    Case("openai/top-k", GOOD, settings="extra.top_k=40"),
    Case("vllm/template-arguments", GOOD,
         settings='extra.chat_template_kwargs={"enable_thinking":false,"add_generation_prompt":true}'),
    Case("xai/room-is-needed", GOOD, when=has_little_room, message={"content": ""}, finish="length"),
    Case("vllm/little-room-by-default", GOOD, when=has_no_room_by_default, message={"content": ""}, finish="length"),
    Case("anthropic/wants-max-tokens", GOOD, status=400, when=lacks("max_tokens"),
         body=anthropic("invalid_request_error", "max_tokens: Field required")),
    Case("anthropic/has-a-smaller-maximum", GOOD, status=400, when=asks_more_than(8192), little=4000,
         body=anthropic("invalid_request_error", "max_tokens: 16000 > 8192, which is the maximum allowed number of "
                        "output tokens for $model")),
    Case("vllm/has-a-small-context", GOOD, status=400, when=asks_more_than(7800), little=4000,
         body=vllm(400, "'max_tokens' or 'max_completion_tokens' is too large: 16000. This model's maximum context "
                   "length is 8192 tokens and your request has 300 input tokens (16000 > 8192 - 300). "
                   "(parameter=max_tokens, value=16000)")),
    Case("openai/other-name-of-max-tokens", GOOD, status=400, when=has("max_tokens"), settings="max_tokens=20000",
         body=openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                     "'max_completion_tokens' instead.", "unsupported_parameter", param="max_tokens")),
    Case("openai/temperature", GOOD, r"temperature", 400, when=has("temperature"), settings="temperature=0.5",
         body=openai("Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) "
                     "value is supported.", "unsupported_value", param="temperature")),
]  # fmt: skip

WRONG_KEYS = [
    Case("openai/wrong-key", SETUP, KEY, 401,
         openai("Incorrect API key provided: sk-proj-********4711. You can find your API key at "
                "https://platform.openai.com/account/api-keys.", "invalid_api_key")),
    Case("anthropic/wrong-key", SETUP, KEY, 401, anthropic("authentication_error", "invalid x-api-key")),
    Case("gemini/wrong-key", SETUP, KEY, 400,
         gemini(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
                google("ErrorInfo", reason="API_KEY_INVALID", domain="googleapis.com",
                       metadata={"service": "generativelanguage.googleapis.com"}),
                google("LocalizedMessage", locale="en-US", message="API key not valid. Please pass a valid API key."))),
    Case("xai/wrong-key", SETUP, KEY, 400,
         xai("Client specified an invalid argument",
             "Incorrect API key provided: sk***11. You can obtain an API key from https://console.x.ai.")),
    Case("mistral/wrong-key", SETUP, KEY, 401, {"message": "Unauthorized", "request_id": "5f1c0a0e"}),
    Case("groq/wrong-key", SETUP, KEY, 401, {"error": {"message": "Invalid API Key", "type": "invalid_request_error",
                                                      "code": "invalid_api_key"}}),
    Case("openrouter/wrong-key", SETUP, KEY, 401, openrouter(401, "User not found.")),
    Case("vllm/wrong-key", SETUP, KEY, 401, {"error": "Unauthorized"}),
    Case("llamacpp/wrong-key", SETUP, KEY, 401,
         {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}}),
]  # fmt: skip

WRONG_KEYS += [
    Case("gemini/leaked-key", SETUP, r"key", 403,
         gemini(403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key.")),
    Case("gateway/key-in-html", SETUP, KEY, 401, "<html><body><h1>401 Authorization Required</h1></body></html>",
         {"Content-Type": "text/html"}),
    Case("openrouter/wrong-key-inside", SETUP, KEY, 200, openrouter(401, "No auth credentials found")),
]  # fmt: skip

UNKNOWN_MODELS = [
    Case("openai/unknown-model", SETUP, NAME, 404,
         openai("The model `$model` does not exist or you do not have access to it.", "model_not_found")),
    Case("anthropic/unknown-model", SETUP, NAME, 404, anthropic("not_found_error", "model: $model")),
    Case("gemini/unknown-model", SETUP, NAME, 404,
         gemini(404, "NOT_FOUND", "models/$model is not found for API version v1main, or is not supported for "
                                  "generateContent. Call ListModels to see the list of available models and their "
                                  "supported methods.")),
    Case("xai/unknown-model", SETUP, NAME, 404,
         xai("Some requested entity was not found", "The model $model does not exist or your team 5d2f does not have "
                                                    "access to it. Please ensure you're using the correct API key.")),
    Case("mistral/unknown-model", SETUP, NAME, 400, mistral("Invalid model: $model", "invalid_model", "1500")),
    Case("groq/unknown-model", SETUP, NAME, 404,
         openai("The model `$model` does not exist or you do not have access to it.", "model_not_found")),
    Case("openrouter/unknown-model", SETUP, NAME, 400, openrouter(400, "$model is not a valid model ID")),
    Case("vllm/unknown-model", SETUP, NAME, 404,
         vllm(404, "The model `$model` does not exist.", "NotFoundError", "model")),
    Case("ollama/unknown-model", SETUP, r"pull", 404,
         openai('model "$model" not found, try pulling it first', kind="api_error")),
]  # fmt: skip

TOP_K = {"when": has("top_k"), "settings": "extra.top_k=40"}
SCHEMA = {"when": has("response_format"), "settings": "form=schema"}
_FORBIDDEN = {"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs are not permitted", "input": 40}

REFUSED_SETTINGS = [
    Case("openai/unknown-parameter", SETUP, r"extra\.top_k", 400,
         openai("Unknown parameter: 'top_k'.", "unknown_parameter", param="top_k"), **TOP_K),
    Case("openai/unrecognized-argument", SETUP, r"extra\.top_k", 400,
         openai("Unrecognized request argument supplied: top_k"), **TOP_K),
    Case("gemini/unknown-parameter", SETUP, r"extra\.top_k", 400,
         gemini(400, "INVALID_ARGUMENT", 'Invalid JSON payload received. Unknown name "top_k": Cannot find field.',
                google("BadRequest", fieldViolations=[
                    {"description": 'Invalid JSON payload received. Unknown name "top_k": Cannot find field.'}])),
         **TOP_K),
    Case("xai/unknown-parameter", SETUP, r"extra\.top_k", 400,
         xai("Client specified an invalid argument", "Argument not supported on this model: topK"), **TOP_K),
    Case("mistral/unknown-parameter", SETUP, r"extra\.top_k", 422, mistral({"detail": [_FORBIDDEN]}), **TOP_K),
    Case("mistral/unknown-parameter-new", SETUP, r"extra\.top_k", 422,
         {"object": "Error", "detail": [_FORBIDDEN], "message": [_FORBIDDEN], "type": "invalid_request_error",
          "code": 3001}, **TOP_K),
    Case("groq/unknown-parameter", SETUP, r"extra\.top_k", 400,
         {"error": {"message": "property 'top_k' is unsupported, did you mean 'top_p'?",
                    "type": "invalid_request_error"}}, **TOP_K),
    Case("vllm/unknown-parameter", SETUP, r"extra\.top_k", 400,
         vllm(400, "[{'type': 'extra_forbidden', 'loc': ('body', 'top_k'), 'msg': 'Extra inputs are not permitted', "
                   "'input': 40}]"), **TOP_K),
    Case("anthropic/temperature-too-high", SETUP, "temperature", 400, when=has("temperature"),
         settings="temperature=1.5", body=anthropic("invalid_request_error", "temperature: range: 0..1")),
    Case("anthropic/two-samplers", SETUP, "temperature.*top_p", 400, when=has("top_p"),
         settings="temperature=0.5,top_p=0.5", body=anthropic("invalid_request_error",
                        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")),
    Case("openai/max-tokens-too-large", SETUP, "512", 400, when=asks_too_much, settings="max_tokens=20000",
         body=openai("max_tokens is too large: 20000. This model supports at most 512 completion tokens, whereas you "
                     "provided 20000.", "invalid_value", param="max_tokens")),
    Case("openai/no-schema", SETUP, SCHEMA_FORM, 400,
         openai("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn "
                "more about supported models at the Structured Outputs guide: "
                "https://platform.openai.com/docs/guides/structured-outputs", param="response_format"), **SCHEMA),
    Case("groq/no-schema", SETUP, SCHEMA_FORM, 400,
         openai("This model does not support response format `json_schema`. See supported models at "
                "https://console.groq.com/docs/structured-outputs#supported-models", param="response_format"),
         **SCHEMA),
    Case("gateway/no-schema", SETUP, SCHEMA_FORM, 400,
         openai("This response_format type is unavailable now", "invalid_request_error"), **SCHEMA),
]  # fmt: skip

CREDIT = r"credit|quota|billing"
NO_CREDIT = [
    Case("openai/no-credit", SETUP, CREDIT, 429,
         openai("You exceeded your current quota, please check your plan and billing details. For more information on "
                "this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
                "insufficient_quota", kind="insufficient_quota")),
    Case("anthropic/no-credit", SETUP, CREDIT, 400,
         anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to "
                                            "Plans & Billing to upgrade or purchase credits.")),
    Case("openrouter/no-credit", SETUP, CREDIT, 402,
         openrouter(402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits")),
    Case("xai/no-credit", SETUP, CREDIT, 403,
         xai("The caller does not have permission to execute the specified operation",
             "Your newly created team doesn't have any credits or licenses yet. You can purchase those on "
             "https://console.x.ai/team/5d2f.")),
]  # fmt: skip

NOT_A_SERVICE = [
    Case("dashscope/stream-only", SETUP, "stream", 400,
         openai("This model only support stream mode, please enable the stream parameter to access the model. ",
                "invalid_parameter_error")),
    Case("gateway/login-page", SETUP, r"HTML|page|sign", 200, LOGIN, {"Content-Type": "text/html; charset=utf-8"}),
    Case("gateway/redirect", SETUP, r"address|URL|page", 302, "", {"Location": "https://login.example/"}),
    Case("gateway/no-method", SETUP, r"address|URL", 405, {"detail": "Method Not Allowed"}),
    Case("gateway/other-json", SETUP, r"address|URL|completion", 200, {"status": "ok"}),
    Case("gateway/plain-text", SETUP, r"address|URL|completion", 200, "Ollama is running",
         {"Content-Type": "text/plain"}),
    Case("gateway/event-stream", SETUP, r"stream", 200,
         'data: {"choices": [{"delta": {"content": "4"}}]}\n\ndata: [DONE]\n\n', {"Content-Type": "text/event-stream"}),
    Case("gateway/not-found", SETUP, r"address|URL", 404, "404 page not found", {"Content-Type": "text/plain"}),
]  # fmt: skip

OVERLOADED = anthropic("overloaded_error", "Overloaded")
WAITING = r"wait"
OUTAGES = [
    Case("anthropic/overloaded", PASSING, WAITING, 529, OVERLOADED, {"x-should-retry": "true"}, Lasting(1.5)),
    Case("anthropic/overloaded-from-the-start", PASSING, WAITING, 529, OVERLOADED, {}, Lasting(1.5, after=0)),
    Case("gemini/overloaded", PASSING, WAITING, 503,
         gemini(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), {}, Lasting(1.5)),
    Case("openai/server-error", PASSING, WAITING, 500,
         openai("The server had an error while processing your request. Sorry about that!", kind="server_error"), {},
         Lasting(1.5)),
    Case("gateway/bad-gateway", PASSING, WAITING, 502, NGINX, {"Content-Type": "text/html"}, Lasting(1.5)),
    Case("vllm/restarts", PASSING, WAITING, 0, when=Lasting(1.5)),
    Case("openrouter/overloaded-inside", PASSING, WAITING, 200,
         openrouter(502, "Provider returned error", provider_name="Fireworks", raw="error code: 502"), {},
         Lasting(1.5)),
    Case("openrouter/finish-error", PASSING, "", when=each(3), finish="error",
         message={"content": "", "refusal": None, "reasoning": None}),
]  # fmt: skip


OUTAGES += [
    Case(
        "anthropic/overloaded-as-openai",
        PASSING,
        WAITING,
        529,
        {"error": {"code": "overloaded_error", "message": "Overloaded", "type": "overloaded_error", "param": None}},
        {},
        Lasting(1.5),
    ),
    Case(
        "openrouter/error-in-choice",
        PASSING,
        "",
        200,
        {
            "id": "gen-1",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "error",
                    "error": {"code": 502, "message": "Upstream error"},
                    "message": {"role": "assistant", "content": ""},
                }
            ],
        },
        {},
        each(3),
    ),
    Case(
        "vllm/error-from-the-start",
        PASSING,
        WAITING,
        503,
        "no healthy upstream",
        {"Content-Type": "text/plain"},
        Lasting(1.5, after=0),
    ),
]


def _rate(name: str, body: Json, headers: dict[str, str], seconds: float = 0.8, after: int = 6) -> Case:
    return Case(name, PASSING, "", 429, body, headers, Lasting(seconds, after))


_BUSY = openai("Rate limit reached for $model in organization org-1 on requests per min (RPM): Limit 500, Used 500, "
               "Requested 1. Please try again in ${left}s. Visit https://platform.openai.com/account/rate-limits to "
               "learn more.", "rate_limit_exceeded", kind="requests")  # fmt: skip
RATE_LIMITS = [
    _rate("openai/seconds", _BUSY, {"Retry-After": "$whole"}, 1.6),
    _rate("openai/fraction-of-seconds", _BUSY, {"Retry-After": "$left"}),
    _rate("openai/milliseconds", _BUSY, {"retry-after-ms": "$ms"}),
    _rate("openai/date", _BUSY, {"Retry-After": "$date"}, 1.6),
    _rate("openai/words-alone", _BUSY, {}),
    _rate("gemini/quota-per-minute",
          _gemini_limit("${left}s", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), {}),
    _rate("groq/reset-headers", openai("Rate limit reached for model `$model` in organization `org_1` service tier "
                                       "`on_demand` on tokens per minute (TPM): Limit 6000, Used 5900, Requested "
                                       "1203. Please try again in ${left}s.", "rate_limit_exceeded", kind="tokens"),
          {"x-ratelimit-reset-tokens": "${left}s", "x-ratelimit-remaining-tokens": "0",
           "x-ratelimit-reset-requests": "2m59.56s", "x-ratelimit-remaining-requests": "14370"}),
    _rate("groq/reset-requests", openai("Rate limit reached."), {"x-ratelimit-reset-requests": "${left}s"}),
    _rate("openai/from-the-start", _BUSY, {"Retry-After": "$left"}, after=0),
    _rate("gemini/from-the-start",
          _gemini_limit("${left}s", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), {}, after=0),
    _rate("openrouter/reset-epoch", openrouter(429, "Rate limit exceeded: free-models-per-min. ",
          headers={"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "$epoch"}),
          {"X-RateLimit-Reset": "$epoch", "X-RateLimit-Remaining": "0"}),
    _rate("anthropic/rate-limit", anthropic("rate_limit_error", "This request would exceed your organization's rate "
                                                                "limit of 50 requests per minute."),
          {"retry-after": "$whole", "anthropic-ratelimit-requests-remaining": "0"}, 1.6),
]  # fmt: skip

DAY = 11_527
"""Seconds until a daily quota is given again."""
UNTIL = r"\d\d:\d\d|3 ?h|midnight|day"
DAILY = [
    Case("gemini/quota-per-day", STOPS, UNTIL, 429,
         _gemini_limit("34.07s", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
                       "GenerateRequestsPerDayPerProjectPerModel-FreeTier"), {}, after(30)),
    Case("groq/tokens-per-day", STOPS, r"3 ?h|\d\d:\d\d", 429,
         openai("Rate limit reached for model `$model` in organization `org_1` service tier `on_demand` on tokens per "
                "day (TPD): Limit 100000, Used 99336, Requested 1203. Please try again in 3h12m7.776s. Need more "
                "tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing", "rate_limit_exceeded",
                kind="tokens"),
         {"retry-after": str(DAY), "x-ratelimit-reset-tokens": "3h12m7.776s"}, after(30)),
    Case("openai/requests-per-day", STOPS, r"3 ?h|\d\d:\d\d", 429,
         openai("Rate limit reached for $model in organization org-1 on requests per day (RPD): Limit 200, Used 200, "
                "Requested 1. Please try again in 3h12m7s.", "rate_limit_exceeded", kind="requests"), {}, after(30)),
    Case("openrouter/free-models-per-day", STOPS, UNTIL, 429,
         openrouter(429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests "
                         "per day",
                    headers={"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0"}), {}, after(30)),
    Case("openai/credit-ends", STOPS, CREDIT, 429,
         openai("You exceeded your current quota, please check your plan and billing details.", "insufficient_quota",
                kind="insufficient_quota"), {}, after(30)),
    Case("openrouter/key-limit", STOPS, r"Key limit exceeded", 403,
         openrouter(403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys"), {},
         after(30)),
    Case("gateway/daily-limit-inside", STOPS, r"daily free limit", 200,
         {"error": {"message": "You have reached your daily free limit.", "type": "limit_error"}}, {}, after(30)),
    Case("dashscope/free-quota", STOPS, r"free quota", 429,
         openai("The free quota has been exhausted. Upgrade to continue.", "AllocationQuota.FreeTierOnly"), {},
         after(30)),
    Case("vllm/gone-for-good", STOPS, r"--patience", 503,
         vllm(503, "Service Unavailable", "ServiceUnavailable"), {}, after(30), options=("--patience", "2s")),
]  # fmt: skip

LENGTH = r"maximum|too long|context"
LONG_PROMPTS = [
    Case("openai/prompt-too-long", TOO_LONG, LENGTH, 400,
         openai("This model's maximum context length is 512 tokens. However, your messages resulted in 731 tokens. "
                "Please reduce the length of the messages.", "context_length_exceeded", param="messages"), {}, is_long),
    Case("anthropic/prompt-too-long", TOO_LONG, LENGTH, 400,
         anthropic("invalid_request_error", "prompt is too long: 200731 tokens > 200000 maximum"), {}, is_long),
    Case("gemini/prompt-too-long", TOO_LONG, LENGTH, 400,
         gemini(400, "INVALID_ARGUMENT", "The input token count (1200731) exceeds the maximum number of tokens "
                                         "allowed (1048576)."), {}, is_long),
    Case("vllm/prompt-too-long", TOO_LONG, LENGTH, 400,
         vllm(400, "This model's maximum context length is 512 tokens. However, you requested 731 tokens (631 in the "
                   "messages, 100 in the completion). Please reduce the length of the messages or completion."), {},
         is_long),
    Case("llamacpp/prompt-too-long", TOO_LONG, LENGTH, 400,
         {"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 731, "n_ctx": 512,
                    "message": "request (731 tokens) exceeds the available context size (512 tokens), try increasing "
                               "it"}}, {}, is_long),
    Case("groq/request-too-large", TOO_LONG, r"too large|too long", 413,
         openai("Request too large for model `$model` in organization `org_1` service tier `on_demand` on tokens per "
                "minute (TPM): Limit 6000, Requested 7310, please reduce your message size and try again.",
                "rate_limit_exceeded", kind="tokens"), {}, is_long),
]  # fmt: skip

REJECTED_ANSWERS = [
    Case("groq/json-validate-failed", REJECTED, r"format +\d+", 400,
         {"error": {"message": "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more "
                               "details.",
                    "type": "invalid_request_error", "code": "json_validate_failed",
                    "failed_generation": '{"say": "Let us agree'}}, {}, each(4), settings="form=schema"),
    Case("groq/json-validate-failed-at-first", REJECTED, r"format +\d+", 400,
         {"error": {"message": "Failed to validate JSON.", "type": "invalid_request_error",
                    "code": "json_validate_failed", "failed_generation": "I say 40"}}, {},
         lambda request: request.number <= 2, settings="form=schema"),
    Case("openai/refuses-now-and-then", REJECTED, r"format +\d+", when=each(4),
         message={"content": None, "refusal": "I'm sorry, I can't assist with that."}),
]  # fmt: skip

UNUSABLE_ANSWERS = [
    Case("openai/refusal", UNUSABLE, r"refus|declin",
         message={"content": None, "refusal": "I'm sorry, I can't assist with that."}),
    Case("openai/content-filter", UNUSABLE, r"filter", message={"content": ""}, finish="content_filter"),
    Case("gemini/safety", UNUSABLE, r"filter|SAFETY", message=NO_WORDS, finish="SAFETY"),
    Case("gemini/null", UNUSABLE, r"empty|no text|no words", message=NO_WORDS),
    Case("xai/empty", UNUSABLE, r"empty|no text|no words", message={"content": "", "reasoning_content": THOUGHT}),
    Case("openai/always-cut", UNUSABLE, r"cut at the token limit", message={"content": ""}, finish="length"),
    Case("gateway/unknown-reason", UNUSABLE, r"unknown reason", message={"content": "60"}, finish="because"),
    Case("vllm/tool-call", UNUSABLE, r"tools", message={"content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "offer", "arguments": "{}"}}]}, finish="tool_calls"),
    Case("openai/refusal-beside-empty", UNUSABLE, r"declin", message={"content": "", "refusal": "I can't assist."}),
    Case("ollama/babbles", UNUSABLE, r"unusable|read|format", wrap="Certainly! As an AI I love negotiation."),
]  # fmt: skip

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        *GOOD_ANSWERS, *WRONG_KEYS, *UNKNOWN_MODELS, *REFUSED_SETTINGS, *NO_CREDIT, *NOT_A_SERVICE,
        *OUTAGES, *RATE_LIMITS, *DAILY, *LONG_PROMPTS, *REJECTED_ANSWERS, *UNUSABLE_ANSWERS,
    )
}  # fmt: skip
