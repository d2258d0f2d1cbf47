"""Scripted allocators for split games; in docstrings, Q is the stock, and v and w are a seat's own and the other's
values.

Several are the fixed partners and bounds in the published split games (arXiv 2406.14662, 2511.19405).
"""

from __future__ import annotations

from functools import lru_cache

from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Seat, other
from negolab.games.split import EndTalk, Message, Proposal, Split
from negolab.games.split.allocation import complement, halves
from negolab.games.split.reading import is_sendable
from negolab.games.split.state import BEATEN_BY, BEATS, HIGH, LOW, Action, Hand, Seen, Units
from negolab.games.split.statements import (
    Statement,
    announcement_text,
    latest_statement,
    offer_text,
    parse_offer,
    true_statement,
)
from negolab.players.any_game import RandomLegal
from negolab.protocols import Scripted

# Messages of the current round.


def messages_this_round(seen: Seen, seat: Seat) -> list[str]:
    """Return a seat's messages in this round, in order."""
    public = seen.public
    return [sent.text for sent in public.messages if sent.round == public.round and sent.seat == seat]


def stated_by(game: Split, seen: Seen, seat: Seat) -> Statement | None:
    """Return a seat's latest readable statement about itself in this round."""
    return latest_statement(messages_this_round(seen, seat), game.items, game.show == "hand")


def known_values(game: Split, seen: Seen, own: Statement | None) -> tuple[Units, Units] | None:
    """Return the seat's own and the other's values if both are known, taking `own` for the seat's own statement.

    They are known if values are public, or if the other announced its values, or a hand that differs from the seat's
    own and so decides who wins.
    """
    public = seen.public
    if public.values is not None:
        return public.values[seen.seat], public.values[other(seen.seat)]
    heard = stated_by(game, seen, other(seen.seat))
    if own is None or heard is None:
        return None
    if isinstance(own, tuple) and isinstance(heard, tuple):
        return own, heard
    if isinstance(own, str) and isinstance(heard, str) and own != heard:
        width = len(game.items)
        wins = BEATS[own] == heard
        return ((HIGH if wins else LOW,) * width, (LOW if wins else HIGH,) * width)
    return None


def equal_share(seen: Seen) -> Units:
    """Return half of everything; two seats that do this complement each other."""
    return halves(seen.public.stock, seen.public.first == seen.seat)


def latest_offer(game: Split, seen: Seen) -> tuple[Seat, Units] | None:
    """Return the author of the round's latest readable offer, and what the author would keep."""
    public = seen.public
    for sent in reversed(public.messages):
        if sent.round != public.round:
            break
        keep = parse_offer(sent.text, game.items, public.stock)
        if keep is not None:
            return sent.seat, keep
    return None


def share_left_by_other(game: Split, seen: Seen) -> Units | None:
    """Return what the other seat's latest readable offer in this round leaves."""
    for text in reversed(messages_this_round(seen, other(seen.seat))):
        keep = parse_offer(text, game.items, seen.public.stock)
        if keep is not None:
            return complement(seen.public.stock, keep)
    return None


# Players that state a value or a hand, or nothing, and divide by what they know.


class Allocator(Scripted):
    """Base class: says something, then asks for something."""

    deterministic = True

    @override
    def act(self, game: Split, seen: Seen) -> Action:
        if seen.public.phase == "split":
            return Proposal(self.keeps(game, seen))
        text = self.says(game, seen)
        if game.is_free and self.ends_talk(game, seen, text):
            return EndTalk()
        return Message(text if is_sendable(text, game.max_chars) else "")

    def says(self, game: Split, seen: Seen) -> str:
        """Return the next message; an empty text is a pass."""
        return ""

    def ends_talk(self, game: Split, seen: Seen, text: str) -> bool:
        """Return True to end free talk instead of saying `text`: there is nothing to say, and the other has spoken."""
        return not text and bool(messages_this_round(seen, other(seen.seat)))

    def keeps(self, game: Split, seen: Seen) -> Units | None:
        """Return what to propose to keep; None for no deal."""
        raise NotImplementedError


class Greedy(Allocator):
    """Asks for everything: all of every type, and says nothing. In one round under the proportional rule, this is
    strictly dominant; in a finite repetition, it is the only subgame-perfect play."""

    @override
    def keeps(self, game: Split, seen: Seen) -> Units:
        return seen.public.stock


