"""An endpoint over HTTP, against a server with every kind of fault."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import logging
import tracemalloc
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from negolab.ledger import FILE, PICO, Ledger
from negolab.llm.cache import Cache
from negolab.llm.endpoint import availability, client, policy
from negolab.llm.endpoint.budget import Budget
from negolab.llm.endpoint.call import Answer, Call, Usage
from negolab.llm.endpoint.endpoint import GAME_TIMER, Endpoint
from negolab.llm.endpoint.errors import BudgetReached, GameFailed, RunFailed
from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.prices import Price, Prices
from negolab.llm.models import Models
from tests.conftest import free_port
from tests.support.endpoints import Server, make_call, running_endpoint

T = TypeVar("T")
PRICES = Prices({"fake": Price(10.0, 10.0, 100.0)})
KEY, SLASHED = "sk-test-0123456789abcdef", "azz/TOPSECRET/0123456"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with running_endpoint() as server:
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server with default settings and cleared counts; backoff pauses are short."""
    running.reset()
    monkeypatch.setattr(policy, "INITIAL_RETRY_DELAY", 0.005)
    return running


def asking(server: Server | str, work: Callable[[Endpoint], Awaitable[T]], **given: Any) -> T:
    """Run a coroutine with an endpoint in a new event loop."""

    async def do() -> T:
        models = Models(**{"keys": {}, **given})
        try:
            return await work(models.endpoint(server if isinstance(server, str) else server.url))
        finally:
            await models.close()

    return asyncio.run(do())


def ask(server: Server | str, asked: Call | None = None, **given: Any) -> Answer:
    return asking(server, lambda endpoint: endpoint.answer(asked or make_call()), **given)


def many(server: Server, n: int, **given: Any) -> list[Answer | BaseException]:
    """Send `n` distinct calls at once."""

    async def all_(endpoint: Endpoint) -> list[Answer | BaseException]:
        return await asyncio.gather(*(endpoint.answer(make_call(n=i)) for i in range(n)), return_exceptions=True)

    return asking(server, all_, **given)


# What comes back.


def test_an_answer_carries_what_the_endpoint_reported(server: Server) -> None:
    fields = {"reasoning_content": "Ask for much."}
    server.set(fields=fields)
    answer = ask(server, prices=PRICES)
    assert (answer.text, answer.finish, answer.reasoning) == ("93.00", "stop", "Ask for much.")
    assert (answer.model, answer.fingerprint) == ("fake-2026", "fp_fake")
    assert answer.request_id is not None
    assert len(answer.request_id) == 32
    assert answer.usage.input is not None
    assert answer.usage == Usage(answer.usage.input, 2)
    assert answer.cost == pytest.approx((answer.usage.input * 10 + 2 * 100) / 1e6)
    assert answer.attempts == 1
    assert not answer.replayed
    assert answer.latency >= 0.005


def test_what_the_endpoint_does_not_say_is_unknown(server: Server) -> None:
    server.set(usage=False)
    assert ask(server, prices=PRICES).usage == Usage()
    assert ask(server, prices=PRICES).cost is None
    server.set(usage=True)
    assert ask(server).cost is None


def test_a_cut_answer_says_so(server: Server) -> None:
    server.set(faults={"length": 1})
    answer = ask(server)
    assert (answer.text, answer.finish) == ("93", "length")


@pytest.mark.parametrize("fields", [{"refusal": "I would rather not."}, {"reasoning": "Hm."}])
def test_no_text_but_a_refusal_or_a_thought_is_an_answer(server: Server, fields: dict[str, str]) -> None:
    server.set(fields={"content": None, **fields})
    answer = ask(server)
    refusal = fields.get("refusal")
    assert (answer.text, answer.finish, answer.attempts) == (refusal or "", "refusal" if refusal else "stop", 1)
    assert answer.reasoning == fields.get("reasoning")


