"""The JSON form of balloon: agree to or refuse open proposals by number, propose items by name, and argue.

The instruction is in the game's language, the names of fields are English.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from negolab.game import Invalid, other
from negolab.games.balloon.moves import total
from negolab.games.balloon.rules import Balloon
from negolab.games.balloon.state import Names, Say, Seen
from negolab.protocols import (
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

Kind = Literal["agree", "propose", "refuse", "argue"]


class _Agree(msgspec.Struct, tag="agree", tag_field="kind", forbid_unknown_fields=True):
    proposal: int


class _Propose(msgspec.Struct, tag="propose", tag_field="kind", forbid_unknown_fields=True):
    items: list[str]
    refuse: list[int] = []


class _Refuse(msgspec.Struct, tag="refuse", tag_field="kind", forbid_unknown_fields=True):
    refuse: list[int]


class _Argue(msgspec.Struct, tag="argue", tag_field="kind", forbid_unknown_fields=True):
    pass


class _Filled(msgspec.Struct, forbid_unknown_fields=True):
    move: _Agree | _Propose | _Refuse | _Argue
    argument: str | None = None
    reasoning: str | None = None


class Words(msgspec.Struct, frozen=True):
    """The sentences of the instruction in one language."""

    head: str
    opened: str
    kinds: dict[Kind, str]
    refusing: str
    argument: str
    reasoning: str


_WORDS = {
    "en": Words(
        head="Answer with one JSON object and nothing else, not with the structured formats; its move is one of:",
        opened="Open proposals of the other player:",
        kinds={
            "agree": "to agree to the open proposal of this number",
            "propose": "to propose keeping exactly these items",
            "refuse": "to refuse the open proposals of these numbers",
            "argue": "to make no move",
        },
        refusing="refuse lists the open proposals that you refuse, or is empty.",
        argument="argument is what you say to the other player.",
        reasoning="reasoning is for yourself alone.",
    ),
    "de": Words(
        head="Antworte mit genau einem JSON-Objekt und nichts sonst, nicht mit den Formaten oben; move ist eines von:",
        opened="Offene Vorschläge der anderen Seite:",
        kinds={
            "agree": "um dem offenen Vorschlag mit dieser Nummer zuzustimmen",
            "propose": "um genau diese Gegenstände vorzuschlagen",
            "refuse": "um die offenen Vorschläge mit diesen Nummern abzulehnen",
            "argue": "um keinen Zug zu machen",
        },
        refusing="refuse nennt die offenen Vorschläge, die du ablehnst, oder ist leer.",
        argument="argument ist, was du der anderen Seite sagst.",
        reasoning="reasoning ist nur für dich selbst.",
    ),
    "it": Words(
        head="Rispondi con un solo oggetto JSON e nient'altro, non con i formati qui sopra; move è uno tra:",
        opened="Proposte aperte dell'altra parte:",
        kinds={
            "agree": "per accettare la proposta aperta con questo numero",
            "propose": "per proporre di tenere esattamente questi oggetti",
            "refuse": "per rifiutare le proposte aperte con questi numeri",
            "argue": "per non fare alcuna mossa",
        },
        refusing="refuse elenca le proposte aperte che rifiuti, oppure è vuoto.",
        argument="argument è ciò che dici all'altra parte.",
        reasoning="reasoning è solo per te.",
    ),
}


def open_proposals(seen: Seen) -> tuple[Names, ...]:
    """Return the other seat's open proposals, each once, in the order they were made: number 1 is the first."""
    return tuple(dict.fromkeys(seen.public.active[other(seen.seat)]))


def agreeable_numbers(told: Balloon, seen: Seen) -> list[int]:
    """Return the numbers of the open proposals that may be agreed to."""
    terms = seen.public.terms
    within = enumerate(open_proposals(seen), 1)
    return [n for n, names in within if told.rules == "reference" or total(terms.effort, names) <= terms.limit]


def writes_argument(told: Balloon, talk: int) -> bool:
    """Return True if the model writes the argument; otherwise a required one is a stock phrase."""
    return bool(talk) and (told.rules == "stated" or told.require_argument)


def possible_kinds(told: Balloon, seen: Seen, talk: int) -> list[Kind]:
    """Return the kinds of move that are legal now."""
    possible: list[Kind] = ["agree"] if agreeable_numbers(told, seen) else []
    possible.append("propose")
    if open_proposals(seen):
        possible.append("refuse")
    if told.require_argument or writes_argument(told, talk):
        possible.append("argue")
    return possible


