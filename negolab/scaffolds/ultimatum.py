"""Ultimatum with an outside option: A offers B a share of the pie; B accepts, or both take their outside option.

Güth, Schmittberger and Schwarze 1982; the outside options are private.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from typing_extensions import override

from negolab.game import Game, Invalid, Observation, Outcome, Seat, State
from negolab.protocols import Scripted
from negolab.record import Record, final_state


class Public(msgspec.Struct, frozen=True):
    pie: int
    offer: int | None = None
    accepted: bool | None = None


class Private(msgspec.Struct, frozen=True):
    outside: int


# What people set at the table and models fill in follows from the fields of these two and from `options`. To say it
# yourself, write `def moves(self, seen, talk)`: return Moves((Move("offer", Offer, {"share": Count(0, self.pie)}),)).
class Offer(msgspec.Struct, frozen=True):
    share: int


class Answer(msgspec.Struct, frozen=True):
    accept: bool


Action = Offer | Answer
Seen = Observation[Public, Private]


class Ultimatum(Game[Public, Private, Action], frozen=True, kw_only=True):
    """A pie to divide, and what each side gets without a deal."""

    pie: Annotated[int, msgspec.Meta(ge=1, description="units to divide")] = 10
    outside: Annotated[int, msgspec.Meta(ge=0, description="largest outside option that is drawn")] = 3

    @override
    def deal(self, rng: random.Random) -> State[Public, Private]:
        return State(Public(self.pie), {s: Private(rng.randint(0, self.outside)) for s in ("A", "B")})

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        if public.offer is None:
            return ("A",)
        return ("B",) if public.accepted is None else ()

    @override
    def parse(self, text: str, seen: Seen) -> Action | Invalid:
        word = text.strip().lower()
        if seen.public.offer is not None:
            if word in ("yes", "no"):
                return Answer(word == "yes")
            return Invalid(("no_answer",), "Answer yes or no.")
        number = word.removeprefix("offer ")
        if number.isascii() and number.isdigit() and len(number) < 10 and int(number) <= self.pie:
            return Offer(int(number))
        return Invalid(("no_offer",), f"Offer a whole number from 0 to {self.pie}.")

    @override
    def say(self, action: Action) -> str:
        if isinstance(action, Offer):
            return f"offer {action.share}"
        return "yes" if action.accept else "no"

    @override
    def options(self, seen: Seen) -> tuple[Action, ...]:
        if seen.seat not in self.turn(seen.public):
            return ()
        if seen.public.offer is None:
            return tuple(Offer(n) for n in range(self.pie + 1))
        return (Answer(True), Answer(False))

    @override
    def step(self, state: State[Public, Private], actions: Mapping[Seat, Action]) -> State[Public, Private]:
        ((_, action),) = actions.items()
        if isinstance(action, Offer):
            public = Public(self.pie, action.share)
        else:
            public = Public(self.pie, state.public.offer, action.accept)
        return State(public, state.private)

    @override
    def outcome(self, state: State[Public, Private]) -> Outcome:
        public = state.public
        if public.offer is None or public.accepted is None:
            return Outcome("ABORTED", {"A": None, "B": None})
        if public.accepted:
            return Outcome("AGREED", {"A": self.pie - public.offer, "B": public.offer})
        return Outcome("NO_DEAL", dict(self.disagreement(state)))

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        offer, accepted = seen.public.offer, seen.public.accepted
        if offer is None:
            news = "How many units do you offer B?" if seen.seat == "A" else "A makes its offer now."
        elif accepted is None:
            news = f"A offers you {offer} units: yes or no?" if seen.seat == "B" else "B answers now."
        else:
            news = f"A offered {offer} units and B said {'yes' if accepted else 'no'}."
        if since is not None:
            return news
        # The first paragraph is what the table shows as the rules in short: the aim first, a line each.
        return (
            f"Get as many of the {self.pie} units as you can.\n"
            "A offers B some of them and keeps the others; B says yes or no.\n"
            f"If B says no, you get {seen.private.outside} and the other player gets an amount that you do not know.\n"
            f"\n{news}"
        )

    @override
    def facts(self, seen: Seen) -> dict[str, Any]:
        return {"Units to divide": self.pie, "If B says no, you get": seen.private.outside}

    @override
    def disagreement(self, state: State[Public, Private]) -> dict[Seat, int | float]:
        return {seat: private.outside for seat, private in state.private.items()}

    @override
    def stakes(self, state: State[Public, Private], seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
        return ({"A": self.pie - action.share, "B": action.share},) if isinstance(action, Offer) else ()

    @override
    def frontier(self, state: State[Public, Private]) -> tuple[tuple[float, float], ...]:
        return tuple((a, self.pie - a) for a in range(self.pie + 1))

    @override
    def bound(self) -> int:
        return 2

    @override
    def vary(self, state: State[Public, Private], seat: Seat, rng: random.Random) -> State[Public, Private]:
        return State(state.public, {**state.private, seat: Private(rng.randint(0, self.outside))})


TITLE = "Ultimatum: take it or leave it"
PRESETS: dict[str, dict[str, Any]] = {"classic": {}, "rich": {"outside": 9}}
PRESET_NOTES = {
    "classic": "Without a deal each keeps 0 to 3 units of its own.",
    "rich": "Without a deal each keeps 0 to 9 units of its own, so that some offers must fail.",
}


class Share(Scripted):
    """Offer a part of the pie, and accept what is worth at least as much as no deal.

    Args:
        part: Part of the pie that it offers, from 0 to 1.
    """

    deterministic = True

    def __init__(self, *, part: float = 0.5, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not 0 <= part <= 1:
            raise ValueError(f"part must be from 0 to 1, not {part}")
        self.part = part

    @override
    def act(self, game: Ultimatum, seen: Seen) -> Action:
        if seen.public.offer is None:
            return Offer(int(self.part * seen.public.pie))
        return Answer(seen.public.offer >= seen.private.outside)


PLAYERS = {"share": Share}


def offered(record: Record) -> float | None:
    """Part of the pie that A offered, from 0 to 1; None if it offered nothing."""
    public = final_state(record).public
    return None if public.offer is None else public.offer / public.pie


MEASURES = {"offered": offered}