@pytest.mark.parametrize(
    ("said", "listed"),
    [
        ('{"id": "m", "max_model_len": 8192}', {"m": 8192}),
        ('{"id": "m", "context_length": 131072, "max_context_length": 4096}', {"m": 131072}),
        ('{"id": "m", "loaded_context_length": 4096, "max_context_length": 131072}', {"m": 4096}),
        ('{"id": "m", "context_window": 32768}', {"m": 32768}),
        ('{"id": "m", "max_input_tokens": 200000}', {"m": 200_000}),
        ('{"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 8192}}', {"m": 2048}),
        ('{"id": "m", "max_model_len": "8192", "context_length": 0, "context_window": true, "meta": [5]}', {"m": None}),
        (
            '{"id": "a"}, {}, 5, null, {"id": 7}, {"id": ""}, {"id": "b\xff"}, {"id": "c\\ud800"}',
            {"a": None, "b\ufffd": None, "c\ufffd": None},
        ),
        ('{"id": "azz\\/TOPSECRET\\/0123456"}', {"[key]": None}),
    ],
)
def test_models_are_listed_with_their_context_windows(server: Server, said: str, listed: dict[str, int | None]) -> None:
    server.set(raw=f'{{"data": [{said}]}}')
    assert asking(server, Endpoint.list_models, keys={"OPENAI_API_KEY": SLASHED}) == listed


DENIED = '{"error": {"message": "You have insufficient permissions."}}'
NO_LISTS = ("\xff\xfe\xfa", "[]", '{"data": 5}', '{"data": {"id": "a"}}', "[" * 100_000)


@pytest.mark.parametrize(
    ("raw", "status", "says"),
    [
        *((DENIED, status, "insufficient permissions") for status in (400, 403, 404, 500)),
        *((raw, 200, "its answer is not a list") for raw in NO_LISTS),
    ],
)
def test_an_endpoint_that_lists_no_models_is_said_to_list_none(
    server: Server, raw: str, status: int, says: str
) -> None:
    server.set(raw=raw, status=status)
    with pytest.raises(RunFailed, match=says):
        asking(server, Endpoint.list_models)


# Faults that pass.

COUNTED = ["json", "empty", "huge"]
"""Faults after which a call is sent again some times."""
OVERLOAD = ["drop", "500", "503", "cut", "inner"]
"""Faults that are waited out by time."""
PASSING = [*COUNTED, *OVERLOAD]


@pytest.mark.parametrize("fault", [*PASSING, "html"])
def test_a_call_survives(server: Server, fault: str) -> None:
    async def second(endpoint: Endpoint) -> Answer:
        await endpoint.answer(make_call(n=1))
        server.reset(faults={fault: 1}, first=2)
        return await endpoint.answer(make_call())

    answer = asking(server, second)
    assert (answer.text, answer.attempts) == ("93.00", 3)
    counts = server.counts()
    assert (counts["answered"], counts["faults"]) == (1, {fault: 2})


@pytest.mark.parametrize("fault", COUNTED)
def test_a_fault_that_does_not_pass_fails_the_game_after_so_many_attempts(server: Server, fault: str) -> None:
    server.set(faults={fault: 1})
    with pytest.raises(GameFailed, match=r"^no answer in 4 attempts; last: .{10,}$"):
        ask(server, limits=Limits(attempts=4))
    assert server.counts()["requests"] == 4


@pytest.mark.parametrize("fault", OVERLOAD)
def test_an_endpoint_that_does_not_answer_ends_the_run_when_patience_is_over(server: Server, fault: str) -> None:
    server.set(faults={fault: 1})
    with pytest.raises(RunFailed, match=r"has not answered for \d s \(.{10,}\): run again to resume"):
        ask(server, limits=Limits(patience=0.2))
    assert server.counts()["requests"] > 2


@pytest.mark.parametrize("fault", ["hang", "trickle"])
def test_a_call_that_takes_too_long_is_sent_again_while_others_are_answered(server: Server, fault: str) -> None:
    server.set(faults={fault: 0.3}, first=1)
    answers = many(server, 40, limits=Limits(call_seconds=2))
    assert all(isinstance(answer, Answer) for answer in answers)
    counts = server.counts()
    assert counts["answered"] == counts["distinct"] == 40
    assert 0 < counts["faults"][fault] < 40


def test_refused_calls_wait_and_are_answered(server: Server) -> None:
    server.set(faults={"429": 1}, first=2)
    answer = ask(server)
    assert (answer.text, answer.attempts) == ("93.00", 3)
    assert answer.queued >= 0.2


