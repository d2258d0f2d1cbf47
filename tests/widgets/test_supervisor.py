"""The launcher's children are never given up: when they are started again, and what the terminal says of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from negolab_widgets.server import supervisor
from negolab_widgets.server.supervisor import BETWEEN_NOTICES, MAX_PAUSE, STEADY, Child, supervise

from tests.support.gate_server import wait_until


class Process:
    """A process that runs for some seconds of the fake clock."""

    stdin = stdout = stderr = None

    def __init__(self, clock: Clock, seconds: float, code: int) -> None:
        self.clock, self.end, self.code = clock, clock.now + seconds, code

    def poll(self) -> int | None:
        return self.code if self.clock.now >= self.end else None


class Clock:
    """A clock that `supervise` advances; its child runs for each of `lives` in seconds, then until the test ends."""

    def __init__(self, *lives: float, code: int = 3) -> None:
        self.now, self.lives, self.code = 1000.0, list(lives), code
        self.starts: list[float] = []
        self.end = 1e9

    def monotonic(self) -> float:
        return self.now

    def strftime(self, form: str) -> str:
        return f"{self.now:.0f}"

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now > self.end:
            raise KeyboardInterrupt

    def popen(self, command: Any, **options: Any) -> Process:
        self.starts.append(self.now)
        if not self.lives:
            self.end = self.now + 2 * STEADY
        return Process(self, self.lives.pop(0) if self.lives else 1e9, self.code)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(clock: Clock, notice: Path | None = None) -> list[float]:
        """Supervise a child on that clock; return the pauses before it was started again."""
        monkeypatch.setattr(supervisor, "time", clock)
        monkeypatch.setattr(supervisor.subprocess, "Popen", clock.popen)
        monkeypatch.setattr(Child, "_pass_on", lambda *_: None)
        lives = list(clock.lives)
        child = Child("the thing", ["thing"], {})
        child.start()
        with pytest.raises(KeyboardInterrupt):
            supervise([child], notice)
        ends = [start + life for start, life in zip(clock.starts, lives, strict=False)]
        return [start - end for start, end in zip(clock.starts[1:], ends, strict=True)]

    return run


def test_a_child_is_started_again_for_ever_with_longer_and_longer_pauses(watch: Any) -> None:
    pauses = watch(Clock(100, *[1] * 20))
    assert len(pauses) == 21
    for pause, planned in zip(pauses, [0, 1, 2, 4, 8, 16, *[MAX_PAUSE] * 15], strict=True):
        assert planned <= pause < planned + 0.7


def test_pauses_begin_anew_after_it_ran_well(watch: Any) -> None:
    pauses = watch(Clock(100, 1, 1, 1, 2 * STEADY, 1))
    assert max(pauses[4:]) < 2 < pauses[3]


def test_the_terminal_says_once_since_when_and_why_it_is_away_and_once_that_it_is_back(
    watch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    watch(Clock(100, *[1] * 40, code=-9))
    assert capsys.readouterr().err.splitlines() == [
        "negolab: the thing ended at 1100 (killed by signal 9) and is being restarted",
        "negolab: the thing has ended repeatedly since 1100 (killed by signal 9) and is being restarted",
        "negolab: the thing is back: it had been unavailable since 1100",
    ]
    assert BETWEEN_NOTICES >= 60


def test_the_researchers_pages_find_what_is_away(watch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notice, told = tmp_path / "away.txt", []
    write = Path.write_text
    monkeypatch.setattr(Path, "write_text", lambda path, text: (told.append(text), write(path, text)))
    watch(Clock(100, 1), notice)
    assert [text[:30] for text in told] == ["the thing ended at 1100 (code ", "the thing has ended repeatedly", ""]
    assert notice.read_text() == ""


def test_a_machine_that_starts_no_process_just_now_ends_nothing(watch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock(100)
    popen, refusals = clock.popen, [OSError("Cannot allocate memory")] * 3

    def refuse(command: Any, **options: Any) -> Process:
        if clock.starts and refusals:
            raise refusals.pop()
        return popen(command, **options)

    clock.popen = refuse  # type: ignore[method-assign]
    watch(clock)
    assert not refusals and len(clock.starts) == 2


def test_a_line_of_a_child_that_dies_again_and_again_is_printed_once(capfd: pytest.CaptureFixture[str]) -> None:
    code = "import sys; print('a fault', file=sys.stderr); sys.exit(3)"
    child = Child("the thing", [sys.executable, "-c", code], dict(os.environ), again=["again"])
    child.start()

    def look() -> bool:
        child._next = 0.0
        child.keep_running()
        return child._deaths >= 5

    assert wait_until(look, 60)
    said = capfd.readouterr().err.splitlines()
    assert said.count("a fault") == 2, "of the first start, which the terminal sees itself, and of all others"
    assert len(said) == 3 and "the thing ended at" in said[1]
