"""Games by name: built-in games, aliases, presets, and a user's own by module, file or instance."""

from __future__ import annotations

from pathlib import Path

import pytest

import negolab as nl
from negolab import catalog
from negolab.match import Match
from negolab.record import parse_record
from negolab.scaffolds import ultimatum
from negolab.store import read
from negolab.verification import replay_differences

ROOT = Path(__file__).parents[2]


def test_every_game_is_listed_with_its_default_preset_first() -> None:
    found = nl.list_games()
    assert list(catalog.game_names()) == ["agenda", "balloon", "bargaining", "split", "trading"]
    assert [found[name][0] for name in catalog.game_names()] == ["casino", "seed", "exact", "classic", "seed"]
    for name, presets in found.items():
        assert all(nl.load(name, preset=preset).preset == preset for preset in presets)
        assert nl.load(name) == nl.load(name, preset=presets[0])


def test_an_alias_is_the_same_game() -> None:
    assert nl.load("negotiation") == nl.load("trading")


def test_a_preset_that_is_changed_beyond_its_free_parameters_loses_its_name() -> None:
    assert nl.load("trading", max_turns=4).preset == "seed"
    assert nl.load("trading", spread_percent=30).preset is None


def test_a_researchers_game_loads_by_module_file_and_instance() -> None:
    by_module = nl.load("negolab.scaffolds.ultimatum", preset="rich")
    by_file = nl.load(str(ROOT / "negolab" / "scaffolds" / "ultimatum.py"), preset="rich")
    assert by_module.outside == by_file.outside == 9
    own = ultimatum.Ultimatum(pie=4)
    assert nl.load(own) is own
    assert nl.load(own, pie=5).pie == 5
    for game in (by_module, by_file, own):
        match = Match(game, seed=1)
        match.submit("A", "3")
        match.submit("B", "yes")
        record = parse_record(match.record().to_line())
        assert record.game == game
        assert not replay_differences(record)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("blloon", "did you mean balloon"),
        ("nowhere.py", "no module at nowhere.py"),
        ("json", "must define one Game"),
    ],
)
def test_what_is_no_game_is_said(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        nl.load(name)


@pytest.mark.parametrize("name", catalog.game_names())
def test_a_golden_record_still_replays(name: str) -> None:
    (record,) = read(ROOT / "data" / "replays" / f"{name}.jsonl")
    assert replay_differences(record) == []
    assert record.outcome is not None
    assert record.outcome.details


def test_what_the_told_game_hides_is_none_and_has_no_preset() -> None:
    for name, presets in nl.list_games().items():
        for preset in presets:
            game = nl.load(name, preset=preset)
            for seat in ("A", "B"):
                told = game.told(seat)
                assert told.preset is None
                secrets = game.secrets(seat)
                hidden = secrets if isinstance(secrets, dict) else dict.fromkeys(secrets)
                assert all(getattr(told, name) == value for name, value in hidden.items())
