"""An ultimatum that raises in one of its methods, at one seat's turn or when it is over."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from negolab.game import Invalid, Outcome, Seat, State
from negolab.record import Record
from negolab.scaffolds import ultimatum
from negolab.scaffolds.ultimatum import Action, Private, Public, Seen, Ultimatum

AT_TURNS = ("turn", "parse", "step", "prompt", "options", "say", "facts")
"""Methods that are called at each seat's turn."""
FAULTS = [
    *((method, at) for method in AT_TURNS for at in ("A", "B")),
    *((method, "over") for method in ("turn", "outcome", "prompt", "format_payoff")),
    *((method, "") for method in ("deal", "secrets", "retries", "forfeit", "disagreement")),
    *(("describe_forfeit", at) for at in ("A", "B")),
]
"""The methods that are called while a match is played, and when they raise; "": at any time."""
ON_PAGES = ("options", "say", "facts", "describe_forfeit")
"""Methods that only the page's table calls between two people."""


class Faulty(Ultimatum, frozen=True, kw_only=True):
    """Raises in the method `fault` at the turn of the seat `at`, when it is "over", or at any time ("")."""

    fault: str = ""
    at: str = ""

    def _try(self, method: str, public: Public | None = None) -> None:
        turn = "" if public is None else "A" if public.offer is None else "B" if public.accepted is None else "over"
        if method == self.fault and self.at in ("", turn):
            raise ZeroDivisionError("the secret is very-own-words")

    @override
    def deal(self, rng: random.Random) -> State[Public, Private]:
        self._try("deal")
        return super().deal(rng)

    @override
    def secrets(self, seat: Seat) -> tuple[str, ...]:
        self._try("secrets")
        return ()

    @override
    def turn(self, public: Public) -> tuple[Seat, ...]:
        self._try("turn", public)
        return super().turn(public)

    @override
    def parse(self, text: str, seen: Seen) -> Action | Invalid:
        self._try("parse", seen.public)
        return super().parse(text, seen)

    @override
    def say(self, action: Action) -> str:
        self._try("say", Public(self.pie, None if isinstance(action, ultimatum.Offer) else 0))
        return super().say(action)

    @override
    def options(self, seen: Seen) -> tuple[Action, ...]:
        self._try("options", seen.public)
        return super().options(seen)

    @override
    def step(self, state: State[Public, Private], actions: Mapping[Seat, Action]) -> State[Public, Private]:
        self._try("step", state.public)
        return super().step(state, actions)

    @override
    def outcome(self, state: State[Public, Private]) -> Outcome:
        self._try("outcome", state.public)
        return super().outcome(state)

    @override
    def prompt(self, seen: Seen, since: Seen | None) -> str:
        self._try("prompt", seen.public)
        return super().prompt(seen, since)

    @override
    def facts(self, seen: Seen) -> dict[str, Any]:
        self._try("facts", seen.public)
        return super().facts(seen)

    @override
    def retries(self, seat: Seat) -> int | None:
        self._try("retries")
        return 0 if self.fault in ("forfeit", "disagreement", "describe_forfeit") else 2

    @override
    def forfeit(self, state: State[Public, Private], seat: Seat, invalid: Invalid) -> None:
        self._try("forfeit")

    @override
    def describe_forfeit(self, seen: Seen) -> str:
        self._try("describe_forfeit", seen.public)
        return super().describe_forfeit(seen)

    @override
    def disagreement(self, state: State[Public, Private]) -> dict[Seat, int | float]:
        self._try("disagreement")
        return super().disagreement(state)

    @override
    def format_payoff(self, payoff: int | float | None) -> str:
        self._try("format_payoff", Public(self.pie, 0, True))
        return super().format_payoff(payoff)


def shares(record: Record) -> float | None:
    """A measure that raises."""
    raise KeyError(record.id)


PRESETS: dict[str, dict[str, Any]] = {"sound": {}}
PLAYERS = ultimatum.PLAYERS
MEASURES = {"offered": ultimatum.offered, "shares": shares}
