"""The moves of trading: reply to the waiting offer, then offer amounts of single goods within what can be given."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import UNSET

from negolab.game import Invalid
from negolab.games.trading import state
from negolab.games.trading.offers import canonical_text
from negolab.games.trading.parameters import Parameters
from negolab.games.trading.state import GOODS, Goods, Seen, can_accept, holdings_after, incoming_offer, to_goods
from negolab.games.trading.words import WORDS
from negolab.moves import Amounts, Choice, Either, Field, Group, Move, Moves, Nothing, Words, such_as

_TOKENS = {"accept": "[Accept]", "deny": "[Deny]", "none": ""}
_BRACKETS = str.maketrans("[]", "()")
_EXAMPLES: dict[str, Any] = {
    "literal": {"give": [{"good": "Wheat", "amount": 2}], "want": [{"good": "Sheep", "amount": 3}]},
    "fair": UNSET,
}


def moves(told: Parameters, seen: Seen, talk: int) -> Moves:
    replies = possible_replies(seen)
    found = tuple(_move(told, seen, reply) for reply in replies)
    beside: dict[str, Field] = {"message": Words(talk, default="")} if talk else {}
    notes = [] if replies == ("none",) else [f"reply answers the waiting offer: {' or '.join(replies)}."]
    notes.append("offer is what you give and what you want, or null for none; name each good once.")
    notes += ["message is free text, or empty."] if talk else []
    plain = Moves(found, beside=beside, tag="")
    return Moves(found, beside=beside, tag="", told=such_as(plain.example(found[0]), *notes))


def possible_replies(seen: Seen) -> tuple[str, ...]:
    """Return the replies to the waiting offer that are legal now."""
    if incoming_offer(seen) is None:
        return ("none",)
    return ("accept", "deny") if can_accept(seen) else ("deny",)


def _move(told: Parameters, seen: Seen, reply: str) -> Move:
    example = _EXAMPLES[told.reading]
    offer: Field = Nothing(example=example)
    if not told.is_last(seen.public):
        mine, theirs = (_some(most) for most in _most(told, seen, reply))
        if mine and theirs:
            amounts = Group({"give": Amounts(mine), "want": Amounts(theirs)}, label=WORDS.MAKE)
            offer = Either((Nothing(), amounts), example=example)
    fields = {"offer": offer} if reply == "none" else {"reply": Choice((reply,), default="none"), "offer": offer}
    return Move(reply, partial(_made, told, seen), fields)


def _most(told: Parameters, seen: Seen, reply: str) -> tuple[Goods, Goods]:
    """Return what the seat holds after its reply, and the most that the other can hold: the most it can have had at the
    start plus what the seat has given away since."""
    mine = holdings_after(seen, accepted=reply == "accept")
    a, b, c, d, e = (told.holdings_range[1] + was - now for was, now in zip(seen.private.start, mine, strict=True))
    return mine, (a, b, c, d, e)


def _some(goods: Goods) -> dict[str, int]:
    return {good: units for good, units in zip(GOODS, goods, strict=True) if units > 0}


def _made(
    told: Parameters, seen: Seen, offer: dict[str, dict[str, int]] | None, reply: str = "none", message: str = ""
) -> state.Move | Invalid:
    deal = None if offer is None else (_goods(offer["give"]), _goods(offer["want"]))
    # A token in free text would be a second move.
    spoken = message.translate(_BRACKETS).strip()
    words = canonical_text(_TOKENS[reply], deal) if reply != "none" or deal or not spoken else ""
    return told.parse(" ".join(filter(None, (spoken, words))), seen)


def _goods(amounts: dict[str, int]) -> Goods:
    return to_goods(amounts.get(good, 0) for good in GOODS)
