"""The researcher's own side of the host: play any game, see who is where, end what must end."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any

from negolab import catalog
from negolab.game import SEATS, Seat, other
from negolab.match import Match
from negolab.people.course import LOOK
from negolab.people.database import Database, Sat
from negolab.people.door import Refused, Replaced
from negolab.people.house import House, playing
from negolab.people.room import Unheard
from negolab.people.rooms import Rooms
from negolab.people.scenes import Answer
from negolab.people.sitting import PERSON
from negolab.people.visit import Visit
from negolab.play import made


class Desk:
    """Free play and the monitor. `house` is the study at work, None: there is none."""

    title = "negolab"

    def __init__(self, database: Database, rooms: Rooms, house: House | None) -> None:
        self._database, self._rooms, self._house = database, rooms, house
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
            match, seat = _match(wanted)
        except ValueError as error:
            raise Refused(str(error)) from None
        self._rooms.begin(match, {seat: None})
        return self._lease(self._sat(match.id))

    def playing(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """The match that runs, with a new lease; {} if none does."""
        running = self._rooms.running()
        return self._lease(running[-1][0]) if running else {}

    def _lease(self, sat: Sat) -> dict[str, Any]:
        """The newest page of a match holds it; the one before is told."""
        lease = f"{sat.id}.{secrets.token_urlsafe(24)}"
        self._leases[sat.id] = lease
        self._visit(sat).touch()
        return {"lease": lease, "match": sat.id}

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
        return Answer(self._visit(sat).version, playing(self.title, room, seat), **more)

    def act(self, lease: str, act: Mapping[str, Any]) -> Answer:
        """Say something at the match, or leave it."""
        sat = self._leased(lease)
        room, (seat,) = self._rooms.resume(sat), sat.people
        text, turn = act.get("text"), act.get("turn")
        if act.get("kind") == "leave":
            room.stop("left by the person")
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


def _match(wanted: Mapping[str, Any]) -> tuple[Match, Seat]:
    """A match as it was asked for; `ValueError` says what cannot be."""
    seat: Seat = next((seat for seat in SEATS if seat == wanted.get("seat")), "A")
    opponent, seed = wanted.get("opponent"), wanted.get("seed")
    game = catalog.load(str(wanted.get("game")), preset=wanted.get("preset"))
    match = Match(game, seed=seed, players={seat: PERSON, other(seat): str(opponent)})
    made(str(opponent), game, match.seed or 0, other(seat))
    return match, seat
