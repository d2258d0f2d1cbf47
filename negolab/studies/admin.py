"""The admin API of the host: the researcher's free play and branches, the study monitor, and ending a study."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import override

from negolab import catalog
from negolab.events import Replied
from negolab.game import SEATS, Seat, other
from negolab.match import Match
from negolab.protocols import player_notes
from negolab.record import PERSON, parse_record
from negolab.runs.driver import make_player
from negolab.store import Store
from negolab.studies import clock
from negolab.studies.authentication import LeaseTaken
from negolab.studies.database import Database, StoredMatch
from negolab.studies.host_config import NONE, KnownEndpoints
from negolab.studies.links import AccessDenied
from negolab.studies.metrics import render
from negolab.studies.page_service import PageService, reply_of
from negolab.studies.page_state import Answer, NotDelivered, Playing
from negolab.studies.scheduler import LOOK, TaskGuard
from negolab.studies.service import StudyService
from negolab.studies.session import LEFT, STOPPED, MatchSession
from negolab.studies.sessions import SessionManager

log = logging.getLogger("negolab.studies")

MOST = 1000
"""Replies after which a branch is stopped, as players may never end it."""


class AdminService(PageService):
    """Free play, branches of recorded matches, and the monitor of the study; unfinished matches are resumed.

    Operations take a mapping with the fields of a JSON body, and return plain data. The id of a page is its match's.

    Args:
        database: The database; this process must have claimed it.
        service: The study that is being run; None: no study.
        store: Opens the folder to which finished records are also appended; None: no folder.
        models: Endpoints of the language models that can be played against.
    """

    title = "negolab"

    def __init__(
        self,
        database: Database,
        service: StudyService | None = None,
        *,
        store: Callable[[], Store] | None = None,
        models: KnownEndpoints = NONE,
    ) -> None:
        super().__init__()
        self._database, self._service, self._models = database, service, models
        wake: Callable[[StoredMatch, object], None] = lambda stored, _: self.presence[stored.id].touch()
        self._sessions = SessionManager(database, wake, store=store, models=models)
        self._leases: dict[str, str] = {}
        self._played = ""
        """Id of the match that the lobby shows: until it is left, also after its end."""
        self._looked = clock.monotonic()
        self._guard = TaskGuard(database, None)
        for stored in database.matches(None, running=True):
            try:
                self._watch(self._sessions.resume(stored))
            except ValueError as error:
                log.warning("%s", error)
        self._sessions.write_missing()

    # Free play.

    def play(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a match of a person against a player.

        Args:
            request: `game`, `preset`, `seed`, the person's `seat` and the name of the player, `opponent`.

        Returns:
            `lease` for the page, the id `match`, and the `opponent`.

        Raises:
            AccessDenied: There is no such game, preset or player, or the player cannot play that seat.
        """
        try:
            match, seat = self._match(request)
        except ValueError as error:
            raise AccessDenied(str(error)) from None
        self._sessions.begin(match, {seat: None})
        self._played = match.id
        return self._lease(self._stored(match.id))

    def _match(self, request: Mapping[str, Any]) -> tuple[Match, Seat]:
        """Build the requested match; `ValueError` if the game or the player cannot be had."""
        seat: Seat = next((seat for seat in SEATS if seat == request.get("seat")), "A")
        opponent, seed = str(request.get("opponent")), request.get("seed")
        game = catalog.load(str(request.get("game")), preset=request.get("preset"))
        match = Match(game, seed=seed, players={seat: PERSON, other(seat): opponent})
        away = other(seat)
        player_notes({away: make_player(opponent, game, match.seed or 0, away, models=self._models, load=False)})
        return match, seat

    async def models(self, _: Mapping[str, Any]) -> list[dict[str, Any]]:
        """List the known endpoints with their models; see `KnownEndpoints.listed`."""
        return await self._models.listed()

    def playing(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Return the latest running match of a person, else the one whose end was not left, with a new lease, as `play`
        does; {} if there is none."""
        running = [stored.id for stored, _ in self._sessions.running() if stored.people]
        self._played = running[-1] if running else self._played
        return self._lease(self._stored(self._played)) if self._played else {}

    # Branches.

    def branch(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Continue a recorded match as a new branch.

        Args:
            request: `record`, the record up to the branching point as a line of JSON, under the new match's id; and
                `players`, the name of a player by seat, "person" for at most one of them.

        Returns:
            What `play` returns if a person takes part; else the id `match` alone.

        Raises:
            AccessDenied: The record or the players are not valid, or a match of that id exists.
        """
        try:
            match, people = self._forked(request)
        except ValueError as error:
            raise AccessDenied(str(error)) from None
        session = self._sessions.begin(match, people)
        self._watch(session)
        return self._lease(self._stored(match.id)) if people else {"match": match.id}

    def _watch(self, session: MatchSession) -> None:
        """Let a match without a person end."""
        if not session.seat_sessions:
            session.watch(lambda: _stop_if_endless(session))

    def branched(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Return the `record` of a branch so far; `AccessDenied` for an unknown `match`."""
        session = self._sessions.resume(self._stored(str(request.get("match"))))
        return {"record": session.match.record().to_line().decode()}

    def stop(self, request: Mapping[str, Any]) -> dict[str, str]:
        """Stop a branch and return its `record`; `AccessDenied` for an unknown `match`."""
        self._sessions.resume(self._stored(str(request.get("match")))).stop(STOPPED)
        return self.branched(request)

    def _forked(self, request: Mapping[str, Any]) -> tuple[Match, dict[Seat, None]]:
        """Build the requested branch and the seat of the person, if any; `ValueError` if the request is invalid."""
        record, players = parse_record(str(request.get("record"))), request.get("players")
        if not isinstance(players, dict) or set(players) != set(SEATS):
            raise ValueError("a branch needs a player for A and one for B")
        match = Match.replay(record)
        match.players = {seat: str(players[seat]) for seat in SEATS}
        people: dict[Seat, None] = {seat: None for seat in SEATS if match.players[seat] == PERSON}
        if len(people) > 1 or self._database.match(match.id) is not None:
            raise ValueError("only one seat of a new branch can be yours")
        return match, people

    # Pages.

    def _lease(self, stored: StoredMatch) -> dict[str, Any]:
        """Give a new lease to a match's newest page; the previous page is woken and finds its lease taken."""
        lease = f"{stored.id}.{secrets.token_urlsafe(24)}"
        self._leases[stored.id] = lease
        self.presence[stored.id].touch()
        (seat,) = stored.people
        players = self._sessions.resume(stored).match.players
        return {"lease": lease, "match": stored.id, "opponent": players[other(seat)]}

    @override
    def _page(self, lease: str) -> str:
        id = lease.partition(".")[0]
        # Leases are lost at a restart of the host: the first page that asks is taken for the newest.
        if self._leases.setdefault(id, lease) != lease:
            raise LeaseTaken
        return self._stored(id).id

    def _stored(self, id: str) -> StoredMatch:
        stored = self._database.match(id)
        if stored is None or stored.study is not None:
            raise AccessDenied("There is no such match.")
        return stored

    @override
    def _state(self, id: str) -> Playing:
        stored = self._stored(id)
        session, (seat,) = self._sessions.resume(stored), stored.people
        ended = session.match.ended
        return session.playing(self.title, seat, fault=(ended and ended.reason) or "")

    # Actions of the person: "leave" and "reply".

    @override
    def act(self, lease: str, action: Mapping[str, Any]) -> Answer:
        stored = self._stored(self._page(lease))
        session, (seat,) = self._sessions.resume(stored), stored.people
        if action.get("kind") == "leave":
            self._played = "" if stored.id == self._played else self._played
            session.stop(LEFT)
            return self._done(stored.id)
        try:
            return self._done(stored.id, session.submit(seat, *reply_of(action)))
        except NotDelivered as error:
            return self._answer(stored.id, not_done=str(error))

    def tick(self) -> None:
        """Retry answers that could not be saved, and drop what no open page shows; called periodically."""
        for stored, session in self._sessions.running():
            self._guard(f"an answer in match {stored.id}", session.retry)
        if clock.monotonic() - self._looked > LOOK:
            self._looked = clock.monotonic()
            self._sessions.sweep(lambda stored: self.presence.is_present(stored.id))
            running = {stored.id for stored, _ in self._sessions.running()}
            self.presence.sweep(running.__contains__)

    # The monitor.

    def monitor(self, _: Mapping[str, Any]) -> Any:
        """Return `StudyService.monitor()`; {} without a study."""
        return {} if self._service is None else self._service.monitor()

    def watch(self, request: Mapping[str, Any]) -> dict[str, str | None]:
        """Return the `record` of a `match` of the study so far, and the `module` of its game (None: one of negolab's);
        `AccessDenied` if there is none of that id."""
        if self._service is None:
            raise AccessDenied("No study is running.")
        record = self._service.watch(str(request.get("match")))
        return {"record": record.to_line().decode(), "module": self._service.module}

    def metrics(self, _: Mapping[str, Any]) -> dict[str, str]:
        """Return `text`: what is counted, for Prometheus."""
        return {"text": render(None, None) if self._service is None else self._service.metrics()}

    def end(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """End the study for `participant` (number) with a `reason`; `AccessDenied` if that is not possible."""
        if self._service is None:
            raise AccessDenied("No study is running.")
        number, reason = request.get("participant"), request.get("reason")
        self._service.end(number if type(number) is int else 0, reason if isinstance(reason, str) else "")
        return {}


def _stop_if_endless(session: MatchSession) -> None:
    """Stop a branch after `MOST` replies."""
    match = session.match
    if match.ended is None and sum(isinstance(event, Replied) for event in match.events) >= MOST:
        session.stop(f"the branch had not ended after {MOST} replies")
