"""Pairs play a game that raises in one of its methods: everybody has a code and pay, and every row its cause."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pandas as pd
import pytest

from negolab.studies.clock import manual_clock
from negolab.studies.export import export
from negolab.studies.page_state import Closed
from tests.conftest import SLOW
from tests.studies.test_faults import faulty_study, play
from tests.studies.test_service import Site
from tests.support.games.faulty import FAULTS

PAIRS = 20 if SLOW else 5


@pytest.mark.parametrize(("fault", "at"), FAULTS)
def test_everybody_of_many_pairs_has_a_code_within_the_limit(tmp_path: Path, fault: str, at: str) -> None:
    async def scene() -> None:
        site = Site(tmp_path, faulty_study(fault, at, more="[limits]\nreply = 60\n[pairing]\nwait = 60"))
        ids = site.come(2 * PAIRS)
        for one, two in zip(ids[::2], ids[1::2], strict=True):
            play(site, [one, two], fault)
        site.restart()
        assert all(isinstance(site.state(id), Closed) and site.state(id).code == "FAULT" for id in ids)
        began.advance(61)
        site.service.scheduler.tick()
        export(site.database, site.study, tmp_path / "out", "csv")
        people = pd.read_csv(tmp_path / "out" / "participants.csv")
        assert list(people["status"]) == ["error"] * 2 * PAIRS and list(people["pay_total"]) == [2.0] * 2 * PAIRS
        if fault in ("deal", "secrets") or (fault, at) == ("turn", "A"):
            assert not site.database.matches("trade"), "nothing was dealt"
        else:
            matches = pd.read_csv(tmp_path / "out" / "matches.csv")
            assert len(matches) == PAIRS and set(matches["end"]) == {"ABORTED"}
            assert matches["reason"].str.contains(f"in {fault}$").all()

    with manual_clock() as began:
        asyncio.run(scene())
