"""Scheduling of a study's matches: practice, opponents, pairing, time limits, and how each participant's study ends."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.events import Ended
from negolab.game import SEATS, Seat
from negolab.match import Match
from negolab.runs.plan import derive_seed
from negolab.studies.database import ACTIVE, Database, Participant, StoredMatch
from negolab.studies.database.connection import describe_error, is_unreachable
from negolab.studies.page_state import PresenceRegistry
from negolab.studies.session import PERSON, MatchSession, SessionManager
from negolab.studies.study_config import Ending, Practice, Study, Treatment

log = logging.getLogger("negolab.studies")

LOOK = 5.0
"""Seconds between two checks for participants who do not continue and for pages that were closed."""


class TaskGuard:
    """Runs periodic tasks; logs and notes the first error of each. Only errors of an unreachable database are raised.

    Args:
        database: The database that keeps the notes.
        study: Name of the study; None: free play.
    """

    def __init__(self, database: Database, study: str | None) -> None:
        self._database, self._study = database, study
        self._failed: set[str] = set()

    def __call__(self, task: str, work: Callable[[], None]) -> None:
        """Do the `work` of a `task`, which is named in words."""
        try:
            work()
        except Exception as error:
            if is_unreachable(error):
                raise
            if task not in self._failed:
                self._failed.add(task)
                log.exception("a look at %s failed", task)
                detail = f"{task}: {describe_error(error)}"
                with suppress(sa.exc.SQLAlchemyError):  # the error is in the log
                    self._database.note("error", "host", study=self._study, detail=detail)


class WaitingPlace(NamedTuple):
    """A participant's place in the queue: when the wait began (`time.monotonic`) and the treatment."""

    since: float
    treatment: str


