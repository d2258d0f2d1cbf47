"""Participants' positions among the pages of their study."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from negolab.studies.database import ACTIVE, Database, Participant, Reached
from negolab.studies.steps import ConsentStep, InstructionsStep, QuestionsStep, StepPage, count_common
from negolab.studies.study_config import Study


class Journeys:
    """Each participant's page, stored when they reach it, so that restarting the host changes nothing.

    Args:
        database: The database of the study.
        study: The study.

    Raises:
        ValueError: A participant is at a step that the study file no longer has there.
    """

    def __init__(self, database: Database, study: Study) -> None:
        self._database, self._study = database, study.name
        self._pages = {treatment.name: study.pages(treatment) for treatment in study.treatments}
        self._common = count_common(list(self._pages.values()))
        self._last: dict[str, Reached] = {}  # only the host of a study moves its participants

    def pages(self, participant: Participant) -> tuple[StepPage, ...]:
        """Return the pages of a participant's treatment or, before there is one, those common to all treatments."""
        if participant.treatment is None:
            return next(iter(self._pages.values()))[: self._common]
        return self._pages.get(participant.treatment, ())

    def position(self, participant: Participant) -> int:
        """Return the number of a participant's page, from 0."""
        if (reached := self._reached(participant)) is not None:
            return reached.position
        position = _first_open(self.pages(participant), participant, self._database.answers(participant.id))
        if participant.opened is not None:
            self.move(participant, position)
        return position

    def page(self, participant: Participant) -> StepPage | None:
        """Return a participant's page; None: they are past all of them."""
        pages, position = self.pages(participant), self.position(participant)
        return pages[position] if position < len(pages) else None

    def since(self, participant: Participant) -> float | None:
        """Return when a participant reached their page, in seconds since 1970; None: they have not arrived yet."""
        reached = self._reached(participant)
        return participant.opened if reached is None else reached.at

    def _reached(self, participant: Participant) -> Reached | None:
        """Return the last page stored for a participant."""
        if participant.id not in self._last and (reached := self._database.reached(participant.id)):
            self._last[participant.id] = reached[-1]
        return self._last.get(participant.id)

    def needs_treatment(self, participant: Participant) -> bool:
        """Return True if the page after a participant's current one differs between treatments or has a match."""
        return participant.treatment is None and self.position(participant) + 1 >= self._common

    def has_match_next(self, participant: Participant) -> bool:
        """Return True if the page after a participant's current one has a match in any treatment that they may get."""
        all_pages = self._pages.values() if participant.treatment is None else [self.pages(participant)]
        position = self.position(participant) + 1
        return any(pages[position].has_match for pages in all_pages if position < len(pages))

    def steps(self, participant: Participant) -> tuple[int, int]:
        """Return the number of a participant's step, from 1, and the number of steps (0: it depends on the
        treatment)."""
        lasts = {pages[-1].number for pages in self._pages.values()}
        pages, page = self.pages(participant), self.page(participant)
        if participant.treatment is not None and pages:
            lasts = {pages[-1].number}
        # The last page, with the code, is also a step.
        total = lasts.pop() + 1 if len(lasts) == 1 else 0
        return (page.number if page is not None else total), total

    def match_page(self, treatment: str | None, number: int) -> StepPage | None:
        """Return the page of a participant's match, numbered from 0 including practice; None if it is no longer in the
        file."""
        matches = [page for page in self._pages.get(treatment or "", ()) if page.has_match]
        return matches[number] if number < len(matches) else None

    def move(
        self, participant: Participant, position: int, note: str = "", *, detail: str = "", **values: object
    ) -> None:
        """Take a participant to the page with a number, from 0; see `Database.advance`."""
        pages = self.pages(participant)
        step = pages[position].step.kind if position < len(pages) else "end"
        at = self._database.advance(participant.id, position, step, note, detail=detail, **values)
        self._last[participant.id] = Reached(position, step, at)

    def check(self, participant: Participant) -> None:
        """Raise `ValueError` if the study file no longer has a participant's treatment, or the step they reached."""
        if participant.status in ACTIVE and participant.treatment not in self._pages:
            raise ValueError(
                f"study {self._study}: participant {participant.number} is working in treatment "
                f"{participant.treatment!r}, which its file no longer contains: restore the treatment until they have "
                "finished, or end the study for them first"
            )
        pages, at = self.pages(participant), self._reached(participant)
        if at is None:
            return
        kind = pages[at.position].step.kind if at.position < len(pages) else "end"
        if kind != at.step:
            raise ValueError(
                f"participant {participant.number} is on page {at.position + 1}, {at.step}, where the study file now "
                f"has {kind}: restore the steps until they have finished, or end the study for them first"
            )


def _first_open(pages: Sequence[StepPage], participant: Participant, answered: Collection[str]) -> int:
    """Return the first page that a participant has not finished, judging by what else is stored about them.

    Studies that began before pages were stored continue this way, and every participant begins this way.
    """
    matches = 0
    for position, page in enumerate(pages):
        step = page.step
        if page.has_match:
            matches += 1
            done = participant.passed >= matches
        elif isinstance(step, ConsentStep):
            done = participant.consented is not None
        elif isinstance(step, QuestionsStep):
            done = all(key in answered for question in step.questions for key in question.keys)
        else:
            done = isinstance(step, InstructionsStep) and participant.started is not None
        if not done:
            return position
    return len(pages)
