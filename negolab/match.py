"""A match: the one mutable thing in play. It does no I/O and asks nobody; drivers and widgets do."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from math import isfinite
from numbers import Integral, Real
from typing import Any, Self, get_args

import msgspec

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped
from negolab.game import SEATS, Ask, End, Game, Invalid, Kind, Observation, Outcome, Reply, Seat, State, other
from negolab.record import Header, Record, start
from negolab.version import __version__


def _check(game: Any, seed: Any, players: Any, id: Any) -> None:
    """What a caller may get wrong, before anything is played that could not be written down."""
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
    """128 random bits as hex digits."""
    return os.urandom(16).hex()


def clean(text: str) -> str:
    """The text with every lone surrogate replaced, so that it can be written as UTF-8."""
    if type(text) is not str:
        text = str.__str__(text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Match:
    """One game between two seats: who is asked what, and what their replies do.

    `seed` deals with `random.Random(seed)` (None: a seed is drawn and kept); `start` plays from an explicit state.
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
        _check(game, seed, players, id)
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
        self._told: dict[Seat, AnyGame] = {}
        self._created = time.time()
        self._seen: dict[Seat, Observation[Any, Any]] = {}
        self._held: dict[Seat, Any] = {}
        self._rejected: dict[Seat, tuple[Invalid, ...]] = {}
        self._turn: tuple[Seat, ...] = ()
        self._settle()

    # Asking.

    def told(self, seat: Seat) -> AnyGame:
        """The game as `seat` may know it."""
        told = self._told.get(seat)
        if told is None:
            told = self._told[seat] = self.game.told(seat)
        return told

    def seen(self, seat: Seat) -> Observation[Any, Any]:
        """What `seat` sees now."""
        seen = self._seen.get(seat)
        if seen is None:
            seen = self._seen[seat] = Observation(seat, self.state.public, self.state.private[seat])
        return seen

    def pending(self) -> dict[Seat, Ask]:
        """Who is asked what now; empty when the match is over."""
        return {seat: self._ask(seat) for seat in self._turn if seat not in self._held}

    def asks(self, seat: Seat) -> bool:
        """Whether `seat` is being asked now."""
        return seat in self._turn and seat not in self._held

    def _ask(self, seat: Seat) -> Ask:
        rejected = self._rejected.get(seat, ())
        allowed = self.game.retries(seat)
        return Ask(self.seen(seat), rejected, None if allowed is None else max(0, allowed - len(rejected)))

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, what it paid and the game's details; None while it runs."""
        ended = self.ended
        return None if ended is None else Outcome(ended.end, ended.payoffs, self.game.details(self.state))

    # Answering.

    def submit(self, seat: Seat, reply: Reply | str) -> list[Event]:
        """Hear a seat's words; the events they caused. `ValueError` if `seat` is not being asked."""
        self._must_ask(seat)
        reply = heard(reply)
        action = self.told(seat).parse(reply.text, self.seen(seat))
        if not isinstance(action, Invalid):
            return self._play(seat, reply, action)
        mark = len(self.events)
        self.events.append(Replied(seat, reply))
        self._refuse(seat, Rejected(seat, _bare(action)), action)
        return self.events[mark:]

    def act(self, seat: Seat, action: Any) -> list[Event]:
        """Play a typed action: the same events as submitting `game.say(action)`. `ValueError` if it is not legal, and
        then nothing was recorded."""
        self._must_ask(seat)
        try:
            reply = Reply(clean(self.game.say(action)))
        except (AttributeError, TypeError) as error:
            raise ValueError(f"{action!r:.200} is no action of {type(self.game).__name__}: {error}") from None
        read = self.told(seat).parse(reply.text, self.seen(seat))
        if read != action:
            why = read.reason if isinstance(read, Invalid) else f"its words are read as {read!r:.200}"
            raise ValueError(f"seat {seat} cannot play {action!r:.200} now: {why}")
        return self._play(seat, reply, action)

    def _play(self, seat: Seat, reply: Reply, action: Any) -> list[Event]:
        mark = len(self.events)
        held = {**self._held, seat: action}
        # Step first: should it raise, nothing was recorded.
        state = self.game.step(self.state, held) if len(held) == len(self._turn) else None
        self.events.append(Replied(seat, reply))
        self._held = held
        if state is not None:
            self._stepped(state)
        return self.events[mark:]

    def reject(self, seat: Seat, invalid: Invalid, said: Reply | None = None) -> list[Event]:
        """Refuse what never became words: a time-out, or an answer (`said`) that cannot be read at all."""
        self._must_ask(seat)
        mark = len(self.events)
        kept = None if said is None else heard(said)
        self._refuse(seat, Rejected(seat, _bare(invalid), wordless=True, said=kept), invalid)
        return self.events[mark:]

    def abort(self, reason: str) -> list[Event]:
        """Stop the match from outside the rules; nothing happens if it is over."""
        if not (reason and type(reason) is str):
            raise ValueError(f"say in words why the match is stopped, not {reason!r}")
        if self.ended is not None:
            return []
        mark = len(self.events)
        self._end(msgspec.structs.replace(self._verdict(), reason=clean(reason)))
        return self.events[mark:]

    def _must_ask(self, seat: Seat) -> None:
        if seat not in self._turn or seat in self._held:
            asked = " and ".join(s for s in self._turn if s not in self._held) or "nobody"
            raise ValueError(f"seat {seat!r} is not being asked now: {asked} is")

    def _stepped(self, state: State[Any, Any]) -> None:
        seats = tuple(self._held) if len(self._held) == 1 else SEATS
        self.events.append(Stepped(seats))
        self._held = {}
        self._rejected = {}
        self._move(state)

    def _refuse(self, seat: Seat, event: Rejected, invalid: Invalid) -> None:
        self.events.append(event)
        rejected = self._rejected[seat] = (*self._rejected.get(seat, ()), event.invalid)
        allowed = self.game.retries(seat)
        if allowed is not None and len(rejected) > allowed:
            self._forfeit(seat, invalid)

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
        self._move(state)

    def _move(self, state: State[Any, Any]) -> None:
        self.state = state
        self._seen = {}
        self._settle()

    def _settle(self) -> None:
        """See who is on turn; step what still waits, or end."""
        self._turn = turn = self.game.turn(self.state.public)
        if self._held:
            self._held = {seat: action for seat, action in self._held.items() if seat in turn}
            if self._held and len(self._held) == len(turn):
                self._stepped(self.game.step(self.state, self._held))
                return
        if not turn:
            self._end(self._verdict())

    def _verdict(self) -> Ended:
        outcome = self.game.outcome(self.state)
        if outcome.end not in get_args(End) or set(outcome.payoffs) != {"A", "B"}:
            raise ValueError(f"an outcome ends in one of {get_args(End)} and pays A and B, not {outcome!r:.200}")
        return Ended(outcome.end, {seat: _payoff(seat, outcome.payoffs[seat]) for seat in SEATS})

    def _end(self, ended: Ended) -> None:
        self.ended = ended
        self.events.append(ended)
        self._turn = ()
        self._held = {}

    # Keeping.

    def record(self) -> Record:
        """The match so far as header and events."""
        header = Header(
            id=self.id,
            game=catalog.game_id(self.game),
            preset=self.game.preset,
            params=catalog.parameters(self.game),
            seed=self.seed,
            players=self.players,
            created=datetime.fromtimestamp(self._created, UTC).isoformat(timespec="seconds"),
            negolab=__version__,
            notes=self.notes,
        )
        return Record(header, tuple(self.events))

    @classmethod
    def replay(cls, record: Record, at: int | None = None, **changes: Any) -> Self:
        """The match as it stood after `events[:at]` (None: all), ready to go on. What one reply caused is one
        whole: an `at` inside it stands before that reply. `changes` are arguments of `Match`."""
        *_, match = cls.stages(record, at, **changes)
        return match

    @classmethod
    def stages(cls, record: Record, at: int | None = None, **changes: Any) -> Iterator[Self]:
        """`replay`, one whole after the other: the same match again and again, first as it was dealt."""
        header = record.header
        keep: dict[str, Any] = {"seed": header.seed, "players": header.players, "notes": header.notes, "id": header.id}
        match = cls(record.game, start=start(record), **{**keep, **changes})
        yield match
        last = len(record.events) if at is None else at
        for begin, end in _moves(record.events):
            if end > last:
                break
            match._again(record.events[begin])
            yield match

    def _again(self, event: Event) -> None:
        match event:
            case Replied(seat, reply):
                self.submit(seat, reply)
            case Rejected(seat, invalid, said=said):
                self.reject(seat, invalid, said)
            case Ended(reason=str(reason)):
                self.abort(reason)

    def fork(self, at: int | None = None) -> Match:
        """A new match that shares the first `at` events of this one and goes on by itself."""
        at = len(self.events) if at is None else at
        if not 1 <= at <= len(self.events):
            raise ValueError(f"at must be 1 to {len(self.events)} events, not {at}")
        # Who plays on, and how it ends, is the new match's own.
        kept = {name: note for name, note in self.notes.items() if name not in ("stopped", "models")}
        notes = {**kept, "forked_from": self.id, "at": at}
        return Match.replay(self.record(), at, id=new_id(), notes=notes)


