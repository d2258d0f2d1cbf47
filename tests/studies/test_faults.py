"""Code of the researcher's that raises: the study ends for both at once with `error`, and the cause is named."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

from negolab import catalog, decoding
from negolab.game import SEATS, Seat, other
from negolab.scaffolds.ultimatum import Ultimatum
from negolab.studies.clock import ManualClock
from negolab.studies.database import Database, StoredMatch
from negolab.studies.export import export
from negolab.studies.page_state import Closed, Playing
from negolab.studies.status import status
from negolab.studies.study_config import Study
from negolab.verification import replay_differences
from tests.studies.test_service import Site, study
from tests.support.games.faulty import FAULTS, ON_PAGES

GAME = str(Path(__file__).parents[1] / "support" / "games" / "faulty.py")
TABLES = """
[payment]
currency = "EUR"
rate = 1
show_up = 2
[payment.endings]
partner = 5
timeout = 0
withdrawn = 1
{pay}
[[treatments]]
name = "one"
params = {{ fault = "{fault}", at = "{at}" }}
{seats}
{more}
"""
MACHINE = 'opponent = "random-legal"\nseat = "{seat}"'


UNSEEN = {
    ("A", "prompt", "B"),
    *((seat, name, other(seat)) for seat in SEATS for name in ("facts", "describe_forfeit")),
}
"""Methods that nobody calls: a machine has no table, and this one reads no prompt."""
ACROSS = [(seat, *fault) for seat in SEATS for fault in FAULTS if (seat, *fault) not in UNSEEN]


def faulty_study(fault: str, at: str, seats: str = "", pay: str = "", more: str = "") -> Study:
    return study(TABLES.format(fault=fault, at=at, seats=seats, pay=pay, more=more), game=GAME)


def broken(*_: Any) -> None:
    raise RuntimeError("very-own-words")


def draw(site: Site, id: str) -> None:
    """Call what the plain table of a participant's page calls, and report a fault as it does."""
    state = site.state(id)
    if not isinstance(state, Playing):
        return
    cls = catalog.imported_class(state.game)
    game, seen = cls(**state.params), decoding.decode_observation(cls, state.table["seen"])
    try:
        game.facts(seen)
        if state.table["asked"]:
            [game.say(action) for action in game.options(seen)]
            game.describe_forfeit(seen)
    except ZeroDivisionError as error:
        site.act(id, "fault", where=f"ZeroDivisionError in {error}, in {game.fault}", place=state.place)


def play(site: Site, ids: list[str], fault: str) -> None:
    """Press Start, and answer as long as there is a table."""
    for id in ids:
        site.act(id, "start")
    for id in ids * 4:
        for each in ids:
            draw(site, each)
        state = site.state(id)
        if isinstance(state, Playing) and state.table["asked"]:
            words = "?" if fault in ("forfeit", "disagreement") else "4" if state.seat == "A" else "yes"
            site.say(id, words)


def match_of(database: Database) -> StoredMatch:
    (found,) = database.matches("trade")
    return found


@pytest.mark.parametrize(("fault", "at"), FAULTS)
async def test_a_fault_ends_the_match_of_two_at_once_and_both_are_paid_the_fee(
    tmp_path: Path, fault: str, at: str
) -> None:
    site = Site(tmp_path, faulty_study(fault, at))
    ids = site.come(2)
    play(site, ids, fault)
    for id in ids:
        closed = site.state(id)
        assert isinstance(closed, Closed) and (site.status(id), closed.code) == ("error", "FAULT")
        assert closed.earnings is not None and closed.earnings.text(closed.earnings.total) == "€2.00"
        assert "very-own-words" not in str(closed) and "faulty.py" not in str(closed)
    errors = status(site.database, site.study).errors
    assert errors and f"in {fault}" in errors[0]
    if fault not in ON_PAGES:
        assert "ZeroDivisionError in faulty.py, line" in errors[0] and "very-own-words" not in errors[0]
    for stored in site.database.matches("trade"):
        record = site.database.record(stored.id)
        assert stored.ended is not None and record.end == "ABORTED"
        assert f"in {fault}" in (record.events[-1].reason or "")  # type: ignore[union-attr]
        if fault not in ("secrets", "prompt"):
            assert replay_differences(record) == []
    site.restart()
    assert [site.status(id) for id in ids] == ["error", "error"]


@pytest.mark.parametrize(("seat", "fault", "at"), ACROSS)
async def test_a_fault_across_from_a_machine_ends_the_match_at_once(
    tmp_path: Path, seat: Seat, fault: str, at: str
) -> None:
    site = Site(tmp_path, faulty_study(fault, at, MACHINE.format(seat=seat)))
    (id,) = site.come()
    play(site, [id], fault)
    assert (site.status(id), site.state(id).code) == ("error", "FAULT")
    assert f"in {fault}" in status(site.database, site.study).errors[0]


