"""Player factories: a player that is found and checked once, and made anew for each match of a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_type_hints

from negolab._internal.validation import convert_value, suggest
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.player import LLM
from negolab.llm.settings import Settings
from negolab.players.code import PlayerClass, code_facts
from negolab.protocols import Player, Scripted
from negolab.record import PERSON
from negolab.user_code import describe_failure

_LABEL = 80
"""Largest number of characters in a label."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayerFactory:
    """Makes the players for one side of a run, one for each match; `resolve`, which creates it, has checked it.

    Attributes:
        name: The player's name in plans and records, such as "time:beta=0.2,seed=3".
        origin: Where it comes from: the text by which another process resolves the same player, or the object given.
        seats: The seats that it can play.
        deterministic: True if it draws nothing at random.
        is_async: True if its `reply` is a coroutine function.
        is_model: True for a language model.
        amounts: Those among its parameters, in words, such as "price is $52.50".
        called: Its own name, if a label or a tournament has given it another one.
        facts: `source`, `sha256` and `path` of code that is not negolab's, as `code_facts` returns them, or versions of
            a program that plays.
    """

    name: str
    origin: Any
    seats: tuple[Seat, ...]
    deterministic: bool
    is_async: bool
    is_model: bool = False
    amounts: str = ""
    called: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    _create: Callable[[int | None, str, EndpointProvider | None], Any]

    def make(self, *, seed: int | None = None, match: str = "", models: EndpointProvider | None = None) -> Player:
        """Make a player for one match.

        Args:
            seed: Seed for a player whose name carries none (None: the player's own default).
            match: Id of the match, so that a language model finds its cached answers again.
            models: Endpoints for a language model.
        """
        player: Player = self._create(seed, match, models)
        return player

    def check_seat(self, seat: Seat) -> None:
        """Raise `ValueError` if it cannot play this seat."""
        if seat not in self.seats:
            raise ValueError(f"player {self.name!r} sits at {' or '.join(self.seats)} only, not at {seat}")


def class_factory(
    name: str, make: PlayerClass, game: AnyGame, params: Mapping[str, Any], *, spec: str = "", origin: Any = None
) -> PlayerFactory:
    """Return the factory for a class or function, whose parameters are checked and converted here, once.

    Args:
        name: The name by which the class was found, without parameters.
        make: The class, or a function that returns a player.
        game: The game that its players will play; checked and not kept.
        params: The player's parameters, and its `label` in records and tables, unless `label` is a parameter of its
            own.
        spec: The player's name in records ("": its name with its parameters).
        origin: The text or object with which the user named it.

    Raises:
        ValueError: A parameter does not exist or has the wrong type, it is not a player, or it cannot play the game.
    """
    own, label = dict(params), None
    if "label" in own and not _takes_label(make):
        label = checked_label(str(own.pop("label")))
    amounts = dict.fromkeys(getattr(make, "amount_parameters", ()), f" ({game.unit})")
    converted, takes_seed = _bind(name, make, own, amounts)
    shown = ":".join(filter(None, (name, format_settings({k: v for k, v in own.items() if k != "seed"}))))

    def create(seed: int | None, match: str, models: EndpointProvider | None) -> Any:
        made = make(**converted) if seed is None or not takes_seed else make(**converted, seed=seed)
        if isinstance(made, Scripted):
            made.name = shown
        return made

    facts = code_facts(make)
    try:
        probe = create(None, "", None)
    except Exception as error:
        if not facts and isinstance(error, ValueError):
            raise
        raise ValueError(f"player {name!r} cannot be created: {describe_failure(error)}") from error
    given = {param: value for param, value in converted.items() if param in amounts and value is not None}
    told = [f"{param} is {game.format_payoff(value)}" for param, value in given.items()]
    found = replace(_factory(name, spec or shown, origin, probe, game, facts, create), amounts=", ".join(told))
    return replace(found, name=label, called=shown) if label else found


def _takes_label(make: PlayerClass) -> bool:
    try:
        return "label" in inspect.signature(make).parameters
    except (TypeError, ValueError):
        return False  # reported by `_bind`


def checked_label(label: str) -> str:
    """Return a label; raise `ValueError` for one that could be taken for a person, a model, code, or nothing at all."""
    if (
        label.casefold() in (PERSON, "llm")
        or ":" in label
        or not 1 <= len(label.strip()) <= _LABEL
        or not label.isprintable()
    ):
        raise ValueError(
            f"label must be 1 to {_LABEL} printable characters without ':', and not {PERSON!r}: {label!r:.60}"
        )
    return label


