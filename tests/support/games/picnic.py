"""A game of a user's own with a set: A proposes what to take along, B says yes or no."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import combinations
from typing import Annotated, Any

import msgspec
from typing_extensions import override

from negolab.game import Game, Invalid, Observation, Outcome, Seat, State

THINGS = ("bread", "cheese", "cherries", "juice", "soup", "tea", "wine")


class Public(msgspec.Struct, frozen=True):
    offer: frozenset[str] | None = None
    accepted: bool | None = None


class Private(msgspec.Struct, frozen=True):
    likes: str


class Propose(msgspec.Struct, frozen=True):
    things: frozenset[str]


class Answer(msgspec.Struct, frozen=True):
    accept: bool


Seen = Observation[Public, Private]


class Picnic(Game[Public, Private, Propose | Answer], frozen=True, kw_only=True):
    carry: Annotated[int, msgspec.Meta(description="things that both can carry")] = 3

    @override
    def deal(self, rng: random.Random) -> State[Public, Private]:
        return State(Public(), {"A": Private(rng.choice(THINGS)), "B": Private(rng.choice(THINGS))})

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        return ("A",) if public.offer is None else ("B",) if public.accepted is None else ()

    @override
    def parse(self, text: str, seen: Seen) -> Propose | Answer | Invalid:
        words = frozenset(word.strip() for word in text.strip().lower().removeprefix("take ").split(","))
        if seen.public.offer is not None:
            return Answer(words == {"yes"}) if words in ({"yes"}, {"no"}) else Invalid(("no_answer",), "Say yes or no.")
        if words <= set(THINGS) and len(words) <= self.carry:
            return Propose(words)
        return Invalid(("no_things",), f"Name at most {self.carry} of {', '.join(THINGS)}.")

    @override
    def say(self, action: Propose | Answer) -> str:
        if isinstance(action, Propose):
            return f"take {', '.join(sorted(action.things))}"
        return "yes" if action.accept else "no"

    @override
    def options(self, seen: Seen) -> tuple[Propose | Answer, ...]:
        if seen.seat not in self.turn(seen.public):
            return ()
        if seen.public.offer is not None:
            return Answer(True), Answer(False)
        sets = (chosen for n in range(1, self.carry + 1) for chosen in combinations(THINGS, n))
        return tuple(Propose(frozenset(chosen)) for chosen in sets)

    @override
    def step(self, state: State[Public, Private], actions: Mapping[Seat, Any]) -> State[Public, Private]:
        ((_, action),) = actions.items()
        if isinstance(action, Propose):
            return State(Public(action.things), state.private)
        return State(Public(state.public.offer, action.accept), state.private)

    @override
    def outcome(self, state: State[Public, Private]) -> Outcome:
        public = state.public
        if public.accepted is None or public.offer is None:
            return Outcome("ABORTED", {"A": None, "B": None})
        paid = {seat: int(public.accepted and own.likes in public.offer) for seat, own in state.private.items()}
        return Outcome("AGREED" if public.accepted else "NO_DEAL", {"A": paid["A"], "B": paid["B"]})

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        offer = seen.public.offer
        due = "Say what to take along." if offer is None else f"A would take {', '.join(sorted(offer))}: yes or no?"
        return f"You like {seen.private.likes}; you can carry {self.carry} things.\n\n{due}"

    @override
    def bound(self) -> int:
        return 2


PRESETS: dict[str, dict[str, Any]] = {"small": {}}
