"""Admission: the next game of a run may begin once the budget covers it in addition to those being played."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import reduce

from negolab.ledger import NOTHING, Cost
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.models import Models
from negolab.runs.matchup import Fixture, Matchup


class Admission:
    """Hand out the games of a run one by one, and keep track of what each of them may cost.

    Args:
        matchups: The matchups to play.
        models: The endpoints, with the budget if they have one.
        may_begin: Waits while the run is paused; returns False if no more games may begin.

    Attributes:
        playing: How many games of each matchup are being played.
    """

    def __init__(
        self,
        matchups: Sequence[Matchup],
        models: Models | EndpointProvider | None,
        may_begin: Callable[[], Awaitable[bool]],
    ) -> None:
        self.playing = Counter[Matchup]()
        self._models, self._may_begin = models, may_begin
        self._turn, self._news = asyncio.Lock(), asyncio.Event()
        self._dearest: defaultdict[Matchup, Cost] = defaultdict(Cost)
        """The cost of the most expensive finished game of each matchup."""
        for matchup in matchups:
            for id, stopped in matchup.stored.items():
                self.note_cost(matchup, id, stopped)

    async def next_game(self, missing: Iterator[Fixture]) -> Fixture | None:
        """Wait until the next game may begin, and return it; None if no more games may begin."""
        async with self._turn:
            game = next(missing, None)
            while game is not None and await self._may_begin():
                if self._is_affordable(game[0]):
                    return game
                self._news.clear()
                await self._news.wait()
            return None

    def wake(self) -> None:
        """Check again whether the next game may begin, because a game is over or the run's state has changed."""
        self._news.set()

    def note_cost(self, matchup: Matchup, id: str, stopped: str | None) -> None:
        """Note the cost of a game that is over, unless the run stopped it."""
        if isinstance(self._models, Models) and not stopped:
            draw = matchup.redrawn[id]
            took = self._models.policy.budget.ledger.games.get(f"{id}/{draw}" if draw else id, NOTHING)
            self._dearest[matchup] = self._dearest[matchup].max_with(took)

    def _is_affordable(self, matchup: Matchup) -> bool:
        """Return True unless the budget may be used up before the games being played and another one are finished.

        With a budget, the first game of a matchup with a model is played alone, to find out what a game costs.
        """
        if not isinstance(self._models, Models) or not self.playing.total():
            return True
        if not (budget := self._models.policy.budget).is_capped:
            return True
        if matchup.has_model and self.playing[matchup] and self._dearest[matchup] == NOTHING:
            return False
        costs = (self._dearest[each].times(count) for each, count in self.playing.items())
        return budget.has_room(reduce(Cost.plus, costs, self._dearest[matchup]))
