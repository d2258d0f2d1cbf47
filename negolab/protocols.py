"""Protocols that games build on: players, and the base class for scripted ones."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from negolab.catalog import AnyGame
from negolab.game import SEATS, Ask, Malformed, Reply, Seat

if TYPE_CHECKING:
    from negolab.record import SeatRecord as View


MODEL_PREFIX = "llm:"
"""Prefix of a model player's name; the model's name follows, up to the first comma."""


@runtime_checkable
class Player(Protocol):
    """Anything that answers an `Ask` with text, a `Reply`, a `Malformed` answer or a typed action of the game, directly
    or as an awaitable."""

    def reply(self, told: AnyGame, ask: Ask) -> str | Reply | Malformed | Any | Awaitable[str | Reply | Any]:
        """Answer a question in the match: with text, an action of the game or a `Reply`, or with an awaitable of one.

        Args:
            told: The game as the seat may know it.
            ask: What the seat sees, and what it is asked.
        """


@runtime_checkable
class ResumablePlayer(Protocol):
    """A player that can take over a seat in a running match: `recall` gives it what the seat saw and said so far."""

    def recall(self, view: View) -> None:
        """Take over a match that another object has played so far, from the seat's view of it."""


def player_notes(players: Mapping[Seat, Player]) -> dict[Seat, dict[str, Any]]:
    """Collect, by seat, what players add to a record's header besides their name: those with a method `notes`."""
    # `isinstance` with a runtime protocol takes 20 times as long, once for each match.
    notes = {seat: getattr(player, "notes", None) for seat, player in players.items()}
    return {seat: note() for seat, note in notes.items() if callable(note)}


class Scripted:
    """Base class for strategies: deterministic given the seed, and a function of the observation alone.

    A subclass defines `act`. The keyword parameters of its `__init__` are the player's parameters, and its docstring
    describes the strategy in a paragraph with its source.

    Args:
        seed: Seed for the strategy's own random numbers.

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
    """The name it was created with, without its seed."""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    @cached_property
    def rng(self) -> random.Random:
        """The strategy's own random numbers."""
        return random.Random(self.seed)

    seats: ClassVar[tuple[Seat, ...]] = SEATS
    """The seats that it can play."""
    deterministic: ClassVar[bool] = False
    """True if it draws nothing at random: the same observations lead to the same actions, whatever the seed. Games
    between two such players with the same deal are copies, and statistics count them once."""

    amount_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters in the game's unit, which people read in a larger one; a run says what they mean."""

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
        """Return the action that `act` chooses."""
        return self.act(told, ask.seen)


def deterministic_seats(players: Mapping[Seat, Player]) -> list[Seat]:
    """Return the seats whose players declare that they are deterministic."""
    return sorted(seat for seat, who in players.items() if getattr(who, "deterministic", False))
