"""Data of negolab 0.1.0 is read, replays to its records, and is resumed."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

import negolab as nl
from tests.support.command import negolab, succeeding
from tests.support.host_process import HostProcess, Participant, running_host
from tests.support.scripted_model import ScriptedModel

MADE = Path(__file__).parents[1] / "fixtures" / "v0_1_0"
REFUSALS = ("I won't accept $", "No deal at ", " is too expensive", "not more than ")
"""Parts of texts in which 0.1.0 read an offer, and where the price stood a purchase."""


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A copy of the data in another folder."""
    return Path(shutil.copytree(MADE, tmp_path / "moved"))


def taking() -> ScriptedModel:
    """A model that accepts every offer."""
    return ScriptedModel(lambda call: "accept")


def go_on(run: Path, n: int = 12) -> list[nl.Record]:
    """Repeat the call that made the run, with a model that accepts."""
    models = taking()
    before = len(nl.read(run))
    nl.run("bargaining", "linear", "llm:refuser", n=n, seed=2, out=run, models=models)
    assert len(models.calls) == n - before
    return nl.read(run)


def refused(record: nl.Record) -> bool:
    """Return True if the buyer refuses a price in words."""
    return any(part in str(event) for part in REFUSALS for event in record.events)


# Read and checked.


@pytest.mark.parametrize(("name", "games"), [("run", 12), ("half-run", 7), ("half-batch", 3), ("sweep", 4)])
def test_records_are_read_and_replay_to_what_was_stored(made: Path, name: str, games: int) -> None:
    assert len(nl.read(made / name)) == games
    checked = negolab("check", str(made / name))
    assert (checked.returncode, checked.stdout.split()[0]) == (0, str(games)), checked.stdout + checked.stderr


def test_a_price_that_was_refused_in_words_stays_the_offer_that_it_was_read_as(made: Path) -> None:
    bought = [record for record in nl.read(made / "run") if refused(record)]
    assert len(bought) >= 6
    for record in bought:
        *_, last = nl.states(record)
        assert last.public.price == record.outcome.details["price"]
        assert record.end == "AGREED"


def test_a_run_is_exported_as_it_was_played(made: Path) -> None:
    succeeding("export", str(made / "run"), "--to", "csv", "--out", str(made / "tables"))
    tables = [list(csv.DictReader(file.open())) for file in (made / "tables").glob("*.csv")]
    assert 12 in map(len, tables)


def test_a_match_that_is_branched_off_reads_as_the_old_one_did(made: Path) -> None:
    record = next(record for record in nl.read(made / "run") if refused(record))
    assert record.game.refusal_guard is False
    assert nl.Match(record.game, seed=1).record().game == record.game


# Gone on with.


def test_a_run_that_was_stopped_goes_on_without_playing_a_game_twice(made: Path) -> None:
    before = nl.read(made / "half-run")
    after = go_on(made / "half-run")
    assert after[: len(before)] == before
    assert len({record.id for record in after}) == len(after) == 12
    succeeding("check", str(made / "half-run"))


def test_all_games_of_a_run_are_read_alike_and_a_new_run_is_read_by_the_new_rule(made: Path) -> None:
    """The buyer refuses 65, in words that bought under 0.1.0, and accepts when asked again."""

    def says(call: object) -> str:
        return "accept" if "repeats the price" in str(call) else "65.00 is too expensive"

    def offers(run: Path, n: int) -> list[int]:
        nl.run("bargaining", "linear", "llm:refuser", n=n, seed=2, out=run, models=ScriptedModel(says))
        return [len(list(nl.states(record))[-1].public.offers) for record in nl.read(run)]

    assert offers(made / "half-run", 12)[7:] == [2] * 5
    assert offers(made / "half-run", 14)[12:] == [2] * 2
    assert offers(made / "new", 2) == [1] * 2
    assert {record.game.refusal_guard for record in nl.read(made / "half-run")} == {False}
    assert {record.game.refusal_guard for record in nl.read(made / "new")} == {True}
    succeeding("check", str(made / "half-run"))


