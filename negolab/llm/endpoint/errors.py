"""Errors of calls, by what is to be done about them, and how they are read from HTTP responses.

An `AttemptFailed` is retried, a `GameFailed` ends one game, a `RunFailed` ends the run.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Container, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

import msgspec

from negolab.llm.endpoint.call import Usage


class GameFailed(Exception):
    """This game cannot go on; others can. The text is the recorded reason, in one line, without keys."""


class GameTimedOut(GameFailed):
    """The game's own time limit was reached."""


class NoLegalMove(GameFailed):
    """The model makes no legal move. Its answers are cached, so only new ones can end the game otherwise."""


class RunFailed(Exception):
    """No game can go on until the user has changed something; the text says what, in one line, without keys."""


class BudgetReached(RunFailed):
    """The next call could cost more than is left."""


class AttemptFailed(Exception):
    """An attempt without an answer, after which the call is tried again. The text is the reason."""

    usage: Usage | None = None
    """Tokens that the attempt took, as far as the endpoint says."""
    is_free = False
    """True if certainly nothing was paid."""


class RateLimited(AttemptFailed):
    """Too many calls: try again after `retry_after` seconds (None: the endpoint did not say)."""

    is_free = True

    def __init__(self, retry_after: float | None) -> None:
        super().__init__("too many calls")
        self.retry_after = retry_after


class BadResponse(AttemptFailed):
    """An error of the server, or a response without a valid answer."""

    def __init__(
        self, reason: str, *, usage: Usage | None = None, retry_after: float = 0.0, is_free: bool = False
    ) -> None:
        super().__init__(reason)
        self.usage = usage
        self.retry_after = retry_after
        self.is_free = is_free


class Unreachable(AttemptFailed):
    """The endpoint could not be reached (`is_free`), or nothing came within the time of a call."""

    def __init__(self, reason: str, *, is_free: bool) -> None:
        super().__init__(reason)
        self.is_free = is_free


class UnsupportedParameter(AttemptFailed):
    """The model does not take this parameter of the request."""

    is_free = True

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(reason)
        self.parameter = parameter


class Forbidden(RunFailed):
    """HTTP 403: the key may not do this, or this one request is not wanted; the endpoint does not say which.

    `reason` is the endpoint's text without advice.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}: {ADVICE[403]}")
        self.reason = reason


GAME_CODES = {
    "game_failed",  # a sweep's broker says so
    "context_length_exceeded",
    "content_policy_violation",
    "content_filter",
    "string_above_max_length",
}
RUN_CODES = {"run_failed", "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "invalid_api_key"}
UNSUPPORTED_CODES = {"unsupported_parameter", "unsupported_value"}
TRANSIENT_STATUS = {408, 409, 425, 499}
GAME_STATUS = {400, 413, 422}
QUOTED_PARAMETER = re.compile(r"(?:parameter|value|argument|field)s?\b[^'\"`]{0,20}['\"`](\w+)['\"`]", re.IGNORECASE)
ADVICE = {
    401: "set the environment variable that holds the key",
    402: "the account has no credit left",
    403: "the key may not do this",
    404: "check the base URL and the model's name",
}
MAX_WAIT = 86_400.0
"""Seconds; a longer Retry-After is cut to a day."""
MAX_QUOTE = 300
"""Characters of a server's text that are quoted."""


def raise_for(status: int, headers: Mapping[str, str], body: bytes, params: Container[str]) -> None:
    """Raise the error that an HTTP status other than 200 means; `params` are those of the request body.

    Raises:
        AttemptFailed: The call may be tried again.
        GameFailed: The endpoint does not answer this input.
        RunFailed: Key, address, model or account are wrong.
    """
    code, parameter, message = _parse_error(body)
    if code in RUN_CODES or (status == 429 and "quota" in code):
        raise RunFailed(f"HTTP {status}: {message}")
    if code in GAME_CODES and 400 <= status < 500:
        raise GameFailed(f"HTTP {status}: {message}")
    if status == 429:
        raise RateLimited(retry_after(headers))
    if status >= 500 or status in TRANSIENT_STATUS:
        raise BadResponse(f"HTTP {status}: {message}", retry_after=retry_after(headers) or 0.0, is_free=status != 504)
    if status in GAME_STATUS:
        unsupported = _unsupported_parameter(code, parameter, message, params)
        if unsupported is not None:
            raise UnsupportedParameter(unsupported, f"HTTP {status}: {message}")
        raise GameFailed(f"HTTP {status}: {message}")
    if status == 403:
        raise Forbidden(f"HTTP {status}: {message}")
    advice = ADVICE.get(status, "the address is not that of an OpenAI-compatible endpoint")
    raise RunFailed(f"HTTP {status}: {message}: {advice}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in Retry-After, a number or an HTTP date; None if there are none or they are not finite."""
    parsers = (
        ("retry-after-ms", lambda value: float(value) / 1000),
        ("retry-after", float),
        ("retry-after", _seconds_until),
    )
    for name, parse in parsers:
        with suppress(KeyError, ValueError, TypeError, OverflowError):
            seconds = parse(headers[name])
            if isfinite(seconds):
                return min(max(0.0, seconds), MAX_WAIT)
    return None


def _seconds_until(date: str) -> float:
    return parsedate_to_datetime(date).timestamp() - time.time()


def _parse_error(body: bytes) -> tuple[str, str | None, str]:
    """Return code, parameter and message of an error as servers write it; the message is never empty."""
    try:
        error = decode_json(body)
    except (ValueError, RecursionError):
        error = None
    error = error.get("error", error) if isinstance(error, dict) else error
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail") or error
        code = str(error.get("code") or error.get("type") or "")
        parameter = error.get("param")
        return code, parameter if isinstance(parameter, str) else None, one_line(str(message))
    return "", None, one_line(error if isinstance(error, str) else decode_text(body))


def decode_text(body: bytes) -> str:
    """Decode a body in any UTF; invalid bytes are replaced."""
    return body.decode(json.detect_encoding(body), "replace")


def decode_json(body: bytes) -> Any:
    """Decode JSON, also with invalid bytes in it; ValueError or RecursionError if it is none."""
    try:
        return msgspec.json.decode(body)
    except ValueError:
        return json.loads(decode_text(body))


def _unsupported_parameter(code: str, parameter: str | None, message: str, params: Container[str]) -> str | None:
    """Return the parameter of the request that the server objects to, if it names one."""
    if code in UNSUPPORTED_CODES and parameter is None and (named := QUOTED_PARAMETER.search(message)):
        parameter = named[1]
    if parameter is None and re.search(r"unsupported|not supported|unrecognized|unexpected", message, re.IGNORECASE):
        named = QUOTED_PARAMETER.search(message)
        parameter = named[1] if named else None
    return parameter if parameter in params else None


def one_line(text: str, length: int = MAX_QUOTE) -> str:
    """Return a server's text on one line, cut to `length`, without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * length]).split()) or "(no words)"
    return line if len(line) <= length else line[: length - 1] + "…"
