"""The moves of balloon: agree to or refuse open proposals by number, propose items by name, and argue.

The instruction is in the game's language; field names are in English.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec

from negolab.game import Invalid
from negolab.games.balloon.effects import open_proposals, total, write_message
from negolab.games.balloon.parameters import Parameters
from negolab.games.balloon.state import Names, Say, Seen
from negolab.moves import Choice, Count, Field, Move, Moves, Several
from negolab.moves import Words as Text

Kind = Literal["agree", "propose", "refuse", "argue"]


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


def moves(told: Parameters, seen: Seen, talk: int) -> Moves:
    sets, terms, words = open_proposals(seen), seen.public.terms, _WORDS.get(told.language, _WORDS["en"])
    within = [
        n for n, names in enumerate(sets, 1) if told.rules == "reference" or total(terms.effort, names) <= terms.limit
    ]
    numbers, items = Count(1, len(sets)), tuple(terms.effort)
    refuse: dict[str, Field] = {"refuse": Several(numbers, 0, len(sets), default=[], example=[])} if sets else {}
    propose = Several(Choice(items), 1, len(items), example=["...", "..."])
    # If the author writes no words, a required argument is a stock phrase.
    writes = bool(talk) and (told.rules == "stated" or told.require_argument)
    fields: dict[Kind, dict[str, Field]] = {
        **({"agree": {"proposal": Choice(tuple(within), example=1)}} if within else {}),
        "propose": {"items": propose, **refuse},
        **({"refuse": {"refuse": Several(numbers, 1, len(sets), example=[1])}} if sets else {}),
        **({"argue": {}} if told.require_argument or writes else {}),
    }
    found = tuple(
        Move(kind, partial(_made, told, seen, sets), parts, means=words.kinds[kind]) for kind, parts in fields.items()
    )
    reasons = told.strategic_reasoning and talk > 0
    text = Text(talk // 2 if reasons else talk, default=None)
    return Moves(
        found,
        before={"reasoning": text} if reasons else {},
        beside={"argument": text} if writes else {},
        told=_told(words, seen, found, writes=writes, reasons=reasons),
    )


def _told(words: Words, seen: Seen, found: Sequence[Move], *, writes: bool, reasons: bool) -> str:
    sets, items = open_proposals(seen), seen.public.terms.effort
    opened = [f"{n}: {', '.join(item for item in items if item in names)}" for n, names in enumerate(sets, 1)]
    lines = [words.opened, *opened] if sets else []
    lines += [words.head, *(f"{Moves((move,)).example(move)} {move.means}" for move in found)]
    notes = [words.refusing] if sets else []
    notes += [f'{words.argument} ("argument":"...")'] if writes else []
    notes += [f'{words.reasoning} ("reasoning":"...")'] if reasons else []
    return "\n".join([*lines, " ".join(notes)] if notes else lines)


def _made(
    told: Parameters,
    seen: Seen,
    sets: tuple[Names, ...],
    proposal: int | None = None,
    items: Sequence[str] = (),
    refuse: Sequence[int] = (),
    argument: str | None = None,
    reasoning: str | None = None,
) -> Say | Invalid:
    agree = [] if proposal is None else [sets[proposal - 1]]
    # The reference counts an agreement alone as one more message without a proposal, which could lose the match.
    limit = seen.public.terms.empty_turn_limit
    repeat = told.rules == "reference" and limit is not None and seen.public.empty >= limit
    return write_message(
        told.rules,
        seen.public.terms,
        refuse=[sets[number - 1] for number in dict.fromkeys(refuse)],
        propose=[frozenset(items)] if items else agree if repeat else [],
        agree=agree,
        argument=argument,
        reasoning=reasoning,
    )
