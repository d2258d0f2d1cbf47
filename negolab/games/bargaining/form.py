"""The JSON form of bargaining: offer a price in cents, accept, reject or walk away, as far as each is possible now."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from negolab.game import Invalid
from negolab.games.bargaining.reading import MAX_MESSAGE, clean_message
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Accept, Action, Offer, Reject, Seen, may_talk
from negolab.money import format_cents
from negolab.protocols import (
    Schema,
    any_of,
    decode_form,
    enum_schema,
    example_json,
    integer_schema,
    invalid_form,
    object_schema,
    text_schema,
)

Kind = Literal["offer", "accept", "reject", "walk_away"]


class _Offer(msgspec.Struct, tag="offer", tag_field="kind", forbid_unknown_fields=True):
    price_cents: Annotated[int, msgspec.Meta(ge=0, le=10**9)]
    message: str = ""


class _Accept(msgspec.Struct, tag="accept", tag_field="kind", forbid_unknown_fields=True):
    pass


class _Reject(msgspec.Struct, tag="reject", tag_field="kind", forbid_unknown_fields=True):
    pass


class _WalkAway(msgspec.Struct, tag="walk_away", tag_field="kind", forbid_unknown_fields=True):
    pass


class _Filled(msgspec.Struct, forbid_unknown_fields=True):
    move: _Offer | _Accept | _Reject | _WalkAway


def possible_kinds(told: Bargaining, seen: Seen) -> tuple[Kind, ...]:
    """Return the kinds of move that are legal now."""
    public = seen.public
    if not public.offers:
        return ("offer",)
    if public.last_response:
        return "accept", "reject"
    return ("offer", "accept", "walk_away") if told.walk_away else ("offer", "accept")


def schema(told: Bargaining, seen: Seen, talk: int) -> Schema:
    return object_schema(move=any_of(_move_schema(told, seen, kind, talk) for kind in possible_kinds(told, seen)))


def _move_schema(told: Bargaining, seen: Seen, kind: Kind, talk: int) -> Schema:
    if kind != "offer":
        return object_schema(kind=enum_schema(kind))
    price = integer_schema(told.price_lo, told.price_hi)
    if not (talk and may_talk(told.talk, seen.seat)):
        return object_schema(kind=enum_schema(kind), price_cents=price)
    return object_schema(kind=enum_schema(kind), price_cents=price, message=text_schema(min(talk, MAX_MESSAGE)))


def instruction(told: Bargaining, seen: Seen, talk: int) -> str:
    words = [_describe_kind(told, seen, kind, talk) for kind in possible_kinds(told, seen)]
    return f"Answer with one JSON object and nothing else: {'; or '.join(words)}."


def example_price(told: Bargaining) -> int:
    """Return the price of the prompt's own example, so that the form adds no anchor."""
    return 5250 if told.price_lo <= 5250 <= told.price_hi else (told.price_lo + told.price_hi) // 2


def _describe_kind(told: Bargaining, seen: Seen, kind: Kind, talk: int) -> str:
    if kind == "offer":
        price = example_price(told)
        filled: dict[str, str | int] = {"kind": kind, "price_cents": price}
        spoken = ""
        if talk and may_talk(told.talk, seen.seat):
            filled["message"] = "..."
            spoken = ", with a short message or an empty one"
        lowest, highest = told.price_lo, told.price_hi
        shown = example_json({"move": filled})
        return f"{shown} to offer {format_cents(price)} (from {lowest} to {highest} cents){spoken}"
    meant = {
        "accept": "to accept the offer that stands",
        "reject": "to end without a deal",
        "walk_away": "to walk away without a deal",
    }
    return f"{example_json({'move': {'kind': kind}})} {meant[kind]}"


def action(told: Bargaining, seen: Seen, value: object) -> Action | Invalid:
    found = decode_form(value, _Filled)
    if isinstance(found, Invalid):
        return found
    move = found.move
    kind = type(move).__struct_config__.tag
    if kind not in possible_kinds(told, seen):
        return invalid_form(f"kind {kind!r} is not possible now.")
    if not isinstance(move, _Offer):
        return Accept() if isinstance(move, _Accept) else Reject()
    if not told.price_lo <= move.price_cents <= told.price_hi:
        return invalid_form(f"price_cents must be from {told.price_lo} to {told.price_hi}.")
    if move.message and not may_talk(told.talk, seen.seat):
        return invalid_form("no message can be sent with a price.")
    return told.parse(told.say(Offer(move.price_cents, clean_message(move.message))), seen)


def same(told: Bargaining, seen: Seen, decided: Action, said: Action) -> bool:
    if isinstance(decided, Offer) and isinstance(said, Offer):
        return decided.cents == said.cents
    return decided == said
