"""Language models that sit across from participants: how long to wait out a failure, who takes over, and what they
cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import reduce

import msgspec

from negolab._internal.validation import Count, Positive, TomlTable, check_text
from negolab.events import Event, Rejected, Replied
from negolab.game import Seat
from negolab.ledger import Cost
from negolab.llm.endpoint.errors import BudgetReached
from negolab.protocols import MODEL_PREFIX

FALLBACK = "fallback"
"""Kind of the notes about models that were replaced."""
PAUSE = "pause"
"""Kind of the notes that a match waits for a model, or continues."""
DISCLOSURE = "disclosure"
"""Kind of the notes that keep what a participant was told about who sits across."""


class Cap(TomlTable, frozen=True):
    """A limit on what models may use; None: no limit."""

    usd: Positive | None = None
    """US dollars."""
    tokens: Count | None = None

    def reason(self, spent: Cost) -> str:
        """Return which limit is reached; "" for none."""
        if self.usd is not None and spent.usd >= self.usd:
            return f"${spent.usd:.2f} of ${self.usd:.2f}"
        if self.tokens is not None and spent.tokens >= self.tokens:
            return f"{spent.tokens:,} of {self.tokens:,} tokens"
        return ""


class ModelSeats(TomlTable, frozen=True):
    """The table `[models]` of a study file."""

    patience: Positive = 60.0
    """Seconds that a match waits for a model that cannot be reached or is late; the participant is told."""
    then: str = "end"
    """Action after that: "end" ends the study for the participant; a player's name gives the model's seat to that
    player."""
    budget: Cap = Cap()
    """Budget for the whole study."""
    budget_each: Cap = Cap()
    """Budget for the matches of one participant."""

    def __post_init__(self) -> None:
        check_text(self.then, "then")
        if self.then.startswith(MODEL_PREFIX):
            raise ValueError("then must not be a language model, which may also fail")

    @property
    def is_limited(self) -> bool:
        """True if there is a budget."""
        return self.budget != Cap() or self.budget_each != Cap()

    @property
    def player(self) -> str | None:
        """Name of the player who takes over; None: the study ends for the participant."""
        return None if self.then == "end" else self.then


class Pause(msgspec.Struct, frozen=True):
    """A match's wait for a model that cannot be reached."""

    model: str
    """Name of the model."""
    since: float
    """Start of the wait, in seconds since 1970."""


class Fallback(msgspec.Struct, frozen=True):
    """A model's seat given to somebody else, as stored in a note."""

    seat: Seat
    player: str | None
    """Name of the player who took over; None: nobody did, and the study ended for the participant."""
    reason: str


def spent(replies: Iterable[Replied]) -> Cost:
    """Return what models' replies used."""
    return reduce(Cost.plus, (Cost.of_reply(reply.reply) for reply in replies), Cost())


def describe_use(replies: Sequence[Replied], budget: Cap) -> str:
    """Describe the models' usage in a study, such as "models: n = 3 answers, 5,012 tokens, $0.12 of $20.00"."""
    took = spent(replies)
    unpriced = took.unpriced + took.uncounted
    of_tokens = "" if budget.tokens is None else f" of {budget.tokens:,}"
    of_usd = "" if budget.usd is None else f" of ${budget.usd:.2f}"
    price = f"; the price of {unpriced} is unknown" if unpriced else ""
    return f"models: n = {len(replies)} answers, {took.tokens:,}{of_tokens} tokens, ${took.usd:.2f}{of_usd}{price}"


class ModelBudget:
    """A study's budget for models, counted in total and for each participant.

    Only stored answers count: those in flight may exceed a limit by their own cost.

    Args:
        options: The limits.
    """

    def __init__(self, options: ModelSeats) -> None:
        self._options = options
        self._all = Cost()
        self._each: defaultdict[str, Cost] = defaultdict(Cost)

    def add(self, people: Iterable[str], events: Iterable[Event]) -> None:
        """Count the models' answers among the events of a match with these participants."""
        for event in events:
            reply = event.reply if isinstance(event, Replied) else event.said if isinstance(event, Rejected) else None
            if reply is not None and reply.model is not None:
                took = Cost.of_reply(reply)
                self._all = self._all.plus(took)
                for id in people:
                    self._each[id] = self._each[id].plus(took)

    def check(self, people: Collection[str]) -> None:
        """Raise `BudgetReached` if a limit is reached for the study, or for one of the participants."""
        reason = self._options.budget.reason(self._all)
        if reason:
            raise BudgetReached(f"the study's budget is used up: {reason}")
        for id in people:
            if reason := self._options.budget_each.reason(self._each[id]):
                raise BudgetReached(f"the participant's budget is used up: {reason}")
