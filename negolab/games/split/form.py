"""The JSON form of split games: a message while seats talk, then how many units of each type to keep."""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from negolab.game import Invalid
from negolab.games.split.reading import SELECTION
from negolab.games.split.rules import Split
from negolab.games.split.state import Action, Message, Proposal, Seen
from negolab.games.split.statements import parse_offer, parse_statement
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


class _Said(msgspec.Struct, forbid_unknown_fields=True):
    message: str


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    keep: dict[str, int] | Literal["no deal"]


def schema(told: Split, seen: Seen, talk: int) -> Schema:
    if seen.public.phase == "talk":
        if not talk:
            return object_schema(message=enum_schema(*_sendable(told, seen)))
        said = text_schema(min(talk, told.max_chars))
        return object_schema(message=any_of([said, enum_schema(SELECTION)] if told.is_free else [said]))
    units = object_schema(
        **{item: integer_schema(0, most) for item, most in zip(told.items, seen.public.stock, strict=True)}
    )
    return object_schema(keep=any_of([units, enum_schema("no deal")] if told.rule == "exact" else [units]))


def _sendable(told: Split, seen: Seen) -> list[str]:
    """Return the texts of the message options: a pass, the truth about oneself, or the tag that ends free talk."""
    said = [said.text for said in told.options(seen) if isinstance(said, Message)]
    return [*said, SELECTION] if told.is_free else said


def instruction(told: Split, seen: Seen, talk: int) -> str:
    head = "Answer with one JSON object and nothing else"
    if seen.public.phase == "talk":
        if talk:
            ends = f" To end the talk: {example_json({'message': SELECTION})}." if told.is_free else ""
            said = example_json({"message": "..."})
            return f"{head}: {said} with what you say to the other player; empty is a pass.{ends}"
        given = " or ".join(example_json({"message": said}) for said in _sendable(told, seen))
        return f"{head}: {given}."
    # Like the game's own request, it names no number that could be taken for advice.
    kept = ",".join(f"{json.dumps(item)}:n" for item in told.items)
    no_deal = f" If you want no deal: {example_json({'keep': 'no deal'})}." if told.rule == "exact" else ""
    return f'{head}: {{"keep":{{{kept}}}}} with a whole number for each n, what you keep for yourself.{no_deal}'


def action(told: Split, seen: Seen, value: object) -> Action | Invalid:
    if seen.public.phase == "talk":
        said = decode_form(value, _Said)
        # As the tagged text it would be, so that what was said is read as it is when a model writes it freely.
        return said if isinstance(said, Invalid) else told.parse(f"<message>{said.message}</message>", seen)
    kept = decode_form(value, _Kept)
    if isinstance(kept, Invalid):
        return kept
    if isinstance(kept.keep, str):
        return told.parse(told.say(Proposal(None)), seen)
    if set(kept.keep) != set(told.items):
        return invalid_form(f"keep must name {', '.join(told.items)}, each once.")
    if any(not 0 <= units < 10**9 for units in kept.keep.values()):
        return invalid_form("each number must be from 0 to what can be had.")
    return told.parse(told.say(Proposal(tuple(kept.keep[item] for item in told.items))), seen)


def same(told: Split, seen: Seen, decided: Action, said: Action) -> bool:
    if not isinstance(decided, Message) or not isinstance(said, Message):
        return decided == said
    return _stated_content(told, seen, decided.text) == _stated_content(told, seen, said.text)


def _stated_content(told: Split, seen: Seen, words: str) -> tuple[object, ...]:
    """Return what a message states about its author (hand or values) and which division it offers (units)."""
    hands = seen.private.hand is not None
    return parse_statement(words, told.items, hands), parse_offer(words, told.items, seen.public.stock)
