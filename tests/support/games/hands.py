"""A game of a user's own in which both act at once: each shows a hand, and the better one wins a point."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from typing_extensions import override

from negolab.game import SEATS, Game, Invalid, Observation, Outcome, Seat, State

HANDS = ("rock", "paper", "scissors")


class Public(msgspec.Struct, frozen=True):
    shown: tuple[str, ...] = ()


class Private(msgspec.Struct, frozen=True):
    pass


class Show(msgspec.Struct, frozen=True):
    hand: Literal["rock", "paper", "scissors"]


Seen = Observation[Public, Private]


class Hands(Game[Public, Private, Show], frozen=True, kw_only=True):
    @override
    def deal(self, rng: random.Random) -> State[Public, Private]:
        return State(Public(), {"A": Private(), "B": Private()})

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        return () if public.shown else SEATS

    @override
    def parse(self, text: str, seen: Seen) -> Show | Invalid:
        word = text.strip().lower()
        return Show(word) if word in HANDS else Invalid(("no_hand",), f"Say {', '.join(HANDS)}.")  # type: ignore[arg-type]

    @override
    def say(self, action: Show) -> str:
        return action.hand

    @override
    def options(self, seen: Seen) -> tuple[Show, ...]:
        return tuple(map(Show, HANDS)) if seen.seat in self.turn(seen.public) else ()  # type: ignore[arg-type]

    @override
    def step(self, state: State[Public, Private], actions: Mapping[Seat, Show]) -> State[Public, Private]:
        return State(Public((actions["A"].hand, actions["B"].hand)), state.private)

    @override
    def outcome(self, state: State[Public, Private]) -> Outcome:
        if not state.public.shown:
            return Outcome("ABORTED", {"A": None, "B": None})
        a, b = map(HANDS.index, state.public.shown)
        return Outcome("AGREED", {"A": int((a - b) % 3 == 1), "B": int((b - a) % 3 == 1)})

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        return "Show the better hand.\n\nRock, paper or scissors?"

    @override
    def bound(self) -> int:
        return 2


PRESETS: dict[str, dict[str, Any]] = {"once": {}}
