"""The study service: the state of each participant's page, and the actions of participants and the experimenter."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from typing_extensions import override

from negolab import catalog
from negolab.game import Seat
from negolab.studies import texts
from negolab.studies.authentication import AccessDenied, Authenticator, LeaseTaken
from negolab.studies.database import Database, Participant, StoredMatch
from negolab.studies.database.connection import describe_error
from negolab.studies.host_config import NONE, KnownEndpoints
from negolab.studies.metrics import GateNumbers, render
from negolab.studies.page_state import (
    Answer,
    Closed,
    Consent,
    Instructions,
    NotDelivered,
    PageState,
    Playing,
    PresenceRegistry,
    Questionnaire,
    Waiting,
)
from negolab.studies.scheduler import Scheduler
from negolab.studies.session import MatchSession, SessionManager
from negolab.studies.status import status
from negolab.studies.study_config import ENDINGS, Ending, Study, check_answers


class PageService:
    """Base of the services that pages talk to; a page shows its lease and gets its state.

    Not thread-safe: call it from one event loop only.
    """

    def __init__(self) -> None:
        self.presence = PresenceRegistry()
        self._sessions: SessionManager

    def close(self) -> None:
        """Stop what goes on by itself and wake all polls; close the database first, so that nothing more is saved."""
        self._sessions.cancel()
        for page in self.presence.values():
            page.touch()

    def _page(self, lease: str) -> str:
        """Return the id of the page that holds a lease; raise `LeaseTaken` if none does."""
        raise NotImplementedError

    def _state(self, id: str) -> PageState:
        """Return the current state of a page."""
        raise NotImplementedError

    async def poll(self, lease: str, after: int, seconds: float) -> Answer:
        """Return the state of a page once its version differs from `after` (long poll).

        Args:
            lease: Lease of the page.
            after: Version that the page shows already.
            seconds: Time after which the current state is returned even if nothing changed.

        Raises:
            AccessDenied: The match of the page does not exist.
            LeaseTaken: A newer page holds the lease, or nobody has this one.
        """
        await self.presence[self._page(lease)].newer(after, seconds)
        return self.now(lease)

    def now(self, lease: str) -> Answer:
        """Return the current state of a page without waiting; raises what `poll` does."""
        return self._answer(self._page(lease))

    def _answer(self, id: str, **reasons: str) -> Answer:
        state = self._state(id)
        return Answer(self.presence[id].version, state, **reasons)

    def act(self, lease: str, action: Mapping[str, Any]) -> Answer:
        """Carry out an action of a page and return the new state.

        Args:
            lease: Lease of the page.
            action: Its `kind`, and the fields of that kind.

        Returns:
            The page state. `refused` holds the rules' reason against a reply, `not_done` the reason for which nothing
            was done, such as a click on an outdated page.

        Raises:
            AccessDenied: The kind is unknown, or the match of the page does not exist.
            LeaseTaken: A newer page holds the lease, or nobody has this one.
        """
        raise NotImplementedError


class StudyService(PageService):
    """A study that is being run: its authentication, page states, actions and scheduler.

    Args:
        database: The database of the study; this process must have claimed it.
        study: The study to run.
        models: Endpoints of the language models that may take a seat.

    Raises:
        ValueError: A participant is active in a treatment that the study file no longer has.
    """

    def __init__(self, database: Database, study: Study, models: KnownEndpoints = NONE) -> None:
        super().__init__()
        self.study = study
        self.gate: GateNumbers | None = None
        self._database, self._sessions = database, SessionManager(database, study, models=models)
        self._sessions.changed = self._wake
        self.authenticator = Authenticator(database, study)
        self.authenticator.arrived = self._on_arrival
        for participant in database.participants(study.name):
            if participant.status == "withdrawn":
                database.purge(participant.id)  # the host may have stopped between withdrawal and deletion
        self.scheduler = Scheduler(database, study, self._sessions, self.presence)

    @override
    def close(self) -> None:
        super().close()
        self.authenticator.close()

    def _on_arrival(self, id: str) -> None:
        self.presence[id].away = False
        self.presence[id].touch()

    def _wake(self, stored: StoredMatch) -> None:
        """Wake the pages of a match's participants."""
        for id in filter(None, stored.people.values()):
            self.presence[id].touch()

    def _leased(self, lease: str) -> Participant:
        """Return the participant who holds a lease; raise `LeaseTaken` if nobody does."""
        participant = self._database.leased(self.study.name, lease=lease)
        if participant is None:
            raise LeaseTaken
        return participant

    @override
    def _page(self, lease: str) -> str:
        return self._leased(lease).id

    # Page states.

    @override
    def _state(self, id: str) -> PageState:
        participant, study = self._database.participant(id), self.study
        if participant.status in ENDINGS and participant.status != "complete":
            return self._closed(participant)
        if participant.status == "invited":
            if study.consent and participant.consented is None:
                return Consent(title=study.title, text=study.consent)
            questions = self._questions(participant, "before")
            return questions or Instructions(title=study.title, text=study.instructions)
        matches = self._database.matches(study.name, participant=id)
        if len(matches) > participant.passed:
            return self._playing(participant, matches[participant.passed])
        if participant.status == "complete":
            return self._questions(participant, "after") or self._closed(participant)
        if id not in self.scheduler.waiting:
            self.scheduler.next_match(participant)  # the host stopped between saving a click and acting on it
            if id not in self.scheduler.waiting:
                return self._state(id)
        waited = time.monotonic() - self.scheduler.waiting[id].since
        return Waiting(title=study.title, waited=waited, left=max(0.0, study.pairing.wait - waited))

    def _questions(self, participant: Participant, when: str) -> Questionnaire | None:
        """Return the open questions to a participant; None if there are none."""
        answered = self._database.answers(participant.id)
        questions = tuple(q for q in self.study.questions if q.when == when and q.name not in answered)
        return Questionnaire(title=self.study.title, questions=questions) if questions else None

    def _closed(self, participant: Participant) -> Closed:
        ending: Ending = participant.status  # type: ignore[assignment]
        text = self.study.endings.get(ending, texts.ENDINGS[ending])
        if ending == "complete":
            text = f"{text}\n\n{self.study.closing}"
        return Closed(title=self.study.title, text=text, code=self.study.codes.get(ending, ""))

    def _playing(self, participant: Participant, stored: StoredMatch) -> Playing:
        session, seat = self._sessions.resume(stored), _seat(participant, stored)
        rounds, left = self.study.practice.matches, session.time_left(seat)
        if over := session.match.ended is not None:
            left = self.scheduler.time_to_continue(participant, stored.ended)
        label = texts.PRACTICE.format(round=stored.practice, rounds=rounds) if stored.practice else ""
        return playing(self.study.title, session, seat, left, label=label, can_continue=over)

    # Actions of participants: "consent", "answer", "start", "reply", "next" and "leave".

    @override
    def act(self, lease: str, action: Mapping[str, Any]) -> Answer:
        participant = self._leased(lease)
        work: Callable[[Participant, Mapping[str, Any]], str | None] | None = {
            "consent": self._consent,
            "answer": self._answer_questions,
            "start": self._start,
            "reply": self._reply,
            "next": self._next,
            "leave": self._leave,
        }.get(str(action.get("kind")))
        if work is None:
            raise AccessDenied(texts.UNKNOWN_ACTION)
        try:
            refused = work(participant, action)
        except NotDelivered as error:
            return self._answer(participant.id, not_done=str(error))
        self.presence[participant.id].touch()
        return self._answer(participant.id, refused=refused or "")

    def _check_page(self, participant: Participant, kind: type) -> Any:
        """Return the current page state if it is of a kind; `NotDelivered` for a click on an outdated page."""
        state = self._state(participant.id)
        if not isinstance(state, kind):
            raise NotDelivered(texts.MOVED_ON)
        return state

    def _shown_match(self, participant: Participant) -> StoredMatch:
        """Return the match that the page shows; `NotDelivered` if it shows none."""
        self._check_page(participant, Playing)
        return self._database.matches(self.study.name, participant=participant.id)[participant.passed]

    def _consent(self, participant: Participant, action: Mapping[str, Any]) -> None:
        self._check_page(participant, Consent)
        if action.get("agreed") is True:
            version = self.study.consent_version
            self._database.change(participant.id, "consented", detail=version, consented=time.time(), consent=version)
        else:
            self._database.change(participant.id, "declined", status="declined", ended=time.time())

    def _answer_questions(self, participant: Participant, action: Mapping[str, Any]) -> None:
        questions = self._check_page(participant, Questionnaire).questions
        try:
            self._database.answer(participant.id, check_answers(questions, action.get("answers")))
        except ValueError as error:
            raise NotDelivered(str(error)) from None

    def _start(self, participant: Participant, action: Mapping[str, Any]) -> None:
        self._check_page(participant, Instructions)
        self.scheduler.start(participant)

    def _reply(self, participant: Participant, action: Mapping[str, Any]) -> str:
        stored = self._shown_match(participant)
        text, turn = reply_of(action)
        if action.get("match") != stored.id:
            raise NotDelivered(texts.MOVED_ON)
        return self._sessions.resume(stored).submit(_seat(participant, stored), text, turn)

    def _next(self, participant: Participant, action: Mapping[str, Any]) -> None:
        stored = self._shown_match(participant)
        if stored.ended is None:
            raise NotDelivered(texts.NOT_OVER)
        self._database.change(participant.id, passed=participant.passed + 1)
        self._sessions.close(stored.id)  # reopened on demand if the partner's page still shows it
        if participant.status != "complete":
            self.scheduler.next_match(self._database.participant(participant.id))

    def _leave(self, participant: Participant, action: Mapping[str, Any]) -> None:
        if isinstance(self._state(participant.id), Closed):
            raise NotDelivered(texts.ALREADY_OVER)
        if participant.status == "complete":
            raise NotDelivered(texts.ALREADY_COMPLETE)
        self.scheduler.stop(participant, "withdrawn", "a participant left the study")
        self._database.withdraw(participant.id)
        for stored in self._database.matches(self.study.name, participant=participant.id):
            self._sessions.close(stored.id)
            self._wake(stored)

    def away(self, kernel: str, away: bool) -> None:
        """Record that the browser of the page served by `kernel` has gone silent (`away`) or is back."""
        participant = self._database.leased(self.study.name, kernel=kernel)
        if participant is not None:
            self.presence[participant.id].away = away

    # Actions of the experimenter.

    def end(self, number: int, reason: str) -> None:
        """End the study for a participant and stop the match that they play.

        Args:
            number: Number of the participant in the study.
            reason: Reason in words; stored as a note and in the stopped match's record.

        Raises:
            AccessDenied: There is no such participant, `reason` is empty, or the study is over for them already.
        """
        participants = self._database.participants(self.study.name)
        participant = next((p for p in participants if p.number == number), None)
        if participant is None:
            raise AccessDenied(f"There is no participant {number}.")
        if not (reason := reason.strip()):
            raise AccessDenied("Give a reason: it is kept.")
        if participant.status in ENDINGS:
            raise AccessDenied(f"Participant {number} has ended already ({participant.status}).")
        self.scheduler.stop(participant, "ended", f"ended by the experimenter: {reason}")
        if self._database.participant(participant.id).status not in ENDINGS:
            self._database.change(participant.id, status="ended", ended=time.time())
        self._database.note("ended", "experimenter", study=self.study.name, participant=participant.id, detail=reason)
        self.presence[participant.id].touch()

    @property
    def module(self) -> str | None:
        """Path or name of the researcher's own game, which the page's kernel must import; None for an installed one."""
        return None if self.study.game in catalog.game_names() else self.study.game

    def note_error(self, lease: str, error: BaseException) -> None:
        """Store a note about an error in a request, without quoting text of participants (see `describe_error`)."""
        participant = self._database.leased(self.study.name, lease=lease)
        id = None if participant is None else participant.id
        self._database.note("error", "host", study=self.study.name, participant=id, detail=describe_error(error))

    def monitor(self) -> dict[str, Any]:
        """Return the study's `Status` as plain data, with `present`: numbers of participants whose page is open, and
        `gate`: what the participants' server reported last."""
        participants = self._database.participants(self.study.name)
        present = [p.number for p in participants if self.presence.is_present(p.id)]
        seen = msgspec.to_builtins(status(self._database, self.study))
        return {**seen, "present": present, "gate": msgspec.to_builtins(self.gate)}

    def metrics(self) -> str:
        """Return the numbers of the study for Prometheus."""
        return render(status(self._database, self.study), self.gate)


