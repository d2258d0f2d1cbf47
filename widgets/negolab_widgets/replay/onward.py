"""How a branch with a language model goes on: in this process, or at the host, which has the keys."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ipywidgets as w

from negolab.events import Event, Replied
from negolab.game import SEATS, other
from negolab.match import Match
from negolab.people.client import Host
from negolab.people.room import recall
from negolab.people.sitting import LEFT, PERSON, STOPPED
from negolab.play import aplay, seated
from negolab.record import Record, from_line
from negolab_widgets.matchmaking import AtHost, model_of
from negolab_widgets.nearby import Nearby
from negolab_widgets.places import DESK
from negolab_widgets.seat import HumanSeat

EVERY = 0.5
"""Seconds between two looks at a branch that the host plays."""
Told = Callable[[int], None]
"""Called with the number of replies so far."""


Over = Callable[[Record], str]
Seated = tuple[w.Widget, Callable[[], None]]
"""A person's table, and what leaves it."""


class Onward(Protocol):
    """Plays branches, between the players that the match names."""

    def models(self) -> Sequence[dict[str, Any]]:
        """The endpoints there are, as `Endpoints.listed` tells of them."""
        ...

    async def play(self, match: Match, told: Told) -> Record:
        """Let `match` go on to its end, or until this is cancelled; what was played is returned either way."""
        ...

    def sit(self, match: Match, over: Over) -> Seated:
        """A table for the person among its players, and what leaves it. `over` is called with the branch when it
        has ended and says where it is."""
        ...


class Here:
    """In this process, with the keys of its environment."""

    def __init__(self) -> None:
        self._nearby = Nearby()

    def models(self) -> Sequence[dict[str, Any]]:
        return self._nearby.listed()

    async def play(self, match: Match, told: Told) -> Record:
        players = seated(match, self._nearby)
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

    def sit(self, match: Match, over: Over) -> Seated:
        (seat,) = (seat for seat in SEATS if match.players[seat] == PERSON)

        def leave() -> None:
            if match.ended is None:
                match.abort(LEFT)
                over(match.record())

        def keep(match: Match) -> str:
            return over(match.record())

        players = seated(match, self._nearby, {seat})
        thinker = model_of(match.players[other(seat)])
        return HumanSeat(match, seat, players, title="Branch", keep=keep, thinker=thinker), leave


class Away:
    """At the host."""

    def __init__(self, socket: str) -> None:
        self._socket, self._host = socket, Host(socket)

    def models(self) -> Sequence[dict[str, Any]]:
        found: Sequence[dict[str, Any]] = self._host.ask("/models")
        return found

    async def play(self, match: Match, told: Told) -> Record:
        id = self._begin(match)["match"]
        try:
            while True:
                await asyncio.sleep(EVERY)
                record = self._record(await asyncio.to_thread(self._host.ask, "/branched", match=id))
                told(_replies(record.events))
                if record.end is not None:
                    return record
        except asyncio.CancelledError:
            return self._record(self._host.ask("/stop", match=id))

    def sit(self, match: Match, over: Over) -> Seated:
        found = self._begin(match)

        def ended(_: str) -> None:
            over(self._record(self._host.ask("/branched", match=found["match"])))

        maker = AtHost(self._socket, ended)
        return maker.table(found), maker.leave

    def _begin(self, match: Match) -> dict[str, str]:
        begun: dict[str, str] = self._host.ask(
            "/branch", record=match.record().to_line().decode(), players=match.players
        )
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
