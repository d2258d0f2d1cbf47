"""Scheduling of a study's matches: practice, opponents, pairing, time limits, and how each participant's study ends."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
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
from negolab.studies.config import Delay, Ending, Practice, Treatment
from negolab.studies.database import ACTIVE, Database, Participant, StoredMatch
from negolab.studies.database.connection import describe_error, is_unreachable
from negolab.studies.presence import PresenceRegistry
from negolab.studies.session import PERSON, MatchSession
from negolab.studies.session_manager import AT_ONCE, SessionManager
from negolab.studies.study_file import Study

log = logging.getLogger("negolab.studies")

LOOK = 5.0
"""Seconds between two checks for participants who do not continue and for pages that were closed."""


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
        sessions: The match sessions of the study; the scheduler sets their `endings` and `changed`.
        visits: Presence of the participants' pages.

    Raises:
        ValueError: A participant is active in a treatment that the study file no longer has.
    """

    def __init__(self, database: Database, study: Study, sessions: SessionManager, visits: PresenceRegistry) -> None:
        self.study = study
        self._database, self._sessions, self._visits = database, sessions, visits
        self.waiting: dict[str, WaitingPlace] = {}
        self._why: dict[str, Mapping[str, Ending]] = {}
        self._began = time.time()
        self._looked = time.monotonic()
        self._faulty: set[str] = set()
        self._first = database.first(study.name)
        sessions.endings, sessions.changed = self._endings, self.changed
        people = database.participants(study.name)
        _placed(study, people)
        for sat in database.matches(study.name, running=True):
            self.room(sat)
        for who in people:
            if who.status == "waiting":
                self.go_on(who)  # the wait must end even if the page never polls again

    def start(self, who: Participant) -> None:
        """Assign a participant to a treatment, first to one where somebody lacks a partner, and begin."""
        self._database.start(who.id, self.study.cells, seed=self.study.seed, fixed=self._unmatched())
        self.go_on(self._now(who.id))

    def go_on(self, who: Participant) -> None:
        """Begin a participant's next practice or real match, or put them into the queue for a partner.

        Raises:
            ValueError: The study has no treatment of the participant's.
        """
        treatment = self.study.treatment(str(who.treatment))
        if who.passed < self.study.practice.matches:
            self._practise(who, treatment)
        elif treatment.opponent is not None:
            self._meet(who, treatment, treatment.opponent)
        else:
            self._database.change(who.id, status="waiting")
            self.waiting.setdefault(who.id, WaitingPlace(time.monotonic(), treatment.name))
            self.pair()

    def _game(self, of: Treatment | Practice) -> AnyGame:
        """Load the game of a new match.

        A study that began with an older negolab keeps that version's defaults, unless its file names another game.
        """
        game = self.study.loaded(of)
        if self._first is None or self._first.game != catalog.game_id(game):
            return game
        return catalog.with_legacy_defaults(game, {*self._first.params, *of.params})

    def _seed(self, who: Participant, *purpose: str | int) -> int:
        return derive_seed(self.study.seed, self.study.name, who.number, *purpose)

    def _seat(self, who: Participant, treatment: Treatment) -> Seat:
        if treatment.seat != "random":
            return treatment.seat
        return random.Random(self._seed(who, "seat")).choice(SEATS)

    def _practise(self, who: Participant, treatment: Treatment) -> None:
        practice, n = self.study.practice, who.passed + 1
        seat = self._seat(who, treatment)
        names: dict[Seat, str] = {s: PERSON if s == seat else practice.opponent for s in SEATS}
        match = Match(self._game(practice), seed=self._seed(who, "practice", n), players=names)
        self._begin(match, {seat: who.id}, treatment, practice=n)

    def _meet(self, who: Participant, treatment: Treatment, player: str) -> None:
        seat = self._seat(who, treatment)
        names: dict[Seat, str] = {s: PERSON if s == seat else player for s in SEATS}
        match = Match(self._game(treatment), seed=self._seed(who, "deal"), players=names)
        self._begin(match, {seat: who.id}, treatment)

    def _begin(self, match: Match, people: dict[Seat, str | None], treatment: Treatment, practice: int = 0) -> None:
        self._sessions.begin(
            match,
            people,
            study=self.study.name,
            treatment=treatment.name,
            practice=practice,
            limits=self.study.limits,
            delay=self._delay(treatment, practice),
        )

    def _delay(self, treatment: Treatment, practice: int) -> Delay:
        """Return the thinking time for a real match or a practice round; practice may override the treatment's."""
        own = self.study.practice.delay if practice else None
        return treatment.delay if own is None else own

    def room(self, sat: StoredMatch) -> MatchSession:
        """Return the session of a match of the study, with the study's limits and delays."""
        # The file may have lost the treatment of a finished match; a finished match has no answers to delay.
        known = next((t for t in self.study.treatments if t.name == sat.treatment), None)
        delay = AT_ONCE if known is None else self._delay(known, sat.practice)
        return self._sessions.resume(sat, self.study.limits, delay)

    # Pairing.

    def _unmatched(self) -> str | None:
        """Return a treatment in which an odd number of present participants lack a partner; None if there is none.

        The next participant to start joins that treatment.
        """
        alone: dict[str, int] = {}
        playing = {
            id for sat in self._database.matches(self.study.name) if not sat.practice for id in sat.people.values()
        }
        paired = {treatment.name for treatment in self.study.treatments if treatment.paired}
        for who in self._database.participants(self.study.name):
            here = who.status in ACTIVE and self._visits.present(who.id)
            if here and who.id not in playing and who.treatment in paired:
                alone[str(who.treatment)] = alone.get(str(who.treatment), 0) + 1
        return next((name for name, n in alone.items() if n % 2), None)

    def pair(self) -> None:
        """Pair present participants in order of arrival, and end the waits that exceeded the study's limit."""
        for treatment in self.study.treatments:
            here = [id for id, wait in self.waiting.items() if wait.treatment == treatment.name]
            here = [id for id in here if self._visits.present(id)]
            for first, second in zip(here[::2], here[1::2], strict=False):
                self._match(self._now(first), self._now(second), treatment)
        for id, wait in list(self.waiting.items()):
            if time.monotonic() - wait.since > self.study.pairing.wait:
                self._guarded(f"the wait of {id}", partial(self._unpaired, id))

    def _match(self, first: Participant, second: Participant, treatment: Treatment) -> None:
        rng = random.Random(self._seed(first, "pair", second.number))
        people: list[str | None] = rng.sample([first.id, second.id], 2)
        names: dict[Seat, str] = dict.fromkeys(SEATS, PERSON)
        match = Match(self._game(treatment), seed=self._seed(first, "deal"), players=names)
        self._begin(match, dict(zip(SEATS, people, strict=True)), treatment)
        for who in (first, second):
            self.waiting.pop(who.id, None)

    def _unpaired(self, id: str) -> None:
        """End a wait without a partner: end the study for the participant, or begin a match against a player."""
        who = self._now(id)
        player = self.study.pairing.player
        if player is None:
            self._database.change(who.id, "unpaired", actor="host", status="unpaired", ended=time.time())
        else:
            self._meet(who, self.study.treatment(str(who.treatment)), player)
        self.waiting.pop(who.id, None)
        self._visits.of(who.id).touch()

    # Time limits and endings.

    def tick(self) -> None:
        """Enforce time limits, retry answers that could not be saved, and pair participants; called periodically.

        Errors are logged and stored once per task, and do not stop the other tasks. An unreachable database raises.
        """
        for sat, room, seats in self._sessions.late():
            self._guarded(f"match {sat.id}", partial(self._late, sat, room, seats))
        self._guarded("the answers of players", self._sessions.nudge)
        self._guarded("pairing", self.pair)
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            self._guarded("those who do not go on", self._give_up)
            self._sessions.sweep(self._shown)
            self._visits.sweep()

    def _guarded(self, what: str, do: Callable[[], None]) -> None:
        """Run a task; log and note its first error. Only errors of an unreachable database are raised."""
        try:
            do()
        except Exception as error:
            if is_unreachable(error):
                raise
            if what not in self._faulty:
                self._faulty.add(what)
                log.exception("a look at %s failed", what)
                with suppress(sa.exc.SQLAlchemyError):
                    self._database.note(
                        "error", "host", study=self.study.name, detail=f"{what}: {describe_error(error)}"
                    )

    def _late(self, sat: StoredMatch, room: MatchSession, seats: list[Seat]) -> None:
        late: dict[str, Ending] = {id: "timeout" if s in seats else "partner" for s, id in sat.people.items() if id}
        names = " and ".join(f"seat {seat}" for seat in seats)
        self._why[sat.id] = late
        room.stop(f"{names} did not answer in time")

    def _shown(self, sat: StoredMatch) -> bool:
        """Return True if the open page of a participant may still show a finished match."""
        here = [id for id in sat.people.values() if id is not None and self._visits.present(id)]
        return any(self._now(id).status in ("playing", "complete") for id in here)

    def onward(self, who: Participant, ended: float) -> float | None:
        """Return the seconds left to continue after a practice match.

        Args:
            who: The participant.
            ended: When the match ended, in seconds since 1970.

        Returns:
            Seconds, negative if the time is over; None: no limit.
        """
        limit = self.study.limits.reply
        if limit is None or who.status != "playing":
            return None
        # Time before the host's start does not count: nobody could continue while it was down.
        return limit - (time.time() - max(ended, self._began))

    def _give_up(self) -> None:
        """Time out participants who do not continue from a practice match within the limit for a reply."""
        if self.study.limits.reply is None or not self.study.practice.matches:
            return
        for who in self._database.participants(self.study.name):
            if who.status == "playing":
                ended = self._database.matches(self.study.name, participant=who.id)[-1].ended
                left = None if ended is None else self.onward(who, ended)
                if left is not None and left < 0:
                    values = {"status": "timeout", "ended": time.time()}
                    self._database.change(who.id, "timeout", actor="host", detail="did not go on", **values)
                    self._visits.of(who.id).touch()

    def stop(self, who: Participant, ending: Ending, reason: str) -> None:
        """Remove a participant from the queue and stop their running match.

        Args:
            who: The participant.
            ending: Their way of ending, set with the match's end; the other person's is "partner".
            reason: Reason that the record gives.
        """
        self.waiting.pop(who.id, None)
        for sat in self._database.matches(self.study.name, participant=who.id, running=True):
            others: dict[str, Ending] = {id: "partner" for id in sat.people.values() if id and id != who.id}
            self._why[sat.id] = {**others, who.id: ending}
            self.room(sat).stop(reason)

    def _endings(self, sat: StoredMatch, ended: Ended) -> Mapping[str, Ending]:
        """Return the ways of ending, by participant id, that the end of a match brings about."""
        people = [id for id in sat.people.values() if id is not None]
        if ended.reason is not None:
            return self._why.pop(sat.id, dict.fromkeys(people, "error"))
        return {} if sat.practice else dict.fromkeys(people, "complete")

    def changed(self, sat: StoredMatch) -> None:
        """Wake the pages of a match's participants."""
        for id in sat.people.values():
            if id is not None:
                self._visits.of(id).touch()

    def _now(self, id: str) -> Participant:
        who = self._database.participant(id)
        assert who is not None
        return who


def _placed(study: Study, people: list[Participant]) -> None:
    """Raise `ValueError` if a participant is active in a treatment that the study file no longer has."""
    known = [treatment.name for treatment in study.treatments]
    for who in people:
        if who.status in ACTIVE and who.treatment not in known:
            raise ValueError(
                f"study {study.name}: participant {who.number} is at work in treatment {who.treatment!r}, which its "
                "file no longer has: put it back until they have finished, or end it for them first"
            )
