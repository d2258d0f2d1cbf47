"""Vectors of the bargaining game: input grammar, dialogues, boxes, theory, concession, players, assignment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from negolab import catalog
from negolab.game import Invalid, State, observe
from negolab.games.bargaining import Accept, Action, Bargaining, Offer, Private, Public, Reject
from negolab.games.bargaining.front import COMPLETE, game_over_box, status_box, texts
from negolab.games.bargaining.measures import interview_row as data_row
from negolab.games.bargaining.players import Time
from negolab.match import Match
from negolab.players.lookup import player
from negolab.theory import equilibrium, solutions
from tests.conformance import Case, check_reading, rows
from tests.support.assignment import assigned

Row = dict[str, Any]


def cases(folder: Path) -> Iterator[Case]:
    """Every row of every file in `folder`."""
    checks: dict[str, Callable[[Row], None]] = {
        "parser.jsonl": check_parser,
        "dialogues.jsonl": check_dialogue,
        "boxes.jsonl": check_box,
        "theory.jsonl": check_theory,
        "concession.jsonl": check_concession,
        "players.jsonl": check_player,
        "assignment.jsonl": check_assignment,
        "reading.jsonl": partial(check_reading, meant=lambda action: action),
    }
    for name, check in checks.items():
        for row in rows(folder, name):
            yield Case(name, row["id"], partial(check, row))


def load(row: Row) -> Bargaining:
    game = catalog.load("bargaining", row.get("preset"), **row.get("params", {}), reading="literal")
    assert isinstance(game, Bargaining)
    return game


def verdict(answer: Action | Invalid) -> Row:
    match answer:
        case Offer(cents):
            return {"action": "offer", "cents": cents}
        case Accept():
            return {"action": "accept"}
        case Reject():
            return {"action": "reject"}
        case Invalid((code,)):
            return {"invalid": code}
    raise AssertionError(f"no verdict for {answer!r}")


def equal(got: object, want: object, what: str) -> None:
    assert got == want, f"{what}:\n got  {got!r}\n want {want!r}"


def after(game: Bargaining, state: State[Public, Private], offers: list[list[Any]]) -> State[Public, Private]:
    for _, seat, cents in offers:
        state = game.step(state, {seat: Offer(cents)})
    return state


# Replies.


def check_parser(row: Row) -> None:
    game = load(row)
    assert game.buyer_values and game.seller_costs
    state = after(game, game.start(game.buyer_values[0], game.seller_costs[0]), row["offers"])
    seat = row["seat"]
    equal(verdict(game.told(seat).parse(row["text"], observe(state, seat))), row["expect"], repr(row["text"])[:200])


# Dialogues: the rules by themselves, then the manager.


def check_dialogue(row: Row) -> None:
    check_turns(row)
    check_manager(row)


def check_turns(row: Row) -> None:
    game = load(row)
    state = game.start(row["value"], row["cost"])
    invalid: Invalid | None = None
    for seat, text, want in row["turns"]:
        equal(game.turn(state.public), (seat,), "turn")
        if text is None:
            assert invalid is not None, "a fallback without an invalid reply"
            state = forfeited(game, state, seat, invalid, want)
            continue
        answer = game.parse(text, observe(state, seat))
        equal(verdict(answer), want, repr(text))
        if isinstance(answer, Invalid):
            invalid = answer
        else:
            state = game.step(state, {seat: answer})
    check_end(game, state, row)


def forfeited(
    game: Bargaining, state: State[Public, Private], seat: Any, invalid: Invalid, want: Row
) -> State[Public, Private]:
    """The fallback action, which must equal the expected action's effect."""
    fallen = game.forfeit(state, seat, invalid)
    actions: dict[str, Action] = {"accept": Accept(), "reject": Reject()}
    action = actions.get(want["action"]) or Offer(want["cents"])
    equal(fallen, game.step(state, {seat: action}), "the fallback")
    return fallen


