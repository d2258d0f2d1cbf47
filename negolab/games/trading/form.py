"""The JSON form of trading: reply to the waiting offer, then offer amounts of single goods within what can be given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from negolab.game import Invalid
from negolab.games.trading.offers import canonical_text
from negolab.games.trading.rules import Trading
from negolab.games.trading.state import GOODS, Goods, Move, Seen, covers, exchange
from negolab.protocols import (
    NULL_SCHEMA,
    Schema,
    any_of,
    array_schema,
    decode_form,
    enum_schema,
    example_json,
    integer_schema,
    invalid_form,
    object_schema,
    text_schema,
)

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


def possible_replies(seen: Seen) -> tuple[Reply, ...]:
    """Return the replies to the waiting offer that are legal now."""
    waiting = seen.public.waiting
    if waiting is None or waiting.by == seen.seat:
        return ("none",)
    return ("accept", "deny") if covers(seen.private.holdings, waiting.want) else ("deny",)


def schema(told: Trading, seen: Seen, talk: int) -> Schema:
    move = any_of(_move_schema(told, seen, reply) for reply in possible_replies(seen))
    return object_schema(move=move, message=text_schema(talk)) if talk else object_schema(move=move)


def _move_schema(told: Trading, seen: Seen, reply: Reply) -> Schema:
    offer = any_of(_offer_schemas(told, seen, reply))
    return object_schema(offer=offer) if reply == "none" else object_schema(reply=enum_schema(reply), offer=offer)


def _offer_schemas(told: Trading, seen: Seen, reply: Reply) -> Iterator[Schema]:
    """Yield the schema of no offer and, where one can still be answered, that of an offer."""
    yield NULL_SCHEMA
    if seen.public.turn >= (told.max_turns if told.lenient else told.max_turns - 1):
        return
    mine, theirs = holdings_after_reply(told, seen, reply)
    give, want = _lot_schemas(mine), _lot_schemas(theirs)
    if give and want:
        yield object_schema(
            give=array_schema(any_of(give), 1, len(give)), want=array_schema(any_of(want), 1, len(want))
        )


def holdings_after_reply(told: Trading, seen: Seen, reply: Reply) -> tuple[Goods, Goods]:
    """Return what the seat holds after its reply, and the most that the other can hold: the most it can have had at the
    start plus what the seat has given away since."""
    own, waiting = seen.private, seen.public.waiting
    mine = own.holdings
    if reply == "accept" and waiting is not None:
        mine = exchange(mine, waiting.want, waiting.give)
    a, b, c, d, e = (told.holdings_range[1] + was - now for was, now in zip(own.start, mine, strict=True))
    return mine, (a, b, c, d, e)


def _lot_schemas(most: Goods) -> list[Schema]:
    return [
        object_schema(good=enum_schema(good), amount=integer_schema(1, units))
        for good, units in zip(GOODS, most, strict=True)
        if units > 0
    ]


def instruction(told: Trading, seen: Seen, talk: int) -> str:
    lots = {"give": [{"good": "Wheat", "amount": 2}], "want": [{"good": "Sheep", "amount": 3}]}
    possible = possible_replies(seen)
    shown: dict[str, object] = {"offer": lots} if possible == ("none",) else {"reply": possible[0], "offer": lots}
    sample: dict[str, object] = {"move": shown, "message": "..."} if talk else {"move": shown}
    parts = [f"Answer with one JSON object and nothing else, such as {example_json(sample)}."]
    if possible != ("none",):
        parts.append(f"reply answers the waiting offer: {' or '.join(possible)}.")
    parts.append("offer is what you give and what you want, or null for none; name each good once.")
    return " ".join(parts + (["message is free text, or empty."] if talk else []))


def action(told: Trading, seen: Seen, value: object) -> Move | Invalid:
    form = decode_form(value, _Filled)
    if isinstance(form, Invalid):
        return form
    move = form.move
    if move.reply not in possible_replies(seen):
        return invalid_form(f"reply {move.reply!r} is not possible now.")
    deal = None if move.offer is None else (_goods(move.offer.give), _goods(move.offer.want))
    # A token in free text would be a second move.
    spoken = form.message.translate(_BRACKETS).strip()
    words = canonical_text(_TOKENS[move.reply], deal) if move.reply != "none" or deal or not spoken else ""
    return told.parse(" ".join(filter(None, (spoken, words))), seen)


def _goods(lots: list[_Lot]) -> Goods:
    row = dict.fromkeys(GOODS, 0)
    for lot in lots:
        row[lot.good] += lot.amount
    a, b, c, d, e = row.values()
    return a, b, c, d, e


def same(told: Trading, seen: Seen, decided: Move, said: Move) -> bool:
    return (decided.accept, decided.deny, decided.offer) == (said.accept, said.deny, said.offer)
