"""Games that break a law each, so that the laws can be seen to catch them. All are variants of the ultimatum."""

from __future__ import annotations

import random
from collections.abc import Mapping

import msgspec
from typing_extensions import override

from negolab.game import Invalid, Seat, State
from negolab.scaffolds.ultimatum import Action, Answer, Private, Public, Seen, Ultimatum


class Envelope(str):
    """Looks alike to `==` and on the wire, but carries A's outside option: the secret in a place nobody compares."""

    inside: int

    def __new__(cls, inside: int) -> Envelope:
        made = super().__new__(cls, "sealed")
        made.inside = inside
        return made


class Talkative(Envelope):
    """An envelope that shows its content when printed."""

    @override
    def __repr__(self) -> str:
        return f"'sealed {self.inside}'"


class Sealed(Public, frozen=True):
    envelope: str = ""


class _WithEnvelope(Ultimatum, frozen=True, kw_only=True):
    """Puts the secret of A where B's methods can reach it."""

    def seal(self, secret: int) -> Envelope:
        return Envelope(secret)

    @override
    def deal(self, rng: random.Random) -> State[Public, Private]:
        return self._sealed(super().deal(rng))

    @override
    def vary(self, state: State[Public, Private], seat: Seat, rng: random.Random) -> State[Public, Private]:
        return self._sealed(super().vary(state, seat, rng))

    @override
    def step(self, state: State[Public, Private], actions: Mapping[Seat, Action]) -> State[Public, Private]:
        return self._sealed(super().step(state, actions))

    def _sealed(self, state: State[Public, Private]) -> State[Public, Private]:
        public = state.public
        envelope = self.seal(state.private["A"].outside)
        return State(Sealed(public.pie, public.offer, public.accepted, envelope), state.private)


def secret(seen: Seen) -> int:
    """The content of A's sealed envelope, which this observation leaks to B."""
    return getattr(seen.public, "envelope").inside if seen.seat == "B" else 0  # noqa: B009


class LeaksByPrompt(_WithEnvelope, frozen=True, kw_only=True):
    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        return f"{super().prompt(seen, since)} (A needs {secret(seen)})"


class LeaksByReason(_WithEnvelope, frozen=True, kw_only=True):
    @override
    def parse(self, text: str, seen: Seen) -> Action | Invalid:
        read = super().parse(text, seen)
        return Invalid(read.codes, f"{read.reason} A needs {secret(seen)}.") if isinstance(read, Invalid) else read


class LeaksByOrder(_WithEnvelope, frozen=True, kw_only=True):
    @override
    def options(self, seen: Seen) -> tuple[Action, ...]:
        options = super().options(seen)
        return options if secret(seen) % 2 else options[::-1]


class LeaksByRepr(_WithEnvelope, frozen=True, kw_only=True):
    @override
    def seal(self, secret: int) -> Envelope:
        return Talkative(secret)


class LeaksByParameter(Ultimatum, frozen=True, kw_only=True):
    """`need` is A's outside option, and B is told the parameters."""

    need: int = 2

    @override
    def deal(self, rng: random.Random) -> State[Public, Private]:
        dealt = super().deal(rng)
        return State(dealt.public, {**dealt.private, "A": Private(self.need)})


class LeaksByPreset(LeaksByParameter, frozen=True, kw_only=True):
    """Hides the number, but keeps the name of the preset in a parameter that B is told."""

    label: str = "modest"

    @override
    def secrets(self, seat: Seat) -> tuple[str, ...]:
        return ("need",) if seat == "B" else ()


PRESETS = {"modest": {"need": 2, "label": "modest"}, "greedy": {"need": 7, "label": "greedy"}}


class Mutates(Ultimatum, frozen=True, kw_only=True):
    """Writes the answer into the state it was given."""

    @override
    def step(self, state: State[Public, Private], actions: Mapping[Seat, Action]) -> State[Public, Private]:
        if isinstance(actions.get("B"), Answer):
            state.private["B"] = Private(0)
        return msgspec.structs.replace(super().step(state, actions))
