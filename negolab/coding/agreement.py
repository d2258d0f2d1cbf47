"""Agreement among coders: alpha and kappa with intervals over matches, disagreements, and rates corrected for errors.

A resample draws whole matches, because what is said in one match is not independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from negolab.coding.codebook import MOST_STEPS, Codebook, Level
from negolab.coding.units import Readings, units

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 1000
"""Resamples of matches behind an interval."""
MOST_PAIRED = 20
"""Most coders for which every pair is compared; 20 coders make 190 pairs."""
_MOST_CELLS = 10**8
"""Most numbers, of eight bytes each, in the matrices of all matches; beyond that, all matches share one matrix."""
ALL_ALIKE = "all values are the same: no variation to agree on"


def alpha(coded: Iterable[Sequence[float]], level: Level = "nominal") -> float:
    """Return Krippendorff's alpha (Krippendorff 2004, Content Analysis, chapter 11): 1 is agreement, 0 is chance.

    Args:
        coded: The values that coders gave each unit, without those who did not code it; units with only one value do
            not count.
        level: The level of the values.

    Returns:
        Alpha; NaN if all values are the same, so that coders had nothing to disagree on.

    Example:
        >>> alpha([(1, 1), (2, 2), (1, 2), (2, 2)])
        0.5333333333333333
    """
    rows = [list(values) for values in coded]
    known = sorted({value for values in rows for value in values})
    return _alpha(sum((_pairs(values, known) for values in rows), np.zeros((len(known),) * 2)), known, level)


def _pairs(values: Sequence[float], known: Sequence[float]) -> NDArray[Any]:
    """Return the coincidences in one unit: how often each value is paired with each value."""
    counts = np.array([values.count(value) for value in known], float)
    return (np.outer(counts, counts) - np.diag(counts)) / max(len(values) - 1, 1)


def _alpha(pairs: NDArray[Any], known: Sequence[float], level: Level) -> float:
    counts = pairs.sum(0)
    # Ranks: the number of values below, plus half of the equal ones.
    at = {"ordinal": counts.cumsum() - counts / 2, "interval": np.array(known, float)}.get(level)
    far = 1 - np.eye(len(known)) if at is None else (at[:, None] - at) ** 2
    by_chance = float(counts @ far @ counts)
    return 1 - float((pairs * far).sum() * (counts.sum() - 1)) / by_chance if by_chance else float("nan")


def resampled(
    parts: NDArray[Any], estimate: Callable[[NDArray[Any]], float], resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the 95% percentile interval (Efron 1979) of an estimate computed from the sum of the matches' parts.

    Args:
        parts: The part that each match adds, along the first axis; a single match has no interval.
        estimate: Returns the estimate for a sum; NaN if there is none.
        resamples: Number of resamples.
    """
    rng, count = np.random.default_rng(0), len(parts)
    drawn = (np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(resamples))
    found = [estimate(np.tensordot(times, parts, 1)) for times in drawn] if count > 1 else []
    known = [value for value in found if value == value]
    low, high = np.percentile(known, [2.5, 97.5]) if known else (float("nan"),) * 2
    return float(low), float(high)


def agreement(book: Codebook, readings: Readings, resamples: int = RESAMPLES) -> pd.DataFrame:
    """Return the agreement of all coders on each code.

    Args:
        book: The codebook.
        readings: The readings that count.
        resamples: Number of resamples behind an interval.

    Returns:
        A row per code: its level; the numbers of coders, of units that two or more coded, and of those units' matches;
        and Krippendorff's `alpha` with its 95% interval (`low`, `high`); `note` says why one of these is missing.
    """
    rows = [_agreement(name, code.measured, answers(readings, name), resamples) for name, code in book.codes.items()]
    return pd.DataFrame(rows)


def _agreement(name: str, level: Level, given: pd.DataFrame, resamples: int) -> dict[str, Any]:
    coded = {place: [value for value in row if value == value] for place, *row in given.itertuples()}
    shared = {place: values for place, values in coded.items() if len(values) > 1}
    known = sorted({value for values in shared.values() for value in values})
    count = len({place[:2] for place in shared})
    is_large = count * len(known) ** 2 > _MOST_CELLS
    matches: dict[Hashable, Any] = defaultdict(lambda: np.zeros((len(known),) * 2))
    for place, values in shared.items():
        matches[() if is_large else place[:2]] += _pairs(values, known)
    parts = np.stack([*matches.values()] or [np.zeros((0, 0))])
    low, high = resampled(parts, lambda pairs: _alpha(pairs, known, level), resamples)
    sizes = {"coders": int(given.notna().any().sum()), "units": len(shared), "matches": count}
    return {
        "code": name,
        "level": level,
        **sizes,
        "alpha": _alpha(parts.sum(0), known, level),
        "low": low,
        "high": high,
        "note": _note(sizes, known, is_large),
    }


