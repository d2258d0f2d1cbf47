"""Agreement of coders against published worked examples, and intervals against simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from negolab.coding.agreement import agreement, alpha, confusion, corrected_rates, disagreements, kappas
from negolab.coding.codebook import Code, Codebook, Level
from negolab.coding.units import Place, Reading, Readings, keep, latest
from tests.analysis.test_export import kept
from tests.coding.dialogues import bargained
from tests.support.command import negolab, succeeding

NONE = None
KRIPPENDORFF: list[list[int | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]
"""Four coders and twelve units: Krippendorff (2011), Computing Krippendorff's alpha-reliability, example C."""
BINARY = ([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0])
"""Two coders and ten units of yes and no: example A there."""
ONE = Codebook(codes={"threat": Code(definition="Announces something bad.")})


def by_unit(coders: Any) -> list[list[int]]:
    return [[value for value in unit if value is not None] for unit in zip(*coders, strict=True)]


@pytest.mark.parametrize(
    ("coders", "level", "published"),
    [
        (KRIPPENDORFF, "nominal", 0.743),
        (KRIPPENDORFF, "ordinal", 0.815),
        (KRIPPENDORFF, "interval", 0.849),
        (BINARY, "nominal", 0.095),
    ],
    ids=["nominal", "ordinal", "interval", "two coders"],
)
def test_alpha_is_that_of_krippendorff_s_coders(coders: Any, level: Level, published: float) -> None:
    assert alpha(by_unit(coders), level) == pytest.approx(published, abs=5e-4)


def rows(frame: pd.DataFrame) -> Any:
    """The only row of a frame."""
    (row,) = frame.itertuples(index=False)
    return row


def readings(*coders: list[int], per_match: int = 1, code: str = "threat") -> Readings:
    """The readings of coders called a, b, ..., who all code the same units."""
    return {
        name: {
            place: Reading(book="b", coder=name, place=place, codes={code: value})
            for at, value in enumerate(values)
            for place in [Place(f"m{at // per_match}", turn=at % per_match)]
        }
        for name, values in zip("abcd", coders, strict=False)
    }


@pytest.mark.parametrize(
    ("table", "published"),
    [
        # Sim and Wright (2005), The kappa statistic in reliability studies, table 1: relevance of lateral shift.
        ([[22, 2], [4, 11]], 0.67),
        # Wikipedia, Cohen's kappa: fifty grant proposals and two readers, and two pairs of raters who agree alike.
        ([[20, 5], [10, 15]], 0.4),
        ([[45, 15], [25, 15]], 0.1304),
        ([[25, 35], [5, 35]], 0.2593),
    ],
)
def test_kappa_is_that_of_published_tables(table: list[list[int]], published: float) -> None:
    pairs = [(a, b) for a, row in enumerate(table) for b, count in enumerate(row) for _ in range(count)]
    both = readings([a for a, _ in pairs], [b for _, b in pairs])
    assert confusion(both, "threat", "a", "b").to_numpy().tolist() == table
    assert list(kappas(ONE, both)["kappa"]) == [pytest.approx(published, abs=6e-3)]


def test_agreement_on_what_is_always_alike_is_unknown_and_one_match_has_no_interval() -> None:
    same = rows(agreement(ONE, readings([0, 0, 0], [0, 0, 0])))
    one = rows(agreement(ONE, readings([0, 1, 0], [0, 1, 1], per_match=3)))
    assert np.isnan(same.alpha) and (same.units, same.matches) == (3, 3)
    assert one.matches == 1 and np.isnan(one.low) and one.alpha == pytest.approx(4 / 9)
    assert "all values are the same" in same.note and one.note == "one match: no interval"


