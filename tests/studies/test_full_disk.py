"""A disk that becomes full under a study or a command: nothing acknowledged is lost, nothing is half written."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from negolab._internal.cluster import check_shared_folder
from negolab.store import read
from negolab.studies.client import HostClient, PageClient
from negolab.studies.database import Database
from negolab.studies.page_state import Closed, NotDelivered, Playing
from negolab.studies.study_file import read_study
from negolab.sweeps.folder import SweepFolder
from tests.studies.test_bonus_at_once import Round
from tests.studies.test_clock import reply
from tests.studies.test_export import STUDIES, play_study
from tests.support.command import negolab
from tests.support.gate_server import wait_until
from tests.support.host_process import running_host, solo_treatment, study_toml

FULL = "no space left on device"


class SmallDisk:
    """A file system of a few megabytes at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self, left: int = 0) -> None:
        """Fill it but for so many bytes."""
        with self._ballast.open("wb", buffering=0) as out:
            for size in (65536, 4096):
                with suppress(OSError):
                    while out.write(b"x" * size):
                        pass
            out.truncate(out.tell() - left)

    def clear(self) -> None:
        """Make room again."""
        self._ballast.unlink()

    def files(self) -> list[str]:
        """Name the files on it, without what fills it."""
        found = (file for file in self.path.rglob("*") if file.is_file() and file != self._ballast)
        return sorted(file.relative_to(self.path).as_posix() for file in found)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small disk, for those who may mount one."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(path)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("only root can mount a small disk")
    yield SmallDisk(path)
    subprocess.run(["umount", "-l", str(path)], check=True)


def ran(*words: str | Path) -> tuple[int, str, str]:
    done = negolab(*map(str, words))
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("left", [4 << 10, 16 << 10])
def test_what_a_study_acknowledges_as_its_disk_becomes_full_is_there_when_it_has_room_again(
    left: int, small_disk: SmallDisk
) -> None:
    database, said = small_disk.path / "people.db", list[str]()
    with running_host(small_disk.path, study_toml("trading", solo_treatment("greedy-honest"))) as hosted:
        who, token = hosted.invite()
        page = hosted.page(token)
        page.act("start")
        said.append(reply(page))
        small_disk.fill(left)
        with pytest.raises(NotDelivered):
            _play(page, said)
        assert not isinstance(page.state, Closed)
        with pytest.raises(NotDelivered, match=rf"waiting for the database since .*{database}: .*full"):
            HostClient(hosted.desk).ask("/monitor")
        code, _, err = ran("study", "status", str(hosted.file), "--db", database)
        assert code == 2 and err == f"negolab: {database}: its disk is full: free at least a megabyte on it\n"
        small_disk.clear()
        assert wait_until(lambda: any("is back" in line for line in hosted.stderr))
        assert f"({database}: OperationalError: database or disk is full)" in hosted.stderr[0]
        (match,) = hosted.matches()
        assert hosted.replies(match.id, "A")[: len(said)] == said
        page = hosted.page(token)
        _play(page, said)
        assert isinstance(page.state, Closed) and page.state.code == "DONE4242"
        assert hosted.participant(who).status == "complete"


def _play(page: PageClient, said: list[str]) -> None:
    """Play to the last page, and note what was acknowledged."""
    while isinstance(page.state, Playing):
        if page.state.can_continue:
            page.act("next")
        else:
            said.append(reply(page))


@pytest.mark.parametrize("left", [0, 64 << 10])
def test_an_export_on_a_full_disk_is_refused_with_the_file_and_leaves_nothing(left: int, small_disk: SmallDisk) -> None:
    file, database = small_disk.path / "split.toml", Database(small_disk.path / "split.db")
    file.write_text((STUDIES / "split.toml").read_text())
    play_study(database, read_study(file))
    database.close()
    small_disk.fill(left)
    code, said, err = ran("study", "export", file)
    assert (code, said) == (2, "") and err.startswith(f"negolab: {small_disk.path}/split") and err.count("\n") == 1
    assert {name.partition("-")[0] for name in small_disk.files()} == {"split.toml", "split.db"}


def test_bonuses_on_a_full_disk_are_refused_with_the_file_and_paid_once_when_there_is_room(
    small_disk: SmallDisk, tmp_path: Path
) -> None:
    database = Database(tmp_path / "people.db")
    one = Round(small_disk.path / "r", database)
    small_disk.fill()
    command = ("study", "bonus", one.file, "--panel", one.panel, "--db", tmp_path / "people.db")
    path = one.file.with_name("round1-bonus-1.csv")
    log = one.file.with_name("round1-bonuses.log")
    why = f"negolab: {log} cannot be written: No space left on device; fix that and run the command again\n"
    assert ran(*command) == (2, "", why) and not path.exists()
    small_disk.clear()
    assert ran(*command)[0] == 0
    one.check(database)
    database.close()


@pytest.mark.parametrize("left", [0, 64 << 10])
def test_a_batch_on_a_full_disk_ends_with_the_file_and_goes_on_when_there_is_room(
    left: int, small_disk: SmallDisk
) -> None:
    run = small_disk.path / "run"
    run.mkdir()
    small_disk.fill(left)
    batch = ("batch", "trading", "--a=greedy-honest", "--b=greedy-honest", f"--out={run}", "--workers=1", "--n=200")
    code, said, err = ran(*batch)
    assert (code, said) == (2, "") and re.fullmatch(rf"negolab: {run}/\w+\.jsonl?: {FULL}\n", err)
    small_disk.clear()
    assert ran(*batch)[0] == 0 and len(read(run)) == 200


def test_what_a_sweep_writes_on_a_full_disk_is_refused_with_the_file(small_disk: SmallDisk) -> None:
    small_disk.fill()
    for name, write in (
        (".shared", lambda: check_shared_folder(None, small_disk.path)),  # type: ignore[arg-type]
        ("attempts.ndjson", lambda: SweepFolder(small_disk.path).log(cell="one")),
    ):
        with pytest.raises(OSError, match=rf"No space left on device: '{small_disk.path}/{name}'"):
            write()
    assert small_disk.files() == ["attempts.ndjson"]
