"""The conformance vectors of the balloon game, as cases."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any

import msgspec

from negolab.catalog import load
from negolab.events import Stepped
from negolab.formats import clembench, transcript
from negolab.game import State
from negolab.games.balloon import Balloon, Fault, Instance, importances
from negolab.games.balloon.instance import effort_limit
from negolab.games.balloon.measures import max_harmonic
from negolab.match import Match
from negolab.record import Record
from negolab.theory.frontier import knapsack
from tests.conformance import Case, check_reading, rows

PLAY = ("language", "strategic_reasoning", "require_argument", "patience", "empty_turn_limit", "turn_limit")
ENDS = {"deal": "AGREED", "lose": "FORFEIT", "abort": "ABORTED", "no_deal": "NO_DEAL", "timeout": "OUT_OF_TIME"}
SCORES = ("norm", "harmonic", "normalised_harmonic", "main", "pareto")


def cases(folder: Path) -> Iterator[Case]:
    files: dict[str, Callable[[Path, dict[str, Any]], None]] = {
        "rules_clembench.jsonl": check_rules,
        "rules_seed.jsonl": check_rules,
        "scores.jsonl": check_scores,
        "optima.jsonl": check_optimum,
        "generate.jsonl": check_importances,
        "transcripts.jsonl": check_transcript,
        "episodes.jsonl": check_episode,
        "reading.jsonl": check_fair,
    }
    for file, check in files.items():
        for row in rows(folder, file):
            yield Case(file, row["id"], partial(check, folder, row))
    for expected in sorted((folder / "import").glob("*/expect.json")):
        row = json.loads(expected.read_text("utf-8"))
        yield Case(f"import/{expected.parent.name}", row["id"], partial(check_import, expected.parent, row))


def match_of(preset: str, start: dict[str, Any]) -> Match:
    """A match of the preset with the row's parameters, at its explicit start."""
    game = load("balloon", preset, reading="literal", **{name: start[name] for name in PLAY if name in start})
    assert isinstance(game, Balloon)
    return Match(game, start=game.start(instance_of(start)))


def instance_of(start: dict[str, Any]) -> Instance:
    return Instance(start["effort"], start["limit"], start["importance"])


def check_fair(_: Path, row: dict[str, Any]) -> None:
    check_reading(row, meant=lambda say: (set(say.propose), set(say.refuse), set(say.agree)))


def check_rules(_: Path, row: dict[str, Any]) -> None:
    match = match_of(row["preset"], row["start"])
    for i, (text, expected) in enumerate(zip(row["texts"], row["expect"], strict=True)):
        found = submit_text(match, text)
        assert same(found, expected), f"text {i} {text!r}:\n found {found}\n expected {expected}"
    assert same(end_of(match), row["end"]), f"found {end_of(match)}\n expected {row['end']}"


def submit_text(match: Match, text: str) -> dict[str, Any]:
    """Submit one text and return its effect in the vectors' terms."""
    (seat,) = match.pending()
    public = match.state.public
    read = match.told(seat).parse(text, match.seen(seat))
    events = match.submit(seat, text)
    accepted = any(isinstance(event, Stepped) for event in events)
    assert accepted == (not isinstance(read, Fault))
    after = match.state.public
    codes: list[str] = list(read.codes) if isinstance(read, Fault) else [after.code] if after.code else []
    said = after.messages[len(public.messages) :]
    verdicts = {end: verdict for verdict, end in ENDS.items()}
    running = "ok" if accepted else "reprompt"
    return {
        "seat": seat,
        "verdict": running if after.end is None else verdicts[after.end],
        "accepted": accepted,
        "kind": read.kind if isinstance(read, Fault) else None,
        "codes": codes,
        "relay": said[0].text if said else None,
        "state": standing(match),
    }


