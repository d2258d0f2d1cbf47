"""People in the Deal or No Deal corpus compared with players on the same contexts.

A *context* is a stock with the values of both seats. Each imported dialogue has one.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import negolab as nl
from negolab.analysis import stats, tables
from negolab.analysis.comparisons import contrasts
from negolab.analysis.estimates import Measure, estimate_groups
from negolab.analysis.observations import is_deterministic
from negolab.analysis.tables import Place
from negolab.formats.dealornodeal_records import PUBLISHED, SOURCE, figures
from negolab.game import SEATS
from negolab.games.split import Split
from negolab.record import Record, final_state, start_state

Position = nl.State[Any, Any]

PEOPLE, RUN = "people", "run"
"""Values of the parameter `player` that are not players' names."""
DRAWN = 200
"""Number of contexts to draw if there are no dialogues."""


# What is played.


def imported(folder: str) -> list[Record]:
    """Read the records of imported dialogues with both views; return [] without a folder.

    Raises:
        ValueError: There is no folder, or no imported dialogue in it.
    """
    if not folder:
        return []
    found = [record for record in _read(folder) if record.header.notes.get("source") == SOURCE]
    if not found:
        raise ValueError(f"{folder} holds no dialogues: give the folder that negolab import dealornodeal wrote")
    return [record for record in found if record.header.notes["views"] == 2]


def on_same_contexts(folder: str, people: Sequence[Record]) -> tuple[list[Record], int]:
    """Return the records in a run whose contexts people had, and the total number of its records.

    Without people, return all records of split with one round.
    """
    if not folder:
        return [], 0
    records = list(_read(folder))
    known = {context_of(record) for record in people}
    same = [record for record in records if _is_one_round(record) and (not known or context_of(record) in known)]
    return same, len(records)


def _read(folder: str) -> Iterable[Record]:
    if not Path(folder).is_dir():
        raise ValueError(f"there is no folder {Path(folder).resolve()}: give its whole path")
    return nl.store.iter_records(folder)


def _is_one_round(record: Record) -> bool:
    game = record.game
    return isinstance(game, Split) and game.rounds == 1 and game.rule == "exact"


def context_of(record: Record) -> str:
    """Return the context of a match as text: the stock, the values of A and those of B."""
    drawn = start_state(record).hidden.rounds[0]
    return " ".join("-".join(map(str, row)) for row in (drawn.stock, drawn.values["A"], drawn.values["B"]))


def starts(people: Sequence[Record], games: int, seed: int) -> list[tuple[Split, Position]]:
    """Return the games and starts to play: one for each context in the dialogues, or drawn ones if there are none.

    Args:
        people: Imported dialogues.
        games: Maximum number of starts, which are drawn if there are more; 0: all.
        seed: Seed for the draws.
    """
    if not people:
        game = nl.load("split", preset="lewis-2017")
        assert isinstance(game, Split)
        return [(game, game.deal(random.Random(f"{seed} {number}"))) for number in range(games or DRAWN)]
    distinct = {context_of(record): record for record in reversed(people)}
    chosen = list(distinct.values())
    if games and games < len(chosen):
        chosen = random.Random(seed).sample(chosen, games)
    found = [(record.game, start_state(record)) for record in chosen]
    return [(game, start) for game, start in found if isinstance(game, Split)]


def with_contexts(found: Sequence[tuple[Split, Position]]) -> Split:
    """Return the game that draws one of these starts' contexts, for runs of language models."""
    drawn = [start.hidden.rounds[0] for _, start in found]
    contexts = tuple(dict.fromkeys((one.stock, one.values["A"], one.values["B"]) for one in drawn))
    game = nl.load("split", preset="lewis-2017", source="contexts", contexts=contexts)
    assert isinstance(game, Split)
    return game


def play(player: str, found: Iterable[tuple[Split, Position]], seed: int) -> Iterable[Record]:
    """Play each start with the player in both seats, and yield the records."""
    for number, (game, start) in enumerate(found):
        drawn = random.Random(f"{seed} {number}")
        seats = {seat: nl.player(player, game, seed=drawn.getrandbits(32)) for seat in SEATS}
        yield nl.play(nl.Match(game, start=start, id=f"{player}-{number:05}"), seats).record()


# Results.


def outcomes(run: Place) -> pd.DataFrame:
    """Return one row per game in a sweep of this experiment.

    Returns:
        `cell`, `match`, `draw` (the context), `deterministic`, `player` ("people", or the player; joined by "with" if
        the seats differ), `seat` ("both"), `end`, `agreed` (0 or 1), `score` (mean points of the two seats, 0 without
        an agreement), `pareto` (0 or 1; missing without an agreement), `efficiency` (percentage of the most that both
        could have had together) and `messages`. People come first, then others by mean score.
    """
    rows = [{"cell": cell or "", **_row(record)} for cell, record in tables.records(run)]
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    rank = frame.groupby("player")["score"].mean().rank(ascending=False)
    place = frame["player"].map(rank).where(frame["player"] != PEOPLE, 0.0)
    return frame.assign(place=place).sort_values("place", kind="stable").drop(columns="place").reset_index(drop=True)


_COLUMNS = [
    *("cell", "match", "draw", "deterministic", "player", "seat", "end", "agreed", "score", "pareto", "efficiency"),
    "messages",
]


