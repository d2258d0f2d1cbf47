"""The study service: the state of each participant's page, and the actions of participants and the experimenter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import msgspec
from typing_extensions import override

from negolab import catalog
from negolab.game import SEATS, Seat
from negolab.protocols import MODEL_PREFIX
from negolab.record import Record
from negolab.studies import clock
from negolab.studies.authentication import Authenticator, LeaseTaken
from negolab.studies.database import Attempt, Database, Participant, StoredMatch
from negolab.studies.database.connection import describe_error
from negolab.studies.earnings import shown_earnings
from negolab.studies.endings import ENDINGS, Ending, completion_link
from negolab.studies.host_config import NONE, KnownEndpoints
from negolab.studies.journeys import Journeys
from negolab.studies.links import AccessDenied
from negolab.studies.metrics import GateNumbers, render
from negolab.studies.page_service import PageService, reply_of
from negolab.studies.page_state import (
    Answer,
    Closed,
    Consent,
    Instructions,
    MatchResult,
    NotDelivered,
    PageState,
    Playing,
    Questionnaire,
    Quiz,
    Results,
    Waiting,
    place,
)
from negolab.studies.questions import check_answers, wrong_answers
from negolab.studies.scheduler import Scheduler
from negolab.studies.sessions import SessionManager
from negolab.studies.status import status
from negolab.studies.steps import (
    MOST_ATTEMPTS,
    BaseStep,
    ConsentStep,
    InstructionsStep,
    QuestionsStep,
    QuizStep,
    ResultsStep,
    StepPage,
)
from negolab.studies.study_config import Study, version_hash
from negolab.studies.texts import format_payoff, match_end, texts

AnyStep = TypeVar("AnyStep", bound=BaseStep)


class StudyService(PageService):
    """A running study: its authentication, page states, actions and scheduler.

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
        self._database, self._sessions = database, SessionManager(database, self._wake, study, models=models)
        self.authenticator = Authenticator(database, study, self._on_arrival)
        self.journeys = Journeys(database, study)
        self.scheduler = Scheduler(database, study, self._sessions, self.presence, self.journeys)
        for participant in database.participants(study.name):
            if participant.status == "withdrawn":  # the host may have stopped in the middle of it
                database.purge(participant.id)
                self._lead_others_on(participant)

    @override
    def close(self) -> None:
        super().close()
        self.authenticator.close()

    def asks_models(self) -> bool:
        """Return True while a language model's answer is in progress."""
        answering = (session for _, session in self._sessions.running() if session.thinking is not None)
        return any(name.startswith(MODEL_PREFIX) for session in answering for name in session.match.players.values())

    def _on_arrival(self, id: str) -> None:
        self.presence[id].away = False
        self.presence[id].touch()

    def _wake(self, stored: StoredMatch, seats: Collection[Seat] = SEATS) -> None:
        """Wake the pages of a match's participants at these seats."""
        for seat, id in stored.participants.items():
            if seat in seats:
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

    def _page_of(self, participant: Participant) -> StepPage | None:
        """Return the page that a participant is on; None: the last one."""
        is_over = participant.status in ENDINGS and participant.status != "complete"
        return None if is_over else self.journeys.page(participant)

    def _shown_match(self, participant: Participant) -> StoredMatch | None:
        """Return the match that a participant's page shows, running or finished; None: it has none, or is waiting for
        one."""
        page = self._page_of(participant)
        if page is None or not page.has_match:
            return None
        matches = self._database.matches(self.study.name, participant=participant.id)
        return matches[participant.passed] if participant.passed < len(matches) else None

    @override
    def _state(self, id: str) -> PageState:
        participant = self._database.participant(id)
        page = self._page_of(participant)
        if page is None:
            return self._closed(participant)
        if page.has_match:
            return self._match_state(participant, page)
        number, total = self.journeys.steps(participant)
        about = {"title": self.study.title, "step": number, "steps": total, "left": self._left(participant, page)}
        may_leave = participant.status != "complete" and not isinstance(page.step, ConsentStep)  # which has "decline"
        return self._step_state(participant, page, {**about, "may_leave": may_leave})

    def _step_state(self, participant: Participant, page: StepPage, about: dict[str, Any]) -> PageState:
        """Return the state of a page without a match."""
        study = self.study
        match page.step:
            case ConsentStep(text=text):
                return Consent(**about, text=text or study.consent)
            case InstructionsStep(text=text):
                begins = self.journeys.has_match_next(participant)
                return Instructions(**about, text=text or study.instructions, begins=begins)
            case QuizStep() as quiz:
                return self._quiz_state(participant, quiz, about)
            case QuestionsStep(questions=questions):
                return Questionnaire(**about, questions=questions)
            case ResultsStep(text=text):
                return self._results(participant, text, about)
            case _:
                raise TypeError(f"no page for {page}")

    def _quiz_state(self, participant: Participant, quiz: QuizStep, about: dict[str, Any]) -> PageState:
        """Return the quiz, or the page that its last attempt leads to.

        Done here and not with the attempt, because the host may stop after saving the attempt.
        """
        done, last = self._attempts(participant, quiz)
        wrong = wrong_answers(quiz.questions, {name: answer.is_right for name, answer in last.items()})
        if last.keys() == {question.name for question in quiz.questions} and not wrong:
            self.scheduler.go_on(participant)
            return self._state(participant.id)
        if done >= (quiz.attempts or MOST_ATTEMPTS):
            self._database.change(participant.id, "quiz", actor="host", status="quiz", ended=clock.time())
            return self._state(participant.id)
        left = None if quiz.attempts is None else quiz.attempts - done
        asked = tuple(question.asked() for question in quiz.questions)
        right = {name: answer.value for name, answer in last.items() if answer.is_right}
        return Quiz(
            **about, text=quiz.text, questions=asked, attempt=done + 1, attempts_left=left, right=right, wrong=wrong
        )

    def _attempts(self, participant: Participant, quiz: QuizStep) -> tuple[int, dict[str, Attempt]]:
        """Return the number of attempts at a quiz, and the answers in the last one, by name of the question."""
        names = {question.name for question in quiz.questions}
        made = [attempt for attempt in self._database.attempts(participant.id) if attempt.name in names]
        done = max((attempt.attempt for attempt in made), default=0)
        return done, {attempt.name: attempt for attempt in made if attempt.attempt == done}

    def _results(self, participant: Participant, text: str, about: dict[str, Any]) -> Results:
        """Return a participant's finished matches, with only their own payoffs."""
        ends, found, number = self._database.ends(self.study.name, participant=participant.id), [], 0
        for k, stored in enumerate(self._database.matches(self.study.name, participant=participant.id)):
            number += not stored.practice
            if (ended := ends.get(stored.id)) is not None and (settings := self.scheduler.settings(participant, k)):
                game = self.study.loaded(settings)
                payoff = format_payoff(game, ended.payoffs[stored.seat_of(participant.id)])
                end = match_end(game, ended.end)
                found.append(MatchResult(stored.practice, 0 if stored.practice else number, end, payoff))
        return Results(**about, text=text, matches=tuple(found))

    def _match_state(self, participant: Participant, page: StepPage) -> PageState:
        """Return a participant's match, or their wait for a partner."""
        number, total = self.journeys.steps(participant)
        if (stored := self._shown_match(participant)) is not None:
            return self._playing(participant, page, stored, step=number, steps=total)
        if participant.id not in self.scheduler.waiting:
            self.scheduler.enter(participant)  # the host stopped between saving a click and acting on it
            if participant.id not in self.scheduler.waiting:
                return self._state(participant.id)
        waited = clock.monotonic() - self.scheduler.waiting[participant.id]
        left = max(0.0, self.study.pairing.wait - waited)
        return Waiting(title=self.study.title, step=number, steps=total, waited=waited, left=left)

    def _left(self, participant: Participant, page: StepPage) -> float | None:
        """Return the seconds left for a page; None: no limit applies."""
        left = self.scheduler.time_for_page(participant, page)
        return None if left is None else max(0.0, left)

    def _closed(self, participant: Participant) -> Closed:
        ending: Ending = participant.status  # type: ignore[assignment]
        text, number, total = self.study.endings.get(ending, texts["endings"][ending]), 0, 0
        if ending == "complete":
            text = f"{text}\n\n{self.study.closing}"
            number, total = self.journeys.steps(participant)
        code, earned = self.study.codes.get(ending, ""), shown_earnings(self._database, self.study, participant)
        link = completion_link(self.study.links.get(ending, ""), code)
        return Closed(
            title=self.study.title,
            step=number,
            steps=total,
            may_leave=False,
            text=text,
            code=code,
            link=link,
            earnings=earned,
        )

    def _playing(self, participant: Participant, page: StepPage, stored: StoredMatch, **about: int) -> Playing:
        session, seat = self._sessions.resume(stored), stored.seat_of(participant.id)
        left, rounds = session.time_left(seat), page.step.matches  # type: ignore[union-attr]
        if over := session.match.ended is not None:
            left = self.scheduler.time_to_continue(participant, stored.ended)
        words = texts.PRACTICE if stored.practice else texts.ROUND if rounds > 1 else ""
        return session.playing(
            self.study.title,
            seat,
            left,
            label=words.format(round=page.round, rounds=rounds),
            can_continue=over,
            disclosure=self.scheduler.disclosures.get(stored.id, ""),
            may_leave=participant.status != "complete",
            **about,
        )

    # Actions of participants: "consent", "answer", "start", "reply", "next" and "leave"; and of their pages: "fault".

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
            "fault": self._fault,
        }.get(str(action.get("kind")))
        if work is None:
            raise AccessDenied(texts.UNKNOWN_ACTION)
        try:
            refused = work(participant, action)
        except NotDelivered as error:
            return self._answer(participant.id, not_done=str(error))
        return self._done(participant.id, refused or "")

    def _check_page(self, participant: Participant, action: Mapping[str, Any], kind: type[AnyStep]) -> AnyStep:
        """Return the step of the participant's page, which must be of this kind, without matches, and at the `place`
        named in the action, if any; `NotDelivered` for a click on an outdated page."""
        page = self._page_of(participant)
        if page is None or not isinstance(page.step, kind) or not _is_at(action, place(page.number)):
            raise NotDelivered(texts.MOVED_ON)
        return page.step

    def _check_match(self, participant: Participant, action: Mapping[str, Any]) -> StoredMatch:
        """Return the match that the participant's page shows, checked as in `_check_page`."""
        stored = self._shown_match(participant)
        number, _ = self.journeys.steps(participant)
        if stored is None or not _is_at(action, place(number, stored.id)):
            raise NotDelivered(texts.MOVED_ON)
        return stored

    def _consent(self, participant: Participant, action: Mapping[str, Any]) -> None:
        step = self._check_page(participant, action, ConsentStep)
        if action.get("agreed") is True:
            version = version_hash(step.text or self.study.consent)
            self.scheduler.go_on(participant, "consented", detail=version, consented=clock.time(), consent=version)
        else:
            self._database.change(participant.id, "declined", status="declined", ended=clock.time())

    def _answer_questions(self, participant: Participant, action: Mapping[str, Any]) -> None:
        state = self._state(participant.id)
        if not isinstance(state, Questionnaire | Quiz) or not _is_at(action, state.place):
            raise NotDelivered(texts.MOVED_ON)
        try:
            answers = check_answers(state.questions, action.get("answers"))
        except ValueError as error:
            raise NotDelivered(str(error)) from None
        if isinstance(state, Quiz):
            page = self.journeys.page(participant)
            assert page is not None and isinstance(page.step, QuizStep)
            right = {question.name: question.is_right(answers[question.name]) for question in page.step.questions}
            self._database.attempt(participant.id, state.attempt, answers, right)
        else:
            self._database.answer(participant.id, answers)
            self.scheduler.go_on(participant)

    def _start(self, participant: Participant, action: Mapping[str, Any]) -> None:
        self._check_page(participant, action, InstructionsStep)
        self.scheduler.go_on(participant)

    def _reply(self, participant: Participant, action: Mapping[str, Any]) -> str:
        stored = self._check_match(participant, action)
        text, turn = reply_of(action)
        if action.get("match") != stored.id:
            raise NotDelivered(texts.MOVED_ON)
        return self._sessions.resume(stored).submit(stored.seat_of(participant.id), text, turn)

    def _next(self, participant: Participant, action: Mapping[str, Any]) -> None:
        page = self._page_of(participant)
        if page is None or not page.has_match:
            self._check_page(participant, action, ResultsStep)
            self.scheduler.go_on(participant)
            return
        stored = self._check_match(participant, action)
        if stored.ended is None:
            raise NotDelivered(texts.NOT_OVER)
        self._sessions.close(stored.id)  # reopened if the partner's page still shows it
        self.scheduler.go_on(participant, passed=participant.passed + 1)

    def _fault(self, participant: Participant, action: Mapping[str, Any]) -> None:
        """End a match of the researcher's own game that a page cannot draw; move on from one that is over."""
        stored, where = self._check_match(participant, action), str(action.get("where"))[:300]
        if self.module is None:
            raise NotDelivered(texts.UNKNOWN_ACTION)
        self._sessions.resume(stored).fail(where)
        if stored.ended is not None:
            self._database.note(
                "error", "host", study=self.study.name, participant=participant.id, match=stored.id, detail=where
            )
            self.scheduler.go_on(participant, passed=participant.passed + 1)

    def _leave(self, participant: Participant, action: Mapping[str, Any]) -> None:
        if isinstance(self._state(participant.id), Closed):
            raise NotDelivered(texts.ALREADY_OVER)
        if participant.status == "complete":
            raise NotDelivered(texts.ALREADY_COMPLETE)
        self.scheduler.stop(participant, "withdrawn", "a participant left the study")
        self._database.withdraw(participant.id)
        self._lead_others_on(participant)

    def _lead_others_on(self, participant: Participant) -> None:
        """Move others on from a withdrawn participant's matches, which can no longer be shown."""
        for stored in self._database.matches(self.study.name, participant=participant.id):
            self._sessions.close(stored.id)
            for person in map(self._database.participant, stored.participants.values()):
                if stored.ended is not None and self._shown_match(person) == stored:
                    self.scheduler.go_on(person, passed=person.passed + 1)
            self._wake(stored)

    def away(self, kernel: str, away: bool) -> None:
        """Record that the browser of the page served by `kernel` has gone silent (`away`) or is back."""
        participant = self._database.leased(self.study.name, kernel=kernel)
        if participant is not None:
            self.presence[participant.id].away = away

    # Actions of the experimenter.

    def end(self, number: int, reason: str) -> None:
        """End the study for a participant and stop the match they are playing.

        Args:
            number: Number of the participant in the study.
            reason: Reason in words; stored as a note and in the stopped match's record.

        Raises:
            AccessDenied: There is no such participant, `reason` is empty, or the study is already over for them.
        """
        participants = self._database.participants(self.study.name)
        participant = next((p for p in participants if p.number == number), None)
        if participant is None:
            raise AccessDenied(f"There is no participant {number}.")
        if not (reason := reason.strip()):
            raise AccessDenied("Give a reason; it will be stored.")
        if participant.status in ENDINGS:
            raise AccessDenied(f"Participant {number} has already ended ({participant.status}).")
        self.scheduler.stop(participant, "ended", f"ended by the experimenter: {reason}")
        if self._database.participant(participant.id).status not in ENDINGS:
            self._database.change(participant.id, status="ended", ended=clock.time())
        self._database.note("ended", "experimenter", study=self.study.name, participant=participant.id, detail=reason)
        self.presence[participant.id].touch()

    @property
    def module(self) -> str | None:
        """Path or name of the researcher's own game, which the page's kernel must import; None for an installed one."""
        return None if self.study.game in catalog.game_names() else self.study.game

    def note_error(self, lease: str, error: BaseException) -> None:
        """Store a note about an error in a request, without quoting participants' text (see `describe_error`)."""
        participant = self._database.leased(self.study.name, lease=lease)
        id = None if participant is None else participant.id
        self._database.note("error", "host", study=self.study.name, participant=id, detail=describe_error(error))

    def monitor(self) -> dict[str, Any]:
        """Return the study's `Status` as plain data, with `present`, the numbers of participants whose pages are open,
        and `gate`, the last report of the participants' server."""
        participants = self._database.participants(self.study.name)
        present = [p.number for p in participants if self.presence.is_present(p.id)]
        seen = msgspec.to_builtins(status(self._database, self.study))
        return {**seen, "present": present, "gate": msgspec.to_builtins(self.gate)}

    def watch(self, match: str) -> Record:
        """Return the record so far of a match in this study, for the researcher; raise AccessDenied for any other
        match."""
        stored = self._database.match(match)
        if stored is None or stored.study != self.study.name:
            raise AccessDenied("There is no such match in this study.")
        return self._database.record(match)

    def metrics(self) -> str:
        """Return the study's metrics for Prometheus."""
        return render(status(self._database, self.study), self.gate)


def _is_at(action: Mapping[str, Any], where: str) -> bool:
    """Return True if an action comes from the page at the place `where`, or names no place."""
    return bool(action.get("place", where) == where)