def schema(told: Balloon, seen: Seen, talk: int) -> Schema:
    shape = {"move": any_of(_move_schema(told, seen, kind) for kind in possible_kinds(told, seen, talk))}
    reasons = told.strategic_reasoning and talk > 0
    most = talk // 2 if reasons else talk
    if writes_argument(told, talk):
        shape["argument"] = text_schema(most)
    if reasons:
        shape = {"reasoning": text_schema(most), **shape}
    return object_schema(**shape)


def _move_schema(told: Balloon, seen: Seen, kind: Kind) -> Schema:
    count = len(open_proposals(seen))
    refuse = {"refuse": array_schema(integer_schema(1, count), 0, count)} if count else {}
    if kind == "agree":
        numbers = agreeable_numbers(told, seen)
        return object_schema(kind=enum_schema(kind), proposal={"type": "integer", "enum": numbers})
    if kind == "propose":
        items = list(seen.public.terms.effort)
        return object_schema(kind=enum_schema(kind), items=array_schema(enum_schema(*items), 1, len(items)), **refuse)
    return (
        object_schema(kind=enum_schema(kind), refuse=array_schema(integer_schema(1, count), 1, count))
        if kind == "refuse"
        else object_schema(kind=enum_schema(kind))
    )


def instruction(told: Balloon, seen: Seen, talk: int) -> str:
    words = _WORDS.get(told.language, _WORDS["en"])
    effort = seen.public.terms.effort
    lines = []
    if sets := open_proposals(seen):
        lines = [words.opened, *(f"{n}: {', '.join(_in_item_order(names, effort))}" for n, names in enumerate(sets, 1))]
    lines.append(words.head)
    lines += [
        f"{example_json(_example_move(seen, kind))} {words.kinds[kind]}" for kind in possible_kinds(told, seen, talk)
    ]
    notes = [words.refusing] if sets else []
    notes += [f"{words.argument} {_field('argument')}"] if writes_argument(told, talk) else []
    notes += [f"{words.reasoning} {_field('reasoning')}"] if told.strategic_reasoning and talk else []
    return "\n".join([*lines, " ".join(notes)] if notes else lines)


def _field(name: str) -> str:
    return f'("{name}":"...")'


def _in_item_order(names: Names, items: Iterable[str]) -> list[str]:
    return [item for item in items if item in names]


def _example_move(seen: Seen, kind: Kind) -> dict[str, object]:
    refuse: dict[str, object] = {"refuse": []} if open_proposals(seen) else {}
    parts: dict[Kind, dict[str, object]] = {
        "agree": {"proposal": 1},
        "propose": {"items": ["...", "..."], **refuse},
        "refuse": {"refuse": [1]},
        "argue": {},
    }
    return {"move": {"kind": kind, **parts[kind]}}


def action(told: Balloon, seen: Seen, value: object) -> Say | Invalid:
    form = decode_form(value, _Filled)
    if isinstance(form, Invalid):
        return form
    move, sets = form.move, open_proposals(seen)
    refused = getattr(move, "refuse", [])
    numbers = [*refused, move.proposal] if isinstance(move, _Agree) else refused
    if any(not 1 <= number <= len(sets) for number in numbers):
        return invalid_form(f"there are {len(sets)} open proposals." if sets else "there is no open proposal.")
    agree = [sets[move.proposal - 1]] if isinstance(move, _Agree) else []
    propose = [frozenset(move.items)] if isinstance(move, _Propose) else []
    said = told.message(
        seen,
        refuse=[sets[number - 1] for number in dict.fromkeys(refused)],
        propose=propose or _repeat_as_proposal(told, seen, agree),
        agree=agree,
        argument=form.argument,
        reasoning=form.reasoning,
    )
    return told.parse(told.say(said), seen)


def _repeat_as_proposal(told: Balloon, seen: Seen, agree: list[Names]) -> list[Names]:
    """Propose what is agreed to as well where agreeing alone could lose the match: the reference counts it as one more
    message without a proposal."""
    limit = seen.public.terms.empty_turn_limit
    return agree if told.rules == "reference" and limit is not None and seen.public.empty >= limit else []


def same(told: Balloon, seen: Seen, decided: Say, said: Say) -> bool:
    def moves(say: Say) -> tuple[set[Names], ...]:
        return set(say.propose), set(say.refuse), set(say.agree)

    return moves(decided) == moves(said)
