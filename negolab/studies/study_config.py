"""The options of a study file: its tables and their checks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from negolab import catalog
from negolab._internal.validation import (
    Positive,
    TomlTable,
    check_distinct,
    check_identifier,
    check_name,
    check_text,
    suggest,
)
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat, other
from negolab.protocols import MODEL_PREFIX
from negolab.studies import steps
from negolab.studies.endings import Ending, check_links
from negolab.studies.model_seats import ModelSeats
from negolab.studies.payment import Payment
from negolab.studies.questions import Question
from negolab.studies.steps import (
    MOST_ROUNDS,
    ConsentStep,
    Delay,
    InstructionsStep,
    MatchStep,
    PracticeStep,
    QuestionsStep,
    RoundsStep,
    Step,
    StepPage,
)


class Treatment(TomlTable, frozen=True):
    """One treatment (cell) of a study: the game's parameters and the opponent."""

    name: str
    weight: Positive = 1
    """Relative share of the participants."""
    preset: str | None = None
    """A preset of the game, or a scenario file relative to the study file's folder; None: the default preset."""
    params: dict[str, Any] = {}
    """Parameters of the game that differ from the preset's."""
    opponent: str | None = None
    """A player, such as "boulware" or "mine.py:Haggler,beta=2", with files relative to the study file's folder; None:
    another participant."""
    seat: Literal["A", "B", "random"] = "random"
    """Seat of the participant against a player; pairs always draw their seats."""
    delay: Delay = Delay()
    disclosure: str = ""
    """Text about who sits across, shown above the table."""
    steps: tuple[Step, ...] = ()
    """The treatment's own steps, in place of the study's; (): the study's."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.opponent is None and self.seat != "random":
            raise ValueError('the seats of two participants are drawn: omit seat, or add opponent = "player"')

    @property
    def paired(self) -> bool:
        """True if two participants play each other."""
        return self.opponent is None

    @property
    def has_model(self) -> bool:
        """True if a language model sits across."""
        return (self.opponent or "").startswith(MODEL_PREFIX)

    def settings(self, step: RoundsStep) -> Treatment:
        """Return the treatment with what a step says about its matches."""
        own = isinstance(step, PracticeStep) and bool(step.preset or step.params)
        return msgspec.structs.replace(
            self,
            opponent=step.opponent or self.opponent,
            preset=step.preset if own else step.preset or self.preset,
            params=step.params if own else {**self.params, **step.params},
            delay=self.delay if step.delay is None else step.delay,
            disclosure=self.disclosure if step.disclosure is None else step.disclosure,
        )

    def seats(self) -> tuple[Seat, ...]:
        """Return the seats that a participant may get."""
        return SEATS if self.seat == "random" else (self.seat,)

    def across(self) -> tuple[Seat, ...]:
        """Return the seats that the player opposite a participant may get."""
        return tuple(other(seat) for seat in self.seats())


class Limits(TomlTable, frozen=True):
    """Time limits in seconds for one reply and for a whole match; None: no limit. The match ends at a limit."""

    reply: Positive | None = None
    match: Positive | None = None


class Pairing(TomlTable, frozen=True):
    """The wait for a partner in treatments without an opponent."""

    wait: Positive = 300.0
    """Longest wait in seconds."""
    then: str = "end"
    """Action when the wait is over: "end" ends the study for the participant; a player's name makes that player the
    opponent."""

    def __post_init__(self) -> None:
        check_text(self.then, "then")

    @property
    def player(self) -> str | None:
        """Name of the player that replaces a missing partner; None: the study ends for the participant."""
        return None if self.then == "end" else self.then


class Practice(TomlTable, frozen=True):
    """Practice matches against a player before the real match; they do not count and are marked in stored data."""

    matches: Annotated[int, Meta(ge=0, le=MOST_ROUNDS)] = 0
    opponent: str = ""
    """Name of the player."""
    preset: str | None = None
    """Preset; None: the game's default."""
    params: dict[str, Any] = {}
    """Parameters of the game that differ from the preset's."""
    delay: Delay | None = None
    """Thinking time of the player; None: the treatment's."""

    def __post_init__(self) -> None:
        if self.matches and not self.opponent:
            raise ValueError('add an opponent for practice, such as opponent = "random-legal"')


