"""The host's admin API: free play that resumes, and errors in plain words."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from negolab.catalog import game_names, load
from negolab.match import Match
from negolab.record import PERSON
from negolab.store import Store, read
from negolab.studies import sessions
from negolab.studies.admin import AdminService
from negolab.studies.authentication import LeaseTaken
from negolab.studies.database import Database
from negolab.studies.links import AccessDenied
from negolab.user_code import TRUSTED
from negolab.verification import replay_differences


class Own:
    """An admin API over a database and a folder of records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open()

    def open(self) -> None:
        self.database = Database(self.folder / "people.db")
        self.desk = AdminService(self.database, store=lambda: Store(self.folder / "out", wait=1))

    def restart(self) -> None:
        self.database.close()
        self.open()

    def play(self, game: str = "trading", **more: Any) -> str:
        wanted = {"game": game, "preset": None, "seat": "A", "opponent": "random-legal", "seed": 7, **more}
        return str(self.desk.play(wanted)["lease"])

    def say(self, lease: str, text: str) -> Any:
        scene: Any = self.desk.now(lease).state
        return self.desk.act(lease, {"kind": "reply", "text": text, "turn": scene.table["turn"]})


@pytest.mark.parametrize("game", game_names())
def test_a_running_match_is_found_again_after_a_restart(tmp_path: Path, game: str) -> None:
    own = Own(tmp_path)
    lease = own.play(game, seat="B")
    before = own.desk.now(lease).state
    own.restart()
    assert own.desk.now(lease).state == before, "the page that was open goes on"
    newer = own.desk.playing({})["lease"]
    assert own.desk.now(newer).state == before
    with pytest.raises(LeaseTaken):
        own.desk.now(lease)


@pytest.mark.parametrize("name", ["llm:gpt-x,persona=/etc/hosts", "negmas:negotiator=MiCRONegotiator"])
@pytest.mark.parametrize("people", [{}, {"A": None}])
def test_a_strangers_database_calls_no_model_and_no_program(
    tmp_path: Path,
    name: str,
    people: dict[Any, None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    own = Own(tmp_path)
    match = Match(load("bargaining"), seed=1, players={"A": PERSON if people else name, "B": name})
    own.database.add(match.record(), people, study=None)
    asked: list[str] = []
    monkeypatch.setattr(sessions, "make_player", lambda name, *_, **__: asked.append(name))
    own.restart()
    assert own.desk.playing({}) == {} and asked == []
    assert f"is against {name}, which was chosen on another machine" in caplog.text


def test_a_match_against_a_model_goes_on_after_a_restart_only_for_the_user_who_began_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_OUTSIDE", {"random-legal"})
    own = Own(tmp_path)
    own.play()
    own.restart()
    assert own.desk.playing({}) != {}
    monkeypatch.setenv(TRUSTED, str(tmp_path / "theirs.txt"))
    own.restart()
    assert own.desk.playing({}) == {}


def test_a_reply_and_the_poll_that_it_wakes_are_answered_with_one_state(tmp_path: Path) -> None:
    own = Own(tmp_path)
    lease = own.play()

    async def reply_beside_a_poll() -> tuple[Any, Any]:
        poll = asyncio.create_task(own.desk.poll(lease, own.desk.now(lease).version, 5.0))
        await asyncio.sleep(0)
        return own.say(lease, "pass"), await poll

    answered, polled = asyncio.run(reply_beside_a_poll())
    assert answered == polled and answered.state is polled.state


def test_a_match_that_is_left_is_kept_and_not_found_again(tmp_path: Path) -> None:
    own = Own(tmp_path)
    lease = own.play()
    own.say(lease, "pass")
    own.desk.act(lease, {"kind": "leave"})
    assert own.desk.playing({}) == {}
    (record,) = read(tmp_path / "out")
    assert (record.end, record.header.seed, replay_differences(record)) == ("ABORTED", 7, [])


def test_a_match_that_is_over_is_found_again_until_it_is_left(tmp_path: Path) -> None:
    own = Own(tmp_path)
    lease = own.play(preset="tolerant")
    while own.desk.now(lease).state.table["closing"] is None:
        own.say(lease, "pass")
    again = own.desk.playing({})["lease"]
    assert own.desk.now(again).state.table["closing"] is not None
    own.desk.act(again, {"kind": "leave"})
    assert own.desk.playing({}) == {}


def test_a_record_that_the_folder_lacks_is_written_at_the_next_start(tmp_path: Path) -> None:
    own = Own(tmp_path)
    lease = own.play()
    (tmp_path / "out" / "records.jsonl").unlink()
    (tmp_path / "out" / ".lock").unlink()
    (tmp_path / "out").rmdir()
    (tmp_path / "out").write_text("a file where the folder should be")
    own.desk.act(lease, {"kind": "leave"})
    (tmp_path / "out").unlink()
    own.restart()
    own.restart()
    assert len(read(tmp_path / "out")) == 1


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"game": "tradign"}, "did you mean trading"),
        ({"opponent": "nobody"}, "unknown player"),
        ({"game": "bargaining", "seat": "A", "opponent": "anchored"}, "sits at A only"),
        ({"preset": "none"}, "unknown preset"),
        ({"seed": "1"}, "whole number"),
    ],
)
def test_what_cannot_be_played_is_refused_with_a_reason(tmp_path: Path, more: dict[str, Any], why: str) -> None:
    own = Own(tmp_path)
    with pytest.raises(AccessDenied, match=why):
        own.play(**more)
    assert own.desk.playing({}) == {}


@pytest.mark.parametrize("lease", ["", "x", "x.y"])
def test_an_unknown_lease_opens_nothing(tmp_path: Path, lease: str) -> None:
    own = Own(tmp_path)
    with pytest.raises(AccessDenied, match="no such match"):
        own.desk.now(lease)


def test_without_a_study_there_is_nobody_to_watch_or_to_end(tmp_path: Path) -> None:
    own = Own(tmp_path)
    assert own.desk.monitor({}) == {}
    with pytest.raises(AccessDenied, match="No study"):
        own.desk.end({"participant": 1, "reason": "x"})