def _note(sizes: Mapping[str, int], known: Sequence[float], is_large: bool) -> str:
    """Say why a code has no alpha, or no interval; "" if it has both."""
    reasons = {
        "needs two coders": sizes["coders"] < 2,
        "no unit was coded by two coders": not sizes["units"],
        ALL_ALIKE: len(known) == 1,
        "one match: no interval": sizes["matches"] == 1,
        "too many values and matches: no interval": is_large,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def answers(readings: Readings, code: str) -> pd.DataFrame:
    """Return the values of a code: a row per place, a column per coder, NaN where a coder has not coded.

    Raises:
        ValueError: The code has more values than a scale.
    """
    places = list(dict.fromkeys(place for own in readings.values() for place in own))
    given = [[own[place].codes.get(code) if place in own else None for own in readings.values()] for place in places]
    if len({value for row in given for value in row if value is not None}) > MOST_STEPS:
        raise ValueError(f"{code} has more than {MOST_STEPS:,} different values, too many for a scale")
    return pd.DataFrame(given, pd.Index(places, tupleize_cols=False), [*readings], float)


def confusion(readings: Readings, code: str, one: str, two: str) -> pd.DataFrame:
    """Return how often one coder gave each value (rows) when another gave each value (columns), in units that both
    coded."""
    both = answers(readings, code)[[one, two]].dropna().astype(int)
    known = sorted({*both[one], *both[two]})
    return pd.crosstab(both[one], both[two]).reindex(index=known, columns=known, fill_value=0)


def kappas(book: Codebook, readings: Readings) -> pd.DataFrame:
    """Return Cohen's kappa (1960) of each code and pair of up to `MOST_PAIRED` coders, with the units that both coded,
    the share on which they agree, and a `note` if there is no kappa because all values are the same, or no unit was
    coded by both."""
    from statsmodels.stats.inter_rater import cohens_kappa

    rows = []
    pairs = combinations(readings, 2) if len(readings) <= MOST_PAIRED else ()
    for code, (one, two) in product(book.codes, pairs):
        table = confusion(readings, code, one, two).to_numpy()
        count = int(table.sum())
        kappa = cohens_kappa(table, return_results=False) if len(table) > 1 else float("nan")
        rows.append(
            {
                "code": code,
                "coders": f"{one}, {two}",
                "units": count,
                "alike": table.trace() / count if count else float("nan"),
                "kappa": float(kappa),
                "note": "" if kappa == kappa else ALL_ALIKE if count else "no units in common",
            }
        )
    return pd.DataFrame(rows)


def disagreements(source: Path, book: Codebook, readings: Readings) -> pd.DataFrame:
    """Return each unit and code that coders disagree on: its place, its words, and each coder's value."""
    found = units(source, book.unit)
    rows = [
        {**place._asdict(), "code": code, **dict(zip(readings, given, strict=True)), "text": found[place].text}
        for code in book.codes
        for place, *given in answers(readings, code).itertuples()
        if place in found and len({value for value in given if value == value}) > 1
    ]
    return pd.DataFrame(rows).convert_dtypes()  # marks are whole numbers, which gaps turn into floats


def corrected_rates(book: Codebook, readings: Readings, gold: str) -> pd.DataFrame:
    """Return the rate of each yes-or-no code by each coder, corrected with a gold sample as in Rogan and Gladen (1978).

    Args:
        book: The codebook.
        readings: The readings that count.
        gold: The coder taken to be right, such as an adjudicator.

    Returns:
        A row per code and coder: the number of `units` coded, the `rate` of yes, the number of units that `gold` also
        coded, the shares of its yes (`sensitivity`) and no (`specificity`) answers that the coder also gave, and the
        `corrected` rate with its 95% interval (`low`, `high`).

    Raises:
        ValueError: Nobody with that name has coded.
    """
    if gold not in readings:
        raise ValueError(f"no coder is called {gold!r}: the coders are {', '.join(readings) or 'none yet'}")
    codes = [name for name, code in book.codes.items() if code.scale is None]
    others = [coder for coder in readings if coder != gold]
    return pd.DataFrame([_corrected(name, coder, readings, gold) for name in codes for coder in others])


def _corrected(code: str, coder: str, readings: Readings, gold: str) -> dict[str, Any]:
    given = answers(readings, code).dropna(subset=[coder])
    said, true = given[coder], given[gold]
    counts = [said == said, said == 1, true == 1, (true == 1) & (said == 1), true == 0, (true == 0) & (said == 0)]
    matches = pd.factorize(pd.Index([place[:2] for place in given.index], tupleize_cols=False))[0]
    parts = pd.DataFrame(np.transpose(counts).astype(float)).groupby(matches).sum().to_numpy()
    total, (low, high) = parts.sum(0), resampled(parts, lambda sums: _rates(sums)[3])
    rate, sensitivity, specificity, corrected = _rates(total)
    return {
        "code": code,
        "coder": coder,
        "units": len(given),
        "rate": rate,
        "gold": int(total[2] + total[4]),
        "sensitivity": sensitivity,
        "specificity": specificity,
        "corrected": corrected,
        "low": low,
        "high": high,
    }


def _rates(sums: NDArray[Any]) -> tuple[float, float, float, float]:
    """Return the rate, sensitivity and specificity, and (rate + specificity - 1) / (sensitivity + specificity - 1)."""
    with np.errstate(invalid="ignore"):
        rate, hits, passed = map(float, sums[1::2] / sums[::2])
    better = hits + passed - 1
    return rate, hits, passed, min(max((rate + passed - 1) / better, 0.0), 1.0) if better > 0 else float("nan")
