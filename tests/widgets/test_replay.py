"""Replay without a browser: list, steps, seat views, branches, and transcripts."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from html import unescape
from operator import itemgetter
from pathlib import Path
from typing import Any

import ipywidgets as w
import msgspec
import pytest
from negolab_widgets import HumanSeat, Replay
from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import StableHTML
from negolab_widgets.replay.cockpit import Cockpit
from negolab_widgets.replay.comparison import common_prefix
from negolab_widgets.replay.plane import Course, PlanePoint, Surroundings, proposal_figure, render_plane
from negolab_widgets.replay.record_list import COLUMNS, PAGE, RecordList
from negolab_widgets.replay.steps import record_steps, view_steps

import negolab as nl
from negolab.analysis.replies import proposals
from negolab.catalog import game_names
from negolab.events import Replied, Stepped
from negolab.formats import list_record, list_source
from negolab.game import SEATS, Game, Reply
from negolab.match import Match
from negolab.record import Record, states
from negolab.runs.plan import make_plan
from negolab.store import Store, read
from negolab.verification import replay_differences
from tests.formats.test_transcript import DEAL, interactions
from tests.formats.test_transcript import folder as episode
from tests.support.tables import below, press, state, visible

GOLDEN = Path(__file__).parents[2] / "data" / "replays"


def golden(game: str) -> Record:
    return read(GOLDEN / f"{game}.jsonl")[0]


def drawn(widget: w.Widget) -> str:
    """All HTML below a widget."""
    names = ("value", "moment", "moves", "plane", "strip")
    parts = [part for part in below(widget) if isinstance(part, w.HTML | StableHTML | Cockpit)]
    return " ".join(getattr(part, name) for part in parts for name in names if hasattr(part, name))


def choose(replay: Replay, label: str, value: Any) -> None:
    (box,) = [part for part in below(replay) if getattr(part, "description", "") == label]
    box.value = value


@pytest.mark.parametrize("game", game_names())
def test_every_step_of_a_record_is_shown_to_the_experimenter(game: str, tmp_path: Path) -> None:
    record = golden(game)
    replay = Replay(record, out=tmp_path)
    cockpit = replay._cockpit
    assert [event for step in cockpit.steps for event in step.entries] == list(record.events)
    seen = []
    for at in range(1, cockpit.count + 1):
        cockpit.step = at
        seen.append((cockpit.step, drawn(replay)))
    assert len(set(seen)) == len(seen), "each step differs from the others"
    assert "could not be shown" not in seen[-1][1]


def test_a_record_is_shown_at_the_step_that_is_asked_for(tmp_path: Path) -> None:
    replay = Replay(golden("bargaining"), out=tmp_path)
    replay.show(golden("balloon"), step=5)
    assert replay._cockpit.step == 3, "a reply and what it caused are one step: 1, 2-3, 4-5"


@pytest.mark.parametrize("game", game_names())
@pytest.mark.parametrize("seat", SEATS)
def test_a_seats_view_has_a_step_for_each_of_its_replies_and_none_of_the_others(game: str, seat: Any) -> None:
    record = golden(game)
    view = record.seen_by(seat)
    own = [e.reply.text for e in record.events if isinstance(e, Replied) and e.seat == seat]
    assert [s.entry.reply.text for s in view_steps(view) if isinstance(s.entry, Replied)] == own
    assert all(set(step.seen) == {seat} for step in view_steps(view))
    assert view.told == record.game.told(seat) and view.told.preset is None


def secret_record() -> Record:
    """A record of a buyer's value of 6173 and a seller's cost of 3719, with a deal at 5601."""
    game = nl.load("bargaining", preset="none", buyer_values=(6173,), seller_costs=(3719,), default_opening=5555)
    match = Match(game, seed=1)
    return nl.play(match, {"A": nl.player("fixed", game, price=5601), "B": nl.player("linear", game)}).record()


def states_of_all_steps(replay: Replay) -> Iterator[str]:
    for at in range(1, replay._cockpit.count + 1):
        replay._cockpit.step = at
        yield state(replay)


def test_a_seats_view_keeps_the_others_secret_out_of_every_widget() -> None:
    for page in states_of_all_steps(Replay(secret_record().seen_by("A"))):
        assert not re.search(r"\b(6173|61\.73)\b", page)


def test_another_viewpoint_takes_the_others_numbers_off_the_page() -> None:
    replay = Replay(secret_record())
    gain = r"\b(6173|61\.73|572|5\.72)\b"  # of the buyer at the price of 56.01
    assert re.search(gain, replay._cockpit.plane) and re.search(gain, replay._cockpit.moves)
    assert [words for _, words, _ in replay._viewpoint.options[1:]] == ["the seller alone", "the buyer alone"]
    assert not visible(replay._tables.widget) and not visible(replay._branching.widget)
    choose(replay, "Seen by", "A")
    assert replay._cockpit.plane == replay._cockpit.strip == ""
    assert visible(replay._tables.widget), "a seat's own view is what is looked at then"
    assert not visible(replay._what_if.widget)
    assert not any(re.search(gain, page) for page in states_of_all_steps(replay))


NAMES = {"bargaining": ("Seller", "Buyer"), "agenda": ("Candidate", "Recruiter")}
"""What the seats of golden records are called where their game has a name for them."""


@pytest.mark.parametrize("game", game_names())
def test_a_game_words_its_moves_in_one_line_and_never_as_data(game: str) -> None:
    steps = record_steps(golden(game))
    said = [step.words for step in steps if step.seat is not None and step.rejection is None]
    assert said and all("\n" not in words and len(words) > 5 for words in said)
    assert {words.split()[0] for words in said} == set(NAMES.get(game, SEATS))
    assert not any(sign in words for words in said for sign in "{}<>[]")


def points_of(replay: Replay) -> list[tuple[int, float, float]]:
    """Step and payoffs of the points of a plane."""
    found = re.findall(r'data-step="(\d+)" data-a="([^"]+)" data-b="([^"]+)"', replay._cockpit.plane)
    return sorted((int(step), float(a), float(b)) for step, a, b in found)


def test_the_planes_points_are_the_proposals_and_its_ring_goes_where_the_step_is() -> None:
    record = golden("bargaining")
    replay = Replay(record)
    made = [(p.a, p.b) for p in proposals(record)]
    assert sorted((a, b) for _, a, b in points_of(replay)) == sorted(made)
    places = json.loads(html_text(re.search(r'data-places="([^"]+)"', replay._cockpit.plane)))
    assert [step for step, _, _ in places] == [1, 2, 3, 4, 5, 6, 8], "no deal, five proposals, the deal"
    assert "No deal: seller $0.00, buyer $0.00." in replay._cockpit.moment
    assert places[-1][1:] == places[-2][1:], "the deal is the last proposal"


def test_rounds_that_pay_by_themselves_are_points_of_what_was_paid_so_far() -> None:
    record = golden("split")
    rounds = [state for event, state in zip(record.events, states(record), strict=True) if is_round(event)]
    paid = [record.game.outcome(state).payoffs for state in rounds]
    replay = Replay(record)
    points = points_of(replay)
    assert [(a, b) for _, a, b in points] == [pytest.approx((pay["A"], pay["B"])) for pay in paid]
    assert points[-1][1:] == pytest.approx(tuple(record.payoffs.values()))
    replay._cockpit.step = points[1][0]
    assert is_round(replay._cockpit.current.entries[-1]) and "So far: " in replay._cockpit.moment
    words = drawn(replay)
    assert "If accepted" not in words and "A proposes" not in words and "A's payoff so far (points)" in unescape(words)


def is_round(event: object) -> bool:
    """Return True for the event in which both seats act at once."""
    return isinstance(event, Stepped) and event.seats == SEATS


def test_what_trades_gain_is_no_payoff() -> None:
    replay = Replay(golden("trading"))
    assert "A's gain in own worth" in unescape(replay._cockpit.plane) and "payoff" not in replay._cockpit.plane
    replay._cockpit.step = 2
    assert "If accepted, in all: " in replay._cockpit.moment


def test_a_game_without_stakes_terms_or_words_has_no_plane_and_says_what_was_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = golden("bargaining")
    for name in ("stakes", "terms", "describe"):
        monkeypatch.setattr(type(record.game), name, getattr(Game, name))
    replay = Replay(record)
    assert replay._cockpit.plane == replay._cockpit.strip == "" and "would pay" not in drawn(replay)
    assert replay._cockpit.steps[1].words == "Seller says “65.00”" and "no deal" not in drawn(replay)


def html_text(found: re.Match[str] | None) -> str:
    assert found is not None
    return unescape(found.group(1))


def test_a_refused_reply_is_shown_with_its_words_reason_tokens_and_latency() -> None:
    match = Match(nl.load("balloon"), seed=1)
    words = "<img src=x onerror=alert(1)> not a message"
    match.submit("A", Reply(words, model="m-1", asked_at=1.0, answered_at=3.5, usage={"prompt_tokens": 12}, cost=0.002))
    replay = Replay(match.record())
    replay._cockpit.step = 2
    text = drawn(replay)
    assert "&lt;img src=x onerror=alert(1)&gt; not a message" in text
    assert "<img" not in text
    for fact in ("m-1", "2.50 s", "12 prompt tokens", "$0.0020"):
        assert fact in text
    replay._cockpit.step = 3
    assert "format fault" in drawn(replay)


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """Six records of trading, then four of split."""
    return [
        *nl.batch("trading", "greedy-honest", "random-legal", n=6, seed=1),
        *nl.batch("split", "greedy", "random-legal", n=4, seed=1),
    ]


@pytest.fixture(scope="module")
def prices() -> list[Record]:
    """Three records of bargaining."""
    return list(nl.batch("bargaining", "linear", "boulware", n=3, seed=1))


def listing(records: list[Record]) -> RecordList:
    shelf = RecordList(lambda record: None, FaultGuard("a test"), lambda: None)
    shelf.set_records([list_record(record) for record in records])
    return shelf


def press_in(shelf: RecordList, **sent: Any) -> None:
    """Press a button of the table."""
    shelf._on_sent(sent)


def test_the_list_is_filtered_by_game_end_words_and_the_beginning_of_an_id(records: list[Record]) -> None:
    shelf = listing(records)
    assert shelf._order == [*range(10)]
    shelf._game.value = "split"
    assert {records[i].header.game for i in shelf._order} == {"split"}
    shelf._game.value = "all"
    shelf._find.value = f"TRADING {records[2].id[:20]}"
    assert 2 in shelf._order and all(records[i].header.game == "trading" for i in shelf._order)
    shelf._find.value = records[2].id
    assert shelf._order == [2] and "1 of 10 records" in shelf._table.value
    shelf._find.value, shelf._end.value = "", "agreed"
    assert {records[i].end for i in shelf._order} == {"AGREED"}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_list_is_sorted_by_any_column_both_ways_and_not(name: str, records: list[Record]) -> None:
    records = [*records, unfinished()]
    shelf = listing(records)
    rows = [getattr(list_record(record), name) for record in records]
    known = sorted(value for value in rows if value is not None)
    for expected in (known, known[::-1]):
        press_in(shelf, sort=name)
        values = [rows[i] for i in shelf._order]
        assert values[: len(known)] == expected and set(values[len(known) :]) <= {None}
    assert "aria-sort" in shelf._table.value
    press_in(shelf, sort=name)
    assert shelf._order == [*range(len(records))] and "aria-sort" not in shelf._table.value


def unfinished() -> Record:
    return Match(nl.load("trading"), seed=1).record()


def test_a_long_list_is_sent_to_the_page_in_parts() -> None:
    shelf = listing(nl.batch("trading", "chat", "chat", n=PAGE + 10, seed=1))
    assert shelf._table.value.count("<tr") == PAGE + 1 and f"rows 1 to {PAGE}" in shelf._table.value
    press_in(shelf, page=1)
    assert shelf._table.value.count("<tr") == 11 and f"rows {PAGE + 1} to {PAGE + 10}" in shelf._table.value
    press_in(shelf, page=-1)
    press_in(shelf, page=1)
    press_in(shelf, sort="end")
    assert shelf._first == 0, "another order begins at its first row"


def test_what_a_page_sends_to_the_list_is_checked(records: list[Record]) -> None:
    shelf = listing(records)
    for sent in ({"open": 99}, {"open": -1}, {"sort": "source"}, {"sort": 3}, {"page": 10**9}, {"page": "x"}, 7, None):
        shelf._on_sent(sent)
    assert shelf._current == -1 and shelf._sort is None and shelf._table.value.count("<tr") >= 2


def test_records_are_walked_through_in_the_order_of_the_list(records: list[Record]) -> None:
    replay = Replay(records)
    shelf = replay._record_list
    press_in(shelf, sort="id")
    press_in(shelf, open=shelf._order[1])
    assert not visible(shelf.widget), "the list makes room for the match"
    shown = [replay._record]
    press(replay, "Next")
    shown.append(replay._record)
    ids = [record.id for record in shown if record is not None]
    assert ids == [shelf._records[i].id for i in shelf._order[1:3]]
    press(replay, "Show the list")
    assert visible(shelf.widget) and "3 of 10" in drawn(replay)


def test_the_latest_finished_match_is_shown_at_once_and_the_list_is_folded(prices: list[Record]) -> None:
    days = ("01-01", "01-03", "01-02", "02-01")
    dated = [
        Record(msgspec.structs.replace(one.header, created=f"2026-{day}T12:00:00+00:00"), one.events)
        for one, day in zip([*prices, Record(prices[0].header, prices[0].events[:-1])], days, strict=True)
    ]
    replay = Replay(dated)
    assert replay._record is dated[1]
    assert not visible(replay._record_list.widget) and "Show the list" in state(replay)
    assert "Bargaining, Both know both numbers" in replay._head.value


def test_an_id_is_there_to_be_copied_whole() -> None:
    record = unfinished()
    assert f'data-copy="{record.id}"' in listing([record])._table.value


@pytest.mark.parametrize("game", game_names())
def test_a_branch_shares_its_beginning_and_is_kept_with_its_origin(game: str, tmp_path: Path) -> None:
    record = golden(game)
    replay = Replay(record, out=tmp_path)
    at = next(i for i, s in enumerate(record_steps(record), 1) if s.seat is not None)
    replay._cockpit.step = at
    press(replay, "Branch from this step")
    origin, branch = read(tmp_path)
    assert origin == record
    common = common_prefix(record, branch)
    shared = sum(step.at <= common for step in record_steps(record))
    assert f"The first {shared} steps are the same." in drawn(replay)
    assert branch.header.notes["forked_from"] == record.id
    assert common >= replay._cockpit.current.at
    assert branch.end is not None
    assert replay_differences(branch) == []
    assert replay._comparison.widget.layout.display is None
    press(replay, "Branch from this step")
    assert len(read(tmp_path)) == 3, "the origin is kept once"


def start_own_branch(replay: Replay) -> None:
    """Branch to a person at seat B at the first reply of seat A."""
    assert replay._record is not None
    replay._cockpit.step = next(i for i, s in enumerate(record_steps(replay._record), 1) if s.seat == "A")
    choose(replay, "Seat B continues with", "you, at the table")
    press(replay, "Branch from this step")


def test_a_person_can_play_a_branch_on(tmp_path: Path) -> None:
    replay = Replay(golden("bargaining"), out=tmp_path)
    start_own_branch(replay)
    (seat,) = [part for part in below(replay) if isinstance(part, HumanSeat)]
    seat._on_reply("accept")
    branch = read(tmp_path)[-1]
    assert (branch.end, branch.header.players["B"]) == ("AGREED", "person")


def test_a_branch_that_is_left_is_kept_with_its_own_origin(tmp_path: Path, prices: list[Record]) -> None:
    replay = Replay(prices[:2], out=tmp_path)
    start_own_branch(replay)
    replay._record_list.choose(1)
    origin, branch = read(tmp_path)
    assert origin.id == prices[0].id == branch.header.notes["forked_from"]
    assert branch.end == "ABORTED" and list(replay._branches.values()) == [prices[1]]


def test_a_branch_that_cannot_be_written_is_said_and_written_with_the_next(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where the folder should be")
    replay = Replay(golden("trading"), out=tmp_path / "out")
    replay._cockpit.step = 3
    press(replay, "Branch from this step")
    assert "not saved yet" in drawn(replay)
    assert replay._comparison.widget.layout.display is None, "it is there to be looked at"
    (tmp_path / "out").unlink()
    press(replay, "Branch from this step")
    assert len(read(tmp_path / "out")) == 3


def test_branches_are_not_mixed_into_a_batch(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.claim(make_plan(nl.load("split"), "greedy", "greedy", n=1))
    replay = Replay(golden("trading"), out=tmp_path)
    replay._cockpit.step = 3
    press(replay, "Branch from this step")
    assert "contains a batch" in drawn(replay) and read(tmp_path) == []


def test_a_record_that_says_something_else_than_its_replies_is_called_so() -> None:
    record = golden("bargaining")
    forged = msgspec.structs.replace(record.events[-1], payoffs={"A": 999999, "B": -5})
    replay = Replay(Record(record.header, (*record.events[:-1], forged)))
    assert "differs from a replay of its replies" in drawn(replay)
    replay._cockpit.step = 3
    assert "differs from a replay of its replies" in drawn(replay)


def test_a_record_that_cannot_be_replayed_leaves_nothing_of_another_on_the_page() -> None:
    good = golden("balloon")
    reply = msgspec.structs.replace(good.events[1], reply=Reply("rubbish"))
    bad = Record(msgspec.structs.replace(good.header, id="bad"), (good.events[0], reply, *good.events[2:]))
    replay = Replay([good, bad])
    press(replay, "Next")
    assert "record bad, event 2: cannot be replayed" in drawn(replay)
    assert replay._match.layout.display == "none"
    press(replay, "Previous")
    assert "cannot be replayed" not in drawn(replay)
    assert replay._match.layout.display is None


def test_one_unreadable_record_or_episode_hides_no_other(tmp_path: Path) -> None:
    good = golden("trading")
    strange = Record(msgspec.structs.replace(good.header, id="strange", game="nosuch"), good.events)
    replay = Replay([good, strange])
    assert len(replay._record_list._order) == 2
    press(replay, "Next")
    assert "nosuch" in drawn(replay)
    episode(tmp_path / "good", interactions(*DEAL))
    (episode(tmp_path / "odd", interactions(*DEAL)) / "interactions.json").write_text('{"turns": 5}')
    found = list_source(tmp_path)
    assert len(found.records) == 1
    assert "odd" in found.troubles[0]


def test_a_torn_last_line_is_told(tmp_path: Path) -> None:
    line = golden("trading").to_line()
    (tmp_path / "r.jsonl").write_bytes(line + line[:200])
    assert "incomplete" in Replay(tmp_path / "r.jsonl")._troubles.value


def test_what_is_no_record_is_refused_in_one_sentence() -> None:
    assert "Replay shows records, not" in drawn(Replay(["x"]))  # type: ignore[list-item]
    assert "not 5" in drawn(Replay(5))  # type: ignore[arg-type]


def test_the_eyes_and_the_moment_stay_when_the_other_changes(prices: list[Record]) -> None:
    replay = Replay(prices[:2])
    replay._cockpit.step = 6
    seen = replay._cockpit.current.seen["A"]
    choose(replay, "Seen by", "A")
    assert replay._cockpit.current.seen["A"] == seen
    assert "would pay" not in drawn(replay)
    replay._record_list.choose(1)
    assert replay._viewpoint.value == "A"
    assert set(replay._cockpit.current.seen) == {"A"}


def test_both_seats_cannot_be_one_persons_and_where_the_match_is_over_there_is_nothing_to_branch(
    tmp_path: Path,
) -> None:
    replay = Replay(golden("bargaining"), out=tmp_path)
    for seat in SEATS:
        choose(replay, f"Seat {seat} continues with", "you, at the table")
    press(replay, "Branch from this step")
    assert "Only one seat can be yours" in drawn(replay)
    replay._cockpit.step = replay._cockpit.count
    button = replay._branching._branch_button
    assert button.disabled
    button.click()
    assert "over" in drawn(replay) and not list(tmp_path.iterdir())


def test_a_published_episode_is_opened_and_branched_at_its_third_message(tmp_path: Path) -> None:
    episode(tmp_path / "episodes" / "deal", interactions(*DEAL))
    crashed = episode(tmp_path / "episodes" / "crashed", interactions(*DEAL))
    (crashed / "interactions.json").unlink()
    replay = Replay(tmp_path / "episodes", out=tmp_path / "branches")
    assert "crashed" in replay._troubles.value
    record = replay._record
    assert record is not None
    third = [i for i, s in enumerate(record_steps(record), 1) if isinstance(s.entry, Replied)][2]
    replay._cockpit.step = third
    press(replay, "Branch from this step")
    origin, branch = read(tmp_path / "branches")
    assert origin.events[1:] == record.events[1:]
    assert common_prefix(origin, branch) == record_steps(record)[third - 2].at
    assert replay_differences(branch) == []


def written(replay: Replay) -> str:
    """Press the button for a transcript and return what can be saved."""
    press(replay, "Write the transcript")
    return base64.b64decode(replay._link.value.split("base64,")[1].split('"')[0]).decode()


@pytest.mark.parametrize("style", ["latex", "html", "markdown", "clembench"])
def test_the_transcript_is_there_to_be_saved(style: str) -> None:
    replay = Replay(golden("balloon"))
    choose(replay, "Transcript as", style)
    assert written(replay) == nl.formats.transcript.export(golden("balloon"), style)


def test_a_seats_transcript_is_that_of_its_view() -> None:
    replay = Replay(golden("balloon"))
    choose(replay, "Seen by", "A")
    secrets = json.dumps(golden("balloon").events[0].state["private"]["B"]["importance"])  # type: ignore[union-attr]
    assert secrets not in written(replay) and "seat-A" in replay._link.value


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


def test_a_page_cannot_go_beyond_the_steps() -> None:
    replay = Replay(golden("trading"))
    cockpit = replay._cockpit
    for name, value in (("step", 10**9), ("step", -5), ("step", 2.7), ("count", 10**6), ("step", 10**6)):
        cockpit.set_state({name: value})
        assert cockpit.current in cockpit.steps
    replay.show(golden("split"))
    assert (cockpit.step, cockpit.count) == (1, len(cockpit.steps))
    assert "could not be shown" not in drawn(replay)


def test_records_from_everywhere_are_opened() -> None:
    assert [one.open() for one in list_source(GOLDEN / "split.jsonl").records] == [golden("split")]
    assert {listed.game for listed in list_source(GOLDEN).records} == set(game_names())


def test_letters_of_a_plane_lie_upon_nothing() -> None:
    joined = Surroundings([(0, 10), (10, 0)], True, (0, 0), None, "points", 1, False)
    points = (PlanePoint(2, "A", 3, 3), PlanePoint(3, "B", 9, 9), PlanePoint(4, "B", 9.1, 9))
    drawn = render_plane({"": Course(points, 5, None, False)}, joined)
    crowded = re.findall(r'nl-point-[ab]( nl-crowded)?"[^>]*data-step="(\d)"', drawn)
    assert sorted(crowded, key=itemgetter(1)) == [("", "2"), (" nl-crowded", "3"), ("", "4")]
    assert ">2.5<" in drawn and ">7.5<" in drawn, "a tick has all its digits"


def test_a_notebook_shows_the_proposals_of_branches_apart() -> None:
    record = golden("bargaining")
    shown = proposal_figure({"<b>as played": record, "again": record})
    assert shown is not None and isinstance(shown.data, str)
    assert "nl-course-1" in shown.data and "&lt;b&gt;as played" in shown.data and "<b>" not in shown.data
    assert re.search(r"<title>[^<]*\$", shown.data), "what was said stands on hover"
    single = proposal_figure({"": record})
    assert single is not None and "nl-key-course-0" in shown.data and "nl-key-course-0" not in str(single.data)
