"""Atomic writes: the order of fsyncs, and a full disk."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from negolab_widgets.report import read_run

from negolab._internal import manifest
from negolab._internal.files import append, atomic_write, read_text
from negolab.catalog import load
from negolab.formats import casino, open_source
from negolab.formats.clembench.episodes import read_json
from negolab.match import Match
from negolab.runs.batch import batch
from negolab.runs.scripted import log_failure
from negolab.store import Store, find, read
from negolab.sweeps import status
from negolab.sweeps.folder import claim_folder
from negolab.sweeps.plan import read_plan
from negolab.sweeps.sources import Notebook
from tests.support.sweeps import finished_sweep

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere a folder cannot be opened")


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """Record a folder's files at each fsync."""
    found: list[set[str]] = []
    force = os.fsync

    def noted(file: int) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            found.append({name for name in os.listdir(file) if not name.startswith(".")})
        force(file)

    monkeypatch.setattr(os, "fsync", noted)
    return found


def test_a_file_is_in_its_place_before_the_folder_is_forced_to_the_disk(tmp_path: Path, forced: list[set[str]]) -> None:
    atomic_write(tmp_path / "a.json", b"old")
    atomic_write(tmp_path / "a.json", b"new")
    assert forced == [{"a.json"}, {"a.json"}]
    assert (tmp_path / "a.json").read_bytes() == b"new"


def test_a_text_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atomic_write(tmp_path / "a.json", b"old")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        atomic_write(tmp_path / "a.json", b"new")
    assert (tmp_path / "a.json").read_bytes() == b"old"


def test_a_new_file_is_written_over_no_other_and_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forced: list[set[str]]
) -> None:
    atomic_write(tmp_path / "a.csv", b"old", new=True)
    assert forced == [{"a.csv"}]
    with pytest.raises(FileExistsError):
        atomic_write(tmp_path / "a.csv", b"new", new=True)
    assert (tmp_path / "a.csv").read_bytes() == b"old"

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for new in (True, False):
        with pytest.raises(OSError, match="No space"):
            atomic_write(tmp_path / "b.csv", b"new", new=new)
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_a_manifest_outlives_a_power_failure(tmp_path: Path, forced: list[set[str]]) -> None:
    manifest.write(tmp_path, {"plan": {}, "players": {}})
    assert forced == [{"manifest.json"}]
    assert manifest.read(tmp_path) == {"plan": {}, "players": {}}


def test_games_that_were_set_aside_stay_so_after_a_power_failure(tmp_path: Path, forced: list[set[str]]) -> None:
    (record,) = batch("trading", "chat", "chat", n=1, seed=1)
    record.header.notes["stopped"] = "failed"
    with Store(tmp_path) as store:
        store.append(record)
        forced.clear()
        assert store.set_aside(["failed"]) == 1
    assert forced == [{"records.jsonl", "retried.ndjson"}]
    assert read(tmp_path) == []


# Files of others.

READERS: list[tuple[str, Callable[[Path], object]]] = [
    ("manifest.json", manifest.read),
    ("cell.json", status.read_status),
    ("plan.toml", lambda folder: read_text(folder / "plan.toml")),
    ("casino.json", lambda folder: casino.read_file(folder / "casino.json")),
    ("instance.json", lambda folder: read_json(folder / "instance.json")),
    ("records.jsonl", lambda folder: find(folder, "x")),
]


@pytest.mark.parametrize(("name", "reads"), READERS)
def test_a_file_that_is_huge_is_named_and_not_read_into_memory(
    name: str, reads: Callable[[Path], object], tmp_path: Path
) -> None:
    with (tmp_path / name).open("wb") as out:
        out.truncate(1 << 42)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=rf"^[^\n]*{name}[^\n]* exceeds the maximum of 64 MiB[a-z ]*\)?$"):
            reads(tmp_path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 300 << 20


@pytest.mark.parametrize(("name", "reads"), READERS[:3])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    name: str, reads: Callable[[Path], object], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / name)
    with suppress(ValueError):
        assert not reads(tmp_path)


