"""Domains of GENIUS and NegMAS: they come as scenarios and go back, and what cannot be converted is named."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

import negolab as nl
from negolab.formats.domains import MAX_BYTES, read_folder
from negolab.game import SEATS
from negolab.games.agenda.scenario import points_table
from tests.support.command import negolab, succeeding

DOMAIN = """<?xml version="1.0"?>
<negotiation_template><utility_space number_of_issues="2"><objective index="0" name="root">
  <issue index="1" name="Brand" type="discrete"><item index="1" value="Dell"/><item index="2" value="HP"/></issue>
  <issue index="2" name="Drives" type="integer"><range lowerbound="1" upperbound="3"/></issue>
</objective></utility_space></negotiation_template>"""
PROFILE = """<utility_space number_of_issues="2"><objective index="0" name="any">
  <issue index="1" name="Brand" type="discrete">
    <item value="Dell" evaluation="8"/><item value="HP" evaluation="2"/>
  </issue>
  <issue index="2" name="Drives" type="integer"><evaluator ftype="linear" offset="-0.5" slope="0.5"/></issue>
  <weight index="1" value="0.75"/><weight index="2" value="0.25"/>
</objective><discount_factor value="1.0"/><reservation value="0.2"/></utility_space>"""
YAML_DOMAIN = """
name: car
type: negmas.outcomes.DiscreteCartesianOutcomeSpace
issues:
- {name: color, type: CategoricalIssue, values: [red, blue]}
- {name: doors, type: ContiguousIssue, values: [2, 4]}
"""
YAML_PROFILE = """
type: LinearAdditiveUtilityFunction
reserved_value: 0.3
values:
- {type: TableFun, mapping: {red: 1, blue: 0.25}}
- {type: AffineFun, slope: 0.5, bias: -1}
weights: [0.6, 0.4]
"""


def write(folder: Path, *files: str, suffix: str = "xml") -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in zip(("domain", "one", "two"), files, strict=False):
        (folder / f"{name}.{suffix}").write_text(text)
    return folder


def load(folder: Path, path: Path) -> Any:
    path.write_text(read_folder(folder)[0])
    return nl.load("agenda", preset=str(path))


def tables(game: Any) -> dict[str, Any]:
    return {seat: points_table(game.issues, [issue.points(seat) for issue in game.issues], seat) for seat in SEATS}


def lowest_terms(game: Any) -> dict[str, Any]:
    """Return the points and the reservation of each seat as shares of the best agreement."""
    found = tables(game)
    best = {seat: sum(map(max, found[seat])) for seat in SEATS}
    return {
        seat: [[Fraction(points, best[seat]) for points in row] for row in found[seat]]
        + [[Fraction(getattr(game.reservation, seat), best[seat])]]
        for seat in SEATS
    }


def test_utilities_of_genius_are_as_computed_by_hand(tmp_path: Path) -> None:
    other = PROFILE.replace('"8"', '"1"').replace('value="0.2"', 'value="0.5"')
    game = load(write(tmp_path / "laptop", DOMAIN, PROFILE, other), tmp_path / "laptop.toml")
    brand = {"A": {"Dell": Fraction(1), "HP": Fraction(1, 4)}, "B": {"Dell": Fraction(1, 2), "HP": Fraction(1)}}
    drives = {"1": Fraction(0), "2": Fraction(1, 2), "3": Fraction(1)}
    assert [issue.options for issue in game.issues] == [("Dell", "HP"), ("1", "2", "3")]
    for seat, reserved in (("A", Fraction(1, 5)), ("B", Fraction(1, 2))):
        points = [
            dict(zip(i.options, row, strict=True)) for i, row in zip(game.issues, tables(game)[seat], strict=True)
        ]
        scale = getattr(game.reservation, seat) / reserved
        for one, two in product(brand[seat], drives):
            worth = Fraction(3, 4) * brand[seat][one] + Fraction(1, 4) * drives[two]
            assert points[0][one] + points[1][two] == scale * worth


def test_utilities_of_negmas_are_as_computed_by_hand(tmp_path: Path) -> None:
    folder = write(tmp_path / "car", YAML_DOMAIN, YAML_PROFILE, YAML_PROFILE.replace("0.3", "-.inf"), suffix="yml")
    _, said = read_folder(folder)
    game = load(folder, tmp_path / "car.toml")
    assert tables(game)["A"] == ((12, 3), (0, 4, 8)) and game.reservation.A == 6
    assert game.reservation.B == 3  # the worst agreement
    assert said[1].startswith("two: no deal")


@pytest.mark.parametrize("program", ["genius", "negmas"])
@pytest.mark.parametrize("name", ["hiring", "supplier", "flat-share", "old-press"])
def test_a_shipped_scenario_goes_out_and_comes_back(name: str, program: str, tmp_path: Path) -> None:
    ran = negolab("export", name, "--to", program, "--out", "out", cwd=tmp_path)
    if (name, program) == ("supplier", "negmas"):
        assert ran.returncode == 2 and "the discount 0.97 cannot be represented in NegMAS files" in ran.stderr
        return
    assert ran.returncode == 0 and "not included: turns, roles" in ran.stdout, ran.stderr
    made = negolab("new", "scenario", "back", "--from", "out", cwd=tmp_path)
    assert made.returncode == 0 and "A is profile-A and B is profile-B" in made.stdout, made.stderr
    game: Any = nl.load("agenda", preset=name)
    back: Any = nl.load("agenda", preset=str(tmp_path / "back.toml"))
    assert lowest_terms(back) == lowest_terms(game)
    assert [issue.name for issue in back.issues] == [issue.name for issue in game.issues]
    assert Fraction(back.discount) == Fraction(game.discount)


def test_genius_gets_weights_that_sum_to_one_and_evaluations_up_to_one(tmp_path: Path) -> None:
    negolab("export", "hiring", "--to", "genius", "--out", "out", cwd=tmp_path)
    root = ET.parse(tmp_path / "out" / "profile-A.xml").getroot()
    assert sum(float(weight.get("value", "")) for weight in root.iter("weight")) == pytest.approx(1)
    for issue in root.iter("issue"):  # so that it does not matter whether a program divides by the maximum
        assert max(float(item.get("evaluation", "")) for item in issue) == 1


def test_rounding_is_said(tmp_path: Path) -> None:
    fine = PROFILE.replace('"0.75"', '"0.7512345678"').replace('factor value="1.0"', 'factor value="0.5"')
    _, said = read_folder(write(tmp_path / "fine", DOMAIN, fine, fine))
    assert any(sentence.startswith("rounded: the discount 0.5") for sentence in said)
    assert any("a utility of 1 in one is" in sentence for sentence in said)
    _, said = read_folder(write(tmp_path / "fine", DOMAIN, PROFILE, PROFILE))
    assert not any("rounded" in sentence for sentence in said)


def test_further_profiles_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "three", DOMAIN, PROFILE, PROFILE)
    (folder / "zero.xml").write_text(PROFILE)
    assert "left out: zero.xml" in read_folder(folder)[1]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'


@pytest.mark.parametrize(
    ("domain", "profile", "said"),
    [
        (DOMAIN, PROFILE.replace("linear", "triangular"), "one.xml: issue 'Drives': an evaluator of type triangular"),
        (DOMAIN.replace("integer", "real"), PROFILE, "domain.xml: issue 'Drives': real values cannot be converted"),
        (DOMAIN, PROFILE.replace("</objective>", "<ufun/></objective>"), "one.xml: a nonlinear utility"),
        (DOMAIN, PROFILE.replace('"8"', '"many"'), "one.xml: 'many' is not a number"),
        (DOMAIN, PROFILE.replace('"HP"', '"Apple"'), "one.xml: 'HP' is missing"),
        (DOMAIN, PROFILE.replace('"Drives"', '"Disk"'), "one.xml: 'Drives' is missing"),
        (DOMAIN, PROFILE.replace('"8"', '"1e999999999"'), "one.xml: '1e999999999' is not a number"),
        (DOMAIN.replace('"3"', '"3000000"'), PROFILE, "a range from 1 to 3000000 cannot be converted"),
        (DOMAIN.replace("Brand", "4 K"), PROFILE.replace("Brand", "4 K"), "must begin with a letter, not '4 K'"),
        (BOMB + PROFILE, PROFILE, "domain.xml cannot be read as XML: a document type declaration is not allowed"),
        (DOMAIN + " " * MAX_BYTES, PROFILE, "domain.xml: more than 4 MB"),
        (DOMAIN[:-5], PROFILE, "domain.xml cannot be read as XML"),
        (DOMAIN, PROFILE.replace('factor value="1.0"', 'factor value="-1"'), "bad: a discount of -1 cannot be"),
        (PROFILE, PROFILE, "no domain with two profiles"),
    ],
)
def test_what_cannot_be_carried_from_genius_is_named(tmp_path: Path, domain: str, profile: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_folder(write(tmp_path / "bad", domain, profile, profile))


def test_a_name_with_a_control_character_is_written_so_that_it_can_be_read(tmp_path: Path) -> None:
    domain, profile = (text.replace('"Brand"', '"Bra&#127;nd"') for text in (DOMAIN, PROFILE))
    text, _ = read_folder(write(tmp_path / "odd", domain, profile, profile))
    (tmp_path / "odd.toml").write_text(text)
    assert nl.load("agenda", preset=str(tmp_path / "odd.toml")).agenda[0].name == "Bra\x7fnd"


def test_two_discounts_are_named(tmp_path: Path) -> None:
    other = PROFILE.replace('factor value="1.0"', 'factor value="0.5"')
    with pytest.raises(ValueError, match=r"two discounts, 1 and 0\.5, cannot be converted"):
        read_folder(write(tmp_path / "bad", DOMAIN, PROFILE, other))


@pytest.mark.parametrize(
    ("domain", "profile", "said"),
    [
        (YAML_DOMAIN.replace("Contiguous", "Continuous"), YAML_PROFILE, "issue 'doors': a ContinuousIssue"),
        (YAML_DOMAIN, YAML_PROFILE.replace("LinearAdditive", "HyperRectangle"), "a HyperRectangleUtilityFunction"),
        (YAML_DOMAIN, YAML_PROFILE.replace("AffineFun", "CosFun"), "a CosFun cannot be converted"),
        (YAML_DOMAIN, YAML_PROFILE + "reserved_outcome: [red, 2]\n", "a reserved outcome cannot be converted"),
        (YAML_DOMAIN, YAML_PROFILE.replace("blue: 0.25", "green: 1"), "one.yml: 'blue' is missing"),
        (YAML_DOMAIN + "x: !!python/object/apply:os.system [ls]\n", YAML_PROFILE, "cannot be read as YAML"),
        (YAML_DOMAIN + "x: &a [1]\ny: *a\n", YAML_PROFILE, "YAML aliases and nesting deeper than 20 levels"),
        ("[" * 50_000, YAML_PROFILE, "YAML aliases and nesting deeper than 20 levels are not allowed"),
        (YAML_DOMAIN + "x: 9999-99-99\n", YAML_PROFILE, "domain.yml cannot be read as YAML: month must be"),
    ],
)
def test_what_cannot_be_carried_from_negmas_is_named(tmp_path: Path, domain: str, profile: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_folder(write(tmp_path / "bad", domain, profile, profile, suffix="yml"))


def test_points_drawn_at_the_deal_do_not_go_out_and_files_stay(tmp_path: Path) -> None:
    ran = negolab("export", "random", "--to", "genius", cwd=tmp_path)
    assert ran.returncode == 2 and "randomly drawn points cannot be converted" in ran.stderr
    succeeding("export", "hiring", "--to", "negmas", cwd=tmp_path)
    again = negolab("export", "hiring", "--to", "negmas", cwd=tmp_path)
    assert again.returncode == 2 and "domain.yml" in again.stderr and "exists" in again.stderr
    assert yaml.safe_load((tmp_path / "hiring-negmas" / "domain.yml").read_text())["name"] == "Hiring an engineer"
