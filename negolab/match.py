"""A match between two seats: the only mutable object in play. It does no I/O; drivers and widgets do."""

from __future__ import annotations

import copy
import os
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from numbers import Integral, Real
from typing import Any, Self, get_args

import msgspec
from typing_extensions import override

from negolab import catalog
from negolab._internal.validation import located
from negolab._internal.version import __version__
from negolab.catalog import AnyGame
from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped, is_finite
from negolab.game import SEATS, Ask, End, Game, Invalid, InvalidKind, Observation, Outcome, Reply, Seat, State, other
from negolab.record import CODE, DETERMINISTIC, Header, Record, start_state, told


def _validate(game: Any, seed: Any, players: Any, id: Any) -> None:
    """Reject arguments that could not be recorded."""
    if not isinstance(game, Game):
        raise ValueError(f"a match needs a Game, such as nl.load('trading'), not {game!r:.80}")
    if seed is not None and type(seed) is not int:
        raise ValueError(f"seed must be a whole number or None, not {seed!r}")
    if id is not None and not (isinstance(id, str) and id):
        raise ValueError(f"id must be a word or None, not {id!r}")
    for seat, name in (players or {}).items():
        if seat not in SEATS or not isinstance(name, str):
            raise ValueError(f"players are named by seat, A and B, not {seat!r}: {name!r}")


def new_id() -> str:
    """Draw a match id: 128 random bits as hex digits."""
    return os.urandom(16).hex()


