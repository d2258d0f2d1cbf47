"""What stands above the rows of a transcript: the game, its parameters, the start as tables, outcome and measures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from negolab.game import SEATS, Observation
from negolab.record import Closing, Record, View, start

Facts = list[tuple[str, str]]
_LONG = 300


class Table(msgspec.Struct, frozen=True):
    """Numbers by name: the first column holds the names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Head(msgspec.Struct, frozen=True):
    """Everything as text, unescaped."""

    title: str
    about: Facts
    parameters: Facts
    start: Facts
    tables: list[Table]
    outcome: Facts


def head(source: Record | View) -> Head:
    """The head of a match; of a seat's view, with what that seat knows."""
    return _of_view(source) if isinstance(source, View) else _of_record(source)


def _of_record(record: Record) -> Head:
    header = record.header
    about: Facts = [("preset", header.preset or "none"), ("match", header.id)]
    about += [(f"player {seat}", header.players[seat]) for seat in SEATS if seat in header.players]
    about += [("seed", str(header.seed))] if header.seed is not None else []
    about += [("created", header.created)] if header.created else []
    about += [(name, note) for name, note in header.notes.items() if isinstance(note, str)]
    state = start(record)
    private = {seat: msgspec.to_builtins(own) for seat, own in state.private.items()}
    plain = {
        "public": msgspec.to_builtins(state.public),
        "private": private,
        "hidden": msgspec.to_builtins(state.hidden),
    }
    facts, tables = _start(plain, header.params)
    return Head(f"Transcript: {header.game}", about, _parameters(header.params), facts, tables, _outcome(record))


def _of_view(view: View) -> Head:
    seen = next((entry for entry in view.entries if isinstance(entry, Observation)), None)
    plain = {} if seen is None else {"public": seen.public, "private": {view.seat: seen.private}}
    facts, tables = _start(msgspec.to_builtins(plain), view.params)
    closing = next((entry for entry in view.entries if isinstance(entry, Closing)), None)
    outcome = [] if closing is None else [("end", closing.end), (f"payoff {view.seat}", _text(closing.payoff))]
    title = f"Transcript: {view.game}, as seat {view.seat} saw it"
    return Head(title, [], _parameters(view.params), facts, tables, outcome or [("end", "not over")])


def _parameters(params: dict[str, Any]) -> Facts:
    return [(name, _text(value)) for name, value in params.items() if value is not None]


def _outcome(record: Record) -> Facts:
    outcome = record.outcome
    if outcome is None:
        return [("end", "not over")]
    facts: Facts = [("end", outcome.end)]
    facts += [(f"payoff {seat}", _text(payoff)) for seat, payoff in outcome.payoffs.items()]
    return facts + [(" ".join(path), _text(value)) for path, value in _leaves(outcome.details, ())]


def _start(plain: dict[str, Any], params: dict[str, Any]) -> tuple[Facts, list[Table]]:
    """The start as facts and tables: mappings to numbers that share their names become one table, a column each."""
    facts: Facts = []
    columns: dict[frozenset[str], list[tuple[str, dict[str, Any]]]] = {}
    for path, value in _leaves(plain, ()):
        if isinstance(value, dict):
            columns.setdefault(frozenset(value), []).append((_label(path), value))
        elif value and (path[-1] not in params or params[path[-1]] != value):
            facts.append((_label(path), _text(value)))
    return facts, [_table(named) for named in columns.values()]


def _table(named: list[tuple[str, dict[str, Any]]]) -> Table:
    rows = ((name, *(_text(column[name]) for _, column in named)) for name in named[0][1])
    return Table(("", *(label for label, _ in named)), tuple(rows))


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What is no mapping, or a mapping of names to numbers, with its path."""
    if not isinstance(value, dict) or (value and len(path) > 1 and all(map(_is_number, value.values()))):
        yield path, value
    else:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _label(path: tuple[str, ...]) -> str:
    """`importance A` for what A alone knows, else the name."""
    name = path[-1].replace("_", " ")
    if path[0] == "private" and len(path) > 2:
        return f"{name} {path[1]}"
    return f"{name} (hidden)" if path[0] == "hidden" else name


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    text = json.dumps(value, ensure_ascii=False) if value is not None else "none"
    return text if len(text) <= _LONG else text[:_LONG] + " …"
