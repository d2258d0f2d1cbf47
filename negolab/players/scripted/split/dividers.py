"""Players that state a value or a hand, or nothing, and divide by what they know. Q is the stock, v and w own and
other's values."""

from __future__ import annotations

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import other
from negolab.games.split import Message, Proposal, Split
from negolab.games.split.position import BEATEN_BY, BEATS, HIGH, Action, Hand, Seen, Units
from negolab.games.split.reading import is_sendable
from negolab.games.split.statements import Statement, announcement, truth
from negolab.players.player import Scripted
from negolab.players.scripted.common import RandomLegal
from negolab.players.scripted.split.hearing import equal, known, stated, texts


class Splitter(Scripted):
    """Says something and asks for something."""

    @override
    def act(self, game: Split, seen: Seen) -> Action:
        if seen.public.phase == "split":
            return Proposal(self.keeps(game, seen))
        text = self.says(game, seen)
        return Message(text if is_sendable(text, game.max_chars) else "")

    def says(self, game: Split, seen: Seen) -> str:
        """The next message; the empty text is a pass."""
        return ""

    def keeps(self, game: Split, seen: Seen) -> Units | None:
        """What it proposes to keep; None: no deal."""
        raise NotImplementedError


class Greedy(Splitter):
    """Says nothing and asks for all of every type. In one round of the proportional rule this is strictly dominant,
    and in a finite repetition the only subgame-perfect play."""

    @override
    def keeps(self, game: Split, seen: Seen) -> Units:
        return seen.public.stock


class Equal(Splitter):
    """Says nothing and asks for half of every type; the odd unit of types 0, 2, ... goes to the round's first speaker,
    of the others to the other seat."""

    @override
    def keeps(self, game: Split, seen: Seen) -> Units:
        return equal(seen)


class Announcer(Splitter):
    """Says once per round what it holds, or claims to hold, and then passes."""

    @override
    def says(self, game: Split, seen: Seen) -> str:
        claim = self.claim(game, seen)
        return "" if claim is None or any(texts(seen, seen.seat)) else announcement(game.items, claim)

    def claim(self, game: Split, seen: Seen) -> Statement | None:
        """What it says of itself; None where there is nothing to say."""
        return truth(seen.private)

    @override
    def keeps(self, game: Split, seen: Seen) -> Units:
        pair = known(game, seen, self.claim(game, seen))
        return equal(seen) if pair is None else self.divides(seen, *pair)

    def divides(self, seen: Seen, own: Units, others: Units) -> Units:
        """What it keeps when it knows both seats' values, or believes to."""
        raise NotImplementedError


class Welfare(Announcer):
    """Announces its value or hand once per round. If both values are known it takes all of the types it values more,
    nothing of those it values less and half on a tie, which maximises joint points; else it asks for half."""

    @override
    def divides(self, seen: Seen, own: Units, others: Units) -> Units:
        rows = zip(seen.public.stock, own, others, equal(seen), strict=True)
        return tuple([units if v > w else 0 if v < w else half for units, v, w, half in rows])


class Truthful(Announcer):
    """Announces its value or hand once per round. If both values are known it divides each type in proportion to them,
    rounded so that two such players complement each other; else it asks for half."""

    @override
    def divides(self, seen: Seen, own: Units, others: Units) -> Units:
        first = seen.public.first == seen.seat
        rows = zip(seen.public.stock, own, others, equal(seen), strict=True)
        return tuple([_proportional(units, v, w, first) if v + w else half for units, v, w, half in rows])


def _proportional(units: int, own: int, others: int, first: bool) -> int:
    """Units in proportion to the values: the first speaker's part is rounded, the other seat takes the rest."""
    f, g = (own, others) if first else (others, own)
    rounded = (2 * units * f + f + g) // (2 * (f + g))
    return rounded if first else units - rounded


class Liar(Truthful):
    """Announces a lie once per round and then divides as `truthful` would if it were true: the highest value there is,
    or the hand that beats the other's if it has heard one, else the hand that its own beats. Silent where values are
    public."""

    @override
    def claim(self, game: Split, seen: Seen) -> Statement | None:
        if game.show == "own":
            return ((game.high if game.source == "uniform" else HIGH),) * len(game.items)
        said = stated(game, seen, seen.seat)
        own: Hand | None = seen.private.hand
        if said is not None or own is None:
            return said
        heard = stated(game, seen, other(seen.seat))
        return BEATEN_BY[heard] if isinstance(heard, str) else BEATS[own]


class TitForTat(Welfare):
    """Plays as `welfare`. If in the last round the other seat asked for more of some type than its welfare share (all,
    nothing, or on a tie half, rounded up), it punishes for one round: it passes and asks for all. Needs `reveal`."""

    @override
    def check(self, game: AnyGame) -> None:
        if isinstance(game, Split) and not game.reveal:
            raise ValueError("tit-for-tat needs reveal=True: it judges the last round by both seats' values")

    @override
    def says(self, game: Split, seen: Seen) -> str:
        return "" if _was_greedy(seen) else super().says(game, seen)

    @override
    def keeps(self, game: Split, seen: Seen) -> Units:
        return seen.public.stock if _was_greedy(seen) else super().keeps(game, seen)


def _was_greedy(seen: Seen) -> bool:
    """Whether the other seat asked in the last round for more of some type than its welfare share."""
    if not seen.public.history:
        return False
    last, away = seen.public.history[-1], other(seen.seat)
    ask = last.asks[away]
    if ask is None or last.values is None:
        return False
    rows = zip(last.stock, ask, last.values[away], last.values[seen.seat], strict=True)
    return any(asked > (units if w > v else 0 if w < v else (units + 1) // 2) for units, asked, w, v in rows)


class Random(RandomLegal):
    """Draws uniformly from the game's `options` with its own generator: passes and true announcements, then any
    proposal."""