def replace_surrogates(text: str) -> str:
    """Replace every lone surrogate, so that the text can be written as UTF-8."""
    if type(text) is not str:
        text = str.__str__(text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


KEPT_CHARACTERS = 4000
"""Number of characters kept from a reply that is refused for its length."""
MAX_REFUSALS = 100
"""Number of refusals in a row after which a seat without its own limit is out, and the match ends as ABORTED."""

_STEPPED: dict[Seat, Stepped] = {"A": Stepped(("A",)), "B": Stepped(("B",))}
_BOTH_STEPPED = Stepped(SEATS)


class Match:
    """One match of a game: asks seats for replies and records the events.

    Args:
        game: The game with its parameters.
        seed: Seed of the deal, for `random.Random`; None draws one, kept as `seed`.
        start: An initial state to play from instead of a deal.
        players: Names of the players by seat, for the record's header.
        id: Identifier of the match; None draws 128 random bits.
        notes: Further facts for the record's header, as plain data.

    Raises:
        ValueError: An argument cannot be recorded.

    Example:
        >>> import negolab as nl
        >>> match = nl.Match(nl.load("bargaining"), seed=7, id="demo")
        >>> list(match.pending())
        ['A']
        >>> events = match.submit("A", "52.50")
        >>> match
        <Match 'demo' of bargaining, preset 'exact': turn of B>
    """

    def __init__(
        self,
        game: AnyGame,
        *,
        seed: int | None = None,
        start: State[Any, Any] | None = None,
        players: dict[Seat, str] | None = None,
        id: str | None = None,
        notes: dict[str, Any] | None = None,
    ) -> None:
        _validate(game, seed, players, id)
        if start is None:
            seed = random.SystemRandom().getrandbits(48) if seed is None else seed
            start = game.deal(random.Random(seed))
        self.game = game
        self.seed = seed
        self.state = start
        self.players = dict(players or {})
        self.id = id or new_id()
        self.notes = dict(notes or {})
        self.events: list[Event] = [Dealt(start)]
        self.ended: Ended | None = None
        self._told = told(game)
        self._dealt = datetime.now(UTC).isoformat(timespec="seconds")
        self._seen: dict[Seat, Observation[Any, Any]] = {}
        self._submitted: dict[Seat, Any] = {}
        self._rejected: dict[Seat, tuple[Invalid, ...]] = {}
        self._turn: tuple[Seat, ...] = ()
        self._advance()

    @override
    def __repr__(self) -> str:
        turn = " and ".join(seat for seat in self._turn if seat not in self._submitted)
        status = f"turn of {turn}" if self.ended is None else self.ended.end
        return f"<Match {self.id!r} of {catalog.describe(self.game)}: {status}>"

    # Requests.

    def told(self, seat: Seat) -> AnyGame:
        """Return the game as `seat` may know it."""
        return self._told[seat]

    def seen(self, seat: Seat) -> Observation[Any, Any]:
        """Return what `seat` sees now."""
        seen = self._seen.get(seat)
        if seen is None:
            seen = self._seen[seat] = Observation(seat, self.state.public, self.state.private[seat])
        return seen

    def pending(self) -> dict[Seat, Ask]:
        """Return the open requests by seat; empty when the match is over.

        In a simultaneous move, a seat that has replied is no longer asked; its reply stays hidden from the other.
        """
        if not self._submitted and len(self._turn) == 1:
            return {self._turn[0]: self._ask(self._turn[0])}
        return {seat: self._ask(seat) for seat in self._turn if seat not in self._submitted}

    def asks(self, seat: Seat) -> bool:
        """Return True if `seat` is being asked now."""
        return seat in self._turn and seat not in self._submitted

    def _ask(self, seat: Seat) -> Ask:
        rejected = self._rejected.get(seat, ())
        allowed = self.game.retries(seat)
        return Ask(self.seen(seat), rejected, None if allowed is None else max(0, allowed - len(rejected)))

    @property
    def outcome(self) -> Outcome | None:
        """The end, the payoffs and the game's details; None while the match runs."""
        ended = self.ended
        return None if ended is None else Outcome(ended.end, ended.payoffs, self.game.details(self.state))

    @property
    def refused_seat(self) -> Seat | None:
        """The seat that was refused so often in a row that the match was stopped; None if it did not end that way."""
        if self.ended is None or self.ended.reason is None:
            return None
        return next(filter(self._is_refused_too_often, self._rejected), None)

    # Replies.

    def submit(self, seat: Seat, reply: Reply | str) -> list[Event]:
        """Submit a seat's reply and return the events it caused.

        Args:
            seat: The seat that replies; it must be pending.
            reply: Its text, or a `Reply` with data about how it was produced.

        Returns:
            The new events: `Replied` first, then for example `Rejected` or `Stepped`.

        Raises:
            ValueError: `seat` is not being asked now.
            TypeError: The reply has no text.
        """
        self._require_asked(seat)
        reply = recordable(reply)
        action = self._read(seat, reply)
        mark = len(self.events)
        self._take(seat, _shorten(reply, action) if isinstance(action, Invalid) else reply, action)
        self._end_if_refused_too_often(seat)
        return self.events[mark:]

    def _read(self, seat: Seat, reply: Reply) -> Any:
        return self.told(seat).parse(reply.text, self.seen(seat))

    def _take(self, seat: Seat, reply: Reply, action: Any) -> None:
        if isinstance(action, Invalid):
            self.events.append(Replied(seat, reply))
            self._record_rejection(seat, Rejected(seat, _recordable_invalid(action)), action)
        else:
            self._play(seat, reply, action)

    def act(self, seat: Seat, action: Any) -> list[Event]:
        """Play a typed action and return the events it caused, as if submitting `game.say(action)`.

        Args:
            seat: The seat that acts; it must be pending.
            action: An action of the game.

        Raises:
            ValueError: `seat` is not being asked or the action is not legal; nothing is recorded.
        """
        self._require_asked(seat)
        try:
            reply = Reply(replace_surrogates(self.game.say(action)))
        except (AttributeError, TypeError) as error:
            raise ValueError(f"{_shown(action)} is not an action of {type(self.game).__name__}: {error}") from None
        read = self._read(seat, reply)
        if read != action:
            why = read.reason if isinstance(read, Invalid) else f"its words are read as {read!r:.200}"
            raise ValueError(f"seat {seat} cannot play {_shown(action)} now: {why}")
        mark = len(self.events)
        self._play(seat, reply, action)
        return self.events[mark:]

    def _play(self, seat: Seat, reply: Reply, action: Any) -> None:
        submitted = {**self._submitted, seat: action} if self._submitted else {seat: action}
        # Step first, so that nothing is recorded if it raises.
        state = self.game.step(self.state, submitted) if len(submitted) == len(self._turn) else None
        self.events.append(Replied(seat, reply))
        self._submitted = submitted
        if state is not None:
            self._record_step(state)

    def reject(self, seat: Seat, invalid: Invalid, said: Reply | None = None) -> list[Event]:
        """Record a rejection without text, such as a time-out, and return the events it caused.

        Args:
            seat: The seat that was asked; it must be pending.
            invalid: The reason.
            said: The raw answer, if there was one that cannot be parsed at all.

        Raises:
            ValueError: `seat` is not being asked now.
        """
        mark = len(self.events)
        self._reject(seat, invalid, said)
        self._end_if_refused_too_often(seat)
        return self.events[mark:]

    def _reject(self, seat: Seat, invalid: Invalid, said: Reply | None) -> None:
        self._require_asked(seat)
        kept = None if said is None else recordable(said)
        self._record_rejection(seat, Rejected(seat, _recordable_invalid(invalid), wordless=True, said=kept), invalid)

    def abort(self, reason: str, *, unpaid: bool = False, no_deal: bool = False) -> list[Event]:
        """End the match as ABORTED from outside the rules and return the events; none if it is already over.

        Args:
            reason: Why it is stopped; recorded in `Ended`.
            unpaid: Pay nobody, without asking the game what was earned so far, because its code may be at fault.
            no_deal: End it as NO_DEAL instead, and pay what the game pays without a deal.

        Raises:
            ValueError: `reason` is empty.
        """
        if not (reason and type(reason) is str):
            raise ValueError(f"the reason must be text, not {reason!r}")
        if self.ended is not None:
            return []
        mark = len(self.events)
        if no_deal:
            ended = Ended("NO_DEAL", {**self.game.disagreement(self.state)})
        else:
            ended = Ended("ABORTED", dict.fromkeys(SEATS)) if unpaid else self._computed_end()
        self._end(msgspec.structs.replace(ended, reason=replace_surrogates(reason)))
        return self.events[mark:]

    def _require_asked(self, seat: Seat) -> None:
        if seat not in self._turn or seat in self._submitted:
            asked = " and ".join(s for s in self._turn if s not in self._submitted) or "nobody"
            raise ValueError(f"seat {seat!r} is not being asked now: {asked} is")

    def _record_step(self, state: State[Any, Any]) -> None:
        self.events.append(_STEPPED[next(iter(self._submitted))] if len(self._submitted) == 1 else _BOTH_STEPPED)
        self._submitted = {}
        self._rejected = {}
        self._set_state(state)

    def _record_rejection(self, seat: Seat, event: Rejected, invalid: Invalid) -> None:
        self.events.append(event)
        rejected = self._rejected[seat] = (*self._rejected.get(seat, ()), event.invalid)
        allowed = self.game.retries(seat)
        if allowed is not None and len(rejected) > allowed:
            self._forfeit(seat, invalid)

    def _end_if_refused_too_often(self, seat: Seat) -> None:
        """End the match for a seat that may be refused without limit; a replay does so where its record did."""
        if self.ended is None and self._is_refused_too_often(seat):
            self.abort(f"seat {seat} was refused {MAX_REFUSALS} times in a row")

    def _is_refused_too_often(self, seat: Seat) -> bool:
        return len(self._rejected.get(seat, ())) >= MAX_REFUSALS and self.game.retries(seat) is None

    def _forfeit(self, seat: Seat, invalid: Invalid) -> None:
        before = self.state.public
        state = self.game.forfeit(self.state, seat, invalid)
        self.events.append(Forfeited(seat))
        if state is None:
            away = other(seat)
            pays = {**self.game.disagreement(self.state), seat: 0}
            self._end(Ended("FORFEIT", {s: pays[s] for s in SEATS if s in (seat, away)}))
            return
        if state.public != before:
            self._rejected.pop(seat)
        self._set_state(state)

    def _set_state(self, state: State[Any, Any]) -> None:
        self.state = state
        self._seen = {}
        self._advance()

    def _advance(self) -> None:
        """Update the seats on turn; step when all of them have submitted, and end when there are none."""
        self._turn = turn = self.game.turn(self.state.public)
        if type(turn) is not tuple or turn not in _TURNS:
            raise ValueError(
                f"turn(public) of {type(self.game).__name__} must be a tuple of seats, A or B, not {turn!r}"
            )
        if self._submitted:
            self._submitted = {seat: action for seat, action in self._submitted.items() if seat in turn}
            if self._submitted and len(self._submitted) == len(turn):
                self._record_step(self.game.step(self.state, self._submitted))
                return
        if not turn:
            self._end(self._computed_end())

    def _computed_end(self) -> Ended:
        outcome = self.game.outcome(self.state)
        if outcome.end not in get_args(End) or set(outcome.payoffs) != {"A", "B"}:
            raise ValueError(f"an outcome must end in one of {get_args(End)} and pay A and B, not {outcome!r:.200}")
        return Ended(outcome.end, {seat: _plain_payoff(seat, outcome.payoffs[seat]) for seat in SEATS})

    def _end(self, ended: Ended) -> None:
        self.ended = ended
        self.events.append(ended)
        self._turn = ()
        self._submitted = {}

    # Records.

    def record(self, *, created: str | None = None) -> Record:
        """Return the match so far as a header and events.

        Args:
            created: Time for the header (None: the time of the deal).
        """
        header = Header(
            id=self.id,
            game=catalog.game_id(self.game),
            preset=self.game.preset,
            params=catalog.parameters(self.game),
            seed=self.seed,
            players=self.players,
            created=self._dealt if created is None else created,
            negolab=__version__,
            notes=self.notes,
        )
        return Record(header, tuple(self.events))

    @classmethod
    def replay(cls, record: Record, at: int | None = None, **changes: Any) -> Self:
        """Rebuild a match from its record, ready to continue.

        Args:
            record: The record of a match.
            at: Number of events to replay (None: all). An `at` among the events that one reply caused stops before that
                reply.
            **changes: Arguments of `Match` that replace those of the record's header.

        Raises:
            ValueError: The record's game is unknown, or its events are not legal.
        """
        *_, match = cls.replay_stages(record, at, **changes)
        return match

    @classmethod
    def replay_stages(cls, record: Record, at: int | None = None, **changes: Any) -> Iterator[Self]:
        """Replay reply by reply: yield the match as it was dealt, then as it was after each reply and what it
        caused."""
        header = record.header
        keep: dict[str, Any] = {"seed": header.seed, "players": header.players, "notes": header.notes, "id": header.id}
        match = cls(record.game, start=start_state(record), **{**keep, **changes})
        yield match
        last = len(record.events) if at is None else at
        for begin, end in _reply_ranges(record.events):
            if end > last:
                break
            match._reapply(*record.events[begin : begin + 2])
            yield match

    def _reapply(self, event: Event, follows: Event | None = None) -> None:
        match event, follows:
            case Replied(seat, Reply(length=int()) as reply), Rejected(invalid=invalid):
                self._require_asked(seat)
                self._take(seat, reply, invalid)
            case Replied(seat, reply), _:
                self._require_asked(seat)
                self._take(seat, reply, self._read(seat, reply))
            case Rejected(seat, invalid, said=said), _:
                self._reject(seat, invalid, said)
            case Ended("ABORTED", {"A": None, "B": None}, str(reason)), _:
                self.abort(reason, unpaid=True)
            case Ended(end, reason=str(reason)), _:
                self.abort(reason, no_deal=end == "NO_DEAL")

    def snapshot(self) -> Match:
        """Return a copy of the match as it is now, without asking the game for anything."""
        twin = copy.copy(self)
        twin.events, twin._seen, twin._rejected = [*self.events], {**self._seen}, {**self._rejected}
        return twin

    def fork(self, at: int | None = None) -> Match:
        """Return a new match that shares the first `at` events of this one (None: all) and continues independently.

        Raises:
            ValueError: `at` is not from 1 to the number of events.
        """
        at = len(self.events) if at is None else at
        if not 1 <= at <= len(self.events):
            raise ValueError(f"at must be 1 to {len(self.events)} events, not {at}")
        # Who continues to play, and how it ends, is the new match's own matter.
        kept = {
            name: note for name, note in self.notes.items() if name not in ("stopped", "models", CODE, DETERMINISTIC)
        }
        notes = {**kept, "forked_from": self.id, "at": at}
        return Match.replay(self.record(), at, id=new_id(), notes=notes)


def _shorten(reply: Reply, invalid: Invalid) -> Reply:
    """Shorten what is kept from a reply that was refused for its length."""
    length = len(reply.text)
    if "too_long" not in invalid.codes or length <= KEPT_CHARACTERS:
        return reply
    return msgspec.structs.replace(reply, text=reply.text[:KEPT_CHARACTERS], length=length)


_TURNS = frozenset([(), ("A",), ("B",), ("A", "B"), ("B", "A")])


def _shown(action: Any) -> str:
    """Show an action without its memory address, so that the same fault has the same words."""
    return re.sub(r" at 0x[0-9a-f]+", "", f"{action!r:.200}")


def _recordable_invalid(invalid: Any) -> Invalid:
    """Reduce a game's own kind of `Invalid` to the three recorded fields."""
    codes, reason, kind = invalid.codes, invalid.reason, invalid.kind
    if not (isinstance(codes, tuple) and codes and all(isinstance(code, str) for code in codes)):
        raise ValueError(f"Invalid.codes must be a tuple of words, not {codes!r}")
    if kind not in get_args(InvalidKind) or not isinstance(reason, str):
        raise ValueError(f"Invalid needs a reason in words and a kind of {get_args(InvalidKind)}, not {kind!r}")
    return Invalid(codes, reason, kind)


def recordable(reply: Any) -> Reply:
    """Convert a reply to one that can be recorded: plain strings without lone surrogates. Raise `TypeError` if it has
    no text, and `ValueError` if a field has the wrong type."""
    if isinstance(reply, str):
        return Reply(replace_surrogates(reply))
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):
        text = reply.text if isinstance(reply, Reply) else reply
        raise TypeError(f"a reply's text must be a string, not {type(text).__name__}")
    if all(value is None for value in msgspec.structs.astuple(reply)[1:]) and type(reply.text) is str:
        text = replace_surrogates(reply.text)
        return reply if text is reply.text else Reply(text)
    fields = {
        name: replace_surrogates(v) if isinstance(v, str) else v for name, v in msgspec.structs.asdict(reply).items()
    }
    with located("a reply cannot be recorded", msgspec.ValidationError):
        return msgspec.convert(fields, type=Reply)


def _plain_payoff(seat: Seat, payoff: Any) -> int | float | None:
    """Convert a payoff, which may have a NumPy type, to a plain number."""
    if isinstance(payoff, Real | None) and is_finite(payoff):
        return payoff if payoff is None else int(payoff) if isinstance(payoff, Integral) else float(payoff)
    found = "a whole number too large for a float" if isinstance(payoff, int) else repr(payoff)
    raise ValueError(f"the payoff of seat {seat} must be a finite number or None, not {found}")


def _reply_ranges(events: tuple[Event, ...]) -> list[tuple[int, int]]:
    """Return the index ranges of a reply, a wordless rejection or an abort, each with all the events it caused."""
    begins = [
        i
        for i, event in enumerate(events)
        if isinstance(event, Replied)
        or (isinstance(event, Rejected) and event.wordless)
        or (isinstance(event, Ended) and event.reason is not None)
    ]
    return list(zip(begins, [*begins[1:], len(events)], strict=False))
