"""Plans of the bots of a trial: most go through the study, some leave, are late or answer wrong, each at a page."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import zip_longest
from typing import Literal, NamedTuple

from negolab.studies.steps import QuizStep, StepPage
from negolab.studies.study_config import Study

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


class Plan(NamedTuple):
    """The path of one bot."""

    kind: Kind = "through"
    position: int = -1
    """Number of the page where it does so, from 0; -1: nowhere in particular."""


def plans(study: Study, n: int) -> list[Plan]:
    """Return the plans of `n` bots in random order, drawn from the study's seed.

    At most half of them do something else than to go through, so that pairs and payments are tried as well.
    """
    rng = random.Random(f"{study.seed}:plans")
    special = list(_special(study))[: n // 2]
    chosen = special + [Plan()] * (n - len(special))
    rng.shuffle(chosen)
    return chosen


def untried(study: Study, n: int) -> int:
    """Return the number of bots that would try everything; 0 if `n` do."""
    needed = 2 * len(list(_special(study)))
    return needed if needed // 2 > n // 2 else 0


def _special(study: Study) -> Iterator[Plan]:
    """Yield all plans but the usual one, the most telling first."""
    sequences = [study.pages(treatment) for treatment in study.treatments]
    longest = max(sequences, key=len)
    lasts = [max(i for i, page in enumerate(pages) if page.step.kind == "match") for pages in sequences]
    if "consent" in study.kinds():
        yield Plan("declines")
    quizzes = [page.step for pages in sequences for page in pages if isinstance(page.step, QuizStep)]
    if any(quiz.attempts != 1 for quiz in quizzes):
        yield Plan("errs")
    if any(quiz.attempts is not None for quiz in quizzes):
        yield Plan("fails")
    limited = [i for i in range(len(longest)) if any(_is_limited(study, pages, i) for pages in sequences)]
    by_page = zip_longest(
        # A partner who closes the page is told apart from one who leaves by limits alone.
        [
            Plan("closes" if page.has_match or i % 2 or i > max(lasts) else "leaves", i)
            for i, page in enumerate(longest)
        ],
        [Plan("late", i) for i in limited],
    )
    yield from (plan for pair in by_page for plan in pair if plan is not None)
    yield Plan("reloads", max(lasts))
    yield Plan("leaves", max(lasts))


def _is_limited(study: Study, pages: tuple[StepPage, ...], position: int) -> bool:
    """Return True if a limit runs at a page."""
    if position >= len(pages):
        return False
    page = pages[position]
    return page.step.seconds is not None or (page.has_match and (study.limits.reply or study.limits.match) is not None)
