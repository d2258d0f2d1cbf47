"""The study service without a page: links, page states, clicks, pairs, limits, and restarts."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pytest

from negolab.cli.study import status_lines
from negolab.events import Ended
from negolab.studies import links
from negolab.studies.authentication import LeaseTaken
from negolab.studies.bonus import settle
from negolab.studies.clock import ManualClock
from negolab.studies.clock import time as study_time
from negolab.studies.database import Database
from negolab.studies.earnings import study_earnings
from negolab.studies.export import export
from negolab.studies.links import AccessDenied
from negolab.studies.page_state import Answer, Closed, Playing, Waiting
from negolab.studies.panel import PanelFormat
from negolab.studies.routes import Switch, seats_app
from negolab.studies.server import listen
from negolab.studies.service import StudyService
from negolab.studies.status import status
from negolab.studies.study_config import Study
from negolab.studies.study_file import parse_study
from negolab.verification import replay_differences

STUDY = """
title = "Trade"
game = "trading"
instructions = "Trade well."
closing = "Bye."
seed = 1
{more}
[codes]
complete = "DONE"
timeout = "LATE"
partner = "LEFT"
unpaired = "ALONE"
withdrawn = "GONE"
declined = "NO"
ended = "STOP"
quiz = "QUIZ"
error = "FAULT"
{tables}
"""
ALONE = '[[treatments]]\nname = "one"\nopponent = "greedy-honest"\nseat = "A"'
PAIRS = '[[treatments]]\nname = "pairs"'
TWO_PAIRS = f"{PAIRS}\n{PAIRS.replace('pairs', 'more')}"
TWO_ALONE = f"{ALONE}\n{ALONE.replace('one', 'two', 1)}"
EITHER = ALONE.replace('seat = "A"', 'seat = "random"')
TWO = f"{EITHER}\n{EITHER.replace('one', 'two', 1)}"
PRACTICE = '[practice]\nmatches = 1\nopponent = "random-legal"'
PAID = """
[payment]
currency = "GBP"
rate = 0.05
show_up = 2.00
[payment.endings]
partner = 1.50
[links]
complete = "https://panel.example/complete?cc={code}"
"""


def study(tables: str = ALONE, more: str = "", game: str = "trading") -> Study:
    text = STUDY.replace('"trading"', f'"{game}"')
    return parse_study(text.format(tables=tables, more=more), Path("trade.toml"))


class Site:
    """A study service over a database file, with a page for each participant."""

    def __init__(self, folder: Path, of: Study) -> None:
        self.folder, self.study = folder, of
        self.leases: dict[str, str] = {}
        self.open()

    @classmethod
    def started(cls, *args: Any) -> tuple[Self, str]:
        """Open a site for one participant, who presses Start."""
        site = cls(*args)
        return site, site.start()[0]

    @classmethod
    def paired(cls, *args: Any) -> tuple[Self, str, str]:
        """Open a site for two who start a match: the one who is asked first comes first."""
        site = cls(*args)
        one, two = site.start(2)
        return (site, one, two) if site.state(one).table["asked"] else (site, two, one)

    def open(self) -> None:
        self.database = Database(self.folder / "people.db", clock=study_time)
        self.service = StudyService(self.database, self.study)

    def restart(self) -> None:
        self.database.close()
        self.open()

    def come(self, n: int = 1) -> list[str]:
        """Invite participants and open their pages."""
        kept = self.database.study(self.study.name, self.study.text)
        ids = []
        for who in self.database.invite(self.study.name, n):
            self.visit(links.make_token(kept.secret, self.study.name, who.id, created=who.created), who.id)
            ids.append(who.id)
        return ids

    def start(self, n: int = 1) -> list[str]:
        """Invite participants, open their pages, and press Start on each."""
        ids = self.come(n)
        for id in ids:
            self.act(id, "start")
        return ids

    def complete(self) -> str:
        """Let a new participant finish their matches and go on to the last page."""
        (id,) = self.start()
        while self.status(id) == "playing":
            self.finish(id)
            self.act(id, "next")
        return id

    def token(self, id: str = links.OPEN) -> str:
        """The token of a participant's link; of the open link if none is named."""
        return links.make_token(self.database.study(self.study.name, self.study.text).secret, self.study.name, id)

    def tick(self, clock: ManualClock, seconds: float) -> None:
        """Let seconds pass, and the host look what has run out."""
        clock.advance(seconds)
        self.service.scheduler.tick()

    def visit(self, token: str, id: str, kernel: str = "k") -> str | None:
        replaced = self.service.authenticator.bind(token, f"{kernel}-{id}")
        self.leases[id] = self.database.participant(id).lease or ""
        self.service.presence[id]._last_poll = float("inf")  # its page is open
        return replaced

    def act(self, id: str, kind: str, **more: Any) -> Answer:
        return self.service.act(self.leases[id], {"kind": kind, **more})

    def state(self, id: str) -> Any:
        return self.service.now(self.leases[id]).state

    def say(self, id: str, text: str) -> Answer:
        scene = self.state(id)
        return self.act(id, "reply", text=text, turn=scene.table["turn"], match=scene.match)

    def finish(self, *ids: str) -> None:
        """Let people reply Deny until their matches are over."""
        for _ in range(200):
            asked = [id for id in ids if isinstance(state := self.state(id), Playing) and state.table["asked"]]
            if not asked:
                return
            self.say(asked[0], "[Deny]" if "stands" in str(self.state(asked[0]).table["seen"]) else "pass")

    def status(self, id: str) -> str:
        return self.database.participant(id).status


