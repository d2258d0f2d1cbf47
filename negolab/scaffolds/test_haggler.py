"""Examples for `haggler.py`: run them with `pytest test_haggler.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

import negolab as nl
from negolab.events import Replied

HAGGLER = f"{Path(__file__).with_name('haggler.py')}:haggler"


@pytest.mark.parametrize("preset", ["exact", "none", "tight-none", "asymmetric"])
@pytest.mark.parametrize("other", ["linear", "random-legal"])
def test_it_plays_every_game_to_its_end_and_never_loses(preset: str, other: str) -> None:
    game = nl.load("bargaining", preset=preset)
    for a, b, seat in ((HAGGLER, other, "A"), (other, HAGGLER, "B")):
        for record in nl.batch(game, a, b, n=20):
            assert record.end in ("AGREED", "NO_DEAL")
            assert (record.payoffs[seat] or 0) >= 0


def test_it_gives_way_by_its_step() -> None:
    (record,) = nl.batch("bargaining", f"{HAGGLER},step=300", "boulware", n=1)
    offers = [event.reply.text for event in record.events if isinstance(event, Replied) and event.seat == "A"]
    assert len(offers) > 1


def test_a_wrong_step_is_named() -> None:
    with pytest.raises(ValueError, match="step must be at least 0 cents"):
        nl.player(f"{HAGGLER},step=-1", "bargaining")
