"""The base class of games and the values they exchange: states, observations, verdicts on actions, and outcomes.

A game subclasses `Game[Public, Private, Action]`; its fields are its parameters and nothing else. Everything that is
true at one moment is a `State`, split by who may see it; a seat is only ever given `observe(state, seat)`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Generic, Literal, NoReturn, Self, TypeVar

import msgspec
from typing_extensions import override

from negolab._internal.validation import check_fields
from negolab.derived_moves import derived_moves
from negolab.formatting import format_amount, format_quote, format_terms
from negolab.moves import Moves

Seat = Literal["A", "B"]
SEATS: tuple[Seat, Seat] = ("A", "B")

End = Literal["AGREED", "NO_DEAL", "OUT_OF_TIME", "FORFEIT", "ABORTED"]
InvalidKind = Literal["format", "rule", "time"]

ANY_LENGTH = 10**9
"""Length of free text that only the rules limit."""

Public = TypeVar("Public")
Private = TypeVar("Private")
Action = TypeVar("Action")
Key = TypeVar("Key")
Value = TypeVar("Value")


def other(seat: Seat) -> Seat:
    """Return the opposite seat.

    Args:
        seat: "A" or "B".

    Example:
        >>> other("A")
        'B'
    """
    return "B" if seat == "A" else "A"


class FrozenDict(dict[Key, Value]):
    """An immutable dict. Mappings in `Public` and `Private` must be of this kind, so that a player cannot change the
    state through what it is shown. Equality, order and JSON are those of a dict."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("what a seat sees cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def freeze(value: Any) -> Any:
    """Copy a value, with every mapping in it as a `FrozenDict` and every list as a tuple."""
    if isinstance(value, msgspec.Struct):
        fields = {name: freeze(getattr(value, name)) for name in value.__struct_fields__}
        return type(value)(**fields)
    if isinstance(value, dict):
        return FrozenDict({key: freeze(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(inner) for inner in value)
    return value


class State(msgspec.Struct, Generic[Public, Private], frozen=True, gc=False):
    """The full state of a match, split by visibility.

    Args:
        public: Visible to both seats.
        private: Visible to the seat it is filed under.
        hidden: Visible to neither seat, such as random draws that are not yet revealed.
    """

    public: Public
    private: dict[Seat, Private]
    hidden: Any = None


class Observation(msgspec.Struct, Generic[Public, Private], frozen=True, gc=False):
    """Everything that one seat may see, and the only part of a state that players receive.

    Args:
        seat: The seat that sees it.
        public: The state's public part.
        private: The seat's own private part.
    """

    seat: Seat
    public: Public
    private: Private


Seen = Observation[Any, Any]
"""A seat's observation in any game."""


class Invalid(msgspec.Struct, frozen=True, gc=False):
    """A reply that is not a legal action.

    Args:
        codes: Codes of the faults, as the game's specification names them; at least one.
        reason: An explanation for the reply's author, built only from what the author can see.
        kind: "format" (cannot be read), "rule" (not legal now) or "time" (too late).
    """

    codes: tuple[str, ...]
    reason: str
    kind: InvalidKind = "format"


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The end of a match and its payoffs.

    Args:
        end: "AGREED", "NO_DEAL", "OUT_OF_TIME", "FORFEIT" or "ABORTED".
        payoffs: Each seat's payoff in the game's `unit`; None if nothing is paid or imputed.
        details: The game's own measures, see `Game.details`.
    """

    end: End
    payoffs: dict[Seat, int | float | None]
    details: dict[str, Any] = {}


Time = Annotated[float, msgspec.Meta(ge=0, le=9e9)]
"""Seconds since the epoch, up to the year 2255."""


class Reply(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A player's text with data about how it was produced.

    Args:
        text: The words that the game reads.
        via: Input channel, such as "model", "button" or "text".
        asked_at: Time of the request in seconds since the epoch.
        answered_at: Time of the answer in seconds since the epoch.
        model: Name of the language model, as the endpoint reports it.
        reasoning: The model's reasoning text.
        usage: Tokens and attempts that the answer took, see `negolab.llm.endpoint.call.Answer`.
        cost: Cost of the answer in US dollars.
        request_id: The endpoint's id of the request.
        asked: The last message sent to the model before it answered.
        raw: The model's own text, if `text` is derived from it.
        length: Number of characters in a reply that was refused for its length; `text` keeps its beginning.
    """

    text: str
    via: str | None = None
    asked_at: Time | None = None
    answered_at: Time | None = None
    model: str | None = None
    reasoning: str | None = None
    usage: dict[str, Any] | None = None
    cost: float | None = None
    request_id: str | None = None
    asked: str | None = None
    raw: str | None = None
    length: int | None = None


class Malformed(msgspec.Struct, frozen=True, gc=False):
    """An answer that could not be turned into text for the game, with the reason."""

    reply: Reply
    invalid: Invalid


class Ask(msgspec.Struct, frozen=True, gc=False):
    """A request to a seat for its next reply.

    Args:
        seen: The seat's observation.
        rejected: Its rejected replies since it last acted, oldest first.
        retries_left: How many more invalid replies it may make before it forfeits (None: no limit).
    """

    seen: Observation[Any, Any]
    rejected: tuple[Invalid, ...] = ()
    retries_left: int | None = None


def observe(state: State[Public, Private], seat: Seat) -> Observation[Public, Private]:
    """Return what `seat` may see of `state`; games cannot override this.

    Args:
        state: The full state of a match.
        seat: "A" or "B".

    Returns:
        The public part and the seat's own private part.
    """
    return Observation(seat, state.public, state.private[seat])


class Game(msgspec.Struct, Generic[Public, Private, Action], frozen=True, kw_only=True):
    """Base class of games: the fields are parameters, and the methods are pure rules.

    A subclass defines the eight methods from `deal` to `prompt`; the others have defaults. Its type arguments are the
    types of the public state, a seat's private state and an action, all frozen.

    Each parameter must fit its declared type, with bounds as in `Annotated[int, msgspec.Meta(ge=1)]`, or be None, which
    means that it is not told. A subclass checks conditions that span parameters in `__post_init__`, after
    `super().__post_init__()`.

    Raises:
        ValueError: A parameter is invalid; the message names the parameter and its value.
    """

    preset: str | None = None
    """Name of the preset these parameters came from; never told to a seat."""

    @override
    def __init_subclass__(cls, **config: Any) -> None:
        """Reject a parameter that has the name of something every game has.

        Raises:
            TypeError: There is such a parameter; the message names it.
        """
        super().__init_subclass__(**config)
        for name, hint in cls.__annotations__.items():
            if name != "preset" and hasattr(Game, name) and "ClassVar" not in str(hint):
                raise TypeError(
                    f"{cls.__name__}: no parameter can be called {name}, which every game has: call it something else"
                )

    pays_as_it_goes: ClassVar[bool] = False
    """True if an unfinished match has payoffs, namely what was earned so far."""

    @property
    def has_paid_rounds(self) -> bool:
        """True if each of several rounds pays by itself, and the last one, not an agreement, ends the match."""
        return self.pays_as_it_goes and getattr(self, "rounds", 1) > 1

    @property
    def stakes_add_up(self) -> bool:
        """True if what a proposal would bring is added to what earlier rounds or trades brought."""
        return self.has_paid_rounds or self.stake_unit is not None

    unit: ClassVar[str] = "points"
    """Unit of a payoff; see `formatting.display_unit` for the unit in which people read it."""

    stake_unit: ClassVar[str | None] = None
    """Unit of `stakes` and `frontier`, if it is not `unit`."""

    forbids_telling: ClassVar[bool] = False
    """True if the rules forbid telling the other seat one's own numbers."""

    measure_units: ClassVar[Mapping[str, str]] = {}
    """Units of `details` entries, measures and parameters, by name; counts, shares and words have none."""

    report_outcomes: ClassVar[tuple[str, ...]] = (
        *("agreed", "payoff", "efficiency", "turns_to_deal", "first_offer_share", "surplus_share"),
    )
    """Columns of `tables.measures` that a report compares, most important first; a seat's own columns are given without
    its letter."""

    seat_words: ClassVar[Mapping[str, str]] = {}
    """Words that people read for the seats' words in `details`, if the rules fix words that mislead elsewhere."""

    divisible: ClassVar[bool] = False
    """True if every point on the line through the points of `frontier` can be reached, False if only the points can."""

    legacy_defaults: ClassVar[Mapping[str, Any]] = {}
    """Values for parameters that were added later, for stored games that lack them: how games behaved before."""

    Hidden: ClassVar[Any] = type(None)
    """Type of `State.hidden`, so that records can be read back."""

    def __post_init__(self) -> None:
        check_fields(self)

    # Methods that every game defines.

    def deal(self, rng: random.Random) -> State[Public, Private]:
        """Make all of the match's random draws from `rng` and return the initial state."""
        raise NotImplementedError

    def turn(self, public: Public) -> tuple[Seat, ...]:
        """Return the seats on turn: () when the match is over, both seats for simultaneous moves."""
        raise NotImplementedError

    def parse(self, text: str, seen: Observation[Public, Private]) -> Action | Invalid:
        """Parse a reply into an action, or an `Invalid` that explains the fault to its author.

        Legality must be decided from `seen` alone. Never raises for a string.
        """
        raise NotImplementedError

    def say(self, action: Action) -> str:
        """Write an action as text, the inverse of `parse`: `parse(say(action), seen) == action`."""
        raise NotImplementedError

    def options(self, seen: Observation[Public, Private]) -> tuple[Action, ...]:
        """Return all legal actions or a fair sample, in a fixed order; () for a seat that is not on turn."""
        raise NotImplementedError

    def step(self, state: State[Public, Private], actions: Mapping[Seat, Action]) -> State[Public, Private]:
        """Return the state after the actions of all seats on turn.

        Raises:
            ValueError: An action is not legal in `state`.
        """
        raise NotImplementedError

    def outcome(self, state: State[Public, Private]) -> Outcome:
        """Return the end and the payoffs without `details`; "ABORTED" for a state that is not over."""
        raise NotImplementedError

    def prompt(self, seen: Observation[Public, Private], since: Observation[Public, Private] | None) -> str:
        """Return the text that the seat must read before it replies.

        Args:
            seen: The seat's observation.
            since: The last observation it answered; the text then holds only what is new and what is due now.
                None: the text is complete by itself.
        """
        raise NotImplementedError

    # Methods with defaults.

    words: ClassVar[tuple[str, ...]] = ()
    """Fields of an action that are only words: two actions that differ in nothing else are the same move."""

    def moves(self, seen: Observation[Public, Private], talk: int = ANY_LENGTH) -> Moves:
        """Return the moves that are possible now, at least one for a seat on turn, with free text of at most `talk`
        characters (0: none). By default, they follow from `options` and the types of the actions."""
        return derived_moves(self, seen, talk)

    def reply_format(self, seen: Observation[Public, Private]) -> tuple[str, ...]:
        """Return the parts of `prompt` that say how a reply is written in words; with a form, they are left out."""
        return ()

    def same(self, seen: Observation[Public, Private], decided: Action, said: Action) -> bool:
        """Return True if two actions are the same move, whatever words go with them."""
        blank = dict.fromkeys(self.words)
        if type(decided) is not type(said) or not blank:
            return bool(decided == said)
        return not any(
            getattr(decided, name) != getattr(said, name)
            for name in getattr(decided, "__struct_fields__", ())
            if name not in blank
        )

    def secrets(self, seat: Seat) -> tuple[str, ...] | Mapping[str, Any]:
        """Return the parameters that `seat` may not know; `told` sets them to None, which checks must allow.

        A mapping gives their replacements, for parameters that the seat may know in part.
        """
        return ()

    def details(self, state: State[Public, Private]) -> dict[str, Any]:
        """Return a match's measures for `Outcome.details`, as plain data; computed only on request."""
        return {}

    def spoken(self, action: Action) -> str:
        """Return the talk in an action: its words without what the rules read in them; "" if it has none."""
        said = (getattr(action, name, None) for name in self.words)
        return " ".join(words for words in said if isinstance(words, str))

    def left_out(self, text: str, seen: Observation[Public, Private]) -> tuple[tuple[int, int, str], ...]:
        """Return the parts of a reply that were not used, for replays: start, end and reason, in order."""
        return ()

    def role(self, seat: Seat) -> str:
        """Return the name of a seat in data tables, such as `buyer`."""
        return f"player {seat}"

    def own_value(self, state: State[Public, Private], seat: Seat) -> Any:
        """Return what `seat` drew in an initial state, as plain data for tables: a number such as its cost, or more.

        By default, its private state; if that has only one field, the field's value.
        """
        own = msgspec.to_builtins(state.private[seat], enc_hook=sorted)
        return next(iter(own.values())) if isinstance(own, dict) and len(own) == 1 else own

    def describe_effect(self, public: Public) -> str:
        """Return what the last move did that its words do not say, for replays and transcripts; "" for most."""
        return ""

    def format_payoff(self, payoff: int | float | None) -> str:
        """Write a payoff with its unit as people read it, such as `$52.50` or `12 points`."""
        return format_amount(payoff, self.unit)

    def retries(self, seat: Seat) -> int | None:
        """Return how many invalid replies in a row a seat may make before `forfeit` is called (None: no limit)."""
        return 2

    def forfeit(self, state: State[Public, Private], seat: Seat, invalid: Invalid) -> State[Public, Private] | None:
        """Return the state after `seat` used up its retries, such as one with a fallback move.

        None ends the match as "FORFEIT": `seat` is paid 0, and the other seat is paid what `disagreement` says.
        """
        return None

    def describe_forfeit(self, seen: Observation[Public, Private]) -> str:
        """Say, as the end of a sentence to the seat, what `forfeit` would do now; "" if the game does not say."""
        own = type(self).forfeit is not Game.forfeit
        return "" if own else "the match ends by your forfeit and you are paid nothing"

    def disagreement(self, state: State[Public, Private]) -> dict[Seat, int | float]:
        """Return the disagreement point: the payoffs without a deal."""
        return {"A": 0, "B": 0}

    def stakes(self, state: State[Public, Private], seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
        """Return the payoffs if each proposal in `action` were accepted, in order; () if nothing is proposed.

        For the experimenter: uses the full state. `action` must be legal for `seat` in `state`.
        """
        return ()

    def offered(self, state: State[Public, Private], seat: Seat, action: Action) -> tuple[dict[Seat, int | float], ...]:
        """Return what each proposal in `action` would bring both seats by itself, in the order of `terms`: without what
        earlier rounds or trades brought, and even if the other seat could not carry it out. By default `stakes`; asked
        for only if these add up."""
        return self.stakes(state, seat, action)

    def terms(self, action: Action) -> tuple[dict[str, Any], ...]:
        """Return the terms of each proposal in `action`, in the order of `stakes`, as plain data for tables.

        `price_cents` is a price in cents, and `package` is anything else that is proposed: who gets how much of what.
        """
        return ()

    def describe(self, action: Action) -> str:
        """Describe an action in one line that continues after its seat's name, such as `proposes $52.50`, for lists of
        moves. By default, its `terms`, or else what `say` writes."""
        proposed = " or ".join(filter(None, map(format_terms, self.terms(action))))
        return f"proposes {proposed}" if proposed else f"says {format_quote(self.say(action))}"

    def frontier(self, state: State[Public, Private]) -> tuple[tuple[float, float], ...]:
        """Return the Pareto frontier of the agreements' payoffs (A, B), in rising order of A's; () if it is not known.

        For the experimenter: uses the full state. See `divisible`, and `theory.solutions` for points on the frontier.
        """
        return ()

    def max_joint_payoff(self, state: State[Public, Private]) -> float | None:
        """Return the largest sum of both payoffs reachable from an initial state; None if it is not known.

        For the experimenter: uses the full state. In the unit of `frontier`.
        """
        return max((a + b for a, b in self.frontier(state)), default=None)

    def own_facts(self, seen: Observation[Public, Private]) -> Mapping[str, float]:
        """Return the numbers that a seat knows about itself, by what they measure, to tell whether it speaks the truth.

        "" names the only number, such as a cost; a truth value says whether the seat holds the thing of that name.
        """
        return {}

    def facts(self, seen: Observation[Public, Private]) -> dict[str, Any]:
        """Return what a seat's table shows of its private state: labels with numbers, texts, or mappings of rows."""
        plain: dict[str, Any] = msgspec.to_builtins(seen.private, enc_hook=sorted)
        return plain

    def bound(self) -> int | None:
        """Return the largest number of accepted replies in a match (None: no bound)."""
        return None

    def vary(self, state: State[Public, Private], seat: Seat, rng: random.Random) -> State[Public, Private] | None:
        """Redraw only what `seat` alone knows, for the blindness law; None if it alone knows nothing."""
        return None

    def revealed(self, public: Public) -> bool:
        """Return True once the rules have revealed what was private; the blindness law compares until then."""
        return False

    # Not to be overridden.

    def told(self, seat: Seat) -> Self:
        """Return the game as `seat` may know it: no preset name, and nothing that `secrets` lists."""
        hidden = self.secrets(seat)
        changes = hidden if isinstance(hidden, Mapping) else dict.fromkeys(hidden)
        return msgspec.structs.replace(self, preset=None, **changes)
