"""Vectors of trading: recorded and generated episodes, readings of texts, deals, options, matches of scripts."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from negolab.catalog import load
from negolab.game import SEATS, Invalid, State, observe
from negolab.games.trading import Move, Trading
from negolab.match import Match
from negolab.players.lookup import player
from negolab.theory.surplus import mutual_surplus, possible_surplus
from tests.conformance import Case, check_reading, rows

Row = dict[str, Any]


def cases(folder: Path) -> Iterator[Case]:
    checks = {
        "episodes-textarena.jsonl": episode,
        "episodes-seed.jsonl": episode,
        "episodes-tolerant.jsonl": episode,
        "parse-strict.jsonl": reading,
        "parse-textarena.jsonl": reading,
        "deals.jsonl": deal,
        "options.jsonl": options,
        "matches.jsonl": match,
        "reading.jsonl": partial(check_reading, meant=lambda move: (move.accept, move.deny, move.offer)),
    }
    for name, check in checks.items():
        for row in rows(folder, name):
            yield Case(name, row["id"], partial(check, row))


def game_of(row: Row) -> Trading:
    game = load(
        "trading",
        preset=row["preset"],
        reading="literal",
        **({"max_turns": row["max_turns"]} if "max_turns" in row else {}),
    )
    assert isinstance(game, Trading)
    return game


def start_of(game: Trading, row: Row) -> State[Any, Any]:
    start = {name: {s: tuple(v) for s, v in row["start"][name].items()} for name in ("holdings", "values")}
    return game.start(start["holdings"], start["values"])


def vectors(offer: Any) -> Row | None:
    """An Offer or a (give, want) pair, as the files write it."""
    if offer is None:
        return None
    give, want = (offer.give, offer.want) if hasattr(offer, "give") else offer
    return {"give": list(give), "want": list(want)}


def episode(row: Row) -> None:
    game = game_of(row)
    state = start_of(game, row)
    if row["seed"] is not None:
        assert game.deal(random.Random(row["seed"])) == state, "dealt start"
    bad = 0
    for number, step in enumerate(row["steps"]):
        state, bad = one_step(game, state, step, bad, f"step {number}")
    compare_final(game, state, row["final"])


def one_step(game: Trading, state: Any, step: Row, bad: int, where: str) -> tuple[Any, int]:
    (seat,) = game.turn(state.public)
    assert seat == step["seat"], where
    before = state
    reply = game.parse(step["text"], observe(state, seat))
    if isinstance(reply, Invalid):
        errors: list[str] = list(reply.codes)
        bad += 1
        verdict = "invalid"
        if bad > game.retries(seat):
            state, verdict = game.forfeit(state, seat, reply), "forfeit"
    else:
        bad = 0
        state = game.step(state, {seat: reply})
        errors = list(state.private[seat].notices[len(before.private[seat].notices) :])
        verdict = "forfeit" if state.public.end == "forfeit" else "invalid" if errors else "ok"
        if "warnings" in step:
            assert list(reply.warnings) == step["warnings"], where
    assert (verdict, errors) == (step["verdict"], step["errors"]), where
    compare_entry(state.public.messages[len(before.public.messages) :], step, where)
    compare_state(state, step, where)
    return state, bad


def compare_entry(appended: tuple[Any, ...], step: Row, where: str) -> None:
    if not appended:
        assert (step["denied"], step["trade"], step["offer"]) == (False, None, None), where
        return
    (entry,) = appended
    trade = entry.trade and {"by": entry.trade.by, "to": entry.seat, **(vectors(entry.trade) or {})}
    assert entry.text == step.get("shown", step["text"]), where
    assert (entry.denied, trade, vectors(entry.offer)) == (step["denied"], step["trade"], step["offer"]), where


def compare_state(state: Any, step: Row, where: str) -> None:
    waiting = state.public.waiting
    assert (waiting and {"by": waiting.by, **(vectors(waiting) or {})}) == step["pending"], where
    assert {s: list(state.private[s].holdings) for s in SEATS} == step["holdings"], where
    assert (state.public.turn, state.public.to_move) == (step["turn"], step["to_move"]), where


def compare_final(game: Trading, state: Any, final: Row) -> None:
    outcome, details = game.outcome(state), game.details(state)
    over = game.turn(state.public) == ()
    assert over == final["over"]
    assert (outcome.end if over else None) == final["end"]
    assert (outcome.payoffs if over else None) == final["payoffs"]
    for name in ("loser", "gain", "joint", "trades", "possible"):
        assert details[name] == final[name], name
    for name in ("share", "mutual", "mutual_share"):
        close(details[name], final[name], name)


def close(found: float | None, expected: float | None, name: str) -> None:
    assert (found is None) == (expected is None), (name, found, expected)
    if found is not None and expected is not None:
        assert math.isclose(found, expected, rel_tol=1e-9), (name, found, expected)


def reading(row: Row) -> None:
    game = game_of({**row, "max_turns": 10})
    plenty = (10**12,) * 5
    state = game.start(dict.fromkeys(SEATS, plenty), dict.fromkeys(SEATS, game.base_values))
    read = game.parse(row["text"], observe(state, "A"))
    if isinstance(read, Invalid):
        assert (row["verdict"], row["error"]) == ("invalid", read.codes[0])
        return
    assert row["verdict"] == "ok", read
    assert isinstance(read, Move)
    assert (read.accept, read.deny, read.malformed) == (row["accept"], row["deny"], row["malformed"])
    assert vectors(read.offer) == row["offer"]
    assert list(read.warnings) == row["warnings"]
    assert game.parse(game.say(read), observe(state, "A")) == read


def deal(row: Row) -> None:
    for preset in ("seed", "tolerant", "textarena-0.7.4"):
        game = game_of({"preset": preset})
        start = start_of(game, row)
        if row["seed"] is not None:
            assert game.deal(random.Random(row["seed"])) == start
        details = game.details(start)
        assert details["worth_start"] == row["worth"]
        assert details["possible"] == row["possible"]
        close(details["mutual"], row["mutual"], "mutual")
    own = start.private
    args = own["A"].values, own["B"].values, own["A"].start, own["B"].start
    assert possible_surplus(*args) == row["possible"]
    close(float(mutual_surplus(*args)), row["mutual"], "mutual")


def options(row: Row) -> None:
    game = game_of(row)
    match = Match(game, start=start_of(game, row))
    for text in row["texts"]:
        (seat,) = match.pending()
        match.submit(seat, text)
    (seat,) = match.pending()
    assert seat == row["seat"]
    found = game.options(match.seen(seat))
    assert len({game.say(move) for move in found}) == len(found), "an option is listed twice"
    assert {game.say(move) for move in found} == set(row["options"])
    for move in found:
        assert game.parse(game.say(move), match.seen(seat)) == move


def match(row: Row) -> None:
    game = game_of(row)
    match = Match(game, seed=row["seed"])
    seats = {s: player(row["players"][s], game) for s in SEATS}
    while match.pending():
        for seat, ask in match.pending().items():
            match.act(seat, seats[seat].reply(match.told(seat), ask))
    assert [entry.text for entry in match.state.public.messages] == row["texts"]
    assert match.outcome is not None
    assert match.outcome.payoffs == row["payoffs"]
    assert match.outcome.details["gain"] == row["gain"]
