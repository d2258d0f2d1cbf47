"""People in the CaSiNo corpus compared with players on the same deals.

A *deal* is what a unit of food, water and firewood is worth to each of the two; there are 36. Imported dialogues have
their own deals, and whoever wrote first is seat A.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pandas as pd

import negolab as nl
from negolab.analysis import stats, tables
from negolab.analysis.comparisons import contrasts
from negolab.analysis.estimates import Measure, estimate_groups
from negolab.analysis.observations import is_deterministic
from negolab.analysis.tables import Place
from negolab.formats.casino import PUBLISHED, SOURCE, VALUES, figures
from negolab.game import SEATS, Seat, other
from negolab.games.agenda import Agenda
from negolab.games.agenda.state import worth
from negolab.record import Record, final_state, start_state

Deal = tuple[tuple[int, ...], tuple[int, ...]]
"""The value of a unit of each good to A, and to B."""

PEOPLE = "people"
"""Value of the parameter `player` that is not a player's name."""
ORDERS = tuple(permutations(VALUES.values()))


# What is played.


def imported(folder: str) -> list[Record]:
    """Read the records of imported dialogues; return [] without a folder.

    Raises:
        ValueError: There is no folder, or no imported dialogue in it.
    """
    if not folder:
        return []
    if not Path(folder).is_dir():
        raise ValueError(f"there is no folder {Path(folder).resolve()}: give its whole path")
    found = [record for record in nl.store.iter_records(folder) if record.header.notes.get("source") == SOURCE]
    if not found:
        raise ValueError(f"{folder} holds no dialogues: give the folder that negolab import casino wrote")
    return found


def deal_of(record: Record) -> Deal:
    """Return the deal of a match."""
    private = start_state(record).private
    return tuple(row[1] for row in private["A"].points), tuple(row[-2] for row in private["B"].points)


def deal_text(deal: Deal) -> str:
    """Format a deal, such as `5-4-3 / 3-4-5`: values of A, then of B."""
    return " / ".join("-".join(map(str, values)) for values in deal)


def deals(people: Sequence[Record], games: int, seed: int) -> list[Deal]:
    """Return the deals in the dialogues, or all 36 if there are none; if `games` is smaller, draw that many."""
    found = sorted(set(map(deal_of, people))) or list(product(ORDERS, ORDERS))
    return random.Random(seed).sample(found, games) if 0 < games < len(found) else found


def play(player: str, chosen: Iterable[Deal], seed: int) -> Iterator[Record]:
    """Play each deal once and yield the records; `player` sits in both seats, or is "one with another"."""
    game: Any = nl.load("agenda", preset="casino")
    a, _, b = player.partition(" with ")
    for number, deal in enumerate(chosen):
        drawn = random.Random(f"{seed} {number}")
        names: dict[Seat, str] = {"A": a, "B": b or a}
        seats = {seat: nl.player(name, game, seed=drawn.getrandbits(32)) for seat, name in names.items()}
        match = nl.Match(game, start=game.start("A", dict(zip(SEATS, deal, strict=True))), id=f"{player}-{number:05}")
        yield nl.play(match, seats).record()


# Results.

_COLUMNS = [
    *("cell", "match", "draw", "deterministic", "player", "seat", "end", "agreed", "joint", "share", "logrolling"),
    *("first_own", "first_left", "messages"),
]


def outcomes(run: Place) -> pd.DataFrame:
    """Return one row per game in a sweep of this experiment.

    Returns:
        `cell`, `match`, `draw` (the deal), `deterministic`, `player` ("people", or the player; joined by "with" if the
        seats differ), `seat` ("both"), `end`, `agreed` (0 or 1), `joint` (points of both, even without an agreement),
        `share` (percentage of the deal's maximum joint points), `logrolling` (joint points above the best equal
        compromise; missing without an agreement), `first_own` and `first_left` (what the game's first offer gives its
        author and leaves the other; missing without an offer) and `messages`. People come first, then others by joint
        points.
    """
    rows = [{"cell": cell or "", **_row(record)} for cell, record in tables.records(run)]
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    numbers = ["joint", "share", "logrolling", "first_own", "first_left", "messages"]
    frame = frame.astype(dict.fromkeys(numbers, float))
    rank = frame.groupby("player")["joint"].mean().rank(ascending=False)
    place = frame["player"].map(rank).where(frame["player"] != PEOPLE, 0.0)
    return frame.assign(place=place).sort_values("place", kind="stable").drop(columns="place").reset_index(drop=True)


