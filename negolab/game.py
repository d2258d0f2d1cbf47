"""What a game is: frozen values, pure rules, and no way to show a secret.

A game subclasses `Game[Public, Private, Action]`; its fields are its parameters and nothing else. Everything that is
true at one moment is a `State`, filed by who may see it; a seat is only ever given `observe(state, seat)`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, NoReturn, Self, TypeVar

import msgspec

Seat = Literal["A", "B"]
SEATS: tuple[Seat, Seat] = ("A", "B")

End = Literal["AGREED", "NO_DEAL", "OUT_OF_TIME", "FORFEIT", "ABORTED"]
Kind = Literal["format", "rule", "time"]

Public = TypeVar("Public")
Private = TypeVar("Private")
Action = TypeVar("Action")
Key = TypeVar("Key")
Value = TypeVar("Value")


def other(seat: Seat) -> Seat:
    """The seat across the table."""
    return "B" if seat == "A" else "A"


class FrozenDict(dict[Key, Value]):
    """A mapping that nobody can change. What a player is shown must not be a way into the state, so mappings in
    `Public` and `Private` are of this kind; equality, order and JSON are those of a dict."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("what a seat sees cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def frozen(value: Any) -> Any:
    """The same value with every mapping in it a `FrozenDict` and every list a tuple."""
    if isinstance(value, msgspec.Struct):
        fields = {name: frozen(getattr(value, name)) for name in value.__struct_fields__}
        return type(value)(**fields)
    if isinstance(value, dict):
        return FrozenDict({key: frozen(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(inner) for inner in value)
    return value


class State(msgspec.Struct, Generic[Public, Private], frozen=True, gc=False):
    """Everything true: `public` for both, `private[seat]` for that seat, `hidden` for nobody yet."""

    public: Public
    private: dict[Seat, Private]
    hidden: Any = None


class Observation(msgspec.Struct, Generic[Public, Private], frozen=True, gc=False):
    """All that one seat may see; the only thing a player is ever given of a state."""

    seat: Seat
    public: Public
    private: Private


class Invalid(msgspec.Struct, frozen=True, gc=False):
    """A reply that is not a legal action. `reason` speaks to its author and uses only what the author can see."""

    codes: tuple[str, ...]
    reason: str
    kind: Kind = "format"


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """How a match ended, apart from what it paid (None: nothing is paid or imputed)."""

    end: End
    payoffs: dict[Seat, int | float | None]
    details: dict[str, Any] = {}


class Reply(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A player's words and how they came. Times are seconds since the epoch, `cost` is in US dollars.

    Of a language model also: `asked`, what it was told last before it answered; `raw`, its own text where `text` is
    not; `usage`, what the answer took (see `negolab.players.endpoint.call.Answer`).
    """

    text: str
    via: str | None = None
    asked_at: float | None = None
    answered_at: float | None = None
    model: str | None = None
    reasoning: str | None = None
    usage: dict[str, Any] | None = None
    cost: float | None = None
    request_id: str | None = None
    asked: str | None = None
    raw: str | None = None


class Malformed(msgspec.Struct, frozen=True, gc=False):
    """A player's answer that never became words of the game: what came, and what is wrong with it."""

    reply: Reply
    invalid: Invalid


class Ask(msgspec.Struct, frozen=True, gc=False):
    """What a seat is asked: its observation, its rejections since it last acted, and how many more it may make."""

    seen: Observation[Any, Any]
    rejected: tuple[Invalid, ...] = ()
    retries_left: int | None = None


def observe(state: State[Public, Private], seat: Seat) -> Observation[Public, Private]:
    """What `seat` may see. A function of the engine, so that no game can show more."""
    return Observation(seat, state.public, state.private[seat])


class Game(msgspec.Struct, Generic[Public, Private, Action], frozen=True, kw_only=True):
    """Parameters and pure rules. Bad parameters raise `ValueError` at construction, naming parameter and value."""

    preset: str | None = None
    """Name of the preset these parameters came from; never told to a seat."""

    pays_as_it_goes: ClassVar[bool] = False
    """True if an unfinished match has payoffs: what was earned so far."""

    unit: ClassVar[str] = "points"
    """What a payoff is counted in."""

    stake_unit: ClassVar[str | None] = None
    """What `stakes` and `frontier` are counted in, where it is not `unit`."""

    measure_units: ClassVar[Mapping[str, str]] = {}
    """What entries of `details` are counted in, by their names; counts, shares and words have none."""

    divisible: ClassVar[bool] = False
    """True if the points of `frontier` are corners of one line, False if they stand alone."""

    Hidden: ClassVar[Any] = type(None)
    """Type of `State.hidden`, so that records can be read back."""

    # What a small game writes.

    def deal(self, rng: random.Random) -> State[Public, Private]:
        """Draw all chance of the match, once, from `rng`, and return the start."""
        raise NotImplementedError

    def turn(self, public: Public) -> tuple[Seat, ...]:
        """Who is asked now: () = over, one seat = alternate, two = at once."""
        raise NotImplementedError

    def parse(self, text: str, seen: Observation[Public, Private]) -> Action | Invalid:
        """Read a reply. Legality is decided from what the author can see alone; never raises for a string."""
        raise NotImplementedError

    def say(self, action: Action) -> str:
        """The inverse of `parse`: `parse(say(a), seen) == a`."""
        raise NotImplementedError

    def options(self, seen: Observation[Public, Private]) -> tuple[Action, ...]:
        """All legal actions or a fair sample, in a fixed order; () for a seat that is not on turn."""
        raise NotImplementedError

    def step(self, state: State[Public, Private], actions: Mapping[Seat, Action]) -> State[Public, Private]:
        """A new state; `ValueError` for an action that is not legal."""
        raise NotImplementedError

    def outcome(self, state: State[Public, Private]) -> Outcome:
        """How it ended and what it paid, cheaply; a state that is not over gives ABORTED."""
        raise NotImplementedError

    def prompt(self, seen: Observation[Public, Private], since: Observation[Public, Private] | None) -> str:
        """What the seat must read: everything (`since` None), or what became visible after it and what is due now."""
        raise NotImplementedError

    # What has a default.

    def secrets(self, seat: Seat) -> tuple[str, ...]:
        """Names of the parameters that `seat` may not know; `told` sets them to None, so checks must skip None."""
        return ()

    def details(self, state: State[Public, Private]) -> dict[str, Any]:
        """Measures of a match for `Outcome.details`: plain data, computed only when asked for."""
        return {}

    def paid(self, payoff: int | float | None) -> str:
        """A payoff in words, with its unit."""
        if payoff is None:
            return "nothing"
        return f"{payoff if isinstance(payoff, int) else round(payoff, 2):g} {self.unit}"

    def retries(self, seat: Seat) -> int | None:
        """Invalid replies in a row before `forfeit` is called; 0 = each one calls it, None = ask for ever."""
        return 2

    def forfeit(self, state: State[Public, Private], seat: Seat, invalid: Invalid) -> State[Public, Private] | None:
        """What then happens: a new state, or None: the match ends as FORFEIT, `seat` gets 0 and the other seat
        what `disagreement` pays it."""
        return None

    def disagreement(self, state: State[Public, Private]) -> dict[Seat, int | float]:
        """The disagreement point: what each seat is paid without a deal."""
        return {"A": 0, "B": 0}

    def stakes(self, state: State[Public, Private], seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
        """For the experimenter: what the match would pay if each proposal in `action`, which `seat` may play in
        `state`, were accepted. One entry per proposal, in order; () where nothing is proposed."""
        return ()

    def frontier(self, state: State[Public, Private]) -> tuple[tuple[float, float], ...]:
        """For the experimenter: the Pareto frontier of what agreements can pay (A, B), by rising A; () where it is not
        known. See `divisible`, and `theory.solutions` for points on it."""
        return ()

    def possible(self, state: State[Public, Private]) -> float | None:
        """For the experimenter: the most that both together can come to from a start, counted as `frontier` is; None
        where it is not known."""
        return max((a + b for a, b in self.frontier(state)), default=None)

    def facts(self, seen: Observation[Public, Private]) -> dict[str, Any]:
        """A seat's own facts for its table: label -> number, text, or a mapping of rows."""
        plain: dict[str, Any] = msgspec.to_builtins(seen.private, enc_hook=sorted)
        return plain

    def bound(self) -> int | None:
        """Most accepted replies in a match; None: no bound."""
        return None

    def vary(self, state: State[Public, Private], seat: Seat, rng: random.Random) -> State[Public, Private] | None:
        """The same start with only what `seat` alone knows redrawn (None: it knows nothing alone)."""
        return None

    def revealed(self, public: Public) -> bool:
        """From here on the rules show what was private; the blindness law compares until then."""
        return False

    # What no game overrides.

    def told(self, seat: Seat) -> Self:
        """The same game as `seat` may know it: no preset name, and None for every secret parameter."""
        return msgspec.structs.replace(self, preset=None, **dict.fromkeys(self.secrets(seat)))
