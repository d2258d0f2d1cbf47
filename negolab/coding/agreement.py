"""How far coders agree: alpha and kappa with intervals over matches, where they differ, and rates without their errors.

A resample draws whole matches, because what is said in one match is not independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from negolab.coding.codebook import Code, Codebook, Level
from negolab.coding.units import Place, Readings, units

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 1000
"""Resamples of matches behind an interval."""


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
    """Return how far all coders agree on each code that two or more gave.

    Args:
        book: The codebook.
        readings: The readings that count.
        resamples: Number of resamples behind an interval.

    Returns:
        A row per code: its level, the number of coders, of units that two or more coded and of their matches, and
        Krippendorff's `alpha` with its 95% interval (`low`, `high`).
    """
    rows = [_agreement(name, code.measured, shared, resamples) for name, code, shared in _all_shared(book, readings)]
    return pd.DataFrame(rows)


def _agreement(name: str, level: Level, shared: Shared, resamples: int) -> dict[str, Any]:
    known = sorted({value for given in shared.values() for value in given.values()})
    matches: dict[Hashable, Any] = defaultdict(lambda: np.zeros((len(known),) * 2))
    for place, given in shared.items():
        matches[place[:2]] += _pairs([*given.values()], known)
    parts = np.stack([*matches.values()])
    low, high = resampled(parts, lambda pairs: _alpha(pairs, known, level), resamples)
    sizes = {"coders": len(set().union(*shared.values())), "units": len(shared), "matches": len(parts)}
    return {
        "code": name,
        "level": level,
        **sizes,
        "alpha": _alpha(parts.sum(0), known, level),
        "low": low,
        "high": high,
    }


def _all_shared(book: Codebook, readings: Readings) -> Iterator[tuple[str, Code, Shared]]:
    found = ((name, code, _shared(readings, name)) for name, code in book.codes.items())
    return (each for each in found if each[2])


Shared = dict[Place, dict[str, int]]
"""The values of a code by coder, of each unit that two coders or more have coded."""


def _shared(readings: Readings, code: str) -> Shared:
    given: Shared = defaultdict(dict)
    for coder, own in readings.items():
        for place, reading in own.items():
            if code in reading.codes:
                given[place][coder] = reading.codes[code]
    return {place: values for place, values in given.items() if len(values) > 1}


def confusion(readings: Readings, code: str, one: str, two: str) -> pd.DataFrame:
    """Return how often one coder gave each value (rows) where another gave each (columns), in units that both coded."""
    shared = [given for given in _shared(readings, code).values() if one in given and two in given]
    known = sorted({given[coder] for given in shared for coder in (one, two)})
    counts = [[sum((given[one], given[two]) == (a, b) for given in shared) for b in known] for a in known]
    return pd.DataFrame(counts, pd.Index(known, name=one), pd.Index(known, name=two))


def kappas(book: Codebook, readings: Readings) -> pd.DataFrame:
    """Return Cohen's kappa (1960) of each code and pair of coders, with the units that both coded and their share of
    agreement; empty where all values are alike."""
    from statsmodels.stats.inter_rater import cohens_kappa

    pairs = [
        (code, *pair, confusion(readings, code, *pair)) for code in book.codes for pair in combinations(readings, 2)
    ]
    rows = [
        {
            "code": code,
            "coders": f"{one}, {two}",
            "units": (n := table.to_numpy().sum()),
            "alike": table.to_numpy().trace() / n,
            "kappa": float(cohens_kappa(table.to_numpy(), return_results=False)) if len(table) > 1 else float("nan"),
        }
        for code, one, two, table in pairs
        if table.size
    ]
    return pd.DataFrame(rows, columns=["code", "coders", "units", "alike", "kappa"])


def disagreements(source: Path, book: Codebook, readings: Readings) -> pd.DataFrame:
    """Return each unit and code that coders differ on: its place, its words, and the value of each coder."""
    found = units(source, book.unit)
    rows = [
        {**place._asdict(), "code": code, **given, "text": found[place].text}
        for code, _, shared in _all_shared(book, readings)
        for place, given in shared.items()
        if len({*given.values()}) > 1 and place in found
    ]
    return pd.DataFrame(rows, columns=[*Place._fields, "code", *readings, "text"])


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
        raise ValueError(f"no coder is called {gold!r}: there are {', '.join(readings) or 'none yet'}")
    codes = [name for name, code in book.codes.items() if code.scale is None]
    others = [coder for coder in readings if coder != gold]
    return pd.DataFrame([_corrected(name, coder, readings, gold) for name in codes for coder in others])


def _corrected(code: str, coder: str, readings: Readings, gold: str) -> dict[str, Any]:
    matches: dict[Hashable, Any] = defaultdict(lambda: np.zeros(6))
    for place, reading in readings[coder].items():
        if (said := reading.codes.get(code)) is not None:
            true = readings[gold][place].codes.get(code) if place in readings[gold] else None
            matches[place[:2]] += (1, said, true == 1, true == said == 1, true == 0, true == said == 0)
    parts = np.stack([*matches.values()] or [np.zeros(6)])
    total, (low, high) = parts.sum(0), resampled(parts, _rogan_gladen)
    units, yes, positive, hits, negative, passed = map(float, total)
    sample = {"units": int(units), "rate": _share(yes, units), "gold": int(positive + negative)}
    errors = {"sensitivity": _share(hits, positive), "specificity": _share(passed, negative)}
    best = {"corrected": _rogan_gladen(total), "low": low, "high": high}
    return {"code": code, "coder": coder, **sample, **errors, **best}


def _rogan_gladen(total: NDArray[Any]) -> float:
    """Return (rate + specificity - 1) / (sensitivity + specificity - 1), within 0 and 1."""
    units, yes, positive, hits, negative, passed = map(float, total)
    better = _share(hits, positive) + _share(passed, negative) - 1
    rate = (_share(yes, units) + _share(passed, negative) - 1) / better if better > 0 else float("nan")
    return min(max(rate, 0.0), 1.0) if rate == rate else rate


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
