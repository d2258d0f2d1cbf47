"""Faults in words that are safe to keep and to print: never with what a person wrote."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import sqlalchemy as sa
from typing_extensions import override

_AWAY = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)


def away(error: BaseException | None) -> bool:
    """Whether the database took nothing just now, rather than that we asked it for something wrong."""
    return isinstance(error, _AWAY) or (isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated)


def told(error: BaseException) -> str:
    """A fault in one line. The words of an exception of the code may quote a person: its place must do instead."""
    kind = type(error).__name__
    if isinstance(error, sa.exc.DBAPIError):
        lines = str(error.orig).splitlines()  # further lines of PostgreSQL quote values
        return f"{kind}: {lines[0] if lines else 'no answer'}"[:300]
    if isinstance(error, OSError) and error.strerror:
        return f"{kind}: {error.strerror}"
    places = traceback.extract_tb(error.__traceback__)
    return f"{kind} in {Path(places[-1].filename).name}, line {places[-1].lineno}" if places else kind


class Outage(logging.Filter):
    """Lets a database that is away be told once, in one line, until `back` says that it answers again."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__()
        self.now = False
        self._log = log
        log.addFilter(self)

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is None or not away(error):
            return True
        first, self.now = not self.now, True
        record.msg, record.args = f"the database takes nothing just now ({told(error)}); it is tried again", ()
        record.exc_info = record.exc_text = None
        return first

    def back(self) -> None:
        """The database answers."""
        if self.now:
            self.now = False
            self._log.warning("the database is back")

    def close(self) -> None:
        self._log.removeFilter(self)