def test_all_faults_together_lose_no_call_and_answer_none_twice(server: Server) -> None:
    kinds = [*PASSING, "html", "429", "hang", "trickle"]
    server.set(faults=dict.fromkeys(kinds, 0.2 / len(kinds)))
    answers = many(server, 300, limits=Limits(call_seconds=5))
    assert all(isinstance(answer, Answer) for answer in answers)
    counts = server.counts()
    assert counts["answered"] == counts["distinct"] == 300
    assert counts["answered_again"] == 0


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_that_is_too_long_is_not_read_to_its_end(server: Server, packed: bool) -> None:
    server.set(faults={"huge": 1}, packed=packed)
    tracemalloc.start()
    try:
        with pytest.raises(GameFailed, match=r"^no answer in one attempt; last: the answer is longer than 8 MB$"):
            ask(server, limits=Limits(attempts=1))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 3 * client.MAX_BODY


# Failures.


@pytest.mark.parametrize("fault", ["context", "overflow", "policy"])
def test_a_request_that_cannot_be_answered_fails_its_game_at_once(server: Server, fault: str) -> None:
    async def second(endpoint: Endpoint) -> None:
        await endpoint.answer(make_call(n=1))
        server.reset(faults={fault: 1})
        with pytest.raises(GameFailed, match=r"^HTTP 400: "):
            await endpoint.answer(make_call())

    asking(server, second)
    assert server.counts()["requests"] == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("quota", "HTTP 429: You exceeded your current quota"),
        ("forbidden", "HTTP 403: Not in your country."),
        ("context", "HTTP 400: "),
        ("overflow", "HTTP 400: "),
        ("html", "received a web page (502 Bad Gateway) instead of an answer: check that the address is right"),
        ("missing", "HTTP 404: The model does not exist.: check the base URL and the model's name"),
    ],
)
def test_what_no_game_can_cure_ends_the_run(server: Server, fault: str, says: str) -> None:
    server.set(faults={fault: 1})
    with pytest.raises(RunFailed) as failed:
        ask(server)
    assert str(failed.value).startswith(f"{server.url}: {says}")
    assert "\n" not in str(failed.value)
    assert server.counts()["requests"] == 1


def test_calls_wait_for_an_endpoint_that_goes_away_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "INITIAL_RETRY_DELAY", 0.1)
    monkeypatch.setattr(availability, "FIRST_NOTICE", 0.1)
    told: list[str] = []
    port = free_port()

    async def play() -> tuple[list[Answer], dict[str, Any]]:
        models = Models(keys={}, notify=told.append)
        endpoint = models.endpoint(f"http://127.0.0.1:{port}/v1")
        with running_endpoint(port, latency=0.005):
            await endpoint.answer(make_call())
        waiting = [asyncio.create_task(endpoint.answer(make_call(n=i))) for i in range(20)]
        await asyncio.sleep(0.3)
        with running_endpoint(port, latency=0.005) as up:
            answers = await asyncio.gather(*waiting)
            counts = up.counts()
        await models.close()
        return answers, counts

    answers, counts = asyncio.run(play())
    assert [answer.text for answer in answers] == ["93.00"] * 20
    assert counts["requests"] == 20
    assert "does not answer (connection refused): waiting; 0 s so far, at most 10 min" in told[0]
    assert "answers again after" in told[-1]


# Parameters.


def test_a_parameter_that_the_model_calls_otherwise_is_learned_once(server: Server) -> None:
    server.set(refuses=["max_tokens"])
    answers = many(server, 30)
    assert all(isinstance(answer, Answer) for answer in answers)
    server.set(forget=True)

    async def two(endpoint: Endpoint) -> None:
        await endpoint.answer(make_call(n=1))
        await endpoint.answer(make_call(n=2))

    asking(server, two)
    assert server.counts()["requests"] == 3


@pytest.mark.parametrize(
    ("model", "refuses", "attempts"), [("gpt-5-mini", ["temperature", "max_tokens"], 1), ("fake", ["temperature"], 2)]
)
def test_a_parameter_of_sampling_that_the_model_does_not_take_is_left_out_and_told(
    server: Server, model: str, refuses: list[str], attempts: int
) -> None:
    told: list[str] = []
    server.set(refuses=refuses)
    assert ask(server, make_call(model=model, temperature=0.5), notify=told.append).attempts == attempts
    assert told == [f"{model} does not accept temperature: it is omitted"]


def test_a_parameter_without_which_answers_are_others_ends_the_run(server: Server) -> None:
    server.set(refuses=["response_format"])
    with pytest.raises(RunFailed, match="fake does not accept JSON schemas: choose form=free"):
        ask(server, make_call(response_format={"type": "json_object"}))


