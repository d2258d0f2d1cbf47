"""The answer cache: keyed by the whole request, durable, never paid for twice."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.ledger import NOTHING, PICO, Cost
from negolab.llm.cache import Cache, default_file, request_json
from negolab.llm.endpoint.call import Answer, Call, Message, Usage
from negolab.llm.endpoint.errors import RunFailed
from tests.conftest import ROOT
from tests.support.command import negolab, refusal
from tests.support.forked import ForkedProcess

AT = "http://127.0.0.1:1/v1"


def call(turn: int = 0, **changes: Any) -> Call:
    whole: dict[str, Any] = {
        "model": "m",
        "messages": (Message("system", "You sell."), Message("user", "Your price?")),
        "params": {"temperature": 0.7, "max_tokens": 80},
        "repetition": ("a-match", "A", turn, 0),
    }
    return Call(**{**whole, **changes})


def answer(text: str = "52.50", **changes: Any) -> Answer:
    whole: dict[str, Any] = {"finish": "stop", "usage": Usage(100, 20), "cost": 0.25, "latency": 1.5}
    return Answer(text=text, **{**whole, **changes})


def keep(cache: Cache, *kept: tuple[Call, Answer]) -> None:
    async def all_at_once() -> None:
        await asyncio.gather(*(cache.store(AT, *one) for one in kept))

    asyncio.run(all_at_once())


def test_a_kept_answer_is_found_again_and_says_that_another_run_paid(tmp_path: Path) -> None:
    file = tmp_path / "answers.db"
    with Cache(file, run="first") as cache:
        assert cache.find(AT, call()) is None
        keep(cache, (call(), answer()))
        assert cache.find(AT, call()) == answer(), "its own answer is as it was"
    with Cache(file, run="second") as cache:
        assert cache.find(AT, call()) == answer(replayed=True)
        assert cache.paid() == NOTHING
        assert cache.paid("first") == Cost(PICO // 4, 100, 20, calls=1, answers=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "m2"},
        {"messages": (Message("user", "Your price?"),)},
        {"messages": (Message("user", "You sell."), Message("user", "Your price?"))},
        {"params": {"temperature": 0.8, "max_tokens": 80}},
        {"params": {"temperature": 0.7}},
        {"repetition": ("another-match", "A", 0, 0)},
        {"repetition": ("a-match", "B", 0, 0)},
        {"repetition": ("a-match", "A", 1, 0)},
        {"repetition": ("a-match", "A", 0, 1)},
    ],
)
def test_whatever_changes_the_answer_changes_the_key(tmp_path: Path, changes: dict[str, Any]) -> None:
    with Cache(tmp_path / "answers.db") as cache:
        keep(cache, (call(), answer()))
        assert cache.find(AT, call(**changes)) is None
        assert cache.find("http://127.0.0.1:2/v1", call()) is None


def test_the_order_of_parameters_and_the_age_of_a_game_change_nothing() -> None:
    turned = call(params={"max_tokens": 80, "temperature": 0.7}, began=99.0)
    assert request_json(AT, call()) == request_json(AT, turned)


@given(
    st.text(),
    st.dictionaries(
        st.text(), st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    ),
)
def test_any_words_and_parameters_have_a_request_that_can_be_read_again(text: str, params: dict[str, Any]) -> None:
    made = request_json(AT, call(messages=(Message("user", text),), params=params))
    read = msgspec.json.decode(made)
    assert (read["messages"][0]["content"], read["params"]) == (text, params)
    assert set(read) == {"schema", "endpoint", "model", "messages", "params", "repetition"}


def test_half_a_surrogate_pair_can_be_asked_and_kept(tmp_path: Path) -> None:
    odd = call(messages=(Message("user", "\ud800 what?"),))
    with Cache(tmp_path / "answers.db") as cache:
        keep(cache, (odd, answer("\ud800 55")))
        found = cache.find(AT, odd)
    assert found is not None and found.text == "? 55"


@pytest.mark.parametrize(
    "unusable",
    [
        *(answer("I offer 5", finish=finish) for finish in ("length", "content_filter", "refusal", "unknown")),
        answer("Hm."),
    ],
    ids=lambda given: given.finish,
)
def test_a_cut_answer_and_one_that_is_no_move_are_never_replayed_to_another_run(
    tmp_path: Path, unusable: Answer
) -> None:
    file, asked = tmp_path / "answers.db", call(is_readable=lambda found: found.text != "Hm.")
    for run, said in (("first", unusable), ("second", answer("52.50"))):
        with Cache(file, run=run) as cache:
            assert cache.find(AT, asked) is None
            keep(cache, (asked, said))
            assert cache.find(AT, asked) == said, "a run that goes on meets its own answer as it was"
            assert [(one.cost.answers, one.own) for one in cache.stats()] == [(1 + (run == "second"), 1)]
    with Cache(file, run="third") as cache:
        assert cache.find(AT, asked) == answer("52.50", replayed=True)


def test_of_two_answers_to_one_call_the_first_is_everybodys_and_both_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "answers.db"
    with Cache(file, run="first") as first, Cache(file, run="second") as second:
        keep(first, (call(), answer("1")))
        keep(second, (call(), answer("2")), (call(1), answer("3")))
        assert second.find(AT, call()) == answer("2"), "that run went on with its own"
        assert (first.paid().calls, second.paid().calls) == (1, 2)
    with Cache(file) as third:
        assert third.find(AT, call()) == answer("1", replayed=True)


def test_what_a_run_has_paid_is_known_price_or_not(tmp_path: Path) -> None:
    with Cache(tmp_path / "answers.db", run="one") as cache:
        keep(cache, (call(), answer()), (call(1), answer(cost=None)), (call(2), answer(usage=Usage(), cost=0.5)))
        assert cache.paid() == Cost(3 * PICO // 4, 200, 40, calls=3, answers=3, unpriced=1)
        assert cache.paid("nobody") == NOTHING


def test_answers_are_cleared_by_age(tmp_path: Path) -> None:
    with Cache(tmp_path / "answers.db") as cache:
        keep(cache, (call(), answer()))
        assert cache.clear(older=60) == 0
        assert cache.find(AT, call()) is not None
        assert cache.clear() == 1
        assert cache.find(AT, call()) is None
        assert cache.stats() == []


def test_the_file_can_be_read_by_others_who_know_sqlite_and_by_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "answers.db"
    with Cache(file, run="one") as cache:
        keep(cache, (call(), answer()))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with sqlite3.connect(file) as raw:
        (row,) = raw.execute("SELECT model, request, answer, cost, paid_by FROM answers").fetchall()
    raw.close()
    assert row[0] == "m" and row[3:] == (0.25, "one")
    assert msgspec.json.decode(row[1])["messages"][1] == {"role": "user", "content": "Your price?"}
    assert msgspec.json.decode(row[2])["text"] == "52.50"


def foreign(file: Path) -> None:
    with sqlite3.connect(file) as raw:
        raw.execute("CREATE TABLE mine (x)")
    raw.close()


def newer(file: Path) -> None:
    Cache(file).close()
    with sqlite3.connect(file) as raw:
        raw.execute("PRAGMA user_version=9")
    raw.close()


def damaged(file: Path) -> None:
    Cache(file).close()
    whole = file.read_bytes()
    file.write_bytes(whole[:100] + random.Random(1).randbytes(len(whole) - 100))


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (lambda file: file.write_text("notes, long enough to be looked at"), "not a cache of answers"),
        (foreign, "belongs to another program"),
        (newer, "its schema is 9; this version reads 1"),
        (damaged, "cannot store answers"),
        (lambda file: file.mkdir(), "cannot store answers"),
    ],
)
def test_a_file_that_cannot_be_used_is_said_in_one_line(
    tmp_path: Path, spoilt: Callable[[Path], Any], said: str
) -> None:
    file = tmp_path / "answers.db"
    spoilt(file)
    with pytest.raises(ValueError, match=said) as caught:
        Cache(file)
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)
    assert "NEGOLAB_CACHE" in str(caught.value)


@pytest.mark.parametrize("lose", [Path.unlink, lambda file: os.truncate(file, 0)])
def test_a_file_that_is_lost_while_answers_are_kept_stops_the_run(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    file = tmp_path / "answers.db"
    with Cache(file) as cache:
        keep(cache, (call(), answer()))
        lose(file)
        with pytest.raises(
            RunFailed, match=r"answers\.db was deleted, replaced or emptied while answers were being saved"
        ):
            keep(cache, (call(1), answer()))


def test_a_full_disk_stops_the_run(tmp_path: Path) -> None:
    with Cache(tmp_path / "answers.db") as cache:
        cache._writer.execute("PRAGMA max_page_count=1")
        big = call(messages=(Message("user", "x" * 100_000),))
        with pytest.raises(RunFailed, match=r"could not be saved: database or disk is full"):
            keep(cache, (big, answer()))


def test_a_game_that_is_dropped_while_its_answer_is_written_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "answers.db"

    async def dropped() -> None:
        task = asyncio.create_task(cache.store(AT, call(), answer()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Cache(file, run="one") as cache:
        asyncio.run(dropped())
    with Cache(file, run="one") as cache:
        assert cache.find(AT, call()) == answer()


_WRITER = """
import asyncio, sys
from pathlib import Path
from tests.llm.test_cache import AT, answer, call
from negolab.llm.cache import Cache

