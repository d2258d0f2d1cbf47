"""Language models across from participants: outages, fallbacks, budgets, disclosure, and what is kept of them."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from negolab_widgets.study.monitor_view import MonitorState, decode_state, render_matches, render_watched
from typing_extensions import override

from negolab.cli.study import status_lines
from negolab.events import Replied
from negolab.llm.endpoint.errors import RunFailed
from negolab.studies import host_config, session
from negolab.studies.database import PURGED, Database
from negolab.studies.export import export
from negolab.studies.host_config import HostConfig, build_host_config
from negolab.studies.model_seats import FALLBACK, Fallback
from negolab.studies.page_state import Closed, Playing
from negolab.studies.server import check_prices, opponents
from negolab.studies.service import StudyService
from negolab.studies.status import status
from negolab.studies.study_config import Study
from negolab.verification import replay_differences
from tests.studies.test_service import Site, study
from tests.support.endpoints import running_endpoint
from tests.support.host_process import HostProcess
from tests.support.in_process import negolab
from tests.support.scripted_model import ScriptedModel, answer

AWAY = RunFailed("http://127.0.0.1:1/v1 has not answered for 5 s (no connection)")
PLAIN = "I say something."
MODEL = """
[[treatments]]
name = "model"
preset = "tolerant"
params = { max_turns = 4 }
opponent = "llm:fake-1"
seat = "A"
disclosure = "A computer program sits across."
"""


class ModelSite(Site):
    """A study service whose model answers by a script, or is at an endpoint, as `negolab serve` makes it."""

    def __init__(self, folder: Path, of: Study, at: list[Any] | str | HostConfig) -> None:
        config = build_host_config("", (at,), None, {}) if isinstance(at, str) else at
        self.model: Any = config.models().for_study() if isinstance(config, HostConfig) else ScriptedModel(config)
        super().__init__(folder, of)

    @override
    def open(self) -> None:
        self.database = Database(self.folder / "people.db")
        self.service = StudyService(self.database, self.study, models=self.model)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once."""
    monkeypatch.setattr(session, "RETRY_SECONDS", 0.02)


async def settle(site: Site, id: str) -> Any:
    """Wait until it is the person's turn, the match is over, or the study."""
    for _ in range(300):
        state = site.state(id)
        if not isinstance(state, Playing) or state.can_continue or (state.table["asked"] and not state.paused):
            return state
        await asyncio.sleep(0.01)
    raise AssertionError(f"it does not go on: {state}")


def fallbacks(site: Site) -> dict[str, Fallback]:
    return site.database.kept_notes("trade", FALLBACK, Fallback)


def of(options: str = "") -> Study:
    return study(MODEL + options)


async def test_a_running_match_does_not_go_on_with_a_model_that_the_file_does_not_name(tmp_path: Path) -> None:
    site, id = ModelSite.started(tmp_path, of(), [PLAIN] * 3)
    site.say(id, "Hello.")
    site.study = study(MODEL.replace("fake-1", "other-1"))
    with pytest.raises(ValueError, match="is against llm:fake-1, which this study file does not name"):
        site.restart()
    site.study = of()
    site.restart()
    assert isinstance(await settle(site, id), Playing)


async def test_a_model_that_is_away_pauses_the_match_with_a_word_and_it_goes_on(tmp_path: Path) -> None:
    site, id = ModelSite.started(tmp_path, of("[models]\npatience = 30"), [AWAY, AWAY, PLAIN])
    assert site.state(id).disclosure == "A computer program sits across."
    site.say(id, "Hello.")
    await asyncio.sleep(0)
    await asyncio.sleep(0.005)
    assert site.state(id).paused
    ((match, pause),) = site.service.monitor()["paused"].items()
    assert site.service.monitor()["people"][0]["match"] == match
    assert pause["model"] == "llm:fake-1" and 0 <= time.time() - pause["since"] < 60
    assert told_pauses(site) == ["1 match paused now: llm:fake-1 has been unreachable"]
    assert "127.0.0.1" not in str(site.state(id))
    state = await settle(site, id)
    assert not state.paused and PLAIN in str(state.table) and site.service.monitor()["paused"] == {}
    assert told_pauses(site) == []
    assert fallbacks(site) == {}


