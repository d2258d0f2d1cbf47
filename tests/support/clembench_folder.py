"""Folders of published episodes as clembench writes them, made from a dialogue and its outcome."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from negolab.events import Replied
from negolab.games.balloon import Balloon
from negolab.games.balloon.prompt import language
from negolab.record import Record, final_state

Row = Mapping[str, Any]
"""An episode in the form of the conformance vectors: `language`, `experiment`, `models`, `start`, `messages`, `end`,
`final_deal`, `official`."""


def write(root: Path, row: Row, folder: str) -> Path:
    """Write one episode to `root / folder`, whose name ends in the instance's number."""
    place = root / folder
    place.mkdir(parents=True)
    number = int(place.name.rpartition("_")[2])
    for name, plain in (
        ("instance.json", _instance(row, number)),
        ("interactions.json", _interactions(row, number)),
        ("scores.json", {"turn scores": {}, "episode scores": {"Main Score": _nan(row["official"]["main"])}}),
    ):
        (place / name).write_text(json.dumps(plain, ensure_ascii=False), "utf-8")
    return place


def _instance(row: Row, number: int) -> dict[str, Any]:
    start = row["start"]
    return {
        "game_id": number,
        "negotiation_mode": start["mode"],
        "item_weights": start["effort"],
        "player1_preferences": start["importance"]["A"],
        "player2_preferences": start["importance"]["B"],
        "max_weight": start["limit"],
        **{name: start[name] for name in ("strategic_reasoning", "require_argument", "patience", "empty_turn_limit")},
        "agree_tag": language(row["language"]).tags.agree + r":\s*\{.*?\}",
    }


def _interactions(row: Row, number: int) -> dict[str, Any]:
    scores, end = row["official"], row["end"]
    return {
        "meta": {"experiment_name": row["experiment"], "game_id": number, "clem_version": "3.3.1"},
        "players": {
            "GM": {"game_role": "Game Master", "model_name": "programmatic"},
            "Player 1": {"game_role": "Negotiator", "model_name": row["models"]["A"]},
            "Player 2": {"game_role": "Negotiator", "model_name": row["models"]["B"]},
        },
        "turns": [list(_events(row))],
        "Success": int(end == "AGREED"),
        "Lose": int(end == "FORFEIT"),
        "Aborted": int(end == "ABORTED"),
        "final deal": row["final_deal"],
        "Total weight deal": _nan(scores["effort"]),
        "Normalized Utility Player 1": _nan(scores["norm_A"]),
        "Normalized Utility Player 2": _nan(scores["norm_B"]),
        "Normalized harmonic mean": _nan(scores["normalised_harmonic"]),
        **_counts(row),
    }


def _counts(row: Row) -> dict[str, Any]:
    """Counts of replies and of fatal faults, which real episodes have."""
    official = row["official"]
    if "requests" not in official:
        return {}
    faults = official["fatal_format_faults"]
    return {
        "Played turns": official["requests"],
        "Violations Player 1": faults["A"],
        "Violations Player 2": faults["B"],
        "Total Violations": faults["A"] + faults["B"],
        "Is Pareto Optimum Deal": official["pareto"],
    }


def _events(row: Row) -> Iterator[dict[str, Any]]:
    for at, message in enumerate(row["messages"]):
        who = {"A": "Player 1", "B": "Player 2"}[message["seat"]]
        for kind, ends, content in (("send message", ("GM", who), "..."), ("get message", (who, "GM"), message["raw"])):
            stamp = f"2026-01-05T10:{at // 60 % 60:02}:{at % 60:02}"
            action = {"type": kind, "content": content, "label": "response"}
            yield {"from": ends[0], "to": ends[1], "timestamp": stamp, "action": action}


def _nan(value: float | None) -> float:
    """Undefined scores are written as NaN."""
    return math.nan if value is None else value


def row_of(record: Record, experiment: str) -> Row:
    """A record in the form of a published episode, with the scores of the rules."""
    game, state = record.game, final_state(record)
    assert isinstance(game, Balloon)
    terms, details = state.public.terms, game.details(state)
    norm = details["norm"] or {"A": None, "B": None}
    own = {seat: dict(private.importance) for seat, private in state.private.items()}
    start = {"effort": dict(terms.effort), "limit": terms.limit, "importance": own, "mode": game.mode}
    rules = ("strategic_reasoning", "require_argument", "patience", "empty_turn_limit")
    return {
        "language": game.language,
        "experiment": experiment,
        "models": record.header.players,
        "start": start | {name: getattr(game, name) for name in rules},
        "messages": [{"seat": e.seat, "raw": e.reply.text} for e in record.events if isinstance(e, Replied)],
        "end": record.end,
        "final_deal": details["deal"],
        "official": {"norm_A": norm["A"], "norm_B": norm["B"], **details},
    }
