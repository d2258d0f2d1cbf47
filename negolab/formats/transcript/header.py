"""The header of a transcript: the match's end, players, start, measures and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from negolab.catalog import AnyGame
from negolab.events import Ended
from negolab.formatting import format_end, format_model, format_money, format_number, grid_columns, is_grid, label
from negolab.game import SEATS, End, Observation, observe
from negolab.record import Record, SeatOutcome, SeatRecord, start_state

Facts = list[tuple[str, str]]
Known = dict[str, Any]
"""Label -> value, as returned by `Game.facts`."""
_COLUMNS = 9

MASTER = "The master is the game: “master → A” is what it told A, “A → master” what A replied."
"""Legend shown once, before the rows."""


class Table(msgspec.Struct, frozen=True):
    """A table of text; the first column contains the row names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Part(msgspec.Struct, frozen=True):
    """A section of the header: single facts, then tables."""

    name: str
    facts: Facts
    tables: list[Table]


class Head(msgspec.Struct, frozen=True):
    """The header as unescaped text.

    Attributes:
        title: Title of the transcript.
        end: How the match ended.
        paid: Seat, player and formatted payoff; a view does not name players, and the payoff is empty before the end.
        parts: Sections above the rows.
        after: Sections below the rows, which may be long.
    """

    title: str
    end: str
    paid: list[tuple[str, str, str]]
    parts: list[Part]
    after: list[Part] = []

    @property
    def outcome(self) -> Facts:
        """The end and each known payoff, as facts."""
        return [("end", self.end), *((" ".join(filter(None, who)), paid) for *who, paid in self.paid if paid)]


def make_header(source: Record | SeatRecord) -> Head:
    """Build the header of a match, or of one seat's view with only what that seat knows."""
    return _of_view(source) if isinstance(source, SeatRecord) else _of_record(source)


def _of_record(record: Record) -> Head:
    header, game, state = record.header, record.game, start_state(record)
    known = {seat: _even(game.told(seat).facts(observe(state, seat))) for seat in SEATS}
    words = {seat: game.format_payoff(payoff) if record.end else "" for seat, payoff in record.payoffs.items()}
    hidden = msgspec.to_builtins(state.hidden, enc_hook=sorted)
    measures, histories = _single_and_listed(_details(record), game.measure_units)
    concealed, drawn = _single_and_listed({"": hidden} if hidden else {}, {})
    return Head(
        f"Transcript: {header.game}",
        _end(record.end),
        [(str(seat), header.players.get(seat, ""), words[seat]) for seat in SEATS],
        _drop_empty(
            Part("Match", _about(record), []),
            _part("Start", _side_by_side(known["A"], known["B"])),
            Part("Measures", measures, []),
        ),
        _drop_empty(
            _parameters(header.params, game),
            Part(_counts("Hidden at the start", game), concealed + drawn.facts, drawn.tables),
            msgspec.structs.replace(histories, name=_counts("Histories", game)),
        ),
    )


def _details(record: Record) -> dict[str, Any]:
    """Return a match's measures, with the seats of their rows in words for readers."""

    def name(cell: Any) -> Any:
        return words.get(cell, cell) if isinstance(cell, str) else cell

    words, details = record.game.seat_words, record.outcome.details if record.outcome else {}
    return {
        key: [{column: name(cell) for column, cell in row.items()} for row in value] if _are_rows(value) else value
        for key, value in details.items()
    }


def _of_view(view: SeatRecord) -> Head:
    game = view.told
    seen = next((entry for entry in view.entries if isinstance(entry, Observation)), None)
    closing = next((entry for entry in view.entries if isinstance(entry, SeatOutcome)), None)
    return Head(
        f"Transcript: {view.game}, as seat {view.seat} saw it",
        _end(closing.end if closing else None),
        [(view.seat, "", game.format_payoff(closing.payoff))] if closing else [],
        _drop_empty(_part("Start", {} if seen is None else _even(game.facts(seen)))),
        _drop_empty(_parameters(view.params, game)),
    )


def _drop_empty(*parts: Part) -> list[Part]:
    return [part for part in parts if part.facts or part.tables]


def _end(end: End | None) -> str:
    return format_end(end).capitalize()