async def test_looking_uses_nothing_up_and_a_second_start_gives_the_same_place(tmp_path: Path) -> None:
    site = Site(tmp_path, study(TWO_ALONE))
    (id,) = site.come()
    token = site.token(id)
    for _ in range(100):
        assert site.service.authenticator.admit(token) == site.database.participant(id)
    assert site.status(id) == "invited"
    site.act(id, "start")
    first = site.database.participant(id).treatment
    assert "moved on" in site.act(id, "start").not_done
    site.restart()
    assert site.database.participant(id).treatment == first
    assert len(site.database.matches("trade")) == 1


async def test_a_second_page_takes_over_and_the_first_is_told(tmp_path: Path) -> None:
    site, id = Site.started(tmp_path, study())
    old = site.leases[id]
    assert site.visit(site.token(id), id, "new") == f"k-{id}"
    assert isinstance(site.state(id), Playing)
    with pytest.raises(LeaseTaken):
        site.service.act(old, {"kind": "leave"})
    with pytest.raises(LeaseTaken):
        await site.service.poll(old, 0, 1)


async def test_a_click_makes_the_page_state_once_for_who_clicks(tmp_path: Path, monkeypatch: Any) -> None:
    site, id = Site.started(tmp_path, study(f"{ALONE}\npreset = 'tolerant'"))
    before = site.service.now(site.leases[id])
    poll = asyncio.create_task(site.service.poll(site.leases[id], before.version, 5))
    await asyncio.sleep(0)
    made, state = [], site.service._state
    monkeypatch.setattr(site.service, "_state", lambda id: made.append(state(id)) or made[-1])  # type: ignore[func-returns-value]
    said = {"text": "[Offer: 9999 Wheat -> 1 Ore]", "turn": before.state.table["turn"], "match": before.state.match}  # type: ignore[union-attr]
    answer = site.act(id, "reply", place=before.state.place, **said)
    woken = await poll
    assert answer.refused and not woken.refused, "a poll tells nobody of a click"
    assert len(made) == 1 and answer.state == woken.state == made[0]
    assert answer.version == woken.version > before.version
    assert (await site.service.poll(site.leases[id], woken.version, 0.01)).state is not made[0], "its clock goes on"


async def test_a_waiting_kernel_gets_its_lease_when_someone_comes_and_again_after_a_restart(tmp_path: Path) -> None:
    site = Site(tmp_path, study())
    (who,) = site.database.invite("trade")
    waiting = asyncio.ensure_future(site.service.authenticator.arrive("kernel", 5))
    await asyncio.sleep(0.01)
    site.service.authenticator.bind(site.token(who.id), "kernel")
    lease = await waiting
    site.restart()
    assert await site.service.authenticator.arrive("kernel", 5) == lease
    for like_it in ("other", "%", "_", "k", ""):
        assert await site.service.authenticator.arrive(like_it, 0.01) is None


