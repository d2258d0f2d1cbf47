"""Scripted answers in the place of a model's endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from negolab.llm.endpoint.call import Answer, Call, Usage


def answer(text: str, finish: str = "stop", **fields: Any) -> Answer:
    """An answer with plausible token counts."""
    return Answer(text=text, finish=finish, usage=Usage(100, 10), model="fake-1", **fields)


class ScriptedModel:
    """Endpoint and `Models` in one: answers from a script in order, or by a function of the call."""

    url = "http://127.0.0.1:1/v1"

    def __init__(self, script: Iterable[str | Answer | Exception] | Callable[[Call], str]) -> None:
        self.calls: list[Call] = []
        self.asked: list[tuple[str | None, str | None]] = []
        self.make = script if callable(script) else None
        self.script = [] if callable(script) else list(script)

    def endpoint(self, base_url: str | None = None, key: str | None = None) -> ScriptedModel:
        self.asked.append((base_url, key))
        return self

    async def answer(self, call: Call) -> Answer:
        self.calls.append(call)
        reply = self.make(call) if self.make is not None else self.script.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Answer) else answer(reply)

    @property
    def last(self) -> list[tuple[str, str]]:
        """The messages of the last call, as role and content."""
        return [(message.role, message.content) for message in self.calls[-1].messages]
