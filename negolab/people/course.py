"""From one match of a study to the next: practice, a player or another participant, limits, and how it ends."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from negolab.events import Ended
from negolab.game import SEATS, Seat
from negolab.match import Match
from negolab.people.database import ACTIVE, Database, Participant, Sat
from negolab.people.parts import Ending, Treatment
from negolab.people.room import Room
from negolab.people.rooms import Rooms
from negolab.people.sitting import PERSON
from negolab.people.study import Study
from negolab.people.visit import Visits
from negolab.play import derived

LOOK = 5.0
"""Seconds between two looks for those who do not go on."""


class Course:
    """The matches of one study. `waiting` says since when (`time.monotonic`) whom nobody plays with yet."""

    def __init__(self, database: Database, study: Study, rooms: Rooms, visits: Visits) -> None:
        self.study = study
        self._database, self._rooms, self._visits = database, rooms, visits
        self.waiting: dict[str, float] = {}
        self._why: dict[str, Mapping[str, Ending]] = {}
        self._began = time.time()
        self._looked = time.monotonic()
        rooms.endings, rooms.changed = self._endings, self.changed
        for sat in database.matches(study.name, running=True):
            self.room(sat)

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
            self.waiting.setdefault(who.id, time.monotonic())
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
            delay=treatment.delay,
        )

    def room(self, sat: Sat) -> Room:
        delay = self.study.treatment(str(sat.treatment)).delay
        return self._rooms.resume(sat, self.study.limits, delay)

    # Pairs.

    def _unmatched(self) -> str | None:
        """The treatment of somebody who started and has no one to play with yet: the next one joins them."""
        alone: dict[str, int] = {}
        playing = {
            id for sat in self._database.matches(self.study.name) if not sat.practice for id in sat.people.values()
        }
        for who in self._database.participants(self.study.name):
            if who.status in ACTIVE and who.id not in playing and self.study.treatment(str(who.treatment)).paired:
                alone[str(who.treatment)] = alone.get(str(who.treatment), 0) + 1
        return next((name for name, n in alone.items() if n % 2), None)

    def pair(self) -> None:
        """Seat those who wait and are there, in the order of their coming; end the wait that took too long."""
        for treatment in self.study.treatments:
            here = [who for who in self._waiting(treatment.name) if self._visits.of(who.id).present]
            for first, second in zip(here[::2], here[1::2], strict=False):
                self._match(first, second, treatment)
        for id, since in list(self.waiting.items()):
            if time.monotonic() - since > self.study.pairing.wait:
                self._unpaired(self._now(id))

    def _waiting(self, treatment: str) -> list[Participant]:
        return [who for id in self.waiting if (who := self._now(id)).treatment == treatment]

    def _match(self, first: Participant, second: Participant, treatment: Treatment) -> None:
        rng = random.Random(self._seed(first, "pair", second.number))
        people: list[str | None] = rng.sample([first.id, second.id], 2)
        names: dict[Seat, str] = dict.fromkeys(SEATS, PERSON)
        match = Match(self.study.loaded(treatment), seed=self._seed(first, "deal"), players=names)
        for who in (first, second):
            del self.waiting[who.id]
        self._begin(match, dict(zip(SEATS, people, strict=True)), treatment)

    def _unpaired(self, who: Participant) -> None:
        """Nobody came within the wait limit."""
        del self.waiting[who.id]
        player = self.study.pairing.player
        if player is None:
            self._database.change(who.id, "unpaired", actor="host", status="unpaired", ended=time.time())
        else:
            self._meet(who, self.study.treatment(str(who.treatment)), player)
        self._visits.of(who.id).touch()

    # Time, and ends.

    def tick(self) -> None:
        """What time does: limits that run out, waits that end, answers that must be asked for again."""
        for sat, room, seats in self._rooms.late():
            late: dict[str, Ending] = {id: "timeout" if s in seats else "partner" for s, id in sat.people.items() if id}
            names = " and ".join(f"seat {seat}" for seat in seats)
            self._why[sat.id] = late
            room.stop(f"{names} did not answer in time")
        self._rooms.nudge()
        self.pair()
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            self._give_up()

    def _give_up(self) -> None:
        """Whoever does not go on from a practice match within the time for a reply gives their place back."""
        limit = self.study.limits.reply
        if limit is None or not self.study.practice.matches:
            return
        for who in self._database.participants(self.study.name):
            if who.status == "playing":
                played = self._database.matches(self.study.name, participant=who.id)
                ended = played[-1].ended
                # No time counts in which there was no host to go on with.
                if ended is not None and time.time() - max(ended, self._began) > limit:
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
