"""A batch against an endpoint that gives each of forty answers in turn, as services give them: what becomes a move,
what is paid, what is asked again; and the export of its calls."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple

import msgspec
import pandas
import pytest
from aiohttp import web
from negolab_widgets import Replay

import negolab as nl
from negolab import cli
from negolab.analysis import tables
from negolab.events import Ended, Rejected, Replied
from negolab.formats import transcript
from negolab.ledger import FILE, PICO, Cost, Ledger, Line
from negolab.llm.endpoint.call import ending_of
from negolab.llm.endpoint.services import PLAIN_OUTPUT
from tests.support import in_process
from tests.support.command import negolab, succeeding
from tests.support.endpoints import Server, running_endpoint
from tests.support.forked import ForkedProcess
from tests.support.gate_server import wait_until
from tests.support.host_process import page_text

WHOLE, PART = "93.00", "5"
"""The text of a reply that is whole, and of one that is not, which would be a move all the same."""
USAGE = {"prompt_tokens": 200, "completion_tokens": 20}
PAID = Cost(200 * 3 * 10**6 + 20 * 15 * 10**6, 200, 20)
"""What `USAGE` costs at the prices of the run."""
FREE = Cost()


class Given(NamedTuple):
    """One of the answers: the response, what it is billed, and if a call may end with it."""

    body: Any
    status: int = 200
    bill: Cost = PAID
    ends: bool = True
    fills: bool = False
    """It takes as many tokens as the request allows."""

    def filled(self, most: int) -> Given:
        """The answer to a request that allows so many tokens."""
        usage = {**USAGE, "completion_tokens": most}
        bill = Cost(200 * 3 * 10**6 + most * 15 * 10**6, 200, most)
        return self._replace(body={**self.body, "usage": usage}, bill=bill) if self.fills else self


def reply(content: Any, finish: Any = "stop", usage: Any = USAGE, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion", "model": "fake", "choices": [choice], "usage": usage}


def cut(finish: Any) -> Given:
    return Given(reply(PART, finish), ends=False)


TOOL = [{"id": "1", "type": "function", "function": {"name": "offer", "arguments": '{"price": 5}'}}]
CACHED = {**USAGE, "cache_read_input_tokens": 100}
OWN_KEY = {**USAGE, "cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.036}}
TWO = reply(PART) | {"choices": [{**reply(PART)["choices"][0], "index": 1}, reply(WHOLE)["choices"][0]]}

GIVEN = [
    *(Given(reply(WHOLE, finish)) for finish in ("stop", "end_turn", "eos", "stop_sequence", "STOP")),
    *map(cut, ("length", "max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded", "abort")),
    cut("insufficient_system_resource"),
    *map(cut, ("because", None)),
    cut("stop")._replace(fills=True),
    Given(reply([{"type": "text", "text": WHOLE}])),
    Given(reply([{"type": "output_text", "text": WHOLE}])),
    Given(reply(f"<think>{PART}</think>{WHOLE}")),
    Given(reply(f"<thought>{PART}</thought>{WHOLE}")),
    Given(reply(f"<|channel|>analysis<|message|>{PART}<|end|><|channel|>final<|message|>{WHOLE}<|return|>")),
    Given(reply("", reasoning_content=f"{PART}</think>{WHOLE}")),
    Given(TWO),
    Given(reply(WHOLE, usage=None), bill=Cost(uncounted=1)),
    Given(reply(WHOLE, usage={**CACHED}), bill=Cost(PAID.pico - 27 * 10**7, 200, 20, 100)),
    Given(
        reply(WHOLE, usage={"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 100}),
        bill=Cost(PAID.pico - 27 * 10**7, 200, 20, 100),
    ),
    Given(reply(WHOLE, usage=OWN_KEY), bill=Cost(36 * PICO // 1000, 200, 20)),
    Given(reply(WHOLE, usage={**USAGE, "cost": 0})),
    Given(reply("", "content_filter")),
    Given(reply(None, "SAFETY")),
    Given(reply(PART, "refusal")),
    Given(reply("", refusal="I can't.")),
    Given(reply(None, "tool_calls", tool_calls=TOOL)),
    Given(reply("", reasoning_content="I could say 5.")),
    Given(reply("")),
    Given({"error": {"message": "slow down"}}, 429, FREE, ends=False),
    Given({"error": {"message": "overloaded"}}, 503, FREE, ends=False),
    Given({"error": {"code": 502, "message": "upstream"}}, 200, FREE, ends=False),
    Given(reply("", "error"), ends=False),
    Given({**reply(""), "choices": []}, ends=False),
    Given(reply(f"{WHOLE}\ud83c")),
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEGOLAB_CACHE", str(tmp_path / "answers.db"))


class Endpoint:
    """The endpoint, in a thread: its log has what it billed, in order; it answers nothing while it `holds`."""

    def __init__(self) -> None:
        self.log: list[Given] = []
        self.whole: Counter[str] = Counter()
        """How often a request was given an answer with which a call may end, by its canonical JSON."""
        self.holds = False
        self.asked = 0
        self.has_connections: Callable[[], bool] = lambda: False

    async def answer(self, request: web.Request) -> web.Response:
        asked = json.loads(await request.read())
        while self.holds:
            await asyncio.sleep(0.005)
        given = GIVEN[self.asked % len(GIVEN)].filled(asked["max_tokens"])
        self.asked += 1
        self.log.append(given)
        self.whole[canonical(asked)] += given.ends
        return web.Response(text=json.dumps(given.body), status=given.status, content_type="application/json")

    def billed(self) -> Cost:
        total = FREE
        for given in self.log:
            total = total.plus(given.bill)
        return total


@contextmanager
def serving() -> Iterator[tuple[Endpoint, str]]:
    endpoint, loop = Endpoint(), asyncio.new_event_loop()

    async def serve() -> tuple[web.AppRunner, int]:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_post("/v1/chat/completions", endpoint.answer)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        assert runner.server is not None
        server = runner.server
        endpoint.has_connections = lambda: bool(server.connections)
        return runner, runner.addresses[0][1]

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner, port = asyncio.run_coroutine_threadsafe(serve(), loop).result()
    try:
        yield endpoint, f"http://127.0.0.1:{port}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def batch_of(url: str, out: Path, n: int, *more: str) -> list[str]:
    players = ["--a", "llm:fake,temperature=0", "--b", "linear", "--base-url", url, "--price", "fake=3,0.3,15"]
    return ["batch", "bargaining", *players, "--n", str(n), "--out", str(out), "--concurrency", "4", *more]


def canonical(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)


class Kept(NamedTuple):
    """What a cache holds that is whole: how often each request stands in it, and the calls that it answers."""

    requests: Counter[str]
    calls: set[tuple[Any, ...]]


def kept(file: Path) -> Kept:
    found = Kept(Counter(), set())
    with closing(sqlite3.connect(file)) as answers:
        for request, text in answers.execute("SELECT request, answer FROM answers"):
            asked, answer = json.loads(request), json.loads(text)
            if ending_of(answer["finish"]) not in ("cut", "unknown"):
                sent = {"model": asked["model"], "messages": asked["messages"], **answer["sent"]}
                found.requests[canonical(sent)] += 1
                found.calls.add(tuple(asked["repetition"]))
    return found


def noted(folder: Path) -> set[tuple[Any, ...]]:
    """The calls of which the ledger says that a whole answer came."""
    begun = {line.call: line.of for line in lines_of(folder) if line.took is None}
    over = [line for line in lines_of(folder) if line.took is not None and not line.took.refused]
    return {begun[line.call] for line in over if line.finish and ending_of(line.finish) not in ("cut", "unknown")}


def lines_of(folder: Path) -> list[Line]:
    return [msgspec.json.decode(line, type=Line) for line in (folder / FILE).read_bytes().splitlines()]


def test_there_are_forty_answers_and_those_that_play_are_whole() -> None:
    assert len(GIVEN) == 40
    assert sum(not given.ends for given in GIVEN) == 15


def test_a_run_against_all_of_them_plays_what_is_whole_and_pays_what_is_billed(tmp_path: Path) -> None:
    out, answers = tmp_path / "run", tmp_path / "answers.db"
    with serving() as (endpoint, url):
        command = batch_of(url, out, 24, "--unusable", "100%")
        killed = ForkedProcess(cli.main, *command)
        while endpoint.asked < 60 and killed.poll() is None:
            time.sleep(0.01)
        endpoint.holds = True
        time.sleep(0.5)  # what was answered is noted, and what is in flight gets no answer
        killed.kill()
        killed.communicate()
        endpoint.holds = False
        time.sleep(0.2)
        sent, before = endpoint.whole.copy(), kept(answers).requests
        assert before == sent, "all that was answered is kept"
        ran = negolab(*command)
        assert endpoint.whole - sent == kept(answers).requests - before, "and is not asked again"
        assert endpoint.asked >= 60 and "Traceback" not in ran.stderr, ran.stderr

        billed, ledger = endpoint.billed(), Ledger(out / FILE)
        lost = [line for line in lines_of(out) if line.finish == "killed"]
        assert len(lost) <= 4
        assert ledger.total.pico == billed.pico
        assert (ledger.total.input, ledger.total.output) == (billed.input, billed.output)
        assert ledger.total.cached == billed.cached
        assert ledger.total.uncounted == billed.uncounted + len(lost)
        paid_for = [given for given in endpoint.log if given.bill != FREE]
        assert ledger.total.calls == len(paid_for) + len(lost)
        assert f"tokens       {billed.input:,} in, {billed.output:,} out" in ran.stdout, ran.stdout
        assert f"cost         ${billed.usd:,.4f} for" in ran.stdout

    records = nl.read(out)
    assert len(records) == 24
    words = {event.reply.text for record in records for event in record.events if isinstance(event, Replied)}
    assert PART not in words and WHOLE in words
    ends = [record.events[-1] for record in records if record.header.notes.get("stopped")]
    assert all(isinstance(end, Ended) and (end.reason or "").startswith("no answer") for end in ends), ends
    rejected = {event.invalid.codes[0] for record in records for event in record.events if isinstance(event, Rejected)}
    assert rejected == {"filtered", "refused", "called", "thoughts", "empty"}


def exported(out: Path) -> list[dict[str, Any]]:
    """The calls of a run, as `negolab calls` prints them."""
    found = succeeding("calls", str(out))
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_no_answer_that_was_kept_is_asked_for_again_however_often_the_run_is_killed(tmp_path: Path) -> None:
    out, cache = tmp_path / "run", tmp_path / "answers.db"
    in_flight = 8  # calls of as many games: an answer may be on its way to the cache while the next call is sent
    with serving() as (endpoint, url):
        command = batch_of(url, out, 20, "--unusable", "100%")
        for upto in (20, 45, 75, None):
            sent, before = endpoint.whole.copy(), kept(cache).requests if cache.exists() else Counter[str]()
            process = ForkedProcess(cli.main, *command)
            while process.poll() is None and (upto is None or endpoint.asked < upto):
                time.sleep(0.001)
            process.kill()  # in the middle of whatever it does
            process.communicate()
            assert process.wait() == (0 if upto is None else -signal.SIGKILL)
            assert wait_until(lambda: not endpoint.has_connections()), "what was sent before the kill is answered"
            after = kept(cache)
            assert noted(out) <= after.calls, "what the ledger calls answered can be found again"
            asked, found = endpoint.whole - sent, after.requests - before
            assert not found - asked
            lost = (asked - found).total()
            assert lost <= in_flight * (upto is not None), "each whole answer that was given is a new one in the cache"
    assert len(nl.read(out)) == 20


def test_the_calls_of_a_run_are_exported_as_they_were_sent(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with serving() as (_, url):
        succeeding(*batch_of(url, out, 1))
    calls = exported(out)
    (record,) = nl.read(out)
    assert {call["match"] for call in calls} == {record.id} and {call["seat"] for call in calls} == {"A"}
    assert all(re.fullmatch(r"\d+", str(call["turn"])) for call in calls)
    first = min(calls, key=lambda call: (call["turn"], call["attempt"]))
    assert first["request"]["model"] == "fake" and first["request"]["temperature"] == 0
    assert first["request"]["max_tokens"] == 1000 and first["answer"]["text"] == WHOLE
    assert first["request"]["messages"][0]["content"]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with running_endpoint() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset(latency=0.002)
    return running


def played(
    server: Server,
    out: Path,
    *more: str,
    a: str = "llm:fake",
    b: str = "linear",
    n: int = 1,
    game: str = "bargaining",
    command: Callable[..., CompletedProcess[str]] = negolab,
) -> CompletedProcess[str]:
    """A batch against the endpoint that imitates a service."""
    players = ["--a", a, "--b", b, "--base-url", server.url]
    return command("batch", game, *players, "--n", str(n), "--out", str(out), *more)


def test_log_probabilities_that_were_asked_for_are_exported_and_no_others(server: Server, tmp_path: Path) -> None:
    assert played(server, tmp_path / "with", a="llm:fake,extra.logprobs=true,extra.top_logprobs=2").returncode == 0
    assert played(server, tmp_path / "without").returncode == 0
    calls = exported(tmp_path / "with")
    assert calls
    for call in calls:
        text = call["answer"]["text"]
        assert (call["request"]["logprobs"], call["request"]["top_logprobs"]) == (True, 2)
        tokens = call["answer"]["logprobs"]["content"]
        assert "".join(token["token"] for token in tokens) == text
        assert [token["logprob"] for token in tokens] == [-0.125 * at for at in range(len(text))]
        assert [top["logprob"] for top in tokens[0]["top_logprobs"]] == [-1.0, -2.0]
    for call in exported(tmp_path / "without"):
        assert "logprobs" not in call["request"] and call["answer"].get("logprobs") is None


# Prompts and context windows.


@pytest.mark.parametrize(
    ("game", "settings"),
    [("bargaining", "max_tokens=300"), ("trading", "form=schema"), ("trading", "form=schema,history=last:1")],
)
def test_a_run_says_before_its_first_call_how_long_a_prompt_can_get(
    server: Server, tmp_path: Path, game: str, settings: str
) -> None:
    server.set(window=9_000)
    ran = played(
        server, tmp_path / "run", "--unusable", "1", a=f"llm:fake,{settings}", b="random-legal", n=20, game=game
    )
    first, *others = [line for line in ran.stderr.splitlines() if line.startswith("negolab: ")]
    said = re.fullmatch(
        r"negolab: fake: a prompt and its answer take up to about ([\d,]+) tokens, as estimated from 10 random "
        "matches, but its context window is 9,000",
        first,
    )
    assert said is not None and not any("window" in line for line in others), ran.stderr
    estimate = int(said[1].replace(",", "")) - (300 if "max_tokens" in settings else PLAIN_OUTPUT)
    sent = max(len(json.dumps(call["request"]["messages"])) for call in exported(tmp_path / "run"))
    assert sent / 5 < estimate < sent / 2, "about three characters a token"


def test_a_prompt_that_can_outgrow_its_window_is_told_with_what_to_do(server: Server, tmp_path: Path) -> None:
    assert "window" not in played(server, tmp_path / "unknown", "--no-cache").stderr
    server.set(window=1_200)
    ran = played(server, tmp_path / "run", "--no-cache", b="llm:fake,history=last:2", n=2)
    line = next(line for line in ran.stderr.splitlines() if "context window" in line)
    assert line.endswith("its context window is 1,200: longer matches fail; history=last:6 sends less")


@pytest.mark.parametrize("window", [None, 9_000])
def test_the_first_game_uses_the_preflights_answer_if_a_strategy_draws_at_random(
    server: Server, tmp_path: Path, window: int | None
) -> None:
    server.set(window=window)
    ran = played(server, tmp_path / "run", a="llm:fake,strategy=random-legal", command=in_process.negolab)
    assert ("context window" in ran.stderr) == (window is not None)
    assert server.counts()["requests"] == len(tables.replies(tmp_path / "run")) > 0


# What a batch prints.


def test_calls_that_are_billed_and_hold_no_choice_are_in_the_sum(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("negolab.llm.endpoint.policy.MAX_RETRY_DELAY", 0.0)
    usage = {"prompt_tokens": 1_000, "completion_tokens": 1_133, "total_tokens": 2_133}
    server.set(faults={"raw": 1}, raw=json.dumps({"choices": [], "usage": usage}))
    options = ("--price", "fake=3,0.3,15", "--no-cache", "--concurrency", "1")
    ran = played(server, tmp_path / "run", *options, n=2, command=in_process.negolab)
    asked = server.counts()["requests"]
    usd = asked * (1_000 * 3 + 1_133 * 15) / 1e6
    assert asked % 6 == 0 and asked >= 12, "two games and what was asked before them, six times each"
    assert f"no answer    {asked} calls without an answer that were" in ran.stdout, ran.stdout
    assert f"tokens       {asked * 1_000:,} in, {asked * 1_133:,} out\ncost         ${usd:,.4f} for" in ran.stdout


def test_neither_a_price_nor_a_saving_that_is_not_known_is_nothing(server: Server, tmp_path: Path) -> None:
    one, two = (played(server, tmp_path / out, n=2) for out in ("one", "two"))
    server.set(usage=False)
    three = played(server, tmp_path / "three", "--price", "fake=1,2", "--seed", "9", n=2)
    assert re.search(r"cost +unknown for 8 calls: the price is unknown", one.stdout), one.stdout
    assert re.search(r"saved +unknown: 8 answers came from the cache", two.stdout), two.stdout
    assert "unknown for 8 calls: tokens were not counted" in three.stdout and "price is unknown" not in three.stdout
    assert "$0.0000" not in one.stdout + three.stdout


RAISES = """
from negolab import Scripted

