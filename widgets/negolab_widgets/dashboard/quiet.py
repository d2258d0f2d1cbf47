"""Logs that name no visitor: no token, no kernel id, no query."""

from __future__ import annotations

import logging
import re

from typing_extensions import override

_SECRETS = (
    (re.compile(r"(join/)[^\s?#'\"]+"), r"\1..."),
    (re.compile(r"\?[^\s'\"]+"), "?..."),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "..."),
)


def redacted(text: str) -> str:
    """The text without what a visitor could be known by."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


class Redacted(logging.Formatter):
    """Formats a message with its traceback, then takes the secrets out of all of it."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


def hush(*loggers: logging.Logger) -> None:
    """Errors only, redacted, on one handler of ours."""
    handler = logging.StreamHandler()
    handler.setFormatter(Redacted("negolab: %(levelname)s %(message)s"))
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR)
