"""A game of a user's own with two numbers and a message: A offers a wage and days off, B takes it or not."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from typing_extensions import override

from negolab.game import Game, Invalid, Observation, Outcome, Seat, State


class Public(msgspec.Struct, frozen=True):
    wage: int | None = None
    days: int = 0
    note: str = ""
    taken: bool | None = None


class Private(msgspec.Struct, frozen=True):
    least: int


class Offer(msgspec.Struct, frozen=True):
    wage: Annotated[int, msgspec.Meta(title="Wage", extra={"unit": "dollars an hour"})]
    days: Annotated[int, msgspec.Meta(title="Days off")]
    note: Annotated[str, msgspec.Meta(title="Your note", max_length=80)] = ""


class Answer(msgspec.Struct, frozen=True):
    take: bool


Seen = Observation[Public, Private]


class Job(Game[Public, Private, Offer | Answer], frozen=True, kw_only=True):
    most: int = 40

    @override
    def deal(self, rng: random.Random) -> State[Public, Private]:
        return State(Public(), {"A": Private(0), "B": Private(rng.randint(10, 20))})

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        return ("A",) if public.wage is None else ("B",) if public.taken is None else ()

    @override
    def parse(self, text: str, seen: Seen) -> Offer | Answer | Invalid:
        if seen.public.wage is not None:
            word = text.strip().lower()
            return Answer(word == "yes") if word in ("yes", "no") else Invalid(("no_answer",), "Say yes or no.")
        found = re.fullmatch(r"\s*\$(\d{1,3}), (\d{1,2}) days off(?:: ([^\n]{0,80}))?\s*", text)
        if found is None or int(found[1]) > self.most or int(found[2]) > 30:
            return Invalid(("no_offer",), f"Write $W, D days off, with at most ${self.most} and 30 days.")
        return Offer(int(found[1]), int(found[2]), (found[3] or "").strip())

    @override
    def say(self, action: Offer | Answer) -> str:
        if isinstance(action, Offer):
            return f"${action.wage}, {action.days} days off" + (f": {action.note}" if action.note else "")
        return "yes" if action.take else "no"

    @override
    def options(self, seen: Seen) -> tuple[Offer | Answer, ...]:
        if seen.seat not in self.turn(seen.public):
            return ()
        if seen.public.wage is not None:
            return Answer(True), Answer(False)
        return tuple(Offer(wage, days) for wage in range(self.most + 1) for days in range(0, 31, 5))

    @override
    def step(self, state: State[Public, Private], actions: Mapping[Seat, Any]) -> State[Public, Private]:
        ((_, action),) = actions.items()
        if isinstance(action, Offer):
            return State(Public(action.wage, action.days, action.note), state.private)
        return State(msgspec.structs.replace(state.public, taken=action.take), state.private)

    @override
    def outcome(self, state: State[Public, Private]) -> Outcome:
        public = state.public
        if public.taken is None or public.wage is None:
            return Outcome("ABORTED", {"A": None, "B": None})
        gain = public.wage - state.private["B"].least + public.days / 10
        pays = {"A": self.most - public.wage - public.days / 10, "B": gain} if public.taken else {"A": 0.0, "B": 0.0}
        return Outcome("AGREED" if public.taken else "NO_DEAL", {"A": pays["A"], "B": pays["B"]})

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        public = seen.public
        if public.wage is None:
            return "Hire B for as little as you can.\n\nOffer a wage by the hour and days off, such as: $W, D days off."
        said = f" {public.note}" if public.note else ""
        return f"Be paid well; at home you have {seen.private.least}.\n\n${public.wage}, {public.days} days off.{said}"

    @override
    def bound(self) -> int:
        return 2


PRESETS: dict[str, dict[str, Any]] = {"plain": {}}
