"""How a branch with a language model goes on: in this process, or at the host, which has the keys."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ipywidgets as w

from negolab.events import Event, Replied
from negolab.game import SEATS, Seat, other
from negolab.match import Match
from negolab.people.briefing import briefed
from negolab.people.client import Host
from negolab.people.room import recall
from negolab.people.sitting import PERSON
from negolab.play import aplay, blocking, made
from negolab.players.player import Player, noted
from negolab.record import Record, from_line
from negolab_widgets.matchmaking import LEFT, AtHost, model_of
from negolab_widgets.places import DESK
from negolab_widgets.seat import HumanSeat

EVERY = 0.5
"""Seconds between two looks at a branch that the host plays."""
STOPPED = "stopped by the person"
Told = Callable[[int], None]
"""Called with the number of replies so far."""


Over = Callable[[Record], str]
Seated = tuple[w.Widget, Callable[[], None]]
"""A person's table, and what leaves it."""


class Onward(Protocol):
    """Plays branches. `names` are the players of the seats."""

    def models(self) -> Sequence[dict[str, Any]]:
        """The endpoints there are, as `Endpoints.listed` tells of them."""
        ...

    async def play(self, match: Match, names: dict[Seat, str], told: Told) -> Record:
        """Let `match` go on to its end, or until this is cancelled; what was played is returned either way."""
        ...

    def sit(self, match: Match, names: dict[Seat, str], over: Over) -> Seated:
        """A table for the person among `names`, and what leaves it. `over` is called with the branch when it has ended
        and says where it is."""
        ...


class Here:
    """In this process, with the keys of its environment."""

    def __init__(self) -> None:
        self.endpoints = briefed("", (), None, os.environ).models()

    def models(self) -> Sequence[dict[str, Any]]:
        return blocking(self.endpoints.listed())

    def players(self, match: Match, names: dict[Seat, str]) -> dict[Seat, Player]:
        seed = match.seed or 0
        found = {s: made(n, match.game, seed, s, models=self.endpoints, match=match.id) for s, n in names.items()}
        if notes := noted(found):
            match.notes["models"] = notes
        return found

    async def play(self, match: Match, names: dict[Seat, str], told: Told) -> Record:
        players = self.players(match, names)
        recall(match, players)

        def watch(match: Match, _: Sequence[Event]) -> None:
            told(_replies(match.events))

        try:
            await aplay(match, players, watch=watch)
        except asyncio.CancelledError:
            match.abort(STOPPED)
        except Exception as error:
            match.abort(str(error) or type(error).__name__)
        return match.record()

    def sit(self, match: Match, names: dict[Seat, str], over: Over) -> Seated:
        (seat,) = (seat for seat in SEATS if names[seat] == PERSON)
        across = other(seat)

        def leave() -> None:
            if match.ended is None:
                match.abort(LEFT)
                over(match.record())

        def keep(match: Match) -> str:
            return over(match.record())

        players = self.players(match, {across: names[across]})
        thinker = model_of(names[across])
        return HumanSeat(match, seat, players, title="Branch", keep=keep, thinker=thinker), leave


class Away:
    """At the host."""

    def __init__(self, socket: str) -> None:
        self._socket, self._host = socket, Host(socket)

    def models(self) -> Sequence[dict[str, Any]]:
        found: Sequence[dict[str, Any]] = self._host.ask("/models")
        return found

    async def play(self, match: Match, names: dict[Seat, str], told: Told) -> Record:
        id = self._begin(match, names)["match"]
        try:
            while True:
                await asyncio.sleep(EVERY)
                record = self._record(await asyncio.to_thread(self._host.ask, "/branched", match=id))
                told(_replies(record.events))
                if record.end is not None:
                    return record
        except asyncio.CancelledError:
            return self._record(self._host.ask("/stop", match=id))

    def sit(self, match: Match, names: dict[Seat, str], over: Over) -> Seated:
        found = self._begin(match, names)

        def ended(_: str) -> None:
            over(self._record(self._host.ask("/branched", match=found["match"])))

        maker = AtHost(self._socket, ended)
        return maker.table(found), maker.leave

    def _begin(self, match: Match, names: dict[Seat, str]) -> dict[str, str]:
        begun: dict[str, str] = self._host.ask("/branch", record=match.record().to_line().decode(), players=names)
        return begun

    @staticmethod
    def _record(found: dict[str, str]) -> Record:
        return from_line(found["record"])


def onward() -> Onward:
    """At the host where there is one."""
    socket = os.environ.get(DESK)
    return Away(socket) if socket else Here()


def _replies(events: Sequence[Event]) -> int:
    return sum(isinstance(event, Replied) for event in events)
