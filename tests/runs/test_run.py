"""Runs of many games: records, stops and their reasons, and resuming."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

import negolab as nl
from negolab._internal import manifest
from negolab.analysis import replies, summary, tables
from negolab.events import Replied
from negolab.llm.cache import Cache
from negolab.llm.configuration import ModelConfiguration
from negolab.llm.endpoint.call import Answer, Call, Usage
from negolab.llm.endpoint.endpoint import timer_paused
from negolab.llm.endpoint.errors import BudgetReached, GameFailed, GameTimedOut, RunFailed
from negolab.llm.models import Models
from negolab.players.lookup import resolve
from negolab.record import Record
from negolab.runs import run as collector
from negolab.runs.batch import open_run
from negolab.runs.driver import aplay
from negolab.runs.matchup import Matchup
from negolab.runs.plan import make_plan
from negolab.runs.progress import MAX_SAME_FAILURES
from negolab.runs.run import Run, RunOptions
from negolab.store import Store
from negolab.verification import replay_differences
from tests.support.endpoint_server import answer_text

GAME = nl.load("bargaining")
LLM = "llm:fake"


class Fake:
    """An endpoint without a network: answers legal prices, after `does` and changed by `alters`. `peak` is the most
    calls in flight."""

    url = "http://fake/v1"

    def __init__(
        self,
        does: Callable[[Call], Awaitable[None]] | None = None,
        alters: Callable[[Call], dict[str, Any]] = lambda call: {},
    ) -> None:
        self.does, self.alters = does, alters
        self.calls = self.now = self.peak = 0

    def endpoint(self, base_url: str | None = None, key: str | None = None) -> Fake:
        return self

    async def answer(self, call: Call) -> Answer:
        self.calls += 1
        self.now += 1
        self.peak = max(self.peak, self.now)
        try:
            await (self.does(call) if self.does else asyncio.sleep(0))
        finally:
            self.now -= 1
        return msgspec.structs.replace(said_to(call), **self.alters(call))


def said_to(call: Call) -> Answer:
    text = answer_text("price", {"messages": msgspec.to_builtins(call.messages)}, b"")
    return Answer(text=text, finish="stop", usage=Usage(10, 2), cost=0.5, model="fake-1")


def game_of(call: Call) -> int:
    """The number of the plan's game that asks."""
    return int(str(call.repetition[0]).partition("/")[0].rpartition("-")[2])


def only(numbers: set[int], does: Callable[[Call], Awaitable[None]]) -> Callable[[Call], Awaitable[None]]:
    """Apply a behaviour to these games; answer the others."""

    async def act(call: Call) -> None:
        await (does(call) if game_of(call) in numbers else asyncio.sleep(0))

    return act


def raising(error: Exception) -> Callable[[Call], Awaitable[None]]:
    async def act(call: Call) -> None:
        raise error

    return act


def run(folder: Path, fake: Any, a: str = LLM, b: str = LLM, n: int = 8, **more: Any) -> Run:
    swap = more.pop("swap", False)
    return open_run(GAME, make_plan(GAME, a, b, n=n, swap=swap), folder, fake, RunOptions(**more))


def played(folder: Path, fake: Any, *args: Any, **more: Any) -> list[Record]:
    asyncio.run(run(folder, fake, *args, **more).play())
    return nl.read(folder)


def words(records: list[Record]) -> dict[str, list[str]]:
    """The texts of each game, without times."""
    return {r.id: [e.reply.text for e in r.events if hasattr(e, "reply")] for r in records}


# Playing.


def test_every_game_is_played_once_and_replays(tmp_path: Path) -> None:
    records = played(tmp_path, Fake(), n=30)
    assert len({record.id for record in records}) == 30
    assert [text for record in records for text in replay_differences(record)] == []
    notes = records[0].header.notes["models"]["A"]
    assert (notes["model"], notes["url"]) == ("fake", "http://fake/v1")


def test_games_are_played_at_the_same_time_up_to_the_limit(tmp_path: Path) -> None:
    fake = Fake(lambda call: asyncio.sleep(0.002))
    played(tmp_path, fake, n=30, at_once=7)
    assert fake.peak == 7


