"""What parameters a model takes: most take those of chat completions, some want other names or refuse some."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from negolab.players.endpoint.call import Call
from negolab.players.endpoint.failures import RunFailed
from negolab.players.endpoint.trouble import Unsuited

RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
DROPPED = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "logprobs", "top_logprobs")
KNOWN = {
    r"(o\d|gpt-5$|gpt-5-)": ("max_tokens", *DROPPED[:4], *DROPPED[5:]),
    r"gpt-5\.": ("max_tokens",),
}
"""How a model's name begins -> the parameters that it does not take as they are."""
OURS = ("model", "messages", "stream")


class Dialect:
    """The parameters that one model takes: known from the start for some, learned from refusals for others."""

    def __init__(self, model: str, told: Callable[[str], None]) -> None:
        self.version = 0
        """Counts what was learned; a body is as old as the version it was made in."""
        self._model = model
        self._told = told
        name = model.rpartition("/")[2]
        self._changed = {name_ for begins, names in KNOWN.items() if re.match(begins, name) for name_ in names}
        self._refused: set[str] = set()
        self._said: set[str] = set()

    def params(self, call: Call) -> dict[str, Any]:
        """The call's parameters as this model takes them."""
        if ours := [name for name in OURS if name in call.params]:
            raise ValueError(f"{ours[0]!r} is no parameter of a call: the call itself sets it")
        return self._translated(call.params) if self._changed else call.params

    def learn(self, refused: Unsuited, version: int) -> None:
        """Translate this parameter from now on. `RunFailed` if there is no way or it was tried already; nothing changes
        if the refused body was older than what is known by now."""
        name = refused.parameter
        if version < self.version:
            return
        if name in self._refused or (name not in RENAMED and name not in DROPPED):
            raise RunFailed(f"{self._model} does not take the parameter {name}: {refused}")
        self._refused.add(name)
        self.version += 1
        renamed_from = RENAMED.get(name)
        if renamed_from in self._changed:
            self._changed.discard(renamed_from)
        else:
            self._changed.add(name)

    def _translated(self, params: dict[str, Any]) -> dict[str, Any]:
        kept = {}
        for name, value in params.items():
            if name not in self._changed:
                kept[name] = value
            elif name in RENAMED:
                kept[RENAMED[name]] = value
            elif name not in self._said:
                self._said.add(name)
                self._told(f"{self._model} takes no {name}: it is left out")
        return kept


def body(call: Call, params: dict[str, Any]) -> bytes:
    """The request's body."""
    return msgspec.json.encode({"model": call.model, "messages": call.messages, **params})


def most_output(params: dict[str, Any]) -> int | None:
    """The most tokens that an answer may take, over all of its choices; None: the call sets no bound."""
    bound = params.get("max_completion_tokens", params.get("max_tokens"))
    choices = params.get("n") or 1
    return bound * choices if type(bound) is int and type(choices) is int and bound > 0 else None
