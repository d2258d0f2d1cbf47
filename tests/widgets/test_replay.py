"""Replay without a browser: list, steps, seat views, branches, and transcripts."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import ipywidgets as w
import msgspec
import pytest
from negolab_widgets import HumanSeat, Replay
from negolab_widgets.replay.comparison import common_prefix
from negolab_widgets.replay.record_list import MAX_LISTED, RecordList
from negolab_widgets.replay.scrubber import record_steps, view_steps

import negolab as nl
from negolab.catalog import game_names
from negolab.events import Replied
from negolab.formats import open_records
from negolab.game import SEATS, Reply
from negolab.match import Match, replay_differences
from negolab.record import Record
from negolab.runs.plan import make_plan
from negolab.store import Store, read
from tests.formats.test_transcript import DEAL, interactions
from tests.formats.test_transcript import folder as episode
from tests.support.tables import visible
from tests.widgets.test_widgets import below, press, state

GOLDEN = Path(__file__).parents[2] / "data" / "replays"


def golden(game: str) -> Record:
    return read(GOLDEN / f"{game}.jsonl")[0]


def drawn(widget: w.Widget) -> str:
    return " ".join(part.value for part in below(widget) if isinstance(part, w.HTML))


def choose(replay: Replay, label: str, value: Any) -> None:
    (box,) = [part for part in below(replay) if getattr(part, "description", "") == label]
    box.value = value


@pytest.mark.parametrize("game", game_names())
def test_every_step_of_a_record_is_shown_to_the_experimenter(game: str, tmp_path: Path) -> None:
    record = golden(game)
    replay = Replay(record, out=tmp_path)
    slider = replay._scrubber.slider
    assert slider.max == len(record.events)
    seen = []
    for at in range(1, slider.max + 1):
        slider.value = at
        seen.append(drawn(replay))
    assert len(set(seen)) == len(seen), "each step differs from the others"
    assert "could not be shown" not in seen[-1]


@pytest.mark.parametrize("game", game_names())
@pytest.mark.parametrize("seat", SEATS)
def test_a_seats_view_has_a_step_for_each_of_its_replies_and_none_of_the_others(game: str, seat: Any) -> None:
    record = golden(game)
    own = [e.reply.text for e in record.events if isinstance(e, Replied) and e.seat == seat]
    shown = [s.entry.reply.text for s in view_steps(record.seen_by(seat)) if isinstance(s.entry, Replied)]
    assert shown == own
    assert all(set(step.seen) == {seat} for step in view_steps(record.seen_by(seat)))


@pytest.mark.parametrize("game", game_names())
@pytest.mark.parametrize("seat", SEATS)
def test_a_seats_view_tells_the_game_as_the_seat_was_told_it(game: str, seat: Any) -> None:
    record = golden(game)
    assert record.seen_by(seat).told == record.game.told(seat)
    assert record.seen_by(seat).told.preset is None


def test_a_seats_view_keeps_the_others_secret_out_of_every_widget() -> None:
    game = nl.load("bargaining", preset="none", buyer_values=(6173,), seller_costs=(3719,), default_opening=5555)
    match = nl.play(Match(game, seed=1), {"A": nl.player("fixed", game, price=5601), "B": nl.player("linear", game)})
    replay = Replay(match.record().seen_by("A"))
    for at in range(1, replay._scrubber.slider.max + 1):
        replay._scrubber.slider.value = at
        assert not re.search(r"\b(6173|61\.73)\b", state(replay))


def test_a_refused_reply_is_shown_with_its_words_reason_tokens_and_latency() -> None:
    match = Match(nl.load("balloon"), seed=1)
    words = "<img src=x onerror=alert(1)> not a message"
    match.submit("A", Reply(words, model="m-1", asked_at=1.0, answered_at=3.5, usage={"prompt_tokens": 12}, cost=0.002))
    replay = Replay(match.record())
    replay._scrubber.slider.value = 2
    text = drawn(replay)
    assert "&lt;img src=x onerror=alert(1)&gt; not a message" in text
    assert "<img" not in text
    for fact in ("m-1", "2.50 s", "12 prompt tokens", "$0.0020"):
        assert fact in text
    replay._scrubber.slider.value = 3
    assert "format fault" in drawn(replay)


def test_the_list_is_filtered_and_sorted() -> None:
    records = nl.batch("trading", "greedy-honest", "random-legal", n=6, seed=1) + nl.batch(
        "split", "greedy", "random-legal", n=4, seed=1
    )
    chosen: list[Record] = []
    shelf = RecordList(records, chosen.append)

    def listed() -> list[Record]:
        return [records[i] for _, i in shelf._list.options]

    assert len(listed()) == 10
    shelf._game.value = "split"
    assert {r.header.game for r in listed()} == {"split"}
    shelf._sort.value = "payoff of A, largest first"
    paid = [r.payoffs["A"] for r in listed()]
    assert paid == sorted(paid, reverse=True)
    shelf._game.value = "all"
    shelf._find.value = f"TRADING {records[2].id}"
    assert listed() == [records[2]]
    assert "1 of 10 records" in shelf._count.value
    shelf._list.value = 2
    assert chosen == [records[2]]


def test_a_long_list_is_listed_in_pages() -> None:
    records = nl.batch("trading", "chat", "chat", n=MAX_LISTED + 10, seed=1)
    shelf = RecordList(records, lambda record: None)
    assert len(shelf._list.options) == MAX_LISTED and shelf._previous.disabled
    assert f"{MAX_LISTED + 10} of {MAX_LISTED + 10} records; listed: 1 to {MAX_LISTED}" in shelf._count.value
    shelf._next.click()
    assert [i for _, i in shelf._list.options] == [*range(MAX_LISTED, MAX_LISTED + 10)] and shelf._next.disabled
    shelf._previous.click()
    assert shelf._list.options[0][1] == 0
    shelf._next.click()
    shelf._sort.value = "end"
    assert len(shelf._list.options) == MAX_LISTED


def test_a_short_list_has_no_pages() -> None:
    shelf = RecordList(nl.batch("trading", "chat", "chat", n=2, seed=1), lambda record: None)
    assert not visible(shelf._pages)
    shelf._find.value = "nothing like it"
    assert shelf._list.options == ()


@pytest.mark.parametrize("game", game_names())
def test_a_branch_shares_its_beginning_and_is_kept_with_its_origin(game: str, tmp_path: Path) -> None:
    record = golden(game)
    replay = Replay(record, out=tmp_path)
    at = next(i for i, s in enumerate(record_steps(record), 1) if type(s.entry).__name__ == "Stepped")
    replay._scrubber.slider.value = at
    press(replay, "Branch from this step")
    origin, branch = read(tmp_path)
    assert origin == record
    assert f"The first {common_prefix(record, branch)} steps are the same." in drawn(replay)
    assert branch.header.notes["forked_from"] == record.id
    assert common_prefix(record, branch) >= at
    assert branch.end is not None
    assert replay_differences(branch) == []
    assert replay._comparison.widget.layout.display is None
    press(replay, "Branch from this step")
    assert len(read(tmp_path)) == 3, "the origin is kept once"


def test_a_person_can_play_a_branch_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("negolab_widgets.play.seat.DOUBLE_CLICK", 0)
    record = golden("bargaining")
    replay = Replay(record, out=tmp_path)
    replay._scrubber.slider.value = next(
        i for i, s in enumerate(record_steps(record), 1) if getattr(s.entry, "seats", ()) == ("A",)
    )
    choose(replay, "Seat B is played on by", "you, at the table")
    press(replay, "Branch from this step")
    (seat,) = [part for part in below(replay) if isinstance(part, HumanSeat)]
    seat._on_reply("accept")
    assert read(tmp_path)[-1].end == "AGREED"
    assert read(tmp_path)[-1].header.players["B"] == "person"


def start_own_branch(replay: Replay, seat: str = "B") -> None:
    record = replay._record
    assert record is not None
    replay._scrubber.slider.value = next(
        i for i, s in enumerate(record_steps(record), 1) if getattr(s.entry, "seats", ()) == ("A",)
    )
    choose(replay, f"Seat {seat} is played on by", "you, at the table")
    press(replay, "Branch from this step")


def test_a_branch_that_is_left_is_kept_with_its_own_origin(tmp_path: Path) -> None:
    records = nl.batch("bargaining", "linear", "boulware", n=2, seed=1)
    replay = Replay(records, out=tmp_path)
    start_own_branch(replay)
    replay._record_list._list.value = 1
    origin, branch = read(tmp_path)
    assert origin.id == records[0].id == branch.header.notes["forked_from"]
    assert branch.end == "ABORTED"
    assert list(replay._branches.values()) == [records[1]]


def test_a_branch_that_cannot_be_written_is_said_and_written_with_the_next(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where the folder should be")
    replay = Replay(golden("trading"), out=tmp_path / "out")
    replay._scrubber.slider.value = 3
    press(replay, "Branch from this step")
    assert "not kept yet" in drawn(replay)
    assert replay._comparison.widget.layout.display is None, "it is there to be looked at"
    (tmp_path / "out").unlink()
    press(replay, "Branch from this step")
    assert len(read(tmp_path / "out")) == 3


def test_branches_are_not_mixed_into_a_batch(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.claim(make_plan(nl.load("split"), "greedy", "greedy", n=1))
    replay = Replay(golden("trading"), out=tmp_path)
    replay._scrubber.slider.value = 3
    press(replay, "Branch from this step")
    assert "holds a batch" in drawn(replay)
    assert read(tmp_path) == []


def test_a_record_that_says_something_else_than_its_replies_is_called_so() -> None:
    record = golden("bargaining")
    forged = msgspec.structs.replace(record.events[-1], payoffs={"A": 999999, "B": -5})
    replay = Replay(Record(record.header, (*record.events[:-1], forged)))
    assert "not what the rules make of its replies" in drawn(replay)
    replay._scrubber.slider.value = 3
    assert "not what the rules make of its replies" in drawn(replay)


def test_a_record_that_cannot_be_replayed_leaves_nothing_of_another_on_the_page() -> None:
    good = golden("balloon")
    reply = msgspec.structs.replace(good.events[1], reply=Reply("rubbish"))
    bad = Record(msgspec.structs.replace(good.header, id="bad"), (good.events[0], reply, *good.events[2:]))
    replay = Replay([good, bad])
    replay._record_list._list.value = 1
    assert "record bad, event 2: cannot be replayed" in drawn(replay)
    assert replay._match.layout.display == "none"
    replay._record_list._list.value = 0
    assert "cannot be replayed" not in drawn(replay)
    assert replay._match.layout.display is None


def test_one_unreadable_record_or_episode_hides_no_other(tmp_path: Path) -> None:
    good = golden("trading")
    strange = Record(msgspec.structs.replace(good.header, id="strange", game="nosuch"), good.events)
    replay = Replay([good, strange])
    assert len(replay._record_list._list.options) == 2
    replay._record_list._list.value = 1
    assert "nosuch" in drawn(replay)
    episode(tmp_path / "good", interactions(*DEAL))
    (episode(tmp_path / "odd", interactions(*DEAL)) / "interactions.json").write_text('{"turns": 5}')
    found = open_records(tmp_path)
    assert len(found.records) == 1
    assert "odd" in found.troubles[0]


def test_a_torn_last_line_is_told(tmp_path: Path) -> None:
    line = golden("trading").to_line()
    (tmp_path / "r.jsonl").write_bytes(line + line[:200])
    assert "torn" in Replay(tmp_path / "r.jsonl")._troubles.value


def test_what_is_no_record_is_refused_in_one_sentence() -> None:
    assert "is none" in drawn(Replay(["x"]))  # type: ignore[list-item]
    assert "not 5" in drawn(Replay(5))  # type: ignore[arg-type]


def test_the_eyes_and_the_moment_stay_when_the_other_changes() -> None:
    records = nl.batch("bargaining", "linear", "boulware", n=2, seed=1)
    replay = Replay(records)
    replay._scrubber.slider.value = 6
    seen = replay._scrubber.step.seen["A"]
    choose(replay, "Seen by", "seat A alone")
    assert replay._scrubber.step.seen["A"] == seen
    assert "would pay A" not in drawn(replay)
    replay._record_list._list.value = 1
    assert replay._viewpoint.value == "seat A alone"
    assert set(replay._scrubber.step.seen) == {"A"}


def test_both_seats_cannot_be_one_persons(tmp_path: Path) -> None:
    replay = Replay(golden("bargaining"), out=tmp_path)
    for seat in SEATS:
        choose(replay, f"Seat {seat} is played on by", "you, at the table")
    press(replay, "Branch from this step")
    assert "One seat can be yours" in drawn(replay)
    assert not list(tmp_path.iterdir())


def test_where_the_match_is_over_there_is_nothing_to_branch(tmp_path: Path) -> None:
    replay = Replay(golden("trading"), out=tmp_path)
    replay._scrubber.slider.value = replay._scrubber.slider.max
    button = replay._branching._branch_button
    assert button.disabled
    button.click()
    assert "over" in drawn(replay)
    assert not list(tmp_path.iterdir())


def test_a_published_episode_is_opened_and_branched_at_its_third_message(tmp_path: Path) -> None:
    episode(tmp_path / "episodes" / "deal", interactions(*DEAL))
    crashed = episode(tmp_path / "episodes" / "crashed", interactions(*DEAL))
    (crashed / "interactions.json").unlink()
    replay = Replay(tmp_path / "episodes", out=tmp_path / "branches")
    assert "crashed" in replay._troubles.value
    record = replay._record
    assert record is not None
    third = [i for i, s in enumerate(record_steps(record), 1) if isinstance(s.entry, Replied)][2]
    replay._scrubber.slider.value = third
    press(replay, "Branch from this step")
    origin, branch = read(tmp_path / "branches")
    assert origin.events[1:] == record.events[1:]
    assert common_prefix(origin, branch) == third - 1
    assert replay_differences(branch) == []


@pytest.mark.parametrize("style", ["latex", "html", "markdown", "clembench"])
def test_the_transcript_is_there_to_be_saved(style: str) -> None:
    replay = Replay(golden("balloon"))
    choose(replay, "Transcript as", style)
    press(replay, "Write the transcript")
    data = replay._link.value.split("base64,")[1].split('"')[0]
    assert base64.b64decode(data).decode() == nl.formats.transcript.export(golden("balloon"), style)


def test_a_seats_transcript_is_that_of_its_view() -> None:
    replay = Replay(golden("balloon"))
    choose(replay, "Seen by", "seat A alone")
    press(replay, "Write the transcript")
    data = replay._link.value.split("base64,")[1].split('"')[0]
    secrets = json.dumps(golden("balloon").events[0].state["private"]["B"]["importance"])  # type: ignore[union-attr]
    assert secrets not in base64.b64decode(data).decode()
    assert "seat-A" in replay._link.value


def test_nothing_to_open_shows_what_to_do_and_a_bad_file_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NEGOLAB_RECORDS", raising=False)
    assert "negolab replay FILE --browser" in drawn(Replay())
    (tmp_path / "bad.jsonl").write_text('{"header": 3}\n')
    assert "bad.jsonl, line 1" in drawn(Replay(tmp_path / "bad.jsonl"))
    assert "there are no records" in drawn(Replay(tmp_path / "nowhere")) or "no records at" in drawn(
        Replay(tmp_path / "nowhere")
    )


def test_a_slider_takes_only_what_is_in_its_range() -> None:
    replay = Replay(golden("trading"))
    slider = replay._scrubber.slider
    for sent in (10**9, -5, 2.7):
        slider.set_state({"value": sent})
        assert 1 <= slider.value <= slider.max
    for name, value in (("max", 10**6), ("value", 10**6), ("min", -100), ("value", -50)):
        slider.set_state({name: value})
        assert replay._scrubber.step in replay._scrubber._steps
    replay.show(golden("split"))
    assert (slider.min, slider.value, slider.max) == (1, 1, len(golden("split").events))
    assert "could not be shown" not in drawn(replay)


def test_records_from_everywhere_are_opened() -> None:
    assert open_records(GOLDEN / "split.jsonl").records == (golden("split"),)
    assert {r.header.game for r in open_records(GOLDEN).records} == set(game_names())
