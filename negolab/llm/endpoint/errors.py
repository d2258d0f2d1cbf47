"""Call errors, grouped by what to do about them, and how to read them from HTTP responses.

An `AttemptFailed` is retried, a `GameFailed` ends one game, a `RunFailed` ends the run.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from math import isfinite, nan
from typing import Any, NamedTuple, NoReturn
from zoneinfo import ZoneInfo

import msgspec

from negolab.game import Invalid, Seat
from negolab.llm.endpoint.call import Usage
from negolab.llm.endpoint.services import ADVICE, ERRORS, Kind


class GameFailed(Exception):
    """This game cannot continue; others can. The text is the recorded reason, on one line, without keys."""


class RequestRefused(GameFailed):
    """The endpoint refuses a request; if it has not answered any yet, the setup is wrong."""


class GameTimedOut(GameFailed):
    """The game's own time limit was reached."""


class NoLegalMove(GameFailed):
    """The model makes no legal move. Its answers are cached, so only new ones can make the game end differently."""


class NoAnswer(NoLegalMove):
    """The model's answer was not whole, however often it was asked.

    Args:
        reason: The reason.
        seat: The model's seat.
        invalid: What was wrong with the answer.
        asked: Number of times that the model was asked.
        tokens: The limit that the user set.
    """

    def __init__(self, reason: str, seat: Seat, invalid: Invalid, asked: int, tokens: int | None) -> None:
        super().__init__(reason)
        self.seat, self.invalid, self.asked, self.tokens = seat, invalid, asked, tokens


class RunFailed(Exception):
    """No game can continue until the user changes something; the text says what, on one line, without keys."""


class BudgetReached(RunFailed):
    """The next call could cost more than is left."""


class AttemptFailed(Exception):
    """An attempt without an answer, after which the call is retried. The text is the reason.

    Args:
        reason: The reason.
        usage: Tokens that the attempt took, as far as the endpoint reports them.
        retry_after: Seconds that the endpoint asks to wait (None: it does not say).
        is_free: True if certainly nothing was charged.
    """

    def __init__(
        self, reason: str, *, usage: Usage | None = None, retry_after: float | None = None, is_free: bool = False
    ) -> None:
        super().__init__(reason)
        self.usage = usage
        self.retry_after = retry_after
        self.is_free = is_free


class RateLimited(AttemptFailed):
    """Too many calls."""


class Overloaded(AttemptFailed):
    """The endpoint cannot answer now; retried for some time, not for a number of attempts."""


class Unreachable(Overloaded):
    """There is no connection, or something else answers; if the endpoint has never answered, the address is wrong."""


class BadResponse(AttemptFailed):
    """A response without a valid answer; retried a few times."""


class RefusedParameter(AttemptFailed):
    """The model does not accept this parameter of the request, or not this value."""

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(reason, is_free=True)
        self.parameter = parameter


class RejectedAnswer(Exception):
    """The service rejected what the model wrote, which is the exception's text."""


MAX_WAIT = 86_400.0
"""Seconds; a longer wait is cut to a day."""
MAX_QUOTE = 300
"""Most characters quoted from a server's text."""
MAX_WORD, WORD_START = 40, 8
"""Most characters of a word quoted in full, and characters quoted of a longer one, which may be an encoded key."""
PACIFIC = ZoneInfo("America/Los_Angeles")
"""Gemini's daily quotas begin at midnight there."""


class Problem(NamedTuple):
    """An error as its service reports it."""

    status: int
    code: str
    message: str
    parameters: tuple[str, ...]
    """Parameters of the call that it names."""
    retry_after: float | None
    details: str
    """Everything the body says, to be searched for words."""
    written: str
    """The answer that was rejected, if the error is about one."""

    @property
    def line(self) -> str:
        return f"HTTP {self.status}: {self.message}" if self.status != 200 else self.message

    def kind(self) -> Kind | None:
        """Return the kind of the first rule that matches; None for an unknown error in the request."""
        text = f"{self.code} {self.details}"
        for rule in ERRORS:
            if rule.matches(self.status, self.code, text) and (rule.kind != "parameter" or self.parameters):
                return rule.kind
        return None


