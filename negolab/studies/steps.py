"""The steps of a study: what a participant passes through, in order.

Each step has one page or, where matches are played, one for each of its rounds.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import exp, log
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta
from typing_extensions import override

from negolab._internal.validation import Count, NotNegative, Positive, TomlTable, check_distinct, check_text
from negolab.studies.questions import Question, QuizQuestion

MOST_ROUNDS = 100
"""Largest number of matches in a step."""


class Delay(TomlTable, frozen=True):
    """Simulated thinking time of an automated player: log-normal, clipped to `least` ... `most` seconds."""

    median: NotNegative = 0.0
    """Seconds; 0: no delay."""
    spread: NotNegative = 0.0
    """Standard deviation of the logarithm."""
    least: NotNegative = 0.0
    most: NotNegative = 60.0

    def __post_init__(self) -> None:
        if self.median and not self.least <= self.median <= self.most:
            raise ValueError(f"median must lie between least and most, {self.least:g} to {self.most:g} s")

    def seconds(self, rng: random.Random) -> float:
        """Draw a delay in seconds; takes one draw from `rng` in any case, so that later draws stay the same."""
        drawn = rng.gauss(0.0, 1.0)
        if self.median == 0:
            return 0.0
        # `exp` overflows beyond about 709; so far out the bounds decide anyway.
        power = min(max(log(self.median) + self.spread * drawn, -700.0), 700.0)
        return min(max(exp(power), self.least), self.most)


class BaseStep(TomlTable, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the steps; `kind` names the step in the file."""

    seconds: Positive | None = None
    """Time limit of its page in seconds; None: no limit. After it the study ends for the participant, but after the
    last match it goes on with the next step."""

    @property
    def kind(self) -> str:
        """Name of the kind of step."""
        return str(self.__struct_config__.tag)


class ConsentStep(BaseStep, frozen=True, kw_only=True, tag="consent"):
    """Text to agree to; "": the study's."""

    text: str = ""


class InstructionsStep(BaseStep, frozen=True, kw_only=True, tag="instructions"):
    """Text to read; "": the study's."""

    text: str = ""


MOST_ATTEMPTS = 100
"""Attempts at any quiz: each is kept, and nobody may fill the database."""


class QuizStep(BaseStep, frozen=True, kw_only=True, tag="quiz"):
    """Comprehension questions; who has answered `attempts` times without all being right is out of the study."""

    questions: tuple[QuizQuestion, ...]
    attempts: Count | None = None
    """None: as many as it takes, at most `MOST_ATTEMPTS`."""
    text: str = ""
    """Text above the questions."""

    def __post_init__(self) -> None:
        _check_questions(self.questions)


class QuestionsStep(BaseStep, frozen=True, kw_only=True, tag="questions"):
    """Questions on one page."""

    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        _check_questions(self.questions)


class RoundsStep(BaseStep, frozen=True, kw_only=True):
    """Base of the steps in which matches are played. What is left out is as the treatment says."""

    matches: Annotated[int, Meta(ge=1, le=MOST_ROUNDS)] = 1
    """Number of rounds."""
    opponent: str | None = None
    """Name of a player."""
    preset: str | None = None
    params: dict[str, Any] = {}
    """Parameters of the game that differ from the preset's."""
    delay: Delay | None = None
    """Thinking time of the player."""
    disclosure: str | None = None
    """Text on who sits across, shown above the table."""

    def __post_init__(self) -> None:
        if self.seconds is not None:
            raise ValueError("seconds applies only to pages: set match limits under [limits]")


class PracticeStep(RoundsStep, frozen=True, kw_only=True, tag="practice"):
    """Practice matches against a player, which do not count; stored data mark them.

    With a preset or parameters of its own nothing of the treatment's is added to them.
    """

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.opponent:
            raise ValueError('add an opponent for practice, such as opponent = "random-legal"')


