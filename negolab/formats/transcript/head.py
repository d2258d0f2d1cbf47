"""What stands around the rows of a transcript: how it ended, whose match it was, its start, measures and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from negolab.catalog import AnyGame
from negolab.events import Ended
from negolab.game import SEATS, End, Observation, observe
from negolab.record import Closing, Record, View, start

Facts = list[tuple[str, str]]
Known = dict[str, Any]
"""Label -> value, as `Game.facts` gives it."""
_COLUMNS = 9

MASTER = "The master is the game: “master → A” is what it told A, “A → master” what A replied."
"""Said once, before the rows."""


class Table(msgspec.Struct, frozen=True):
    """Values by name: the first column holds the names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Part(msgspec.Struct, frozen=True):
    """A headed piece of the head: single facts, then tables."""

    name: str
    facts: Facts
    tables: list[Table]


class Head(msgspec.Struct, frozen=True):
    """Everything as text, unescaped. `paid` is (seat, player, payoff in words); a view names no player, and before the
    end there are no words. `after` are the long lists that stand below the rows."""

    title: str
    end: str
    paid: list[tuple[str, str, str]]
    parts: list[Part]
    after: list[Part] = []

    @property
    def outcome(self) -> Facts:
        """The end and what it paid, a line each."""
        return [("end", self.end), *((" ".join(filter(None, who)), paid) for *who, paid in self.paid if paid)]


def head(source: Record | View) -> Head:
    """The head of a match; of a seat's view, with what that seat knows."""
    return _of_view(source) if isinstance(source, View) else _of_record(source)


def _of_record(record: Record) -> Head:
    header, game, state = record.header, record.game, start(record)
    known = {seat: game.told(seat).facts(observe(state, seat)) for seat in SEATS}
    words = {seat: game.paid(payoff) if record.end else "" for seat, payoff in record.payoffs.items()}
    outcome, hidden = record.outcome, msgspec.to_builtins(state.hidden, enc_hook=sorted)
    measures, histories = _single_and_listed(outcome.details if outcome else {}, game.measure_units)
    concealed, drawn = _single_and_listed({"": hidden} if hidden else {}, {})
    return Head(
        f"Transcript: {header.game}",
        _end(record.end),
        [(str(seat), header.players.get(seat, ""), words[seat]) for seat in SEATS],
        _filled(
            Part("Match", _about(record), []),
            _part("Start", _side_by_side(known["A"], known["B"])),
            Part("Measures", measures, []),
            _parameters(header.params, game),
        ),
        _filled(
            Part(_counted("Hidden at the start", game), concealed + drawn.facts, drawn.tables),
            msgspec.structs.replace(histories, name=_counted("Histories", game)),
        ),
    )


def _of_view(view: View) -> Head:
    game = view.told
    seen = next((entry for entry in view.entries if isinstance(entry, Observation)), None)
    closing = next((entry for entry in view.entries if isinstance(entry, Closing)), None)
    return Head(
        f"Transcript: {view.game}, as seat {view.seat} saw it",
        _end(closing.end if closing else None),
        [(view.seat, "", game.paid(closing.payoff))] if closing else [],
        _filled(_part("Start", {} if seen is None else game.facts(seen)), _parameters(view.params, game)),
    )


def _filled(*parts: Part) -> list[Part]:
    return [part for part in parts if part.facts or part.tables]


def _end(end: End | None) -> str:
    return "Not over" if end is None else end.replace("_", " ").capitalize()


def _about(record: Record) -> Facts:
    header, last = record.header, record.events[-1]
    about: Facts = [("game", header.game), ("preset", header.preset or "none"), ("match", header.id)]
    about += [(f"player {seat}", header.players[seat]) for seat in SEATS if seat in header.players]
    about += [("seed", str(header.seed))] if header.seed is not None else []
    about += [("created", header.created)] if header.created else []
    about += [("stopped", last.reason)] if isinstance(last, Ended) and last.reason else []
    return about + [(name, note) for name, note in header.notes.items() if isinstance(note, str)]


def _parameters(params: Mapping[str, Any], game: AnyGame) -> Part:
    facts = [(_label(name), _text(value)) for name, value in params.items() if value is not None]
    return Part(_counted("Parameters", game), facts, [])


def _counted(name: str, game: AnyGame) -> str:
    """A heading; of a game about money it says that plain numbers are cents."""
    return f"{name} (money in cents)" if game.unit == "cents" else name


def _single_and_listed(plain: dict[str, Any], units: Mapping[str, str]) -> tuple[Facts, Part]:
    """Plain data: single facts with their units, and apart from them each list of mappings, as a table or, where that
    would be too wide to read, as lines."""
    single: Facts = []
    listed = Part("Histories", [], [])
    for path, value in _leaves(plain, ()):
        name = _label(" ".join(filter(None, path))).removeprefix("measures ")
        if not _are_rows(value):
            unit = next((units[part] for part in path if part in units), "")
            single.append((f"{name} ({unit})" if unit else name, _text(value)))
        elif max(map(len, value)) < _COLUMNS:
            listed.tables.append(_grid(name, {str(number): row for number, row in enumerate(value, 1)}))
        else:
            listed.facts.extend((f"{name} {number}", _text(row)) for number, row in enumerate(value, 1))
    return single, listed


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What is no mapping, with its path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    else:
        yield path, value


def _side_by_side(a: Known, b: Known) -> Known:
    """What both know, once; then what differs, marked with the seat."""
    merged: Known = {name: value for name, value in a.items() if name in b and b[name] == value}
    for name in a:
        if name not in merged and _is_grid(a[name]) and _is_grid(b.get(name)) and list(a[name]) == list(b[name]):
            merged[name] = _turned(_side_by_side(_turned(a[name]), _turned(b[name])))
    for seat, known in (("A", a), ("B", b)):
        merged |= {f"{name} ({seat})": value for name, value in known.items() if name not in merged}
    return merged


def _turned(grid: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows of columns as columns of rows, and back."""
    columns = dict.fromkeys(column for row in grid.values() for column in row)
    return {column: {name: row[column] for name, row in grid.items() if column in row} for column in columns}


def _part(name: str, known: Known) -> Part:
    """Facts as lines and tables: a mapping of mappings becomes rows and columns."""
    facts = [(_label(key), _text(value)) for key, value in known.items() if not _is_grid(value)]
    return Part(name, facts, [_grid(_label(key), value) for key, value in known.items() if _is_grid(value)])


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(inner, Mapping) for inner in value.values())


def _grid(name: str, grid: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = list(_turned(grid))
    rows = ((str(key), *(_text(row.get(column)) for column in columns)) for key, row in grid.items())
    return Table((name, *map(_label, columns)), tuple(rows))


def _are_rows(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(row, Mapping) and row for row in value)


def _label(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    """A value as one would write it; what is nested stands in brackets."""
    match value:
        case None | () | []:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            # What floats leave of a difference that is none is no measure.
            return f"{round(value, 12) or 0:.6g}"
        case dict():
            return ", ".join(f"{_label(str(key))} {_nested(inner)}" for key, inner in value.items()) or "none"
        case list() | tuple():
            return ", ".join(map(_nested, value))
    return str(value)


def _nested(value: Any) -> str:
    return f"({_text(value)})" if isinstance(value, dict | list | tuple) and value else _text(value)