def test_what_the_call_itself_sets_is_no_parameter(server: Server) -> None:
    with pytest.raises(RunFailed, match="'stream' cannot be set"):
        ask(server, make_call(stream=True))
    assert server.counts()["requests"] == 0


# Limits and budget.


def test_no_more_calls_are_in_flight_than_allowed(server: Server) -> None:
    server.set(latency=0.02)
    many(server, 60, limits=Limits(at_once=7))
    assert server.counts()["peak"] == 7


def test_a_call_that_is_taken_back_leaves_its_place(server: Server) -> None:
    server.set(faults={"hang": 1}, first=1)

    async def take_back(endpoint: Endpoint) -> Answer:
        hanging = asyncio.create_task(endpoint.answer(make_call(n=1)))
        await asyncio.sleep(0.2)
        hanging.cancel()
        await asyncio.wait([hanging])
        server.set(faults={})
        return await endpoint.answer(make_call(n=2))

    assert asking(server, take_back, limits=Limits(at_once=1)).text == "93.00"


def test_a_budget_holds_with_two_hundred_calls_in_flight(server: Server) -> None:
    one = ask(server, prices=PRICES).cost
    assert one is not None
    server.reset(faults={"json": 0.1, "500": 0.1})
    budget = Budget(usd=100 * one)
    answers = many(server, 300, prices=PRICES, budget=budget)
    reached = [answer for answer in answers if isinstance(answer, BudgetReached)]
    paid = [answer.cost or 0 for answer in answers if isinstance(answer, Answer)]
    assert len(reached) + len(paid) == 300
    assert sum(paid) <= budget.spent.usd <= 100 * one
    assert str(reached[0]).startswith(f"the budget is used up: ${budget.spent.usd:.4f} of ${100 * one:.2f} is spent")
    raised = Budget(usd=1000 * one, ledger=Ledger(opening=lambda: budget.spent))
    assert all(isinstance(answer, Answer) for answer in many(server, 50, prices=PRICES, budget=raised))


def test_what_a_lost_attempt_took_counts_where_the_endpoint_says_it(server: Server) -> None:
    server.set(faults={"empty": 1}, first=1)
    models = Models(keys={}, prices=PRICES, budget=Budget(usd=1))
    answer = asyncio.run(models.endpoint(server.url).answer(make_call()))
    lost = (10 * 10 + 2 * 100) / 1e6
    assert answer.usage.input is not None
    own = ((answer.usage.input - 10) * 10 + 2 * 100) / 1e6
    assert answer.cost == pytest.approx(own + lost)
    assert models.usage.usd == pytest.approx(own + lost)
    assert (models.usage.input, models.usage.output) == (answer.usage.input, answer.usage.output)


def test_sums_tell_what_came_of_the_calls(server: Server) -> None:
    server.set(faults={"429": 1}, first=1)
    models = Models(keys={})

    async def some() -> None:
        await asyncio.gather(*(models.endpoint(server.url).answer(make_call(n=i)) for i in range(5)))
        await models.close()

    asyncio.run(some())
    spent = models.usage
    assert (spent.calls, spent.refused, spent.unpriced, spent.uncounted) == (5, 5, 5, 0)
    assert spent.output == 10


# Kept answers.


class LateStore:
    """A store that notes what the ledger knew when an answer came to it, and then fails or lets the call be dropped."""

    def __init__(self, ledger: Ledger, error: BaseException | None) -> None:
        self.ledger, self.error = ledger, error
        self.known: list[int] = []

    def find(self, endpoint: str, call: Call) -> Answer | None:
        return None

    async def store(self, endpoint: str, call: Call, answer: Answer) -> None:
        self.known.append(self.ledger.total.answers)
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, RunFailed("the disk is full"), asyncio.CancelledError()])
def test_an_answer_is_kept_before_the_ledger_knows_of_it_and_paid_whatever_comes_then(
    server: Server, error: BaseException | None
) -> None:
    budget = Budget()
    store = LateStore(budget.ledger, error)

    async def answered(endpoint: Endpoint) -> object:
        (came,) = await asyncio.gather(endpoint.answer(make_call()), return_exceptions=True)
        return came

    came = asking(server, answered, budget=budget, cache=store, prices=PRICES)
    assert type(came) is (Answer if error is None else type(error))
    assert store.known == [0] and (budget.ledger.total.answers, budget.ledger.total.uncounted) == (1, 0)
    assert budget.ledger.total.usd == pytest.approx(server.counts()["input"] / 1e5 + server.counts()["output"] / 1e4)


