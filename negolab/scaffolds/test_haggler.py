"""Examples for `haggler.py`: run them with `pytest test_haggler.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

import negolab as nl
from negolab.events import Replied

PLAYER = f"{Path(__file__).with_name('haggler.py')}:haggler"


@pytest.mark.parametrize("preset", ["exact", "none", "tight-none", "asymmetric"])
@pytest.mark.parametrize("other", ["linear", "random-legal"])
def test_it_plays_every_game_to_its_end_and_never_loses(preset: str, other: str) -> None:
    game = nl.load("bargaining", preset=preset)
    for record in nl.batch(game, PLAYER, other, n=40, swap=True):
        assert record.end in ("AGREED", "NO_DEAL")
        own = "A" if "haggler" in record.header.players["A"] else "B"
        assert (record.payoffs[own] or 0) >= 0  # type: ignore[index]


def test_it_gives_way_by_its_step() -> None:
    (record,) = nl.batch("bargaining", f"{PLAYER},step=300", "boulware", n=1)
    replies = [event.reply.text for event in record.events if isinstance(event, Replied) and event.seat == "A"]
    assert replies == ["100.00", "97.00", "94.00", "accept"]


def test_a_wrong_step_is_named() -> None:
    with pytest.raises(ValueError, match="step must be at least 0 cents"):
        nl.player(f"{PLAYER},step=-1", "bargaining")
