"""Participants' kernels under another user, with the real host: they play, and cannot read the server's files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.bots import Bot
from tests.support.crowd import STUDY
from tests.support.processes import kernels_of, processes_of
from tests.support.study_server import serving_study
from tests.widgets.test_serving import open_to_all, readable_python  # noqa: F401

NOBODY = 65534


@pytest.mark.visitor
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can start a process for another user")
def test_a_game_is_played_by_kernels_that_own_nothing(tmp_path: Path, open_to_all: Path) -> None:  # noqa: F811
    hold = open_to_all / "python"
    hold.mkdir()
    db, options = tmp_path / "user.db", ("--kernel-user=nobody", f"--out={tmp_path / 'out'}")
    env = {**os.environ, "OPENAI_API_KEY": "sk-canary", "PYTHONPATH": f"{ROOT}:{ROOT / 'widgets'}"}
    prefix = readable_python(hold)
    with serving_study(open_to_all, STUDY, *options, database=db, prefix=prefix, env=env) as server:
        bot = Bot(server.invite()[1])

        async def play() -> str:
            await bot.arrive()
            (voila,), (host,) = processes_of(server.launcher, "voila"), processes_of(server.launcher, "host")
            owners = {pid: Path(f"/proc/{pid}").stat().st_uid for pid in (voila, host, *kernels_of(voila))}
            assert {uid for pid, uid in owners.items() if pid != host} == {NOBODY}
            assert owners[host] == 0
            for pid in owners:
                assert b"sk-canary" not in Path(f"/proc/{pid}/environ").read_bytes()
                assert str(db).encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
            return await bot.play()

        assert asyncio.run(play()) == "DONE"
        assert db.stat().st_mode & 0o777 == 0o600
