"""Parameter compatibility: which request fields each model takes, known in advance or learned from errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from negolab.llm.endpoint.call import Call
from negolab.llm.endpoint.errors import RefusedParameter, RunFailed
from negolab.llm.endpoint.services import DEMANDED_OUTPUT, MORE_OUTPUT, PLAIN_OUTPUT, SAMPLING, model_traits

OUTPUT_NAMES = ("max_tokens", "max_completion_tokens")
"""Names of the bound on output tokens; a model may take only one of them."""
RESERVED = ("model", "messages", "stream")
REPETITION = "negolab_repetition"
"""Extra request field for a sweep's broker, which treats equal questions in different games as different calls."""
MIN_GROWTH, MAX_CHARACTERS_PER_TOKEN = 500, 40
"""A prompt must have been cut if it grew by more characters than this, and by more than this many per added token."""
MAX_PROMPTS = 10_000
"""Number of seats whose last prompts are remembered."""
_UNSUPPORTED = re.compile("unsupported|not support", re.IGNORECASE)
_LARGEST = re.compile(r"(?:at most|less than or equal to|<=|> |maximum\D{0,40}) ?(\d+)", re.IGNORECASE)


class ParameterCompatibility:
    """Set, rename or drop parameters for one model.

    If the user sets no bound on output tokens, a model that reasons gets none, or the one that its service demands, and
    any other model gets `PLAIN_OUTPUT`.
    """

    def __init__(self, model: str, notify: Callable[[str], None]) -> None:
        traits = model_traits(model)
        self._model = model
        self._notify = notify
        self._output = traits.output
        self._name = OUTPUT_NAMES[traits.renamed]
        self._dropped = set(traits.dropped)
        self._notified: set[str] = set()
        self._refused: set[str] = set()
        self._prompts: dict[tuple[str | int, ...], tuple[int, int]] = {}
        """Characters and tokens in each seat's last prompt."""

    def translate(self, call: Call) -> dict[str, Any]:
        """Return the call's parameters as this model takes them; raise ValueError for one that the call sets itself."""
        if reserved := [name for name in RESERVED if name in call.params]:
            raise ValueError(f"{reserved[0]!r} cannot be set: negolab sets it for each call")
        translated = {}
        for name, value in call.params.items():
            if name in OUTPUT_NAMES:
                translated[self._name] = value
            elif name not in self._dropped:
                translated[name] = value
            else:
                self._tell_once(name, f"{self._model} does not accept {name}: it is omitted")
        if self._output is not None and not has_bound(call.params):
            translated[self._name] = self._output
        return translated

    def learn(self, error: RefusedParameter, call: Call) -> None:
        """Change what a refused call will send the next time.

        Raises:
            RunFailed: There is nothing else to try.
        """
        name, text = error.parameter, str(error)
        largest = int(found[1]) if (found := _LARGEST.search(text)) else 0
        if name in OUTPUT_NAMES and not has_bound(call.params):
            # If the largest was refused too, the prompt takes up part of it.
            bound = largest // (1 + (largest == self._output)) or (
                DEMANDED_OUTPUT if self._output is None else self._output
            )
            if bound != self._output:
                self._output = bound
                return
        if name in OUTPUT_NAMES and name not in self._refused and not largest:
            self._refused.add(name)
            if name == self._name:
                self._name = next(other for other in OUTPUT_NAMES if other != name)
            if self._name not in self._refused:
                return
        if name in SAMPLING and name not in self._dropped and _UNSUPPORTED.search(text):
            self._dropped.add(name)
            return
        raise RunFailed(f"{self._model} does not accept {_advice(name)} ({text})")

    def learn_cut(self, call: Call, *, reasons: bool) -> None:
        """Give a model that was cut more room; if it reasons, first no bound, then one above the service's own."""
        if has_bound(call.params) or self._output not in (PLAIN_OUTPUT, None):
            return
        plain = None if reasons else MORE_OUTPUT
        self._output = plain if self._output == PLAIN_OUTPUT else DEMANDED_OUTPUT
        self._notify(f"{self._model} {'reasons and ' * reasons}was cut off: its answers get more tokens")

    def note_reason(self, finish: str) -> None:
        """Report an unknown stop reason, once."""
        line = f"{self._model} ends answers for an unknown reason, {finish!r}: they are requested again"
        self._tell_once(f"reason {finish}", line)

    def note_prompt(self, call: Call, tokens: int | None) -> None:
        """Report, once, that a seat's prompt grew by far more than the tokens that its service counts."""
        seat, size = call.repetition[:2], sum(len(message.content) for message in call.messages)
        before, tokens_before = self._prompts.get(seat, (size, 0))
        if tokens is None:
            return
        if size - before > max(MIN_GROWTH, MAX_CHARACTERS_PER_TOKEN * (tokens - tokens_before)):
            counted = f"its service counts {tokens:,} tokens after {tokens_before:,}"
            what = "it silently cuts what does not fit its context"
            self._tell_once(
                "prompt", f"{self._model}: a prompt grew by {size - before:,} characters and {counted}: {what}"
            )
        if len(self._prompts) >= MAX_PROMPTS:
            self._prompts.clear()
        self._prompts[seat] = (size, tokens)

    def _tell_once(self, topic: str, line: str) -> None:
        if topic not in self._notified:
            self._notified.add(topic)
            self._notify(line)


def _advice(name: str) -> str:
    """Name a parameter as the user sets it, and say what to do about it."""
    if name == "response_format":
        return "JSON schemas: choose form=free"
    own = (*OUTPUT_NAMES, "temperature", "top_p", "seed", "reasoning_effort")
    return f"{name if name in own else f'extra.{name}'} with this value: change or remove it"


def has_bound(params: Mapping[str, Any]) -> bool:
    """Return True if parameters bound the output tokens."""
    return any(name in params for name in OUTPUT_NAMES)


def request_body(call: Call, params: dict[str, Any]) -> bytes:
    """Encode the body of a chat completion request."""
    return msgspec.json.encode({"model": call.model, "messages": call.messages, **params})


def max_output_tokens(params: dict[str, Any]) -> int | None:
    """Return the most tokens that an answer may take, over all its choices; None if the call sets no bound."""
    bound = next((params[name] for name in reversed(OUTPUT_NAMES) if name in params), None)
    choices = params.get("n") or 1
    return bound * choices if type(bound) is int and type(choices) is int and bound > 0 else None