def _about(record: Record) -> Facts:
    header, last = record.header, record.events[-1]
    models = header.notes.get("models", {})
    about = [
        *(("game", header.game), ("preset", header.preset or "none"), ("match", header.id)),
        *((f"player {seat}", header.players[seat]) for seat in SEATS if seat in header.players),
        *((f"model {seat}", format_model(models[seat])) for seat in SEATS if seat in models),
        ("seed", None if header.seed is None else str(header.seed)),
        ("created", header.created or None),
        ("stopped", (last.reason or None) if isinstance(last, Ended) else None),
    ]
    notes = [(name, note) for name, note in header.notes.items() if isinstance(note, str)]
    return [(name, value) for name, value in about if value is not None] + notes


def _parameters(params: Mapping[str, Any], game: AnyGame) -> Part:
    rows = [(label(name), _text(value)) for name, value in params.items() if value is not None]
    tables = [Table(("parameter", "value"), tuple(rows))] if rows else []
    return Part(_counts("Parameters", game), [], tables)


def _counts(name: str, game: AnyGame) -> str:
    """Add the unit to a heading if its numbers are amounts of money in cents."""
    return f"{name} (money in cents)" if game.unit == "cents" else name


def _single_and_listed(plain: dict[str, Any], units: Mapping[str, str]) -> tuple[Facts, Part]:
    """Split nested data into single facts with units, and lists of mappings.

    A list becomes a table, or one line per entry if a table would have too many columns.
    """
    single: Facts = []
    listed = Part("Histories", [], [])
    for path, value in _leaves(plain, ()):
        name = label(" ".join(filter(None, path))).removeprefix("measures ")
        if not _are_rows(value):
            unit = next((units[part] for part in path if part in units), "")
            single.append(_fact(name, value, unit))
        elif max(map(len, value)) < _COLUMNS:
            listed.tables.append(_grid(name, {str(number): row for number, row in enumerate(value, 1)}))
        else:
            listed.facts.extend((f"{name} {number}", _text(row)) for number, row in enumerate(value, 1))
    return single, listed


def _fact(name: str, value: Any, unit: str) -> tuple[str, str]:
    """Name a value with its unit; an amount of money already has its unit."""
    if unit == "cents":
        return name, _text(value) if value is None else format_money(value)
    return f"{name} ({unit})" if unit else name, _text(value)


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the leaves of nested mappings, each with its path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    else:
        yield path, value


def _side_by_side(a: Known, b: Known) -> Known:
    """Merge what both seats know: shared values once, differing ones under a label with the seat."""
    merged: Known = {name: value for name, value in a.items() if name in b and b[name] == value}
    for name in a:
        if name not in merged and is_grid(a[name]) and is_grid(b.get(name)) and list(a[name]) == list(b[name]):
            merged[name] = _transpose(_side_by_side(_transpose(a[name]), _transpose(b[name])))
    for seat, known in (("A", a), ("B", b)):
        merged |= {f"{name} ({seat})": value for name, value in known.items() if name not in merged}
    return merged


def _even(known: Known) -> Known:
    """Write each row of a grid as one value if no row has all columns, such as the options of different issues."""

    def is_ragged(value: Any) -> bool:
        return is_grid(value) and max(map(len, value.values())) < len(_transpose(value))

    def line(row: Mapping[str, Any]) -> str:
        return "; ".join(f"{label(str(key))}: {_text(value)}" for key, value in row.items())

    return {
        name: {key: {"each": line(row)} for key, row in value.items()} if is_ragged(value) else value
        for name, value in known.items()
    }


def _transpose(grid: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Swap the rows and columns of nested mappings."""
    return {column: {name: row[column] for name, row in grid.items() if column in row} for column in grid_columns(grid)}


def _part(name: str, known: Known) -> Part:
    """Build a section of the header: a mapping of mappings becomes a table, any other value a fact."""
    facts = [(label(key), _text(value)) for key, value in known.items() if not is_grid(value)]
    return Part(name, facts, [_grid(label(key), value) for key, value in known.items() if is_grid(value)])


def _grid(name: str, grid: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = grid_columns(grid)
    rows = ((str(key), *(_text(row.get(column)) for column in columns)) for key, row in grid.items())
    return Table((name, *map(label, columns)), tuple(rows))


def _are_rows(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(row, Mapping) and row for row in value)


def _text(value: Any) -> str:
    """Format a value for readers, nested values in parentheses."""
    match value:
        case None | () | []:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return format_number(value, 4)
        case int():
            return format_number(value)
        case dict():
            return ", ".join(f"{label(str(key))} {_nested(inner)}" for key, inner in value.items()) or "none"
        case list() | tuple():
            return ", ".join(map(_nested, value))
    return str(value)


def _nested(value: Any) -> str:
    return f"({_text(value)})" if isinstance(value, dict | list | tuple) and value else _text(value)
