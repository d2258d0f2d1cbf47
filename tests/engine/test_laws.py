"""The laws of games, over every preset of every game, and games that break them and are caught."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab import laws
from negolab.catalog import game_names, list_games, load
from negolab.scaffolds.ultimatum import PRESETS, Ultimatum
from tests.support.games import broken
from tests.support.twins import twins

OURS = {game: list_games()[game] for game in game_names()}


def cases(*kind: str, games: Mapping[str, Iterable[str]] = OURS) -> Iterator[Any]:
    """Each preset of each game; all but the first of each game and `kind` of parameters take long."""
    met: set[object] = set()
    for game, preset in ((game, preset) for game, presets in games.items() for preset in presets):
        same = (game, *(getattr(load(game, preset=preset), name, None) for name in kind))
        yield pytest.param(game, preset, marks=[pytest.mark.long] if same in met else [])
        met.add(same)


ALL = [*cases("rules", "talk", "show", games={**OURS, "negolab.scaffolds.ultimatum": PRESETS})]
SEEDS = st.integers(0, 2**32 - 1)


def bounded(game: str, preset: str) -> Any:
    """The game with a turn limit where the preset has none."""
    loaded = load(game, preset=preset)
    return loaded if loaded.bound() is not None else load(game, preset=preset, turn_limit=30)


@pytest.mark.hypothesis
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(("game", "preset"), ALL)
def test_every_preset_obeys(game: str, preset: str, law: laws.Law) -> None:
    loaded = bounded(game, preset)

    @given(seed=SEEDS)
    def holds(seed: int) -> None:
        law(loaded, seed)

    holds()


@pytest.mark.hypothesis
@pytest.mark.parametrize(("game", "preset"), ALL)
def test_every_text_is_read(game: str, preset: str) -> None:
    loaded = bounded(game, preset)
    options = loaded.options(next(laws.positions(loaded, 0))[0].seen("A"))
    fragments = st.sampled_from([*laws._JUNK, *(loaded.say(option) for option in options[:20])])
    texts = st.one_of(st.text(max_size=300), st.lists(fragments, max_size=6).map("".join))

    @given(seed=SEEDS, text=texts)
    def holds(seed: int, text: str) -> None:
        laws.any_text_is_read(loaded, seed, text)

    holds()


@pytest.mark.parametrize(("game", "preset"), ALL)
def test_no_game_parameter_or_preset_tells_a_secret(game: str, preset: str) -> None:
    loaded = load(game, preset=preset)
    for left, right, seat in twins(loaded):
        for seed in range(10):
            laws.a_seat_is_blind(left, seed, right, seat)


HOSTILE = {
    "plain": "word ",
    "brackets": "[{(<",
    "offers": "[Offer: ",
    "digits": "1234567890",
    "spaces": " ",
    "tags": "<items_to_self>",
    "moves": "PROPOSAL: {'A01', ",
    "emoji": "\U0001f388\u0301",
    "surrogate": "\ud83c",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize(("game", "preset"), [*cases("rules")])
def test_100_kb_of_anything_are_read(game: str, preset: str, piece: str) -> None:
    text = (piece * (100_000 // len(piece) + 1))[:100_000]
    laws.any_text_is_read(load(game, preset=preset), 1, text)


def caught(law: Callable[[], None], saying: str) -> None:
    with pytest.raises(AssertionError, match=saying):
        law()


@pytest.mark.parametrize(
    ("cls", "saying"),
    [
        (broken.LeaksByPrompt, "the prompt tells"),
        (broken.LeaksByReason, "A needs"),
        (broken.LeaksByOrder, "the order of options tells"),
        (broken.LeaksByRepr, "the repr of the observation tells"),
    ],
)
def test_a_leaking_game_is_caught(cls: type[Ultimatum], saying: str) -> None:
    game = cls(outside=9)
    caught(lambda: [laws.a_seat_is_blind(game, seed) for seed in range(40)] and None, saying)


@pytest.mark.parametrize("cls", [broken.LeaksByParameter, broken.LeaksByPreset])
def test_a_parameter_or_preset_that_tells_is_caught(cls: type[Ultimatum]) -> None:
    pairs = [twin for twin in twins(cls()) if twin[2] == "B"]
    assert pairs
    caught(lambda: [laws.a_seat_is_blind(g, seed, t, s) for g, t, s in pairs for seed in range(9)] and None, "tells")


def test_a_preset_name_alone_gives_it_away() -> None:
    hidden_number = broken.LeaksByPreset(need=2)
    same_label = broken.LeaksByPreset(need=7)
    laws.a_seat_is_blind(hidden_number, 1, same_label, "B")
    other_label = broken.LeaksByPreset(need=7, label="greedy")
    caught(lambda: laws.a_seat_is_blind(hidden_number, 1, other_label, "B"), "the game as told")


def test_a_game_that_changes_its_state_is_caught() -> None:
    caught(lambda: laws.rules_change_nothing_in_place(broken.Mutates(outside=9), 1), "changed in place")


def test_the_sound_ultimatum_is_not_accused() -> None:
    for seed in range(100):
        laws.a_seat_is_blind(Ultimatum(outside=9), seed)
        laws.rules_change_nothing_in_place(Ultimatum(outside=9), seed)
