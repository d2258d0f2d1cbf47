"""Choice of those that wait and may play together: strangers or partners, at the seats of their roles."""

from __future__ import annotations

from negolab.game import Seat, other
from negolab.studies.database import ACTIVE, Database, Participant, StoredMatch
from negolab.studies.steps import MatchStep, StepPage


class Matching:
    """Looks up whom participants have met, and at which seats.

    Args:
        database: The database of the study.
        study: Name of the study.
    """

    def __init__(self, database: Database, study: str) -> None:
        self._database, self._study = database, study
        self._played: dict[str, tuple[int, list[StoredMatch]]] = {}

    def may_meet(self, first: Participant, second: Participant, page: StepPage) -> bool:
        """Return True if two participants may play the match of a page together."""
        if _step(page).matching == "partner":
            return self._mate(first, page) in (None, second.id) and self._mate(second, page) in (None, first.id)
        if any(second.id in match.people.values() for match in self._matches(first)):
            return False
        wanted = self.seat(first, page), self.seat(second, page)
        return None in wanted or wanted[0] != wanted[1]

    def first_seat(self, first: Participant, second: Participant, page: StepPage) -> Seat | None:
        """Return the seat of the first of two in the match of a page; None: it is drawn."""
        theirs = self.seat(second, page)
        return self.seat(first, page) or (None if theirs is None else other(theirs))

    def is_left_alone(self, participant: Participant, page: StepPage) -> bool:
        """Return True if the one person whom a participant may meet has left the study."""
        mate = self.partner(participant, page)
        return mate is not None and self._database.participant(mate).status not in ACTIVE

    def partner(self, participant: Participant, page: StepPage) -> str | None:
        """Return the one person whom a participant may meet on a page; None: there are others."""
        return self._mate(participant, page) if _step(page).matching == "partner" else None

    def _mate(self, participant: Participant, page: StepPage) -> str | None:
        """Return whom a participant met in the round before; None: nobody, or a player."""
        before = self._before(participant, page)
        return None if before is None else next((id for id in before.people.values() if id != participant.id), None)

    def seat(self, participant: Participant, page: StepPage) -> Seat | None:
        """Return the seat that the roles of the step give a participant in this round; None: either."""
        before, roles = self._before(participant, page), _step(page).roles
        if before is None or roles == "drawn":
            return None
        seat = next(seat for seat, id in before.people.items() if id == participant.id)
        return other(seat) if roles == "alternating" else seat

    def _before(self, participant: Participant, page: StepPage) -> StoredMatch | None:
        """Return a participant's match in the round before; None: this is the first round of the step."""
        return None if page.round == 1 else self._matches(participant)[-1]

    def _matches(self, participant: Participant) -> list[StoredMatch]:
        """Return the matches that a participant has gone on from; read once, as those who wait are asked for often."""
        id, passed = participant.id, participant.passed
        if self._played.get(id, (-1, []))[0] != passed:
            self._played[id] = passed, self._database.matches(self._study, participant=id)[:passed]
        return self._played[id][1]


def _step(page: StepPage) -> MatchStep:
    assert isinstance(page.step, MatchStep), "nobody is paired for practice"
    return page.step
