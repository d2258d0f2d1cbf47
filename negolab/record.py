"""A finished (or running) match as data: a header and events. Everything else is folded from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped
from negolab.game import SEATS, End, Invalid, Observation, Outcome, Reply, Seat, State, observe

SCHEMA = 1


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whose match it was: the game with all its parameters, the deal's seed, and who sat where.

    `created` is UTC in ISO 8601. `notes` holds what an importer, a batch or a branch wants to say.
    """

    schema: int = msgspec.field(default=SCHEMA, name="schema")
    id: str
    game: str
    preset: str | None = None
    params: dict[str, Any]
    seed: int | None = None
    players: dict[Seat, str] = {}
    created: str = ""
    negolab: str = ""
    notes: dict[str, Any] = {}


class Record(msgspec.Struct, frozen=True):
    """Header and events of one match."""

    header: Header
    events: tuple[Event, ...]

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def game(self) -> AnyGame:
        """The game as it was played; `ValueError` if it is neither ours nor loaded."""
        return _game(self.header.game, self.header.preset, json.dumps(self.header.params))

    @property
    def end(self) -> End | None:
        """How it ended; None: it has not."""
        last = self.events[-1]
        return last.end if isinstance(last, Ended) else None

    @property
    def payoffs(self) -> dict[Seat, int | float | None]:
        """What each seat was paid; None: nothing."""
        last = self.events[-1]
        return last.payoffs if isinstance(last, Ended) else {"A": None, "B": None}

    @property
    def outcome(self) -> Outcome | None:
        """The stored end and payoffs with the game's details of the final state; None while it runs."""
        last = self.events[-1]
        if not isinstance(last, Ended):
            return None
        return Outcome(last.end, last.payoffs, self.game.details(final(self)))

    def seen_by(self, seat: Seat) -> View:
        """What `seat` saw and did, and nothing else."""
        if seat not in SEATS:
            raise ValueError(f"a seat is A or B, not {seat!r}")
        return view(self, seat)

    def to_line(self) -> bytes:
        """One line of JSON, with its line end."""
        return _encoder.encode(self) + b"\n"


@lru_cache(maxsize=256)
def _game(game: str, preset: str | None, params: str) -> AnyGame:
    return catalog.convert(catalog.known_class(game), {**json.loads(params), "preset": preset})


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} cannot be written to a record")


_encoder = msgspec.json.Encoder(enc_hook=_plain, order=None)


def encode_event(event: Event) -> bytes:
    """One event as JSON, as it stands in a record's line."""
    return _encoder.encode(event)


_decoder = msgspec.json.Decoder(Record)


def from_line(line: bytes | str) -> Record:
    """Read one line; `ValueError` says what is wrong with it."""
    try:
        record = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not a record: {error}") from None
    if record.header.schema < 1:
        raise ValueError(f"record {record.id} has schema {record.header.schema}")
    if record.header.schema > SCHEMA:
        raise ValueError(f"record {record.id} has schema {record.header.schema}; this negolab reads up to {SCHEMA}")
    if not record.events or not isinstance(record.events[0], Dealt):
        raise ValueError(f"record {record.id} does not start with a deal")
    last = record.events[-1]
    if isinstance(last, Ended) and set(last.payoffs) != {"A", "B"}:
        raise ValueError(f"record {record.id} must end with payoffs of A and B")
    return record


def start(record: Record) -> State[Any, Any]:
    """The state that was dealt."""
    dealt = record.events[0]
    assert isinstance(dealt, Dealt)
    state = dealt.state
    return state if isinstance(state, State) else catalog.read_state(catalog.known_class(record.header.game), state)


def opened(record: Record) -> Record:
    """The record with the state that was dealt as typed values, for those who look at it often: reading it takes longer
    than most of what is done with it."""
    return msgspec.structs.replace(record, events=(Dealt(start(record)), *record.events[1:]))


class Fold:
    """The state of a match after each of its events, from the events alone."""

    def __init__(self, game: AnyGame, state: State[Any, Any]) -> None:
        self.game = game
        self.state = state
        self._told = {seat: game.told(seat) for seat in SEATS}
        self._said: dict[Seat, tuple[Reply, Observation[Any, Any]]] = {}
        self._invalid: dict[Seat, Invalid] = {}

    def apply(self, event: Event) -> State[Any, Any]:
        match event:
            case Replied(seat, reply):
                self._said[seat] = (reply, observe(self.state, seat))
            case Rejected(seat, invalid, wordless):
                read = None if wordless else self._parse(seat)
                self._invalid[seat] = read if isinstance(read, Invalid) else invalid
            case Stepped(seats):
                self.state = self.game.step(self.state, {seat: self._parse(seat) for seat in seats})
            case Forfeited(seat):
                self.state = self.game.forfeit(self.state, seat, self._invalid[seat]) or self.state
            case Dealt() | Ended():
                pass
        return self.state

    def _parse(self, seat: Seat) -> Any:
        # Words are read in the state in which they were said: another seat may have forfeited since.
        reply, seen = self._said[seat]
        return self._told[seat].parse(reply.text, seen)


def states(record: Record) -> Iterator[State[Any, Any]]:
    """Replay: the state after each event, in order."""
    fold = Fold(record.game, start(record))
    for i, event in enumerate(record.events):
        try:
            yield fold.apply(event)
        except Exception as error:  # a damaged record can break any rule
            why = f"{type(error).__name__}: {error}"
            raise ValueError(f"record {record.id}, event {i}: cannot be replayed: {why}") from error


def final(record: Record) -> State[Any, Any]:
    """The state after the last event."""
    *_, last = states(record)
    return last


class Closing(msgspec.Struct, frozen=True, tag="closing"):
    """The end as one seat is told it: how, and what it was paid itself."""

    end: End
    payoff: int | float | None


class View(msgspec.Struct, frozen=True):
    """One seat's match: the game as told, then what it saw, said, and was told, in order. No id, seed, preset or
    opponent, and nothing numbered by the full log."""

    game: str
    params: dict[str, Any]
    seat: Seat
    entries: tuple[Observation[Any, Any] | Replied | Rejected | Forfeited | Closing, ...]

    @property
    def told(self) -> AnyGame:
        """The game as its seat was told it; `ValueError` as for `Record.game`."""
        return _game(self.game, None, json.dumps(self.params))


def view(record: Record, seat: Seat) -> View:
    """`Record.seen_by`: an event of the other seat that leaves what `seat` sees unchanged is absent."""
    game = record.game
    entries: list[Any] = []
    last: Observation[Any, Any] | None = None
    for event, state in zip(record.events, states(record), strict=True):
        if isinstance(event, Replied | Rejected | Forfeited) and event.seat == seat:
            entries.append(event)
        seen = observe(state, seat)
        if last is None or seen != last:
            entries.append(seen)
            last = seen
        if isinstance(event, Ended):
            entries.append(Closing(event.end, event.payoffs[seat]))
    return View(record.header.game, catalog.parameters(game.told(seat)), seat, tuple(entries))
