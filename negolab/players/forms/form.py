"""What a form is: a schema of what is legal now, words that tell how to fill it in, and the action it stands for."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import msgspec

from negolab.game import Invalid

Schema = dict[str, Any]
Filled = TypeVar("Filled")


class Form(Protocol):
    """A module of this package. `told` is the game as its seat knows it, `seen` what the seat sees; `talk` is how many
    characters of free text it may write, 0 for none. Nothing else goes in, so that a form can tell no secret."""

    def schema(self, told: Any, seen: Any, talk: int) -> Schema:
        """A JSON schema in the strict subset that OpenAI and llama.cpp share (see `shapes`)."""
        ...

    def instruction(self, told: Any, seen: Any, talk: int) -> str:
        """One short paragraph for the end of the turn's message: what to fill in, and what numbers stand for."""
        ...

    def action(self, told: Any, seen: Any, value: Any) -> Any:
        """The game's action for a filled form, or an `Invalid`; never an exception, whatever JSON `value` is."""
        ...

    def same(self, told: Any, seen: Any, decided: Any, said: Any) -> bool:
        """Whether two actions are one move, whatever words go with them."""
        ...


def filled(value: Any, kind: type[Filled]) -> Filled | Invalid:
    """The JSON value as its type, or what does not fit."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return wrong(f"{error}.")
    except UnicodeEncodeError:
        return wrong("a text holds half a character.")


def wrong(what: str) -> Invalid:
    """A filled form that breaks its schema."""
    return Invalid(("bad_field",), f"Your JSON does not fit what was asked for: {what} Fill it in again.", "format")