async def test_a_finished_match_whose_table_cannot_be_drawn_leads_on_and_is_paid(tmp_path: Path) -> None:
    site = Site(tmp_path, faulty_study("facts", "over"))
    ids = site.come(2)
    play(site, ids, "facts")
    assert [site.state(id).code for id in ids] == ["DONE", "DONE"]
    assert sum(site.state(id).earnings.total for id in ids) == 1000 + 2 * 200
    assert all("in facts" in error for error in status(site.database, site.study).errors)


@pytest.mark.parametrize(
    ("fault", "action", "code"),
    [
        ("outcome", "leave", "GONE"),
        ("outcome", "end", "STOP"),
        ("outcome", "late", "LATE"),
        ("prompt", "leave", "GONE"),
    ],
)
async def test_a_match_can_be_left_and_ended_although_its_game_raises(
    tmp_path: Path, fault: str, action: str, code: str, clock: ManualClock
) -> None:
    site = Site(tmp_path, faulty_study("", "", more="[limits]\nreply = 60"))
    site.start(2)
    ((stored, session),) = site.service.scheduler._sessions.running()
    session.match.game = msgspec.structs.replace(session.match.game, fault=fault, at="")
    session.match._told = dict.fromkeys(SEATS, session.match.game)
    one, two = stored.people["A"] or "", stored.people["B"] or ""
    if action == "leave":
        site.act(one, "leave")
    elif action == "end":
        site.service.end(site.database.participant(one).number, "enough")
    else:
        site.tick(clock, 61)
    assert (site.state(one).code, site.state(two).code) == (code, "LEFT")
    assert match_of(site.database).ended is not None


@pytest.mark.parametrize("fault", ["parse", "step", "prompt"])
async def test_a_restart_leaves_nobody_in_a_match_that_cannot_be_opened(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, faulty_study("", ""))
    ids = site.start(2)
    first = next(id for id in ids if site.state(id).seat == "A")
    site.say(first, "4")
    game = type(site.service.scheduler._sessions.running()[0].session.match.game)
    monkeypatch.setattr(game, fault, broken)
    site.restart()
    assert [(site.status(id), site.state(id).code) for id in ids] == [("error", "FAULT")] * 2
    kinds = [event.__class__.__name__ for event in site.database.record(match_of(site.database).id).events]
    assert kinds == ["Dealt", "Replied", "Stepped", "Ended"], "what was said before stays"


async def test_what_a_fault_pays_is_what_the_file_says(tmp_path: Path) -> None:
    site = Site(tmp_path, faulty_study("step", "A", pay="error = 3.5"))
    ids = site.come(2)
    play(site, ids, "step")
    assert [site.state(id).earnings.total for id in ids] == [350, 350]
    assert export(site.database, site.study, tmp_path / "out", "csv")["participants"] == 2
    people = pd.read_csv(tmp_path / "out" / "participants.csv")
    assert set(people["status"]) == {"error"} and set(people["pay_total"]) == {3.5}


async def test_pages_are_woken_by_a_fault(tmp_path: Path) -> None:
    site = Site(tmp_path, faulty_study("prompt", "B"))
    ids = site.start(2)
    first, second = sorted(ids, key=lambda id: site.state(id).seat)
    shown = site.service.now(site.leases[second]).version
    poll = asyncio.create_task(site.service.poll(site.leases[second], shown, 5))
    await asyncio.sleep(0)
    site.say(first, "4")
    assert isinstance((await poll).state, Closed)


async def test_a_measure_that_raises_is_named_and_leaves_its_own_column_empty(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path, faulty_study("", ""))
    play(site, site.come(2), "")
    with caplog.at_level(logging.WARNING):
        row = exported_measures(site)
    assert caplog.messages == [
        f"left empty for 1 match: measure 'shares': KeyError: '{match_of(site.database).id}' (faulty.py, line 117)"
    ]
    assert pd.isna(row["shares"]) and row["offered"] == 0.4 and row["turns_to_deal"] == 2


def exported_measures(site: Site) -> dict[Any, Any]:
    """The measures of the one match in an export, which has all of its events."""
    export(site.database, site.study, site.folder / "out", "csv")
    assert len(pd.read_csv(site.folder / "out" / "events.csv")) == 6
    (row,) = pd.read_csv(site.folder / "out" / "measures.csv").to_dict("records")
    return row


@pytest.mark.parametrize("method", ["frontier", "disagreement"])
async def test_a_method_that_raises_in_an_export_leaves_what_needs_it_empty(
    tmp_path: Path, method: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, faulty_study("", ""))
    play(site, site.come(2), "")
    monkeypatch.setattr(Ultimatum, method, broken)
    monkeypatch.setattr(type(site.study.loaded(site.study.treatments[0])), method, broken)
    row = exported_measures(site)
    assert "left empty for 1 match: the general measures: RuntimeError" in caplog.text
    assert pd.isna(row["efficiency"]) and pd.isna(row["gain_a"]) and row["offered"] == 0.4
