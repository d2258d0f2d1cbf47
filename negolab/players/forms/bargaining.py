"""The form of bargaining: offer a price in cents, accept, reject or walk away, as far as each is possible now."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from negolab.game import Invalid
from negolab.games.bargaining.money import money
from negolab.games.bargaining.reading import LONGEST_MESSAGE, tidy
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Accept, Action, Offer, Reject, Seen, may_talk
from negolab.players.forms.form import Schema, filled, wrong
from negolab.players.forms.shapes import either, example, fields, text, whole, word

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


def kinds(told: Bargaining, seen: Seen) -> tuple[Kind, ...]:
    """What can be done now."""
    public = seen.public
    if not public.offers:
        return ("offer",)
    if public.last_response:
        return "accept", "reject"
    return ("offer", "accept", "walk_away") if told.walk_away else ("offer", "accept")


def schema(told: Bargaining, seen: Seen, talk: int) -> Schema:
    return fields(move=either(_shape(told, seen, kind, talk) for kind in kinds(told, seen)))


def _shape(told: Bargaining, seen: Seen, kind: Kind, talk: int) -> Schema:
    if kind != "offer":
        return fields(kind=word(kind))
    price = whole(told.price_lo, told.price_hi)
    if not (talk and may_talk(told.talk, seen.seat)):
        return fields(kind=word(kind), price_cents=price)
    return fields(kind=word(kind), price_cents=price, message=text(min(talk, LONGEST_MESSAGE)))


def instruction(told: Bargaining, seen: Seen, talk: int) -> str:
    words = [_told(told, seen, kind, talk) for kind in kinds(told, seen)]
    return f"Answer with one JSON object and nothing else: {'; or '.join(words)}."


def shown(told: Bargaining) -> int:
    """The price of the example: the one of the game's own prompt, so that the form adds no anchor."""
    return 5250 if told.price_lo <= 5250 <= told.price_hi else (told.price_lo + told.price_hi) // 2


def _told(told: Bargaining, seen: Seen, kind: Kind, talk: int) -> str:
    if kind == "offer":
        price = shown(told)
        filled: dict[str, str | int] = {"kind": kind, "price_cents": price}
        spoken = ""
        if talk and may_talk(told.talk, seen.seat):
            filled["message"] = "..."
            spoken = ", with a short message or an empty one"
        lowest, highest = told.price_lo, told.price_hi
        return f"{example({'move': filled})} to offer {money(price)} (from {lowest} to {highest} cents){spoken}"
    meant = {
        "accept": "to accept the offer that stands",
        "reject": "to end without a deal",
        "walk_away": "to walk away without a deal",
    }
    return f"{example({'move': {'kind': kind}})} {meant[kind]}"


def action(told: Bargaining, seen: Seen, value: object) -> Action | Invalid:
    found = filled(value, _Filled)
    if isinstance(found, Invalid):
        return found
    move = found.move
    kind = type(move).__struct_config__.tag
    if kind not in kinds(told, seen):
        return wrong(f"kind {kind!r} is not possible now.")
    if not isinstance(move, _Offer):
        return Accept() if isinstance(move, _Accept) else Reject()
    if not told.price_lo <= move.price_cents <= told.price_hi:
        return wrong(f"price_cents must be from {told.price_lo} to {told.price_hi}.")
    if move.message and not may_talk(told.talk, seen.seat):
        return wrong("no message can be sent with a price.")
    return told.parse(told.say(Offer(move.price_cents, tidy(move.message))), seen)


def same(told: Bargaining, seen: Seen, decided: Action, said: Action) -> bool:
    if isinstance(decided, Offer) and isinstance(said, Offer):
        return decided.cents == said.cents
    return decided == said
