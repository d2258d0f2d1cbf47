"""Scripted negotiators for balloon: aspiration levels over time, and a search for sets near the other's proposals.

A set's *worth* is its importance to the seat as a share of that of the *ideal*, the best set within the LIMIT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Seat, other
from negolab.games.balloon import Balloon, Say
from negolab.games.balloon.effects import fill_up, open_proposals, total
from negolab.games.balloon.prompt import Phrases, language
from negolab.games.balloon.state import Names, Seen
from negolab.protocols import Scripted
from negolab.theory.frontier import best_set


class SeatAnalysis:
    """Quantities that a seat computes from its observation: worths of sets, the ideal set, proposals so far, and
    messages."""

    def __init__(self, game: Balloon, seen: Seen) -> None:
        self.game = game
        self.seen = seen
        self.terms = seen.public.terms
        self.own = seen.private.importance
        self.theirs = open_proposals(seen)
        self.ideal: Names = best_set(self.terms.effort, self.own, self.terms.limit)
        self._top = total(self.own, self.ideal)

    def worth(self, names: Names) -> float:
        """Return a set's worth; 1 if the seat values nothing."""
        return total(self.own, names) / self._top if self._top else 1.0

    def fits(self, names: Iterable[str]) -> bool:
        return total(self.terms.effort, tuple(names)) <= self.terms.limit

    @cached_property
    def by_density(self) -> list[str]:
        """Items by the seat's importance per effort, highest first."""
        return sorted(self.terms.effort, key=lambda item: -self.own[item] / self.terms.effort[item])

    def proposals(self, seat: Seat, most: int = 2) -> list[Names]:
        """Return the latest `most` sets that `seat` proposed in accepted messages, newest first."""
        latest: list[Names] = []
        for message in reversed(self.seen.public.messages):
            if message.seat == seat and message.accepted:
                latest += reversed(self.game.reader.read_delivered(message.text).propose)
            if len(latest) >= most:
                break
        return latest[:most]

    def toward(self, wanted: Names, least: float) -> Names:
        """Return a set worth at least `least`, as close to `wanted` as exchanges from the ideal lead."""
        kept = self.ideal
        for item in self.by_density:
            if item in wanted and item not in kept:
                exchanged = self._exchange(kept, item, wanted)
                if exchanged is not None and self.worth(exchanged) >= least:
                    kept = exchanged
        return fill_up(kept, self.by_density, self.terms)

    def _exchange(self, kept: Names, item: str, wanted: Names) -> Names | None:
        """Add `item` in exchange for the seat's least dense items that are not `wanted`; None if it still does not
        fit."""
        names = kept | {item}
        for dropped in reversed(self.by_density):
            if self.fits(names):
                break
            if dropped in names and dropped not in wanted:
                names -= {dropped}
        return names if self.fits(names) else None

    # Messages.

    @property
    def phrases(self) -> Phrases:
        return language(self.terms.language).phrases

    def agree(self, names: Names) -> Say:
        """Write an agreement to an open set."""
        limit = self.terms.empty_turn_limit
        # The reference counts agreeing as one more message without PROPOSAL, and such a message can lose the match.
        late = self.game.rules == "reference" and limit is not None and self.seen.public.empty >= limit
        return self.game.message(self.seen, agree=[names], propose=[names] if late else [], argument=self.phrases.agree)

    def propose(self, names: Names) -> Say:
        """Write a proposal that also refuses open sets worth less."""
        if not names and self.game.rules == "reference":
            return self.game.options(self.seen)[0]  # the reference has no empty set
        worse = [open for open in self.theirs if self.worth(open) < self.worth(names)]
        return self.game.message(self.seen, refuse=worse, propose=[names], argument=self.phrases.propose)


class Negotiator(Scripted):
    """Base class: agrees to the other seat's best open set if it is good enough, otherwise proposes one."""

    deterministic = True

    @override
    def check(self, game: AnyGame) -> None:
        if not isinstance(game, Balloon):
            raise ValueError(f"{type(self).__name__} can play only balloon, not {type(game).__name__}")

    @override
    def act(self, game: AnyGame, seen: Seen) -> Say:
        assert isinstance(game, Balloon)
        desk = SeatAnalysis(game, seen)
        mine = self.proposal(desk)
        offers = [names for names in desk.theirs if desk.fits(names)]
        offer = max(offers, key=desk.worth, default=None)
        if offer is not None and self.accepts(desk, desk.worth(offer), desk.worth(mine)):
            return desk.agree(offer)
        return desk.propose(mine)

    def proposal(self, desk: SeatAnalysis) -> Names:
        """Return the set to propose now."""
        return desk.ideal

    def accepts(self, desk: SeatAnalysis, offered: float, mine: float) -> bool:
        """Return True to agree to a set worth `offered` when its own proposal is worth `mine`."""
        raise NotImplementedError


