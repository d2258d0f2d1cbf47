"""Participants' kernels under another user, with the real host: they play, and cannot read the server's files."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from negolab.studies.database import Database
from negolab.studies.study_file import read_study
from tests.conftest import ROOT, free_port, running
from tests.support.bots import Bot
from tests.support.crowd import STUDY, invite_links
from tests.support.processes import kernels_of, processes_of
from tests.widgets.test_serving import open_to_all, readable_python  # noqa: F401

NOBODY = 65534


@pytest.mark.visitor
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can start a process for another user")
def test_a_game_is_played_by_kernels_that_own_nothing(tmp_path: Path, open_to_all: Path) -> None:  # noqa: F811
    hold = open_to_all / "python"
    hold.mkdir()
    file, db, port = open_to_all / "user.toml", tmp_path / "user.db", free_port()
    file.write_text(STUDY)
    study = read_study(file)
    command = [*readable_python(hold), sys.executable, "-m", "negolab", "serve", str(file), "--kernel-user=nobody"]
    command += [f"--port={port}", f"--desk-port={free_port()}", f"--out={tmp_path / 'out'}", "--no-browser"]
    canary = {"OPENAI_API_KEY": "sk-canary", "NEGOLAB_DB": str(db), "PYTHONPATH": f"{ROOT}:{ROOT / 'widgets'}"}
    with running(command, "negolab is at", env={**os.environ, **canary}) as (_, launcher):
        database = Database(db)
        (link,) = invite_links(database, study, 1, f"http://127.0.0.1:{port}/").values()
        bot = Bot(link)

        async def play() -> str:
            await bot.arrive()
            (voila,), (host,) = processes_of(launcher, "voila"), processes_of(launcher, "host")
            owners = {pid: Path(f"/proc/{pid}").stat().st_uid for pid in (voila, host, *kernels_of(voila))}
            assert {uid for pid, uid in owners.items() if pid != host} == {NOBODY}
            assert owners[host] == 0
            for pid in owners:
                assert b"sk-canary" not in Path(f"/proc/{pid}/environ").read_bytes()
                assert str(db).encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
            return await bot.play()

        assert asyncio.run(play()) == "DONE"
        assert db.stat().st_mode & 0o777 == 0o600
        database.close()