class Scheduler:
    """Starts, pairs and ends the matches of one study.

    `waiting` holds the participants without a partner, by id, in order of arrival. The constructor resumes all running
    matches and waits.

    Args:
        database: The database of the study.
        study: The study.
        sessions: The match sessions of the study; the scheduler sets their `endings`.
        presence: Presence of the participants' pages.

    Raises:
        ValueError: A participant is active in a treatment that the study file no longer has.
    """

    def __init__(self, database: Database, study: Study, sessions: SessionManager, presence: PresenceRegistry) -> None:
        self.study = study
        self._database, self._sessions, self._presence = database, sessions, presence
        self.waiting: dict[str, WaitingPlace] = {}
        self._stopped: dict[str, Mapping[str, Ending]] = {}
        self._began = time.time()
        self._looked = time.monotonic()
        self._guard = TaskGuard(database, study.name)
        self._first = database.first(study.name)
        sessions.endings = self._endings
        participants = database.participants(study.name)
        _check_treatments(study, participants)
        for stored in database.matches(study.name, running=True):
            sessions.resume(stored)
        for participant in participants:
            if participant.status == "waiting":
                self.next_match(participant)  # the wait must end even if the page never polls again

    def start(self, participant: Participant) -> None:
        """Assign a participant to a treatment, first to one where somebody lacks a partner, and begin."""
        self._database.start(participant.id, self.study.cells, seed=self.study.seed, fixed=self._unmatched())
        self.next_match(self._database.participant(participant.id))

    def next_match(self, participant: Participant) -> None:
        """Begin a participant's next practice or real match, or put them into the queue for a partner.

        Raises:
            ValueError: The study has no treatment of the participant's.
        """
        treatment, practice = self.study.treatment(str(participant.treatment)), self.study.practice
        if participant.passed < practice.matches:
            n = participant.passed + 1
            self._begin_against(practice.opponent, participant, treatment, n)
        elif treatment.opponent is not None:
            self._begin_against(treatment.opponent, participant, treatment)
        else:
            self._database.change(participant.id, status="waiting")
            self.waiting.setdefault(participant.id, WaitingPlace(time.monotonic(), treatment.name))
            self.pair()

    def _game(self, of: Treatment | Practice) -> AnyGame:
        """Load the game of a new match.

        A study that began with an older negolab keeps that version's defaults, unless its file names another game.
        """
        game = self.study.loaded(of)
        if self._first is None or self._first.game != catalog.game_id(game):
            return game
        return catalog.with_legacy_defaults(game, {*self._first.params, *of.params})

    def _seed(self, participant: Participant, *purpose: str | int) -> int:
        return derive_seed(self.study.seed, self.study.name, participant.number, *purpose)

    def _begin_against(self, player: str, participant: Participant, treatment: Treatment, practice: int = 0) -> None:
        """Begin a match of a participant against a player: the real one, or a practice round."""
        game = self._game(self.study.practice if practice else treatment)
        seed = self._seed(participant, "practice", practice) if practice else self._seed(participant, "deal")
        seat: Seat = random.Random(self._seed(participant, "seat")).choice(treatment.seats())
        names: dict[Seat, str] = {s: PERSON if s == seat else player for s in SEATS}
        self._begin(Match(game, seed=seed, players=names), {seat: participant.id}, treatment, practice)

    def _begin(self, match: Match, people: dict[Seat, str | None], treatment: Treatment, practice: int = 0) -> None:
        endings = self._completed(people.values(), practice) if match.ended else {}
        self._sessions.begin(match, people, treatment=treatment.name, practice=practice, endings=endings)

    # Pairing.

    def _unmatched(self) -> str | None:
        """Return a treatment in which an odd number of present participants lack a partner; None if there is none.

        The next participant to start joins that treatment.
        """
        alone: dict[str, int] = {}
        matches = self._database.matches(self.study.name)
        playing = {id for match in matches if not match.practice for id in match.people.values()}
        paired = {treatment.name for treatment in self.study.treatments if treatment.paired}
        for participant in self._database.participants(self.study.name):
            here = participant.status in ACTIVE and self._presence.is_present(participant.id)
            if here and participant.id not in playing and participant.treatment in paired:
                alone[str(participant.treatment)] = alone.get(str(participant.treatment), 0) + 1
        return next((name for name, n in alone.items() if n % 2), None)

    def pair(self) -> None:
        """Pair present participants in order of arrival, and end the waits that exceeded the study's limit."""
        for treatment in self.study.treatments:
            here = [id for id, place in self.waiting.items() if place.treatment == treatment.name]
            here = [id for id in here if self._presence.is_present(id)]
            for first, second in zip(here[::2], here[1::2], strict=False):
                self._begin_pair(self._database.participant(first), self._database.participant(second), treatment)
        for id, place in list(self.waiting.items()):
            if time.monotonic() - place.since > self.study.pairing.wait:
                self._guard(f"the wait of {id}", partial(self._end_wait, id))

    def _begin_pair(self, first: Participant, second: Participant, treatment: Treatment) -> None:
        rng = random.Random(self._seed(first, "pair", second.number))
        people: list[str | None] = rng.sample([first.id, second.id], 2)
        names: dict[Seat, str] = dict.fromkeys(SEATS, PERSON)
        match = Match(self._game(treatment), seed=self._seed(first, "deal"), players=names)
        self._begin(match, dict(zip(SEATS, people, strict=True)), treatment)
        for participant in (first, second):
            self.waiting.pop(participant.id, None)

    def _end_wait(self, id: str) -> None:
        """End a wait without a partner: end the study for the participant, or begin a match against a player."""
        player = self.study.pairing.player
        if player is None:
            self._database.change(id, "unpaired", actor="host", status="unpaired", ended=time.time())
        else:
            participant = self._database.participant(id)
            self._begin_against(player, participant, self.study.treatment(str(participant.treatment)))
        self.waiting.pop(id, None)
        self._presence[id].touch()

    # Time limits and endings.

    def tick(self) -> None:
        """Enforce time limits, retry answers that could not be saved, and pair participants; called periodically.

        Errors are logged and stored once per task, and do not stop the other tasks. An unreachable database raises.
        """
        for stored, session in self._sessions.running():
            if seats := session.late_seats():
                self._guard(f"match {stored.id}", partial(self._stop_late, stored, session, seats))
            self._guard(f"an answer in match {stored.id}", session.retry)
        self._guard("pairing", self.pair)
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            self._guard("those who do not go on", self._time_out_practice)
            self._sessions.sweep(self._is_shown)
            self._presence.sweep()

    def _stop_late(self, stored: StoredMatch, session: MatchSession, seats: list[Seat]) -> None:
        self._stopped[stored.id] = {
            id: "timeout" if seat in seats else "partner" for seat, id in stored.people.items() if id is not None
        }
        names = " and ".join(f"seat {seat}" for seat in seats)
        session.stop(f"{names} did not answer in time")

    def _is_shown(self, stored: StoredMatch) -> bool:
        """Return True if the open page of a participant may still show a finished match."""
        here = [id for id in stored.people.values() if id is not None and self._presence.is_present(id)]
        return any(self._database.participant(id).status in ("playing", "complete") for id in here)

    def time_to_continue(self, participant: Participant, ended: float | None) -> tuple[float, str] | None:
        """Return the seconds left to continue after a practice match, negative if the time is over, and their kind.

        Args:
            participant: The participant.
            ended: When the match ended, in seconds since 1970; None: it runs.

        Returns:
            Seconds and "continue"; None: no limit runs.
        """
        limit = self.study.limits.reply
        if limit is None or ended is None or participant.status != "playing":
            return None
        # Time before the host's start does not count: nobody could continue while it was down.
        return limit - (time.time() - max(ended, self._began)), "continue"

    def _time_out_practice(self) -> None:
        """Time out participants who do not continue from a practice match within the limit for a reply."""
        if self.study.limits.reply is None or not self.study.practice.matches:
            return
        for participant in self._database.participants(self.study.name):
            if participant.status == "playing":
                last = self._database.matches(self.study.name, participant=participant.id)[-1]
                left = self.time_to_continue(participant, last.ended)
                if left is not None and left[0] < 0:
                    values = {"status": "timeout", "ended": time.time()}
                    self._database.change(participant.id, "timeout", actor="host", detail="did not go on", **values)
                    self._presence[participant.id].touch()

    def stop(self, participant: Participant, ending: Ending, reason: str) -> None:
        """Remove a participant from the queue and stop their running match.

        Args:
            participant: The participant.
            ending: Their way of ending, set with the match's end; the other person's is "partner".
            reason: Reason that the record gives.
        """
        self.waiting.pop(participant.id, None)
        for stored in self._database.matches(self.study.name, participant=participant.id, running=True):
            others: dict[str, Ending] = {id: "partner" for id in stored.people.values() if id is not None}
            self._stopped[stored.id] = {**others, participant.id: ending}
            self._sessions.resume(stored).stop(reason)

    def _endings(self, stored: StoredMatch, ended: Ended) -> Mapping[str, Ending]:
        """Return the ways of ending, by participant id, that the end of a match brings about."""
        if ended.reason is None:
            return self._completed(stored.people.values(), stored.practice)
        failed: dict[str, Ending] = {id: "error" for id in stored.people.values() if id is not None}
        return self._stopped.pop(stored.id, failed)

    def _completed(self, people: Iterable[str | None], practice: int) -> dict[str, Ending]:
        """Return the endings after a match that the rules ended; a practice round ends nothing."""
        return {} if practice else {id: "complete" for id in people if id is not None}


def _check_treatments(study: Study, participants: list[Participant]) -> None:
    """Raise `ValueError` if a participant is active in a treatment that the study file no longer has."""
    treatments = [treatment.name for treatment in study.treatments]
    for participant in participants:
        if participant.status in ACTIVE and participant.treatment not in treatments:
            raise ValueError(
                f"study {study.name}: participant {participant.number} is at work in treatment "
                f"{participant.treatment!r}, which its file no longer has: put it back until they have finished, "
                "or end it for them first"
            )