def told_pauses(site: Site) -> list[str]:
    """What `study status` says of matches that are paused now, without the time."""
    lines = status_lines(status(site.database, site.study))
    return [line.partition(" since ")[0] for line in lines if "paused now" in line]


async def test_a_pause_is_told_no_more_when_its_match_has_ended_or_its_host_was_started_again(tmp_path: Path) -> None:
    site, leaver = ModelSite.started(tmp_path, of("[models]\npatience = 30"), [AWAY, AWAY, *[PLAIN] * 9])
    site.say(leaver, "Hello.")
    await until_paused(site, leaver)
    assert len(told_pauses(site)) == 1
    site.restart()
    assert told_pauses(site) == [], "the model is asked anew"
    assert PLAIN in str((await settle(site, leaver)).table)
    site.model = ScriptedModel([AWAY] * 50)
    site.restart()
    site.say(leaver, "Are you there?")
    await until_paused(site, leaver)
    assert len(told_pauses(site)) == 1
    site.act(leaver, "leave")
    assert told_pauses(site) == []


async def until_paused(site: Site, id: str, paused: bool = True) -> None:
    for _ in range(1000):
        if site.state(id).paused == paused:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"the match is {'not ' * paused}paused")


def time_left(site: Site) -> float:
    """Seconds until the limit of the one match."""
    ((_, session),) = site.service._sessions.running()
    left = session.time_left("A")
    assert left is not None
    return left[0]


