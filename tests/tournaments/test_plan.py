"""Plans of tournaments: who meets whom, on which draws, and what is said about mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from negolab.catalog import game_names
from negolab.runs.batch import Part
from negolab.tournaments.plan import make_parts, read_plan
from tests.conftest import ROOT
from tests.support.command import negolab, succeeding

PLAN = """
[players]
mini = "llm:gpt-5-mini"
tough = { player = "llm:gpt-5-mini", persona = "tough.md", temperature = 0.7 }
firm = "boulware:beta=0.2"
slow = { player = "time", beta = 0.3 }
[conditions.prompt]
plain = {}
polite = { persona = "polite.md" }
[games]
price = { game = "bargaining", preset = "range" }
camp = { game = "agenda", scenario = "casino" }
[design]
draws = 10
"""


def parts(folder: Path, text: str = PLAN) -> list[Part]:
    for name in ("tough", "polite"):
        (folder / f"{name}.md").write_text(f"Be {name}.")
    file = folder / "plan.toml"
    file.write_text(text)
    return make_parts(read_plan(file), folder, folder / "out")


def pairs(found: list[Part]) -> set[str]:
    return {part.folder.name for part in found if part.folder.parent.name == "price"}


def test_conditions_are_crossed_with_models_and_everybody_meets_everybody_else(tmp_path: Path) -> None:
    found = parts(tmp_path)
    names = {"mini+plain", "mini+polite", "tough+plain", "tough+polite", "firm", "slow"}
    assert {player.name for part in found for player in part.players} == names
    assert len(pairs(found)) == 15 and len(found) == 30
    personas = {player.name: player.make().notes().get("persona") for part in found for player in part.players  # type: ignore[attr-defined]
                if player.is_model}  # fmt: skip
    assert personas["mini+plain"] is None and personas["tough+plain"]["file"] == "tough.md"
    assert personas["tough+polite"]["file"] == "polite.md"


def test_all_pairings_of_a_game_have_the_same_draws_each_from_both_seats(tmp_path: Path) -> None:
    draws = [tuple(pairing.seed for pairing in part.plan.pairings()) for part in parts(tmp_path)]
    assert len(set(draws)) == 1 and len(draws[0]) == 20 and len(set(draws[0])) == 10
    seated = [pairing.players["A"] for pairing in parts(tmp_path)[0].plan.pairings()]
    assert seated == ["mini+plain", "mini+polite"] * 10


def test_models_repeat_a_draw_and_strategies_do_not(tmp_path: Path) -> None:
    by_name = {part.folder.name: part.plan for part in parts(tmp_path, PLAN + "repeats = 3\n")}
    assert by_name["firm--slow"].n == 20 and by_name["mini+plain--firm"].n == 60
    games = list(by_name["mini+plain--firm"].pairings())
    assert len({game.seed for game in games[:6]}) == 1 and len({game.id for game in games}) == 60


def test_opponents_are_the_others_or_oneself_too_or_those_that_are_listed(tmp_path: Path) -> None:
    assert len(pairs(parts(tmp_path, PLAN + 'opponents = "all"\n'))) == 21
    found = parts(tmp_path, PLAN + 'opponents = ["firm", "slow"]\nseats = "A"\n')
    assert len(pairs(found)) == 8 and "firm--slow" not in pairs(found)
    assert {pairing.players["B"] for part in found for pairing in part.plan.pairings()} == {"firm", "slow"}


def test_a_game_may_name_who_plays_it(tmp_path: Path) -> None:
    text = PLAN.replace("[games]", '[games]\ntrade = { game = "trading", players = ["mini"] }')
    assert [part.folder.name for part in parts(tmp_path, text)].count("mini+plain--mini+polite") == 3


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("slow = {", "slow = 3 #", "games: price: slow cannot play it: a player must be a name"),
        ('player = "time"', 'playr = "time"', "plan.toml: players: slow: player is missing: write player = ..."),
        (
            "firm =",
            '"llm:gpt-5" =',
            "price: llm:gpt-5 cannot play it: label must be 1 to 80 .* without",
        ),
        ("firm =", "person =", "price: person cannot play it: label must be 1 to 80 .*, and not 'person'"),
        ("firm =", '" linear" =', "the name of another player: choose another label"),
        ("boulware:beta", "boulwar:beta", "price: firm cannot play it: .*did you mean boulware.*; camp: firm"),
        ("beta = 0.3", "bta = 0.3", "slow cannot play it: player 'time' has no parameter 'bta'"),
        ("draws = 10", "draws = 0", "plan.toml: design: draws must be a whole number from 1 up, not 0"),
        ("draws = 10", "drws = 10", "plan.toml: design: unknown key 'drws': did you mean draws?"),
        ("draws = 10", 'opponents = ["slo"]', "plan.toml: no player is called 'slo': did you mean slow?"),
        ("draws = 10", 'seats = "B"', "plan.toml: design: seats: B needs opponents = "),
        ("[games]", "[game]", "plan.toml: unknown key 'game': did you mean games?"),
        ("polite.md", "polit.md", "mini.polite cannot play it: persona .*polit.md: no such file"),
        ('"casino"', '"casno"', "games: camp: unknown preset 'casno' of agenda: did you mean casino?"),
        ("[games]", '[games]\ntrade = "trading"', "trade: firm cannot play it: .*players = "),
        ('"polite.md"', "5", "mini.polite cannot play it: parameter persona of a model player must be"),
        (
            "[games]",
            '[games]\nodd = { game = "bargaining", players = 5 }',
            "games: odd: players must be a list of labels",
        ),
        ("plain = {}", "plain = 3", "plan.toml: conditions: prompt: its values must be tables"),
        ("conditions.prompt", "conditions.seat", "plan.toml: conditions: seat is a column of a table"),
        ("conditions.prompt", "conditions.payoff", "plan.toml: conditions: payoff is a column of a table"),
        (
            "[games]",
            "\n".join(f"[conditions.{c}]\na = {{}}\nb = {{}}\nc = {{}}" for c in "pqrstuvwxyz") + "\n[games]",
            "plan.toml: 1,417,176 players, counted under all conditions, exceed the maximum of 200: leave some out",
        ),
        ("camp =", "fair = 3 #", "games: fair: a game must be a name, a module or a Game, not 3"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, was: str, now: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("?", r"\?")) as raised:
        parts(tmp_path, PLAN.replace(was, now, 1))
    assert "\n" not in str(raised.value)


def test_the_plan_on_models_is_played_in_all_five_games_without_a_model_and_with_one(tmp_path: Path) -> None:
    file = ROOT / "notebooks" / "experiments" / "models" / "models.toml"
    ran = negolab("tournament", str(file), "--n", "1", cwd=tmp_path)
    assert ran.returncode == 0 and (tmp_path / "data" / "runs" / "models" / "trading").is_dir(), ran.stderr
    text = file.read_text().replace('model = "random-legal"', 'model = "llm:gpt-5-mini"')
    found = parts(tmp_path, re.sub(r"^# (?=\[|\w+ +=)", "", text, flags=re.MULTILINE).replace("firm.md", "tough.md"))
    assert {part.folder.parent.name for part in found} == set(game_names())
    assert {part.folder.name for part in found} >= {"model+plain--model+firm", "model+firm--fair-split"}


def test_a_new_plan_is_played_as_it_is_and_with_what_it_explains(tmp_path: Path) -> None:
    succeeding("new", "tournament", "spring", cwd=tmp_path)
    ran = negolab("tournament", "spring.toml", "--n", "2", cwd=tmp_path)
    assert ran.returncode == 0 and "no ranks with fewer than 10 draws" in ran.stdout, ran.stderr
    text = (tmp_path / "spring.toml").read_text()
    assert len(parts(tmp_path, re.sub(r"^# (?=\[|\w+ +=)", "", text, flags=re.MULTILINE))) == 42