def test_a_batch_that_was_stopped_goes_on_by_the_same_command(made: Path) -> None:
    before = (made / "half-batch" / "records.jsonl").read_bytes()
    players = ("--a", "linear", "--b", "time:beta=0.5")
    command = ("batch", "bargaining", *players, "--n", "6", "--seed", "2", "--out", str(made / "half-batch"))
    succeeding(*command)
    assert (made / "half-batch" / "records.jsonl").read_bytes().startswith(before)
    assert len({record.id for record in nl.read(made / "half-batch")}) == 6
    succeeding("check", str(made / "half-batch"))


@pytest.mark.long
def test_a_sweep_goes_on_with_the_cell_that_had_failed(made: Path) -> None:
    folder = made / "sweep"
    before = {file: file.read_bytes() for file in (folder / "out" / "cells").rglob("*.jsonl")}
    (folder / "ready").touch()
    command = ("sweep", "run", "plan.toml", "--out", "out", "--workers", "1", "--retry", "failed")
    ran = succeeding(*command, cwd=folder)
    assert "3 of 3 cells are done" in ran.stdout
    assert all(file.read_bytes() == data for file, data in before.items())
    assert len(before) == 2
    records = nl.read(folder / "out" / "cells")
    assert len(records) == 6
    assert {(record.game.reading, record.game.refusal_guard) for record in records} == {("literal", False)}
    succeeding("check", str(folder / "out" / "cells"))


# A study.


def study(made: Path) -> str:
    return (made / "study" / "small.toml").read_text()


def test_a_study_goes_on_with_its_matches_and_its_participants(made: Path) -> None:
    with running_host(made / "study", study(made)) as hosted:
        assert len(hosted.matches()) == 2
        with hosted.database() as database:
            _, playing, invited = database.participants("small")
        for who in (playing, invited):
            page = hosted.page(hosted.token(who))
            if who is invited:
                page.act("start")
            page.act("reply", match=page.state.match, text="accept", turn=page.state.table["turn"])
            assert hosted.participant(who).status == "complete"
        assert len(hosted.matches()) == 3
    file, out = made / "study" / "small.toml", made / "export"
    succeeding("study", "export", str(file), "--db", str(made / "study" / "people.db"), "--out", str(out))
    rows = list(csv.DictReader((out / "matches.csv").open()))
    assert [row["end"] for row in rows] == ["AGREED"] * 3
    assert "I won't accept $" in (out / "events.csv").read_text()


def read_as_offer(hosted: HostProcess, who: Participant) -> bool:
    """A price that is refused by the one who plays is their offer, so that the ask is bought."""
    page = hosted.page(hosted.token(who))
    if who.status == "invited":
        page.act("start")
    offers = page.state.table["seen"]["public"]["offers"]
    page.act("reply", match=page.state.match, text=f"{offers[-1][2] / 100} is too much", turn=page.state.table["turn"])
    return len(page.state.table["seen"]["public"]["offers"]) > len(offers)


def test_a_study_reads_all_its_matches_as_it_began(made: Path) -> None:
    with running_host(made / "study", study(made)) as hosted:
        with hosted.database() as database:
            _, playing, invited = database.participants("small")
        assert read_as_offer(hosted, playing)
        assert read_as_offer(hosted, invited)
        hosted.matches()


def test_a_study_goes_by_what_its_file_says_and_a_new_one_by_the_new_rule(made: Path, tmp_path: Path) -> None:
    with running_host(made / "study", study(made) + "params = { refusal_guard = true }\n") as hosted:
        with hosted.database() as database:
            *_, invited = database.participants("small")
        assert not read_as_offer(hosted, invited)
    (tmp_path / "new").mkdir()
    with running_host(tmp_path / "new", study(made)) as hosted:
        assert not read_as_offer(hosted, hosted.invite()[0])