def standing(match: Match) -> dict[str, Any] | None:
    public = match.state.public
    if public.end is not None:
        return None
    return {
        "next": public.mover,
        "active": {seat: [sorted(names) for names in public.active[seat]] for seat in ("A", "B")},
        "patience": {seat: private.patience for seat, private in match.state.private.items()},
        "empty": public.empty,
    }


def end_of(match: Match) -> dict[str, Any] | None:
    if match.ended is None:
        return None
    details = match.game.details(match.state)
    return {
        "end": match.ended.end,
        "deal": details["deal"],
        "effort": details["effort"],
        "payoffs": match.ended.payoffs,
        "scores": {name: details[name] for name in SCORES},
    }


def check_scores(_: Path, row: dict[str, Any]) -> None:
    start = row["start"]
    for preset in ("clembench", "seed"):
        match = match_of(preset, start)
        for case in row["deals"]:
            if preset == "seed" and case["scores"]["harmonic"] is None:
                continue  # a deal worth nothing to both has no mean in the reference only
            deal = frozenset(case["deal"])
            public = msgspec.structs.replace(match.state.public, end="AGREED", deal=deal)
            state = State(public, match.state.private)
            details = match.game.details(state)
            found = {
                "effort": details["effort"],
                "payoffs": match.game.outcome(state).payoffs,
                "scores": {name: details[name] for name in SCORES},
            }
            expected = {name: case[name] for name in found}
            assert same(found, expected), f"{preset}, deal {case['deal']}:\n found {found}\n expected {expected}"


def check_optimum(_: Path, row: dict[str, Any]) -> None:
    start = row["start"]
    a, b = start["importance"]["A"], start["importance"]["B"]
    frontier = knapsack(start["effort"], a, b, start["limit"])
    found = {
        "max_A": frontier.max_a,
        "max_B": frontier.max_b,
        "max_harmonic": max_harmonic(frontier),
        "pareto": [list(point) for point in frontier.points],
    }
    assert same(found, row["expect"]), f"found {found}\n expected {row['expect']}"
    for (x, y), names in zip(frontier.points, frontier.sets, strict=True):
        assert sum(start["effort"][name] for name in names) <= start["limit"]
        assert (x, y) == (sum(a[name] for name in names), sum(b[name] for name in names))


def check_importances(_: Path, row: dict[str, Any]) -> None:
    kinds, (seed_a, seed_b) = row["correlation"], row["seeds"]
    rngs = random.Random(seed_a), random.Random(seed_b)
    found = importances(row["effort"], kinds["A"], kinds["B"], row["mode"], *rngs)
    for seat in ("A", "B"):
        assert list(found[seat].items()) == list(row["expect"][seat].items()), seat
    assert effort_limit(row["effort"], row["limit_ratio"]) == row["expect"]["limit"]


def check_transcript(folder: Path, row: dict[str, Any]) -> None:
    match = match_of(row["preset"], row["start"])
    for seat in ("A", "B"):
        if "prompts" in row and row["prompts"].get(seat) is not None:
            found = match.told(seat).prompt(match.seen(seat), None)
            assert found == row["prompts"][seat], f"prompt of {seat}: {found!r}"
    for text in row["texts"]:
        match.submit(match.state.public.mover, text)
    record = match.record()
    found_rows = transcript.rows(record)
    assert [found.cell for found in found_rows] == [cell for cell, _ in row["rows"]]
    for found, (cell, text) in zip(found_rows, row["rows"], strict=True):
        assert text is None or found.text == text, f"{cell}: found {found.text!r}\n expected {text!r}"
    if "sha256" in row:
        exported = transcript.clembench(record).encode()
        assert hashlib.sha256(exported).hexdigest() == row["sha256"]
        seed = folder.parent.parent / row["file"]
        assert not seed.is_file() or seed.read_bytes() == exported


