"""A machine's clock that is set while a study runs, or between a stop and a restart: nobody is stuck or late by it."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path

import pytest

from negolab._internal import clock
from negolab.studies.client import PageClient
from negolab.studies.links import make_token, read_token
from negolab.studies.page_service import PagePresence
from negolab.studies.page_state import Instructions, Playing, Results
from tests.studies.test_links import DAY, ID, SECRET
from tests.studies.test_steps import steps
from tests.support.gate_server import wait_until
from tests.support.host_process import HostProcess, running_host, solo_treatment, study_toml

HOUR = 3600.0
ALONE = solo_treatment("greedy-honest")


PATCH = """
import time
from pathlib import Path

def set_time(real=time.time, file=Path(__file__).with_name("ahead")):
    return real() + float(file.read_text())

time.time = set_time
"""


class SetClock:
    """The clock of processes that are started from now on; before it is set, it is right."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._file = folder / "ahead"
        (folder / "sitecustomize.py").write_text(PATCH)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))
        self.set(0)

    def set(self, ahead: float) -> None:
        """Set the clock so many seconds ahead of the right time."""
        draft = self._file.with_suffix(".tmp")
        draft.write_text(str(ahead))
        draft.replace(self._file)


@pytest.fixture
def set_clock(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(tmp_path_factory.mktemp("clock"), monkeypatch)


def test_time_goes_on_where_the_clock_is_set_back_and_follows_it_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_ahead", clock._ahead)
    real, before = time.time, clock.time()
    assert abs(before - real()) < 1
    monkeypatch.setattr(time, "time", lambda: real() - HOUR)
    assert before <= clock.time() < before + 1
    monkeypatch.setattr(time, "time", lambda: real() + HOUR)
    assert 0 <= clock.time() - before - HOUR < 1
    monkeypatch.undo()
    assert abs(clock.time() - real()) < 1


@pytest.mark.parametrize("ahead", [-HOUR, HOUR])
def test_a_page_keeps_its_limit_where_the_clock_is_set_while_it_is_open(
    ahead: float, tmp_path: Path, set_clock: SetClock
) -> None:
    study = study_toml("trading", ALONE + "\n" + steps("instructions", "instructions\nseconds = 60", "match"))
    with running_host(tmp_path, study) as hosted:
        who, token = hosted.invite()
        hosted.page(token).act("start")
        set_clock.set(ahead)
        if ahead > 0:
            assert wait_until(lambda: any("waiting for the database" in line for line in hosted.stderr))
            assert wait_until(lambda: any("is back" in line for line in hosted.stderr))
        state = hosted.page(token).state
        assert isinstance(state, Instructions) and 50 < (state.left or 0) <= 60
        assert hosted.participant(who).status == "invited"


def test_a_study_goes_on_after_a_restart_by_a_clock_that_was_set_back(tmp_path: Path, set_clock: SetClock) -> None:
    study = study_toml(
        "trading",
        ALONE + "\n" + steps("instructions", "match\nmatches = 2", "results\nseconds = 60"),
        "[limits]\nreply = 60",
    )
    with running_host(tmp_path, study) as hosted:
        _, token = hosted.invite()
        page = hosted.page(token)
        page.act("start")
        first = _finish(page)
        hosted.kill()
        set_clock.set(-HOUR)
        hosted.start()
        page = hosted.page(token)
        assert isinstance(page.state, Playing) and page.state.match == first and 50 < (page.state.left or 0) <= 60
        page.act("next")
        assert _finish(page) != first
        page.act("next")
        assert isinstance(page.state, Results) and 50 < (page.state.left or 0) <= 60
        times = [time for match in hosted.matches() for time in _times(hosted, match.id)]
        assert times == sorted(times)
        assert any(re.search(r"clock is 3\d\d\d s behind the end of", line) for line in hosted.stderr)


def test_a_page_of_a_host_before_this_one_is_told_what_is_new_at_once() -> None:
    page = PagePresence()
    before = page.version + 3_600_000
    asyncio.run(page.newer(before, 5))
    assert page.version > before


def test_a_link_that_was_made_before_the_clock_was_set_back_is_valid() -> None:
    assert read_token(SECRET, "prices", make_token(SECRET, "prices", ID, created=time.time() + HOUR), DAY) == ID


def reply(page: PageClient) -> str:
    """Reply in trading without a deal, and return the words."""
    assert isinstance(page.state, Playing)
    words = "[Deny]" if "stands" in str(page.state.table["seen"]) else "pass"
    page.act("reply", match=page.state.match, text=words, turn=page.state.table["turn"])
    return words


def _finish(page: PageClient) -> str:
    """Play the match of a page to its end and return its id."""
    while isinstance(page.state, Playing) and not page.state.can_continue:
        reply(page)
    assert isinstance(page.state, Playing)
    return page.state.match


def _times(hosted: HostProcess, match: str) -> list[float]:
    with hosted.database() as database:
        return database.times(match)