def check_end(game: Bargaining, state: State[Public, Private], row: Row) -> None:
    end, public, outcome = row["end"], state.public, game.outcome(state)
    for name, got in {
        "status": public.status,
        "end": outcome.end if public.over else None,
        "price": public.price,
        "round": len(public.offers),
        "by": public.by,
    }.items():
        equal(got, end[name], name)
    for seat, pay in outcome.payoffs.items():
        want = end["payoffs"] and end["payoffs"][seat]
        same = pay is want or (pay is not None and want is not None and math.isclose(pay, want, rel_tol=1e-9))
        assert same, f"payoff of {seat}: got {pay!r}, want {want!r}"
    equal(game.details(state)["history"], row["history"], "history")
    equal([list(message) for message in public.messages], row["messages"], "messages")


def check_manager(row: Row) -> None:
    game = load(row)
    match, replies, late = Match(game, start=game.start(row["value"], row["cost"])), iter(row["seller"]), 0
    out: list[str] = []
    for text in (None, *row["human"]):
        if match.ended is not None:
            late, out = late + 1, [*out, COMPLETE]
            continue
        if text is not None:
            match.submit("B", text)
        while "A" in match.pending():
            match.submit("A", next(replies))
        out = texts(game, match.events)
    equal(len(out), len(row["out"]), "number of texts")
    for i, (got, want) in enumerate(zip(out, row["out"], strict=True)):
        equal(got, want, f"text {i}")
    equal(list(replies), [], "seller's replies that were not asked for")
    record = match.record()
    equal(texts(game, record.events) + [COMPLETE] * late, out, "texts folded from the record")
    check_row(data_row(record, late), row["row"])
    equal(data_row(record)["ai_fallbacks"], row["end"]["fallbacks"], "fallbacks")


def check_row(got: Row, want: Row) -> None:
    for name, value in want.items():
        same = (
            math.isclose(got[name], value, rel_tol=1e-9, abs_tol=1e-9)
            if isinstance(value, float) and got[name] is not None
            else got[name] == value
        )
        assert same, f"row {name}: got {got[name]!r}, want {value!r}"


# Boxes, theory, players, assignment.


def check_box(row: Row) -> None:
    if row["category"] == "game_over":
        equal(game_over_box(row["human"], row["ai"]), row["text"], "box")
    else:
        equal(status_box(row["round"], row["rounds"], row["price"], row["offerer"]), row["text"], "box")


def check_theory(row: Row) -> None:
    name = row["function"]
    function = getattr(equilibrium, name, None) or getattr(solutions, name)
    got, want = function(**row["args"]), row["expect"]
    same = got == want if name == "spe_grid" else near(got, want)
    assert same, f"{name}({row['args']}): got {got!r}, want {want!r}"


def near(got: Any, want: Any) -> bool:
    if isinstance(want, list):
        return len(got) == len(want) and all(near(g, w) for g, w in zip(got, want, strict=True))
    return got is None if want is None else got is not None and math.isclose(got, want, rel_tol=0, abs_tol=1e-6)


def check_concession(row: Row) -> None:
    game = catalog.load(
        "bargaining", rounds=row["rounds"], opener=row["opener"], examples=[0, 1], default_opening=0, allow_no_zopa=True
    )
    assert isinstance(game, Bargaining)
    names = ("beta", "kappa", "form", "grid", "start", "reserve")
    made = player("time", game, **{name: row[name] for name in names})
    assert isinstance(made, Time)
    seat: Any = "A" if row["role"] == "seller" else "B"
    seen = observe(game.start(6500, 4000), seat)
    equal([made.price(game, seen, number) for number in row["own_rounds"]], row["expect"], "offers")


def check_player(row: Row) -> None:
    game = load(row)
    seat: Any = "A" if row["role"] == "seller" else "B"
    state = after(game, game.start(row["value"], row["cost"]), row["offers"])
    told = game.told(seat)
    made = player(row["player"], game, **row["config"])
    equal(verdict(made.act(told, observe(state, seat))), row["expect"], f"{row['player']} {row['config']}")


def check_assignment(row: Row) -> None:
    equal(list(assigned(row["ops"], row["cells"]).values()), row["expect"], "cells")
