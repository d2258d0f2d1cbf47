"""Records and frames as observations: one value per match, many of which can share one independent draw of chance.

This is the only place that decides what counts. A record becomes a `MatchRow`. Frames of matches or seats become a
`Sample`: rows without a value and stopped ones are left out, copies are dropped (`drop_copies`), the rows of a match
are averaged, and what belongs together is labeled. A `Sample` computes its estimates with the formulas of `stats`.

A *draw* is the chance in a match: the seed that its start was drawn from, or the start itself if that was given. An
imported match names its own draw, because nothing says that people who had the same numbers shared anything else.
Treatments that change parameters share draws. Two deterministic players always play the same way on one draw in one
seating; a second such match is a copy, not an observation.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from negolab import catalog
from negolab.analysis import stats
from negolab.analysis.fallbacks import Fallbacks, find_fallbacks
from negolab.analysis.stats import Estimate, Groups, Labels
from negolab.catalog import AnyGame
from negolab.events import Dealt
from negolab.game import SEATS, Seat
from negolab.record import DETERMINISTIC, Record, encode_set
from negolab.store import STOPPED

if TYPE_CHECKING:
    import pandas as pd

_encoder = msgspec.json.Encoder(enc_hook=encode_set, order="sorted")


def deal_id(record: Record) -> str:
    """Return the deal of a match: a hash of its game's ID, all parameters and its start."""
    header = record.header
    return _hash([header.game, header.params, _start(record)])


def draw_id(record: Record) -> str:
    """Return the draw of a match: the one in its notes, else the seed of its deal, or a hash of a given start."""
    seed = record.header.notes.get("draw", record.header.seed)
    return _hash(_start(record)) if seed is None else str(seed)


def _start(record: Record) -> Any:
    dealt = record.events[0]
    assert isinstance(dealt, Dealt)
    return dealt.state


def is_deterministic(record: Record) -> bool:
    """Return True if both players always play the same way on a given deal; unknown players, models and people do
    not."""
    return set(record.header.notes.get(DETERMINISTIC, ())) == set(SEATS)


def has_chance(record: Record) -> bool:
    """Return True if the match's start was drawn, that is, not given, and the game draws anything."""
    header = record.header
    return header.seed is not None and _draws(header.game, header.preset, msgspec.json.encode(header.params))


def draws_start(game: AnyGame) -> bool:
    """Return True if a game draws anything for the start of a match."""
    rng = Random(0)
    before = rng.getstate()
    game.deal(rng)
    return rng.getstate() != before


@lru_cache(maxsize=256)
def _draws(game: str, preset: str | None, params: bytes) -> bool:
    try:
        return draws_start(catalog.stored_game(game, preset, msgspec.json.decode(params)))
    except ValueError:  # the code of a researcher's own game is missing; it may draw
        return True


def _hash(value: Any) -> str:
    return blake2b(_encoder.encode(value), digest_size=6).hexdigest()


class MatchRow(NamedTuple):
    """Facts about one match for frames and summaries, computed once from its record.

    Attributes:
        record: The record.
        deal: Its `deal_id`.
        draw: Its `draw_id`.
        deterministic: Its `is_deterministic`.
        chance: True if the game drew its start.
        stopped: "failed" or "timed out", if a run stopped the match.
        fallbacks: The moves of each seat, including those that a rule made.
    """

    record: Record
    deal: str
    draw: str
    deterministic: bool
    chance: bool
    stopped: str | None
    fallbacks: Fallbacks

    @classmethod
    def of(cls, record: Record) -> MatchRow:
        """Read a record."""
        stopped = record.header.notes.get(STOPPED)
        known = deal_id(record), draw_id(record), is_deterministic(record), has_chance(record)
        return cls(record, *known, stopped, find_fallbacks(record))

    @property
    def has_result(self) -> bool:
        """True if the rules ended the match."""
        return not self.stopped and self.record.end not in (None, "ABORTED")

    def player(self, seat: Seat) -> str:
        """Return the name of a seat's player; "?" if unknown."""
        return self.record.header.players.get(seat, "?")


class Sample(NamedTuple):
    """Observations of one kind.

    Attributes:
        values: One number per match; for a share, 1 or 0.
        draws: The draw of each; None for numbers that are independent of each other.
        people: The people who played each, if people did.
        exact: True if nothing at all was drawn, so that what is estimated is known.
    """

    values: Sequence[float]
    draws: Labels | None = None
    people: Sequence[Sequence[Hashable]] | None = None
    exact: bool = False

    def mean(self, *, bounds: tuple[float, float] = stats.UNBOUNDED, level: float = stats.LEVEL) -> Estimate:
        """Return the mean with an interval based on draws and people; see `stats.estimate_mean`."""
        return self._known(self.values) or stats.estimate_mean(self.values, self._groups, bounds=bounds, level=level)

    def share(self, *, level: float = stats.LEVEL) -> Estimate:
        """Return the share of values above 0, from 0 to 1, with such an interval; see `stats.estimate_share`."""
        hits = [value > 0 for value in self.values]
        return self._known(hits) or stats.estimate_share(hits, self._groups, level=level)

    def _known(self, values: Sequence[float]) -> Estimate | None:
        """Return the mean if it is known exactly; otherwise None."""
        is_known = self.exact and values
        return stats.unknown(len(values), sum(values) / len(values), 0, "exact") if is_known else None

    @property
    def _groups(self) -> Groups:
        return Groups(len(self.values), self.draws, self.people)


