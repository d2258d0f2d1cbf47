"""The study service: the state of each participant's page, and the actions of participants and the experimenter."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from negolab import catalog
from negolab.game import Seat
from negolab.studies.authentication import AccessDenied, Authenticator
from negolab.studies.config import ENDINGS, Ending, check_answers
from negolab.studies.database import Database, Participant, StoredMatch
from negolab.studies.database.connection import describe_error
from negolab.studies.page_state import Answer, Asked, Closed, Consent, Instructions, Playing, Shown, Waiting
from negolab.studies.presence import PresenceRegistry
from negolab.studies.scheduler import Scheduler
from negolab.studies.session import MatchSession, NotDelivered
from negolab.studies.session_manager import SessionManager
from negolab.studies.status import status
from negolab.studies.study_file import Study

log = logging.getLogger("negolab.studies")

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


class StudyService:
    """A study that is being run: its authentication, page states, actions and scheduler.

    Not thread-safe: call it from one event loop only.

    Args:
        database: The database of the study; this process must have claimed it.
        study: The study to run.
        sessions: The match sessions of this study.

    Raises:
        ValueError: A participant is active in a treatment that the study file no longer has.
    """

    def __init__(self, database: Database, study: Study, sessions: SessionManager) -> None:
        self.study = study
        self._database, self._sessions = database, sessions
        self.authenticator = Authenticator(database, study)
        self.visits = PresenceRegistry()
        self.authenticator.came = self._came
        for who in database.participants(study.name):
            if who.status == "withdrawn":
                database.purge(who.id)  # the host may have stopped between withdrawal and deletion
        self.scheduler = Scheduler(database, study, sessions, self.visits)

    def _came(self, id: str) -> None:
        self.visits.of(id).away = False
        self.visits.of(id).touch()

    # Page states.

    async def scene(self, lease: str, after: int, seconds: float) -> Answer:
        """Return the page state of the lease's holder once its version differs from `after` (long poll).

        Args:
            lease: Lease of the page.
            after: Version that the page shows already.
            seconds: Time after which the current state is returned even if nothing changed.

        Raises:
            LeaseTaken: A newer page holds the participant's lease, or nobody has this one.
        """
        visit = self.visits.of(self.authenticator.leased(lease).id)
        await visit.newer(after, seconds)
        return self._answer(self.authenticator.leased(lease).id)

    def now(self, lease: str) -> Answer:
        """Return the current page state without waiting; `LeaseTaken` if `lease` is no longer valid."""
        return self._answer(self.authenticator.leased(lease).id)

    def _answer(self, id: str, **more: str) -> Answer:
        scene = self._shown(self.authenticator.participant(id))
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
        if who.id not in self.scheduler.waiting:
            self.scheduler.go_on(who)  # the host stopped between saving a click and acting on it
            if who.id not in self.scheduler.waiting:
                return self._shown(self.authenticator.participant(who.id))
        waited = time.monotonic() - self.scheduler.waiting[who.id].since
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

    def _playing(self, who: Participant, sat: StoredMatch) -> Playing:
        room = self.scheduler.room(sat)
        seat: Seat = next(seat for seat, id in sat.people.items() if id == who.id)
        label = f"Practice {sat.practice} of {self.study.practice.matches}" if sat.practice else ""
        left = self._onward(who, sat) if room.match.ended else self._sessions.clock(sat.id).left(seat)
        onward = "Continue" if room.match.ended else ""
        return playing(self.study.title, room, seat, label=label, onward=onward, left=left)

    def _onward(self, who: Participant, sat: StoredMatch) -> tuple[float, str] | None:
        seconds = None if sat.ended is None else self.scheduler.onward(who, sat.ended)
        return None if seconds is None else (seconds, "onward")

    # Actions of participants.

    def act(self, lease: str, act: Mapping[str, Any]) -> Answer:
        """Carry out a participant's action and return the new page state.

        Args:
            lease: Lease of the page.
            act: `kind`, which is "consent", "answer", "start", "say", "next" or "leave", and the fields of that kind.

        Returns:
            The page state. `refused` holds the rules' reason against a reply, `unheard` the reason for which nothing
            was done, such as a click on an outdated page.

        Raises:
            AccessDenied: The kind is unknown.
            LeaseTaken: A newer page holds the participant's lease, or nobody has this one.
        """
        who = self.authenticator.leased(lease)
        done: Callable[[Participant, Mapping[str, Any]], str] | None = {
            "consent": self._consent,
            "answer": self._give,
            "start": self._start,
            "say": self._say,
            "next": self._next,
            "leave": self._leave,
        }.get(str(act.get("kind")))
        if done is None:
            raise AccessDenied("There is nothing of that kind to do.")
        try:
            refused = done(who, act)
        except NotDelivered as why:
            return self._answer(who.id, unheard=str(why))
        self.visits.of(who.id).touch()
        return self._answer(who.id, refused=refused)

    def _at(self, who: Participant, *kinds: type) -> Any:
        """Return the current page state if it is one of `kinds`; `NotDelivered` for a click on an outdated page."""
        scene = self._shown(who)
        if not isinstance(scene, kinds):
            raise NotDelivered("The page has moved on since.")
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
            self._database.answer(who.id, check_answers(asked.questions, act.get("given")))
        except ValueError as why:
            raise NotDelivered(str(why)) from None
        return ""

    def _start(self, who: Participant, act: Mapping[str, Any]) -> str:
        self._at(who, Instructions)
        self.scheduler.start(who)
        return ""

    def _say(self, who: Participant, act: Mapping[str, Any]) -> str:
        self._at(who, Playing)
        text, turn = act.get("text"), act.get("turn")
        if not isinstance(text, str) or type(turn) is not int:
            raise NotDelivered("A reply is a text.")
        sat = self._database.matches(self.study.name, participant=who.id)[who.passed]
        if act.get("match") != sat.id:
            raise NotDelivered("The page has moved on since.")
        seat = next(seat for seat, id in sat.people.items() if id == who.id)
        return self.scheduler.room(sat).say(seat, text, turn)

    def _next(self, who: Participant, act: Mapping[str, Any]) -> str:
        if not self._at(who, Playing).onward:
            raise NotDelivered("The match is not over yet.")
        sat = self._database.matches(self.study.name, participant=who.id)[who.passed]
        self._database.change(who.id, passed=who.passed + 1)
        self._sessions.close(sat.id)  # reopened on demand if the partner's page still shows it
        if who.status != "complete":
            self.scheduler.go_on(self.authenticator.participant(who.id))
        return ""

    def _leave(self, who: Participant, act: Mapping[str, Any]) -> str:
        if isinstance(self._shown(who), Closed):
            raise NotDelivered("The study is over for you already.")
        if who.status == "complete":
            raise NotDelivered("You have finished already: go on, and take your code.")
        self.scheduler.stop(who, "withdrawn", "a participant left the study")
        self._database.withdraw(who.id)
        for sat in self._database.matches(self.study.name, participant=who.id):
            self._sessions.close(sat.id)
            self.scheduler.changed(sat)
        return ""

    def away(self, kernel: str, away: bool) -> None:
        """Record that the browser of the page served by `kernel` has gone silent (`away`) or is back."""
        who = self._database.leased(self.study.name, kernel=kernel)
        if who is not None:
            self.visits.of(who.id).away = away

    # Actions of the experimenter.

    def end(self, number: int, reason: str) -> None:
        """End the study for a participant and stop the match that they play.

        Args:
            number: Number of the participant in the study.
            reason: Reason in words; stored as a note and in the stopped match's record.

        Raises:
            AccessDenied: There is no such participant, `reason` is empty, or the study is over for them already.
        """
        who = next((p for p in self._database.participants(self.study.name) if p.number == number), None)
        if who is None:
            raise AccessDenied(f"There is no participant {number}.")
        if not reason.strip():
            raise AccessDenied("Give a reason: it is kept.")
        if who.status in ENDINGS:
            raise AccessDenied(f"Participant {who.number} has ended already ({who.status}).")
        self.scheduler.stop(who, "ended", f"ended by the experimenter: {reason.strip()}")
        if self.authenticator.participant(who.id).status not in ENDINGS:
            self._database.change(who.id, status="ended", ended=time.time())
        self._database.note("ended", "experimenter", study=self.study.name, participant=who.id, detail=reason.strip())
        self.visits.of(who.id).touch()

    @property
    def module(self) -> str | None:
        """Path of the researcher's own game, which the page's kernel must import; None for a game of negolab's."""
        return self.study.game if self.study.game.endswith(".py") else None

    def fault(self, lease: str, error: BaseException) -> None:
        """Store a note about an error in a request, without quoting text of participants (see `describe_error`)."""
        who = self._database.leased(self.study.name, lease=lease)
        of = {"study": self.study.name, "participant": None if who is None else who.id}
        self._database.note("error", "host", **of, detail=describe_error(error))

    def monitor(self) -> dict[str, Any]:
        """Return the study's `Status` as plain data, with `present`: numbers of participants whose page is open."""
        numbers = [p.number for p in self._database.participants(self.study.name) if self.visits.present(p.id)]
        return {**msgspec.to_builtins(status(self._database, self.study)), "present": numbers}


def playing(
    title: str,
    room: MatchSession,
    seat: Seat,
    *,
    label: str = "",
    onward: str = "",
    left: tuple[float, str] | None = None,
    fault: str = "",
) -> Playing:
    """Build the page state of a match for one seat.

    Args:
        title: Title of the page.
        room: The match session.
        seat: Seat of the person whose page it is.
        label: Name of a practice round; "" for a real match.
        onward: Label of the button that leaves a finished match; "" for none.
        left: Seconds until the nearest time limit and its kind ("reply", "match" or "onward"); None: no limit runs.
        fault: Reason for which the match was stopped; shown to the researcher only.
    """
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