def raise_for(status: int, headers: Mapping[str, str], body: bytes, params: Collection[str]) -> NoReturn:
    """Raise the error that an HTTP response without an answer means; `params` are those of the request body.

    Raises:
        AttemptFailed: The call may be retried.
        GameFailed: The endpoint does not answer this input.
        RunFailed: The key, address, model or account is wrong, or a daily quota is used up.
        RejectedAnswer: The service rejected what the model wrote.
    """
    problem = read_problem(status, headers, body, params)
    raise ERROR_OF[problem.kind()](problem)


REFUSED = (400, 403, 422)
"""Statuses with which a service refuses a request sent to the right address."""


def _refused(problem: Problem) -> Exception:
    """Return the error for a request that was refused for an unknown reason."""
    if problem.status in (200, *REFUSED):
        return RequestRefused(problem.line)
    return RunFailed(f"{problem.line}: the address is not an OpenAI-compatible endpoint")


def _set_up_failed(advice: str, problem: Problem) -> Exception:
    return RunFailed(f"{problem.line}: {advice}")


ERROR_OF: dict[Kind | None, Callable[[Problem], Exception]] = {
    "run": lambda problem: RunFailed(problem.line),
    "game": lambda problem: GameFailed(problem.line),
    "filtered": lambda problem: GameFailed(problem.line),
    "context": lambda problem: RequestRefused(f"{problem.line}: the prompt is longer than the model's context"),
    "parameter": lambda problem: RefusedParameter(problem.parameters[0], problem.line),
    "rejected": lambda problem: RejectedAnswer(problem.written),
    "quota": lambda problem: RunFailed(f"{problem.line}: the daily quota is used up; {_quota_end(problem)}"),
    "rate": lambda problem: RateLimited(problem.line, retry_after=problem.retry_after, is_free=True),
    # A call that timed out at a gateway may well have been charged.
    "overload": lambda problem: Overloaded(
        problem.line, retry_after=problem.retry_after, is_free=problem.status != 504
    ),
    **{kind: partial(_set_up_failed, advice) for kind, advice in ADVICE.items()},
    None: _refused,
}
"""Error by kind of problem (None: unknown)."""


