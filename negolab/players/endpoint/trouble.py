"""What can go wrong with one attempt, by what is to be done about it, and how it is read from what came back."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Container, Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

import msgspec

from negolab.players.endpoint.call import Usage
from negolab.players.endpoint.failures import GameFailed, RunFailed


class Trouble(Exception):
    """An attempt without an answer, after which the call is tried again. The text is the reason."""

    paid: Usage | None = None
    """What the endpoint says that the attempt took."""
    free = False
    """Whether certainly nothing was paid."""


class Limited(Trouble):
    """Too many calls: ask again after `wait` seconds (None: the endpoint did not say)."""

    free = True

    def __init__(self, wait: float | None) -> None:
        super().__init__("too many calls")
        self.wait = wait


class Broken(Trouble):
    """An error of the server, or an answer that is none."""

    def __init__(self, why: str, *, paid: Usage | None = None, wait: float = 0.0, free: bool = False) -> None:
        super().__init__(why)
        self.paid = paid
        self.wait = wait
        self.free = free


class Silent(Trouble):
    """The endpoint could not be reached (`free`), or nothing came within the time of a call."""

    def __init__(self, why: str, *, free: bool) -> None:
        super().__init__(why)
        self.free = free


class Unsuited(Trouble):
    """The model does not take this parameter of the request."""

    free = True

    def __init__(self, parameter: str, why: str) -> None:
        super().__init__(why)
        self.parameter = parameter


class Forbidden(RunFailed):
    """The key may not do this, or this one request is not wanted: the endpoint does not say which. `said` is what it
    says, without advice."""

    def __init__(self, said: str) -> None:
        super().__init__(f"{said}: {ADVICE[403]}")
        self.said = said


GAME_CODES = {
    "game_failed",  # a sweep's broker says so
    "context_length_exceeded",
    "content_policy_violation",
    "content_filter",
    "string_above_max_length",
}
RUN_CODES = {"run_failed", "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "invalid_api_key"}
UNSUITED_CODES = {"unsupported_parameter", "unsupported_value"}
TRANSIENT = {408, 409, 425, 499}
GAME_STATUS = {400, 413, 422}
NAMED = re.compile(r"(?:parameter|value|argument|field)s?\b[^'\"`]{0,20}['\"`](\w+)['\"`]", re.IGNORECASE)
ADVICE = {
    401: "set the environment variable that holds the key",
    402: "the account has no credit left",
    403: "the key may not do this",
    404: "check the base URL and the model's name",
}
LONGEST_WAIT = 86_400.0
"""Seconds: who wants to be left alone for longer is asked again after a day."""
LONGEST = 300
"""Characters of a server's words that are quoted."""


def raise_for(status: int, headers: Mapping[str, str], body: bytes, params: Container[str]) -> None:
    """Raise what an HTTP status that is not 200 means: a `Trouble`, `GameFailed` or `RunFailed`. `params` are those of
    the request's body."""
    code, parameter, said = _error(body)
    if code in RUN_CODES or (status == 429 and "quota" in code):
        raise RunFailed(f"HTTP {status}: {said}")
    if code in GAME_CODES and 400 <= status < 500:
        raise GameFailed(f"HTTP {status}: {said}")
    if status == 429:
        raise Limited(wait(headers))
    if status >= 500 or status in TRANSIENT:
        raise Broken(f"HTTP {status}: {said}", wait=wait(headers) or 0.0, free=status != 504)
    if status in GAME_STATUS:
        unsuited = _unsuited(code, parameter, said, params)
        if unsuited is not None:
            raise Unsuited(unsuited, f"HTTP {status}: {said}")
        raise GameFailed(f"HTTP {status}: {said}")
    if status == 403:
        raise Forbidden(f"HTTP {status}: {said}")
    advice = ADVICE.get(status, "the address is not that of an OpenAI-compatible endpoint")
    raise RunFailed(f"HTTP {status}: {said}: {advice}")


def wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait, as a number or an HTTP date; None: it does not say, or not in earnest."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        said = headers.get(name)
        if said is None:
            continue
        seconds = _number(said, unit)
        if seconds is None:
            seconds = _until(said)
        if seconds is not None and isfinite(seconds):
            return min(max(0.0, seconds), LONGEST_WAIT)
    return None


def _number(said: str, unit: float) -> float | None:
    try:
        return float(said) * unit
    except ValueError:
        return None


def _until(said: str) -> float | None:
    try:
        return parsedate_to_datetime(said).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None


def _error(body: bytes) -> tuple[str, str | None, str]:
    """Code, parameter and words of an error as servers write it; the words are never empty."""
    try:
        found = parsed(body)
    except (ValueError, RecursionError):
        found = None
    found = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(found, dict):
        said = found.get("message") or found.get("detail") or found
        code = str(found.get("code") or found.get("type") or "")
        parameter = found.get("param")
        return code, parameter if isinstance(parameter, str) else None, short(str(said))
    return "", None, short(found if isinstance(found, str) else words(body))


def words(body: bytes) -> str:
    """A body as text, in whichever UTF it is; what is none is replaced."""
    return body.decode(json.detect_encoding(body), "replace")


def parsed(body: bytes) -> Any:
    """What a body in JSON holds, also where a letter of it is wrong. `ValueError` or `RecursionError` if it is none."""
    try:
        return msgspec.json.decode(body)
    except ValueError:
        return json.loads(words(body))


def _unsuited(code: str, parameter: str | None, said: str, params: Container[str]) -> str | None:
    """The parameter of ours that the server objects to, if it names one."""
    if code in UNSUITED_CODES and parameter is None and (named := NAMED.search(said)):
        parameter = named[1]
    if parameter is None and re.search(r"unsupported|not supported|unrecognized|unexpected", said, re.IGNORECASE):
        named = NAMED.search(said)
        parameter = named[1] if named else None
    return parameter if parameter in params else None


def short(said: str, longest: int = LONGEST) -> str:
    """A server's words on one line, cut where they are long; what would command a terminal is left out."""
    line = " ".join("".join(c if c.isprintable() else " " for c in said[: 20 * longest]).split()) or "(no words)"
    return line if len(line) <= longest else line[: longest - 1] + "…"