Values = Sequence[float] | Sample
"""A sample, or numbers that are independent of each other."""


def as_sample(values: Values, scale: float = 1) -> Sample:
    """Return values as a sample, divided by `scale`."""
    sample = values if isinstance(values, Sample) else Sample(values)
    return sample if scale == 1 else sample._replace(values=[value / scale for value in sample.values])


SEAT_COLUMNS = ("(seat)", "(player)", "(opponent)")
"""Columns, besides a sweep's parameters, of frames with a row per match and seat; no parameter has such a name."""
_WHO = ("seat", "player", "opponent", *SEAT_COLUMNS, "player_a", "player_b")
_PEOPLE = ("participant", "participant_a", "participant_b")


def drop_copies(frame: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Keep one match per draw, setting and seating between deterministic players, and all other matches.

    Args:
        frame: A row per match, or per match and seat, with `draw`, the players, and `cell` or `deal` for the setting;
            without `deterministic`, no match is a copy.
        by: Further columns that distinguish settings.
    """
    if "deterministic" not in frame or not frame["deterministic"].any():
        return frame
    # An exact result has no draws, so there the start tells matches apart.
    key = present(frame, *_setting(frame), "deal" if is_exact(frame) else "draw", *_WHO, *by)
    return frame[~(frame["deterministic"].astype(bool) & frame.duplicated(key))]


def _setting(frame: pd.DataFrame) -> tuple[str, ...]:
    return ("cell",) if "cell" in frame else ("deal",)


def present(frame: pd.DataFrame, *names: str) -> list[str]:
    """Return the names that are columns of the frame."""
    return [name for name in dict.fromkeys(names) if name in frame]


def is_exact(frame: pd.DataFrame) -> bool:
    """Return True if neither the players nor the game draw anything in any row."""
    known = "deterministic" in frame and "chance" in frame and len(frame) > 0
    return bool(known and frame["deterministic"].all() and not frame["chance"].any())


def with_value(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Drop rows without a value in a column, and those of matches that a run stopped."""
    known = frame[column].notna()
    if "stopped" in frame:
        known &= frame["stopped"].isna() | frame["stopped"].eq(False)
    return frame[known]


def frame_sample(frame: pd.DataFrame, column: str, *, scale: float = 1) -> Sample:
    """Return the observations in a column, one per match, without copies and rows that have no value.

    Args:
        frame: A row per match, or per match and seat (whose mean then counts), with `match`, `draw` and, if known,
            `cell`, `deal`, `deterministic`, `chance`, `stopped` and, for people's matches, `participant_a` and
            `participant_b` (or `participant`). Without `match`, each row is one observation; without `draw`, each is
            independent.
        column: The column with the values.
        scale: Factor for the values, such as 1 / 100 for dollars.
    """
    rows = drop_copies(with_value(frame, column))
    values = rows[column].astype(float) * scale
    if key := present(rows, "cell", "match") if "match" in rows else []:  # an ID is unique only within a cell
        values = values.groupby([rows[name] for name in key], sort=False).mean()
        rows = rows.drop_duplicates(key)
    people = present(rows, *_PEOPLE)
    ids = rows[people].itertuples(index=False) if people else ()
    met = [[one for one in row if one == one and one is not None] for row in ids]
    draws = rows["draw"].tolist() if "draw" in rows else None
    return Sample(values.tolist(), draws, met if people else None, is_exact(rows))


_ALIKE = 0.9
"""If matches on the same draws are at least this informative relative to independent ones, nothing is said about it."""


def sample_text(estimate: Estimate) -> str:
    """Say what an estimate is based on, such as "n = 200 on 100 draws" or "n = 1 (known exactly)"."""
    n, draws = f"n = {estimate.n:,}", estimate.draws
    if estimate.status == "exact":
        return f"{n} (known exactly)"
    if draws is None or estimate.status == "none":
        return n
    if estimate.status == "one":
        few = "of one group of people" if estimate.groups == 1 else "with 1 draw on a side"
        return f"{n} {'on 1 draw' if draws == 1 else few}: no interval"
    repeats = estimate.effective < _ALIKE * estimate.n
    alike = f" (as good as {estimate.effective:,.0f} independent)" if repeats else ""
    on = f"{n} draws" if estimate.n == draws else f"{n} on {draws:,} draws{alike}"
    if estimate.status == "constant":
        on = f"{on}, the same in all of them; at most {format_share(estimate.differ)} of draws differ"
    if estimate.few:
        on = f"{on} (few)"
    return f"{on}; skewed: too few draws for this interval" if estimate.skewed else on


def format_share(share: float) -> str:
    """Format a share as a percentage."""
    return f"{100 * share:.2g}%"
