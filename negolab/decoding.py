"""Starts, observations and games as told to a seat, decoded from what a record or another process holds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType
from typing import Any, get_args

import msgspec

from negolab._internal.validation import located
from negolab.catalog import AnyGame
from negolab.game import Observation, State, freeze


def told_game(cls: type[AnyGame], params: Mapping[str, Any]) -> AnyGame:
    """Construct a game from the parameters that a seat was told.

    Hidden parameters are None, whatever their type, so the game as a whole is not validated.

    Args:
        cls: Class of the game.
        params: Parameters as plain data.

    Raises:
        msgspec.ValidationError: A known parameter has the wrong type.
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(cls)}
    values = {
        fields[name].name: None if value is None else msgspec.convert(value, fields[name].type)
        for name, value in {**cls.legacy_defaults, **params}.items()
    }
    return cls(**values)


@cache
def state_type(cls: type[AnyGame]) -> Any:
    """Return the struct type of a game's states, with its `Public`, `Private` and `Hidden`, for decoding records."""
    for base in getattr(cls, "__orig_bases__", ()):
        args = get_args(base)
        if len(args) == 3:
            return msgspec.defstruct(
                "State",
                [("public", args[0]), ("private", dict[str, args[1]]), ("hidden", cls.Hidden, None)],  # type: ignore[valid-type]
            )
    raise ValueError(f"{cls.__name__} must subclass Game[Public, Private, Action], with its own three types filled in")


def decode_observation(cls: type[AnyGame], plain: dict[str, Any]) -> Observation[Any, Any]:
    """Convert a plain observation to a typed one; a `ValueError` names the invalid field."""
    public, private = (field.type for field in msgspec.structs.fields(state_type(cls))[:2])
    with located(f"the observation does not fit {cls.__name__}", msgspec.ValidationError):
        shown = msgspec.convert(plain["public"], type=public)
        own = msgspec.convert(plain["private"], type=get_args(private)[1])
    return Observation(plain["seat"], freeze(shown), freeze(own))


def decode_state(cls: type[AnyGame], plain: Any) -> State[Any, Any]:
    """Convert a plain initial state to a typed one; a `ValueError` names the invalid field."""
    with located(f"the start does not fit {cls.__name__}", msgspec.ValidationError):
        state = msgspec.convert(plain, type=state_type(cls))
    if set(state.private) != {"A", "B"}:
        raise ValueError(f"the start must contain the private parts of A and B, not {sorted(state.private)}")
    private = {seat: freeze(own) for seat, own in state.private.items()}
    return State(freeze(state.public), private, None if cls.Hidden is NoneType else state.hidden)
