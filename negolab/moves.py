"""A seat's moves and the fields of each. From these follow the JSON that a model fills in and its instruction, the
inputs of a plain table, and some fields of the other tables.

A game defines them in `Game.moves`; otherwise, they follow from its options (`negolab.derived_moves`). Schemas keep to
the subset that OpenAI's strict mode and llama.cpp's grammars share: every property is required, no other is allowed, a
choice is `anyOf` and not at the root, and the length of a text can only be bounded by its pattern.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from negolab.money import cents_to_dollars

Schema = dict[str, Any]

MAX_WORDS = 1000
"""Largest length of a text in characters; llama.cpp rejects patterns with 2,000 or more repetitions."""


class Field(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of the kinds of field, all of which are in this module.

    Args:
        label: The words beside its input ("": its name).
        default: Its value if it is left out (UNSET: it must be filled in).
        example: Its value in an instruction (UNSET: none, because it could be taken for advice).
    """

    label: str = ""
    default: Any = UNSET
    example: Any = UNSET


class Choice(Field, frozen=True, gc=False):
    """One of `options`, which are all texts, all whole numbers, or yes and no."""

    options: tuple[Any, ...]


class Count(Field, frozen=True, gc=False):
    """A whole number, both ends included; `unit` is the unit in which people read it ("cents": a price), and `words`
    says what each number stands for, from `least` on, if it is one of a list."""

    least: int
    most: int
    unit: str = ""
    words: tuple[str, ...] = ()


class Price(Count, frozen=True, gc=False):
    """A price from `least` to `most` in cents, which a form gives in dollars."""

    unit: str = "cents"


class Words(Field, frozen=True, gc=False):
    """Free text of at most `most` characters."""

    most: int


class Nothing(Field, frozen=True, gc=False):
    """A field left empty."""


class Several(Field, frozen=True, gc=False):
    """A list of `least` to `most` fields of one kind."""

    of: Field
    least: int
    most: int


class Group(Field, frozen=True, gc=False):
    """Fields with names, in this order; names are compared ignoring case."""

    fields: Mapping[str, Field]


class Amounts(Field, frozen=True, gc=False):
    """Amounts of some of these goods, up to `most` of each by name; for a good named twice, both amounts count."""

    most: Mapping[str, int]


class Either(Field, frozen=True, gc=False):
    """One of several kinds of field; a value that fits none is reported as a misfit of the last."""

    of: tuple[Field, ...]


class Move(msgspec.Struct, frozen=True, gc=False):
    """One way to act now.

    Args:
        kind: Its name, such as "offer".
        make: Turns its filled fields, and those beside it, into an action or an `Invalid`.
        fields: What is to be filled in, by name.
        label: The words on the button that makes it ("": its kind).
        means: How an instruction continues after its example, such as "to accept the offer that stands".
    """

    kind: str
    make: Callable[..., Any]
    fields: Mapping[str, Field] = {}
    label: str = ""
    means: str = ""


