"""Scheduling of a study's matches: practice, opponents, pairing, time limits, and how each participant's study ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial

import sqlalchemy as sa

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat
from negolab.match import Match
from negolab.record import PERSON
from negolab.studies import clock
from negolab.studies.assignment import Assignment
from negolab.studies.database import ACTIVE, Database, Participant, StoredMatch
from negolab.studies.database.connection import DatabaseClosed, describe_error, is_unreachable
from negolab.studies.endings import ENDINGS, Ending
from negolab.studies.journeys import Journeys
from negolab.studies.model_seats import DISCLOSURE
from negolab.studies.page_service import PresenceRegistry
from negolab.studies.session import MatchSession
from negolab.studies.sessions import SessionManager
from negolab.studies.steps import Delay, StepPage
from negolab.studies.study_config import Study, Treatment

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
                log.exception("checking %s failed", task)
                detail = f"{task}: {describe_error(error)}"
                with suppress(sa.exc.SQLAlchemyError):  # the error is in the log
                    self._database.note("error", "host", study=self._study, detail=detail)


class Scheduler:
    """Leads participants from page to page, and starts, pairs and ends the matches of one study.

    `waiting` holds since when (`clock.monotonic`) participants are without a partner, by id, in order of arrival. The
    constructor resumes all running matches and waits.

    Args:
        database: The database of the study.
        study: The study.
        sessions: The match sessions of the study; the scheduler sets their `endings` and `delay`.
        presence: Presence of the participants' pages.
        journeys: Journeys of the participants.

    Raises:
        ValueError: A participant is active in a treatment, or at a step, that the study file no longer has.
    """

    def __init__(
        self,
        database: Database,
        study: Study,
        sessions: SessionManager,
        presence: PresenceRegistry,
        journeys: Journeys,
    ) -> None:
        self.study = study
        self._database, self._sessions, self._presence, self._journeys = database, sessions, presence, journeys
        self._assignment = Assignment(database, study, presence, journeys)
        self.waiting: dict[str, float] = {}
        self.disclosures = database.kept_notes(study.name, DISCLOSURE, str)
        """Statements shown to participants about who sits across, by the match's id, as kept."""
        self._stopped: dict[str, Mapping[str, Ending]] = {}
        self._began = clock.time()
        self._looked = clock.monotonic()
        self._guard = TaskGuard(database, study.name)
        self._first = database.first(study.name)
        sessions.endings, sessions.delay = self._endings, self._delay
        sessions.model_failed = self._stop_without_model
        participants = database.participants(study.name)
        for participant in participants:
            if participant.status not in ENDINGS:
                journeys.check(participant)
        for stored in database.matches(study.name, running=True):
            sessions.resume(stored)
        for participant in participants:
            if participant.status in ACTIVE and len(self._matches(participant)) <= participant.passed:
                self.enter(participant)  # what was to begin must begin even if the page never polls again

    # From page to page.

    def go_on(self, participant: Participant, note: str = "", *, detail: str = "", **values: object) -> None:
        """Lead a participant to their next page, and begin what is there; see `Database.advance`.

        Who comes to the first page that depends on the treatment is assigned to one, first to one where somebody lacks
        a partner.
        """
        position = self._journeys.position(participant) + 1
        if self._journeys.needs_treatment(participant):
            participant = self._assignment.assign(participant)
        self._journeys.move(participant, position, note, detail=detail, **values)
        self.enter(self._database.participant(participant.id))

    def enter(self, participant: Participant) -> None:
        """Begin the match of a participant's page, if it has one, or put them into the queue for a partner.

        Raises:
            ValueError: The study has no treatment of the participant's.
        """
        page = self._journeys.page(participant)
        if page is None or not page.has_match:
            if participant.status == "waiting":
                self._database.change(participant.id, status="playing")
            return
        if (opponent := self._settings(participant, page).opponent) is not None:
            self._begin_against(opponent, participant, page)
        else:
            self._database.change(participant.id, status="waiting")
            self.waiting.setdefault(participant.id, clock.monotonic())
            if (mate := self._assignment.partner(participant, page)) is not None:
                self._presence[mate].touch()  # who is waited for sees how much time is left
            self.pair()

    def settings(self, participant: Participant, number: int) -> Treatment | None:
        """Return the settings of a participant's match, numbered from 0 with practice; None if the file has it no
        more."""
        page = self._journeys.match_page(participant.treatment, number)
        return None if page is None else self._settings(participant, page)

    def _settings(self, participant: Participant, page: StepPage) -> Treatment:
        """Return the settings of the match on a page of a participant who has a treatment."""
        return self.study.treatment(str(participant.treatment)).settings(page.step)  # type: ignore[arg-type]

    def _delay(self, stored: StoredMatch) -> Delay:
        """Return the thinking time of the player in a match; a finished match has no answers to delay."""
        id = next(iter(stored.participants.values()))
        mine = [match.id for match in self._database.matches(self.study.name, participant=id)]
        settings = self.settings(self._database.participant(id), mine.index(stored.id))
        return Delay() if settings is None else settings.delay

    def _game(self, settings: Treatment) -> AnyGame:
        """Load the game of a new match.

        A study that began with an older negolab keeps that version's defaults, unless its file names another game.
        """
        game = self.study.loaded(settings)
        if self._first is None or self._first.game != catalog.game_id(game):
            return game
        return catalog.with_legacy_defaults(game, {*self._first.params, *settings.params})

    def _matches(self, participant: Participant) -> list[StoredMatch]:
        return self._database.matches(self.study.name, participant=participant.id)

    def _begin_against(self, player: str, participant: Participant, page: StepPage) -> None:
        """Begin a match of a participant against a player: one that counts, or a practice round."""
        settings = self._settings(participant, page)
        practice = self._assignment.practice(participant, page)
        seed = self._assignment.deal_seed(participant, page)
        seat = self._assignment.seat_against_player(participant, settings, page)
        names: dict[Seat, str] = {s: PERSON if s == seat else player for s in SEATS}
        self._begin({seat: participant.id}, settings, seed, names, practice)

    def _begin(
        self,
        people: dict[Seat, str],
        settings: Treatment,
        seed: int,
        names: dict[Seat, str],
        practice: int = 0,
    ) -> None:
        """Deal and begin a match; if code of its game or of a player raises, end the study for its participants."""
        try:
            match = Match(self._game(settings), seed=seed, players=names)
            endings = self._completed(people.values()) if match.ended else {}
            if told := settings.disclosure:
                self.disclosures[match.id] = told
                self._database.keep(DISCLOSURE, told, study=self.study.name, match=match.id)
            self._sessions.begin(match, people, treatment=settings.name, practice=practice, endings=endings)
        except (sa.exc.SQLAlchemyError, DatabaseClosed):
            raise
        except Exception as error:
            log.error("a match could not begin", exc_info=error)
            for id in people.values():
                self._end_study(id, "error", describe_error(error))

    # Pairing.

    def pair(self) -> None:
        """Pair present participants in order of arrival, and end the waits that exceeded the study's limit.

        Who is not present at this moment keeps their place.
        """
        here = [person for person in self._queue() if self._presence.is_present(person.id)]
        while here:
            first = here.pop(0)
            page = self._journeys.page(first)
            if page is None:
                continue
            same = [other for other in here if _match_due(other) == _match_due(first)]
            second = next((other for other in same if self._assignment.may_meet(first, other, page)), None)
            if second is not None:
                here.remove(second)
                self._guard(f"the match of {first.id} and {second.id}", partial(self._begin_pair, first, second, page))
            elif self._assignment.is_left_alone(first, page):
                self._guard(f"the wait of {first.id}", partial(self._end_study, first.id, "partner"))
        for id in [person.id for person in self._queue()]:
            if id in self.waiting and self._wait_left(id) < 0:
                self._guard(f"the wait of {id}", partial(self._end_wait, id))

    def _queue(self) -> list[Participant]:
        """Return who waits, in order of arrival. Whose match is saved waits no more, even if it could not be opened."""
        people = [self._database.participant(id) for id in self.waiting]
        for person in people:
            if person.status != "waiting":
                del self.waiting[person.id]
        return [person for person in people if person.id in self.waiting]

    def _begin_pair(self, first: Participant, second: Participant, page: StepPage) -> None:
        people = self._assignment.seats(first, second, page)
        names: dict[Seat, str] = dict.fromkeys(SEATS, PERSON)
        self._begin(people, self._settings(first, page), self._assignment.deal_seed(first, page), names)

    def _end_wait(self, id: str) -> None:
        """End a wait without a partner: end the study for the participant, or begin a match against a player."""
        player, participant = self.study.pairing.player, self._database.participant(id)
        page = self._journeys.page(participant)
        if player is None or page is None:
            self._end_unpaired(participant, page)
            return
        self._begin_against(player, participant, page)
        self.waiting.pop(id, None)
        self._presence[id].touch()

    def _end_unpaired(self, participant: Participant, page: StepPage | None) -> None:
        """End the study for a participant to whom nobody comes, and for the partner who let them wait.

        If both have gone on, the one whose page is closed let the other wait.
        """
        mate = None if page is None else self._assignment.partner(participant, page)
        if mate is None:
            self._end_study(participant.id, "unpaired")
            return
        late, other = mate, participant.id
        if self._presence.is_present(mate) and mate in self.waiting and not self._presence.is_present(participant.id):
            late, other = other, late
        if self._database.participant(late).status in ACTIVE:
            self._end_study(late, "timeout", "did not go on")
        self._end_study(other, "partner")

    def _end_study(self, id: str, ending: Ending, detail: str = "") -> None:
        """End the study for a participant who plays no match."""
        self._database.change(id, ending, actor="host", detail=detail, status=ending, ended=clock.time())
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
        if clock.monotonic() - self._looked > LOOK:
            self._looked = clock.monotonic()
            self._guard("those who do not go on", self._time_out)
            self._sessions.sweep(self._is_shown)
            self._presence.sweep()

    def _stop_late(self, stored: StoredMatch, session: MatchSession, seats: list[Seat]) -> None:
        self._stopped[stored.id] = _blame(stored, seats)
        names = " and ".join(f"seat {seat}" for seat in seats)
        session.stop(f"{names} did not answer in time")

    def _stop_without_model(self, stored: StoredMatch) -> None:
        """Note that a match, which is stopped next, ends because its model failed."""
        self._stopped[stored.id] = dict.fromkeys(stored.participants.values(), "model")

    def _is_shown(self, stored: StoredMatch) -> bool:
        """Return True if the open page of a participant may still show a finished match."""
        here = filter(self._presence.is_present, stored.participants.values())
        return any(self._database.participant(id).status in ("playing", "complete") for id in here)

    def time_to_continue(self, participant: Participant, ended: float | None) -> tuple[float, str] | None:
        """Return the seconds left to continue after a match that is not the last, negative if the time is over, and
        their kind.

        Args:
            participant: The participant.
            ended: When the match ended, in seconds since 1970; None: it runs.

        Returns:
            Seconds and "continue"; None: no limit runs.
        """
        if ended is None or participant.status != "playing":
            return None
        left = self._partner_wait(participant)
        if self.study.limits.reply is not None:
            # Time before the host's start does not count: nobody could continue while it was down.
            left.append(self.study.limits.reply - (clock.time() - max(ended, self._began)))
        return (min(left), "continue") if left else None

    def _partner_wait(self, participant: Participant) -> list[float]:
        """Return the seconds for which a partner still waits for a participant's next match; [] if nobody does."""
        if self.study.pairing.player is not None:
            return []
        people = self._matches(participant)[participant.passed].people.values()
        for id in self.waiting.keys() & people:
            mate = self._database.participant(id)
            page = self._journeys.page(mate)
            if page is not None and self._assignment.partner(mate, page) == participant.id:
                return [self._wait_left(id)]
        return []

    def _wait_left(self, id: str) -> float:
        """Return the seconds until the wait of a participant in the queue is over, negative if it is."""
        return self.study.pairing.wait - (clock.monotonic() - self.waiting[id])

    def time_for_page(self, participant: Participant, page: StepPage) -> float | None:
        """Return the seconds left for a page without a match, negative if the time is over; None: no limit runs."""
        since = self._journeys.since(participant)
        if page.step.seconds is None or since is None:
            return None
        return page.step.seconds - (clock.time() - max(since, self._began))

    def _time_out(self) -> None:
        """Time out participants who do not go on from a page, or from a match that is over, in time."""
        for participant in self._database.participants(self.study.name):
            if participant.status not in ("invited", "playing", "complete") or participant.opened is None:
                continue
            page = self._journeys.page(participant)
            if page is None or (left := self._time_left(participant, page)) is None or left >= 0:
                continue
            if participant.status == "complete":
                self.go_on(participant)
                self._presence[participant.id].touch()
            else:
                self._end_study(participant.id, "timeout", "did not go on")

    def _time_left(self, participant: Participant, page: StepPage) -> float | None:
        """Return the seconds left on a page, or for continuing after its match; None: no limit runs."""
        if not page.has_match:
            return self.time_for_page(participant, page)
        matches = self._matches(participant)
        if len(matches) <= participant.passed:
            return None
        left = self.time_to_continue(participant, matches[participant.passed].ended)
        return None if left is None else left[0]

    def stop(self, participant: Participant, ending: Ending, reason: str) -> None:
        """Remove a participant from the queue and stop their running match.

        Args:
            participant: The participant.
            ending: Their way of ending, set with the match's end; the other person's is "partner".
            reason: Reason that the record gives.
        """
        self.waiting.pop(participant.id, None)
        for stored in self._database.matches(self.study.name, participant=participant.id, running=True):
            others: dict[str, Ending] = dict.fromkeys(stored.participants.values(), "partner")
            self._stopped[stored.id] = {**others, participant.id: ending}
            self._sessions.resume(stored).stop(reason)

    def _endings(self, stored: StoredMatch, match: Match) -> Mapping[str, Ending]:
        """Return the ways of ending, by participant id, that a match which has ended brings about."""
        if match.ended is None or match.ended.reason is None:
            return self._completed(stored.participants.values())
        if stored.id in self._stopped:
            return self._stopped.pop(stored.id)
        if match.refused_seat in stored.people:
            return _blame(stored, [match.refused_seat])
        return dict.fromkeys(stored.participants.values(), "error")

    def _completed(self, people: Iterable[str]) -> dict[str, Ending]:
        """Return the endings after a match that the rules ended: only the last one completes the study."""
        everybody = map(self._database.participant, people)
        match_page = self._journeys.match_page
        return {p.id: "complete" for p in everybody if match_page(p.treatment, p.passed + 1) is None}


def _match_due(participant: Participant) -> tuple[bool, str | None, int]:
    """Return what two who play together have in common: tests or not, their treatment, and the number of the match."""
    return participant.is_test, participant.treatment, participant.passed


def _blame(stored: StoredMatch, seats: Collection[Seat | None]) -> dict[str, Ending]:
    """Return the endings, by participant id, of a match that could not go on because of these seats."""
    return {id: "timeout" if seat in seats else "partner" for seat, id in stored.participants.items()}