def test_models_and_strategies_sit_at_one_table_and_swap_seats(tmp_path: Path) -> None:
    records = played(tmp_path, Fake(), LLM, "time:beta=0.2", n=6, swap=True)
    seats = {(r.header.players["A"], r.header.players["B"]) for r in records}
    assert seats == {(LLM, "time:beta=0.2"), ("time:beta=0.2", LLM)}
    deals = [r.header.seed for r in sorted(records, key=lambda r: r.id)]
    assert deals[0::2] == deals[1::2] and len(set(deals)) == 3


def test_scripted_games_of_a_run_are_those_of_a_batch(tmp_path: Path) -> None:
    records = played(tmp_path, ModelConfiguration(), "time", "boulware", n=20)
    assert {r.id: r.events[1:] for r in records} == {
        r.id: r.events[1:] for r in nl.batch(GAME, "time", "boulware", n=20)
    }


def test_a_run_keeps_no_game_in_memory(tmp_path: Path) -> None:
    peaks = []
    for part in (100, 200):
        tracemalloc.start()
        played_run = run(tmp_path, Fake(), n=part, at_once=20)
        asyncio.run(played_run.play())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 1.1 * peaks[0], "the second half took no more than the first"


# What goes wrong with a game.


def test_a_game_whose_answers_are_longer_than_any_record_fails_and_the_others_stay_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("negolab.store", "negolab.runs.run"):
        monkeypatch.setattr(f"{module}.MAX_LINE", 1 << 16, raising=False)
    endless = Fake(alters=lambda call: {"reasoning": "x" * 100_000} if game_of(call) == 1 else {})
    records = played(tmp_path, endless, n=3)
    (failed,) = [record for record in records if record.end == "ABORTED"]
    assert len(records) == 3 and failed.header.notes["stopped"] == "failed"
    assert "its record would be longer than 0 MiB" in str(failed.events[-1])


@pytest.mark.parametrize(
    ("error", "stopped", "reason"),
    [
        (GameFailed("the chat is longer than the model reads"), "failed", "the chat is longer than the model reads"),
        (GameTimedOut("too slow"), "timed out", "too slow"),
        (KeyError("price"), "failed", "KeyError: 'price'"),
        (RuntimeError(""), "failed", "RuntimeError: "),
    ],
)
def test_a_game_that_fails_is_a_record_with_the_reason(
    tmp_path: Path, error: Exception, stopped: str, reason: str
) -> None:
    records = played(tmp_path, Fake(only({2, 5}, raising(error))))
    bad = {
        r.id[-1]: (r.end, r.header.notes["stopped"], r.events[-1].reason)
        for r in records
        if "stopped" in r.header.notes
    }  # type: ignore[union-attr]
    assert bad == dict.fromkeys("25", ("ABORTED", stopped, reason))
    assert [text for record in records for text in replay_differences(record)] == []
    assert list(tables.matches(records)["stopped"].dropna()) == [stopped] * 2


def test_stopped_games_are_told_apart_in_the_summary(tmp_path: Path) -> None:
    async def act(call: Call) -> None:
        number = game_of(call)
        if number in (1, 2):
            raise GameFailed("no answer in 6 attempts")
        if number == 3:
            raise GameTimedOut("the match was not over after 9 s")

    shown = "\n".join(summary.tally_lines(summary.tally_records(played(tmp_path, Fake(act))), "cents"))
    assert "8 matches" in shown and "without a result: 3 of 8 matches" in shown
    assert "2   no answer in 6 attempts" in shown and "1   the match was not over after 9 s" in shown
    assert "no deal       100.0%" in shown and "of which 3 failed (excluded from shares)" in shown
    assert shown.count("n = 5 draws") == 3, "shares and means are of those that were played"


def test_a_game_has_a_time_limit(tmp_path: Path) -> None:
    fake = Fake(only({1}, lambda call: asyncio.sleep(60)))
    records = played(tmp_path, fake, n=4, game_seconds=1.5)
    assert [r.id[-1] for r in records if r.header.notes.get("stopped") == "timed out"] == ["1"]


@pytest.mark.parametrize(("seconds", "calls"), [(0.2, 8), (1.2, 1)])
def test_time_in_line_is_no_time_of_the_game(tmp_path: Path, seconds: float, calls: int) -> None:
    async def in_line(call: Call) -> None:
        with timer_paused():
            await asyncio.sleep(seconds if fake.calls <= calls else 0)

    fake = Fake(in_line)
    records = played(tmp_path, fake, n=1, game_seconds=1)
    assert all(len(r.events) > 10 and "stopped" not in r.header.notes for r in records)