def _quota_end(problem: Problem) -> str:
    """Say when an exhausted daily quota is available again: as known for the service, or else as it says."""
    now = datetime.now(UTC)
    if "googleapis" in problem.details:
        local = (now.astimezone(PACIFIC) + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        end = local.astimezone(UTC)
    elif problem.retry_after is not None:
        end = now + timedelta(seconds=problem.retry_after)
    else:
        return "the service does not say for how long: run again tomorrow to resume"
    return f"run again after {end:%Y-%m-%d %H:%M} UTC to resume"


def read_problem(status: int, headers: Mapping[str, str], body: bytes, params: Collection[str]) -> Problem:
    """Read an error in any form that services use; the message is never empty."""
    try:
        content = decode_json(body)
    except (ValueError, RecursionError):
        content = _page_title(decode_text(body))
    error = content[0] if isinstance(content, list) and content else content  # Gemini sends a list
    error = error.get("error", error) if isinstance(error, dict) else error
    details = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    fields = error if isinstance(error, dict) else {}
    code = str(next((value for name in ("code", "type", "status") if (value := fields.get(name))), ""))
    message = read_message(error)
    parameters = [name for name in params if name == fields.get("param")]
    parameters = parameters or [name for name in params if _names(details, name)]
    written = fields.get("failed_generation")
    return Problem(
        status,
        code,
        message,
        tuple(parameters),
        retry_after(headers, details),
        details,
        written if isinstance(written, str) else "",
    )


def read_message(error: Any) -> str:
    """Return an error's message on one line, and nothing that no service documents as one; Mistral nests a list of
    details in it, each with its place."""
    named = (error.get("message") or error.get("detail") or error.get("code")) if isinstance(error, dict) else error
    message = named.get("detail") if isinstance(named, dict) else named
    if isinstance(message, list) and all(isinstance(each, dict) and "msg" in each for each in message):
        message = "; ".join(f"{_place(each.get('loc'))}: {each['msg']}" for each in message)
    return one_line(str(message) if isinstance(message, str | int) else "")


def _place(parts: Any) -> str:
    return ".".join(map(str, parts if isinstance(parts, list) else [parts or ""]))


def _names(text: str, parameter: str) -> bool:
    """Return True if a text names a parameter, as sent or in camel case."""
    first, *more = parameter.split("_")
    camel = first + "".join(word.title() for word in more)
    return re.search(rf"(?<!\w)({re.escape(parameter)}|{re.escape(camel)})(?!\w)", text) is not None


def _page_title(text: str) -> str:
    """Return a web page's title, or its beginning if it has none; return any other text unchanged."""
    if not text.lstrip().startswith("<"):
        return "a stream of events" if text.startswith("data:") else text
    title = re.search(r"<title[^>]*>(.*?)</title>", text[:20_000], re.IGNORECASE | re.DOTALL)
    words = title[1] if title else re.sub(r"<[^>]*>", " ", text[:2_000])
    return f"a web page ({one_line(words, 80)})"


_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = r"(?:\d+(?:\.\d+)? ?(?:ms|[dhms]))+"
_TOLD = re.compile(rf'(?:retryDelay": "|(?:try again|retry) (?:again )?(?:in|after) )({_DURATION})', re.IGNORECASE)


def retry_after(headers: Mapping[str, str], text: str = "") -> float | None:
    """Return the seconds that an endpoint asks to wait, in a header or in words; None if it does not say.

    Args:
        headers: The response's headers; Retry-After is a number, a duration such as `1m2.5s`, or an HTTP date.
        text: The error's text.
    """
    told = _TOLD.search(text)
    waits = [
        _wait(headers.get("retry-after-ms", "")) / 1000,
        _wait(headers.get("retry-after", "")),
        _wait(told[1] if told else ""),
        *(
            _wait(headers.get(f"x-ratelimit-reset-{of}", ""))
            for of in ("requests", "tokens")
            if headers.get(f"x-ratelimit-remaining-{of}") == "0"
        ),
    ]
    return next((min(max(0.0, seconds), MAX_WAIT) for seconds in waits if isfinite(seconds)), None)


def _wait(text: str) -> float:
    """Convert seconds, a duration or a date to seconds from now; NaN for anything else."""
    for parse in (float, parse_duration, _seconds_until):
        with suppress(ValueError, TypeError, OverflowError):
            return parse(text)
    return nan


def parse_duration(duration: str) -> float:
    """Convert a duration such as `1.5s` or `1h2m3s` to seconds; ValueError for anything else."""
    if not re.fullmatch(_DURATION, duration):
        raise ValueError(f"{duration!r} is not a duration such as 90s, 10m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?) ?(ms|[dhms])", duration))


def _seconds_until(date: str) -> float:
    return parsedate_to_datetime(date).timestamp() - time.time()


def decode_text(body: bytes) -> str:
    """Decode a body in any UTF encoding; invalid bytes are replaced."""
    return body.decode(json.detect_encoding(body), "replace")


def decode_json(body: bytes) -> Any:
    """Decode JSON, even with invalid bytes in it; raise ValueError or RecursionError if it is not JSON."""
    try:
        return msgspec.json.decode(body)
    except ValueError:
        return json.loads(decode_text(body))


def one_line(text: str, length: int = MAX_QUOTE) -> str:
    """Return a server's text on one line, cut to `length`, with long words cut and control characters removed."""
    words = "".join(c if c.isprintable() else " " for c in text[: 20 * length]).split()
    line = " ".join(w if len(w) <= MAX_WORD else f"{w[:WORD_START]}…" for w in words) or "(no words)"
    return line if len(line) <= length else line[: length - 1] + "…"
