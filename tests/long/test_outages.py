"""Outages as long as services have them: half a minute of overload, five minutes out of order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SLOW
from tests.support.service_cases import CASES
from tests.support.services import play_case, running_services


@pytest.mark.parametrize("name", ["anthropic/overloaded-from-the-start", *(["anthropic/overloaded"] if SLOW else [])])
def test_two_hundred_games_outlast_half_a_minute_of_overload(name: str, tmp_path: Path) -> None:
    with running_services(latency=0.05, stretch=20) as services:
        more = {"n": 200, "speed": 1.0, "most": 240.0}
        played = play_case(CASES[name], services, tmp_path / "run", "--concurrency", "200", **more)
    assert played.status == 0, played.err
    assert len(played.records) == 200 and not played.stopped
    assert 30 < played.seconds < 90


@pytest.mark.alone  # a connection must be made within eight of our seconds
@pytest.mark.parametrize("name", ["gemini/overloaded", "vllm/restarts"])
def test_two_hundred_games_outlast_five_minutes_out_of_order(name: str, tmp_path: Path) -> None:
    """Our clock goes thirty times as fast as the service's, which is out of order for ten seconds."""
    with running_services(stretch=6.8) as services:
        more = {"n": 200, "speed": 30.0, "most": 120.0}
        played = play_case(CASES[name], services, tmp_path / "run", "--concurrency", "200", **more)
    assert played.status == 0, played.err
    assert len(played.records) == 200 and not played.stopped