def test_a_game_that_waited_in_line_can_still_run_out_of_time(tmp_path: Path) -> None:
    async def slow(call: Call) -> None:
        with timer_paused():
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.2)

    (record,) = played(tmp_path, Fake(slow), n=1, game_seconds=0.5)
    assert record.header.notes["stopped"] == "timed out"
    assert sum(isinstance(event, Replied) for event in record.events) in (1, 2)


def test_a_smaller_plan_counts_its_own_games_only(tmp_path: Path) -> None:
    played(tmp_path, Fake(), n=8)
    again = run(tmp_path, Fake(), n=4)
    asyncio.run(again.play())
    assert (again.progress.over, again.progress.games, again.progress.phase) == (4, 4, "done")
    assert len(nl.read(tmp_path)) == 8


def test_what_cannot_be_closed_stops_neither_the_rest_nor_the_news(tmp_path: Path) -> None:
    closed = []

    def fails() -> None:
        raise RunFailed("the disk is full")

    closing = AsyncExitStack()
    closing.callback(closed.append, "last")
    closing.callback(fails)
    store = Store(tmp_path)
    matchup = Matchup(GAME, make_plan(GAME, LLM, LLM, n=2), store, [resolve(LLM, GAME)])
    going = Run([matchup], tmp_path, models=Fake(), closing=closing)
    with pytest.raises(RunFailed, match="the disk is full"):
        asyncio.run(going.play())
    store.close()
    assert closed == ["last"] and going.progress.phase == "done" and going.progress.failure == "the disk is full"


def test_a_run_does_not_burn_through_its_games_when_all_fail_alike(tmp_path: Path) -> None:
    async def act(call: Call) -> None:
        raise ValueError(f"no template for chat {game_of(call)}")

    with pytest.raises(RunFailed, match=f"{MAX_SAME_FAILURES} matches in a row failed, .*ValueError: no template"):
        played(tmp_path, Fake(act), n=500, at_once=5)
    assert MAX_SAME_FAILURES <= len(nl.read(tmp_path)) < MAX_SAME_FAILURES + 5


def test_what_was_stopped_is_played_again_on_demand_only(tmp_path: Path) -> None:
    async def act(call: Call) -> None:
        if game_of(call) == 1:
            raise GameFailed("broken")
        if game_of(call) == 2:
            raise GameTimedOut("slow")

    before = played(tmp_path, Fake(act))
    assert len(played(tmp_path, Fake())) == 8, "they are over"
    assert summary.tally_records(nl.read(tmp_path)).ends["failed"] == 1
    after = played(tmp_path, Fake(), retry={"failed"})
    assert summary.tally_records(after).ends["failed"] == 0 and summary.tally_records(after).ends["timed out"] == 1
    after = played(tmp_path, Fake(), retry={"failed", "timed out"})
    assert (
        summary.tally_records(after).stopped == 0
        and {r.id for r in after} == {r.id for r in before}
        and len(after) == 8
    )
    aside = (tmp_path / "retried.ndjson").read_bytes().splitlines()
    assert [msgspec.json.decode(line)["header"]["notes"]["stopped"] for line in aside] == ["failed", "timed out"]


def test_a_game_that_failed_by_its_answers_is_asked_for_others_when_it_is_played_again(tmp_path: Path) -> None:
    silly = Fake(alters=lambda call: {"text": "well"} if game_of(call) == 1 else {})
    (failed,) = (r for r in played(tmp_path, silly, n=3, unusable=1) if "stopped" in r.header.notes)
    assert failed.header.notes["redraw"] and failed.id.endswith("1")
    asked: set[object] = set()

    def noted(call: Call) -> dict[str, Any]:
        asked.add(call.repetition[0])
        return {}

    after = played(tmp_path, Fake(alters=noted), n=3, retry={"failed"})
    assert summary.tally_records(after).stopped == 0
    assert asked == {f"{failed.id}/1"}, "the second draw, and that game only"