def _bare(invalid: Any) -> Invalid:
    """The three recorded fields of an `Invalid`; a game may parse into a richer one."""
    codes, reason, kind = invalid.codes, invalid.reason, invalid.kind
    if not (isinstance(codes, tuple) and codes and all(isinstance(code, str) for code in codes)):
        raise ValueError(f"Invalid.codes must be a tuple of words, not {codes!r}")
    if kind not in get_args(Kind) or not isinstance(reason, str):
        raise ValueError(f"Invalid needs a reason in words and a kind of {get_args(Kind)}, not {kind!r}")
    return Invalid(codes, reason, kind)


def heard(reply: Any) -> Reply:
    """A reply as it can be recorded: text as a plain string, without lone surrogates. `TypeError` for what is no
    text, `ValueError` for a field of the wrong type."""
    if isinstance(reply, str):
        return Reply(clean(reply))
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):
        found = reply.text if isinstance(reply, Reply) else reply
        raise TypeError(f"a reply's text must be a string, not {type(found).__name__}")
    if all(value is None for value in msgspec.structs.astuple(reply)[1:]) and type(reply.text) is str:
        text = clean(reply.text)
        return reply if text is reply.text else Reply(text)
    fields = {name: clean(v) if isinstance(v, str) else v for name, v in msgspec.structs.asdict(reply).items()}
    try:
        return msgspec.convert(fields, type=Reply)
    except msgspec.ValidationError as error:
        raise ValueError(f"a reply cannot be recorded: {error}") from None