def test_a_kept_answer_is_not_asked_for_again_and_costs_nothing(server: Server, tmp_path: Path) -> None:
    with Cache(tmp_path / "answers.db", run="one") as cache:
        first = ask(server, cache=cache, prices=PRICES)
    with Cache(tmp_path / "answers.db", run="two") as cache:
        models = Models(keys={}, cache=cache, prices=PRICES)
        again = asyncio.run(models.endpoint(server.url).answer(make_call()))
    assert again == msgspec.structs.replace(first, replayed=True)
    assert server.counts()["requests"] == 1
    assert (models.usage.calls, models.usage.replayed, models.usage.usd) == (0, 1, 0)
    assert models.usage.saved / PICO == first.cost


# Keys.


def test_a_key_is_sent_to_its_endpoint_and_shown_to_nobody(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    given = {"keys": {"OPENAI_API_KEY": KEY}, "notify": told.append}
    server.set(key=KEY)
    assert ask(server, **given).text == "93.00"
    # The server's words quote the key that it refuses.
    server.set(key="another")
    with pytest.raises(RunFailed) as refused:
        ask(server, **given)
    assert "HTTP 401: Incorrect API key provided: [key]" in str(refused.value)
    server.reset(faults={"empty": 1})
    with pytest.raises(GameFailed) as failed:
        ask(server, limits=Limits(attempts=1), **given)
    models = Models(keys={"OPENAI_API_KEY": KEY})
    shown = [
        repr(models),
        repr(models.endpoint(server.url)),
        repr(vars(models.endpoint(server.url))),
        caplog.text,
        *told,
    ]
    for error in (refused.value, failed.value):
        while error is not None:
            shown += [repr(error), str(error)]
            error = error.__cause__  # type: ignore[assignment]
    assert KEY not in "".join(shown)


def test_no_other_key_of_the_environment_goes_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin-0123456789")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0123456789")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-third-0123456789")
    server.set(key=KEY)
    assert ask(server, keys={"OPENAI_API_KEY": KEY}).text == "93.00"
    server.set(key="none")
    assert ask(server).text == "93.00"


# Event loops.


def test_one_models_object_serves_one_event_loop_after_another(server: Server) -> None:
    models = Models(keys={})
    endpoint = models.endpoint(server.url)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for n in range(3):
            assert asyncio.run(endpoint.answer(make_call(n=n))).text == "93.00"
        gc.collect()
    assert models.endpoint(server.url + "/") is endpoint