class Equal(Allocator):
    """Asks for half: of every type, and says nothing; the odd unit goes to the round's first speaker for types 0, 2,
    ... and to the other seat for the others."""

    @override
    def keeps(self, game: Split, seen: Seen) -> Units:
        return equal_share(seen)


class Announcer(Allocator):
    """Base class: says once per round what it holds, or claims to hold, and then passes."""

    @override
    def says(self, game: Split, seen: Seen) -> str:
        claim = self.claim(game, seen)
        return (
            "" if claim is None or any(messages_this_round(seen, seen.seat)) else announcement_text(game.items, claim)
        )

    def claim(self, game: Split, seen: Seen) -> Statement | None:
        """Return what to say about oneself; None if there is nothing to say."""
        return true_statement(seen.private)

    @override
    def keeps(self, game: Split, seen: Seen) -> Units:
        pair = known_values(game, seen, self.claim(game, seen))
        return equal_share(seen) if pair is None else self.divides(seen, *pair)

    def divides(self, seen: Seen, own: Units, others: Units) -> Units:
        """Return what to keep when both seats' values are known or believed to be known."""
        raise NotImplementedError


class Welfare(Announcer):
    """Divides by the higher value: announces its value or hand once per round. If both values are known, it takes all
    of the types it values more, nothing of those it values less and half on a tie, which maximizes joint points;
    otherwise it asks for half."""

    @override
    def divides(self, seen: Seen, own: Units, others: Units) -> Units:
        rows = zip(seen.public.stock, own, others, equal_share(seen), strict=True)
        return tuple([units if v > w else 0 if v < w else half for units, v, w, half in rows])


class Truthful(Announcer):
    """Divides in proportion: announces its value or hand once per round. If both values are known, it divides each type
    in proportion to them, rounded so that two such players complement each other; otherwise it asks for half."""

    @override
    def divides(self, seen: Seen, own: Units, others: Units) -> Units:
        first = seen.public.first == seen.seat
        rows = zip(seen.public.stock, own, others, equal_share(seen), strict=True)
        return tuple([_proportional(units, v, w, first) if v + w else half for units, v, w, half in rows])


def _proportional(units: int, own: int, others: int, first: bool) -> int:
    """Divide units in proportion to the values: the first speaker's part is rounded, and the other seat takes the
    rest."""
    f, g = (own, others) if first else (others, own)
    rounded = (2 * units * f + f + g) // (2 * (f + g))
    return rounded if first else units - rounded


class Liar(Truthful):
    """Lies about its value: announces a lie once per round and then divides as `truthful` would if it were true. The
    lie is the highest value there is, or the hand that beats the other's if it has heard one, or else the hand that its
    own beats. Silent if values are public."""

    @override
    def claim(self, game: Split, seen: Seen) -> Statement | None:
        if game.show == "own":
            return ((game.high if game.source == "uniform" else HIGH),) * len(game.items)
        said = stated_by(game, seen, seen.seat)
        own: Hand | None = seen.private.hand
        if said is not None or own is None:
            return said
        heard = stated_by(game, seen, other(seen.seat))
        return BEATEN_BY[heard] if isinstance(heard, str) else BEATS[own]