@pytest.mark.parametrize("fault", ["503", "hang", "gone"])
async def test_an_endpoint_that_has_answered_before_is_waited_for_with_the_same_patience(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LATE_SECONDS", 0.5)
    monkeypatch.setattr(host_config, "STUDY_PATIENCE", 0.3)
    options = '[limits]\nmatch = 600\n[models]\npatience = 1.5\nthen = "fair-split"'
    with ExitStack() as stack:
        server = stack.enter_context(running_endpoint(answer=PLAIN))
        site = ModelSite(tmp_path, study(MODEL.replace("max_turns = 4", "max_turns = 8") + options), server.url)
        (id,) = site.start()
        site.say(id, "Hello.")
        assert PLAIN in str((await settle(site, id)).table)
        stack.close() if fault == "gone" else server.set(faults={fault: 1.0})
        site.say(id, "Are you there?")
        await until_paused(site, id)
        left = time_left(site)
        await asyncio.sleep(0.2)
        assert time_left(site) == left, "a pause takes no time of the match"
        assert not fallbacks(site)
        await until_paused(site, id, False)
        (fallback,) = fallbacks(site).values()
        assert fallback.player == "fair-split" and "--" not in fallback.reason
        assert fault == "hang" or "set a longer patience in [models] of the study's file" in fallback.reason
        await settle(site, id)


async def test_an_answer_that_comes_during_the_pause_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LATE_SECONDS", 0.1)
    with running_endpoint(answer=PLAIN, latency=1.0) as server:
        site = ModelSite(tmp_path, of("[models]\npatience = 30"), server.url)
        (id,) = site.start()
        site.say(id, "Hello.")
        await until_paused(site, id)
        state = await settle(site, id)
        assert PLAIN in str(state.table) and server.counts()["requests"] == 1
        (reply,) = site.database.model_replies("trade")
        usage = reply.reply.usage or {}
        tokens = usage["input"] + usage["output"]
        expected = f"models: n = 1 answers, {tokens:,} tokens, $0.00; the price of 1 is unknown"
        assert status(site.database, site.study).models == expected and tokens > 0
        assert not fallbacks(site)


async def test_after_its_patience_the_named_player_takes_the_seat_also_after_a_restart(tmp_path: Path) -> None:
    site, id = ModelSite.started(tmp_path, of('[models]\npatience = 0.05\nthen = "fair-split"'), [AWAY] * 50)
    site.say(id, "Hello.")
    state = await settle(site, id)
    assert state.table["asked"] and not state.paused
    ((match, fallback),) = fallbacks(site).items()
    assert (fallback.seat, fallback.player) == ("B", "fair-split") and "has not answered" in fallback.reason
    now = status(site.database, site.study)
    assert f"models replaced in 1 matches: 1 by fair-split ({fallback.reason})" in status_lines(now)
    assert "models: n = 0 answers, 0 tokens, $0.00" in status_lines(now)
    watched = render_watched(site.database.record(match), now.fallbacks[match])
    assert "seat B taken over by" in watched and "fair-split" in watched
    seen = MonitorState(**msgspec.structs.asdict(now), present=())
    assert decode_state(msgspec.to_builtins(seen)) == seen
    assert "models replaced in 1 matches: 1 by fair-split" in render_matches(seen)
    calls = len(site.model.calls)
    site.restart()
    site.say(id, "Again.")
    await settle(site, id)
    assert len(site.model.calls) == calls, "the model is not asked any more"
    record = site.database.record(match)
    assert record.header.players["B"] == "llm:fake-1" and replay_differences(record) == []
    export(site.database, site.study, tmp_path / "out", "csv")
    text = (tmp_path / "out" / "matches.csv").read_text()
    assert "fair-split" in text and "A computer program sits across." in text


async def test_without_such_a_player_the_study_ends_with_a_code_of_its_own(tmp_path: Path) -> None:
    codes = of("[models]\npatience = 0.05")
    site, id = ModelSite.started(tmp_path, codes, [AWAY] * 50)
    site.say(id, "Hello.")
    closed = await settle(site, id)
    assert site.status(id) == "model" and isinstance(closed, Closed)
    assert "could no longer be reached" in closed.text and "127.0.0.1" not in closed.text
    assert next(iter(fallbacks(site).values())).player is None


async def test_why_a_model_failed_is_kept_with_the_end_of_its_match_or_not_at_all(tmp_path: Path) -> None:
    site = ModelSite(tmp_path, of("[models]\npatience = 0.05"), [AWAY] * 50)
    (id,), append = site.start(), Database.append

    def killed(*args: Any) -> None:
        if args[-1] is not None:
            monkeypatch.undo()
            raise OSError("the host is killed")
        append(*args)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(Database, "append", killed)
        site.say(id, "Hello.")
        for _ in range(300):
            if Database.append is append:
                break
            await asyncio.sleep(0.01)
    assert Database.append is append and fallbacks(site) == {}
    site.model = ScriptedModel([PLAIN])
    site.restart()
    assert PLAIN in str((await settle(site, id)).table)
    assert fallbacks(site) == {}, "the model plays on"


@pytest.mark.parametrize(
    ("cap", "says"),
    [
        ("budget = { usd = 0.05 }", "the study's budget is used up: $0.06 of $0.05"),
        ("budget_each = { tokens = 100 }", "the participant's budget is used up: 110 of 100 tokens"),
    ],
)
@pytest.mark.parametrize("restarted", [False, True])
async def test_a_budget_that_is_reached_gives_the_seat_away(
    tmp_path: Path, cap: str, says: str, restarted: bool
) -> None:
    more = of(f'[models]\nthen = "fair-split"\n{cap}')
    site, id = ModelSite.started(tmp_path, more, [answer(PLAIN, cost=0.06)] * 3)
    site.say(id, "Hello.")
    await settle(site, id)
    if restarted:
        site.restart()
    site.say(id, "And again.")
    await settle(site, id)
    (fallback,) = fallbacks(site).values()
    assert (fallback.reason, fallback.player, len(site.model.calls)) == (says, "fair-split", 1)


async def test_an_answer_that_cannot_be_used_never_reaches_the_person_as_words(tmp_path: Path) -> None:
    rambling = "[Offer: 900 Wheat -> 1 Ore] as a language model"
    site, id = ModelSite.started(tmp_path, of(), [rambling, PLAIN, PLAIN])
    site.say(id, "Hello.")
    state = await settle(site, id)
    assert "as a language model" not in str(state)


async def test_who_leaves_takes_their_words_out_of_what_the_model_was_sent_and_wrote(tmp_path: Path) -> None:
    words = "my-very-own-words"
    quoting = [
        answer(f"You said {words}.", reasoning=f"They said {words}."),
        answer(f"<think>{words}?</think>[Offer: 900 Wheat -> 1 Ore] {words}"),
        *[RunFailed(f"http://127.0.0.1:1/v1 refused: {words}")] * 50,
    ]
    long = MODEL.replace("max_turns = 4", "max_turns = 20")
    site, id = ModelSite.started(tmp_path, study(long + '[models]\npatience = 0.01\nthen = "fair-split"'), quoting)
    for text in (f"I say {words}.", f"Again {words}."):
        site.say(id, text)
        await settle(site, id)
    ((match, fallback),) = fallbacks(site).items()
    assert words in fallback.reason and quoted_in(tmp_path, words)
    events = len(site.database.record(match).events)
    site.act(id, "leave")
    assert quoted_in(tmp_path, words) == set(), "while the host runs"
    export(site.database, site.study, tmp_path / "out", "both")
    site.restart()
    record = site.database.record(match)
    assert len(record.events) == events + 1 and record.events[-1].reason == "a participant left the study"
    assert {event.reply.text for event in record.events if isinstance(event, Replied)} == {PURGED}
    tokens = [event.reply.usage for event in record.events if isinstance(event, Replied) and event.reply.model]
    assert [usage["input"] for usage in tokens if usage] == [100] * 2, "what was paid is still counted"
    assert fallbacks(site)[match] == Fallback("B", "fair-split", PURGED)
    site.database.close()
    assert quoted_in(tmp_path, words) == set(), "after the host has ended"
    tables = {name: (tmp_path / "out" / f"{name}.csv").read_text() for name in ("events", "matches", "turns")}
    assert (
        all(PURGED in table for table in tables.values()) and (tmp_path / "out" / "records.jsonl").stat().st_size == 0
    )


@pytest.mark.parametrize("then", ["fair-split", "end"])
async def test_what_is_logged_of_a_models_error_quotes_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, then: str
) -> None:
    words = "my-very-own-words"

    with caplog.at_level(logging.INFO, "negolab.studies"):
        options = of(f'[models]\npatience = 0.05\nthen = "{then}"')
        site = ModelSite(tmp_path, options, [RunFailed(f"HTTP 400: refused: {words}")] * 50)
        (id,) = site.start()
        site.say(id, words)
        await settle(site, id)
        (match,) = site.database.matches("trade")
        assert words in fallbacks(site)[match.id].reason, "the database has it, until they leave"
        logged = {record.getMessage() for record in caplog.records}
        failed = f"the other seat's player failed in match {match.id} (RunFailed)"
        last = failed if then == "end" else f"{failed}; another player takes over"
        assert logged == {f"{failed}; asking again", last} and words not in caplog.text


