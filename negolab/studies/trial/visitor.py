"""Behavior of anyone in a trial, through the service or in a browser: answers to questions, legal replies, and scripts.
Most go through the study; some leave, are late or answer wrong, each on one page."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from negolab.catalog import AnyGame
from negolab.game import Observation
from negolab.players.any_game import RandomLegal
from negolab.studies.questions import Question, QuizQuestion, write_number
from negolab.studies.steps import QuestionsStep, QuizStep, StepPage
from negolab.studies.study_config import Study

MOST_REPLIES = 500
"""Number of replies after which a match counts as endless."""


Kind = Literal["through", "errs", "fails", "declines", "leaves", "closes", "late", "reloads"]
DESCRIPTIONS: dict[Kind, str] = {
    "through": "went through",
    "errs": "wrong once in the quiz",
    "fails": "always wrong in the quiz",
    "declines": "no consent",
    "leaves": 'pressed "leave"',
    "closes": "closed the page",
    "late": "too slow at a page",
    "reloads": "left and came back",
}


class BotScript(NamedTuple):
    """The acts of a participant that do not lead to the next page."""

    kind: Kind = "through"
    position: int = -1
    """Number of the page for these acts, from 0; -1: none in particular."""


THROUGH = BotScript()


def scripts(study: Study, n: int) -> list[BotScript]:
    """Return the scripts of `n` bots in random order, drawn from the study's seed.

    At most half of them do anything other than go through, so that pairs and payments are tried too.
    """
    rng = random.Random(f"{study.seed}:plans")
    special = list(_special(study))[: n // 2]
    chosen = special + [THROUGH] * (n - len(special))
    rng.shuffle(chosen)
    return chosen


def untried(study: Study, n: int) -> int:
    """Return the number of bots needed to try everything; 0 if `n` suffice."""
    needed = 2 * len(list(_special(study)))
    return needed if needed // 2 > n // 2 else 0


def _special(study: Study) -> Iterator[BotScript]:
    """Yield all scripts except the usual one, the most informative first."""
    sequences = [study.pages(treatment) for treatment in study.treatments]
    longest = max(sequences, key=len)
    lasts = [max(i for i, page in enumerate(pages) if page.step.kind == "match") for pages in sequences]
    if "consent" in study.kinds():
        yield BotScript("declines")
    quizzes = [page.step for pages in sequences for page in pages if isinstance(page.step, QuizStep)]
    if any(quiz.attempts != 1 for quiz in quizzes):
        yield BotScript("errs")
    if any(quiz.attempts is not None for quiz in quizzes):
        yield BotScript("fails")
    limited = [i for i in range(len(longest)) if any(_is_limited(study, pages, i) for pages in sequences)]
    by_page = zip_longest(
        # Only limits distinguish a partner who closes the page from one who leaves.
        [
            BotScript("closes" if page.has_match or i % 2 or i > max(lasts) else "leaves", i)
            for i, page in enumerate(longest)
        ],
        [BotScript("late", i) for i in limited],
    )
    yield from (script for pair in by_page for script in pair if script is not None)
    yield BotScript("reloads", max(lasts))
    yield BotScript("leaves", max(lasts))


def _is_limited(study: Study, pages: tuple[StepPage, ...], position: int) -> bool:
    """Return True if a limit applies to a page."""
    if position >= len(pages):
        return False
    page = pages[position]
    return page.step.seconds is not None or (page.has_match and (study.limits.reply or study.limits.match) is not None)


class Stuck(Exception):
    """A participant of a trial cannot continue; the text says why."""


class Visitor:
    """A participant of a trial.

    Args:
        seed: Seed of the participant's answers and replies.
        script: What the participant does.
    """

    def __init__(self, seed: str, script: BotScript = THROUGH) -> None:
        self.script = script
        self._rng = random.Random(seed)
        self._player = RandomLegal(seed=self._rng.randrange(2**31))
        self._replies: Counter[str] = Counter()

    def answers(self, step: QuizStep | QuestionsStep, attempt: int = 1) -> dict[str, Any]:
        """Return answers to a step's questions by name; those to a quiz are right or wrong, as the script says."""
        if isinstance(step, QuestionsStep):
            return {question.name: _random_answer(question, self._rng) for question in step.questions}
        errs = self.script.kind == "fails" or (self.script.kind == "errs" and attempt == 1)
        return {question.name: _wrong_answer(question) if errs else question.answer for question in step.questions}

    def reply(self, game: AnyGame, seen: Observation[Any, Any]) -> str:
        """Return a legal reply, given what a seat sees."""
        return game.say(self._player.act(game, seen))

    def count_reply(self, match: str) -> None:
        """Raise `Stuck` before more than `MOST_REPLIES` in a match."""
        self._replies[match] += 1
        if self._replies[match] > MOST_REPLIES:
            raise Stuck(f"a match did not end within {MOST_REPLIES} replies")


def _random_answer(question: Question, rng: random.Random) -> Any:
    """Return a valid answer to a question; one that may be left blank sometimes is."""
    if not question.required and rng.random() < 0.1:
        return {} if question.kind == "grid" else ""
    match question.kind:
        case "text":
            return "An answer by a bot."
        case "number":
            return write_number(_number(question, rng))
        case "choice":
            return rng.choice(question.choices)
        case "several":
            return rng.sample(question.choices, rng.randint(1, len(question.choices)))
        case "grid":
            return {row: rng.choice(question.choices) for row in question.rows}


def _number(question: Question, rng: random.Random) -> float:
    """Return a number within a question's limits, a whole number if there is one."""
    least = question.least if question.least is not None else min(0.0, question.most or 0.0)
    most = question.most if question.most is not None else least + 100
    number = round(rng.uniform(least, most))
    return number if least <= number <= most else least


def _wrong_answer(question: QuizQuestion) -> str:
    """Return a valid answer that is wrong."""
    if question.kind == "choice":
        return next(choice for choice in question.choices if choice != question.answer)
    limits = [limit for limit in (question.least, question.most) if limit is not None]
    candidates = [float(question.answer) + 1, float(question.answer) - 1, *limits, float(question.answer)]
    least, most = question.least, question.most
    within = [c for c in candidates if (least is None or c >= least) and (most is None or c <= most)]
    return next((c for c in map(write_number, within) if not question.is_right(c)), question.answer)
