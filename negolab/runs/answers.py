"""Usable answers of models, counted while a run is played, and a limit on the share of unusable ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from negolab.analysis.fallbacks import Cause, cause_of
from negolab.analysis.replies import replies_in
from negolab.events import Event
from negolab.game import Seat
from negolab.llm.endpoint.errors import NoAnswer, RunFailed
from negolab.record import Record

MIN_ANSWERS = 20
"""Minimum number of a model's answers before its share of unusable ones is compared with the limit."""
MAX_UNUSABLE = 0.5
"""Default limit on the share of unusable answers."""

_ADVICE = {
    "cut": "set a larger max_tokens",
    "refused": "change the persona or choose another model",
    "filtered": "change the persona or choose another service",
    "empty": "set a larger max_tokens or choose another model",
    "thoughts": "turn off the separation of reasoning from answers at the service, or choose another model",
    "called": "leave out tools in extra, or choose another model",
    "unfinished": "choose a service that reports how an answer ended",
    "bad_json": "leave out form=schema or choose another model",
    "bad_field": "leave out form=schema or choose another model",
}
_OTHER_ADVICE = "set form=schema, which shows the model what is legal, or choose another model"


class UnusableAnswers(RunFailed):
    """Too many of a model's answers could not be read, so that rules would play in its place."""


class AnswerCounter:
    """Count the answers of each model player, and stop the run if too many of them are unusable.

    An answer is unusable if it was rejected for its form, not for breaking a rule of the game or for being late.

    Args:
        limit: Largest share of unusable answers, from 0 to 1; 1 sets no limit.
    """

    def __init__(self, limit: float = MAX_UNUSABLE) -> None:
        self.limit = limit
        self._answers: Counter[str] = Counter()
        self._causes: dict[str, Counter[Cause]] = defaultdict(Counter)

    def add(self, players: Mapping[Seat, str], notes: Mapping[str, Any], events: Sequence[Event]) -> None:
        """Count the answers among the events of a match between `players`; `notes` are the notes in its header."""
        for event, reply, invalid in replies_in(events):
            if reply is None or reply.via != "model":
                continue
            player = players.get(event.seat, "?")
            self._answers[player] += 1
            if invalid is not None and invalid.kind == "format":
                self._causes[player][cause_of(invalid, notes, event.seat, reply)] += 1

    def add_missing(self, player: str, error: NoAnswer) -> None:
        """Count the requests to which a model gave no complete answer."""
        self._answers[player] += error.asked
        self._causes[player][Cause(error.invalid.kind, error.invalid.codes[0], error.tokens)] += error.asked

    def add_records(self, records: Iterable[Record]) -> None:
        """Count the answers of finished matches."""
        for record in records:
            self.add(record.header.players, record.header.notes, record.events)

    def check(self) -> None:
        """Raise `UnusableAnswers` if a model with at least `MIN_ANSWERS` answers is above the limit."""
        for player, causes in self._causes.items():
            if self._answers[player] >= MIN_ANSWERS and causes.total() > self.limit * self._answers[player]:
                raise UnusableAnswers(self._explain(player))

    def check_any_usable(self) -> None:
        """Raise `UnusableAnswers` if a model gave answers and none could be used, however few they are."""
        for player, causes in self._causes.items():
            if self.limit < 1 and causes.total() == self._answers[player]:
                raise UnusableAnswers(self._explain(player))

    def _explain(self, player: str) -> str:
        causes, answers = self._causes[player], self._answers[player]
        count = causes.total()
        ((commonest, most),) = causes.most_common(1)
        advice = _ADVICE.get(commonest.code, _OTHER_ADVICE if "form=" not in player else "choose another model")
        return (
            f"{player}: {count:,} of {answers:,} answers ({count / answers:.0%}) could not be used, {most:,} of them "
            f"{commonest}: {advice}, or continue anyway with --unusable 100% (in Python unusable=1)"
        )