async def test_a_study_writes_no_words_of_people_into_the_cache_of_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEGOLAB_CACHE", str(tmp_path / "cache" / "answers.db"))
    with running_endpoint(answer=PLAIN) as server:
        site = ModelSite(tmp_path, of(), server.url)
        (id,) = site.start()
        site.say(id, "my-very-own-words")
        assert PLAIN in str((await settle(site, id)).table)
        assert quoted_in(tmp_path, "my-very-own-words")
        site.act(id, "leave")
        assert quoted_in(tmp_path, "my-very-own-words") == set() and not (tmp_path / "cache").exists()


async def test_who_leaves_before_the_first_word_leaves_no_record_that_cannot_be_replayed(tmp_path: Path) -> None:
    site, id = ModelSite.started(tmp_path, study(MODEL.replace('seat = "A"', 'seat = "B"')), [PLAIN])
    await settle(site, id)
    site.act(id, "leave")
    export(site.database, site.study, tmp_path / "out", "both")
    assert PLAIN.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == b""


def quoted_in(folder: Path, words: str) -> set[str]:
    """Names of the files under a folder that hold these words."""
    return {path.name for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ('[models]\nthen = "llm:x"', "then must not be a language model"),
        ("[models]\npatience = 0", "patience must be a number above 0"),
        ('[models]\nthen = "nobody"', "models: then"),
        ("[models]\nbudget = { usd = -1 }", "usd must be a number above 0"),
        ("[models]\nbudgets = 3", "unknown key 'budgets'"),
    ],
)
def test_mistakes_in_the_table_of_models_are_named(options: str, error: str) -> None:
    with pytest.raises(ValueError) as caught:
        of(options)
    assert error in str(caught.value) and "\n" not in str(caught.value)