async def test_two_who_come_play_with_each_other_at_one_match(tmp_path: Path) -> None:
    site = Site(tmp_path, study(TWO_PAIRS))
    one, two, three, four = site.come(4)
    for id in (one, two, three):
        site.act(id, "start")
    assert site.state(one).match == site.state(two).match
    assert {site.state(one).seat, site.state(two).seat} == {"A", "B"}
    assert isinstance(site.state(three), Waiting)
    site.restart()
    site.service.presence[three]._last_poll = site.service.presence[four]._last_poll = float("inf")
    assert isinstance(site.state(three), Waiting)
    site.act(four, "start")
    assert site.state(three).match == site.state(four).match
    treatments = [p.treatment for p in site.database.participants("trade")]
    assert sorted(str(t) for t in treatments) == ["more", "more", "pairs", "pairs"]


async def test_one_whose_page_is_closed_is_not_paired(tmp_path: Path) -> None:
    site = Site(tmp_path, study(TWO_PAIRS))
    one, two, three = site.come(3)
    site.act(one, "start")
    site.service.presence[one]._last_poll = 0.0
    site.act(two, "start")
    assert isinstance(site.state(two), Waiting)
    site.act(three, "start")
    assert site.state(two).match == site.state(three).match
    assert site.status(one) == "waiting"


@pytest.mark.parametrize(("then", "status"), [("end", "unpaired"), ("greedy-honest", "playing")])
async def test_when_nobody_comes_it_goes_as_the_study_says(
    tmp_path: Path, then: str, status: str, clock: ManualClock
) -> None:
    site, id = Site.started(tmp_path, study(f'{PAIRS}\n[pairing]\nwait = 60\nthen = "{then}"'))
    site.tick(clock, 59)
    assert isinstance(site.state(id), Waiting)
    site.tick(clock, 2)
    assert site.status(id) == status
    if then == "end":
        assert site.state(id).code == "ALONE"
    else:
        assert isinstance(site.state(id), Playing)


async def test_a_limit_ends_the_match_and_plays_no_move(tmp_path: Path, clock: ManualClock) -> None:
    site, asked, other = Site.paired(tmp_path, study(f"{PAIRS}\n[limits]\nreply = 60"))
    (sat,) = site.database.matches("trade")
    events = len(site.database.record(sat.id).events)
    site.tick(clock, 59)
    assert (site.state(asked).left, site.state(other).left) == (pytest.approx(1), None)
    site.tick(clock, 1)
    assert (site.status(asked), site.status(other)) == ("timeout", "partner")
    assert (site.state(asked).code, site.state(other).code) == ("LATE", "LEFT")
    record = site.database.record(sat.id)
    assert len(record.events) == events + 1
    assert isinstance(record.events[-1], Ended)
    assert record.end == "ABORTED"
    assert replay_differences(record) == []


@pytest.mark.parametrize("asked", ["slow", "quick"])
async def test_who_took_the_time_of_a_match_is_late_whoever_is_asked_at_its_limit(
    tmp_path: Path, asked: str, clock: ManualClock
) -> None:
    site, slow, quick = Site.paired(tmp_path, study(f"{PAIRS}\n[limits]\nreply = 20\nmatch = 60{PAID}"))
    for _ in range(3):
        site.tick(clock, 14)
        site.say(slow, "pass")
        site.tick(clock, 1)
        site.say(quick, "pass")
    site.tick(clock, 14)
    if asked == "quick":
        site.say(slow, "pass")
    assert site.state(quick).table["asked"] == (asked == "quick")
    site.tick(clock, 1)
    assert (site.status(slow), site.status(quick)) == ("timeout", "partner")
    assert site.state(quick).earnings.total == 150


async def test_two_who_both_took_the_time_of_a_match_are_both_late(tmp_path: Path, clock: ManualClock) -> None:
    site = Site(tmp_path, study(f"{PAIRS}\n[limits]\nmatch = 60", game="split"))
    one, two = site.start(2)
    for id in sorted((one, two), key=lambda id: site.state(id).seat):
        site.say(id, "<message></message>")
    assert site.state(one).table["asked"] and site.state(two).table["asked"], "they propose at once"
    site.tick(clock, 60)
    assert (site.status(one), site.status(two)) == ("timeout", "timeout")