def _bind(
    name: str, make: PlayerClass, params: Mapping[str, Any], units: Mapping[str, str]
) -> tuple[dict[str, Any], bool]:
    """Convert a player's parameters; return them, and True if it takes a seed that they do not contain.

    `units` are shown after the names of parameters.
    """
    try:
        signature = inspect.signature(make)
        declared = getattr(make, "__init__") if isinstance(make, type) else make  # noqa: B009
        hints = get_type_hints(declared) if params else {}
    except (TypeError, ValueError, NameError) as error:
        raise ValueError(f"player {name!r}: its parameters cannot be read: {error}") from None
    accepted = signature.parameters
    has_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
    for param in params:
        if param not in accepted and not has_any:
            raise ValueError(f"player {name!r} has no parameter {param!r}: {suggest(param, accepted)}")
    try:
        signature.bind(**params)
    except TypeError as error:
        raise ValueError(f"player {name!r}: {error}") from None
    converted = {
        param: convert_value(value, hints.get(param, Any), param, f"parameter {{}}{units.get(param, '')} of the player")
        for param, value in params.items()
    }
    return converted, "seed" in accepted and "seed" not in params


def object_factory(player: Any, game: AnyGame) -> PlayerFactory:
    """Return the factory for a player given as an object, which plays all of its matches itself."""
    if isinstance(player, LLM):
        raise ValueError(f"a model player stores the chat of one match: pass its name, {player.name!r}")
    name = getattr(player, "name", None)
    shown = name if isinstance(name, str) and name else type(player).__name__
    return _factory(shown, shown, player, player, game, code_facts(type(player)), lambda *_: player)


def _factory(
    name: str, spec: str, origin: Any, probe: Any, game: AnyGame, facts: Mapping[str, Any], create: Callable[..., Any]
) -> PlayerFactory:
    """Return a factory with the properties of `probe`, one of its players; raise `ValueError` if it cannot play the
    game."""
    is_silent = isinstance(probe, Scripted) and type(probe).act is Scripted.act and type(probe).reply is Scripted.reply
    if is_silent or not callable(getattr(probe, "reply", None)):
        lacks = (
            "act(self, game, seen)" if is_silent else "reply(self, told, ask): subclass negolab.Scripted and write act"
        )
        raise ValueError(f"player {name!r} is not a player: {type(probe).__name__} has no method {lacks}")
    try:
        getattr(probe, "check", lambda _: None)(game)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"player {name!r} cannot check the game: {describe_failure(error)}") from error
    return PlayerFactory(
        name=spec,
        origin=origin,
        seats=tuple(getattr(probe, "seats", SEATS)),
        deterministic=bool(getattr(probe, "deterministic", False)),
        is_async=inspect.iscoroutinefunction(probe.reply),
        facts={**facts, **getattr(probe, "program_versions", {})},
        _create=create,
    )


def model_factory(settings: Settings, given: Mapping[str, Any], strategy: PlayerFactory | None) -> PlayerFactory:
    """Return the factory for a language model.

    Args:
        settings: The model and its parameters.
        given: The settings as the user wrote them, for its name.
        strategy: The scripted player that decides for it, if there is one.
    """
    tail = format_settings({name: value for name, value in given.items() if name != "model"})
    name = ",".join(filter(None, (f"llm:{settings.model}", tail)))

    def create(seed: int | None, match: str, models: EndpointProvider | None) -> LLM:
        decides = None if strategy is None else strategy.make(seed=seed)
        assert decides is None or isinstance(decides, Scripted)
        made = LLM(settings, models=models, match=match, strategy=decides)
        made.name = name
        return made

    seats = SEATS if strategy is None else strategy.seats
    create(None, "", None)  # reads the persona
    return PlayerFactory(
        name=name,
        origin=name,
        seats=seats,
        deterministic=False,
        is_async=True,
        is_model=True,
        amounts="" if strategy is None else strategy.amounts,
        facts={} if strategy is None else strategy.facts,
        _create=create,
    )


def format_settings(settings: dict[str, Any]) -> str:
    """Write settings as a player's name shows them."""
    return ",".join(f"{name}={value}" for name, value in settings.items())
