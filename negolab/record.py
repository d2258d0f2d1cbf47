"""The record of a match (a header and events), and the states and views that are folded from it."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, wraps
from typing import Annotated, Any, TypeVar

import msgspec
from typing_extensions import TypedDict, override

from negolab import catalog, decoding
from negolab._internal.validation import located
from negolab.catalog import AnyGame
from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped, is_finite
from negolab.game import SEATS, End, Invalid, Observation, Outcome, Reply, Seat, State, observe
from negolab.user_code import describe_failure

SCHEMA = 1
DETERMINISTIC = "deterministic"
"""The header note that lists the seats whose players draw nothing at random."""
CODE = "code"
"""The header note that holds, by seat, the file or module of a player that is not negolab's, with its hash, or the
versions of the program that played."""
PERSON = "person"
"""Name that a record gives a person's seat."""
_Of = TypeVar("_Of")
_Found = TypeVar("_Found")


class PersonaNote(TypedDict):
    """A persona's file, and its hash."""

    file: str
    sha256: str


class ModelNote(TypedDict, total=False):
    """Settings of a seat's model, as `LLM.notes` writes them."""

    label: str
    persona: PersonaNote
    parameters: dict[str, Any]


class KnownNotes(TypedDict, total=False):
    """The types of the notes that tables, reports and views read; any others hold whatever their importer likes."""

    models: dict[Seat, ModelNote]
    deterministic: list[Seat]
    stopped: str | None
    strategies: list[tuple[int, list[str]]]
    official: dict[str, Any]


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The game with all its parameters, the seed of the deal, and who played.

    `created` is UTC in ISO 8601. `notes` holds facts from an importer, a batch or a branch.
    """

    schema: int = msgspec.field(default=SCHEMA, name="schema")
    id: Annotated[str, msgspec.Meta(min_length=1)]
    game: str
    preset: str | None = None
    params: dict[str, Any]
    seed: int | None = None
    players: dict[Seat, str] = {}
    created: str = ""
    negolab: str = ""
    notes: dict[str, Any] = {}


class Record(msgspec.Struct, frozen=True):
    """The header and events of one match, from which everything else is derived.

    Args:
        header: The game, its parameters, the seed and the players.
        events: The events in order, `Dealt` first.
    """

    header: Header
    events: tuple[Event, ...]

    @override
    def __repr__(self) -> str:
        preset = f", preset {self.header.preset!r}" if self.header.preset else ""
        return (
            f"<Record {self.id!r} of {self.header.game}{preset}: {self.end or 'not over'}, {len(self.events)} events>"
        )

    @property
    def id(self) -> str:
        """Identifier of the match."""
        return self.header.id

    @property
    def game(self) -> AnyGame:
        """The game as it was played; raises `ValueError` if it is not one of negolab's and its module is not
        imported."""
        return _game(self)

    @property
    def end(self) -> End | None:
        """The end of the match; None if it is not over."""
        last = self.events[-1]
        return last.end if isinstance(last, Ended) else None

    @property
    def payoffs(self) -> dict[Seat, int | float | None]:
        """Each seat's payoff in the game's unit; None if nothing is paid."""
        last = self.events[-1]
        return last.payoffs if isinstance(last, Ended) else {"A": None, "B": None}

    @property
    def outcome(self) -> Outcome | None:
        """The stored end and payoffs, with the game's details for the final state; None if the match is not over."""
        last = self.events[-1]
        if not isinstance(last, Ended):
            return None
        with reading(self):
            return Outcome(last.end, last.payoffs, self.game.details(final_state(self)))

    def seen_by(self, seat: Seat) -> SeatRecord:
        """Return what one seat saw, said and was told, and nothing else.

        Args:
            seat: "A" or "B".

        Raises:
            ValueError: There is no such seat, or the record cannot be replayed.
        """
        if seat not in SEATS:
            raise ValueError(f"a seat must be A or B, not {seat!r}")
        return view_of_seat(self, seat)

    def to_line(self) -> bytes:
        """Encode the record as one line of JSON, with its line ending."""
        return _encoder.encode(self) + b"\n"


def kept_for_last(function: Callable[[_Of], _Found]) -> Callable[[_Of], _Found]:
    """Keep the result for the record, or whatever records share, that was asked for last, because tables and measures
    ask for the same things about one after another.

    Each thread keeps its own.
    """
    kept = threading.local()

    @wraps(function)
    def found(record: _Of) -> _Found:
        last: tuple[_Of, _Found] | None = getattr(kept, "last", None)
        if last is None or last[0] is not record:
            last = kept.last = record, function(record)
        return last[1]

    return found


@contextmanager
def reading(record: Record) -> Iterator[None]:
    """Name the record in any error in what is read from it, because a damaged one can break any rule."""
    try:
        yield
    except Exception as error:
        why = str(error) if isinstance(error, ValueError) else describe_failure(error)
        if re.match(rf"(measure .* fails on )?record {re.escape(record.id)}\b", why):
            raise
        raise ValueError(f"record {record.id}: {why}") from error