def _row(record: Record) -> dict[str, Any]:
    game = record.game
    assert isinstance(game, Agenda)
    details = game.details(final_state(record))
    joint = sum(record.payoffs[seat] or 0 for seat in SEATS)
    own, left = first_offer(record)
    return {
        "match": record.id,
        "draw": deal_text(deal_of(record)),
        "deterministic": is_deterministic(record),
        "player": _who(record),
        "seat": "both",
        "end": record.end,
        "agreed": float(record.end == "AGREED"),
        "joint": joint,
        "share": 100 * joint / details["best_joint_points"],
        "logrolling": details["logrolling"],
        "first_own": own,
        "first_left": left,
        "messages": details["messages"],
    }


def first_offer(record: Record) -> tuple[int, int] | tuple[None, None]:
    """Return the points that a match's first offer gives its author, and those that it leaves the other."""
    state = final_state(record)
    for entry in state.public.messages:
        if entry.offer is not None:
            points = {seat: worth(state.private[seat].points, entry.offer) for seat in SEATS}
            return points[entry.seat], points[other(entry.seat)]
    return None, None


def _who(record: Record) -> str:
    if record.header.notes.get("source") == SOURCE:
        return PEOPLE
    a, b = (record.header.players.get(seat, "?") for seat in SEATS)
    return a if a == b else f"{a} with {b}"


AGREED = Measure("agreement (% of games)", "agreed", "share")
JOINT = Measure("joint points", "joint")
LOGROLLING = Measure("logrolling (points)", "logrolling")
FIRST_OWN = Measure("first offer, for its author (points)", "first_own")
FIRST_LEFT = Measure("first offer, for the other (points)", "first_left")
SHARE, MESSAGES = Measure("joint points (% of the best)", "share"), Measure("messages", "messages")
MEASURES = (AGREED, JOINT, SHARE, LOGROLLING, FIRST_OWN, FIRST_LEFT, MESSAGES)
FIGURE = (JOINT, LOGROLLING, FIRST_OWN)
COMPARED = (JOINT, LOGROLLING, FIRST_OWN, FIRST_LEFT)
"""Measures on which people are compared with players deal by deal."""


def estimated(frame: pd.DataFrame) -> pd.DataFrame:
    """Estimate `MEASURES` by player, with games clustered by deal; logrolling is estimated for agreements, and first
    offers for games with an offer."""
    parts = [
        estimate_groups(frame.dropna(subset=[measure.column]), {"name": "player"}, [measure]) for measure in MEASURES
    ]
    found = pd.concat(parts, ignore_index=True)
    order = {name: at for at, name in enumerate(dict.fromkeys(frame["player"]))}
    return found.sort_values("name", key=lambda names: names.map(order), kind="stable").reset_index(drop=True)


def beside_people(frame: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Compare people with every other player on the deals that both had.

    Returns:
        The rows of `comparisons.contrasts` with people as `one`; `holm` is corrected for the number of players.
    """
    known = frame.dropna(subset=[measure.column])
    names = [name for name in dict.fromkeys(known["player"]) if name != PEOPLE]
    rows = [contrasts(known, measure.column, [PEOPLE, name], by=()) for name in names]
    found = pd.concat(rows, ignore_index=True) if rows else contrasts(known, measure.column, [], by=())
    found = found[found["n"] > 0].reset_index(drop=True)
    return found.assign(holm=stats.adjust_p_values(list(found["p"])))


def published(people: Iterable[Record]) -> pd.DataFrame:
    """Compare figures for the whole corpus with those for the imported dialogues.

    Returns:
        A row per figure: `figure`, `published`, `here` (missing without dialogues) and `n`.
    """
    found = figures(people)
    rows = [
        ("dialogues", PUBLISHED.dialogues, found.dialogues, found.dialogues),
        ("agreement (%)", _percent(PUBLISHED.agreed, PUBLISHED.dialogues), _percent(*found[1::-1]), found.dialogues),
        ("points of a worker", PUBLISHED.points, found.points, 2 * found.dialogues),
        ("joint points of an agreement", PUBLISHED.joint, found.joint, found.agreed),
    ]
    return pd.DataFrame(rows, columns=["figure", "published", "here", "n"]).astype({"here": float})


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