async def test_a_refused_reply_does_not_start_the_time_again(tmp_path: Path, clock: ManualClock) -> None:
    site, id = Site.started(tmp_path, study(f"{ALONE}\npreset = 'tolerant'\n[limits]\nreply = 60"))
    clock.advance(20)
    assert site.say(id, "[Offer: 9999 Wheat -> 1 Ore]").refused
    assert site.state(id).left == pytest.approx(40)


async def test_who_sends_what_cannot_be_read_again_and_again_is_late_and_the_other_is_paid(tmp_path: Path) -> None:
    site, seller, buyer = Site.paired(tmp_path, study(PAIRS + PAID, game="bargaining"))
    site.say(seller, "52.50")
    for _ in range(100):
        assert site.status(buyer) == site.status(seller) == "playing"
        site.say(buyer, "perhaps")
    assert (site.status(buyer), site.status(seller)) == ("timeout", "partner")
    assert (site.state(buyer).earnings.total, site.state(seller).earnings.total) == (0, 150)
    assert not site.service.monitor()["errors"]


async def test_who_leaves_takes_their_words_along(tmp_path: Path) -> None:
    site, asked, other = Site.paired(tmp_path, study(PAIRS))
    site.say(asked, "my words [Offer: 1 Wheat -> 1 Ore]")
    site.act(asked, "leave")
    assert (site.status(asked), site.status(other)) == ("withdrawn", "partner")
    (sat,) = site.database.matches("trade")
    assert "my words" not in site.database.record(sat.id).to_line().decode()
    assert (site.state(asked).code, site.state(other).code) == ("GONE", "LEFT")
    assert "has already ended" in site.act(asked, "leave").not_done


async def test_the_experimenter_ends_with_a_reason_that_is_kept(tmp_path: Path) -> None:
    site, id = Site.started(tmp_path, study())
    with pytest.raises(AccessDenied, match="reason"):
        site.service.end(1, " ")
    site.service.end(1, "fire alarm")
    assert site.status(id) == "ended"
    assert site.state(id).code == "STOP"
    (note,) = [n for n in site.database.notes("trade") if n.actor == "experimenter"]
    assert note.detail == "fire alarm"
    with pytest.raises(AccessDenied, match="already ended"):
        site.service.end(1, "again")


async def test_who_declines_has_taken_no_place(tmp_path: Path) -> None:
    site = Site(tmp_path, study(more='consent = "Do you agree?"'))
    (id,) = site.come()
    assert "moved on" in site.act(id, "start").not_done
    site.act(id, "consent", agreed="yes")
    assert site.status(id) == "declined"
    assert site.state(id).code == "NO"
    assert site.database.participant(id).treatment is None


async def test_a_link_of_nobody_or_out_of_time_and_the_open_one_as_a_cookie_are_refused(tmp_path: Path) -> None:
    site = Site(tmp_path, study())
    (who,) = site.database.invite("trade")
    kept, authenticator = site.database.study("trade", site.study.text), site.service.authenticator
    for token in (site.token("0" * 16), links.make_token(kept.secret, "trade", who.id, created=1.0)):
        with pytest.raises(AccessDenied):
            authenticator.admit(token)
    with pytest.raises(AccessDenied):
        authenticator.bind(site.token(), "kernel")
    assert site.database.participants("trade") == [who]


async def test_the_open_link_makes_a_participant_for_each_one_who_joins(tmp_path: Path) -> None:
    site = Site(tmp_path, study(more='external = "PID"'))
    token = site.token()
    assert site.service.authenticator.admit(token) is None
    assert site.service.authenticator.admit(token, {"PID": "abc"}) is None
    for enter in (site.service.authenticator.admit, site.service.authenticator.join):
        for query in ({}, {"PID": "{{%PROLIFIC_PID%}}"}):
            with pytest.raises(AccessDenied, match="must contain your ID"):
                enter(token, query)
    assert site.database.participants("trade") == []
    _, one = site.service.authenticator.join(token, {"PID": "Ann Nobody"})
    _, again = site.service.authenticator.join(token, {"PID": "Ann Nobody"})
    _, two = site.service.authenticator.join(token, {"PID": "xyz"})
    assert (one == again, one == two) == (True, False)
    # What is kept in its place is of hexadecimal digits.
    assert "Nobody" not in str(site.database.participants("trade"))