@kept_for_last
def _game(record: Record) -> AnyGame:
    head = record.header
    cls = catalog.imported_class(head.game)
    with reading(record):
        return _built_game(cls, head.game, head.preset, _as_text(head.params))


_as_text = kept_for_last(json.dumps)


@lru_cache(maxsize=256)
def _built_game(cls: type[AnyGame], game: str, preset: str | None, params: str) -> AnyGame:
    """Return a game of this class; a class that a notebook has redefined is another one."""
    return catalog.stored_game(game, preset, json.loads(params))


def encode_set(value: Any) -> Any:
    """Encode a set as a sorted list (msgspec's `enc_hook`)."""
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} cannot be written to a record")


_encoder = msgspec.json.Encoder(enc_hook=encode_set, order=None)


def encode_event(event: Event) -> bytes:
    """Encode one event as JSON, as in a record's line."""
    return _encoder.encode(event)


_SHORT = 200
"""Size in bytes up to which equal events are decoded only once: a step or a price, but not a model's answer."""


class RawHeader(Header, frozen=True, kw_only=True):
    """A header whose mappings are not decoded."""

    params: msgspec.Raw = msgspec.Raw(b"")  # type: ignore[assignment]
    players: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    notes: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]


class RawRecord(msgspec.Struct):
    """A record in which only the plain parts of the header are decoded."""

    header: RawHeader
    events: tuple[msgspec.Raw, ...]


decode_raw = msgspec.json.Decoder(RawRecord).decode
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_event = lru_cache(maxsize=10_000)(_event_decoder.decode)
decode_players = lru_cache(maxsize=256)(msgspec.json.Decoder(dict[Seat, str]).decode)
_known_notes = msgspec.json.Decoder(KnownNotes)
_any_notes: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


_any_params: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])
_BEYOND_FLOATS = re.compile(rb"\d{309}")


@lru_cache(maxsize=1_000)
def _start(line: bytes) -> Event:
    _check_numbers("first values", line)
    return _event_decoder.decode(line)


@lru_cache(maxsize=256)
def _params(line: bytes) -> dict[str, Any]:
    _check_numbers("parameters", line)
    return _any_params.decode(line)


def _check_numbers(part: str, line: bytes) -> None:
    if _BEYOND_FLOATS.search(line):
        raise ValueError(f"not a record: its {part} contain a number too large for a float")


@lru_cache(maxsize=256)
def _notes(line: bytes) -> dict[str, Any]:
    """Decode all notes; `KnownNotes` keeps only those that it names."""
    _known_notes.decode(line)
    return _any_notes.decode(line)


def _decode_shared(line: bytes | str) -> Record:
    """Decode a line so that records share what is equal in them: parameters, players, notes, starts, short events."""
    raw = decode_raw(line)
    head = raw.header
    header = Header(
        schema=head.schema,
        id=head.id,
        game=sys.intern(head.game),
        preset=head.preset,
        params=_params(bytes(head.params)),
        seed=head.seed,
        players=decode_players(bytes(head.players)),
        created=head.created,
        negolab=head.negolab,
        notes=_notes(bytes(head.notes)),
    )
    start, rest = raw.events[:1], raw.events[1:]
    events = [_start(bytes(event)) for event in start]
    events += [_event(bytes(event)) if len(event) < _SHORT else _event_decoder.decode(event) for event in rest]
    return Record(header, tuple(events))


