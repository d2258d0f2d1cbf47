"""Protocols that games build on: players, the base class of scripted ones, and a model's JSON forms.

A form is a JSON schema of what is legal now, an instruction to fill it in, and its conversion to an action. Schemas
keep to the subset that OpenAI's strict mode and llama.cpp's grammars share: every property is required, no other is
allowed, a choice is `anyOf` and not at the root, and the length of a text can only be bounded by its pattern.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

import msgspec

from negolab.catalog import AnyGame
from negolab.game import SEATS, Ask, Invalid, Malformed, Reply, Seat

if TYPE_CHECKING:
    from negolab.record import SeatRecord as View


MODEL_PREFIX = "llm:"
"""Prefix of a model player's name; the model's name follows, up to the first comma."""


@runtime_checkable
class Player(Protocol):
    """Anything that answers an `Ask` with text, a `Reply`, a `Malformed` answer or a typed action of the game, directly
    or as an awaitable."""

    def reply(self, told: AnyGame, ask: Ask) -> str | Reply | Malformed | Any | Awaitable[str | Reply | Any]: ...


@runtime_checkable
class ResumablePlayer(Protocol):
    """A player that can take over a seat in a running match: `recall` gives it what the seat saw and said so far."""

    def recall(self, view: View) -> None: ...


def player_notes(players: Mapping[Seat, Player]) -> dict[Seat, dict[str, Any]]:
    """Collect by seat what players have to say for a record's header beyond their name: those with a method `notes`."""
    # `isinstance` with a runtime protocol takes 20 times as long, once for each match.
    notes = {seat: getattr(player, "notes", None) for seat, player in players.items()}
    return {seat: note() for seat, note in notes.items() if callable(note)}


class Scripted:
    """Base class of strategies: deterministic given the seed, and a function of the observation alone.

    A subclass writes `act`. The keyword parameters of its `__init__` are the player's parameters, and its docstring
    describes the strategy in a paragraph with its source.

    Args:
        seed: Seed of the strategy's own random numbers.

    Example:
        >>> import negolab as nl
        >>> class Stubborn(nl.Scripted):
        ...     def act(self, game, seen):
        ...         return game.options(seen)[-1]
        >>> match = nl.Match(nl.load("bargaining"), seed=1)
        >>> Stubborn().reply(match.told("A"), match.pending()["A"]).cents
        10000
    """

    name = ""
    """The name it was created by, without its seed."""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    seats: ClassVar[tuple[Seat, ...]] = SEATS
    """The seats it can play."""
    deterministic: ClassVar[bool] = False
    """True if it draws nothing at random: the same observations, the same actions, whatever the seed. Games between two
    such players on one deal are copies, and statistics count them once."""

    def check(self, game: Any) -> None:
        """Raise `ValueError` if it cannot play this game; the game must not be kept."""

    def act(self, game: Any, seen: Any) -> Any:
        """Return the next action.

        Args:
            game: The game as this seat may know it.
            seen: The seat's observation.
        """
        raise NotImplementedError

    def reply(self, told: AnyGame, ask: Ask) -> Any:
        return self.act(told, ask.seen)


def deterministic_seats(players: Mapping[Seat, Player]) -> list[Seat]:
    """Return the seats whose players say that they are deterministic."""
    return sorted(seat for seat, who in players.items() if getattr(who, "deterministic", False))


Schema = dict[str, Any]
FormValue = TypeVar("FormValue")


class Form(Protocol):
    """The functions of a game's `form` module.

    `told` is the game as its seat may know it, `seen` the seat's observation, `talk` the number of characters of free
    text it may write (0: none). There is no other input, so that a form cannot leak a secret.
    """

    def schema(self, told: Any, seen: Any, talk: int) -> Schema:
        """Return the JSON schema of what is legal now."""
        ...

    def instruction(self, told: Any, seen: Any, talk: int) -> str:
        """Return a short paragraph that ends the prompt: what to fill in and what numbers mean."""
        ...

    def action(self, told: Any, seen: Any, value: Any) -> Any:
        """Convert a filled form to an action or an `Invalid`; never raises, whatever JSON `value` is."""
        ...

    def same(self, told: Any, seen: Any, decided: Any, said: Any) -> bool:
        """Return True if two actions are the same move, whatever words go with them."""
        ...


def decode_form(value: Any, kind: type[FormValue]) -> FormValue | Invalid:
    """Convert a JSON value to its type, or to an `Invalid` that says what is wrong."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return invalid_form(f"{error}.")
    except UnicodeEncodeError:
        return invalid_form("a text holds half a character.")


def invalid_form(what: str) -> Invalid:
    """Return the `Invalid` of a form that breaks its schema."""
    return Invalid(("bad_field",), f"Your JSON does not fit what was asked for: {what} Fill it in again.", "format")


# Parts of JSON schemas.

NULL_SCHEMA: Schema = {"type": "null"}

MAX_TEXT_LENGTH = 1000
"""Bound of a text in characters; llama.cpp takes no pattern of 2,000 repetitions or more."""


def object_schema(**properties: Schema) -> Schema:
    """Schema of an object with exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def integer_schema(least: int, most: int) -> Schema:
    """Schema of a whole number, both ends included."""
    return {"type": "integer", "minimum": least, "maximum": most}


def enum_schema(*words: str) -> Schema:
    """Schema of one of these texts."""
    return {"type": "string", "enum": list(words)}


def text_schema(most: int) -> Schema:
    """Schema of free text, without quotation marks and line breaks: grammars cannot count escaped characters."""
    return {"type": "string", "pattern": r'^[^"\\\x00-\x1f\x7f]{0,' + str(min(most, MAX_TEXT_LENGTH)) + "}$"}


def array_schema(item: Schema, least: int, most: int) -> Schema:
    """Schema of a list of `item`."""
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def any_of(choices: Iterable[Schema]) -> Schema:
    """Schema of a choice; a single choice stands for itself."""
    schemas = list(choices)
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def example_json(value: Any) -> str:
    """Write a filled form as instructions show it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