def _seat(participant: Participant, stored: StoredMatch) -> Seat:
    return next(seat for seat, id in stored.people.items() if id == participant.id)


def reply_of(action: Mapping[str, Any]) -> tuple[str, int]:
    """Return the `text` and `turn` of a reply; `NotDelivered` if they are no reply."""
    text, turn = action.get("text"), action.get("turn")
    if not isinstance(text, str) or type(turn) is not int:
        raise NotDelivered(texts.NO_TEXT)
    return text, turn


def playing(
    title: str, session: MatchSession, seat: Seat, left: tuple[float, str] | None = None, **more: Any
) -> Playing:
    """Build the page state of a match for one seat.

    Args:
        title: Title of the page.
        session: The match session.
        seat: Seat of the person whose page it is.
        left: Seconds until the nearest time limit, and its kind; None: no limit runs.
        **more: Further fields of `Playing`.
    """
    return Playing(
        title=title,
        match=session.match.id,
        game=catalog.game_id(session.match.game),
        params=catalog.parameters(session.match.told(seat)),
        seat=seat,
        fronted=session.seat_sessions[seat].fronted,
        table=msgspec.to_builtins(session.view(seat), order="deterministic"),
        left=None if left is None else max(0.0, left[0]),
        limit="" if left is None else left[1],
        **more,
    )
