"""The vectors of estimates: means, shares, contrasts, slopes and corrected p values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from negolab.analysis import comparisons, observations, stats
from negolab.analysis.proposals import slope
from negolab.analysis.stats import Estimate
from tests.conformance import Case, rows

KINDS = ("mean", "share", "contrast", "slope", "holm")


def cases(folder: Path) -> Iterator[Case]:
    for kind in KINDS:
        for row in rows(folder, f"{kind}.jsonl"):
            yield Case(f"{kind}.jsonl", row["id"], partial(_check, kind, row["input"], row["expect"]))


def frame_of(given: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(given["rows"], columns=given["columns"])
    if "people" in frame:
        people = frame.pop("people")
        frame["participant_a"] = [met[0] for met in people]
        frame["participant_b"] = [met[1] if len(met) > 1 else None for met in people]
    return frame


def _check(kind: str, given: dict[str, Any], expect: dict[str, Any]) -> None:
    if kind == "holm":
        found = stats.adjust_p_values([stats.NAN if p is None else p for p in given["p"]])
        for own, right in zip(found, expect["p"], strict=True):
            _equal("p", own, right)
        return
    estimate: Callable[[], Estimate] = partial(_ESTIMATES[kind], frame_of(given), given)
    if "refused" in expect:
        with pytest.raises(ValueError, match=re.escape(expect["names"][0])) as refusal:
            estimate()
        assert all(name in str(refusal.value) for name in expect["names"]), str(refusal.value)
        return
    result = estimate()
    for name, right in expect.items():
        own = result.groups - 1 if name == "df" else getattr(result, name)
        if right is None:
            assert name == "df" or own != own, f"{name}: {own}, which must not be printed"
        else:
            _equal(name, own, right)


def _equal(name: str, own: Any, right: Any) -> None:
    if right is None:
        assert own != own, f"{name}: {own}"
    elif isinstance(right, float):
        assert abs(own - right) <= 1e-9 * max(1, abs(right)), f"{name}: {own}, not {right}"
    else:
        assert own == right, f"{name}: {own}, not {right}"


def _contrast(frame: pd.DataFrame, given: dict[str, Any]) -> Estimate:
    options = {name: given[name] for name in ("by", "opponents") if name in given}
    return comparisons.contrast(frame, given["one"], given["two"], "value", side=given["column"], **options).estimate


_ESTIMATES: dict[str, Callable[[pd.DataFrame, dict[str, Any]], Estimate]] = {
    "mean": lambda frame, given: observations.frame_sample(frame, "value").mean(
        bounds=tuple(given.get("bounds", stats.UNBOUNDED))
    ),
    "share": lambda frame, given: observations.frame_sample(frame, "value").share(),
    "contrast": _contrast,
    "slope": lambda frame, given: slope(frame, "value", "x"),
}
