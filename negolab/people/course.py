"""From one match of a study to the next: practice, a player or another participant, limits, and how it ends."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa

from negolab.events import Ended
from negolab.game import SEATS, Seat
from negolab.match import Match
from negolab.people.database import ACTIVE, Database, Participant, Sat
from negolab.people.faults import away, told
from negolab.people.parts import Delay, Ending, Treatment
from negolab.people.room import Room
from negolab.people.rooms import AT_ONCE, Rooms
from negolab.people.sitting import PERSON
from negolab.people.study import Study
from negolab.people.visit import Visits
from negolab.plan import derived

log = logging.getLogger("negolab.people")

LOOK = 5.0
"""Seconds between two looks for those who do not go on."""


class Wait(NamedTuple):
    """Since when (`time.monotonic`) somebody waits, in which treatment."""

    since: float
    treatment: str


class Course:
    """The matches of one study. `waiting` are those whom nobody plays with yet, in the order of their coming."""

    def __init__(self, database: Database, study: Study, rooms: Rooms, visits: Visits) -> None:
        self.study = study
        self._database, self._rooms, self._visits = database, rooms, visits
        self.waiting: dict[str, Wait] = {}
        self._why: dict[str, Mapping[str, Ending]] = {}
        self._began = time.time()
        self._looked = time.monotonic()
        self._faulty: set[str] = set()
        rooms.endings, rooms.changed = self._endings, self.changed
        people = database.participants(study.name)
        _placed(study, people)
        for sat in database.matches(study.name, running=True):
            self.room(sat)
        for who in people:
            if who.status == "waiting":
                self.go_on(who)  # their wait must end even if their page never asks again

    def start(self, who: Participant) -> None:
        """The Start click: take a place, beside the one who waits if there is one, and begin."""
        self._database.start(who.id, self.study.cells, seed=self.study.seed, fixed=self._unmatched())
        self.go_on(self._now(who.id))

    def go_on(self, who: Participant) -> None:
        """Begin the next match of a participant, or let them wait for another one."""
        treatment = self.study.treatment(str(who.treatment))
        if who.passed < self.study.practice.matches:
            self._practise(who, treatment)
        elif treatment.opponent is not None:
            self._meet(who, treatment, treatment.opponent)
        else:
            self._database.change(who.id, status="waiting")
            self.waiting.setdefault(who.id, Wait(time.monotonic(), treatment.name))
            self.pair()

    def _seed(self, who: Participant, *purpose: str | int) -> int:
        return derived(self.study.seed, self.study.name, who.number, *purpose)

    def _seat(self, who: Participant, treatment: Treatment) -> Seat:
        if treatment.seat != "random":
            return treatment.seat
        return random.Random(self._seed(who, "seat")).choice(SEATS)

    def _practise(self, who: Participant, treatment: Treatment) -> None:
        practice, n = self.study.practice, who.passed + 1
        seat = self._seat(who, treatment)
        names: dict[Seat, str] = {s: PERSON if s == seat else practice.opponent for s in SEATS}
        match = Match(self.study.loaded(practice), seed=self._seed(who, "practice", n), players=names)
        self._begin(match, {seat: who.id}, treatment, practice=n)

    def _meet(self, who: Participant, treatment: Treatment, player: str) -> None:
        seat = self._seat(who, treatment)
        names: dict[Seat, str] = {s: PERSON if s == seat else player for s in SEATS}
        match = Match(self.study.loaded(treatment), seed=self._seed(who, "deal"), players=names)
        self._begin(match, {seat: who.id}, treatment)

    def _begin(self, match: Match, people: dict[Seat, str | None], treatment: Treatment, practice: int = 0) -> None:
        self._rooms.begin(
            match,
            people,
            study=self.study.name,
            treatment=treatment.name,
            practice=practice,
            limits=self.study.limits,
            delay=self._delay(treatment, practice),
        )

    def _delay(self, treatment: Treatment, practice: int) -> Delay:
        """How long a player seems to think, in the real match or in a practice round."""
        own = self.study.practice.delay if practice else None
        return treatment.delay if own is None else own

    def room(self, sat: Sat) -> Room:
        # A match that is over may be of a treatment that the file has no more: nothing is delayed in it.
        known = next((t for t in self.study.treatments if t.name == sat.treatment), None)
        delay = AT_ONCE if known is None else self._delay(known, sat.practice)
        return self._rooms.resume(sat, self.study.limits, delay)

    # Pairs.

    def _unmatched(self) -> str | None:
        """The treatment of somebody who is there and has no one to play with yet: the next one joins them."""
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
        """Seat those who wait and are there, in the order of their coming; end the wait that took too long."""
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
        match = Match(self.study.loaded(treatment), seed=self._seed(first, "deal"), players=names)
        self._begin(match, dict(zip(SEATS, people, strict=True)), treatment)
        for who in (first, second):
            self.waiting.pop(who.id, None)

    def _unpaired(self, id: str) -> None:
        """Nobody came within the wait limit."""
        who = self._now(id)
        player = self.study.pairing.player
        if player is None:
            self._database.change(who.id, "unpaired", actor="host", status="unpaired", ended=time.time())
        else:
            self._meet(who, self.study.treatment(str(who.treatment)), player)
        self.waiting.pop(who.id, None)
        self._visits.of(who.id).touch()

    # Time, and ends.

    def tick(self) -> None:
        """What time does: limits that run out, waits that end, answers that must be asked for again."""
        for sat, room, seats in self._rooms.late():
            self._guarded(f"match {sat.id}", partial(self._late, sat, room, seats))
        self._guarded("the answers of players", self._rooms.nudge)
        self._guarded("pairing", self.pair)
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            self._guarded("those who do not go on", self._give_up)
            self._rooms.sweep(self._shown)
            self._visits.sweep()

    def _guarded(self, what: str, do: Callable[[], None]) -> None:
        """Let a fault in one thing stop nothing else; it is told and noted once. A database that is away stops all."""
        try:
            do()
        except Exception as error:
            if away(error):
                raise
            if what not in self._faulty:
                self._faulty.add(what)
                log.exception("a look at %s failed", what)
                with suppress(sa.exc.SQLAlchemyError):
                    self._database.note("error", "host", study=self.study.name, detail=f"{what}: {told(error)}")

    def _late(self, sat: Sat, room: Room, seats: list[Seat]) -> None:
        late: dict[str, Ending] = {id: "timeout" if s in seats else "partner" for s, id in sat.people.items() if id}
        names = " and ".join(f"seat {seat}" for seat in seats)
        self._why[sat.id] = late
        room.stop(f"{names} did not answer in time")

    def _shown(self, sat: Sat) -> bool:
        """Whether somebody may still look at a match that is over."""
        here = [id for id in sat.people.values() if id is not None and self._visits.present(id)]
        return any(self._now(id).status in ("playing", "complete") for id in here)

    def onward(self, who: Participant, ended: float) -> float | None:
        """Seconds in which a participant must go on from a match of practice that `ended`; None: any time."""
        limit = self.study.limits.reply
        if limit is None or who.status != "playing":
            return None
        # No time counts in which there was no host to go on with.
        return limit - (time.time() - max(ended, self._began))

    def _give_up(self) -> None:
        """Whoever does not go on from a practice match within the time for a reply gives their place back."""
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
        """Take a participant out of the queue, or end the match they sit at."""
        self.waiting.pop(who.id, None)
        for sat in self._database.matches(self.study.name, participant=who.id, running=True):
            others: dict[str, Ending] = {id: "partner" for id in sat.people.values() if id and id != who.id}
            self._why[sat.id] = {**others, who.id: ending}
            self.room(sat).stop(reason)

    def _endings(self, sat: Sat, ended: Ended) -> Mapping[str, Ending]:
        """For whom the study ends with this match, and how."""
        people = [id for id in sat.people.values() if id is not None]
        if ended.reason is not None:
            return self._why.pop(sat.id, dict.fromkeys(people, "error"))
        return {} if sat.practice else dict.fromkeys(people, "complete")

    def changed(self, sat: Sat) -> None:
        for id in sat.people.values():
            if id is not None:
                self._visits.of(id).touch()

    def _now(self, id: str) -> Participant:
        who = self._database.participant(id)
        assert who is not None
        return who


def _placed(study: Study, people: list[Participant]) -> None:
    """`ValueError` if somebody is at work in a treatment that the study file has no more."""
    known = [treatment.name for treatment in study.treatments]
    for who in people:
        if who.status in ACTIVE and who.treatment not in known:
            raise ValueError(
                f"study {study.name}: participant {who.number} is at work in treatment {who.treatment!r}, which its "
                "file no longer has: put it back until they have finished, or end it for them first"
            )
