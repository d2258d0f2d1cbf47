"""Agreement of coders: alpha and kappa with intervals over matches, disagreements, and rates without coders' errors.

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
"""Coders up to which each pair is compared; there are 190 pairs of 20."""
_MOST_CELLS = 10**8
"""Most numbers, of eight bytes each, in the matrices of all matches: beyond, the matches are one matrix."""
ALL_ALIKE = "all values are the same: no variation to agree on"


def alpha(coded: Iterable[Sequence[float]], level: Level = "nominal") -> float:
    """Return Krippendorff's alpha (Krippendorff 2004, Content Analysis, chapter 11): 1 is agreement, 0 is chance.

    Args:
        coded: The values that coders gave each unit, those who did not code it left out; units of one value count
            nothing.
        level: The level of the values.

    Returns:
        Alpha; NaN where all values are alike, so that nothing could be disagreed on.

    Example:
        >>> alpha([(1, 1), (2, 2), (1, 2), (2, 2)])
        0.5333333333333333
    """
    rows = [list(values) for values in coded]
    known = sorted({value for values in rows for value in values})
    return _alpha(sum((_pairs(values, known) for values in rows), np.zeros((len(known),) * 2)), known, level)


def _pairs(values: Sequence[float], known: Sequence[float]) -> NDArray[Any]:
    """Return the coincidences of one unit: how often each value stands beside each other one."""
    counts = np.array([values.count(value) for value in known], float)
    return (np.outer(counts, counts) - np.diag(counts)) / max(len(values) - 1, 1)


def _alpha(pairs: NDArray[Any], known: Sequence[float], level: Level) -> float:
    counts = pairs.sum(0)
    # Ranks: how many values lie below, half of one's own with them.
    at = {"ordinal": counts.cumsum() - counts / 2, "interval": np.array(known, float)}.get(level)
    far = 1 - np.eye(len(known)) if at is None else (at[:, None] - at) ** 2
    by_chance = float(counts @ far @ counts)
    return 1 - float((pairs * far).sum() * (counts.sum() - 1)) / by_chance if by_chance else float("nan")


def resampled(
    parts: NDArray[Any], estimate: Callable[[NDArray[Any]], float], resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the 95% percentile interval (Efron 1979) of an estimate from the sum of the parts of matches.

    Args:
        parts: What each match adds, along the first axis; one match has no interval.
        estimate: Returns the estimate of a sum, NaN where it has none.
        resamples: Number of resamples.
    """
    rng, count = np.random.default_rng(0), len(parts)
    drawn = (np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(resamples))
    found = [estimate(np.tensordot(times, parts, 1)) for times in drawn] if count > 1 else []
    known = [value for value in found if value == value]
    low, high = np.percentile(known, [2.5, 97.5]) if known else (float("nan"),) * 2
    return float(low), float(high)


def agreement(book: Codebook, readings: Readings, resamples: int = RESAMPLES) -> pd.DataFrame:
    """Return how far all coders agree on each code.

    Args:
        book: The codebook.
        readings: The readings that count.
        resamples: Number of resamples behind an interval.

    Returns:
        A row per code: its level, the number of coders, of units that two or more coded and of their matches, and
        Krippendorff's `alpha` with its 95% interval (`low`, `high`); `note` says why one of these is missing.
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
    """Return the values of a code: a row per place, a column per coder, NaN for what a coder has not coded.

    Raises:
        ValueError: The code has more values than a scale.
    """
    places = list(dict.fromkeys(place for own in readings.values() for place in own))
    given = [[own[place].codes.get(code) if place in own else None for own in readings.values()] for place in places]
    if len({value for row in given for value in row if value is not None}) > MOST_STEPS:
        raise ValueError(f"{code} has more than {MOST_STEPS:,} different values, too many for a scale")
    return pd.DataFrame(given, pd.Index(places, tupleize_cols=False), [*readings], float)


def confusion(readings: Readings, code: str, one: str, two: str) -> pd.DataFrame:
    """Return how often one coder gave each value (rows) where another gave each (columns), in units that both coded."""
    both = answers(readings, code)[[one, two]].dropna().astype(int)
    known = sorted({*both[one], *both[two]})
    return pd.crosstab(both[one], both[two]).reindex(index=known, columns=known, fill_value=0)


def kappas(book: Codebook, readings: Readings) -> pd.DataFrame:
    """Return Cohen's kappa (1960) of each code and pair of up to `MOST_PAIRED` coders, with the units that both coded,
    their share of agreement, and a `note` where there is no kappa: all values are the same, or they coded no unit in
    common."""
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
    """Return each unit and code that coders differ on: its place, its words, and the value of each coder."""
    found = units(source, book.unit)
    rows = [
        {**place._asdict(), "code": code, **dict(zip(readings, given, strict=True)), "text": found[place].text}
        for code in book.codes
        for place, *given in answers(readings, code).itertuples()
        if place in found and len({value for value in given if value == value}) > 1
    ]
    return pd.DataFrame(rows).convert_dtypes()  # marks are whole numbers, which a gap turns into floats


def corrected_rates(book: Codebook, readings: Readings, gold: str) -> pd.DataFrame:
    """Return the rate of each yes-or-no code by each coder, corrected by a gold sample as Rogan and Gladen (1978) do.

    Args:
        book: The codebook.
        readings: The readings that count.
        gold: The coder who is right, such as who adjudicates.

    Returns:
        A row per code and coder: the `units` that were coded, the `rate` of yes, the units that `gold` coded as well,
        the shares of its yes (`sensitivity`) and no (`specificity`) that the coder gave, too, and the `corrected` rate
        with its 95% interval (`low`, `high`).

    Raises:
        ValueError: Nobody of that name has coded.
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