@pytest.mark.parametrize(
    "more",
    [
        {"text": 5, "turn": 0},
        {"text": "[Deny]", "turn": "0"},
        {"text": "[Deny]", "turn": True},
        {"text": "[Deny]", "turn": 0, "match": "another"},
        {"text": "[Deny]", "turn": -1},
        {"text": "[Deny]", "turn": 0, "match": None},
        {},
    ],
)
async def test_a_forged_reply_leaves_the_match_as_it_was(tmp_path: Path, more: dict[str, Any]) -> None:
    site, id = Site.started(tmp_path, study())
    before = site.state(id)
    assert site.act(id, "reply", **{"match": before.match, **more}).not_done
    assert site.state(id) == before


async def test_who_does_not_go_on_from_practice_gives_the_place_back(tmp_path: Path, clock: ManualClock) -> None:
    site, id = Site.started(tmp_path, study(f"{ALONE}\n{PRACTICE}\n[limits]\nreply = 60"))
    site.finish(id)
    assert (site.state(id).limit, site.state(id).left) == ("continue", pytest.approx(60))
    site.tick(clock, 50)
    assert site.status(id) == "playing"
    site.tick(clock, 11)
    assert (site.status(id), site.state(id).code) == ("timeout", "LATE")


# What goes wrong, and what goes on all the same.


def broken(*_: Any) -> None:
    raise RuntimeError("very-own-words")


async def test_a_fault_is_noted_without_the_words_that_it_may_quote(tmp_path: Path) -> None:
    site = Site(tmp_path, study())
    (id,) = site.come()
    site.service.note_error(site.leases[id], OSError(28, "the disk is full"))
    assert "the disk is full" in site.service.monitor()["errors"][0]
    try:
        broken()
    except RuntimeError as error:
        site.service.note_error(site.leases[id], error)
    assert site.service.monitor()["people"][0]["errors"] == 2
    told = str(site.service.monitor()["errors"])
    assert "RuntimeError in test_service.py" in told and "very-own-words" not in told
    site.act(id, "leave")
    assert [n.detail for n in site.database.notes("trade") if n.kind == "error"] == ["[withdrawn]"] * 2


async def test_one_match_that_cannot_be_stopped_holds_up_no_other(tmp_path: Path, clock: ManualClock) -> None:
    site = Site(tmp_path, study(f"{ALONE}\n[limits]\nreply = 60"))
    one, two = site.start(2)
    first, _ = site.service.scheduler._sessions.running()
    first[1].stop = broken  # type: ignore[method-assign, assignment]
    for _ in range(2):
        site.tick(clock, 61)
    assert sorted([site.status(one), site.status(two)]) == ["playing", "timeout"]
    assert len([n for n in site.database.notes("trade") if n.kind == "error"]) == 1


async def test_who_waited_and_left_is_released_after_a_restart(tmp_path: Path, clock: ManualClock) -> None:
    site, id = Site.started(tmp_path, study(f"{PAIRS}\n[pairing]\nwait = 60"))
    site.restart()
    site.tick(clock, 61)
    assert site.status(id) == "unpaired"


async def test_a_page_whose_browser_is_silent_is_paired_with_nobody(tmp_path: Path) -> None:
    site = Site(tmp_path, study(PAIRS))
    one, two = site.come(2)
    site.act(one, "start")
    site.service.away("%", True)
    assert site.service.presence.is_present(one)
    site.service.away(f"k-{one}", True)
    site.act(two, "start")
    assert isinstance(site.state(two), Waiting)
    site.service.away(f"k-{one}", False)
    site.service.scheduler.tick()
    assert isinstance(site.state(two), Playing)


