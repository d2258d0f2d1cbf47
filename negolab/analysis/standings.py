"""The results of a tournament: ranks per game and over all games, who met whom, and the effects of conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from negolab import catalog, store
from negolab._internal import manifest
from negolab.analysis.columns import to_frame
from negolab.analysis.comparisons import NotSharedError, as_frame, contrast, contrasts
from negolab.analysis.estimates import Measure, by_seat, estimate_groups
from negolab.analysis.match_frames import read_matches
from negolab.analysis.observations import drop_copies, is_exact, with_value
from negolab.analysis.ranking import LEAST_DRAWS, Ranking, rank
from negolab.analysis.table_columns import MATCHES, SEAT_COLUMNS
from negolab.formatting import display_unit, format_money, format_significant
from negolab.record import Record

COLUMNS = (
    *("match", "game", "deal", "draw", "deterministic", "chance", "seat", "player", "opponent", "payoff", "gain"),
    *("share", "joint", "possible", "agreed", "end", "stopped", "decided_by_fallback", "turns", "cost"),
    *("other_share", "rejected", "settings"),
)
"""Columns of `Standings.seats`, followed by one for each condition."""
_TAKEN = {*COLUMNS, "model", "own", *(column.name.removesuffix("_a") for column in (*MATCHES, *SEAT_COLUMNS))}
"""Names of columns in tables of matches and seats, which conditions may not have."""
_OF_MATCHES = (
    *("match", "game", "deal", "draw", "deterministic", "chance", "joint", "possible", "agreed", "end", "stopped"),
    "decided_by_fallback",
    *(f"{name}_{seat}" for name in ("player", "settings", "payoff", "gain") for seat in "ab"),
    *(f"{name}_{seat}" for name in ("moves", "rejected", "cost") for seat in "ab"),
)
"""Columns of matches from which they are made, some of which a game may lack."""
OVERALL = "all games"
MEASURES = (
    Measure("agreed (%)", "agreed", "share"),
    Measure("joint gain (%)", "joint_share", scale=100),
    Measure("length (turns)", "turns"),
    Measure("rejected replies", "rejected"),
    Measure("model cost (US dollars)", "cost"),
)
"""Measures of a player's matches besides the payoff; turns are the moves of both, and the cost is at list price."""


def format_outcome(value: float, unit: str) -> str:
    """Format an outcome in its unit, with dollars to the cent; a dash for NaN."""
    return format_money(100 * value) if unit == "dollars" and value == value else format_significant(value)


class Table(NamedTuple):
    """The ranking for one game, or for all.

    Attributes:
        game: Label of the game, or `OVERALL`.
        unit: Unit of the outcome.
        ranking: The ranking; None if there is none.
        why: The reason if there is no ranking.
        without: The ranking without matches that a rule decided, if there are any.
        no_zone: Number of draws left out because no agreement is better for both than none.
        matches: Number of matches that it may be based on.
        decided: Number of matches that a rule decided.
        stopped: Number of matches that failed or timed out.
        exact: True if neither the players nor the game draw anything, so that all draws are alike.
    """

    game: str
    unit: str
    ranking: Ranking | None
    why: str
    without: Ranking | None
    no_zone: int
    matches: int
    decided: int
    stopped: int
    exact: bool

    @property
    def order(self) -> list[str]:
        """The entrants, strongest first."""
        strength = self.ranking.strength if self.ranking else {}
        return sorted(strength, key=lambda name: -strength[name])

    def leader(self) -> str:
        """Say who is ahead, by how much, and how certain that is."""
        if self.ranking is None:
            return f"There is no ranking of {self.game}: {self.why}."
        rank, name, mean, above, *_ = self.rows()[0]
        place = f", at rank {rank}" if rank else ""
        numbers = f"{self.heads[2]} {mean}, {above} above the average"
        return f"{name} is ahead in {self.game}{place}: {numbers} (n = {self.matches:,}; {self.counts()})."

    def counts(self) -> str:
        """Say how many draws the ranking is based on, and what was left out."""
        parts, found = [self.why], self.ranking
        if found is not None:
            parts = ["known exactly: nothing is random" if self.exact else f"{found.draws:,} draws"]
            parts += [f"no ranks with fewer than {LEAST_DRAWS} draws"] * (found.ranks is None)
            parts += [f"{found.left_out:,} incomplete"] * bool(found.left_out)
        parts += [f"{self.no_zone:,} draws without a zone of agreement left out"] * bool(self.no_zone)
        parts += [f"{self.stopped:,} matches stopped"] * bool(self.stopped)
        parts += [f"{self.decided:,} matches decided by a rule"] * bool(self.decided)
        return "; ".join(parts)

    def rows(self) -> list[list[str]]:
        """Return the rows of the ranking as text: rank, player, mean, strength with its half-width."""
        found = self.ranking
        if found is None:
            return []
        rows = []
        for name in self.order:
            low, high = found.ranks[name] if found.ranks else (0, 0)
            ranks = "" if not found.ranks else f"{low}" if low == high else f"{low} to {high}"
            half = f" ± {format_outcome(found.half[name], self.unit)}" if not self.exact else ""
            above = found.strength[name]
            strength = f"{'+' if above > 0 else ''}{format_outcome(above, self.unit)}{half}"
            rows.append([ranks, name, format_outcome(found.mean[name], self.unit), strength])
            if self.without is not None:
                rows[-1].append(format_outcome(self.without.mean.get(name, float("nan")), self.unit))
        return rows

    @property
    def heads(self) -> list[str]:
        """The column heads of `rows`."""
        unit = f" ({self.unit})" if self.unit not in ("", "dollars") else ""
        beside = ["mean, no rule decided"] if self.without is not None else []
        return ["rank", "player", f"mean{unit}", "above the average", *beside]


