"""The researcher's monitor: alerts, counts, and ending the study for a participant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import ipywidgets as w
import msgspec
import pytest
from negolab_widgets import Monitor
from negolab_widgets.server.supervisor import NOTICE
from negolab_widgets.study import StudyPage
from negolab_widgets.study.monitor_view import (
    NO_STUDY,
    MonitorState,
    format_duration,
    render_rest,
    render_top,
    sort_people,
)
from prometheus_client.parser import text_string_to_metric_families

from negolab.studies.client import HostClient
from negolab.studies.metrics import GateNumbers, render
from negolab.studies.model_seats import Pause
from negolab.studies.page_state import NotDelivered
from negolab.studies.payment import Currency
from negolab.studies.status import ERROR, Person, TreatmentCount
from tests.support.host_process import (
    HostProcess,
    descendants,
    follow_until,
    page_text,
    press_button,
    running_host,
    solo_treatment,
    study_toml,
)
from tests.widgets.test_study_page import EVIL, code, seated, started


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[HostProcess]:
    with running_host(tmp_path, study_toml("trading", solo_treatment("greedy-honest"))) as running:
        yield running


def leave(page: StudyPage) -> None:
    press_button(page, "Leave the study")
    press_button(page, "Yes, leave the study")


def field(monitor: Monitor, label: str) -> Any:
    (found,) = [p for p in descendants(monitor) if str(getattr(p, "description", "")).startswith(label)]
    return found


def end(monitor: Monitor, number: int, why: str) -> None:
    monitor._picks._hear({"picked": f"end {number}"})
    field(monitor, "Reason").value = why


def render_monitor(seen: MonitorState) -> str:
    return render_top(seen) + render_rest(seen)


# What it shows.


@pytest.mark.parametrize("has_host", [True, False])
def test_without_a_study_it_says_what_starts_one(has_host: bool, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("NEGOLAB_ADMIN", raising=False)
    with ExitStack() as stack:
        socket = stack.enter_context(running_host(tmp_path)).desk if has_host else None
        monitor = Monitor(socket)
    assert "No study is being served: start `negolab serve STUDY.toml`." in NO_STUDY
    assert NO_STUDY in page_text(monitor)
    assert "data-pick" not in monitor._top.value


def test_it_counts_people_treatments_and_matches(hosted: HostProcess) -> None:
    hosted.invite()
    leave(started(hosted)[0])
    page, _ = started(hosted)
    hosted.join()
    follow_until(lambda: True, page)
    shown = page_text(Monitor(hosted.desk))
    row = '<th scope="row">alone</th>' + "".join(f"<td>{cell}</td>" for cell in (1, 1, 0, 1, "1.00"))
    for words in (
        "Monitor: A small study",
        "n = 4 invited, 3 have opened the link",
        row,
        "1 running now, practice included. n = 1 ended, excluding practice.",
        "<td>1</td><td>100%</td>",
    ):
        assert words in shown


def test_errors_are_told_in_full_and_as_text(hosted: HostProcess) -> None:
    _, who, _ = hosted.join()
    with hosted.database() as database:
        database.note(ERROR, "host", study="small", participant=who.id, detail=f"the page failed {EVIL}")
    shown = page_text(Monitor(hosted.desk))
    assert "the page failed &lt;img" in shown and "<img" not in shown


def test_a_host_that_is_away_is_said_and_what_was_shown_stays(hosted: HostProcess) -> None:
    monitor = Monitor(hosted.desk)
    hosted.kill()
    monitor.refresh()
    assert re.search(r"The host has been unreachable since \d\d:\d\d:\d\d", page_text(monitor))
    assert "Monitor: A small study" in page_text(monitor)
    notice = Path(hosted.desk).with_name(NOTICE)
    notice.write_text("the host ended at 12:00:00 (killed by signal 9) and is being restarted")
    monitor.refresh()
    assert "killed by signal 9" in page_text(monitor)
    hosted.start()
    monitor.refresh()
    assert "killed by signal 9" in page_text(monitor) and "unreachable" not in page_text(monitor)
    notice.unlink()
    monitor.refresh()
    assert "killed by signal 9" not in page_text(monitor)


def person(number: int, status: str, **more: Any) -> Person:
    return Person(number=number, link="one", treatment="t", status=status, opened=True, **{"since": 900.0, **more})


def watched(*people: Person, present: tuple[int, ...] = ()) -> MonitorState:
    cells = (TreatmentCount(name=EVIL, weight=2, active=3, complete=1, dropped=0),)
    about: dict[str, Any] = {"study": "s", "title": EVIL, "at": 1000.0, "running": 1, "errors": (), "ended": {}}
    return MonitorState(people=people, cells=cells, present=present, **about)


def test_who_needs_a_look_stands_first() -> None:
    seen = watched(
        person(1, "complete"),
        person(2, "playing", idle=5.0),
        person(3, "invited"),
        person(4, "playing", idle=80.0),
        person(5, "waiting"),
        person(6, "playing", idle=200.0),
        person(7, "playing", idle=300.0),
        person(8, "playing", idle=1.0),
        person(9, "playing", idle=1.0, errors=1),
        person(10, "withdrawn", since=990.0),
        present=(2, 3, 4, 5, 6, 7, 9),
    )
    assert [p.number for p in sort_people(seen)] == [9, 7, 6, 8, 4, 2, 5, 3, 10, 1]


def test_who_has_opened_the_link_is_called_reading_and_what_people_write_is_text() -> None:
    shown = render_monitor(watched(person(1, "invited"), present=(1,)))
    assert "n = 1 invited, 1 has opened the link, 1 page open." in shown, "one is no plural"
    assert "<td>reading</td>" in shown
    assert "<img" not in render_monitor(watched(person(1, EVIL, match=EVIL), present=(1,)))


def test_a_match_that_waits_for_a_language_model_is_told() -> None:
    one = person(1, "playing", idle=45.0, match="m1")
    seen = watched(one, person(2, "playing", idle=45.0, match="m2"), present=(1, 2))
    shown = render_monitor(msgspec.structs.replace(seen, paused={"m1": Pause("llm:fake-1", 960.0)}))
    assert shown.count("waits for the model, 40 s") == 1 and shown.count("45 s ago") == 1
    at = datetime.fromtimestamp(960).astimezone()
    assert f"1 match paused now: llm:fake-1 has been unreachable since {at:%Y-%m-%d %H:%M:%S}" in shown
    assert "1 running now (1 waiting for a language model), practice included." in shown
    assert "waiting for a language model" not in render_monitor(seen)


GATE = GateNumbers(
    kernels=3, max_kernels=30, warm=1, queue=2, connections=17, refused={"429": 1200, "traffic": 4, "418": 1}
)


def test_the_monitor_shows_what_the_participants_server_carries_and_refused() -> None:
    shown = render_monitor(msgspec.structs.replace(watched(), gate=GATE))
    for words in (
        "3 of 30",
        "17",
        "Refused: too many requests",
        "1,200",
        "Refused: a page sent too much",
        "status 418",
    ):
        assert words in shown
    assert "Nothing is known about it yet." in render_monitor(watched())


def test_the_numbers_for_prometheus_can_be_read_and_name_nobody() -> None:
    text = render(watched(person(1, "playing"), person(2, "playing"), person(3, EVIL)), GATE)
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["negolab_participants", "playing"] == 2 and samples["negolab_participants", EVIL] == 1
    assert samples["negolab_kernels",] == 3 and samples["negolab_refused_total", "429"] == 1200
    assert samples["negolab_database_up",] == 1


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.9, "59 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (90000, "1 d 1 h"), (-3, "0 s")],
)
def test_a_duration_has_its_units(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


# What it does.


def test_the_study_is_ended_for_somebody_in_two_steps(hosted: HostProcess) -> None:
    page, _ = started(hosted)
    monitor = Monitor(hosted.desk)
    end(monitor, 1, f"left the room {EVIL}")
    assert not hosted.matches()[0].ended
    assert "End the study for participant 1?" in page_text(monitor)
    assert "<img" not in "".join(p.value for p in descendants(monitor) if isinstance(p, w.HTML))
    press_button(monitor, "Yes, end it")
    assert "Ended for participant 1." in page_text(monitor)
    follow_until(lambda: code(page), page)
    assert code(page) == "STOP4242"
    assert "The experimenter has ended the study for you." in page_text(page)
    assert "left the room" not in page_text(page), "the reason is not for them"
    (match,) = hosted.matches()
    assert match.ended is not None
    with hosted.database() as database:
        assert f"left the room {EVIL}" in [note.detail for note in database.notes("small")]


def test_it_ends_nothing_without_a_participant_a_reason_and_a_second_press(hosted: HostProcess) -> None:
    started(hosted)
    monitor = Monitor(hosted.desk)
    (yes,) = [p for p in descendants(monitor) if isinstance(p, w.Button) and p.description == "Yes, end it"]
    field(monitor, "Reason").value = "why"
    yes.click()
    end(monitor, 1, "  ")
    yes.click()
    assert "Give a reason" in page_text(monitor)
    end(monitor, 7, "why")
    yes.click()
    assert "There is no participant 7." in page_text(monitor)
    end(monitor, 1, "why")
    press_button(monitor, "No, continue")
    yes.click()
    assert hosted.matches()[0].ended is None


def test_a_look_loses_nothing_of_what_is_being_typed(hosted: HostProcess) -> None:
    started(hosted)
    page, _ = started(hosted)
    monitor = Monitor(hosted.desk)
    end(monitor, 2, "half a reas")
    seated(page)._submit("Pass.")
    hosted.join()
    monitor.refresh()
    assert field(monitor, "Reason").value == "half a reas"
    assert "End the study for participant 2?" in page_text(monitor)
    press_button(monitor, "Yes, end it")
    assert 'data-pick="end 2"' not in monitor._top.value and 'data-pick="end 1"' in monitor._top.value


def test_a_running_match_is_watched_as_it_goes_and_nothing_can_be_done_in_it(hosted: HostProcess) -> None:
    page, _ = started(hosted)
    monitor = Monitor(hosted.desk)
    assert monitor._watching.layout.display == "none"
    (match,) = hosted.matches()
    assert f'data-pick="watch {match.id}"' in monitor._top.value
    monitor._picks._hear({"picked": f"watch {match.id}"})
    assert f"Match {match.id[:8]}, as it goes" in monitor._match.value and "not over" in monitor._match.value
    assert "Seat A sees" in monitor._match.value and "Seat B sees" in monitor._match.value
    seated(page)._submit(f"Let us see. {EVIL}")
    monitor.refresh()
    assert "Let us see. &lt;img" in monitor._match.value and "<button" not in monitor._match.value
    press_button(monitor, "Close the match")
    assert monitor._watching.layout.display == "none"


def test_no_participants_socket_and_no_other_match_is_watched(hosted: HostProcess) -> None:
    started(hosted)
    (match,) = hosted.matches()
    with pytest.raises(NotDelivered, match="no such"):
        HostClient(hosted.desk).ask("/watch", match="another")
    with pytest.raises(NotDelivered):
        HostClient(hosted.seats).ask("/watch", match=match.id)


def test_who_has_not_opened_a_link_is_named_and_can_be_ended_after_a_question(hosted: HostProcess) -> None:
    hosted.invite()
    monitor = Monitor(hosted.desk)
    assert "Participant 1 has not opened the link." in monitor._top.value
    assert ">End participant 1\N{HORIZONTAL ELLIPSIS}</button>" in monitor._top.value
    end(monitor, 1, "a mistake")
    assert "End the study for participant 1?" in page_text(monitor)
    assert "Participant 1 has not opened the link." in monitor._top.value, "it is asked first"
    press_button(monitor, "Yes, end it")
    assert "Ended for participant 1." in page_text(monitor)


def test_what_a_page_makes_up_does_nothing(hosted: HostProcess) -> None:
    monitor = Monitor(hosted.desk)
    for token in ("end", "end x", "end -1", "watch nothing", "watch", "look 1", "end 999999999999"):
        monitor._picks._hear({"picked": token})
        assert monitor._watching.layout.display == monitor._ending._form.layout.display == "none", token


def test_who_has_ended_meanwhile_is_said(hosted: HostProcess) -> None:
    page, _ = started(hosted)
    monitor = Monitor(hosted.desk)
    end(monitor, 1, "why")
    leave(page)
    press_button(monitor, "Yes, end it")
    assert "Participant 1 has already ended (withdrawn)." in page_text(monitor)


def test_nothing_is_drawn_again_if_nothing_is_new(hosted: HostProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = Monitor(hosted.desk)
    monitor.refresh()
    sent: list[Any] = []
    for part in (monitor._top, monitor._rest, monitor._match):
        part.observe(sent.append)
    monitor.refresh()
    assert sent == []


def test_earnings_stand_beside_the_treatment_and_returned_ones_are_marked() -> None:
    seen = watched(person(1, "complete", returned=True))
    assert "Earned" not in render_monitor(seen) and "<td>complete, returned</td>" in render_monitor(seen)
    cell = msgspec.structs.replace(seen.cells[0], paid=3, earned=123450)
    shown = render_monitor(msgspec.structs.replace(seen, cells=(cell,), currency=Currency("GBP", 2, "£")))
    assert "Earned (n)" in shown and "£1,234.50 (3)" in shown
