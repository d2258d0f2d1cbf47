"""The JSON form of an agenda: a reply, an offer with an option for every issue, and a message."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from negolab.game import Invalid
from negolab.games.agenda.reading import option_name, reads_as_token, refusal
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.scenario import Issue
from negolab.games.agenda.state import Message, Seen
from negolab.protocols import (
    NULL_SCHEMA,
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

_TOKENS = {"accept": "[Accept]", "reject": "[Reject]", "walk away": "[Walk away]", "none": ""}
_RESERVED = frozenset(";[]")
"""Characters that part an offer; no name or option holds them."""


class _Move(msgspec.Struct, forbid_unknown_fields=True):
    reply: str = "none"
    offer: dict[str, str | int] | None = None


class _Filled(msgspec.Struct, forbid_unknown_fields=True):
    move: _Move
    message: str = ""


def possible_replies(told: Agenda, seen: Seen) -> list[str]:
    """Return the replies that are legal now without an offer, "none" where talk or nothing will do."""
    must_answer = told.answer == "must" and seen.public.standing is not None
    found = ["accept", "reject"] if seen.public.standing is not None else []
    found += ["walk away"] if told.walk_away else []
    return found + (["none"] if told.talk and not must_answer else [])


def schema(told: Agenda, seen: Seen, talk: int) -> Schema:
    move = any_of(_moves(told, seen, talk))
    if talk and told.talk:
        return object_schema(move=move, message=text_schema(min(talk, told.max_chars)))
    if _only_talk_is_left(told, seen):
        return object_schema(move=move, message=enum_schema(*(option.talk for option in told.options(seen))))
    return object_schema(move=move)


def _only_talk_is_left(told: Agenda, seen: Seen) -> bool:
    return told.is_last(seen.public) and possible_replies(told, seen) == ["none"]


def _moves(told: Agenda, seen: Seen, talk: int) -> Iterator[Schema]:
    """Yield the schemas of a reply alone, and of an offer with the replies that can go with it."""
    replies = possible_replies(told, seen)
    if not talk and not _only_talk_is_left(told, seen):
        replies = [reply for reply in replies if reply != "none"]
    if replies:
        yield object_schema(reply=enum_schema(*replies), offer=NULL_SCHEMA)
    if not told.is_last(seen.public):
        beside = ("none", "reject") if seen.public.standing is not None else ("none",)
        offer = object_schema(**{issue.name: _issue_schema(issue) for issue in told.agenda})
        yield object_schema(reply=enum_schema(*beside), offer=offer)


def _issue_schema(issue: Issue) -> Schema:
    return integer_schema(0, issue.units) if issue.units is not None else enum_schema(*(issue.options or ()))


def instruction(told: Agenda, seen: Seen, talk: int) -> str:
    message = {"message": "..."} if talk and told.talk else {}
    offer = {issue.name: _example(issue) for issue in told.agenda}
    sample = {"move": {"reply": "none", "offer": offer}, **message}
    if told.is_last(seen.public):
        sample = {"move": {"reply": possible_replies(told, seen)[-1], "offer": None}, **message}
    parts = [f"Answer with one JSON object and nothing else, such as {example_json(sample)}."]
    parts.append(f"reply is {' or '.join(dict.fromkeys([*possible_replies(told, seen), 'none']))}.")
    if not told.is_last(seen.public):
        goods = any(issue.units is not None for issue in told.agenda)
        numbers = "; numbers are units that you get" if goods else ""
        parts.append(f"offer names an option for every issue{numbers}, or is null for none.")
        parts.append("accept and walk away go without an offer.")
    return " ".join(parts + (["message is free text, or empty."] if message else []))


def _example(issue: Issue) -> str | int:
    return issue.size // 2 if issue.options is None else option_name(issue, issue.size // 2)


def action(told: Agenda, seen: Seen, value: object) -> Message | Invalid:
    form = decode_form(value, _Filled)
    if isinstance(form, Invalid):
        return form
    move = form.move
    if move.reply not in _TOKENS:
        return invalid_form(f"reply {move.reply!r:.60} is not possible now.")
    if reads_as_token(form.message):
        return refusal("two_replies", "Your message holds a reply or an offer in brackets: write it into move alone.")
    offer = "" if move.offer is None else _offer_text(move.offer)
    if isinstance(offer, Invalid):
        return offer
    return told.parse(" ".join(filter(None, (_TOKENS[move.reply], form.message, offer))), seen)


def _offer_text(offer: dict[str, str | int]) -> str | Invalid:
    for name, option in offer.items():
        if _RESERVED.intersection(f"{name}{option}") or "=" in name:
            return invalid_form(f"offer has no issue or option {f'{name} = {option}'!r:.60}.")
    return f"[Offer: {'; '.join(f'{name} = {option}' for name, option in offer.items())}]"


def same(told: Agenda, seen: Seen, decided: Message, said: Message) -> bool:
    return (decided.reply, decided.offer) == (said.reply, said.offer)