URL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("players", "given", "said"),
    [
        (
            (f"{LLM},max_tokens=50", "linear"),
            {"budget": 1.0, "base_url": URL},
            "a budget in money needs the price of fake",
        ),
        ((LLM, "linear"), {"models": Fake(), "prices": {"fake": "1,2"}}, r"to Models\(\.\.\.\)"),
        ((LLM, "linear"), {"models": Models(), "budget": 1.0}, "limits to Models"),
        ((LLM, "linear"), {"prices": {"fake": "cheap"}}, "a price must be INPUT,OUTPUT"),
        ((LLM, "linear"), {"budget": 1.0}, "^environment variable OPENAI_API_KEY is not set"),
        (("time", "linear"), {"retry": "timeout"}, "retry accepts only failed and timed out, not timeout"),
        (("time", "linear"), {"at_once": 0}, "must be a whole number from 1 up, not 0"),
        (("time", "linear"), {"game_seconds": -1}, "game_seconds must be a number above 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_that_cannot_be_says_why_and_leaves_no_folder(
    tmp_path: Path, players: tuple[str, str], given: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "NEGOLAB_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=said):
        nl.run(GAME, *players, n=2, out=tmp_path / "run", **given)
    assert not any(tmp_path.iterdir())


def test_who_a_model_was_stands_in_the_record_of_a_single_match_too(tmp_path: Path) -> None:
    persona = tmp_path / "persona.txt"
    persona.write_text("You are brief.")
    fake = Fake()
    seats = {seat: nl.player(f"{LLM},persona={persona}", GAME, models=fake) for seat in ("A", "B")}
    match = nl.Match(GAME, seed=1)
    asyncio.run(aplay(match, seats))
    notes = match.record().header.notes["models"]
    assert set(notes) == {"A", "B"} and len(notes["A"]["persona"]["sha256"]) == 64


# What goes wrong with a run.


def test_a_run_that_cannot_go_on_says_why_and_goes_on_later(tmp_path: Path) -> None:
    async def act(call: Call) -> None:
        await asyncio.sleep(0.001 * game_of(call))
        if game_of(call) == 4:
            raise RunFailed("http://fake/v1: the key is not accepted (401)")

    broken = run(tmp_path, Fake(act), n=8, at_once=2)
    with pytest.raises(RunFailed, match="the key is not accepted"):
        asyncio.run(broken.play())
    assert broken.progress.phase == "stopped" and "not accepted" in str(broken.progress.failure)
    finished = {r.id for r in nl.read(tmp_path)}
    assert 3 <= len(finished) < 8
    fake = Fake()
    assert len(played(tmp_path, fake, n=8)) == 8
    assert fake.calls == 7 * (8 - len(finished)) or fake.calls % (8 - len(finished)) == 0


def test_at_the_end_of_the_budget_what_is_in_flight_comes_in(tmp_path: Path) -> None:
    paid = 0

    async def act(call: Call) -> None:
        nonlocal paid
        paid += 1
        if paid > 30:
            raise BudgetReached("the budget is reached")
        await asyncio.sleep(0.005)

    kept = []

    class Keeping(Fake):
        async def answer(self, call: Call) -> Answer:
            found = await super().answer(call)
            await asyncio.sleep(0.001)  # as it is written to the cache
            kept.append(found)
            return found

    with pytest.raises(BudgetReached):
        played(tmp_path, Keeping(act), n=20, at_once=12)
    assert len(kept) == 30, "no answer that was paid is dropped"


def test_a_bug_of_ours_is_not_taken_for_a_game_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = run(tmp_path, Fake())

    def full(_: Record) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(broken.matchups[0].store, "append", full)
    with pytest.raises(OSError, match="No space left"):
        asyncio.run(broken.play())


# Steering.


def test_a_paused_run_asks_nothing_and_its_clocks_stand_still(tmp_path: Path) -> None:
    fake = Fake(lambda call: asyncio.sleep(0.01))

    async def steered() -> None:
        going = run(tmp_path, fake, n=10, at_once=5, game_seconds=1.5)
        going.start()
        await asyncio.sleep(0.05)
        going.pause()
        await asyncio.sleep(0.02)
        asked = fake.calls
        assert going.progress.phase == "paused"
        await asyncio.sleep(1.7)
        assert fake.calls == asked
        going.resume()
        assert (await going).phase == "done"

    asyncio.run(steered())
    assert summary.tally_records(nl.read(tmp_path)).stopped == 0 and len(nl.read(tmp_path)) == 10


def test_a_run_that_finishes_begins_no_more_games(tmp_path: Path) -> None:
    async def steered() -> None:
        going = run(tmp_path, Fake(lambda call: asyncio.sleep(0.01)), n=40, at_once=4)
        going.start()
        while going.progress.playing < 4:
            await asyncio.sleep(0)
        going.finish()
        end = await going
        assert (end.over, end.playing, end.phase) == (4, 0, "stopped")

    asyncio.run(steered())
    assert len(nl.read(tmp_path)) == 4


@pytest.mark.parametrize("paused", [False, True])
def test_a_cancelled_run_keeps_what_was_over_and_drops_the_rest(tmp_path: Path, paused: bool) -> None:
    async def steered() -> None:
        going = run(tmp_path, Fake(only({0, 1}, lambda call: asyncio.sleep(5))), n=10, at_once=3)
        task = going.start()
        while not going.progress.over:
            await asyncio.sleep(0)
        if paused:
            going.pause()
        going.cancel()
        end = await task
        assert 0 < end.over < 10 and end.playing == 0 and end.phase == "stopped"

    asyncio.run(steered())
    assert len(played(tmp_path, Fake(), n=10)) == 10


def test_scripted_games_can_be_stopped_too(tmp_path: Path) -> None:
    async def steered() -> None:
        going = run(tmp_path, ModelConfiguration(), "time", "time", n=100_000)
        going.start()
        while not going.progress.over:
            await asyncio.sleep(0)
        going.cancel()
        assert 0 < (await going).over < 100_000

    asyncio.run(steered())


def test_a_run_is_watched_game_by_game(tmp_path: Path) -> None:
    seen = []
    going = run(tmp_path, Fake())
    going.watch(lambda now: seen.append((now.over, now.phase)))
    asyncio.run(going.play())
    assert [over for over, _ in seen] == [*range(1, 9), 8] and seen[-1] == (8, "done")
    assert going.progress.rate > 0 and going.progress.seconds > 0


# In a notebook.


def test_in_a_notebook_a_run_goes_on_behind_the_cell(tmp_path: Path) -> None:
    async def cell() -> Run:
        going = nl.run("bargaining", LLM, "time", n=6, out=tmp_path, models=Fake())
        assert going.progress.over == 0
        assert (await going).over == 6
        return going

    going = asyncio.run(cell())
    assert len(list(going.records())) == 6


def test_in_a_script_a_run_is_over_when_it_returns(tmp_path: Path) -> None:
    assert nl.run("trading", "greedy-honest", "chat", n=6, out=tmp_path).progress.phase == "done"
    assert nl.run("trading", "greedy-honest", "chat", n=8, out=tmp_path).progress.new == 2


# The folder.


def test_the_manifest_says_before_the_first_call_what_is_played(tmp_path: Path) -> None:
    (tmp_path / "firm.txt").write_text("You never give in.")
    models = Models(keys={"OPENAI_API_KEY": "sk-secret-0123456789", "NEGOLAB_BASE_URL": "http://127.0.0.1:1/v1"})
    name = f"llm:gpt-4o-mini,persona={tmp_path / 'firm.txt'},temperature=0.3"
    going = run(tmp_path / "run", models, name, "time", n=4)
    told = manifest.read(tmp_path / "run")
    assert told["plan"]["n"] == 4 and told["run"]
    facts = told["players"][name]
    assert facts["persona"]["text"] == "You never give in." and len(facts["persona"]["sha256"]) == 64
    assert facts["parameters"]["temperature"] == 0.3 and facts["url"] == "http://127.0.0.1:1/v1"
    assert told["prices"]["gpt-4o-mini"]["input"] == 0.15
    assert set(told["versions"]) == {"negolab", "python", "openai"}
    assert "sk-secret" not in (tmp_path / "run" / manifest.FILE).read_text()
    going.cancel()
    asyncio.run(going.play())


def test_a_run_with_another_prompt_is_another_run(tmp_path: Path) -> None:
    file = tmp_path / "persona.txt"
    file.write_text("You never give in.")
    name = f"llm:fake,persona={file}"
    played(tmp_path / "run", Fake(), name, "time", n=2)
    file.write_text("You give in.")
    changed = r"another run, which differs in persona text of llm:fake.*never give in.*You give in. now"
    with pytest.raises(ValueError, match=changed):
        played(tmp_path / "run", Fake(), name, "time", n=2)
    with pytest.raises(ValueError, match="another run, which differs in seed"):
        open_run(GAME, make_plan(GAME, name, "time", n=2, seed=7), tmp_path / "run", Fake())
    file.write_text("You never give in.")
    assert len(played(tmp_path / "run", Fake(), name, "time", n=3)) == 3, "a run can grow"


def test_a_folder_that_could_not_be_used_is_free_again(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="persona"):
        run(tmp_path, Fake(), "llm:fake,persona=nowhere.txt")
    played(tmp_path, Fake(), "time", "time", n=2)
    for _ in range(2):
        with pytest.raises(ValueError, match="another run"):
            run(tmp_path, Fake(), n=2)


def test_a_run_goes_on_through_the_answers_it_has(tmp_path: Path) -> None:
    """Half-played games are replayed from the cache without a call, to the same texts."""
    whole = words(played(tmp_path / "whole", Fake()))

    class Kept(Fake):
        """Stores each answer before returning it, as an endpoint does."""

        def __init__(self, cache: Cache, most: float) -> None:
            super().__init__()
            self.cache, self.most = cache, most

        async def answer(self, call: Call) -> Answer:
            if found := self.cache.find(self.url, call):
                return found
            if self.calls >= self.most:
                raise RunFailed("stopped here")
            answer = await super().answer(call)
            await self.cache.store(self.url, call, answer)
            return answer

    asked = 0
    for most in (20, 15, float("inf")):
        with Cache(tmp_path / "x.db", run="this") as cache:
            fake = Kept(cache, most)
            try:
                records = played(tmp_path / "run", fake)
            except RunFailed:
                continue
            finally:
                asked += fake.calls
    assert words(records) == whole
    assert asked == sum(len(said) for said in whole.values())


# Tables.


def test_every_answer_of_a_model_has_its_row_also_where_it_became_no_words(tmp_path: Path) -> None:
    def cut(call: Call) -> dict[str, Any]:
        if call.repetition[2:] == (0, 0):
            return {"finish": "refusal", "text": "I think that", "cost": None}
        return {"replayed": game_of(call) == 0, "latency": 0.25, "attempts": 2}

    records = played(tmp_path, Fake(alters=cut), LLM, "time", n=2)
    rows = tables.replies(records)
    answers = [reply for r in records for _, reply, _ in replies.iter_replies(r) if reply is not None]
    assert len(rows) == sum(reply.via == "model" for reply in answers) < len(answers)
    first = rows.iloc[0]
    assert list(first[["text", "finish", "kind", "legal"]]) == ["I think that", "refusal", "format", False]
    assert rows["tokens_input"].eq(10).all() and rows["model"].eq("fake-1").all()
    assert set(rows["attempts"]) == {1, 2} and set(rows["replayed"]) == {True, False}
    assert len(tables.turns(records)) > len(rows)
    told = summary.tally_records(records)
    assert told.taken.unpriced == 2 and told.taken.saved > 0 and told.faults["format", "refused"] == 2
    shown = "\n".join(summary.tally_lines(told, "cents"))
    assert "unknown for 2 calls: the price is unknown" in shown and "came from the cache" in shown
    assert "refused 2" in shown


def test_forfeits_for_form_are_counted_apart_from_strategy(tmp_path: Path) -> None:
    game, mumbles = nl.load("trading"), Fake(alters=lambda call: {"text": "hm", "finish": "stop"})
    going = open_run(game, make_plan(game, LLM, "chat", n=3), tmp_path, mumbles)
    asyncio.run(going.play())
    told = summary.tally_records(nl.read(tmp_path))
    assert told.forfeits.total() == told.ends["FORFEIT"] and told.n == 3


def test_a_run_leaves_the_collector_as_it_was(tmp_path: Path) -> None:
    before = gc.get_threshold()
    gc.set_threshold(800, 9, 8)
    try:
        played(tmp_path / "run", Fake())
        assert gc.get_threshold() == (800, 9, 8) and gc.get_freeze_count() == 0
        first, second = collector.relaxed_gc(), collector.relaxed_gc()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert gc.get_threshold() == (collector.GC_THRESHOLD, 9, 8) and gc.get_freeze_count()
        second.__exit__(None, None, None)
        assert gc.get_threshold() == (800, 9, 8) and gc.get_freeze_count() == 0
    finally:
        gc.set_threshold(*before)