class Moves(msgspec.Struct, frozen=True, gc=False):
    """Everything that a seat may do now: one of `moves`, together with the fields `before` and `beside` it.

    Args:
        moves: At least one.
        before: Fields that come first, such as reasoning.
        beside: Fields that go with each of them, such as a message.
        tag: The first field of a move's JSON, which holds its kind ("": none, because its fields identify a move).
        bare: True if there is one move, and its fields stand alone, not under the name `move`.
        told: The instruction ("": it lists the moves).
    """

    moves: tuple[Move, ...]
    before: Mapping[str, Field] = {}
    beside: Mapping[str, Field] = {}
    tag: str = "kind"
    bare: bool = False
    told: str = ""

    def schema(self) -> Schema:
        """Return the JSON schema for what is to be filled in."""
        choice = Either(tuple(map(self._own, self.moves)))
        return field_schema(choice if self.bare else self._around(choice))

    def example(self, move: Move) -> str:
        """Write one of the moves as JSON."""
        return shown(self._own(move) if self.bare else self._around(self._own(move)))

    @property
    def instruction(self) -> str:
        """The words that say what to fill in, and what numbers mean."""
        shown = "; or ".join(f"{self.example(move)} {move.means}".strip() for move in self.moves)
        return self.told or f"{HEAD}: {shown}."

    def move(self, kind: str) -> Move | None:
        """Return the move of a kind; None if it cannot be made now."""
        return next((move for move in self.moves if move.kind == kind), None)

    def action(self, value: Any) -> Any:
        """Return what the first move makes whose fields fit a filled form; raise `Misfit` for any other JSON, with what
        does not fit the last move of its kind."""
        named = value.get("move") if isinstance(value, dict) else None
        kind = named.get(self.tag) if isinstance(named, dict) and self.tag else None
        misfit = Misfit("")
        for move in [move for move in self.moves if move.kind == kind] or self.moves:
            try:
                return move.make(**self._read(move, value))
            except Misfit as found:
                misfit = found
        raise misfit

    def named_option(self, text: str) -> dict[str, int] | None:
        """Return the form for a reply such as `2`, `(b)` or `b) Yes` to a list of options; None if it is not such a
        reply, or if the rest of it names another option."""
        name, field = next(iter(self.moves[0].fields.items()), ("", Nothing()))
        found = _OPTION.fullmatch(text)
        if not (self.bare and isinstance(field, Count)) or found is None:
            return None
        mark, rest = found["mark"] or found["number"], str(_fold(found["rest"] or ""))
        number = int(mark) if mark.isdigit() else ord(mark.lower()) - ord("a") + 1
        others = [re.escape(str(_fold(word))) for at, word in enumerate(field.words, 1) if at != number]
        names_other = re.search(rf"\b\w{{1,3}}\)|\b(?:{'|'.join(others)})\b", rest) if others else None
        return None if names_other or not 1 <= number <= len(field.words) else {name: number}

    def _own(self, move: Move) -> Group:
        return Group({self.tag: Choice((move.kind,)), **move.fields} if self.tag else move.fields)

    def _around(self, move: Field) -> Group:
        return Group({**self.before, "move": move, **self.beside})

    def _read(self, move: Move, value: Any) -> dict[str, Any]:
        if self.bare:
            return read_group(self._own(move), value)
        filled = read_group(self._around(self._own(move)), value)
        own = filled.pop("move")
        own.pop(self.tag, None)
        return {**filled, **own}


_OPTION = re.compile(r"\s*(?:\(?(?P<mark>\d{1,3}|[A-Za-z])\)[.:]?(?P<rest>.*)|(?P<number>\d{1,3})\.?)\s*", re.DOTALL)


def field_schema(field: Field) -> Schema:
    """Return the JSON schema for a field."""
    match field:
        case Choice(options=options):
            return {"type": _TYPES.get(type(options[0]), "string"), "enum": list(options)}
        case Price(least=least, most=most):
            return {"type": "number", "minimum": least / 100, "maximum": most / 100}
        case Count(least=least, most=most):
            return {"type": "integer", "minimum": least, "maximum": most}
        case Words(most=most):
            # No quotation marks or line breaks, because grammars cannot count escaped characters.
            return {"type": "string", "pattern": r'^[^"\\\x00-\x1f\x7f]{0,' + str(min(most, MAX_WORDS)) + "}$"}
        case Several(of=of, least=least, most=most):
            return {"type": "array", "items": field_schema(of), "minItems": least, "maxItems": most}
        case Amounts(most=goods):
            lots = [Group({"good": Choice((name,)), "amount": Count(1, most)}) for name, most in goods.items()]
            return field_schema(Several(Either(tuple(lots)), 1, len(lots)))
        case Group(fields=fields):
            inner = {name: field_schema(each) for name, each in fields.items()}
            return {"type": "object", "properties": inner, "required": list(inner), "additionalProperties": False}
        case Either(of=of):
            return {"anyOf": list(map(field_schema, of))} if len(of) > 1 else field_schema(of[0])
    return {"type": "null"}


_TYPES = {bool: "boolean", int: "integer"}


def shown(field: Field) -> str:
    """Write the example for a field as JSON, with gaps where it has none."""
    if field.example is not UNSET:
        return as_json(field.example)
    match field:
        case Choice(options=options):
            return as_json(options[0]) if len(options) == 1 else "..."
        case Count():
            return "n"
        case Nothing():
            return "null"
        case Several(of=of):
            return f"[{shown(of)}]"
        case Amounts():
            return '[{"good":"...","amount":n}]'
        case Group(fields=fields):
            return "{" + ",".join(f"{as_json(name)}:{shown(each)}" for name, each in fields.items()) + "}"
        case Either(of=of):
            return shown(of[-1])
    return '"..."'