@pytest.mark.parametrize("name", ["records.jsonl", "retried.ndjson", "errors.log", "records.jsonl.tmp"])
def test_a_link_in_somebody_elses_folder_leads_no_record_elsewhere(tmp_path: Path, name: str) -> None:
    (record,) = batch("trading", "chat", "chat", n=1, seed=1)
    record.header.notes["stopped"] = "failed"
    mine, run = tmp_path / "mine", tmp_path / "run"
    run.mkdir()
    mine.write_text("")
    (run / name).symlink_to(mine)
    is_draft = name.endswith("tmp")  # a new one takes its place
    with nullcontext() if is_draft else pytest.raises(OSError, match=name), Store(run) as store:
        store.append(record)
        log_failure(run, Match(load("trading")), ValueError())
        store.set_aside(["failed"])
    assert mine.read_text() == ""


def test_a_torn_line_is_not_repaired_through_a_link(tmp_path: Path) -> None:
    mine = tmp_path / "torn.jsonl"
    mine.write_text('{"header": {"ga')
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "records.jsonl").symlink_to(mine)
    with pytest.raises(OSError, match=r"it is a link.*records\.jsonl"):
        Store(tmp_path / "run")
    assert mine.read_text() == '{"header": {"ga'


def test_a_link_in_somebody_elses_folder_brings_no_record_of_another_into_an_export(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder, players in ((mine, "fair-split"), (theirs, "chat")):
        with Store(folder) as store:
            store.append(batch("trading", players, players, n=1, seed=1)[0])
    (theirs / "link.jsonl").symlink_to(mine / "records.jsonl")
    (theirs / "inside.jsonl").symlink_to(theirs / "records.jsonl")
    with pytest.warns(
        UserWarning, match="link.jsonl leads outside .*theirs and was skipped: to read it, specify its own path"
    ):
        assert [record.header.players["A"] for record in read(theirs)] == ["chat", "chat"]
    assert [record.header.players["A"] for record in read(theirs / "link.jsonl")] == ["fair-split"]


def test_folders_elsewhere_are_no_attempts_of_a_sweep(tmp_path: Path) -> None:
    out = finished_sweep(tmp_path, "[grid]\nbeta = [0.2]\n", count=0)
    (tmp_path / "mine" / "letters").mkdir(parents=True)
    (out.path / "attempts").symlink_to(tmp_path / "mine")
    plan = read_plan(tmp_path / "plan.toml")
    with (
        pytest.raises(ValueError, match="attempts is a symbolic link, but cells must be stored in the folder itself"),
        claim_folder(out, plan, Notebook(tmp_path / "game.ipynb").sha256),
    ):
        pass
    assert (tmp_path / "mine" / "letters").is_dir()


@pytest.mark.parametrize("place", ["cells", "cells/one"])
def test_cells_of_another_sweep_are_not_read_through_a_link(tmp_path: Path, place: str) -> None:
    mine, theirs = (finished_sweep(tmp_path / name, "[grid]\nbeta = [0.2]\n").path for name in ("mine", "theirs"))
    (cell,) = (theirs / "cells").iterdir()
    moved = theirs / "cells" if place == "cells" else cell
    shutil.rmtree(moved)
    moved.symlink_to(mine / "cells" if place == "cells" else mine / "cells" / cell.name)
    for look in (read_run, lambda path: list(open_source(path))):
        with pytest.raises(
            ValueError, match=f"{moved} is a symbolic link, but cells must be stored in the folder itself"
        ):
            look(theirs)


def test_a_line_for_which_a_disk_has_no_room_is_not_half_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path / "log", b"one\n")
    wrote = os.write

    def write(out: int, data: bytes) -> int:
        if len(data) < 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return wrote(out, data[:6])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path / 'log'}'"):
        append(tmp_path / "log", b"another one\n")
    assert (tmp_path / "log").read_bytes() == b"one\n"
