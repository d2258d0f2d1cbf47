"""A study from its file to its tables: new, links, participants in browsers (some drop out), status, export."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from negolab.scaffolds import write_scaffold
from negolab.store import read
from negolab.studies.database import Database
from negolab.studies.trial.browsers import open_browser
from tests.conftest import SLOW, free_port, needs, running
from tests.support.command import NEGOLAB, negolab
from tests.support.crowd import BrowserParticipant

pytestmark = [pytest.mark.browser, pytest.mark.soak]

PLAYED, DROPPED, AT_ONCE = (10, 2, 4) if SLOW else (5, 1, 3)


def printed(*args: object) -> str:
    ran = negolab(*map(str, args))
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


async def people(links: list[str]) -> list[tuple[str, list[str]]]:
    """Play all participants, the last ones leaving midway; return their codes and messages."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with open_browser(needs("chromium", "chromium")) as chrome:

        async def one(i: int, link: str) -> tuple[str, list[str]]:
            async with gate:
                person = BrowserParticipant(chrome, link, random.Random(i))
                await person.come()
                stays = i % 6 != 2  # one of six leaves
                code = await person.play((0.5, 1.0), replies=1000 if stays else 1)
                code = code if stays else await person.leave()
                await person.close()
                return code, person.said

        return await asyncio.gather(*(one(i, link) for i, link in enumerate(links)))


def test_a_study_goes_from_its_file_to_tables_that_match_the_log(tmp_path: Path) -> None:
    needs("chromium", "chromium")
    file, port = tmp_path / "trip.toml", free_port()
    write_scaffold("study", "trip", tmp_path, "trading")
    # The program of the template thinks for four seconds, and its game forgives no slip.
    text = re.sub(r"median = 4, spread = 0.5, least = 1, most = 20", "median = 0.3", file.read_text())
    file.write_text(text.replace('# preset = "seed"', 'preset = "tolerant"').replace("median = 0.3", "median = 0.3"))
    links = printed("study", "links", file, "-n", PLAYED + DROPPED, "--url", f"http://127.0.0.1:{port}/").split()
    serve = [*NEGOLAB, "serve", str(file), f"--port={port}", f"--desk-port={free_port()}", f"--out={tmp_path / 'out'}"]
    with running([*serve, "--no-browser", "--pool=3"], "negolab is at"):
        came = asyncio.run(people(links))
        status = printed("study", "status", file)
        printed("study", "export", file, "--out", tmp_path / "export", "--to", "both")
    codes = dict(re.findall(r'^(complete|withdrawn) = "(\w+)"', text, re.M))
    assert Counter(code for code, _ in came) == {codes["complete"]: PLAYED, codes["withdrawn"]: DROPPED}
    assert f"{PLAYED} complete" in status
    compare(tmp_path, file, came)


def compare(folder: Path, file: Path, came: list[tuple[str, list[str]]]) -> None:
    """Check that the exported tables match the log and that treatments are balanced."""
    tables: dict[str, Any] = {
        name: pd.read_parquet(folder / "export" / f"{name}.parquet") for name in ("events", "matches", "participants")
    }
    for name, frame in tables.items():
        assert len(pd.read_csv(folder / "export" / f"{name}.csv")) == len(frame)
    database = Database(file.with_suffix(".db"))
    matches = database.matches("trip")
    logged = sum(len(database.record(sat.id).events) for sat in matches)
    assert len(tables["events"]) == logged
    assert len(tables["matches"]) == len(matches) == PLAYED + DROPPED
    done = tables["participants"].query("status == 'complete'")
    assert len(done) == PLAYED
    # A place is given back to the next who comes: nobody comes after those who leave last.
    people = tables["participants"]
    late = (people.query("status != 'complete'")["ended"] > people["started"].max()).sum()
    assert abs(Counter(done["treatment"])["first"] - Counter(done["treatment"])["second"]) <= 1 + late
    whole = (folder / "export" / "events.csv").read_text()
    for i, (_, said) in enumerate(came):
        expected = 0 if i % 6 == 2 else 1
        assert all((word in whole) == bool(expected) for word in said)
    records = read(folder / "export" / "records.jsonl")
    assert {record.id for record in records} <= {sat.id for sat in matches}
    assert len(records) == PLAYED
    printed("check", folder / "export")
    database.close()
