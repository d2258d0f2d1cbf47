"""Laws and examples for `ultimatum.py`: run them with `pytest test_ultimatum.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

import negolab as nl
from negolab import laws
from negolab.catalog import AnyGame

FILE = Path(__file__).with_name("ultimatum.py")


@pytest.fixture(params=["classic", "rich"])
def game(request: pytest.FixtureRequest) -> AnyGame:
    return nl.load(FILE, preset=request.param)


@pytest.mark.parametrize("seed", range(20))
def test_the_game_obeys_the_laws(game: AnyGame, seed: int) -> None:
    for law in laws.LAWS:
        law(game, seed)
    laws.any_text_is_read(game, seed, "any text, 7 \N{SNOWMAN}")


def test_an_accepted_offer_divides_the_pie() -> None:
    match = nl.Match(nl.load(FILE, pie=10), seed=1)
    match.submit("A", "4")
    match.submit("B", "yes")
    assert match.outcome is not None
    assert (match.outcome.end, match.outcome.payoffs) == ("AGREED", {"A": 6, "B": 4})
    assert match.told("A").prompt(match.seen("A"), match.seen("A")) == "A offered 4 units and B said yes."


def test_the_players_play_to_the_end() -> None:
    for record in nl.batch(nl.load(FILE), "share:part=0.3", "share", n=20):
        assert record.end in ("AGREED", "NO_DEAL")
