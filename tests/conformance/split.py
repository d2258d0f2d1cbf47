"""Vectors of split: matches, readings, allocations, views, parameters, scenarios, deals, players, corpora."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

from negolab.catalog import load
from negolab.game import SEATS, Invalid, Observation, Seat, State, observe
from negolab.games.split import PRESETS, Split, allocate, corpus_scenarios
from negolab.match import Match
from negolab.players.lookup import player
from tests.conformance import Case, check_reading, rows
from tests.support.dialogues import read_corpus

Row = dict[str, Any]


def cases(folder: Path) -> Iterator[Case]:
    checks: dict[str, Callable[[Row], None]] = {
        "matches.jsonl": match,
        "parse.jsonl": reading,
        "allocation.jsonl": allocation,
        "views.jsonl": view,
        "params.jsonl": params,
        "scenarios.jsonl": scenario,
        "expectations.jsonl": expectation,
        "baselines.jsonl": baseline,
        "corpus.jsonl": corpus,
        "reading.jsonl": partial(check_reading, meant=lambda action: action),
    }
    for name, check in checks.items():
        for row in rows(folder, name):
            yield Case(name, row["id"], partial(check, row))
    for path in sorted(folder.glob("corpus_sample*.txt")):
        if path.with_suffix(".json").is_file():
            yield Case(path.name, path.stem, partial(sample, path))


def game_of(row: Row) -> Split:
    """The game of a row, checked against the same game from the catalog."""
    game = Split(**{**PRESETS[row["preset"]], **row["params"], "reading": "literal"})
    loaded = load("split", preset=row["preset"], **row["params"], reading="literal")
    assert isinstance(loaded, Split) and loaded.told("A") == game.told("A") and loaded.contexts == game.contexts
    return game


def text_of(text: str | list[list[Any]]) -> str:
    """Expand a text from pieces to be repeated and joined."""
    return text if isinstance(text, str) else "".join(piece * times for piece, times in text)


def close(found: Any, expected: Any, where: str = "") -> None:
    """Compare numbers to within a relative 1e-9, and only the expected keys of a dict."""
    if isinstance(expected, dict):
        assert isinstance(found, dict) and expected.keys() <= found.keys(), f"{where}: {found!r} lacks keys"
        for key, value in expected.items():
            close(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list | tuple):
        assert isinstance(found, list | tuple) and len(found) == len(expected), f"{where}: {found!r} != {expected!r}"
        for at, (one, other) in enumerate(zip(found, expected, strict=True)):
            close(one, other, f"{where}[{at}]")
    elif isinstance(expected, bool) or not isinstance(expected, int | float):
        assert found == expected and type(found) is type(expected), f"{where}: {found!r} != {expected!r}"
    else:
        assert isinstance(found, int | float), f"{where}: {found!r} is no number"
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9), f"{where}: {found!r} != {expected!r}"


class Table:
    """A minimal engine that plays replies against the rules alone."""

    def __init__(self, game: Split, state: State[Any, Any]) -> None:
        self.game = game
        self.state = state
        self.pending: dict[Seat, Any] = {}
        self.refused: dict[Seat, int] = {"A": 0, "B": 0}

    def hear(self, reply: Row) -> None:
        seat, turn = reply["seat"], self.game.turn(self.state.public)
        assert seat in turn and seat not in self.pending, f"{seat} is not asked: {turn}, {self.pending}"
        action = self.game.parse(text_of(reply["text"]), observe(self.state, seat))
        if reply["say"] is None:
            assert isinstance(action, Invalid), f"{reply['text']!r:.80} was read as {action!r:.80}"
            self.refuse(seat, action)
        else:
            assert not isinstance(action, Invalid), f"{reply['text']!r:.80}: {action}"
            assert self.game.say(action) == reply["say"]
            self.pending[seat] = action
        self.settle()

    def refuse(self, seat: Seat, invalid: Invalid) -> None:
        self.refused[seat] += 1
        if self.refused[seat] > self.game.retries(seat):
            self.state = self.game.forfeit(self.state, seat, invalid)
            self.refused[seat] = 0

    def settle(self) -> None:
        if self.pending and set(self.pending) == set(self.game.turn(self.state.public)):
            self.state = self.game.step(self.state, self.pending)
            self.pending, self.refused = {}, {"A": 0, "B": 0}


def match(row: Row) -> None:
    game = game_of(row)
    table = Table(game, game.start(row["first"], row["rounds"]))
    engine = Match(game, start=table.state)
    for reply in row["replies"]:
        table.hear(reply)
        engine.submit(reply["seat"], text_of(reply["text"]))
        assert engine.state == table.state or table.pending, "Match and rules disagree"
    expect = row["expect"]
    outcome = game.outcome(table.state)
    assert (game.turn(table.state.public) == ()) == expect["over"], "over"
    assert (engine.ended is not None) == expect["over"], "Match over"
    found = {"end": outcome.end, "payoffs": outcome.payoffs, **game.details(table.state)}
    assert len(found["rounds"]) == len(expect["rounds"]), "number of rounds"
    close(found, {key: value for key, value in expect.items() if key != "over"})


def reading(row: Row) -> None:
    game = game_of(row)
    seen = observe(game.start(row["first"], row["rounds"]), row["seat"])
    action = game.told(row["seat"]).parse(text_of(row["text"]), seen)
    if row["say"] is None:
        assert isinstance(action, Invalid), f"read as {action!r:.80}"
        assert all(part in action.reason for part in row.get("reason_has", ())), action.reason
        assert len(action.reason) < 500
        return
    assert not isinstance(action, Invalid), str(action)
    assert game.say(action) == row["say"]
    assert game.parse(row["say"], seen) == action, "round trip"


def allocation(row: Row) -> None:
    asks = [None if row["asks"][seat] is None else tuple(row["asks"][seat]) for seat in SEATS]
    for rule in ("proportional", "exact"):
        if rule not in row:
            continue
        share_a, share_b, agreed = allocate(rule, tuple(row["stock"]), *asks)
        found: Row = {"shares": {"A": share_a, "B": share_b}, "agreed": agreed}
        if row.get("values"):
            found["points"] = {
                seat: sum(s * v for s, v in zip(share, row["values"][seat], strict=True))
                for seat, share in (("A", share_a), ("B", share_b))
            }
        close(found, {key: value for key, value in row[rule].items() if key in found}, rule)


def view(row: Row) -> None:
    game = game_of(row)
    seen: list[Observation[Any, Any]] = []
    for rounds in (row["rounds"], row["rounds_alt"]):
        table = Table(game, game.start(row["first"], rounds))
        for reply in row["replies"]:
            table.hear(reply)
        seen.append(observe(table.state, row["seat"]))
    one, two = seen
    if row["same"]:
        assert one == two and repr(one) == repr(two)
        assert game.prompt(one, None) == game.prompt(two, None)
    else:
        assert one != two


def params(row: Row) -> None:
    changes = {**PRESETS[row["preset"]], **row["params"]}
    for construct in (lambda: Split(**changes), lambda: load("split", preset=row["preset"], **row["params"])):
        try:
            construct()
        except ValueError:
            assert row["error"], "construction raised ValueError"
        else:
            assert not row["error"], "construction did not raise ValueError"


def scenario(row: Row) -> None:
    scenarios = corpus_scenarios()
    assert len(scenarios) == row["count"]
    close(scenarios[row["index"]], row["scenario"])


def _sums(stock: list[int], a: list[int], b: list[int]) -> Row:
    """Sums over the types of one round."""
    types = list(zip(stock, a, b, strict=True))
    best = sum(q * max(x, y) for q, x, y in types)
    greedy = sum(q * (x + y) / 2 for q, x, y in types)
    return {
        "best_joint": best,
        "greedy_joint": greedy,
        "equal_efficiency": greedy / best if best else 0,
        "proportional_joint": sum(q * (x * x + y * y) / (x + y) for q, x, y in types if x + y),
        "threshold_joint": sum(q * _threshold(x, y) for q, x, y in types),
        "all_to_a": sum(q * x for q, x, _ in types),
    }


def _threshold(a: int, b: int) -> float:
    """All if the own value is at least 11, else nothing."""
    if a >= 11 and b >= 11:
        return (a + b) / 2
    return max((value for value in (a, b) if value >= 11), default=0)


def statistics(round_: Row, first: Seat) -> Row:
    """Every statistic of one round, by name."""
    stock = list(round_["stock"].values())
    a, b = (list(round_["values"][seat].values()) for seat in SEATS)
    hands = round_["hands"]
    winner = {"rock": "scissors", "scissors": "paper", "paper": "rock"}
    own = [sum(q * v for q, v in zip(stock, values, strict=True)) for values in (a, b)]
    wins = hands and ("A" if winner[hands["A"]] == hands["B"] else "B")
    return {
        **_sums(stock, a, b),
        "tie": a == b,
        "a_wins": sum(a) > sum(b),
        "value_a": a[0],
        "total_stock": sum(stock),
        "middle_stock": stock[1] if len(stock) > 1 else 0,
        "some_type_missing": 0 in stock,
        "own_maximum_is_10": own == [10, 10],
        "rock_a": bool(hands) and hands["A"] == "rock",
        "hands_differ_and_pay_10_1": bool(hands)
        and hands["A"] != hands["B"]
        and all(value == (10 if wins == "A" else 1) for value in a)
        and all(value == (10 if wins == "B" else 1) for value in b),
        "equal_totals": sum(a) == sum(b),
        "conflict": a != b,
        "starter_has_1": (a if round_["first"] == "A" else b)[0] == 1,
        "first_is_A": first == "A",
    }


def dealt(game: Split, seed: int) -> list[Row]:
    """The rounds of one deal as the details name them, played by silent seats that claim nothing."""
    table = Table(game, game.deal(random.Random(seed)))
    while turn := game.turn(table.state.public):
        options = {seat: game.options(observe(table.state, seat))[0] for seat in turn}
        table.state = game.step(table.state, options)
    return list(game.details(table.state)["rounds"])


@lru_cache(maxsize=64)
def _sample(preset: str, plain: str, matches: int) -> list[Row]:
    game = Split(**{**PRESETS[preset], **json.loads(plain)})
    deals = [dealt(game, seed) for seed in range(matches)]
    return [statistics(round_, rounds[0]["first"]) for rounds in deals for round_ in rounds]


def expectation(row: Row) -> None:
    found = _sample(row["preset"], json.dumps(row["params"], sort_keys=True), row["matches"])
    mean = fmean(one[row["statistic"]] for one in found)
    error = 5 * row["sd"] / math.sqrt(len(found) / row["cluster"]) if row["sd"] else 1e-9
    assert abs(mean - row["expected"]) <= error, f"{mean} is not within {error} of {row['expected']}"


def baseline(row: Row) -> None:
    game = game_of(row)
    players = {seat: player(row["players"][seat], game) for seat in SEATS}
    running = Match(game, start=game.start(row["first"], row["rounds"]))
    while asks := running.pending():
        for seat, ask in asks.items():
            running.act(seat, players[seat].reply(game.told(seat), ask))
    outcome = running.outcome
    assert outcome is not None
    found = {
        "messages": [sent.text for sent in running.state.public.messages],
        "asks": [round_["asks"] for round_ in outcome.details["rounds"]],
        "payoffs": outcome.payoffs,
    }
    close(found, row["expect"])


def corpus(row: Row) -> None:
    try:
        found = read_corpus(row["lines"])
    except ValueError as error:
        assert row["error"], f"refused: {error}"
        assert str(error).startswith("line "), str(error)
    else:
        assert not row["error"], "not refused"
        assert found == row["expect"], f"{found} != {row['expect']}"


def sample(path: Path) -> None:
    with path.open(encoding="utf-8") as lines:
        assert read_corpus(lines) == json.loads(path.with_suffix(".json").read_text("utf-8"))
