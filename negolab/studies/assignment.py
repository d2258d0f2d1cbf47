"""Assignment of participants to treatments, to each other as strangers or partners, to seats and to deals."""

from __future__ import annotations

import random
from collections import Counter

from negolab.game import SEATS, Seat, other
from negolab.runs.plan import derive_seed
from negolab.studies.database import ACTIVE, Database, Participant, StoredMatch
from negolab.studies.database.participants import block
from negolab.studies.journeys import Journeys
from negolab.studies.page_service import PresenceRegistry
from negolab.studies.steps import MatchStep, PracticeStep, StepPage
from negolab.studies.study_config import Study, Treatment


class Assignment:
    """Assigns by balance, by what participants have played, and by seeds derived from the study's.

    Args:
        database: The database of the study.
        study: The study.
        presence: Presence of the participants' pages.
        journeys: Journeys of the participants.
    """

    def __init__(self, database: Database, study: Study, presence: PresenceRegistry, journeys: Journeys) -> None:
        self._database, self._study, self._presence, self._journeys = database, study, presence, journeys
        self._played: dict[str, tuple[int, list[StoredMatch]]] = {}

    def assign(self, participant: Participant) -> Participant:
        """Assign a participant to a treatment, preferably one where somebody lacks a partner, and return the
        participant."""
        fixed = self._unmatched(participant)
        self._database.start(participant.id, self._study.cells, seed=self._study.seed, fixed=fixed)
        return self._database.participant(participant.id)

    def _unmatched(self, newcomer: Participant) -> str | None:
        """Return a treatment in which an odd number of present participants lack a partner; None if there is none.

        The newcomer, who starts next, joins that treatment.
        """
        matches = self._database.matches(self._study.name)
        playing = {id for match in matches if not match.practice for id in match.people.values()}
        paired = {treatment.name for treatment in self._study.treatments if self._study.is_paired(treatment)}
        alike = (p for p in self._database.participants(self._study.name) if p.is_test == newcomer.is_test)
        free = (p for p in alike if p.status in ACTIVE and p.id not in playing and self._presence.is_present(p.id))
        alone = Counter(p.treatment for p in free if p.treatment in paired)
        return next((name for name, n in alone.items() if n % 2), None)

    # Partners.

    def may_meet(self, first: Participant, second: Participant, page: StepPage) -> bool:
        """Return True if two participants may play the match of a page together."""
        if _step(page).matching == "partner":
            return self._mate(first, page) in (None, second.id) and self._mate(second, page) in (None, first.id)
        if any(second.id in match.people.values() for match in self._matches(first)):
            return False
        wanted = self.seat(first, page), self.seat(second, page)
        return None in wanted or wanted[0] != wanted[1]

    def is_left_alone(self, participant: Participant, page: StepPage) -> bool:
        """Return True if the only person whom a participant may meet has left the study."""
        mate = self.partner(participant, page)
        return mate is not None and self._database.participant(mate).status not in ACTIVE

    def partner(self, participant: Participant, page: StepPage) -> str | None:
        """Return the only person whom a participant may meet on a page; None: there are others."""
        return self._mate(participant, page) if _step(page).matching == "partner" else None

    def _mate(self, participant: Participant, page: StepPage) -> str | None:
        """Return whom a participant met in the previous round; None: nobody, or a player."""
        before = self._before(participant, page)
        return None if before is None else next((id for id in before.people.values() if id != participant.id), None)

    def seat(self, participant: Participant, page: StepPage) -> Seat | None:
        """Return the seat that the roles of the step give a participant in this round; None: either."""
        before, roles = self._before(participant, page), _step(page).roles
        if before is None or roles == "drawn":
            return None
        seat = before.seat_of(participant.id)
        return other(seat) if roles == "alternating" else seat

    def seats(self, first: Participant, second: Participant, page: StepPage) -> dict[Seat, str]:
        """Return who takes which seat in a match of two: by their roles, or drawn from the seed of the one who came
        first."""
        people = [first.id, second.id]
        theirs = self.seat(second, page)
        seat = self.seat(first, page) or (None if theirs is None else other(theirs))
        if seat is None:
            number = [self._count_real(first)] if self._count_real(first) else []
            people = random.Random(self._seed(first, "pair", second.number, *number)).sample(people, 2)
        elif seat == "B":
            people.reverse()
        return dict(zip(SEATS, people, strict=True))

    def seat_against_player(self, participant: Participant, settings: Treatment, page: StepPage) -> Seat:
        """Return a participant's seat against a player: by their role, or by their place in a block of two.

        Of every two who start in a treatment, each gets a different seat. They keep it from practice on, unless roles
        are drawn.
        """
        if isinstance(page.step, MatchStep) and (seat := self.seat(participant, page)) is not None:
            return seat
        for number, match in enumerate(self._matches(participant)):
            before = self._journeys.match_page(participant.treatment, number)
            if len(match.people) == 1 and not _draws_roles(page) and not _draws_roles(before):
                return next(iter(match.people))
        mine = (participant.treatment, participant.is_test)
        alike = [p for p in self._database.participants(self._study.name) if (p.treatment, p.is_test) == mine]
        rank = sum((p.started or 0, p.number) < (participant.started or 0, participant.number) for p in alike)
        purpose = (f"{page.number}/{page.round}",) if _draws_roles(page) else ()
        seats, seed = settings.seats(), derive_seed(self._study.seed, self._study.name, "seat", settings.name, *purpose)
        return seats[block(len(seats), rank // len(seats), seed)[rank % len(seats)]]

    # Deals.

    def practice(self, participant: Participant, page: StepPage) -> int:
        """Return the number of a participant's next practice round, from 1; 0 on a page whose match counts."""
        if not isinstance(page.step, PracticeStep):
            return 0
        return sum(match.practice > 0 for match in self._matches(participant)) + 1

    def deal_seed(self, participant: Participant, page: StepPage) -> int:
        """Return the seed of a match's deal."""
        step, number = page.step, self._count_real(participant)
        if practice := self.practice(participant, page):
            return self._seed(participant, "practice", practice)
        if isinstance(step, MatchStep) and step.seeds:
            return step.seeds[page.round - 1]
        if isinstance(step, MatchStep) and step.deals == "shared":
            return derive_seed(self._study.seed, self._study.name, "deal", number)
        return self._seed(participant, "deal", *([number] if number else []))

    def _seed(self, participant: Participant, *purpose: str | int) -> int:
        return derive_seed(self._study.seed, self._study.name, participant.number, *purpose)

    def _count_real(self, participant: Participant) -> int:
        """Return the number of a participant's matches that count."""
        return sum(not match.practice for match in self._matches(participant))

    def _before(self, participant: Participant, page: StepPage) -> StoredMatch | None:
        """Return a participant's match in the previous round; None: this is the first round of the step."""
        return None if page.round == 1 else self._matches(participant)[-1]

    def _matches(self, participant: Participant) -> list[StoredMatch]:
        """Return the matches that a participant has moved on from; read once, because those of waiting participants are
        needed often."""
        id, passed = participant.id, participant.passed
        if self._played.get(id, (-1, []))[0] != passed:
            self._played[id] = passed, self._database.matches(self._study.name, participant=id)[:passed]
        return self._played[id][1]


def _step(page: StepPage) -> MatchStep:
    assert isinstance(page.step, MatchStep), "nobody is paired for practice"
    return page.step


def _draws_roles(page: StepPage | None) -> bool:
    return page is not None and isinstance(page.step, MatchStep) and page.step.roles == "drawn"