class TitForTat(Welfare):
    """Punishes greed for a round: plays like `welfare`. If, in the last round, the other seat asked for more of some
    type than its welfare share (all, nothing or, on a tie, half rounded up), it punishes for one round: it passes and
    asks for all. Needs `reveal`."""

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
    """Return True if, in the last round, the other seat asked for more of some type than its welfare share."""
    if not seen.public.history:
        return False
    last, away = seen.public.history[-1], other(seen.seat)
    ask = last.asks[away]
    if ask is None or last.values is None:
        return False
    rows = zip(last.stock, ask, last.values[away], last.values[seen.seat], strict=True)
    return any(asked > (units if w > v else 0 if w < v else (units + 1) // 2) for units, asked, w, v in rows)


# Players that make offers, for the exact rule with private values.


class OfferMaker(Allocator):
    """Base class: talks in offers and proposes its part of the latest one, whoever made it."""

    @override
    def check(self, game: AnyGame) -> None:
        if isinstance(game, Split) and (game.rule != "exact" or game.show != "own"):
            raise ValueError('players that make offers need rule="exact" and show="own"')

    @override
    def says(self, game: Split, seen: Seen) -> str:
        left = share_left_by_other(game, seen)
        if left is not None and self.accepts(game, seen, points_of(left, _own_values(seen))):
            return f"Agreed. {offer_text(game.items, left)}"
        return offer_text(game.items, self.demands(game, seen))

    @override
    def ends_talk(self, game: Split, seen: Seen, text: str) -> bool:
        """Return True if its own latest offer keeps what the other's latest one leaves: they agreed."""
        own = [parse_offer(said, game.items, seen.public.stock) for said in messages_this_round(seen, seen.seat)[-1:]]
        return own != [] and own[0] is not None and own[0] == share_left_by_other(game, seen)

    def accepts(self, game: Split, seen: Seen, gain: int) -> bool:
        """Return True to agree to an offer that leaves it `gain` points."""
        raise NotImplementedError

    def demands(self, game: Split, seen: Seen) -> Units:
        """Return the units that it offers to keep."""
        raise NotImplementedError

    @override
    def keeps(self, game: Split, seen: Seen) -> Units | None:
        offer = latest_offer(game, seen)
        if offer is None:
            return equal_share(seen)
        author, keep = offer
        part = keep if author == seen.seat else complement(seen.public.stock, keep)
        return part if points_of(part, _own_values(seen)) > 0 else None


def _own_values(seen: Seen) -> Units:
    assert seen.private.values is not None
    return seen.private.values


class Agreeable(OfferMaker):
    """Agrees easily: to any offer that leaves it something; until then, it asks for all units of the types it values.
    For the exact rule with private values."""

    @override
    def accepts(self, game: Split, seen: Seen, gain: int) -> bool:
        return gain > 0

    @override
    def demands(self, game: Split, seen: Seen) -> Units:
        return tuple([units if value else 0 for units, value in zip(seen.public.stock, _own_values(seen), strict=True)])


class Concede(OfferMaker):
    """Concedes evenly: its k-th of K messages aspires to 1 - k / (2 K) of what everything is worth to it. It agrees to
    an offer that leaves it that much; otherwise, it offers to keep the fewest units worth that much. For the exact rule
    with private values."""

    @override
    def accepts(self, game: Split, seen: Seen, gain: int) -> bool:
        return gain >= self.aspiration(game, seen)

    @override
    def demands(self, game: Split, seen: Seen) -> Units:
        return smallest_share(seen.public.stock, _own_values(seen), self.aspiration(game, seen))

    def aspiration(self, game: Split, seen: Seen) -> int:
        """Return the smallest whole number of points that reaches the aspired share."""
        k, whole = len(messages_this_round(seen, seen.seat)) + 1, 2 * game.messages_each
        return -(-points_of(seen.public.stock, _own_values(seen)) * (whole - k) // whole)


@lru_cache(maxsize=4096)
def smallest_share(stock: Units, values: Units, least: int) -> Units:
    """Return the division worth at least `least` (which must be attainable) that keeps the fewest units, then the
    fewest points, then comes first in lexicographic order."""
    units, missing = 0, least
    for value, there in sorted(zip(values, stock, strict=True), reverse=True):
        taken = min(there, -(-missing // value)) if missing > 0 and value else 0
        units, missing = units + taken, missing - taken * value
    best = min((points_of(keep, values), keep) for keep in _divisions(stock, units) if points_of(keep, values) >= least)
    return best[1]


def _divisions(stock: Units, units: int) -> list[Units]:
    """List every way to keep exactly `units` units."""
    if not stock:
        return [()] if units == 0 else []
    rest = sum(stock[1:])
    return [
        (n, *tail)
        for n in range(max(0, units - rest), min(stock[0], units) + 1)
        for tail in _divisions(stock[1:], units - n)
    ]


def points_of(units: Units, values: Units) -> int:
    """Return the points for whole units."""
    return sum(n * value for n, value in zip(units, values, strict=True))


PLAYERS: dict[str, type[Scripted]] = {
    "truthful": Truthful,
    "greedy": Greedy,
    "equal": Equal,
    "welfare": Welfare,
    "liar": Liar,
    "tit-for-tat": TitForTat,
    "random": RandomLegal,
    "agreeable": Agreeable,
    "concede": Concede,
}