async def main(who):
    with Cache(Path(sys.argv[1]), run=who) as cache:
        for group in range(20):
            calls = [call(turn) for turn in range(group * 10, group * 10 + 10)]
            await asyncio.gather(*(cache.store(AT, one, answer(who)) for one in calls))
            print(group, flush=True)
asyncio.run(main(sys.argv[2]))
"""


def writer(file: Path, who: str) -> ForkedProcess:
    return ForkedProcess(_WRITER, str(file), who, cwd=ROOT)


def test_several_processes_share_a_new_file(tmp_path: Path) -> None:
    file = tmp_path / "answers.db"
    writers = [writer(file, who) for who in "abc"]
    for one in writers:
        one.communicate()
    assert [one.wait(60) for one in writers] == [0] * 3
    with Cache(file) as cache:
        found = [cache.find(AT, call(turn)) for turn in range(200)]
        assert all(one is not None and one.text in "abc" for one in found)
        assert [cache.paid(who).calls for who in "abc"] == [200] * 3


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("groups", [3, 5])
def test_an_answer_that_was_said_to_be_kept_outlives_a_kill(groups: int, tmp_path: Path) -> None:
    process = writer(tmp_path / "answers.db", "a")
    for _ in range(groups):
        process.stdout.readline()
    process.kill()
    process.communicate()
    with Cache(tmp_path / "answers.db") as cache:
        assert all(cache.find(AT, call(turn)) for turn in range(10 * groups))


def test_the_place_is_the_users_own_or_what_the_environment_says(tmp_path: Path) -> None:
    assert default_file({"NEGOLAB_CACHE": str(tmp_path / "x.db")}) == tmp_path / "x.db"
    assert default_file({}).parts[-2:] == ("negolab", "answers.db")


def test_the_command_line_tells_and_clears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.db"
    monkeypatch.setenv("NEGOLAB_CACHE", str(file))
    assert f"there is no {file}" in negolab("cache", "stats").stdout
    assert not file.exists(), "to look makes no file"
    with Cache(file) as cache:
        keep(cache, (call(), answer()), (call(1), answer(finish="length")))
    shown = negolab("cache", "stats").stdout
    assert "m at http://127.0.0.1:1/v1" in shown and "2 answers (1 kept for a single run)" in shown and "$0.50" in shown
    assert "0 answers deleted" in negolab("cache", "clear", "--older", "1").stdout
    assert "2 answers deleted" in negolab("cache", "clear").stdout
    file.write_text("not a database, but long enough for its head")
    assert "not a cache of answers" in refusal("cache", "clear")


def test_answers_are_kept_nowhere_where_the_variable_says_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEGOLAB_CACHE", "off")
    assert default_file() is None
    with pytest.raises(ValueError, match="NEGOLAB_CACHE is off"):
        Cache()
    assert negolab("cache", "stats").stdout == "the cache is off (NEGOLAB_CACHE)\n"
