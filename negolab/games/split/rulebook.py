"""The rules of a split game in words: protocol, values, allocation, and what becomes public."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from negolab.game import Seat
from negolab.games.split.position import HIGH, LOW

if TYPE_CHECKING:
    from negolab.games.split.rules import Split


def rules(game: Split, seat: Seat) -> str:
    """Everything that holds for the whole match, as `seat` is told it."""
    total = "1 round" if game.rounds == 1 else f"{game.rounds} rounds"
    aim = "Your aim is to earn as many points as you can over the whole match."
    head = f"You are player {seat} in a game between players A and B. It has {total}. {aim}"
    parts = [head, _protocol(game), _worth(game), _allocation(game), _publication(game), _attempts(game)]
    return "\n".join(parts)


def _protocol(game: Split) -> str:
    kinds = " and ".join(filter(None, [", ".join(game.items[:-1]), game.items[-1]]))
    goods = f"In each round a stock of {kinds} is to be divided between you."
    if not game.quota:
        return (
            f"{goods} There is no talk: you both say privately and at the same time how many units you keep. "
            "Who counts as the first speaker alternates from round to round."
        )
    each = "one message" if game.quota == 1 else f"{game.quota} messages"
    return (
        f"{goods} First you talk in turns: each of you sends {each}, which the other reads. Who speaks first "
        "alternates from round to round. Then you both say privately and at the same time how many units you keep."
    )


def _worth(game: Split) -> str:
    parts = [
        "You earn the units you receive times what one unit is worth to you, summed over the types.",
        _VALUES[game.source](game),
        _VISIBLE[game.show],
    ]
    if game.source not in ("rps", "fixed"):
        often = "anew for each round" if game.redraw == "all" else "once for the whole match"
        parts.append(f"Values are drawn {often}.")
    return " ".join(parts)


def _fixed(game: Split) -> str:
    high, low = (listed(game.items, row, "=") for row in game.fixed)
    who = {
        "fixed": "A has the first, B the second",
        "random": "a coin flip says in each round who has which",
        "alternate": "whoever speaks first in a round has the second",
    }
    return f"There are two rows of values, {high} and {low}: {who[game.roles]}."


def _hands(game: Split) -> str:
    turns = " The winner changes from round to round." if game.roles == "alternate" else ""
    return (
        "In each round both of you are dealt different hands of rock-paper-scissors (rock beats scissors, scissors "
        f"beats paper, paper beats rock). Every unit is worth {HIGH} to the winner and {LOW} to the loser.{turns}"
    )


def _chance(game: Split, free: str) -> str:
    """How values are drawn: freely, or from the draws that meet the conditions."""
    conditions = []
    if game.equal_totals:
        conditions.append("your values add up to the same total as the other's")
    if game.conflict:
        conditions.append("the two of you differ in at least one value")
    if not conditions:
        return f"{free}."
    return f"such that {' and '.join(conditions)}; all such draws are equally likely."


_VALUES: dict[str, Callable[[Split], str]] = {
    "uniform": lambda game: (
        f"Each of you has an own value for each type, a whole number drawn from {game.low} to {game.high}, "
        + _chance(game, "all equally likely and independent of one another")
    ),
    "rps": _hands,
    "fixed": _fixed,
    "ten_one_ties": lambda game: (
        f"Each of you values each type at {HIGH} or {LOW} a unit, " + _chance(game, "equally likely and independently")
    ),
    "ten_one_exclusive": lambda game: (
        f"Each type is worth {HIGH} a unit to one of you and {LOW} to the other, " + _chance(game, "by chance")
    ),
    "dond": lambda _: (
        "Each of you has an own value for each type, a whole number from 0; your values add up to 10, and so do the "
        "other's. Every type is worth something to at least one of you, and some type to both."
    ),
    "corpus": lambda _: (
        "Each of you has an own value for each type, a whole number from 0; the whole stock is worth 10 points to you "
        "and 10 points to the other. Every type is worth something to at least one of you, and some type to both."
    ),
    "contexts": lambda _: "The stock and the values of both of you are drawn from a list of cases that you do not see.",
}
_VISIBLE = {
    "own": "You see your own values, not the other's.",
    "both": "The values of both are public.",
    "hand": "You see your own hand, not the other's.",
}


def _allocation(game: Split) -> str:
    if game.rule == "exact":
        return (
            "It is a deal only if the two proposals agree exactly: for every type what you keep and what the other "
            "keeps must add up to the whole stock. Otherwise both of you get 0 points in this round."
        )
    return (
        "For each type, if the two proposals together do not exceed the stock, each of you gets what it asked for and "
        "units nobody asked for are lost. If they ask for more than the stock, it is divided in proportion to what "
        "each of you asked for: both amounts are scaled down until they add up to the stock."
    )


def _publication(game: Split) -> str:
    own = "hands, values and points" if game.show == "hand" else "values and points"
    also = f", and {own} of both" if game.reveal else " only"
    return f"After each round you are both told both proposals and the shares{also}."


def _attempts(game: Split) -> str:
    none = "no deal" if game.rule == "exact" else "0 units of every type"
    filled = f"an empty message or {none} is filled in" if game.quota else f"{none} is filled in"
    then = "the match ends and the round in progress pays nothing" if game.fallback == "end" else filled
    if game.attempts == 1:
        return f"If a reply of yours cannot be read, {then}."
    return (
        f"A reply that cannot be read is refused with the reason; after {game.attempts} such replies in a turn {then}."
    )


def listed(items: tuple[str, ...], row: Sequence[float], sign: str = "") -> str:
    """`4 hats, 6 books`, or with a sign `hats=4, books=6`."""
    pairs = zip(items, map(decimal, row), strict=True)
    return ", ".join(f"{item}{sign}{number}" if sign else f"{number} {item}" for item, number in pairs)


def decimal(number: float) -> str:
    """At most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