class Study(TomlTable, frozen=True):
    """A study as defined by its file."""

    name: str
    """Name in the database and in links; the file name unless the file sets it."""
    title: str
    """Title that participants see."""
    game: str
    """Name of the game, or the resolved path of a .py file."""
    treatments: tuple[Treatment, ...]
    closing: str
    """Text below the sentence on the last page, for those who finish."""
    instructions: str = ""
    consent: str = ""
    """Text to agree to; "": no consent is required."""
    steps: tuple[Step, ...] = ()
    """Steps of a participant in order; (): consent, questions, instructions, practice, a match, questions."""
    endings: dict[Ending, str] = {}
    """Sentences on the last page that replace the default ones."""
    codes: dict[Ending, str] = {}
    """Completion codes."""
    links: dict[Ending, str] = {}
    """https links on the last page back to the panel; `{code}` stands for the completion code."""
    payment: Payment | None = None
    """Payment; None: the study says nothing about payment."""
    limits: Limits = Limits()
    pairing: Pairing = Pairing()
    models: ModelSeats = ModelSeats()
    practice: Practice = Practice()
    seed: int = 0
    """Seed of deals, seats, delays and the order of treatments."""
    questions: tuple[Question, ...] = ()
    texts: dict[str, str] = {}
    """Texts in place of the default ones, by key; see `negolab.studies.texts`."""
    external: str | None = None
    """Query parameter in which the open link must carry an outside panel's id; None: no id is required."""
    expires: Annotated[float, Meta(gt=0, le=3650)] = 30
    """Days for which a link is valid."""
    text: str = ""
    """Text of the study file, unchanged."""

    def __post_init__(self) -> None:
        check_name(self.name)
        for field in ("title", "game", "closing"):
            check_text(getattr(self, field), field)
        if self.consent:
            check_text(self.consent, "consent")
        if not self.treatments:
            raise ValueError("treatments are missing: write at least one [[treatments]]")
        check_distinct([treatment.name for treatment in self.treatments], "the treatment")
        self._check_steps()
        for field, sentences in (("endings", self.endings), ("codes", self.codes)):
            for ending, text in sentences.items():
                check_text(text, f"{field}.{ending}")
        check_distinct(list(self.codes.values()), "the code")
        check_links(self.links, self.codes)
        if self.external is not None:
            check_identifier(self.external, "external")

    def _check_steps(self) -> None:
        if not self.steps and any(not treatment.steps for treatment in self.treatments):
            check_text(self.instructions, "instructions")
        elif self.practice != Practice():
            raise ValueError(
                'in a study with steps, practice is a step: write one of kind = "practice", and omit [practice]'
            )
        elif self.questions:
            raise ValueError(
                'in a study with steps, questions are a step: write one of kind = "questions", and omit [[questions]]'
            )
        if not steps.count_common([self.pages(treatment) for treatment in self.treatments]):
            raise ValueError(
                "steps: the first step must be the same in all treatments and must not be a match; a treatment's steps "
                "replace the common ones, so list all of them"
            )
        for treatment in self.treatments:
            where = f"treatment {treatment.name!r}: " if treatment.steps else ""
            try:
                steps.check_steps(self.steps_of(treatment), self.consent, self.instructions)
            except ValueError as error:
                raise ValueError(f"{where}steps: {error}" if self.steps or where else str(error)) from None

    @property
    def consents(self) -> list[str]:
        """Consent texts of all treatments."""
        consents = (step for _, step in self.all_steps() if isinstance(step, ConsentStep))
        return list(dict.fromkeys(step.text or self.consent for step in consents))

    @property
    def cells(self) -> list[tuple[str, float]]:
        """Name and weight of every treatment, for the balanced assignment."""
        return [(treatment.name, treatment.weight) for treatment in self.treatments]

    @property
    def paired(self) -> bool:
        """True if participants play each other in at least one treatment."""
        return any(self.is_paired(treatment) for treatment in self.treatments)

    @property
    def has_fixed_texts(self) -> bool:
        """True if tables show a game's fixed texts, which call the other side a machine.

        In a study with people or language models, or with a `disclosure`, only its file says who sits across, and all
        treatments show the same words.
        """
        return not any(settings.paired or settings.has_model or settings.disclosure for settings, _ in self.matches())

    def is_paired(self, treatment: Treatment) -> bool:
        """Return True if participants of a treatment play each other in at least one match."""
        return any(
            settings.paired
            for settings, step in self.matches()
            if settings.name == treatment.name and step.kind == "match"
        )

    def all_steps(self) -> list[tuple[Treatment, Step]]:
        """Return the steps of all treatments, each with its treatment."""
        return [(treatment, step) for treatment in self.treatments for step in self.steps_of(treatment)]

    def steps_of(self, treatment: Treatment) -> tuple[Step, ...]:
        """Return the steps of a treatment's participants."""
        return treatment.steps or self.steps or tuple(self._usual_steps())

    def _usual_steps(self) -> Iterator[Step]:
        """Yield the steps of a study whose file lists none."""
        asked = {when: tuple(q for q in self.questions if q.when == when) for when in ("before", "after")}
        if self.consent:
            yield ConsentStep()
        if asked["before"]:
            yield QuestionsStep(questions=asked["before"])
        yield InstructionsStep()
        if self.practice.matches:
            fields = {name: getattr(self.practice, name) for name in self.practice.__struct_fields__}
            default = next(iter(catalog.presets(catalog.game_module(self.game))))
            yield PracticeStep(**{**fields, "preset": self.practice.preset or default})
        yield MatchStep()
        if asked["after"]:
            yield QuestionsStep(questions=asked["after"])

    def pages(self, treatment: Treatment) -> tuple[StepPage, ...]:
        """Return the pages that a treatment's participants pass through."""
        return steps.pages(self.steps_of(treatment))

    def kinds(self) -> set[str]:
        """Return the kinds of all steps."""
        return {step.kind for _, step in self.all_steps()}

    def matches(self) -> list[tuple[Treatment, RoundsStep]]:
        """Return the settings of all matches, including practice, each with its step."""
        return [(t.settings(step), step) for t, step in self.all_steps() if isinstance(step, RoundsStep)]

    def players(self) -> set[str]:
        """Return the names of the automated players, including those that take over."""
        more = self.pairing.player, self.models.player
        return {name for settings, _ in self.matches() for name in (settings.opponent, *more) if name}

    def asked(self) -> list[Question]:
        """Return the questions of all treatments, except those in quizzes."""
        asking = (step for _, step in self.all_steps() if isinstance(step, QuestionsStep))
        return list({question.name: question for step in asking for question in step.questions}.values())

    def treatment(self, name: str) -> Treatment:
        """Return the treatment called `name`; `ValueError` if there is none."""
        named = {treatment.name: treatment for treatment in self.treatments}
        if name not in named:
            raise ValueError(f"study {self.name} has no treatment {name!r}: {suggest(name, named)}")
        return named[name]

    def loaded(self, settings: Treatment) -> AnyGame:
        """Load the game with the parameters of a match; `ValueError` if they are invalid."""
        return catalog.load(self.game, settings.preset, **settings.params)


def version_hash(consent: str) -> str:
    """Return the first 12 hexadecimal digits of a consent text's SHA-256; "" for an empty text."""
    return hashlib.sha256(consent.encode()).hexdigest()[:12] if consent else ""
