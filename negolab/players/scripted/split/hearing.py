"""What a seat has heard in a round: statements, offers, and what they let it know."""

from __future__ import annotations

from negolab.game import Seat, other
from negolab.games.split import Split
from negolab.games.split.allocation import complement, halves
from negolab.games.split.position import BEATS, HIGH, LOW, Seen, Units
from negolab.games.split.statements import Statement, heard_offer, latest


def texts(seen: Seen, seat: Seat) -> list[str]:
    """The messages of a seat in this round, in order."""
    public = seen.public
    return [sent.text for sent in public.messages if sent.round == public.round and sent.seat == seat]


def stated(game: Split, seen: Seen, seat: Seat) -> Statement | None:
    """What a seat has said of itself in this round, the latest readable statement."""
    return latest(texts(seen, seat), game.items, game.show == "hand")


def known(game: Split, seen: Seen, own: Statement | None) -> tuple[Units, Units] | None:
    """(v, w) if both are known, taking `own` for what the seat holds: values are public, or the other announced its
    values, or a hand that differs from the own one and so decides who wins."""
    public = seen.public
    if public.values is not None:
        return public.values[seen.seat], public.values[other(seen.seat)]
    heard = stated(game, seen, other(seen.seat))
    if own is None or heard is None:
        return None
    if isinstance(own, tuple) and isinstance(heard, tuple):
        return own, heard
    if isinstance(own, str) and isinstance(heard, str) and own != heard:
        width = len(game.items)
        wins = BEATS[own] == heard
        return ((HIGH if wins else LOW,) * width, (LOW if wins else HIGH,) * width)
    return None


def equal(seen: Seen) -> Units:
    """Half of everything; two seats that do this always complement each other."""
    return halves(seen.public.stock, seen.public.first == seen.seat)


def offered(game: Split, seen: Seen) -> tuple[Seat, Units] | None:
    """Who made the round's latest readable offer, and what its author would keep."""
    public = seen.public
    for sent in reversed(public.messages):
        if sent.round != public.round:
            break
        keep = heard_offer(sent.text, game.items, public.stock)
        if keep is not None:
            return sent.seat, keep
    return None


def left_by_other(game: Split, seen: Seen) -> Units | None:
    """What the other seat's latest readable offer of this round leaves."""
    for text in reversed(texts(seen, other(seen.seat))):
        keep = heard_offer(text, game.items, seen.public.stock)
        if keep is not None:
            return complement(seen.public.stock, keep)
    return None