def check_episode(_: Path, row: dict[str, Any]) -> None:
    match = match_of("clembench", row["start"])
    play(match, row["messages"])
    assert match.ended is not None and match.ended.end == row["end"], f"{match.ended}, not {row['end']}"
    details = match.game.details(match.state)
    assert details["deal"] == (None if row["final_deal"] is None else sorted(row["final_deal"]))
    norm = details["norm"] or {"A": None, "B": None}
    found = {"norm_A": norm["A"], "norm_B": norm["B"], **details}
    names = ["norm_A", "norm_B", "normalised_harmonic", "main", "effort"]
    names += ["pareto"] if row["start"]["mode"] != "equal" else []
    for name in names:
        assert same(found[name], row["official"][name]), f"{name}: {found[name]}, not {row['official'][name]}"


def play(match: Match, messages: list[dict[str, Any]]) -> None:
    """Submit the raw texts of an episode, checking the expected seat, verdict and codes."""
    for i, message in enumerate(messages):
        found = submit_text(match, message["raw"])
        for name in ("seat", "verdict", "codes"):
            if message.get(name) is not None:
                assert found[name] == message[name], f"message {i}, {name}: {found[name]}, not {message[name]}"


def check_import(folder: Path, row: dict[str, Any]) -> None:
    if "instances" in row:
        check_instances(folder, row)
    elif "error" in row:
        try:
            clembench.read_episode(folder)
        except ValueError as error:
            assert row["error"] in str(error), f"{row['error']!r} is not in {str(error)!r}"
        else:
            raise AssertionError(f"no error that contains {row['error']!r}")
    else:
        check_imported(clembench.read_episode(folder), row)


def check_instances(folder: Path, row: dict[str, Any]) -> None:
    (file,) = (path for path in folder.glob("*.json") if path.name != "expect.json")
    experiments = json.loads(file.read_text("utf-8"))["experiments"]
    found = [clembench.import_published(one, each["name"]) for each in experiments for one in each["game_instances"]]
    assert len(found) == len(row["instances"])
    for published, expected in zip(found, row["instances"], strict=True):
        assert (published.experiment, published.game_id) == (expected["experiment"], expected["game_id"])
        check_start(published.game, expected["start"])


def check_start(game: Balloon, expected: dict[str, Any]) -> None:
    assert game.preset == "clembench" and game.instance is not None and game.mode == expected["mode"]
    assert game.instance == instance_of(expected)
    assert list(game.instance.effort) == list(expected["effort"])
    for seat in ("A", "B"):
        assert list(game.instance.importance[seat]) == list(expected["importance"][seat])
    assert {name: getattr(game, name) for name in PLAY} == {name: expected[name] for name in PLAY}


def check_imported(record: Record, row: dict[str, Any]) -> None:
    assert clembench.DIFFERENCES not in record.header.notes, record.header.notes[clembench.DIFFERENCES]
    assert record.header.players == row["models"]
    assert record.header.notes["experiment"] == row["experiment"]
    game = record.game
    assert isinstance(game, Balloon) and game.instance is not None
    check_start(game, row["start"])
    match = match_of("clembench", row["start"])
    play(match, row["messages"])
    assert match.record().events == tuple(map(bare, record.events))
    found = end_of(match)
    assert found is not None and found["end"] == row["end"] == record.end
    assert found["deal"] == (None if row["final_deal"] is None else sorted(row["final_deal"]))
    assert same(found["scores"], row["scores"]), f"found {found['scores']}\n expected {row['scores']}"


def bare(event: Any) -> Any:
    """The event without times and models."""
    reply = getattr(event, "reply", None)
    return event if reply is None else type(event)(event.seat, type(reply)(reply.text))


def same(found: Any, expected: Any) -> bool:
    """Compare the expected keys, numbers to within 1e-9."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(key in found and same(found[key], expected[key]) for key in expected)
    if isinstance(expected, bool) or isinstance(found, bool):
        return found is expected
    if isinstance(expected, int | float):
        return isinstance(found, int | float) and isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(expected, list):
        return list(found) == expected if isinstance(found, list | tuple) else False
    return bool(found == expected)
