"""A request of aiohttp's whose body leaves at once, also where Python is older than 3.12.

There aiohttp writes each body in a task of its own, which begins behind all else that is ready to run: with 50 answers
at once, 50 connections lie idle until the last of them has been read. From 3.12 on such a task begins when it is made.
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Generator
from typing import Any

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from typing_extensions import override


class Begun(Generator[Any, Any, None], Coroutine[Any, Any, None]):
    """A coroutine that runs up to where it first has to wait when this is made. A task of it goes on from there: it is
    given first what is waited for."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = work
        self._awaited: list[Any] = []
        self._over = False
        try:
            self._awaited.append(work.send(None))
        except StopIteration:
            self._over = True

    @override
    def send(self, value: Any) -> Any:
        if self._over:
            raise StopIteration
        return self._awaited.pop() if self._awaited else self._work.send(value)

    @override
    def throw(self, *error: Any) -> Any:
        if self._over:
            raise error[0]
        self._awaited.clear()
        return self._work.throw(*error)

    @override
    def close(self) -> None:
        self._work.close()

    @override
    def __await__(self) -> Generator[Any, Any, None]:
        return self


class Eager(aiohttp.ClientRequest):
    """Begins to write when aiohttp asks for the coroutine that would."""

    @override
    def write_bytes(self, writer: AbstractStreamWriter, *about: Any) -> Coroutine[Any, Any, None]:
        return Begun(super().write_bytes(writer, *about))


REQUEST: type[aiohttp.ClientRequest] = aiohttp.ClientRequest if sys.version_info >= (3, 12) else Eager
