"""The vectors of estimates: means, shares, contrasts, slopes, corrected p values, plans and ranks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from negolab.analysis import comparisons, observations, planning, stats
from negolab.analysis.proposals import slope
from negolab.analysis.ranking import Ranking, rank
from negolab.analysis.stats import Estimate
from tests.conformance import Case, rows

KINDS = ("mean", "share", "contrast", "slope", "holm", "plan", "pilot", "rank")


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
    estimate: Callable[[], Any] = partial(_ESTIMATES[kind], frame_of(given) if "rows" in given else None, given)
    if "refused" in expect:
        with pytest.raises(
            ValueError, match=re.escape(expect["names"][0] if expect["names"] else expect["refused"])
        ) as refusal:
            estimate()
        assert all(name in str(refusal.value) for name in expect["names"]), str(refusal.value)
        return
    result = estimate()
    if kind == "rank":
        _check_ranking(result, expect)
        return
    for name, right in expect.items():
        own = result.groups - 1 if name == "df" else getattr(result, name)
        if right is None:
            assert name == "df" or own is None or own != own, f"{name}: {own}, which must not be printed"
        else:
            _equal(name, own, right)


def _check_ranking(found: Ranking, expect: dict[str, Any]) -> None:
    assert (found.draws, found.left_out, found.draws - 1) == (expect["draws"], expect["left_out"], expect["df"])
    for name in ("mean", "strength", "half"):
        for entrant, right in expect[name].items():
            _equal(f"{name} of {entrant}", getattr(found, name)[entrant], right)
    assert found.ranks == (expect["ranks"] and {name: tuple(ends) for name, ends in expect["ranks"].items()})
    if found.ranks is None:
        return
    drawn = found.draws > 12  # flips are drawn, not all tried
    assert found.critical == pytest.approx(expect["critical"], abs=0.15 if drawn else 1e-9)
    for own, right in zip(found.pairs, expect["pairs"], strict=True):
        assert (own.one, own.two) == (right["one"], right["two"])
        _equal("difference", own.difference, right["difference"])
        assert own.t == inf if right["t"] is None else own.t == pytest.approx(right["t"], rel=1e-9)
        assert own.p == pytest.approx(right["p"], abs=0.02 if drawn else 1e-9)


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


_PLANS = ("effect", "power", "repeats")

_ESTIMATES: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "mean": lambda frame, given: observations.frame_sample(frame, "value").mean(
        bounds=tuple(given.get("bounds", stats.UNBOUNDED))
    ),
    "share": lambda frame, given: observations.frame_sample(frame, "value").share(),
    "contrast": _contrast,
    "slope": lambda frame, given: slope(frame, "value", "x"),
    "plan": lambda _, given: planning.plan(**given),
    "pilot": lambda frame, given: planning.plan_from_pilot(
        frame, given["one"], given["two"], "value", side="condition", **{name: given[name] for name in _PLANS}
    ),
    "rank": lambda frame, given: rank(frame, "value", given["entrants"], given.get("opponents")),
}