def _payoff(seat: Seat, payoff: Any) -> int | float | None:
    """A payoff as a plain number."""
    if payoff is None or type(payoff) is int:
        return payoff
    if isinstance(payoff, Integral):
        return int(payoff)
    if isinstance(payoff, Real) and isfinite(payoff):
        return float(payoff)
    raise ValueError(f"the payoff of seat {seat} must be a finite number or None, not {payoff!r}")


def _moves(events: tuple[Event, ...]) -> list[tuple[int, int]]:
    """Index ranges of what belongs together: a reply, a wordless rejection or an abort, with all that it caused."""
    begins = [
        i
        for i, event in enumerate(events)
        if isinstance(event, Replied)
        or (isinstance(event, Rejected) and event.wordless)
        or (isinstance(event, Ended) and event.reason is not None)
    ]
    return list(zip(begins, [*begins[1:], len(events)], strict=False))


def differences(record: Record) -> list[str]:
    """Deal and play a record again and say, a line each, what does not come out as stored (`negolab check`)."""
    try:
        return [f"record {record.id}: {text}" for text in _differences(record)]
    except Exception as error:  # whatever a damaged record leads to is a finding about that record
        return [f"record {record.id}: cannot be replayed: {type(error).__name__}: {error}"]


def _differences(record: Record) -> Iterator[str]:
    seed = record.header.seed
    if seed is not None and record.game.deal(random.Random(seed)) != start(record):
        yield f"the start is not the deal of seed {seed}"
    again = Match.replay(record)
    if len(again.events) != len(record.events):
        yield f"{len(record.events)} events are stored, {len(again.events)} come out when replayed"
    for i, (stored, replayed) in enumerate(zip(record.events, again.events, strict=False)):
        if i and stored != replayed:
            yield f"event {i}: stored {stored!r:.200}, replayed {replayed!r:.200}"
