"""Parameter compatibility: which request fields each model takes, known in advance or learned from errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from negolab.llm.endpoint.call import Call
from negolab.llm.endpoint.errors import RunFailed, UnsupportedParameter

RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
DROPPED = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "logprobs", "top_logprobs")
KNOWN_LIMITATIONS = {
    r"(o\d|gpt-5$|gpt-5-)": ("max_tokens", *DROPPED[:4], *DROPPED[5:]),
    r"gpt-5\.": ("max_tokens",),
}
"""Pattern of the beginning of a model's name -> the parameters that it does not take as they are."""
RESERVED = ("model", "messages", "stream")


class ParameterCompatibility:
    """Rename or drop the parameters that one model does not take."""

    def __init__(self, model: str, notify: Callable[[str], None]) -> None:
        self.version = 0
        """Number of limitations learned; a request body belongs to the version it was made with."""
        self._model = model
        self._notify = notify
        name = model.rpartition("/")[2]
        self._changed = {
            name_ for begins, names in KNOWN_LIMITATIONS.items() if re.match(begins, name) for name_ in names
        }
        self._rejected: set[str] = set()
        self._notified: set[str] = set()

    def translate(self, call: Call) -> dict[str, Any]:
        """Return the call's parameters as this model takes them; ValueError for one that the call sets itself."""
        if reserved := [name for name in RESERVED if name in call.params]:
            raise ValueError(f"{reserved[0]!r} is no parameter of a call: the call itself sets it")
        return self._translated(call.params) if self._changed else call.params

    def learn(self, error: UnsupportedParameter, version: int) -> None:
        """Translate this parameter from now on, unless the rejected body was older than what is known by now.

        Raises:
            RunFailed: There is no other name for the parameter, or that was tried already.
        """
        name = error.parameter
        if version < self.version:
            return
        if name in self._rejected or (name not in RENAMED and name not in DROPPED):
            raise RunFailed(f"{self._model} does not take the parameter {name}: {error}")
        self._rejected.add(name)
        self.version += 1
        renamed_from = RENAMED.get(name)
        if renamed_from in self._changed:
            self._changed.discard(renamed_from)
        else:
            self._changed.add(name)

    def _translated(self, params: dict[str, Any]) -> dict[str, Any]:
        translated = {}
        for name, value in params.items():
            if name not in self._changed:
                translated[name] = value
            elif name in RENAMED:
                translated[RENAMED[name]] = value
            elif name not in self._notified:
                self._notified.add(name)
                self._notify(f"{self._model} takes no {name}: it is left out")
        return translated


def request_body(call: Call, params: dict[str, Any]) -> bytes:
    """Encode the body of a chat completion request."""
    return msgspec.json.encode({"model": call.model, "messages": call.messages, **params})


def max_output_tokens(params: dict[str, Any]) -> int | None:
    """Return the most tokens that an answer may take over all of its choices; None if the call sets no bound."""
    bound = params.get("max_completion_tokens", params.get("max_tokens"))
    choices = params.get("n") or 1
    return bound * choices if type(bound) is int and type(choices) is int and bound > 0 else None
