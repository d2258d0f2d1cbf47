"""What one observation is, and how sure many of them make us.

This is the one place that decides it. Records become a `MatchRow`. Frames of matches or seats become a `Sample`: copies
are dropped (`drop_copies`), the rows of a match averaged (`frame_sample`), and what belongs together is labelled. A
`Sample` knows its estimates, by the formulas of `stats`. Two comparisons take their own way from frames: pairs
(`stats.paired_differences`) and regressions (`stats.clustered_regression`), by the same column `deal`.

A *deal* is a game with its parameters and its start; a *draw* is the chance in it alone, so that treatments, which
differ in parameters, can be paired. Two deterministic players play one deal in one seating always alike: a second game
of theirs is a copy and no observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from negolab.analysis import stats
from negolab.analysis.fallbacks import Fallbacks, find_fallbacks
from negolab.analysis.stats import FEW_DEALS, Estimate, Labels
from negolab.events import Dealt
from negolab.game import SEATS, Seat
from negolab.record import DETERMINISTIC, Record, encode_set
from negolab.store import STOPPED

if TYPE_CHECKING:
    import pandas as pd

_encoder = msgspec.json.Encoder(enc_hook=encode_set, order="sorted")


def deal_id(record: Record) -> str:
    """Return the deal of a match: a hash of its game's id, all parameters and its start."""
    header = record.header
    return _hash([header.game, header.params, _start(record)])


def draw_id(record: Record) -> str:
    """Return the draw of a match: the seed of its deal, or a hash of the start where that was given."""
    return _hash(_start(record)) if record.header.seed is None else str(record.header.seed)


def _start(record: Record) -> Any:
    dealt = record.events[0]
    assert isinstance(dealt, Dealt)
    return dealt.state


def is_deterministic(record: Record) -> bool:
    """Return True if both players always play alike on one deal; unknown players, models and people do not."""
    return set(record.header.notes.get(DETERMINISTIC, ())) == set(SEATS)


def _hash(value: Any) -> str:
    return blake2b(_encoder.encode(value), digest_size=6).hexdigest()


class MatchRow(NamedTuple):
    """Facts of one match for frames and summaries, computed once from its record.

    Attributes:
        record: The record.
        deal: Its `deal_id`.
        draw: Its `draw_id`.
        deterministic: True as of `is_deterministic`.
        stopped: "failed" or "timed out", where a run stopped the match.
        fallbacks: The moves of each seat, and those that a rule made.
    """

    record: Record
    deal: str
    draw: str
    deterministic: bool
    stopped: str | None
    fallbacks: Fallbacks

    @classmethod
    def of(cls, record: Record) -> MatchRow:
        """Read a record."""
        stopped = record.header.notes.get(STOPPED)
        known = deal_id(record), draw_id(record), is_deterministic(record)
        return cls(record, *known, stopped, find_fallbacks(record))

    @property
    def has_result(self) -> bool:
        """True if the rules ended the match."""
        return not self.stopped and self.record.end not in (None, "ABORTED")

    def player(self, seat: Seat) -> str:
        """Return the name of a seat's player, "?" if it is not known."""
        return self.record.header.players.get(seat, "?")