async def test_who_closed_the_page_seconds_ago_keeps_the_place_and_is_paired_when_seen_again(tmp_path: Path) -> None:
    site = Site(tmp_path, study(PAIRS))
    one, two, three = site.come(3)
    site.act(one, "start")
    site.service.presence[one]._last_poll = time.monotonic() - 3.0
    site.act(two, "start")
    assert isinstance(site.state(two), Waiting)
    site.service.presence[one]._last_poll = float("inf")
    site.act(three, "start")
    assert site.state(one).match == site.state(two).match, "in the order in which they came"
    assert isinstance(site.state(three), Waiting)


async def test_a_page_whose_poll_is_broken_off_is_gone_at_once(tmp_path: Path) -> None:
    site, id = Site.started(tmp_path, study(PAIRS))
    page = site.service.presence[id]
    page._last_poll = 0.0
    server = listen(Switch(seats_app(site.service)), tmp_path / "s.sock")
    _, stream = await asyncio.open_unix_connection(str(tmp_path / "s.sock"))
    query = f"lease={site.leases[id]}&after={page.version}"
    stream.write(f"GET /poll?{query} HTTP/1.1\r\nHost: host\r\n\r\n".encode())
    while not page.present:
        await asyncio.sleep(0.01)
    stream.close()
    await asyncio.sleep(0.2)
    assert page._polls == 0
    page._last_poll -= 2.0
    assert not page.present
    server.stop()


async def test_a_treatment_that_somebody_is_in_must_stay_in_the_file(tmp_path: Path) -> None:
    site = Site(tmp_path, study(PAIRS))
    site.start()
    site.study = study(PAIRS.replace("pairs", "other"))
    with pytest.raises(ValueError, match=r"participant 1 is working in treatment 'pairs'.*restore the treatment"):
        site.restart()
    site.study = study(PAIRS)
    site.restart()
    site.service.end(1, "enough")
    site.study = study(PAIRS.replace("pairs", "other"))
    site.restart()
    (other,) = site.start()
    assert isinstance(site.state(other), Waiting)


async def test_practice_has_a_delay_of_its_own(tmp_path: Path) -> None:
    site = Site(tmp_path, study(f"{PAIRS}\n{PRACTICE}\ndelay = {{ median = 30 }}"))
    ids = site.start(4)
    sessions = [each.session for each in site.service.scheduler._sessions.running()]
    for id in ids:
        if site.state(id).table["asked"]:
            site.say(id, "pass")
    assert all(session.thinking is not None for session in sessions)


async def test_the_rooms_and_visits_of_those_who_are_gone_are_closed(tmp_path: Path) -> None:
    site, id = Site.started(tmp_path, study())
    site.finish(id)
    scheduler = site.service.scheduler
    scheduler._looked = 0.0
    scheduler.tick()
    assert len(scheduler._sessions._open) == 1, "its page shows it"
    site.service.presence[id]._last_poll = -100.0
    scheduler._looked = 0.0
    scheduler.tick()
    assert (scheduler._sessions._open, site.service.presence) == ({}, {})
    assert site.state(id).can_continue


async def test_who_has_finished_reads_without_a_limit_and_keeps_their_code(tmp_path: Path) -> None:
    site, id = Site.started(tmp_path, study(f"{ALONE}\n[limits]\nreply = 60"))
    site.finish(id)
    assert (site.status(id), site.state(id).left) == ("complete", None)
    assert "already finished" in site.act(id, "leave").not_done
    site.act(id, "next")
    assert (site.status(id), site.state(id).code) == ("complete", "DONE")


@pytest.mark.parametrize(
    "id",
    [
        "a\nb",
        "5e\u200b90",
        "5e\u00ad90",
        "\ufeff5e90",
        "5e90\u202e",
        "5e\u00a090",
        "5e\x0790",
        "5e\u3164",
        "5e%3990",
        "5e\ufe0f",
        "=5e90",
        "+5e90",
        "-5e90",
        "@5e90",
    ],
)
def test_an_id_that_is_not_plain_is_refused_in_words_before_anybody_is_made_of_it(tmp_path: Path, id: str) -> None:
    site = Site(tmp_path, study(more='external = "PID"'))
    token = site.token()
    for enter in (site.service.authenticator.admit, site.service.authenticator.join):
        with pytest.raises(AccessDenied, match=r"your ID \(PID\) exactly once, in plain characters"):
            enter(token, {"PID": id})
    assert site.database.participants("trade") == []
    one, same = (site.service.authenticator.join(token, {"PID": text})[1] for text in ("Zoë Ω-9", "\u00a0Zoë Ω-9\n"))
    assert one == same