def test_the_client_of_an_endpoint_ends_with_its_event_loop(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    disconnect = client.Client.disconnect

    async def noted(self: client.Client) -> None:
        await disconnect(self)
        closed.append(True)

    monkeypatch.setattr(client.Client, "disconnect", noted)
    asyncio.run(Models(keys={}).endpoint(server.url).answer(make_call()))
    assert closed == [True]


def test_a_key_that_the_server_repeats_is_in_no_error_even_if_it_is_cut(server: Server) -> None:
    key = "azz-" + 400 * "0123456789"
    server.set(key="another")
    works: list[Callable[[Endpoint], Awaitable[object]]] = [
        Endpoint.list_models,
        lambda endpoint: endpoint.answer(make_call()),
    ]
    for work in works:
        with pytest.raises(RunFailed, match=r"Incorrect API key provided: \[key\]\.") as refused:
            asking(server, work, keys={"OPENAI_API_KEY": key})
        assert key[:20] not in str(refused.value)


def completion(said: str, **more: Any) -> str:
    """The JSON body of a completion with the text `said`."""
    message = f'{{"message": {{"content": "{said}"}}, "finish_reason": "{more.pop("finish", "stop")}"}}'
    rest = "".join(f', "{name}": {json.dumps(value)}' for name, value in more.items())
    return f'{{"choices": [{message}]{rest}}}'


def test_a_key_that_comes_back_escaped_or_in_a_header_is_in_no_answer(server: Server) -> None:
    said = "".join(f"\\u{ord(char):04X}" if at % 2 else char for at, char in enumerate(SLASHED))
    raw = completion(f"is it {said}?", finish=said, model=SLASHED, id=SLASHED)
    server.set(faults={"raw": 1}, raw=raw, headers={"x-request-id": f"{SLASHED} {'x' * 170}{SLASHED}{'x' * 5000}"})
    answer = ask(server, keys={"OPENAI_API_KEY": SLASHED})
    assert (answer.text, answer.request_id) == ("is it [key]?", f"[key] {'x' * 170}[key]{'x' * 19}")
    assert SLASHED not in repr(answer)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32-le"])
def test_a_key_that_comes_back_in_another_encoding_is_in_no_answer_and_no_error(server: Server, encoding: str) -> None:
    given: dict[str, Any] = {"keys": {"OPENAI_API_KEY": SLASHED}}
    server.set(faults={"raw": 1}, raw=completion(SLASHED).encode(encoding).decode("latin-1"))
    assert ask(server, **given).text == "[key]"
    server.set(status=401)
    with pytest.raises(RunFailed, match="HTTP 401") as refused:
        ask(server, **given)
    assert "TOPSECRET" not in str(refused.value)


@pytest.mark.parametrize("status", [403, 503])
@pytest.mark.parametrize("code", [lambda key: key[::-1], lambda key: base64.b64encode(key.encode()).decode()])
def test_a_key_that_comes_back_in_some_code_is_in_no_ledger_and_no_notice(
    server: Server, tmp_path: Path, code: Callable[[str], str], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "FIRST_NOTICE", 0.01)
    server.set(faults={"raw": 1}, raw=json.dumps({"error": {"message": f"No: {code(KEY)}."}}), status=status)
    told: list[str] = []
    with pytest.raises((RunFailed, GameFailed)) as failed:
        budget, limits = Budget(ledger=Ledger(tmp_path / FILE)), Limits(patience=0.5)
        ask(server, keys={"OPENAI_API_KEY": KEY}, budget=budget, limits=limits, notify=told.append)
    assert "[key]" in str(failed.value) and (status == 403 or "does not answer ([key])" in told[0])
    shown = str(failed.value) + str(told) + (tmp_path / FILE).read_text()
    assert code(KEY)[:9] not in shown and f'"finish":"{"RunFailed" if status == 403 else "Overloaded"}"' in shown


# What is read although it is wrong.


# A refusal of one request.


@pytest.mark.parametrize("inside", [False, True])
def test_a_403_fails_its_game_once_the_model_has_answered_and_the_run_before(server: Server, inside: bool) -> None:
    raw = '{"error": {"code": 403, "message": "Not this input."}}'
    server.set(raw=raw, status=200 if inside else 403)

    async def two(endpoint: Endpoint) -> None:
        await endpoint.answer(make_call())
        server.set(faults={"raw": 1})
        with pytest.raises(GameFailed, match=r"^HTTP 403: Not this input\.$"):
            await endpoint.answer(make_call(n=1))
        with pytest.raises(RunFailed, match=r"HTTP 403: Not this input\.$"):
            await endpoint.answer(make_call(n=1, model="fake-2"))

    asking(server, two)


# Time and money that are asked for.


class Clock:
    """Knows whether it stands."""

    def __init__(self) -> None:
        self.stopped = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.stopped += 1
        try:
            yield
        finally:
            self.stopped -= 1


def test_waiting_for_an_endpoint_takes_no_time_of_the_game(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = Clock(), list[tuple[float, bool]]()
    sleep = asyncio.sleep

    async def noted(seconds: float, result: object = None) -> None:
        if seconds:
            slept.append((seconds, bool(clock.stopped)))
        await sleep(0)

    async def one(endpoint: Endpoint) -> Answer:
        GAME_TIMER.set(clock.paused)
        monkeypatch.setattr(asyncio, "sleep", noted)
        return await endpoint.answer(make_call())

    monkeypatch.setattr(policy.CallPolicy, "retry_delay", lambda self, broken: 8.0)
    server.set(faults={"raw": 1}, first=1, raw="{}", status=503, headers={"Retry-After": "7"})
    assert asking(server, one).text == "93.00"
    assert slept == [(8.0, True)]


def test_a_count_of_tokens_that_cannot_be_spends_no_budget(server: Server) -> None:
    for put in (2**52, 9_000_000):
        usage = {"prompt_tokens": put, "completion_tokens": 2}
        server.set(faults={"raw": 1}, raw=completion("5.00", usage=usage))
        budget = Budget(usd=1.0, tokens=100_000)
        assert ask(server, prices=PRICES, budget=budget).text == "5.00"
        assert 0 < budget.spent.usd < 0.02
        assert 0 < budget.spent.tokens < 1000