def drop_copies(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep one game of each deal and seating between deterministic players, and all other games.

    Args:
        frame: A row per match, or per match and seat, with `deal` and the players; without `deterministic`, none is a
            copy.
    """
    if "deterministic" not in frame:
        return frame
    who = [name for name in ("seat", "player", "opponent", "player_a", "player_b") if name in frame]
    copies = frame["deterministic"].astype(bool) & frame.duplicated(["deal", *who])
    return frame[~copies]


class Sample(NamedTuple):
    """Observations of one kind.

    Attributes:
        values: One number per observation; of a share 1 or 0.
        deals: The deal of each; None for numbers that are independent of each other.
        clusters: A second clustering: the participant of each, where people played.
        fixed: True if all players are deterministic: of few deals, everything is then known, without an interval.
    """

    values: Sequence[float]
    deals: Labels | None = None
    clusters: Labels | None = None
    fixed: bool = False

    def mean(self, level: float = stats.LEVEL) -> Estimate:
        """Return the mean with an interval that takes a deal's and a participant's observations together."""
        if self.deals is None:
            return stats.mean_interval(self.values, level)
        return self._known(stats.cluster_mean(self.values, self.deals, *self._others, level=level))

    def share(self, level: float = stats.LEVEL) -> Estimate:
        """Return the share of values above 0, from 0 to 1, with such an interval."""
        hits = [value > 0 for value in self.values]
        if self.deals is None:
            return stats.wilson_interval(sum(hits), len(hits), level)
        return self._known(stats.cluster_share(hits, self.deals, *self._others, level=level))

    @property
    def _others(self) -> list[Labels]:
        return [] if self.clusters is None else [self.clusters]

    def _known(self, estimate: Estimate) -> Estimate:
        if self.fixed and (estimate.deals or 0) < FEW_DEALS:
            return estimate._replace(low=stats.NAN, high=stats.NAN)
        return estimate


Values = Sequence[float] | Sample
"""A sample, or numbers that are independent of each other."""


def as_sample(values: Values, scale: float = 1) -> Sample:
    """Return values as a sample, divided by `scale`."""
    sample = values if isinstance(values, Sample) else Sample(values)
    return sample if scale == 1 else sample._replace(values=[value / scale for value in sample.values])


def frame_sample(frame: pd.DataFrame, column: str, *, scale: float = 1) -> Sample:
    """Return the observations in a column: one per match, rows without a value and copies left out.

    Args:
        frame: A row per match, or per match and seat (their mean then counts), with `match` and `deal`, and where they
            are known `deterministic` and of people's matches `participant`.
        column: The column with the values.
        scale: Factor for the values, such as 1 / 100 for dollars.
    """
    rows = drop_copies(frame.dropna(subset=[column]))
    key = [name for name in ("cell", "match") if name in rows]  # an id is unique within a cell only
    values = (rows[column].astype(float) * scale).groupby([rows[name] for name in key], sort=False).mean()
    first = rows.drop_duplicates(key)
    participants = list(first["participant"]) if "participant" in first else None
    fixed = "deterministic" in rows and bool(rows["deterministic"].all())
    return Sample(list(values), list(first["deal"]), participants, fixed)


def deal_means(frame: pd.DataFrame, column: str) -> list[float]:
    """Return one value per deal, the mean over the games on it, so that values are independent; NaN is left out."""
    known = drop_copies(frame.dropna(subset=[column])).astype({column: float})
    return [float(value) for value in known.groupby("deal", sort=False)[column].mean()]


def drop_row_copies(rows: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Keep one row of each game that deterministic players repeat within a group of `by`, and all other rows.

    Args:
        rows: A row per match, or per match and seat, with `value`, `deterministic` and `game` (see `number_games`).
        by: Columns that part the groups.
    """
    return rows[~(rows["deterministic"] & rows.duplicated([*by, "game", "value"]))]


def row_sample(rows: pd.DataFrame, column: str) -> Sample:
    """Return the observations in a column as they are, one per row, those of a game taken together.

    Args:
        rows: A row per match, or per match and seat, with `deal`, `game` (see `number_games`) and `deterministic`, and
            without copies.
        column: The column with the values.
    """
    return Sample(list(rows[column]), list(rows["deal"]), list(rows["game"]), bool(rows["deterministic"].all()))


def number_games(frame: pd.DataFrame) -> pd.Series[int]:
    """Number the game of each row: the match, or of deterministic players the deal and its players."""
    alike, own = (
        frame.groupby(names, sort=False, dropna=False).ngroup()
        for names in (["deal", "player_a", "player_b"], ["cell", "match"])
    )
    return alike.where(frame["deterministic"].astype(bool), -1 - own)


def sample_text(estimate: Estimate) -> str:
    """Say what an estimate rests on, such as "n = 200 on 100 deals" or "n = 40 for these 2 deals"."""
    n, deals = estimate.n, estimate.deals
    if deals is None:
        return f"n = {n}"
    if deals < FEW_DEALS:
        return f"n = {n} for {'this deal' if deals == 1 else f'these {deals} deals'}"
    return f"n = {n} deals" if n == deals else f"n = {n} on {deals} deals"
