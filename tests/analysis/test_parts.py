"""Work on parts of a source in worker processes: the same results, whatever dies."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import negolab as nl
from negolab import store
from negolab._internal.workers import WORKERS
from negolab.analysis import export, match_frames, tables
from negolab.analysis.parts import work_on
from negolab.formats import open_source
from tests.support.command import NEGOLAB

JOBS = """
import os, time
from pathlib import Path

def square(number):
    time.sleep(0.3 / (number + 1))
    return number**2

def die_once(done):
    if not Path(done).exists():
        Path(done).touch()
        os._exit(7)
    return "done"
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two games whose last line is torn."""
    (tmp_path / "run").mkdir()
    lines = [
        one.to_line()
        for game in ("bargaining", "split")
        for one in nl.batch(game, "random-legal", "linear" if game == "bargaining" else "greedy", n=30)
    ]
    (tmp_path / "run" / "records.jsonl").write_bytes(b"".join(lines) + lines[0][:50])
    return tmp_path / "run"


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(WORKERS, "2")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "jobs_of_workers.py").write_text(JOBS)
    return importlib.import_module("jobs_of_workers")


def test_two_workers_write_the_bytes_of_one_process(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PART", 5_000)
    written = []
    for count in ("1", "2"):
        monkeypatch.setenv(WORKERS, count)
        (out := tmp_path / count).mkdir()
        opened = open_source(run)
        assert len(opened.parts() or ()) > 20
        with pytest.warns(UserWarning, match="the last line is incomplete"):
            rows = export.export(export.open_tables(opened), out, ["csv", "parquet"])
        assert rows["matches"] == 60
        written.append({file.name: file.read_bytes() for file in out.iterdir()})
    assert written[0] == written[1]


@pytest.mark.filterwarnings("ignore:.*incomplete")
def test_measures_of_two_workers_are_those_of_one_process(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[pd.DataFrame] = []
    whole = tables.measures(nl.read(run))
    monkeypatch.setattr(store, "PART", 5_000)
    for count in ("1", "2"):
        monkeypatch.setenv(WORKERS, count)
        (run / match_frames.FILE).unlink(missing_ok=True)
        frames.append(match_frames.read_matches(run).to_pandas())
        assert_frame_equal(tables.measures(run), whole)
    assert_frame_equal(*frames)


def test_a_line_that_is_no_record_is_named_by_its_number_also_from_a_worker(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (run / "records.jsonl").read_bytes().splitlines(keepends=True)
    (run / "records.jsonl").write_bytes(b"".join([*lines[:40], b"{}\n", *lines[40:60]]))
    monkeypatch.setattr(store, "PART", 5_000)
    for count in ("1", "2"):
        monkeypatch.setenv(WORKERS, count)
        with pytest.raises(ValueError, match=r"records.jsonl, line 41: not a record"):
            tables.measures(run)


def test_results_come_in_the_order_of_the_jobs(jobs: Any) -> None:
    found: list[int] = []
    work_on([partial(jobs.square, number) for number in range(6)], found.append, "squares")
    assert found == [0, 1, 4, 9, 16, 25]


def test_a_job_whose_worker_dies_is_done_by_a_new_one_and_named_if_that_dies_too(jobs: Any, tmp_path: Path) -> None:
    found: list[Any] = []
    work_on([partial(jobs.square, 1), partial(jobs.die_once, str(tmp_path / "done"))], found.append, "work")
    assert found == [1, "done"]
    with pytest.raises(
        ValueError, match="work: part 2 of 2 cannot be processed: its worker ended with status 9, twice"
    ):
        work_on([partial(jobs.square, 1), partial(os._exit, 9)], found.append, "work")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_ctrl_c_ends_an_export_and_leaves_nothing(run: Path, tmp_path: Path) -> None:
    lines = (run / "records.jsonl").read_bytes().splitlines(keepends=True)[:60]
    (run / "records.jsonl").write_bytes(b"".join(lines * 200))
    command = [*NEGOLAB, "export", str(run), "--to", "csv", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, env={**os.environ, WORKERS: "2"}, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + 60
    while not children.read_text() and time.monotonic() < end:
        time.sleep(0.05)
    workers = children.read_text().split()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said
    assert workers and not any(Path(f"/proc/{worker}").exists() for worker in workers)
    assert not list((tmp_path / "out").iterdir())
