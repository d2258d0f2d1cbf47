"""The planner and the ranks: laws, a simulation, and the command."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from negolab.analysis.planning import plan, plan_from_pilot
from negolab.analysis.ranking import rank
from tests.support.command import refusal, succeeding
from tests.support.sweeps import finished_sweep


def test_the_least_number_of_draws_has_the_power_in_a_simulation() -> None:
    found = plan(0.6, 0.8, 1.3)
    drawn = np.random.default_rng(1).normal(0.6, 1.3, (20_000, found.draws))
    t = drawn.mean(1) / (drawn.std(1, ddof=1) / found.draws**0.5)
    assert found.draws == 39
    assert abs((abs(t) > 2.024394).mean() - found.power) < 0.01  # the quantile of t with 38 degrees of freedom


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
def test_one_draw_fewer_has_less_than_the_power_and_repeats_only_help(power: float) -> None:
    for effect in (0.2, 1.0, -3.0):
        one, four = (plan(effect, power, 1.0, 2.0, repeats) for repeats in (1, 4))
        assert one.power >= power and four.draws <= one.draws
        assert plan(-effect, power, 1.0, 2.0).draws == one.draws, "the sign tells nothing"
        assert plan(10 * effect, power, 10.0, 20.0).draws == one.draws, "nor does the unit"


def pilot(repeats: int, draws: int = 12) -> pd.DataFrame:
    chance = np.random.default_rng(3)
    rows = [
        {"match": f"{draw}-{side}-{again}", "draw": str(draw), "condition": side, "value": value + (side == "one")}
        for draw in range(draws)
        for value in chance.normal(0, 1, 1)
        for side in ("one", "two")
        for again in range(repeats)
    ]
    return pd.DataFrame(rows).assign(value=lambda frame: frame["value"] + chance.normal(0, 2, len(frame)))


def test_a_pilot_without_repeats_plans_none_and_one_with_repeats_parts_the_variance() -> None:
    with pytest.raises(ValueError, match="the pilot has no repeats"):
        plan_from_pilot(pilot(1), "one", "two", "value", 1.0, 0.8, repeats=2, side="condition")
    found = plan_from_pilot(pilot(3), "one", "two", "value", 1.0, 0.8, repeats=3, side="condition")
    assert found.s_within is not None and found.s_between is not None
    assert found.s == pytest.approx((found.s_between**2 + found.s_within**2 / 3) ** 0.5)
    assert found.draws_upper > found.draws, "a small pilot is not trusted"


def round_robin(strengths: dict[str, float], draws: int) -> pd.DataFrame:
    chance = np.random.default_rng(7)
    return pd.DataFrame(
        {"draw": draw, "seat": seat, "player": one, "opponent": two, "value": strengths[one] + chance.normal(0, 1)}
        for draw in range(draws)
        for one, two in permutations(strengths, 2)
        for seat in "AB"
    )


def test_ranks_are_of_the_design_and_not_of_names_or_units() -> None:
    rows = round_robin({"low": 0.0, "mid": 2.0, "high": 4.0}, 12)
    found = rank(rows, "value", ["low", "mid", "high"])
    assert found.ranks == {"low": (3, 3), "mid": (2, 2), "high": (1, 1)}
    other = rank(rows.assign(value=5 - 3 * rows["value"]), "value", ["high", "low", "mid"])
    assert other.ranks == {"low": (1, 1), "mid": (2, 2), "high": (3, 3)}
    assert rank(rows[rows["draw"] < 9], "value", ["low", "mid", "high"]).ranks is None
    assert sum(found.strength.values()) == pytest.approx(0)


def test_who_was_not_met_is_named() -> None:
    rows = round_robin({"a": 0.0, "b": 0.0, "c": 0.0}, 10)
    with pytest.raises(ValueError, match="unbalanced: b never played c at seat A"):
        rank(rows[(rows["player"] != "b") | (rows["opponent"] != "c")], "value", ["a", "b", "c"])


def test_the_command_plans_from_a_batch_and_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    run = str(tmp_path / "pilot")
    play = ["batch", "bargaining", "--preset", "asymmetric", "--a", "linear", "--b", "boulware"]
    succeeding(*play, "--n", "40", "--swap", "--out", run)
    done = succeeding("plan", run, "--effect", "5")
    assert "payoff, boulware less linear: 20 draws in the pilot;" in done.stdout and " dollars:" in done.stdout
    first = done.stdout.splitlines()[2].split()
    assert first[0] == "80%" and int(first[4]) == 2 * int(first[2]), "a draw is played from both seats"
    for words, said in {
        ("--effect", "5", "--outcome", "payof"): "--outcome 'payof': the run has no such column: did you mean payoff?",
        ("--effect", "5", "--outcome", "match"): "--outcome 'match' must be a column of numbers: could not convert",
        (
            "--effect",
            "5",
            "--outcome",
            "xyz",
        ): "choose from payoff, gain, surplus_share, joint, agreed, efficiency, moves.",
        ("--effect", "5", "--seat", "C"): "--seat must be one of A, B, buyer, seller, not 'C'",
        ("--effect", "0"): "the effect is 0",
        ("--effect", "5", "--values", "linear,nobody"): "--values: choose two of boulware, linear",
    }.items():
        assert said in refusal("plan", run, *words)


def test_values_of_a_parameter_are_compared_though_they_name_players_or_change_with_another(tmp_path: Path) -> None:
    text = "[grid]\nbeta = [0.2, 1.0, 5.0]\n[[together]]\nrounds = [4, 8]\nlabel = ['short', 'long']\n"
    run = str(finished_sweep(tmp_path, text).path)
    for words, said in {
        ("beta", "--values", "0.2,5", "--seat", "seller"): "payoff, 0.2 less 5.0: 3 draws in the pilot;",
        ("label", "--seat", "B"): "payoff, long less short: 3 draws in the pilot;",
        ("rounds", "--seat", "seller"): "payoff, 4 less 8: 3 draws in the pilot;",
    }.items():
        assert said in succeeding("plan", run, "--effect", "5", "--between", *words).stdout
    assert "choose two of 0.2, 1.0, 5.0" in refusal("plan", run, "--effect", "5", "--between", "beta")


def test_a_pilot_that_cannot_tell_says_why(tmp_path: Path) -> None:
    play = ["batch", "bargaining", "--a", "linear", "--n", "4", "--out", str(tmp_path / "run")]
    succeeding(*play, "--b", "boulware", "--swap")
    assert "nothing is random in the pilot" in refusal("plan", str(tmp_path / "run"), "--effect", "5")
    rows = pilot(1).assign(player="same", opponent="same")
    rows.loc[rows["condition"] == "one", "player"] = "other"
    with pytest.raises(ValueError, match="same has no match against any other player"):
        plan_from_pilot(rows, "other", "same", "value", 1.0, 0.8)