class MatchStep(RoundsStep, frozen=True, kw_only=True, tag="match"):
    """Matches that count."""

    matching: Literal["stranger", "partner"] = "stranger"
    """Against people: nobody whom they have met before in the study, or the same person in all rounds of the step."""
    roles: Literal["fixed", "alternating", "drawn"] = "fixed"
    """Seats over the rounds of the step: the same, in turns, or drawn anew."""
    deals: Literal["own", "shared"] = "own"
    """Each match has a deal of its own, or the same for all participants in the same round."""
    seeds: tuple[int, ...] = ()
    """Seed of the deal of each round; (): drawn from the study's seed."""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seeds and len(self.seeds) != self.matches:
            raise ValueError(f"seeds must contain one for each of the {self.matches} matches, not {len(self.seeds)}")
        if self.seeds and self.deals == "shared":
            raise ValueError("seeds fix the draws for everybody: leave out deals")


class ResultsStep(BaseStep, frozen=True, kw_only=True, tag="results"):
    """The participant's matches so far, with what they paid."""

    text: str = ""
    """Text above the results."""


class EndStep(BaseStep, frozen=True, kw_only=True, tag="end"):
    """The last page, with the completion code; it may be left out."""


Step = ConsentStep | InstructionsStep | QuizStep | QuestionsStep | PracticeStep | MatchStep | ResultsStep | EndStep
KINDS: dict[str, type[BaseStep]] = {str(kind.__struct_config__.tag): kind for kind in Step.__args__}
"""Kinds of steps by their names in the file."""


class StepPage(NamedTuple):
    """One page of a step."""

    step: Step
    number: int
    """Number of the step, from 1."""
    round: int = 0
    """Round of a step in which matches are played, from 1."""

    @property
    def has_match(self) -> bool:
        """True if a match is played on it."""
        return self.round > 0

    @property
    def name(self) -> str:
        """Number and kind of the step, and the round if there are several."""
        rounds = self.step.matches if isinstance(self.step, RoundsStep) else 1
        return f"{self.number} {self.step.kind}" + (f", {self.round} of {rounds}" if rounds > 1 else "")


def pages(steps: Sequence[Step]) -> tuple[StepPage, ...]:
    """Return the pages of steps, without the last one, which stays."""
    shown = ((number, step) for number, step in enumerate(steps, 1) if not isinstance(step, EndStep))
    return tuple(
        StepPage(step, number, round)
        for number, step in shown
        for round in (range(1, step.matches + 1) if isinstance(step, RoundsStep) else (0,))
    )


def count_common(sequences: Sequence[Sequence[StepPage]]) -> int:
    """Count the leading pages that are the same in all sequences, up to the first match.

    Who is past them needs a treatment.
    """
    for i, alike in enumerate(zip(*sequences, strict=False)):
        if alike[0].has_match or any(page != alike[0] for page in alike):
            return i
    return min(map(len, sequences))


def check_steps(steps: Sequence[Step], consent: str, instructions: str) -> None:
    """Raise `ValueError` for steps in an order in which nobody can take part."""
    kinds = [step.kind for step in steps]
    if "match" not in kinds:
        raise ValueError('no step has kind = "match": add one')
    if "consent" in kinds[1:]:
        raise ValueError("consent comes first: nothing may be asked or shown before it")
    if consent and "consent" not in kinds:
        raise ValueError('the study has a consent text: begin with a step of kind = "consent", or delete the text')
    if "end" in kinds[:-1]:
        raise ValueError("end comes last")
    last = max(i for i, kind in enumerate(kinds) if kind == "match")
    if {"quiz", "practice"} & set(kinds[last:]):
        raise ValueError("put quiz and practice before the last match, which completes the study")
    for step in steps:
        if isinstance(step, ConsentStep | InstructionsStep):
            check_text(step.text or (consent if isinstance(step, ConsentStep) else instructions), step.kind)
    asked = [question for step in steps if isinstance(step, QuestionsStep | QuizStep) for question in step.questions]
    check_distinct([question.name for question in asked], "the question")


def _check_questions(questions: Sequence[Question]) -> None:
    if not questions:
        raise ValueError("questions are missing: write at least one [[steps.questions]]")