class Raises(Scripted):
    deterministic = True

    def act(self, game, seen):
        raise KeyError("lost")
"""


def test_neither_a_model_nor_a_player_that_raises_is_called_deterministic(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(RAISES)
    scripts = ["--b", "linear", "--n", "2", "--out"]
    raised, known = (
        negolab("batch", "bargaining", "--a", name, *scripts, name[:4], cwd=tmp_path).stdout
        for name in ("mine.py:Raises", "time")
    )
    certain = "nothing is random in the game or its players"
    for told in (raised, played(server, tmp_path / "model", "--no-cache", n=2).stdout):
        assert certain not in told and "known exactly" not in told
    assert certain in known


def test_a_smaller_number_of_games_than_the_folder_holds_is_told(tmp_path: Path) -> None:
    command = ["batch", "trading", "--a", "random-legal", "--b", "random-legal", "--out", str(tmp_path / "run")]
    assert "more than" not in negolab(*command, "--n", "4").stderr
    ran = negolab(*command, "--n", "2")
    assert "the folder has 4 matches, more than --n 2; the results above include all of them" in ran.stderr


# What a record says of a model.


def test_persona_settings_and_label_stand_where_a_match_is_shown_and_a_refused_parameter_nowhere(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "tough.txt").write_text("You never give in.")
    settings = f"temperature=0.5,top_p=0.9,label=mine,history=last:2,persona={tmp_path / 'tough.txt'}"
    server.set(refuses=["temperature"])
    ran = played(server, tmp_path / "run", "--no-cache", a=f"llm:fake,{settings}")
    assert "fake does not accept temperature: it is omitted" in ran.stderr
    (record,) = nl.read(tmp_path / "run")
    assert record.header.notes["models"]["A"]["parameters"] == {"top_p": 0.9, "max_tokens": 1000}
    shown = "mine, persona tough.txt (7a7d25e6), form=free, chat=True, history=last:2, max_tokens=1000, top_p=0.9"
    (row,) = tables.matches(tmp_path / "run").to_dict("records")
    assert row["settings_a"] == shown and pandas.isna(row["settings_b"])
    assert shown in transcript.export(record, "markdown").replace("\\", "")
    assert f"Seller: {shown}" in page_text(Replay(record, out=tmp_path))
    sent = [event.reply.usage["sent"] for event in record.events if isinstance(event, Replied) and event.reply.usage]
    assert sent and all(each == {"top_p": 0.9, "max_tokens": 1000} for each in sent)
    (fields,) = {json.dumps(sorted(call["request"])) for call in exported(tmp_path / "run")}
    assert json.loads(fields) == ["max_tokens", "messages", "model", "top_p"]
