"""Logs that do not identify visitors (no token, no kernel ID, no query), and the launcher's console output."""

from __future__ import annotations

import contextlib
import logging
import re
import sys

from typing_extensions import override

from negolab.formatting import LogFormatter
from negolab_widgets.server.limits import TokenBuckets

_REDACTIONS = (
    (re.compile(r"(join/)[^\s?#'\"]+"), r"\1..."),
    (re.compile(r"\?[^\s'\"]+"), "?..."),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "..."),
)


def redact(text: str) -> str:
    """Remove anything from a text that could identify a visitor."""
    for pattern, instead in _REDACTIONS:
        text = pattern.sub(instead, text)
    return text


class RedactingFormatter(LogFormatter):
    """Format a message with its traceback, then redact all of it."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class LimitedFilter(logging.Filter):
    """Pass a limited number of lines per second and say how many were left out, so that no visitor can fill the
    disk."""

    def __init__(self, rate: float = 2.0, burst: float = 50.0) -> None:
        super().__init__()
        self._bucket, self._left_out = TokenBuckets(rate, burst), 0

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if self._bucket.take(""):
            self._left_out += 1
            return False
        if self._left_out:
            record.msg, record.args = f"{record.getMessage()} ({self._left_out} earlier lines were omitted)", None
            self._left_out = 0
        return True


def configure_logging(*loggers: logging.Logger) -> None:
    """Log only errors, redacted, with one handler of ours."""
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter("negolab: %(levelname)s %(message)s"))
    handler.addFilter(LimitedFilter())
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR)


def print_line(line: str) -> None:
    """Print a line for whoever started the launcher, without buffering, because other processes wait for it too."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def print_warning(line: str) -> None:
    """Print a line about a fault."""
    write_stderr(f"negolab: {line}\n")


def write_stderr(text: str) -> None:
    """Write to the terminal; if it is gone, or is a log on a full disk, carry on."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