def parse_record(line: bytes | str) -> Record:
    """Decode one line; a `ValueError` says what is wrong with it.

    Records that are read share equal values, so their contents must not be changed.
    """
    try:
        record = _decode_shared(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        record = _decode_whole(line)
    if record.header.schema < 1:
        raise ValueError(f"record {record.id} has schema {record.header.schema}")
    if record.header.schema > SCHEMA:
        raise ValueError(f"record {record.id} has schema {record.header.schema}; this version reads up to {SCHEMA}")
    if not is_finite(record.header.seed):
        raise ValueError(f"record {record.id} has a seed too large for a float")
    if not record.events or not isinstance(record.events[0], Dealt):
        raise ValueError(f"record {record.id} does not start with a dealt event")
    last = record.events[-1]
    if isinstance(last, Ended) and (set(last.payoffs) != {"A", "B"} or not all(map(is_finite, last.payoffs.values()))):
        raise ValueError(f"record {record.id} must end with finite payoffs for A and B")
    return record


class _TypedHeader(Header, frozen=True, kw_only=True):
    notes: KnownNotes = {}  # type: ignore[assignment]


class _TypedRecord(Record, frozen=True):
    header: _TypedHeader


def _decode_whole(line: bytes | str) -> Record:
    """Decode a line in one piece, so that the error names the field by its path in the line."""
    with located("not a record", (msgspec.DecodeError, UnicodeDecodeError, RecursionError)):
        msgspec.json.decode(line, type=_TypedRecord)
        return msgspec.json.decode(line, type=Record)


@kept_for_last
def start_state(record: Record) -> State[Any, Any]:
    """Return the initial state."""
    dealt = record.events[0]
    assert isinstance(dealt, Dealt)
    if isinstance(dealt.state, State):
        return dealt.state
    with reading(record):
        return decoding.decode_state(catalog.imported_class(record.header.game), dealt.state)


class Said:
    """A reply and what its seat saw, parsed once: words are read in the state in which they were said, even if another
    seat has forfeited since."""

    def __init__(self, reply: Reply, seen: Observation[Any, Any], told: AnyGame) -> None:
        self.reply, self._seen, self._told = reply, seen, told

    @cached_property
    def action(self) -> Any:
        """The action, or an `Invalid`."""
        return self._told.parse(self.reply.text, self._seen)


@kept_for_last
def told(game: AnyGame) -> dict[Seat, AnyGame]:
    """Return the game as each seat may know it; made once for consecutive matches of one game, because it checks
    parameters."""
    return {seat: game.told(seat) for seat in SEATS}


class Fold:
    """Folds events into states; the games' rules are the only other input."""

    def __init__(self, game: AnyGame, state: State[Any, Any]) -> None:
        self.game = game
        self.state = state
        self._told = told(game)
        self.said: dict[Seat, Said] = {}
        self._invalid: dict[Seat, Invalid] = {}

    def apply(self, event: Event) -> State[Any, Any]:
        """Apply the next event and return the state after it."""
        match event:
            case Replied(seat, reply):
                self.said[seat] = Said(reply, observe(self.state, seat), self._told[seat])
            case Rejected(seat, invalid, wordless):
                # The beginning of a reply that was too long says nothing about the whole.
                read = None if wordless or self.said[seat].reply.length else self.said[seat].action
                self._invalid[seat] = read if isinstance(read, Invalid) else invalid
            case Stepped(seats):
                self.state = self.game.step(self.state, {seat: self.said[seat].action for seat in seats})
            case Forfeited(seat):
                self.state = self.game.forfeit(self.state, seat, self._invalid[seat]) or self.state
            case Dealt() | Ended():
                pass
        return self.state


class _Replay:
    """A record that is folded as far as it has been asked for."""

    def __init__(self, record: Record) -> None:
        self.fold = Fold(record.game, start_state(record))
        self.states: list[State[Any, Any]] = []
        self.said: dict[int, Said] = {}

    def apply(self, event: Event) -> None:
        self.states.append(self.fold.apply(event))
        if isinstance(event, Replied):
            self.said[len(self.states) - 1] = self.fold.said[event.seat]


_replayed = kept_for_last(_Replay)


def states(record: Record) -> Iterator[State[Any, Any]]:
    """Replay a record and yield its states.

    Args:
        record: The record of a match.

    Yields:
        The full state after each event, in order.

    Raises:
        ValueError: The record cannot be replayed; the message names the event.
    """
    replayed = _replayed(record)
    for i, event in enumerate(record.events):
        if i == len(replayed.states):
            try:
                replayed.apply(event)
            except Exception as error:  # a damaged record can break any rule
                why = f"{type(error).__name__}: {error}"
                raise ValueError(f"record {record.id}, event {i}: cannot be replayed: {why}") from error
        yield replayed.states[i]


def said(record: Record, at: int) -> Said:
    """Return the reply that is event `at` in a record that has been replayed up to there."""
    return _replayed(record).said[at]


def final_state(record: Record) -> State[Any, Any]:
    """Return the state after the last event."""
    *_, last = states(record)
    return last


class SeatOutcome(msgspec.Struct, frozen=True, tag="closing"):
    """The end of a match as it is told to one seat: how it ended and the seat's own payoff."""

    end: End
    payoff: int | float | None


class SeatRecord(msgspec.Struct, frozen=True):
    """A match as one seat saw it: the game as told, then its observations, replies and rejections in order.

    It holds no id, seed, preset or opponent, and no index into the full log.
    """

    game: str
    params: dict[str, Any]
    seat: Seat
    entries: tuple[Observation[Any, Any] | Replied | Rejected | Forfeited | SeatOutcome, ...]

    @property
    def told(self) -> AnyGame:
        """The game as the seat may know it; raises `ValueError` as `Record.game` does."""
        return decoding.told_game(catalog.imported_class(self.game), self.params)


def view_of_seat(record: Record, seat: Seat) -> SeatRecord:
    """Build `Record.seen_by`, leaving out events of the other seat that change nothing `seat` sees."""
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
            entries.append(SeatOutcome(event.end, event.payoffs[seat]))
    return SeatRecord(record.header.game, catalog.parameters(game.told(seat)), seat, tuple(entries))
