"""The researcher's own side of the host: play any game, see who is where, end what must end."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any

from negolab import catalog
from negolab.events import Replied
from negolab.game import SEATS, Seat, other
from negolab.match import Match
from negolab.people.course import LOOK
from negolab.people.database import Database, Sat
from negolab.people.door import Refused, Replaced
from negolab.people.endpoints import NONE, Endpoints
from negolab.people.house import House, playing
from negolab.people.room import Room, Unheard
from negolab.people.rooms import Rooms
from negolab.people.scenes import Answer
from negolab.people.sitting import LEFT, PERSON, STOPPED
from negolab.people.visit import Visit
from negolab.play import made
from negolab.players.player import noted
from negolab.record import from_line

MOST = 1000
"""Replies after which a branch without an end is stopped."""


class Desk:
    """Free play and the monitor. `house` is the study at work, None: there is none; `models` are those that can be
    played against."""

    title = "negolab"

    def __init__(self, database: Database, rooms: Rooms, house: House | None, models: Endpoints = NONE) -> None:
        self._database, self._rooms, self._house, self._models = database, rooms, house, models
        self._leases: dict[str, str] = {}
        self._visits: dict[str, Visit] = {}
        self._looked = time.monotonic()
        rooms.changed = lambda sat: self._visit(sat).touch()
        for sat in database.matches(None, running=True):
            rooms.resume(sat)
        rooms.file_all()

    # Free play.

    def play(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a match of `game` with `preset` from `seed`, a person at `seat` and `opponent` across."""
        try:
            match, seat = self._match(wanted)
        except ValueError as error:
            raise Refused(str(error)) from None
        self._rooms.begin(match, {seat: None})
        return self._lease(self._sat(match.id))

    def _match(self, wanted: Mapping[str, Any]) -> tuple[Match, Seat]:
        """A match as it was asked for; `ValueError` says what cannot be."""
        seat: Seat = next((seat for seat in SEATS if seat == wanted.get("seat")), "A")
        opponent, seed = str(wanted.get("opponent")), wanted.get("seed")
        game = catalog.load(str(wanted.get("game")), preset=wanted.get("preset"))
        match = Match(game, seed=seed, players={seat: PERSON, other(seat): opponent})
        noted({other(seat): made(opponent, game, match.seed or 0, other(seat), models=self._models)})
        return match, seat

    async def models(self, _: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The endpoints that are known here, with the models that each has."""
        return await self._models.listed()

    def playing(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """The match that runs, with a new lease; {} if none does."""
        running = [at.sat for at in self._rooms.running() if at.sat.people]
        return self._lease(running[-1]) if running else {}

    # Branches.

    def branch(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Let a match that stands as `record` (a line of JSON) go on between `players` by seat, one of whom may be the
        person who asks."""
        try:
            match, people = self._forked(wanted)
        except ValueError as error:
            raise Refused(str(error)) from None
        room = self._rooms.begin(match, people)
        room.watch(lambda: _bounded(room))
        return self._lease(self._sat(match.id)) if people else {"match": match.id}

    def branched(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """A branch as it stands, as a record."""
        room = self._rooms.resume(self._sat(str(wanted.get("match"))))
        return {"record": room.match.record().to_line().decode()}

    def stop(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Stop a branch; it is kept as far as it came."""
        self._rooms.resume(self._sat(str(wanted.get("match")))).stop(STOPPED)
        return self.branched(wanted)

    def _forked(self, wanted: Mapping[str, Any]) -> tuple[Match, dict[Seat, None]]:
        record, named = from_line(str(wanted.get("record"))), wanted.get("players")
        if not isinstance(named, dict) or set(named) != set(SEATS):
            raise ValueError("a branch needs a player for A and one for B")
        match = Match.replay(record)
        match.players = {seat: str(named[seat]) for seat in SEATS}
        people: dict[Seat, None] = {seat: None for seat in SEATS if match.players[seat] == PERSON}
        if len(people) > 1 or self._database.match(match.id) is not None:
            raise ValueError("one seat of a new branch can be yours")
        return match, people

    def _lease(self, sat: Sat) -> dict[str, Any]:
        """The newest page of a match holds it; the one before is told."""
        lease = f"{sat.id}.{secrets.token_urlsafe(24)}"
        self._leases[sat.id] = lease
        self._visit(sat).touch()
        (seat,) = sat.people
        players = self._rooms.resume(sat).match.players
        return {"lease": lease, "match": sat.id, "opponent": players[other(seat)]}

    def _visit(self, sat: Sat) -> Visit:
        return self._visits.setdefault(sat.id, Visit())

    def _leased(self, lease: str) -> Sat:
        id = lease.partition(".")[0]
        # After a restart of the host the page that asks first is the newest one that is known.
        if self._leases.setdefault(id, lease) != lease:
            raise Replaced
        return self._sat(id)

    def _sat(self, id: str) -> Sat:
        sat = self._database.match(id)
        if sat is None or sat.study is not None:
            raise Refused("There is no such match.")
        return sat

    async def scene(self, lease: str, after: int, seconds: float) -> Answer:
        """The table of the match, as soon as its version is not `after`."""
        await self._visit(self._leased(lease)).newer(after, seconds)
        return self._answer(self._leased(lease))

    def now(self, lease: str) -> Answer:
        """The table at this moment."""
        return self._answer(self._leased(lease))

    def _answer(self, sat: Sat, **more: str) -> Answer:
        room = self._rooms.resume(sat)
        (seat,) = sat.people
        ended = room.match.ended
        scene = playing(self.title, room, seat, fault=(ended and ended.reason) or "")
        return Answer(self._visit(sat).version, scene, **more)

    def act(self, lease: str, act: Mapping[str, Any]) -> Answer:
        """Say something at the match, or leave it."""
        sat = self._leased(lease)
        room, (seat,) = self._rooms.resume(sat), sat.people
        text, turn = act.get("text"), act.get("turn")
        if act.get("kind") == "leave":
            room.stop(LEFT)
            return self._answer(sat)
        if not isinstance(text, str) or type(turn) is not int:
            return self._answer(sat, unheard="A reply is a text.")
        try:
            return self._answer(sat, refused=room.say(seat, text, turn))
        except Unheard as why:
            return self._answer(sat, unheard=str(why))

    def tick(self) -> None:
        self._rooms.nudge()
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            self._rooms.sweep(lambda sat: self._visit(sat).present)
            running = {at.sat.id for at in self._rooms.running()}
            self._visits = {id: visit for id, visit in self._visits.items() if visit.asked or id in running}

    # The monitor.

    def monitor(self, _: Mapping[str, Any]) -> Any:
        """Who is where, in plain data; {} without a study."""
        return {} if self._house is None else self._house.monitor()

    def end(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """End the study for `participant`, with a `reason`."""
        if self._house is None:
            raise Refused("No study is running.")
        number, reason = wanted.get("participant"), wanted.get("reason")
        self._house.end(number if type(number) is int else 0, reason if isinstance(reason, str) else "")
        return {}


def _bounded(room: Room) -> None:
    """End what players do for ever."""
    if room.match.ended is None and sum(isinstance(event, Replied) for event in room.match.events) >= MOST:
        room.stop(f"the branch had no end after {MOST} replies")
