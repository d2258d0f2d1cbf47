"""A study at work: who comes by which link, what each one's page shows, and what their clicks do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from negolab import catalog
from negolab.game import Seat
from negolab.people.course import Course
from negolab.people.database import Database, Participant, Sat
from negolab.people.door import Door, Refused
from negolab.people.faults import told
from negolab.people.parts import ENDINGS, Ending
from negolab.people.questions import checked
from negolab.people.room import Room, Unheard
from negolab.people.rooms import Rooms
from negolab.people.scenes import Answer, Asked, Closed, Consent, Instructions, Playing, Shown, Waiting
from negolab.people.status import status
from negolab.people.study import Study
from negolab.people.visit import Visits

log = logging.getLogger("negolab.people")

TEXTS: dict[Ending, str] = {
    "complete": "Thank you. You have finished.",
    "timeout": "The study is over for you, because no answer came in time.",
    "partner": "The study is over: the other person has left or did not answer in time.",
    "unpaired": "Nobody came to play with you within the time we wait. Thank you for waiting.",
    "withdrawn": "You have left the study. What you wrote was deleted.",
    "declined": "You did not agree to take part. Nothing that you wrote was kept.",
    "ended": "The experimenter has ended the study for you.",
    "error": "The study had to be stopped because of a fault on our side. It was not your doing.",
}


class House:
    """One study with its participants, over a database. Call it from one event loop only."""

    def __init__(self, database: Database, study: Study, rooms: Rooms) -> None:
        self.study = study
        self._database, self._rooms = database, rooms
        self.door = Door(database, study)
        self.visits = Visits()
        self.door.came = self._came
        for who in database.participants(study.name):
            if who.status == "withdrawn":
                database.purge(who.id)  # the host may have ended before it came to that
        self.course = Course(database, study, rooms, self.visits)

    def _came(self, id: str) -> None:
        self.visits.of(id).away = False
        self.visits.of(id).touch()

    # What a page shows.

    async def scene(self, lease: str, after: int, seconds: float) -> Answer:
        """The scene of the one who holds the lease, as soon as its version is not `after`."""
        visit = self.visits.of(self.door.leased(lease).id)
        await visit.newer(after, seconds)
        return self._answer(self.door.leased(lease).id)

    def now(self, lease: str) -> Answer:
        """The scene at this moment."""
        return self._answer(self.door.leased(lease).id)

    def _answer(self, id: str, **more: str) -> Answer:
        scene = self._shown(self.door.participant(id))
        return Answer(self.visits.of(id).version, scene, **more)

    def _shown(self, who: Participant) -> Shown:
        title, study = self.study.title, self.study
        if who.status in ENDINGS and who.status != "complete":
            return self._closed(who)
        if who.status == "invited":
            if study.consent and who.consented is None:
                return Consent(title=title, text=study.consent)
            return self._asked(who, "before") or Instructions(title=title, text=study.instructions)
        played = self._database.matches(study.name, participant=who.id)
        if len(played) > who.passed:
            return self._playing(who, played[who.passed])
        if who.status == "complete":
            return self._asked(who, "after") or self._closed(who)
        if who.id not in self.course.waiting:
            self.course.go_on(who)  # the host ended between a click and what it does
            if who.id not in self.course.waiting:
                return self._shown(self.door.participant(who.id))
        waited = time.monotonic() - self.course.waiting[who.id].since
        return Waiting(title=title, waited=waited, left=max(0.0, study.pairing.wait - waited))

    def _asked(self, who: Participant, when: str) -> Asked | None:
        given = self._database.answers(who.id)
        open_ = tuple(q for q in self.study.questions if q.when == when and q.name not in given)
        return Asked(title=self.study.title, questions=open_) if open_ else None

    def _closed(self, who: Participant) -> Closed:
        ending: Ending = who.status  # type: ignore[assignment]
        text = self.study.endings.get(ending, TEXTS[ending])
        if ending == "complete":
            text = f"{text}\n\n{self.study.closing}"
        return Closed(title=self.study.title, text=text, code=self.study.codes.get(ending, ""))

    def _playing(self, who: Participant, sat: Sat) -> Playing:
        room = self.course.room(sat)
        seat: Seat = next(seat for seat, id in sat.people.items() if id == who.id)
        label = f"Practice {sat.practice} of {self.study.practice.matches}" if sat.practice else ""
        left = self._onward(who, sat) if room.match.ended else self._rooms.clock(sat.id).left(seat)
        onward = "Continue" if room.match.ended else ""
        return playing(self.study.title, room, seat, label=label, onward=onward, left=left)

    def _onward(self, who: Participant, sat: Sat) -> tuple[float, str] | None:
        seconds = None if sat.ended is None else self.course.onward(who, sat.ended)
        return None if seconds is None else (seconds, "onward")

    # What a click does.

    def act(self, lease: str, act: Mapping[str, Any]) -> Answer:
        """Do what a page asks for, if it may; a click that does nothing says why."""
        who = self.door.leased(lease)
        done: Callable[[Participant, Mapping[str, Any]], str] | None = {
            "consent": self._consent,
            "answer": self._give,
            "start": self._start,
            "say": self._say,
            "next": self._next,
            "leave": self._leave,
        }.get(str(act.get("kind")))
        if done is None:
            raise Refused("There is nothing of that kind to do.")
        try:
            refused = done(who, act)
        except Unheard as why:
            return self._answer(who.id, unheard=str(why))
        self.visits.of(who.id).touch()
        return self._answer(who.id, refused=refused)

    def _at(self, who: Participant, *kinds: type) -> Any:
        """The scene, if it is one of these; else the click came from a page of before."""
        scene = self._shown(who)
        if not isinstance(scene, kinds):
            raise Unheard("The page has moved on since.")
        return scene

    def _consent(self, who: Participant, act: Mapping[str, Any]) -> str:
        self._at(who, Consent)
        if act.get("agreed") is True:
            version = self.study.consent_version
            self._database.change(who.id, "consented", detail=version, consented=time.time(), consent=version)
        else:
            self._database.change(who.id, "declined", status="declined", ended=time.time())
        return ""

    def _give(self, who: Participant, act: Mapping[str, Any]) -> str:
        asked = self._at(who, Asked)
        try:
            self._database.answer(who.id, checked(asked.questions, act.get("given")))
        except ValueError as why:
            raise Unheard(str(why)) from None
        return ""

    def _start(self, who: Participant, act: Mapping[str, Any]) -> str:
        self._at(who, Instructions)
        self.course.start(who)
        return ""

    def _say(self, who: Participant, act: Mapping[str, Any]) -> str:
        self._at(who, Playing)
        text, turn = act.get("text"), act.get("turn")
        if not isinstance(text, str) or type(turn) is not int:
            raise Unheard("A reply is a text.")
        sat = self._database.matches(self.study.name, participant=who.id)[who.passed]
        if act.get("match") != sat.id:
            raise Unheard("The page has moved on since.")
        seat = next(seat for seat, id in sat.people.items() if id == who.id)
        return self.course.room(sat).say(seat, text, turn)

    def _next(self, who: Participant, act: Mapping[str, Any]) -> str:
        if not self._at(who, Playing).onward:
            raise Unheard("The match is not over yet.")
        sat = self._database.matches(self.study.name, participant=who.id)[who.passed]
        self._database.change(who.id, passed=who.passed + 1)
        self._rooms.close(sat.id)  # a partner who still looks at it has it opened again
        if who.status != "complete":
            self.course.go_on(self.door.participant(who.id))
        return ""

    def _leave(self, who: Participant, act: Mapping[str, Any]) -> str:
        if isinstance(self._shown(who), Closed):
            raise Unheard("The study is over for you already.")
        if who.status == "complete":
            raise Unheard("You have finished already: go on, and take your code.")
        self.course.stop(who, "withdrawn", "a participant left the study")
        self._database.withdraw(who.id)
        for sat in self._database.matches(self.study.name, participant=who.id):
            self._rooms.close(sat.id)
            self.course.changed(sat)
        return ""

    def away(self, kernel: str, away: bool) -> None:
        """The browser of a kernel's page went silent, or is back."""
        who = self._database.leased(self.study.name, kernel=kernel)
        if who is not None:
            self.visits.of(who.id).away = away

    # What the experimenter does and sees.

    def end(self, number: int, reason: str) -> None:
        """The experimenter ends the study for a participant, with a reason."""
        who = next((p for p in self._database.participants(self.study.name) if p.number == number), None)
        if who is None:
            raise Refused(f"There is no participant {number}.")
        if not reason.strip():
            raise Refused("Give a reason: it is kept.")
        if who.status in ENDINGS:
            raise Refused(f"Participant {who.number} has ended already ({who.status}).")
        self.course.stop(who, "ended", f"ended by the experimenter: {reason.strip()}")
        if self.door.participant(who.id).status not in ENDINGS:
            self._database.change(who.id, status="ended", ended=time.time())
        self._database.note("ended", "experimenter", study=self.study.name, participant=who.id, detail=reason.strip())
        self.visits.of(who.id).touch()

    @property
    def module(self) -> str | None:
        """The file of a researcher's own game, which a page must load; None: the game is ours."""
        return self.study.game if self.study.game.endswith(".py") else None

    def fault(self, lease: str, error: BaseException) -> None:
        """Note a fault of ours for the experimenter: at whose page, and of which kind."""
        who = self._database.leased(self.study.name, lease=lease)
        of = {"study": self.study.name, "participant": None if who is None else who.id}
        self._database.note("error", "host", **of, detail=told(error))

    def monitor(self) -> dict[str, Any]:
        """Who is where, as plain data, and `present`: the numbers of those whose pages are open now."""
        numbers = [p.number for p in self._database.participants(self.study.name) if self.visits.present(p.id)]
        return {**msgspec.to_builtins(status(self._database, self.study)), "present": numbers}


def playing(
    title: str,
    room: Room,
    seat: Seat,
    *,
    label: str = "",
    onward: str = "",
    left: tuple[float, str] | None = None,
    fault: str = "",
) -> Playing:
    """A match as one seat's page shows it. `left`: seconds until a limit, and which; `fault`: see `Playing`."""
    chair = room.chair(seat)
    return Playing(
        title=title,
        match=room.match.id,
        game=catalog.game_id(room.match.game),
        params=catalog.parameters(chair.game),
        seat=seat,
        fronted=chair.fronted,
        table=msgspec.to_builtins(chair.table(), order="deterministic"),
        label=label,
        left=None if left is None else max(0.0, left[0]),
        limit="" if left is None else left[1],
        onward=onward,
        fault=fault,
    )