def _row(record: Record) -> dict[str, Any]:
    game, final = record.game, final_state(record)
    paid = sum(record.payoffs[seat] or 0 for seat in SEATS)
    agreed = record.end == "AGREED"
    return {
        "match": record.id,
        "draw": context_of(record),
        "deterministic": is_deterministic(record),
        "player": _who(record),
        "seat": "both",
        "end": record.header.notes.get("end", record.end),
        "agreed": float(agreed),
        "score": paid / 2,
        "pareto": float(game.details(final)["rounds"][0]["pareto"]) if agreed else None,
        "efficiency": 100 * paid / (game.max_joint_payoff(start_state(record)) or 1),
        "messages": sum(not sent.ends for sent in final.public.messages),
    }


def _who(record: Record) -> str:
    if record.header.notes.get("source") == SOURCE:
        return PEOPLE
    a, b = (record.header.players.get(seat, "?") for seat in SEATS)
    return a if a == b else f"{a} with {b}"


def beside_people(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare people's score with that of every other player on the contexts that both had.

    Args:
        frame: The rows of `outcomes`.

    Returns:
        The rows of `comparisons.contrasts` with people as `one`; `holm` is corrected for the number of players.
    """
    names = [name for name in dict.fromkeys(frame["player"]) if name != PEOPLE]
    rows = [contrasts(frame, "score", [PEOPLE, name], by=()) for name in names]
    found = pd.concat(rows, ignore_index=True) if rows else contrasts(frame, "score", [], by=())
    found = found[found["n"] > 0].reset_index(drop=True)
    return found.assign(holm=stats.adjust_p_values(list(found["p"])))


AGREED = Measure("agreement (% of games)", "agreed", "share")
SCORE = Measure("mean score (points)", "score")
PARETO = Measure("Pareto-optimal (% of agreements)", "pareto", "share")
MEASURES = (AGREED, SCORE, PARETO, Measure("efficiency (%)", "efficiency"), Measure("messages", "messages"))
FIGURE = (AGREED, SCORE, PARETO)
"""Those of `MEASURES` that were published."""


def estimated(frame: pd.DataFrame) -> pd.DataFrame:
    """Estimate `MEASURES` by player; Pareto shares are for games with an agreement."""
    parts = [
        estimate_groups(frame.dropna(subset=[measure.column]), {"name": "player"}, [measure]) for measure in MEASURES
    ]
    found = pd.concat(parts, ignore_index=True)
    order = {name: at for at, name in enumerate(dict.fromkeys(frame["player"]))}
    return found.sort_values("name", key=lambda names: names.map(order), kind="stable").reset_index(drop=True)


def published(people: Iterable[Record]) -> pd.DataFrame:
    """Compare the figures published about the corpus with those for imported dialogues.

    Returns:
        A row per figure: `figure`, `published`, `recomputed`, `difference` and `n`; recomputed figures are missing if
        there is nothing to compute them from.
    """
    found = figures(people)
    rows = [
        ("dialogues with both views", PUBLISHED.dialogues, found.dialogues or None, found.dialogues),
        ("agreement (%)", 100 * _known(PUBLISHED.agreement), _percent(found.agreement), found.dialogues),
        ("mean score", PUBLISHED.score, found.score, 2 * found.dialogues),
        ("Pareto-optimal (% of agreements)", 100 * _known(PUBLISHED.pareto), _percent(found.pareto), found.agreed),
    ]
    frame = pd.DataFrame(rows, columns=["figure", "published", "recomputed", "n"])
    frame["recomputed"] = frame["recomputed"].astype(float)
    return frame.assign(difference=frame["recomputed"] - frame["published"])[
        ["figure", "published", "recomputed", "difference", "n"]
    ]


def _known(value: float | None) -> float:
    assert value is not None
    return value


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def published_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Format the rows of `published` as text: counts without decimals, percentages with one, scores with two."""
    digits = {"dialogues with both views": 0, "mean score": 2}
    rows = []
    for figure, was, now, n in zip(frame["figure"], frame["published"], frame["recomputed"], frame["n"], strict=True):
        places, known = digits.get(figure, 1), not math.isnan(now)
        again = f"{now:,.{places}f}" if known else "no dialogues"
        # Adding 0 turns a rounded -0.0 into 0.0.
        difference = f"{round(now - was, places) + 0:+,.{places}f}" if known else ""
        rows.append([figure, f"{was:,.{places}f}", again, difference, f"{n:,}"])
    names = ["figure", "published", "recomputed", "difference", "n"]
    return pd.DataFrame(rows, columns=names).set_index("figure")


def marks() -> dict[str, dict[str, float]]:
    """Return the published figures by measure, as lines of a figure."""
    values = (100 * _known(PUBLISHED.agreement), _known(PUBLISHED.score), 100 * _known(PUBLISHED.pareto))
    return {measure.name: {"published": value} for measure, value in zip(FIGURE, values, strict=True)}


def files_text(people: Sequence[Record]) -> str:
    """Name the files that dialogues come from, such as `525 of val.txt and 507 of test.txt`."""
    counts = Counter(str(record.header.notes["file"]) for record in people)
    return " and ".join(f"{count:,} of {name}" for name, count in counts.items())


def contexts_text(frame: pd.DataFrame) -> str:
    """Say how many contexts each other player shares with people."""
    theirs = set(frame[frame["player"] == PEOPLE]["draw"])
    others = frame[frame["player"] != PEOPLE].groupby("player", sort=False)["draw"]
    return ", ".join(f"{name} {len(set(deals) & theirs):,}" for name, deals in others)
