"""Continue a branch with a language model: in this process, or at the host, which has the keys."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial

import ipywidgets as w

from negolab.events import Event
from negolab.game import SEATS, other
from negolab.match import Match
from negolab.record import PERSON, Record, parse_record
from negolab.runs.driver import aplay, seat_players
from negolab.studies.client import HostClient
from negolab.studies.session import LEFT, STOPPED, resume_players
from negolab_widgets.page import ADMIN
from negolab_widgets.play.matchmaking import HostMatchmaker, HumanSeat, model_name
from negolab_widgets.play.models import LocalEndpoints
from negolab_widgets.replay.record_list import count_replies

POLL_INTERVAL = 0.5
"""Seconds between two looks at a branch that the host plays."""
OnProgress = Callable[[int], None]
"""Called with the number of replies so far."""


OnEnd = Callable[[Record], str]
"""Called with a branch that has ended; returns where it is kept."""
TableAndLeave = tuple[w.Widget, Callable[[], None]]
"""A person's table, and the function that leaves it."""


class LocalContinuation:
    """Play branches in this process, between the players that a match names, with the keys of its environment.

    `list_endpoints` lists the endpoints of language models.
    """

    def __init__(self) -> None:
        self._endpoints = LocalEndpoints()
        self.list_endpoints = self._endpoints.listed

    async def play(self, match: Match, told: OnProgress) -> Record:
        """Play `match` to its end, or until this is cancelled; what was played is returned either way."""
        players = seat_players(match, self._endpoints, load=False)
        resume_players(match, players)

        def watch(match: Match, _: Sequence[Event]) -> None:
            told(count_replies(match))

        try:
            await aplay(match, players, watch=watch)
        except asyncio.CancelledError:
            match.abort(STOPPED)
        except Exception as error:
            match.abort(str(error) or type(error).__name__)
        return match.record()

    def sit(self, match: Match, over: OnEnd) -> TableAndLeave:
        """Return a table for the person among the match's players, and what leaves it."""
        (seat,) = (seat for seat in SEATS if match.players[seat] == PERSON)

        def leave() -> None:
            if match.ended is None:
                match.abort(LEFT)
                over(match.record())

        def keep(match: Match) -> str:
            return over(match.record())

        players = seat_players(match, self._endpoints, {seat}, load=False)
        thinker = model_name(match.players[other(seat)])
        return HumanSeat(match, seat, players, title="Branch", keep=keep, thinker=thinker), leave


class HostContinuation:
    """Play them at the host."""

    def __init__(self, socket: str) -> None:
        self._socket, self._host = socket, HostClient(socket)
        self.list_endpoints = partial(self._host.ask, "/models")

    async def play(self, match: Match, told: OnProgress) -> Record:
        id = self._begin(match)["match"]
        try:
            while True:
                await asyncio.sleep(POLL_INTERVAL)
                record = parse_record((await asyncio.to_thread(self._host.ask, "/branched", match=id))["record"])
                told(count_replies(record))
                if record.end is not None:
                    return record
        except asyncio.CancelledError:
            return parse_record(self._host.ask("/stop", match=id)["record"])

    def sit(self, match: Match, over: OnEnd) -> TableAndLeave:
        found = self._begin(match)

        def ended(*_: object) -> None:
            over(parse_record(self._host.ask("/branched", match=found["match"])["record"]))

        maker = HostMatchmaker(self._socket, ended)
        return maker.table(found), maker.leave

    def _begin(self, match: Match) -> dict[str, str]:
        begun: dict[str, str] = self._host.ask(
            "/branch", record=match.record().to_line().decode(), players=match.players
        )
        return begun


Continuation = LocalContinuation | HostContinuation


def open_continuation() -> Continuation:
    """Return the host's continuation where there is a host, else the local one."""
    socket = os.environ.get(ADMIN)
    return HostContinuation(socket) if socket else LocalContinuation()