async def test_words_that_somebody_still_reads_are_deleted_as_soon_as_they_do_not(tmp_path: Path) -> None:
    site, id = Site.started(tmp_path, study())
    site.say(id, "very-own-words [Offer: 1 Wheat -> 1 Ore]")
    reader = sqlite3.connect(tmp_path / "people.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM events").fetchall()
    site.act(id, "leave")
    assert site.database.owed
    reader.close()
    site.database.forget()
    assert not site.database.owed
    assert not any(b"very-own-words" in path.read_bytes() for path in tmp_path.iterdir())


# Payment.


@pytest.mark.parametrize(
    ("tables", "speaks"),
    [
        ('opponent = "fair"', True),
        ('opponent = "fair"\ndisclosure = "A program."', False),
        ('opponent = "fair"\n[[treatments]]\nname = "pairs"', False),
        ('opponent = "fair"\n[[treatments]]\nname = "model"\nopponent = "llm:fake-1"\nseat = "B"', False),
    ],
)
async def test_no_text_speaks_of_a_machine_where_the_file_says_who_sits_across(
    tmp_path: Path, tables: str, speaks: bool
) -> None:
    site = Site(tmp_path, study(f'[[treatments]]\nname = "one"\nweight = 9\nseat = "B"\n{tables}', game="bargaining"))
    (id,) = site.come()
    site.database.change(id, treatment="one")
    site.act(id, "start")
    state = site.state(id)
    assert ("the AI" in str(state.table)) == state.fronted == speaks


async def test_the_last_page_tells_ones_own_earnings_and_nothing_of_the_other(tmp_path: Path) -> None:
    site = Site(tmp_path, study(PAIRS + PAID))
    first, second = site.start(2)
    for _ in range(40):
        for id in (first, second):
            state = site.state(id)
            if isinstance(state, Playing) and state.table["asked"]:
                site.say(id, "pass")
    payoffs = {}
    for id in (first, second):
        site.act(id, "next")
        closed = site.state(id)
        assert isinstance(closed, Closed)
        assert closed.link == "https://panel.example/complete?cc=DONE"
        assert closed.earnings is not None
        (match,) = closed.earnings.matches
        payoffs[id] = match.payoff
        assert closed.earnings.total == 200 + 5 * (match.payoff or 0)
    (played,) = site.database.matches("trade")
    ended = site.database.record(played.id).events[-1]
    assert isinstance(ended, Ended)
    assert {id: ended.payoffs[seat] for seat, id in played.people.items()} == payoffs


async def test_what_was_shown_is_kept_when_the_file_changes(tmp_path: Path) -> None:
    site = Site(tmp_path, study(ALONE + PAID))
    id = site.complete()
    shown = site.state(id).earnings
    site.study = study(ALONE + PAID.replace("2.00", "5.00"))
    site.restart()
    assert site.state(id).earnings == shown
    assert list(study_earnings(site.database, site.study).values()) == [shown]


async def test_a_game_that_words_its_own_payoffs_does_so_in_the_earnings(tmp_path: Path) -> None:
    site = Site(tmp_path, study(ALONE + PAID))
    id = site.complete()
    earned = site.state(id).earnings
    (match,) = earned.matches
    assert match.text in ("a win (+1)", "a draw (0)", "a loss (\N{MINUS SIGN}1)")
    assert earned.unit == ""


def seats_of(folder: Path, of: Study) -> dict[str, list[str]]:
    """Let 18 people start one after the other, of whom every fifth leaves; return their seats by treatment."""
    found = defaultdict(list)
    site = Site(folder, of)
    for k, id in enumerate(site.come(18)):
        site.act(id, "start")
        found[str(site.database.participant(id).treatment)].append(site.state(id).seat)
        if k % 5 == 0:
            site.act(id, "leave")
        if k == 9:
            site.restart()
    site.database.close()
    return found