class Misfit(ValueError):
    """A filled field that is not what was asked for; the message tells its author so."""


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object; raise `Misfit` if two names are equal or differ only in case."""
    folded: set[Any] = set()
    for name, _ in pairs:
        if _fold(name) in folded:
            raise Misfit(f"{json.dumps(name)[:60]} appears twice.")
        folded.add(_fold(name))
    return dict(pairs)


def read(field: Field, value: Any) -> Any:
    """Return a filled field as `make` receives it; raise `Misfit` if it does not fit."""
    match field:
        case Choice(options=options):
            for option in options:
                if type(option) is type(value) and _fold(option) == _fold(value):
                    return option
            raise _misfit(value, f"none of {', '.join(map(as_json, options[:20]))}")
        case Price(least=least, most=most):
            cents = round(100 * value) if type(value) in (int, float) and abs(value) <= most else None
            if cents is not None and least <= cents <= most and abs(100 * value - cents) < 1e-6:
                return cents
            raise _misfit(value, f"no price in dollars from {cents_to_dollars(least)} to {cents_to_dollars(most)}")
        case Count(least=least, most=most):
            whole = int(value) if isinstance(value, float) and value.is_integer() else value
            if type(whole) is int and least <= whole <= most:
                return whole
            raise _misfit(value, f"no whole number from {least} to {most}")
        case Words():
            if isinstance(value, str) and not any(0xD800 <= ord(char) < 0xE000 for char in value):
                return value
            raise _misfit(value, "not text, or contains an incomplete character")
        case Several(of=of, least=least, most=most):
            if isinstance(value, list) and least <= len(value) <= most:
                return [read(of, each) for each in value]
            raise _misfit(value, f"not a list of {least} to {most} entries")
        case Amounts(most=goods):
            # The rules refuse more than there is, in their own words.
            lot = Group({"good": Choice(tuple(goods)), "amount": Count(1, 10**6)})
            amounts = dict.fromkeys(goods, 0)
            for each in read(Several(lot, 1, max(5, len(goods))), value):
                amounts[each["good"]] += each["amount"]
            return amounts
        case Group():
            return read_group(field, value)
        case Either(of=(*others, last)):
            for each in others:
                try:
                    return read(each, value)
                except Misfit:
                    continue
            return read(last, value)
    if value is None:
        return None
    raise _misfit(value, "not null")


def read_group(group: Group, value: Any) -> dict[str, Any]:
    """Return the filled fields of a group by name; raise `Misfit` if they do not fit."""
    if not isinstance(value, dict):
        raise _misfit(value, "no object")
    known = {_fold(name): name for name in group.fields}
    found = {str(known.get(_fold(name), name)): filled for name, filled in value.items()}
    if strange := [name for name in found if name not in group.fields]:
        raise _misfit(strange[0], "not among the names")
    return {name: _read_named(name, field, found) for name, field in group.fields.items()}


def _read_named(name: str, field: Field, found: Mapping[str, Any]) -> Any:
    if found.get(name) is None and field.default is not UNSET and (name not in found or field.default is None):
        return field.default
    if name not in found:
        raise Misfit(f"{name} is missing.")
    try:
        return read(field, found[name])
    except Misfit as misfit:
        raise Misfit(f"{name}: {misfit}") from None


def _misfit(value: Any, what: str) -> Misfit:
    return Misfit(f"{json.dumps(value)[:60]} is {what}.")


HEAD = "Answer with one JSON object and nothing else"


def as_json(value: Any) -> str:
    """Write a value as instructions show it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _fold(word: Any) -> Any:
    """Return the form in which a name or an option is compared."""
    if not isinstance(word, str) or len(word) > _LONGEST:
        return word
    return " ".join(unicodedata.normalize("NFKC", word).casefold().split())


_LONGEST = 1000
"""Largest number of characters in a word compared ignoring case, because folding can take more than linear time."""


def such_as(sample: str, *notes: str) -> str:
    """Return the instruction that shows one filled form and says what its fields mean."""
    return " ".join([f"{HEAD}, such as {sample}.", *notes])
