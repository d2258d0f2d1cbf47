"""The admin API of the host: the researcher's free play and branches, the study monitor, and ending a study."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from typing import Any

from negolab import catalog
from negolab.events import Replied
from negolab.game import SEATS, Seat, other
from negolab.match import Match
from negolab.protocols import player_notes
from negolab.record import parse_record
from negolab.runs.driver import make_player
from negolab.studies.authentication import AccessDenied, LeaseTaken
from negolab.studies.database import Database, StoredMatch
from negolab.studies.host_config import NONE, KnownEndpoints
from negolab.studies.page_state import Answer
from negolab.studies.presence import PagePresence
from negolab.studies.scheduler import LOOK
from negolab.studies.service import StudyService, playing
from negolab.studies.session import LEFT, PERSON, STOPPED, MatchSession, NotDelivered
from negolab.studies.session_manager import SessionManager

MOST = 1000
"""Replies after which a branch is stopped, as players may never end it."""


class AdminService:
    """Free play, branches of recorded matches, and the monitor of the study.

    Operations take a mapping with the fields of a JSON body, and return plain data.

    Args:
        database: The database; this process must have claimed it.
        sessions: The match sessions outside the study; unfinished ones are resumed.
        service: The study that is being run; None: no study.
        models: Endpoints of the language models that can be played against.
    """

    title = "negolab"

    def __init__(
        self, database: Database, sessions: SessionManager, service: StudyService | None, models: KnownEndpoints = NONE
    ) -> None:
        self._database, self._sessions, self._service, self._models = database, sessions, service, models
        self._leases: dict[str, str] = {}
        self._visits: dict[str, PagePresence] = {}
        self._looked = time.monotonic()
        sessions.changed = lambda sat: self._visit(sat).touch()
        for sat in database.matches(None, running=True):
            sessions.resume(sat)
        sessions.file_all()

    # Free play.

    def play(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a match of a person against a player.

        Args:
            wanted: `game`, `preset`, `seed`, the person's `seat` and the name of the player, `opponent`.

        Returns:
            `lease` for the page, the id `match`, and the `opponent`.

        Raises:
            AccessDenied: There is no such game, preset or player, or the player cannot play that seat.
        """
        try:
            match, seat = self._match(wanted)
        except ValueError as error:
            raise AccessDenied(str(error)) from None
        self._sessions.begin(match, {seat: None})
        return self._lease(self._sat(match.id))

    def _match(self, wanted: Mapping[str, Any]) -> tuple[Match, Seat]:
        """Build the requested match; `ValueError` if the game or the player cannot be had."""
        seat: Seat = next((seat for seat in SEATS if seat == wanted.get("seat")), "A")
        opponent, seed = str(wanted.get("opponent")), wanted.get("seed")
        game = catalog.load(str(wanted.get("game")), preset=wanted.get("preset"))
        match = Match(game, seed=seed, players={seat: PERSON, other(seat): opponent})
        player_notes({other(seat): make_player(opponent, game, match.seed or 0, other(seat), models=self._models)})
        return match, seat

    async def models(self, _: Mapping[str, Any]) -> list[dict[str, Any]]:
        """List the known endpoints with their models; see `KnownEndpoints.listed`."""
        return await self._models.listed()

    def playing(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Return the latest running match of a person with a new lease, as `play` does; {} if there is none."""
        running = [at.sat for at in self._sessions.running() if at.sat.people]
        return self._lease(running[-1]) if running else {}

    # Branches.

    def branch(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Continue a recorded match as a new branch.

        Args:
            wanted: `record`, the record up to the branching point as a line of JSON, under the new match's id; and
                `players`, the name of a player by seat, "person" for at most one of them.

        Returns:
            What `play` returns if a person takes part; else the id `match` alone.

        Raises:
            AccessDenied: The record or the players are not valid, or a match of that id exists.
        """
        try:
            match, people = self._forked(wanted)
        except ValueError as error:
            raise AccessDenied(str(error)) from None
        room = self._sessions.begin(match, people)
        room.watch(lambda: _bounded(room))
        return self._lease(self._sat(match.id)) if people else {"match": match.id}

    def branched(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Return the `record` of a branch so far; `AccessDenied` for an unknown `match`."""
        room = self._sessions.resume(self._sat(str(wanted.get("match"))))
        return {"record": room.match.record().to_line().decode()}

    def stop(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Stop a branch and return its `record`; `AccessDenied` for an unknown `match`."""
        self._sessions.resume(self._sat(str(wanted.get("match")))).stop(STOPPED)
        return self.branched(wanted)

    def _forked(self, wanted: Mapping[str, Any]) -> tuple[Match, dict[Seat, None]]:
        """Build the requested branch and the seat of the person, if any; `ValueError` if the request is invalid."""
        record, named = parse_record(str(wanted.get("record"))), wanted.get("players")
        if not isinstance(named, dict) or set(named) != set(SEATS):
            raise ValueError("a branch needs a player for A and one for B")
        match = Match.replay(record)
        match.players = {seat: str(named[seat]) for seat in SEATS}
        people: dict[Seat, None] = {seat: None for seat in SEATS if match.players[seat] == PERSON}
        if len(people) > 1 or self._database.match(match.id) is not None:
            raise ValueError("one seat of a new branch can be yours")
        return match, people

    def _lease(self, sat: StoredMatch) -> dict[str, Any]:
        """Give a new lease to a match's newest page; the previous page is woken and finds its lease taken."""
        lease = f"{sat.id}.{secrets.token_urlsafe(24)}"
        self._leases[sat.id] = lease
        self._visit(sat).touch()
        (seat,) = sat.people
        players = self._sessions.resume(sat).match.players
        return {"lease": lease, "match": sat.id, "opponent": players[other(seat)]}

    def _visit(self, sat: StoredMatch) -> PagePresence:
        return self._visits.setdefault(sat.id, PagePresence())

    def _leased(self, lease: str) -> StoredMatch:
        id = lease.partition(".")[0]
        # Leases are lost at a restart of the host: the first page that asks is taken for the newest.
        if self._leases.setdefault(id, lease) != lease:
            raise LeaseTaken
        return self._sat(id)

    def _sat(self, id: str) -> StoredMatch:
        sat = self._database.match(id)
        if sat is None or sat.study is not None:
            raise AccessDenied("There is no such match.")
        return sat

    async def scene(self, lease: str, after: int, seconds: float) -> Answer:
        """Return the page state of a match once its version differs from `after` (long poll).

        Args:
            lease: Lease of the page.
            after: Version that the page shows already.
            seconds: Time after which the current state is returned even if nothing changed.

        Raises:
            AccessDenied: There is no such match in free play.
            LeaseTaken: A newer page of the match holds the lease.
        """
        await self._visit(self._leased(lease)).newer(after, seconds)
        return self._answer(self._leased(lease))

    def now(self, lease: str) -> Answer:
        """Return the current page state without waiting; raises what `scene` does."""
        return self._answer(self._leased(lease))

    def _answer(self, sat: StoredMatch, **more: str) -> Answer:
        room = self._sessions.resume(sat)
        (seat,) = sat.people
        ended = room.match.ended
        scene = playing(self.title, room, seat, fault=(ended and ended.reason) or "")
        return Answer(self._visit(sat).version, scene, **more)

    def act(self, lease: str, act: Mapping[str, Any]) -> Answer:
        """Leave the match (`kind` "leave"), or reply with `text` in `turn`.

        Args:
            lease: Lease of the page.
            act: The fields named above.

        Returns:
            The page state. `refused` holds the rules' reason against a reply, `unheard` the reason for which nothing
            was done.

        Raises:
            AccessDenied: There is no such match in free play.
            LeaseTaken: A newer page of the match holds the lease.
        """
        sat = self._leased(lease)
        room, (seat,) = self._sessions.resume(sat), sat.people
        text, turn = act.get("text"), act.get("turn")
        if act.get("kind") == "leave":
            room.stop(LEFT)
            return self._answer(sat)
        if not isinstance(text, str) or type(turn) is not int:
            return self._answer(sat, unheard="A reply is a text.")
        try:
            return self._answer(sat, refused=room.say(seat, text, turn))
        except NotDelivered as why:
            return self._answer(sat, unheard=str(why))

    def tick(self) -> None:
        """Retry answers that could not be saved, and drop what no open page shows; called periodically."""
        self._sessions.nudge()
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            self._sessions.sweep(lambda sat: self._visit(sat).present)
            running = {at.sat.id for at in self._sessions.running()}
            self._visits = {id: visit for id, visit in self._visits.items() if visit.asked or id in running}

    # The monitor.

    def monitor(self, _: Mapping[str, Any]) -> Any:
        """Return `StudyService.monitor()`; {} without a study."""
        return {} if self._service is None else self._service.monitor()

    def end(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """End the study for `participant` (number) with a `reason`; `AccessDenied` if that is not possible."""
        if self._service is None:
            raise AccessDenied("No study is running.")
        number, reason = wanted.get("participant"), wanted.get("reason")
        self._service.end(number if type(number) is int else 0, reason if isinstance(reason, str) else "")
        return {}


def _bounded(room: MatchSession) -> None:
    """Stop a branch after `MOST` replies."""
    if room.match.ended is None and sum(isinstance(event, Replied) for event in room.match.events) >= MOST:
        room.stop(f"the branch had no end after {MOST} replies")