@pytest.mark.parametrize("practice", ["", PRACTICE])
async def test_random_seats_are_balanced_among_all_who_started_in_a_treatment(tmp_path: Path, practice: str) -> None:
    found = seats_of(tmp_path, study(f"{TWO}\n{practice}"))
    for seats in found.values():
        assert all(set(seats[k : k + 2]) == {"A", "B"} for k in range(0, len(seats) - 1, 2))
        assert len({tuple(seats[k : k + 2]) for k in range(0, len(seats) - 1, 2)}) == 2, "nobody can tell theirs"
    (tmp_path / "again").mkdir()
    assert seats_of(tmp_path / "again", study(f"{TWO}\n{practice}")) == found


async def test_who_practised_at_a_seat_keeps_it_whoever_started_meanwhile(tmp_path: Path) -> None:
    site = Site(tmp_path, study(f"{EITHER}\n{PRACTICE}"))
    for id in site.come(4):
        site.act(id, "start")
        seat, other = site.state(id).seat, {"A": "B", "B": "A"}[site.state(id).seat]
        with sqlite3.connect(tmp_path / "people.db") as database:  # as a seat that was drawn by an older version
            database.execute("UPDATE seats SET seat = ? WHERE participant = ?", (other, id))
            database.execute("UPDATE matches SET ended = 1.0")
        site.service.scheduler.go_on(site.database.participant(id), passed=1)
        assert (site.state(id).seat, site.state(id).label) == (other, ""), f"not {seat}"


def invited(site: Site, n: int, link: str) -> list[str]:
    """Invite participants by a kind of link and open their pages."""
    kept = site.database.study(site.study.name, site.study.text)
    people = site.database.invite(site.study.name, n, link=link)
    for who in people:
        site.visit(links.personal_token(kept, who), who.id)
    return [who.id for who in people]


async def test_people_of_test_links_meet_and_balance_among_themselves_alone(tmp_path: Path) -> None:
    site = Site(tmp_path, study(f"{PAIRS}\n{EITHER}"))
    real, tests = invited(site, 6, "one"), invited(site, 6, "test")
    for pair in zip(tests, real, strict=True):
        for id in pair:
            site.act(id, "start")
    for ids in (real, tests):
        people = [site.database.participant(id) for id in ids]
        assert sorted(Counter(p.treatment for p in people).values()) in ([2, 4], [3, 3])
        for match in site.database.matches("trade"):
            assert set(match.people.values()) <= set(real) or set(match.people.values()) <= set(tests)
    assert any(len(match.people) == 2 for match in site.database.matches("trade"))


async def test_people_of_test_links_see_their_pay_and_are_in_no_count_file_or_export(tmp_path: Path) -> None:
    pays = "[payment]\ncurrency = 'GBP'\nrate = 0.1\nshow_up = 2"
    site = Site(tmp_path, study(more=f'external = "PID"\n{pays}'))
    (test,) = invited(site, 1, "test")
    site.act(test, "start")
    site.finish(test)
    site.act(test, "next")
    assert site.state(test).earnings.total > 0
    export(site.database, site.study, tmp_path / "out", "csv")
    assert [pd.read_csv(tmp_path / "out" / f"{name}.csv").empty for name in ("participants", "matches")] == [True] * 2
    assert (tmp_path / "out" / "records.jsonl").read_text() == ""
    with pytest.raises(ValueError, match="is not an export of the study"):
        export(site.database, site.study, tmp_path / "out", "csv", test=True)
    export(site.database, site.study, tmp_path / "tests", "csv", test=True)
    assert list(pd.read_csv(tmp_path / "tests" / "participants.csv").link) == ["test"]
    assert len(pd.read_csv(tmp_path / "tests" / "matches.csv")) == 1
    now = status(site.database, site.study)
    assert (now.running, now.ended, now.cells[0].complete, now.cells[0].paid) == (0, {}, 0, 0)
    assert status_lines(now)[1] == "no participants yet; in addition, 1 from test links, who are not counted"
    (tmp_path / "panel.csv").write_text("Participant id,Status\nann,APPROVED\n")
    settled = settle(site.database, site.study, tmp_path / "panel.csv", PanelFormat(), beside=tmp_path / "trade.toml")
    assert (settled.amounts, settled.said) == ({}, ["ann: unknown: nobody with this ID took part in this study"])