class Stubborn(Negotiator):
    """Concedes nothing: always proposes its ideal set, and agrees only to a set worth at least 0.9 of it. Ours; the
    hard end of the range."""

    @override
    def accepts(self, desk: SeatAnalysis, offered: float, mine: float) -> bool:
        return offered >= 0.9


class Time(Negotiator):
    """Concedes along a curve: from its ideal set as messages go by (Faratin, Sierra and Jennings 1998). After t
    accepted messages, it aims at `1 - (1 - floor) * min(1, t / horizon) ** (1 / beta)` of its ideal, proposes a set
    worth that much and as close to the other's last proposal as exchanges lead, and agrees to a set worth at least its
    aim or its own proposal. `beta` below 1 holds out (Boulware), above 1 gives in early (Conceder). Without `horizon`,
    it uses the turn limit or 20."""

    def __init__(self, *, beta: float = 1.0, floor: float = 0.5, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(seed=seed)
        _require_number("beta", beta, lambda x: x > 0, "above 0")
        _require_number("floor", floor, lambda x: 0 <= x <= 1, "from 0 to 1")
        _require_number("horizon", 1 if horizon is None else horizon, lambda x: x >= 1, "at least 1")
        self.beta, self.floor, self.horizon = beta, floor, horizon

    def aim(self, desk: SeatAnalysis) -> float:
        """Return the worth to aim at now."""
        horizon = self.horizon or desk.terms.turn_limit or 20
        spent = min(1.0, desk.seen.public.turn / horizon)
        return float(1 - (1 - self.floor) * spent ** (1 / self.beta))

    @override
    def proposal(self, desk: SeatAnalysis) -> Names:
        return toward_last_offer(desk, self.aim(desk))

    @override
    def accepts(self, desk: SeatAnalysis, offered: float, mine: float) -> bool:
        return offered >= self.aim(desk) or offered >= mine


class Boulware(Time):
    """Concedes slowly: hardly anything until shortly before its horizon, like `time` with beta 0.2."""

    def __init__(self, *, floor: float = 0.5, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(beta=0.2, floor=floor, horizon=horizon, seed=seed)


class Linear(Time):
    """Concedes evenly: the same amount with every message, like `time` with beta 1."""

    def __init__(self, *, floor: float = 0.5, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(beta=1.0, floor=floor, horizon=horizon, seed=seed)


class Conceder(Time):
    """Concedes at once: nearly everything in its first messages, like `time` with beta 5."""

    def __init__(self, *, floor: float = 0.5, horizon: int | None = None, seed: int = 0) -> None:
        super().__init__(beta=5.0, floor=floor, horizon=horizon, seed=seed)


class Agreeable(Linear):
    """Agrees easily: to any set worth at least half its ideal; proposes its ideal first and then proposes like
    `linear`. Ours."""

    @override
    def proposal(self, desk: SeatAnalysis) -> Names:
        return super().proposal(desk) if desk.proposals(desk.seen.seat, 1) else desk.ideal

    @override
    def accepts(self, desk: SeatAnalysis, offered: float, mine: float) -> bool:
        return offered >= 0.5


class SwapTitForTat(Negotiator):
    """Repays concessions: opens with its ideal, then gives up as much worth as it gained between the other's last two
    proposals, never going below `floor`; takes no step back. Agrees to a set worth at least its own next proposal.
    Ours, after the behavior-dependent tactics of Faratin, Sierra and Jennings (1998)."""

    def __init__(self, *, floor: float = 0.5, seed: int = 0) -> None:
        super().__init__(seed=seed)
        _require_number("floor", floor, lambda x: 0 <= x <= 1, "from 0 to 1")
        self.floor = floor

    @override
    def proposal(self, desk: SeatAnalysis) -> Names:
        mine = desk.proposals(desk.seen.seat, 1)
        if not mine:
            return desk.ideal
        theirs = [desk.worth(names) for names in desk.proposals(other(desk.seen.seat))]
        gained = max(0.0, theirs[0] - theirs[1]) if len(theirs) == 2 else 0.0
        return toward_last_offer(desk, max(self.floor, desk.worth(mine[0]) - gained))

    @override
    def accepts(self, desk: SeatAnalysis, offered: float, mine: float) -> bool:
        return offered >= mine


def _require_number(name: str, value: object, fits: Callable[[float], bool], must: str) -> None:
    if not isinstance(value, int | float) or not fits(value):
        raise ValueError(f"{name} must be {must}, not {value!r}")


def toward_last_offer(desk: SeatAnalysis, least: float) -> Names:
    """Return a set worth at least `least` and close to the other's last proposal; the ideal if there is none."""
    last = desk.proposals(other(desk.seen.seat), 1)
    return desk.toward(last[0], least) if last else desk.ideal


PLAYERS: dict[str, type[Scripted]] = {
    "linear": Linear,
    "boulware": Boulware,
    "stubborn": Stubborn,
    "agreeable": Agreeable,
    "time": Time,
    "conceder": Conceder,
    "swap-tit-for-tat": SwapTitForTat,
}
