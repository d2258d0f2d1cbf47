"""Headline numbers of two shipped experiments, computed from their exported tables alone."""

from __future__ import annotations

import json
from pathlib import Path

import nopress
import pandas as pd
import pytest
import tactics

from negolab.sweeps.report import run_trial
from tests.conftest import ROOT
from tests.support.command import negolab

EXPERIMENTS = ROOT / "notebooks" / "experiments"


def exported(name: str, out: Path) -> tuple[Path, Path]:
    """Run an experiment small and export it; return its folder and that of the tables."""
    run = run_trial(EXPERIMENTS / name / "plan.toml")
    ran = negolab("export", str(run), "--to", "csv", "--out", str(out))
    assert ran.returncode == 0, ran.stderr
    return run, out


def test_the_sellers_share_of_tactics_comes_out_of_the_csv(tmp_path: Path) -> None:
    run, folder = exported("tactics", tmp_path)
    matches, measures = pd.read_csv(folder / "matches.csv"), pd.read_csv(folder / "measures.csv")
    assert not matches.duplicated(["cell", "match"]).any()
    assert {"beta_seller", "beta_buyer", "deadline", "zopa"} <= set(matches)
    turns = pd.read_csv(folder / "turns.csv")
    assert len(turns.merge(matches, on=["cell", "match"], validate="many_to_one")) == len(turns)
    both = matches.merge(measures, on=["cell", "match"], validate="one_to_one")
    share = 100 * both.groupby(["zopa", "deadline"]).surplus_share_a.mean()
    efficiency = 100 * both.groupby(["zopa", "deadline"]).efficiency.mean()
    found = tactics.against_theory(tactics.outcomes(run)).set_index(["zopa", "deadline", "measure"]).value
    for at, value in share.items():
        assert found[(*at, tactics.SHARE)] == pytest.approx(value)  # type: ignore[misc]
    for at, value in efficiency.items():
        assert found[(*at, tactics.EFFICIENCY)] == pytest.approx(value)  # type: ignore[misc]


def test_the_points_of_nopress_come_out_of_the_csv(tmp_path: Path) -> None:
    run, folder = exported("nopress", tmp_path)
    matches = pd.read_csv(folder / "matches.csv")
    assert not matches.duplicated(["cell", "match"]).any() and {"roles", "a", "b"} <= set(matches)
    rounds = json.loads((folder / "settings.json").read_text())["matches"]["game_rounds"]
    points = (matches.payoff_a / rounds).groupby([matches.roles, matches.a, matches.b]).mean()
    frame = nopress.outcomes(run)
    expected = frame.groupby(["roles", "a", "b"]).points_a.mean()
    assert points.to_dict() == pytest.approx(expected.to_dict())