def test_the_code_of_who_takes_over_is_watched_for_changes_as_that_of_any_opponent() -> None:
    names = [name for _, name, _ in opponents(of('[models]\nthen = "fair-split"'))]
    assert names == ["llm:fake-1", "fair-split"]


@pytest.mark.parametrize("limit", ["budget", "budget_each", "--budget"])
def test_a_budget_in_money_is_refused_without_a_price(tmp_path: Path, limit: str) -> None:
    found = of("" if limit == "--budget" else f"[models]\n{limit} = {{ usd = 5 }}")
    unpriced, priced = (
        build_host_config("", ("http://127.0.0.1:9/v1",), 5.0 if limit == "--budget" else None, {}, prices)
        for prices in ((), ("fake-1=1,2",))
    )
    with pytest.raises(ValueError, match=r"needs the price of fake-1.*--price fake-1=") as refused:
        check_prices(found, unpriced)
    assert "\n" not in str(refused.value)
    check_prices(found, priced)
    with pytest.raises(AssertionError, match="needs the price of fake-1"):
        HostProcess(tmp_path, found.text, unpriced)


def test_commands_refuse_a_budget_in_money_without_a_price(tmp_path: Path) -> None:
    (tmp_path / "trade.toml").write_text(of("[models]\nbudget = { usd = 5 }").text, "utf-8")
    for command in (
        ["try", "trade.toml", "--models", "--base-url=http://127.0.0.1:9/v1"],
        ["links", "trade.toml", "-n1"],
    ):
        ran = negolab("study", *command, cwd=tmp_path)
        assert "needs the price of fake-1" in ran.stderr


async def test_what_a_model_costs_counts_by_the_price_that_is_given(tmp_path: Path) -> None:
    with running_endpoint(answer=PLAIN) as server:
        config = build_host_config("", (server.url,), None, {}, ("fake-1=1000,1000",))
        site = ModelSite(tmp_path, of('[models]\nthen = "fair-split"\nbudget = { usd = 0.01 }'), config)
        (id,) = site.start()
        for words in ("Hello.", "And again."):
            site.say(id, words)
            await settle(site, id)
        (fallback,) = fallbacks(site).values()
        assert "the study's budget is used up" in fallback.reason and server.counts()["requests"] == 1


def test_making_links_says_that_an_endpoint_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "NEGOLAB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "trade.toml"
    file.write_text(of().text, "utf-8")
    ran = negolab("study", "links", "trade.toml", "-n", "1", cwd=tmp_path)
    assert ran.returncode == 0 and ran.stdout.count("join/") == 1
    assert "before you send them: no language model is configured" in ran.stderr
