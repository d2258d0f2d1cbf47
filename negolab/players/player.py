"""What a player is, and how one is found by name: `player("time", game, beta=0.2, seed=3)`."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Awaitable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, get_type_hints, runtime_checkable

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.fitting import fit
from negolab.game import SEATS, Ask, Malformed, Reply, Seat

if TYPE_CHECKING:
    from negolab.players.endpoint.call import Answer, Call
    from negolab.players.llm.player import LLM
    from negolab.record import View

MODEL = "llm:"
"""What the name of a model player begins with; the model's name follows, up to the first comma."""


@runtime_checkable
class Player(Protocol):
    """Anything that answers: with words, a `Reply`, a `Malformed` answer, or a typed action of the game; at once or as
    an awaitable."""

    def reply(self, told: AnyGame, ask: Ask) -> str | Reply | Malformed | Any | Awaitable[str | Reply | Any]: ...


@runtime_checkable
class Recalling(Protocol):
    """A player that can take over a seat: it learns what its seat saw and said so far."""

    def recall(self, view: View) -> None: ...


@runtime_checkable
class Noting(Protocol):
    """A player of which more is worth keeping than its name."""

    def notes(self) -> dict[str, Any]: ...


def noted(players: Mapping[Seat, Player]) -> dict[Seat, dict[str, Any]]:
    """What a record's header should say of its players, for those that have more to say than their names."""
    return {seat: who.notes() for seat, who in players.items() if isinstance(who, Noting)}


class Place(Protocol):
    """Where a model is reached: an `Endpoint`. `url` is its address without credentials."""

    @property
    def url(self) -> str: ...

    async def answer(self, call: Call) -> Answer:
        """`GameFailed` if this game cannot go on, `RunFailed` if no game can."""
        ...


class Places(Protocol):
    """Whatever knows endpoints by their address and the name of their key: `Models`, or a fake in a test."""

    def at(self, base_url: str | None = None, key: str | None = None) -> Place: ...


class Scripted:
    """A strategy: deterministic given its seed, and blind to all but its observation.

    A subclass writes `act`; its keyword parameters are those of its `__init__`, and its docstring says in a paragraph
    what it does and where it is from.
    """

    name = ""
    """As it was asked for, without its seed."""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    seats: ClassVar[tuple[Seat, ...]] = SEATS
    """Where it can sit."""

    def check(self, game: Any) -> None:
        """`ValueError` if it cannot play this game; the game is not kept."""

    def act(self, game: Any, seen: Any) -> Any:
        """The action to take in `game` as told to this seat."""
        raise NotImplementedError

    def reply(self, told: AnyGame, ask: Ask) -> Any:
        return self.act(told, ask.seen)


def players(game: AnyGame | str) -> dict[str, type[Scripted]]:
    """Every scripted player for a game, by name: the game's own, then those that play any game."""
    game = catalog.load(game)
    game_id = catalog.game_id(game)
    if ":" in game_id:
        own = getattr(catalog.home(game), "PLAYERS", {})
    else:
        try:
            own = importlib.import_module(f"negolab.players.scripted.{game_id}").PLAYERS
        except ModuleNotFoundError:
            own = {}
    common = importlib.import_module("negolab.players.scripted.common").PLAYERS
    return {**common, **own}


def player(
    name: str,
    game: AnyGame | str,
    *,
    models: Places | None = None,
    match: str = "",
    draws: int | None = None,
    **params: Any,
) -> Scripted | LLM:
    """A player by name. `name` may carry parameters: `time:beta=0.2,seed=3`, `llm:MODEL,temperature=0.7`.
    `ValueError` says which name or parameter does not exist and which are near.

    A language model plays one seat of the match called `match`, through `models`. `draws` is the seed of a scripted
    player whose name carries none."""
    if not isinstance(name, str):
        raise ValueError(f"a player is named by a word such as 'greedy', not {name!r}")
    game = catalog.load(game)
    if name.startswith(MODEL):
        from negolab.players.llm.naming import model_player

        if "model" in params:
            raise ValueError(f"model is given twice: {name!r} names the model already")
        return model_player({**_model_settings(name), **params}, game, models=models, match=match, draws=draws)
    name, _, tail = name.partition(":")
    known = players(game)
    if name not in known:
        as_model = name.startswith("llm") or (tail and "=" not in tail)
        more = " A language model is named llm:MODEL." if as_model else ""
        raise ValueError(f"unknown player {name!r} for {catalog.game_id(game)}: {catalog.near(name, known)}{more}")
    seeded = {} if draws is None else {"seed": draws}
    return _scripted(name, known[name], game, {**seeded, **settings(tail), **params})


def _scripted(name: str, cls: type[Scripted], game: AnyGame, params: dict[str, Any]) -> Scripted:
    accepted = inspect.signature(cls).parameters
    for param in params:
        if param not in accepted:
            raise ValueError(f"player {name!r} has no parameter {param!r}: {catalog.near(param, accepted)}")
    try:
        made = cls(**{param: _typed(cls, param, value) for param, value in params.items()})
    except TypeError as error:
        raise ValueError(f"player {name!r}: {error}") from None
    made.check(game)
    made.name = ":".join(filter(None, (name, ",".join(f"{k}={v}" for k, v in params.items() if k != "seed"))))
    return made


def _typed(cls: type[Scripted], param: str, value: Any) -> Any:
    """A parameter of the type that `__init__` declares; `ValueError` names it."""
    return fit(value, get_type_hints(cls.__init__).get(param, Any), param, "parameter {} of the player")


def _model_settings(name: str) -> dict[str, Any]:
    """`llm:qwen2.5:0.5b,seed=3` as a dict; the model's name may hold colons, and values stay words."""
    model, _, tail = name.removeprefix(MODEL).partition(",")
    if "=" in model:
        begin, _, first = model.rpartition(":")
        raise ValueError(f"settings of a model follow a comma: {MODEL}{begin or 'MODEL'},{first}")
    return {"model": model, **dict(_pairs(tail, {"model"}))}


def settings(text: str) -> dict[str, Any]:
    """`a=1,b=fair` as a dict: values are read as JSON, else kept as words."""
    return {key: setting(value) for key, value in _pairs(text)}


def _pairs(text: str, given: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Names and values; `ValueError` for a name that comes twice or is `given` already."""
    seen = set(given)
    for part in filter(None, text.split(",")):
        key, sign, value = part.partition("=")
        if not sign or not key:
            raise ValueError(f"{part!r} is not of the form name=value")
        key = key.strip()
        if key in seen:
            raise ValueError(f"{key} is given twice: give it once")  # its value may be a secret
        seen.add(key)
        yield key, value.strip()


def setting(value: str) -> Any:
    """One value of the command line: JSON where it is JSON, else the word itself."""
    try:
        return json.loads(value)
    except ValueError:
        return value.strip()