class Standings:
    """The results in the folder of a tournament.

    Args:
        path: The folder.

    Attributes:
        units: The unit of payoffs in each game that has been read.

    Raises:
        ValueError: It is not a tournament's folder, or a record cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about = manifest.read(path)
        if not is_tournament(self.about):
            raise ValueError(f"{path} is not a tournament folder")
        self.units: dict[str, str] = {}
        self.entrants: list[str] = self.about["entrants"]
        self.opponents: list[str] | None = self.about["opponents"]
        self.conditions: dict[str, dict[str, str | None]] = self.about["conditions"]
        check_conditions(self.conditions)

    @cached_property
    def seats(self) -> pd.DataFrame:
        """A row per match and seat, with the label of its game, the share of what was attainable, and the conditions.

        The share is the seat's gain over no deal as a fraction of the largest joint gain.
        """
        frames = [self._seats(game, folder) for game, folder in manifest.game_folders(self.path, self.about).items()]
        found = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
        if found.empty:
            raise ValueError(f"{self.path} has no matches yet")
        levels = {name: found["player"].map(of) for name, of in self.conditions.items()}
        return found.assign(**levels)

    def _seats(self, game: str, folder: Path) -> pd.DataFrame:
        if not (matches := read_matches(folder)):
            return pd.DataFrame(columns=list(COLUMNS))
        there = [name for name in _OF_MATCHES if name in matches.column_names]
        frame = to_frame(matches.select(there)).reindex(columns=list(_OF_MATCHES))
        rows = by_seat(frame, ["settings", "payoff", "gain", "rejected", "cost"])
        rows = rows[rows["player"].isin(self.about["players"]) & rows["opponent"].isin(self.about["players"])]
        possible = rows["possible"].astype(float)
        share = rows["gain"].astype(float) / possible.where(possible > 0)
        unit, scale = display_unit(catalog.imported_class(frame["game"].iloc[0]).unit)
        self.units[game] = unit
        paid = rows["payoff"].astype(float) / scale
        turns = rows["moves_a"] + rows["moves_b"]
        theirs = rows["joint"].astype(float) / possible.where(possible > 0) - share
        found = rows.assign(game=game, share=share, other_share=theirs, payoff=paid, turns=turns)
        return found[list(COLUMNS)]

    def players(self) -> str:
        """Say who each label is, with its settings if it is a model."""
        facts: dict[str, Any] = {}
        for folder, _ in self._plans.values():
            facts |= manifest.read(folder)["players"]
        settings = self.seats.dropna(subset="settings").groupby("player")["settings"].first()
        said = []
        for label, about in self.about["players"].items():
            called = facts.get(label, {}).get("player", about["player"])
            said.append(f"{label} = {called}{f' ({settings[label]})' if label in settings else ''}")
        return f"Players: {', '.join(said)}."

    @cached_property
    def games(self) -> list[str]:
        """The labels of the games that were played."""
        return list(self.seats["game"].unique())

    def rows(self, game: str) -> pd.DataFrame:
        """Return the rows of `seats` for a game, without draws that have no zone of agreement."""
        rows = self.seats[self.seats["game"] == game]
        return rows[~rows["draw"].isin(_no_zone(rows))]

    @cached_property
    def tables(self) -> list[Table]:
        """The ranking by payoff for each game, then, if there are several, the ranking by shares over all games."""
        found = [self._table(game, self.units[game], self.rows(game), "payoff") for game in self.games]
        if len(found) > 1:
            parts = [self.rows(game) for game in self.games]
            draws = set.intersection(*(set(part["draw"].unique()) for part in parts))
            rows = pd.concat(parts)
            found.append(self._table(OVERALL, "share of what was attainable", rows[rows["draw"].isin(draws)], "share"))
        return found

    def _table(self, game: str, unit: str, rows: pd.DataFrame, column: str) -> Table:
        all_rows = self.seats if game == OVERALL else self.seats[self.seats["game"] == game]
        decided = rows["decided_by_fallback"].eq(True)
        found, why = self._rank(rows, column)
        without, _ = self._rank(rows[~decided], column) if decided.any() else (None, "")
        stopped = all_rows[all_rows["stopped"].notna()]["match"].nunique()
        no_zone = sum(len(_no_zone(part)) for _, part in all_rows.groupby("game"))
        counted = no_zone, int(rows["seat"].eq("A").sum()), rows[decided]["match"].nunique(), stopped
        return Table(game, unit, found, why, without, *counted, is_exact(rows))

    def _rank(self, rows: pd.DataFrame, column: str) -> tuple[Ranking | None, str]:
        """Rank the entrants that played all of these games; None and the reason if they cannot be ranked."""
        if is_exact(rows):
            rows = rows.assign(deterministic=False)  # each draw is then a copy, and all of them give the same result
        games = rows["game"].nunique()
        per = rows.groupby("player")["game"].nunique()
        names = [name for name in self.entrants if per.get(name, 0) == games]
        try:
            return rank(rows, column, names, self.opponents), ""
        except ValueError as error:
            return None, str(error)

    def cross(self, game: str) -> pd.DataFrame:
        """Return, for each player against each opponent in a game, means over its matches: the payoff, the share of
        agreements, the joint gain as a share of the possible one, and the number of matches."""
        rows = drop_copies(self._paid(game))
        found = rows.groupby(["player", "opponent"])[["payoff", "agreed", "joint_share"]].mean()
        return found.assign(n=rows.groupby(["player", "opponent"])["match"].nunique()).reset_index()

    def _paid(self, game: str) -> pd.DataFrame:
        """Return a game's rows that have a payoff, with agreements as numbers and the share of the possible gain."""
        rows = with_value(self.rows(game), "payoff")
        efficiency = rows["joint"].astype(float) / rows["possible"].astype(float)
        return rows.assign(agreed=rows["agreed"].eq(True).astype(float), joint_share=efficiency)

    def profiles(self, game: str) -> pd.DataFrame:
        """Return what each player's matches in a game were like: the known `MEASURES` with intervals, as in
        `estimate_groups`, and rejected replies, if there are any."""
        rows = self._paid(game)
        shown = [measure for measure in MEASURES if measure.column != "rejected" or rows["rejected"].any()]
        found = estimate_groups(rows, {"player": "player"}, shown)
        return found[found["n"] > 0]

    def best_replies(self, game: str) -> dict[str, str]:
        """Return, for each opponent, the player that was paid the most against it."""
        cross = self.cross(game)
        best = cross.loc[cross.groupby("opponent")["payoff"].idxmax()]
        return dict(zip(best["opponent"], best["player"], strict=True))

    def head_to_head(self, game: str) -> pd.DataFrame:
        """Return how much more one of two players was paid in their own matches, with a row per pair and Holm's
        correction for the number of pairs."""
        rows, pairs, found = self.rows(game), [], []
        for one, two in combinations([*self.about["players"]], 2):
            own = rows[rows["player"].isin([one, two]) & rows["opponent"].isin([one, two])]
            try:
                found.append(contrast(own, one, two, "payoff").estimate)
                pairs.append((one, two))
            except NotSharedError:
                continue
        return as_frame(["one", "two"], pairs, found)

    def condition_effects(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield each condition with the differences between its values in the share of what was attainable, within
        games and players and against the same opponents."""
        bases = self.about["bases"]
        rows = self.seats[self.seats["share"].notna()]
        rows = rows.assign(model=rows["player"].map(bases), own=rows["opponent"].map(bases))
        rows = rows[rows["model"] != rows["own"]]  # which only some of the values meet
        for name in self.conditions:
            others = [other for other in self.conditions if other != name]
            try:
                yield name, contrasts(rows[rows[name].notna()], "share", side=name, by=["game", "model", *others])
            except ValueError:
                continue

    def pairings(self) -> pd.DataFrame:
        """Return a row per pairing in each game: matches planned and played, and how they ended."""
        rows = self.seats[self.seats["seat"] == "A"]
        pairs = ["--".join(sorted(pair)) for pair in zip(rows["player"], rows["opponent"], strict=True)]
        ended = {"agreed": rows["agreed"].eq(True), "stopped": rows["stopped"].notna()}
        counted = rows.assign(pairing=pairs, played=1, **ended, decided=rows["decided_by_fallback"].eq(True))
        counts = counted.groupby(["game", "pairing"])[["played", "agreed", "stopped", "decided"]].sum()
        planned = {(game, "--".join(sorted(pair))): plan.n for (game, pair), (_, plan) in self._plans.items()}
        found = counts.reindex(pd.MultiIndex.from_tuples(planned, names=["game", "pairing"]), fill_value=0)
        return found.assign(planned=list(planned.values())).reset_index()

    @cached_property
    def _plans(self) -> dict[tuple[str, frozenset[str]], tuple[Path, manifest.Pairing]]:
        """The folder and plan of each pairing, by its game and players."""
        files = (
            (game, file.parent, manifest.read_pairing(file.parent))
            for game, folder in manifest.game_folders(self.path, self.about).items()
            for file in sorted(folder.glob(f"*/{manifest.FILE}"))
        )
        return {(game, frozenset((plan.a, plan.b))): (folder, plan) for game, folder, plan in files}

    def examples(self) -> dict[tuple[str, str, str], Record]:
        """Return a match of each pairing in each seating, by its game and the players at A and B, on the game's first
        draw if it has been played."""
        rows = self.seats[(self.seats["seat"] == "A") & self.seats["stopped"].isna()]
        first = rows.assign(at=rows.groupby(["game", "draw"], sort=False).ngroup()).sort_values("at", kind="stable")
        keys = ["game", "player", "opponent"]
        found = first.drop_duplicates(keys).sort_index()[[*keys, "match"]].itertuples(index=False, name=None)
        return {(game, *pair): store.find(self._folder(game, pair), match) for game, *pair, match in found}

    def _folder(self, game: str, pair: Sequence[str]) -> Path:
        """Return the folder of a pairing."""
        if (key := (game, frozenset(pair))) not in self._plans:
            raise ValueError(f"{self.path}: {' and '.join(pair)} have matches of {game}, but no manifest: restore it")
        return self._plans[key][0]

    def lines(self) -> Iterator[str]:
        """Yield the rankings as lines for a terminal."""
        for table in self.tables:
            yield f"{table.game}: {table.counts()}"
            if table.ranking is not None:
                yield from align([table.heads, *table.rows()])
            yield ""


def check_conditions(names: Iterable[str]) -> None:
    """Raise ValueError for a condition with the name of another column."""
    if taken := sorted(_TAKEN.intersection(names)):
        raise ValueError(f"conditions: {taken[0]} is a column of a table: choose another name")


def is_tournament(fields: Mapping[str, Any]) -> bool:
    """Return True for a tournament's manifest."""
    return "entrants" in fields


def align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows of texts as lines in aligned columns, with words on the left and numbers on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            text.ljust(width) if at < 2 else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"  {'  '.join(cells)}".rstrip()


def _no_zone(rows: pd.DataFrame) -> list[str]:
    """Return a game's draws on which no agreement is better for both than none."""
    possible = rows.groupby("draw")["possible"].max()
    return list(possible[possible <= 0].index)
