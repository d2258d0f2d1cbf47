"""Vectors of agenda: readings of texts after a history, and matches with what is refused, their ends and payoffs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from negolab.catalog import load, make_game
from negolab.events import Rejected
from negolab.game import SEATS, Invalid
from negolab.match import Match
from tests.conformance import Case, check_reading, rows
from tests.support.agenda import NAME

Row = dict[str, Any]


def cases(folder: Path) -> Iterator[Case]:
    for name, check in CHECKS.items():
        for row in rows(folder, name):
            yield Case(name, row["id"], partial(check, row))


def match_of(scenario: Row) -> Match:
    """A match of a scenario, which is the same game with all parameters from a file."""
    return Match(make_game(type(load(NAME)), {"reading": "literal", **scenario}), seed=1)


def plain(game: Any, offer: tuple[int, ...] | None) -> Row | None:
    """An offer as the files write it."""
    if offer is None:
        return None
    return {
        issue.name: n if issue.options is None else issue.options[n]
        for issue, n in zip(game.issues, offer, strict=True)
    }


def reading(row: Row) -> None:
    match = match_of(row["scenario"])
    for text in row["history"]:
        (seat,) = match.pending()
        assert not any(isinstance(event, Rejected) for event in match.submit(seat, text)), text
    (seat,) = match.pending()
    told, seen = match.told(seat), match.seen(seat)
    read = told.parse(row["text"], seen)
    if isinstance(read, Invalid):
        assert {"invalid": read.codes[0]} == row["expect"]
        return
    assert {"reply": read.reply, "offer": plain(told, read.offer), "talk": read.talk} == row["expect"]
    assert told.parse(told.say(read), seen) == read


def match(row: Row) -> None:
    match = match_of(row["scenario"])
    for text, code in row["texts"]:
        (seat,) = match.pending()
        codes = [event.invalid.codes[0] for event in match.submit(seat, text) if isinstance(event, Rejected)]
        assert codes == ([] if code is None else [code]), text
    assert (match.ended.end if match.ended else None) == row["end"]
    if match.ended is None:
        assert row["payoffs"] is None
        return
    exact = match.game.payoffs(match.state)
    for seat in SEATS:
        expected = Fraction(row["payoffs"][seat])
        assert exact[seat] == expected
        paid = match.ended.payoffs[seat]
        assert paid == float(expected) and isinstance(paid, int) == (expected.denominator == 1)


CHECKS = {
    "parse.jsonl": reading,
    "matches.jsonl": match,
    "reading.jsonl": partial(check_reading, meant=lambda message: (message.reply, message.offer)),
}
