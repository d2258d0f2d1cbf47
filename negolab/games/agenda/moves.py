"""The moves of an agenda: a reply alone, or an offer with an option for every issue; either may carry a message."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import UNSET

from negolab.game import Invalid
from negolab.games.agenda.parameters import Parameters
from negolab.games.agenda.reading import option_name, reads_as_token, refusal
from negolab.games.agenda.scenario import Issue
from negolab.games.agenda.state import Message, Seen
from negolab.games.agenda.words import WORDS
from negolab.moves import Choice, Count, Field, Group, Move, Moves, Nothing, Words, such_as
from negolab.reading import Reading


def moves(told: Parameters, seen: Seen, talk: int) -> Moves:
    replies, last, stands = _replies(told, seen), told.is_last(seen.public), seen.public.standing is not None
    speaks: dict[str, Field] = {"message": Words(min(talk, told.max_chars), default="")} if talk and told.talk else {}
    stock = last and not speaks and replies == ["none"]
    alone = [reply for reply in replies if reply != "none" or talk or stock]
    found = [_move(told, "reply", alone, Nothing(default=None), example=replies[-1])] if alone else []
    if not last:
        offer = offer_field(told)
        free = ["none", "reject"] if stands else ["none"]
        found.append(_move(told, "offer", free, offer, example="none", label=WORDS.MAKE))
    sample = Moves(tuple(found), beside=speaks, tag="").example(found[-1])
    beside = {"message": Choice(tuple(option.talk for option in told.options(seen)))} if stock else speaks
    notes = _notes(told, replies, last=last, speaks=bool(speaks))
    return Moves(tuple(found), beside=beside, tag="", told=such_as(sample, *notes))


def _replies(told: Parameters, seen: Seen) -> list[str]:
    """Return the replies that are legal now without an offer; "none" is among them if talk or silence will do."""
    stands = seen.public.standing is not None
    found = ["accept", "reject"] if stands else []
    found += ["walk away"] if told.walk_away else []
    return found + (["none"] if told.talk and not (told.answer == "must" and stands) else [])


def _move(told: Parameters, kind: str, replies: list[str], offer: Field, *, example: str, label: str = "") -> Move:
    reply = Choice(tuple(replies), default="none", example=example)
    return Move(kind, partial(made, told), {"reply": reply, "offer": offer}, label)


def offer_field(told: Parameters) -> Group:
    """Return an offer's field: an option for every issue, from the side of the offer's author."""
    return Group({issue.name: _issue(issue, told.reading) for issue in told.agenda})


def _issue(issue: Issue, reading: Reading) -> Field:
    # A literal reading keeps the earlier example.
    middle: Any = issue.size // 2 if reading == "literal" else UNSET
    if issue.units is not None:
        label, unit = WORDS.FOR_YOU.format(issue=issue.name), WORDS.OF_FOR_YOU.format(issue=issue.name)
        return Count(0, issue.units, unit, label=label, example=middle)
    return Choice(
        issue.options or (), label=issue.name, example=middle if middle is UNSET else option_name(issue, middle)
    )


def _notes(told: Parameters, replies: list[str], *, last: bool, speaks: bool) -> list[str]:
    notes = [f"reply is {' or '.join(dict.fromkeys([*replies, 'none']))}."]
    if not last:
        numbers = "; numbers are units that you get" if any(issue.units is not None for issue in told.agenda) else ""
        notes.append(f"offer names an option for every issue{numbers}, or is null for none.")
        notes.append("accept and walk away go without an offer.")
    return notes + (["message is free text, or empty."] if speaks else [])


def made(told: Parameters, reply: Any, offer: dict[str, Any] | None, message: str = "") -> Message | Invalid:
    if reads_as_token(message):
        return refusal("two_replies", "Your message holds a reply or an offer in brackets: write it into move alone.")
    numbers = None if offer is None else tuple(option_number(issue, offer[issue.name]) for issue in told.agenda)
    return Message(None if reply == "none" else reply, numbers, " ".join(message.split()))


def option_number(issue: Issue, option: Any) -> int:
    """Return an option's number, given what is filled in for it."""
    return int(option) if issue.options is None else issue.options.index(option)


def option_value(issue: Issue, number: int) -> Any:
    """Return what is filled in for an option, given its number."""
    return number if issue.options is None else issue.options[number]