def test_a_code_without_alpha_says_why() -> None:
    alone = rows(agreement(ONE, readings([0, 1, 0])))
    assert np.isnan(alone.alpha) and (alone.units, alone.note) == (0, "needs two coders")
    both = readings([0, 1], [0, 1])
    apart = {"a": dict([*both["a"].items()][:1]), "b": dict([*both["b"].items()][1:])}
    assert rows(agreement(ONE, apart)).note == "no unit was coded by two coders"
    assert rows(agreement(ONE, both)).note == ""
    assert list(kappas(ONE, readings([0, 0], [0, 0]))["note"]) == ["all values are the same: no variation to agree on"]
    apart = kappas(ONE, readings([0, None], [None, 1]))
    assert list(apart["note"]) == ["no units in common"] and list(apart["units"]) == [0]


def simulated(rng: np.random.Generator, matches: int) -> Readings:
    """Two coders who err by one in ten; matches differ in how often the code fits, four units each."""
    often = rng.choice([0.1, 0.3, 0.6], size=matches).repeat(4)
    true = rng.random(len(often)) < often
    coders = [[int(value) for value in true ^ (rng.random(len(true)) < 0.1)] for _ in "ab"]
    return readings(*coders, per_match=4)


def test_the_bootstrap_over_matches_covers() -> None:
    rng = np.random.default_rng(1)
    large = rows(agreement(ONE, simulated(rng, 20_000), resamples=2))
    found = [rows(agreement(ONE, simulated(rng, 60), resamples=100)) for _ in range(100)]
    covered = sum(one.low <= large.alpha <= one.high for one in found) / len(found)
    assert 0.90 <= covered <= 0.99


def test_a_rate_is_corrected_for_the_errors_of_a_coder_and_its_interval_covers() -> None:
    rng, hits = np.random.default_rng(2), 0
    for _ in range(100):
        true = (rng.random(400) < 0.3).astype(int)
        wrong = np.where(true == 1, rng.random(400) < 0.25, rng.random(400) < 0.1)
        both = readings([*map(int, true[:200])], [*map(int, true ^ wrong)], per_match=4)
        rate = rows(corrected_rates(ONE, both, "a"))
        hits += rate.low <= 0.3 <= rate.high
    assert (rate.coder, rate.units, rate.gold) == ("b", 400, 200)
    assert 90 <= hits <= 99
    # Rogan and Gladen (1978), by hand: of 100, 26 are coded yes; of a gold sample 8 of 10 yes and 36 of 40 no.
    gold = [1] * 10 + [0] * 40
    coded = [1] * 8 + [0] * 2 + [1] * 4 + [0] * 36 + [1] * 14 + [0] * 36
    by_hand = rows(corrected_rates(ONE, readings(gold, coded), "a"))
    assert by_hand.corrected == pytest.approx((0.26 + 0.9 - 1) / (0.8 + 0.9 - 1))
    with pytest.raises(ValueError, match="no coder is called 'eve': the coders are a, b"):
        corrected_rates(ONE, readings(gold, coded), "eve")


def test_the_command_prints_agreement_and_lists_disagreements_with_their_words(tmp_path: Path) -> None:
    run = kept(tmp_path / "run", *(bargained(id=f"m{n}") for n in range(4)))
    (tmp_path / "mine.toml").write_text('[codes.threat]\ndefinition = "Announces something bad."')
    command = ("code", str(run), "--book", str(tmp_path / "mine.toml"))
    assert "has no codes for mine yet" in negolab(*command).stderr
    for coder, at in (("anna", 2), ("ben", 1), ("gold", 2)):
        places = [Place(f"m{n}", turn=turn, seat="ABA"[turn]) for n in range(4) for turn in range(3)]
        given = [
            Reading(book="mine", coder=coder, place=place, codes={"threat": int(place.turn == at)}) for place in places
        ]
        keep(run, given)
    ran = succeeding(*command, "--gold", "gold")
    for said in ("threat", "anna, ben", "anna, gold", "negolab replay", "Rogan and Gladen", "8 units and codes"):
        assert said in ran.stdout
    listed = (run / "codes" / "mine-disagreements.csv").read_text()
    assert "Take it or leave it." in listed and listed.count("\n") == 9
    assert set(disagreements(run, ONE, latest(run, "mine"))["turn"]) == {1, 2}
