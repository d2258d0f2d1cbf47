"""Front: a human buyer's match as the deterministic manager runs it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Self

from negolab.fronts.bargaining.boxes import DONE
from negolab.fronts.bargaining.texts import answer, texts
from negolab.game import Ask, Reply, State
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Action, Private, Public, Seen
from negolab.match import Match
from negolab.record import Record, start

log = logging.getLogger("negolab.fronts")

AskSeller = Callable[[Seen], str | Reply | Action | None]
"""What the seller answers to its observation: words or a typed action. None or an exception count as no words."""


class Front:
    """One text per human reply. `ask_seller` answers for A. Without it somebody else does: replies go to the `match`,
    and `texts` is read when it was answered.

    >>> front = Front(game, game.start(6500, 4000), ask_seller)
    >>> front.open(); front.hear("42")
    """

    def __init__(self, game: Bargaining, state: State[Public, Private], ask_seller: AskSeller | None = None) -> None:
        self._sit(game, Match(game, start=state), ask_seller)

    def _sit(self, game: Bargaining, match: Match, ask_seller: AskSeller | None) -> None:
        self.game = game
        self.match = match
        self.late = 0
        self._ask_seller = ask_seller

    @classmethod
    def over(cls, match: Match, ask_seller: AskSeller | None = None) -> Self:
        """A front over a match that stands already, at whatever point it is."""
        if not isinstance(match.game, Bargaining):
            raise ValueError(f"this front is for bargaining, not for {type(match.game).__name__}")
        front = cls.__new__(cls)
        front._sit(match.game, match, ask_seller)
        return front

    @classmethod
    def replay(
        cls, game: Bargaining, state: State[Public, Private], record: Record, ask_seller: AskSeller | None = None
    ) -> Self:
        """The front as it stood when `record` was taken, with the same `texts`; the seller is not asked again."""
        if record.game != game or start(record) != state:
            raise ValueError(f"record {record.id} is of another game or start")
        return cls.over(Match.replay(record), ask_seller)

    # The human's side.

    def open(self) -> str:
        """The first text, with the seller's first offer where it opens; the same again whenever it is called."""
        self._seller_moves()
        if "A" in self.match.pending() and not self.match.state.public.offers:
            raise ValueError("the seller has not made its first offer")
        return self.texts[0]

    def hear(self, text: str) -> str:
        """The answer to anything the human types. After the end it is always the same sentence, and counted."""
        if self.match.ended is not None:
            self.late += 1
            return DONE
        return self._answered(lambda: self.match.submit("B", text))

    def act(self, action: Action) -> str:
        """The same for a button or a number box, without parsing; `ValueError` for an action that is not legal."""
        if self.match.ended is not None:
            return DONE
        return self._answered(lambda: self.match.act("B", action))

    @property
    def texts(self) -> list[str]:
        """Every text so far but those after the end, folded from the events."""
        return texts(self.game, self.match.events)

    @property
    def record(self) -> Record:
        return self.match.record()

    def _answered(self, reply: Callable[[], object]) -> str:
        if self._ask_seller is None:
            raise ValueError("nobody answers for the seller here: submit to the match and read `texts` afterwards")
        before = self.match.seen("B")
        reply()
        self._seller_moves()
        told: Any = self.match.told("B")
        payoffs = {} if self.match.ended is None else self.match.ended.payoffs
        return answer(told, before, self.match.seen("B"), payoffs)

    # The seller's side.

    def _seller_moves(self) -> None:
        while self._ask_seller is not None and (ask := self.match.pending().get("A")):
            self._hear_seller(self._ask_seller, ask)

    def _hear_seller(self, ask_seller: AskSeller, ask: Ask) -> None:
        try:
            reply = ask_seller(ask.seen)
        except Exception as error:
            # Counts as no words. Its text is not logged: it could hold what the seller knows.
            log.warning("the seller failed with %s; its decision counts as missing", type(error).__name__)
            reply = None
        if isinstance(reply, Awaitable):
            raise TypeError("this seller answers later: let `play` drive the match and read `texts`")
        if isinstance(reply, str | Reply):
            self.match.submit("A", reply)
        elif reply is None or not self._seller_acts(reply):
            self.match.submit("A", "")

    def _seller_acts(self, action: Action) -> bool:
        try:
            self.match.act("A", action)
        except ValueError:
            return False
        return True


def played_by(player: Any, match: Match) -> AskSeller:
    """Any player that answers at once, as the `ask_seller` of a front over `match`."""

    def ask_seller(seen: Seen) -> str | Reply | Action | None:
        reply: str | Reply | Action | None = player.reply(match.told("A"), match.pending()["A"])
        return reply

    return ask_seller
