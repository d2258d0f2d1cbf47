"""The form of trading: answer what waits, then offer lots of single goods, no more of each than can be given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from negolab.game import Invalid
from negolab.games.trading.goods import GOODS, Goods, covers, swap
from negolab.games.trading.offers import canonical
from negolab.games.trading.position import Move, Seen
from negolab.games.trading.rules import Trading
from negolab.players.forms.form import Schema, filled, wrong
from negolab.players.forms.shapes import NULL, either, example, fields, several, text, whole, word

Reply = Literal["accept", "deny", "none"]
Good = Literal["Wheat", "Wood", "Sheep", "Brick", "Ore"]

_TOKENS = {"accept": "[Accept]", "deny": "[Deny]", "none": ""}
_BRACKETS = str.maketrans("[]", "()")


class _Lot(msgspec.Struct, forbid_unknown_fields=True):
    good: Good
    amount: Annotated[int, msgspec.Meta(ge=1, le=10**6)]


class _Offer(msgspec.Struct, forbid_unknown_fields=True):
    give: Annotated[list[_Lot], msgspec.Meta(min_length=1, max_length=5)]
    want: Annotated[list[_Lot], msgspec.Meta(min_length=1, max_length=5)]


class _Move(msgspec.Struct, forbid_unknown_fields=True):
    offer: _Offer | None
    reply: Reply = "none"


class _Filled(msgspec.Struct, forbid_unknown_fields=True):
    move: _Move
    message: str = ""


def replies(seen: Seen) -> tuple[Reply, ...]:
    """The answers to what waits that are possible now."""
    waiting = seen.public.waiting
    if waiting is None or waiting.by == seen.seat:
        return ("none",)
    return ("accept", "deny") if covers(seen.private.holdings, waiting.want) else ("deny",)


def schema(told: Trading, seen: Seen, talk: int) -> Schema:
    move = either(_move(told, seen, reply) for reply in replies(seen))
    return fields(move=move, message=text(talk)) if talk else fields(move=move)


def _move(told: Trading, seen: Seen, reply: Reply) -> Schema:
    offer = either(_offers(told, seen, reply))
    return fields(offer=offer) if reply == "none" else fields(reply=word(reply), offer=offer)


def _offers(told: Trading, seen: Seen, reply: Reply) -> Iterator[Schema]:
    """No offer, and where one can still be answered, an offer."""
    yield NULL
    if seen.public.turn >= (told.max_turns if told.lenient else told.max_turns - 1):
        return
    mine, theirs = holdings(told, seen, reply)
    give, want = _lots(mine), _lots(theirs)
    if give and want:
        yield fields(give=several(either(give), 1, len(give)), want=several(either(want), 1, len(want)))


def holdings(told: Trading, seen: Seen, reply: Reply) -> tuple[Goods, Goods]:
    """What this seat holds after its reply, and the most that the other can hold: the most it can have had at the
    start, and what this seat has given away since."""
    own, waiting = seen.private, seen.public.waiting
    mine = own.holdings
    if reply == "accept" and waiting is not None:
        mine = swap(mine, waiting.want, waiting.give)
    a, b, c, d, e = (told.holdings_range[1] + was - now for was, now in zip(own.start, mine, strict=True))
    return mine, (a, b, c, d, e)


def _lots(most: Goods) -> list[Schema]:
    return [
        fields(good=word(good), amount=whole(1, units)) for good, units in zip(GOODS, most, strict=True) if units > 0
    ]


def instruction(told: Trading, seen: Seen, talk: int) -> str:
    lots = {"give": [{"good": "Wheat", "amount": 2}], "want": [{"good": "Sheep", "amount": 3}]}
    possible = replies(seen)
    shown: dict[str, object] = {"offer": lots} if possible == ("none",) else {"reply": possible[0], "offer": lots}
    sample: dict[str, object] = {"move": shown, "message": "..."} if talk else {"move": shown}
    parts = [f"Answer with one JSON object and nothing else, such as {example(sample)}."]
    if possible != ("none",):
        parts.append(f"reply answers the waiting offer: {' or '.join(possible)}.")
    parts.append("offer is what you give and what you want, or null for none; name each good once.")
    return " ".join(parts + (["message is free text, or empty."] if talk else []))


def action(told: Trading, seen: Seen, value: object) -> Move | Invalid:
    found = filled(value, _Filled)
    if isinstance(found, Invalid):
        return found
    move = found.move
    if move.reply not in replies(seen):
        return wrong(f"reply {move.reply!r} is not possible now.")
    deal = None if move.offer is None else (_goods(move.offer.give), _goods(move.offer.want))
    # A token in free text would be a second move.
    spoken = found.message.translate(_BRACKETS).strip()
    words = canonical(_TOKENS[move.reply], deal) if move.reply != "none" or deal or not spoken else ""
    return told.parse(" ".join(filter(None, (spoken, words))), seen)


def _goods(lots: list[_Lot]) -> Goods:
    row = dict.fromkeys(GOODS, 0)
    for lot in lots:
        row[lot.good] += lot.amount
    a, b, c, d, e = row.values()
    return a, b, c, d, e


def same(told: Trading, seen: Seen, decided: Move, said: Move) -> bool:
    return (decided.accept, decided.deny, decided.offer) == (said.accept, said.deny, said.offer)
