"""Rate limits on a fake clock: declared rates, learned limits, pauses, order, and a silent endpoint."""

from __future__ import annotations

import asyncio
import math
import random
import re
from bisect import bisect_left
from collections.abc import Callable, Coroutine
from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.llm.endpoint.availability import Availability
from negolab.llm.endpoint.errors import AttemptFailed, Overloaded, RateLimited, RunFailed, Unreachable
from negolab.llm.endpoint.policy import Limits
from negolab.llm.endpoint.queue import CallQueue
from negolab.llm.endpoint.rate_limiter import MIN_BACKOFF, QueuedCall, RateLimiter
from tests.support.fake_clock import run

Ask = Callable[[], Coroutine[Any, Any, float | None]]


def queue(**limits: Any) -> CallQueue:
    return CallQueue(Limits(**limits), asyncio.get_running_loop().time)


def now() -> float:
    return asyncio.get_running_loop().time()


class Bucket:
    """A token bucket of `burst` filled at `rate` calls per second, with a correct Retry-After."""

    def __init__(self, rate: float, burst: float, latency: float) -> None:
        self.rate, self.burst, self.latency = rate, burst, latency
        self.level, self.at = burst, -math.inf
        self.answered = self.refused = 0

    async def __call__(self) -> float | None:
        self.level = min(self.burst, self.level + (now() - self.at) * self.rate)
        self.at = now()
        await asyncio.sleep(0.001)
        if self.level < 1:
            self.refused += 1
            return (1 - self.level) / self.rate
        self.level -= 1
        self.answered += 1
        await asyncio.sleep(self.latency)
        return None


async def acquired(model_queue: CallQueue, *, began: float = 0.0, tokens: int = 0) -> QueuedCall:
    """Wait in line for a new call of a game that began then, or now."""
    going = QueuedCall(now(), began or now(), tokens)
    await model_queue.acquire(going)
    return going


def over(model_queue: CallQueue, going: QueuedCall, wait: float | None = None, tokens: int | None = None) -> None:
    """The call is answered, or refused with the seconds to wait."""
    if wait is None:
        model_queue.record_success(going, tokens)
    else:
        model_queue.record_rate_limit(going, wait)
    model_queue.release()


async def through(model_queue: CallQueue, ask: Ask) -> float:
    """Retry until there is an answer; return the seconds it took."""
    going = await acquired(model_queue)
    while (wait := await ask()) is not None:
        over(model_queue, going, wait)
        await model_queue.acquire(going)
    over(model_queue, going, tokens=0)
    return now() - going.enqueued_at


async def games(model_queue: CallQueue, ask: Ask, n: int, turns: int) -> list[float]:
    """Run games concurrently, each a sequence of calls; return the sorted seconds of all calls."""

    async def game() -> list[float]:
        return [await through(model_queue, ask) for _ in range(turns)]

    return sorted(chain.from_iterable(await asyncio.gather(*(game() for _ in range(n)))))


# Declared rates.


@given(
    rate=st.floats(1, 5000),
    waits=st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.001, 0.3, 5.0, 61.0]), max_size=200),
)
def test_no_minute_holds_more_calls_than_declared(rate: float, waits: list[float]) -> None:
    limiter, clock, sent = RateLimiter.per_minute(rate), 0.0, []
    for wait in waits:
        clock = max(clock + wait, limiter.next_at)
        limiter.consume(clock)
        sent.append(clock)
    for i, at in enumerate(sent):
        assert bisect_left(sent, at + 59.999) - i <= math.ceil(rate)


@given(
    costs=st.lists(st.integers(1, 900), min_size=1, max_size=200),
    takes=st.lists(st.floats(0, 1), min_size=200, max_size=200),
)
def test_no_minute_holds_more_tokens_than_declared_and_one_call(costs: list[int], takes: list[float]) -> None:
    limiter, clock, sent = RateLimiter.per_minute(1000), 0.0, []
    for cost, share in zip(costs, takes, strict=False):
        clock = max(clock, limiter.next_at)
        limiter.consume(clock, cost)
        took = round(cost * share)
        limiter.adjust(took - cost)
        sent.append((clock, took))
    for at, _ in sent:
        assert sum(took for when, took in sent if at <= when < at + 59.999) <= 1000 + max(costs)


@pytest.mark.parametrize("burst", [1, 2, 5])
def test_a_declared_rate_is_kept_within_two_percent_and_next_to_nothing_is_refused(burst: int) -> None:
    async def minutes() -> None:
        server, began = Bucket(rate=5, burst=burst, latency=0.05), now()
        calls = asyncio.create_task(games(queue(requests_per_minute=300), server, n=100, turns=9))
        while not calls.done():
            # The process stands still for a moment, again and again.
            await asyncio.sleep(7)
            asyncio.get_running_loop().now += 0.05  # type: ignore[attr-defined]
        assert 0.98 * 300 <= server.answered / (now() - began) * 60 <= 1.02 * 300
        assert server.refused <= 0.02 * server.answered

    run(minutes())


def test_declared_tokens_are_counted_as_the_endpoint_counts_them() -> None:
    async def minutes() -> float:
        model_queue = queue(tokens_per_minute=6000)

        began = now()
        for _ in range(120):
            over(model_queue, await acquired(model_queue, tokens=500), tokens=100)
        return now() - began

    assert 117 <= run(minutes()) <= 123


# Learned limits.


@pytest.mark.parametrize(("burst", "latency"), [(10, 0.05), (50, 0.3), (100, 1.0)])
def test_an_undeclared_limit_is_found_and_used(burst: float, latency: float) -> None:
    async def play() -> None:
        server, began = Bucket(100, burst, latency), now()
        calls = await games(queue(), server, n=300, turns=6)
        assert server.answered / (now() - began) >= 95
        assert server.refused / (server.refused + server.answered) < 0.1
        assert calls[int(0.99 * len(calls))] < 5

    run(play())


def test_a_server_that_takes_few_calls_at_once_is_used_without_many_refusals() -> None:
    async def play() -> None:
        running = refused = 0

        async def few() -> float | None:
            nonlocal running, refused
            if running >= 8:
                refused += 1
                return 0.01
            running += 1
            await asyncio.sleep(0.05)
            running -= 1
            return None

        began = now()
        await games(queue(), few, n=300, turns=6)
        assert 1800 / (now() - began) >= 0.5 * 8 / 0.05
        assert refused / (refused + 1800) < 0.1

    run(play())


def test_more_calls_at_once_are_tried_only_where_they_are_used() -> None:
    async def play() -> None:
        used, unused = queue(at_once=400), queue(at_once=400)

        async def ask() -> None:
            await asyncio.sleep(0.1)

        await games(used, ask, n=400, turns=10)
        await games(unused, ask, n=20, turns=200)
        assert used.limits.adaptive.concurrency == 400
        assert unused.limits.adaptive.concurrency == 50

    run(play())


def test_one_episode_of_refusals_cuts_once_by_a_fifth() -> None:
    async def refuse() -> None:
        model_queue = queue(at_once=50)
        going = [await acquired(model_queue) for _ in range(50)]
        for one in going[:30]:
            over(model_queue, one, 0.2)
        assert model_queue.limits.adaptive.concurrency == 40
        assert model_queue.limits.adaptive.episodes == 1

    run(refuse())


def test_many_errors_of_the_server_stop_growth_and_shrink_nothing() -> None:
    async def err() -> None:
        model_queue = queue(at_once=400)

        async def round_(broken: int) -> None:
            going = [await acquired(model_queue) for _ in range(int(model_queue.limits.adaptive.concurrency))]
            await asyncio.sleep(0.01)
            for i, one in enumerate(going):
                if i < broken:
                    model_queue.record_error()
                over(model_queue, one)

        await round_(broken=20)
        assert model_queue.limits.adaptive.concurrency == 50
        await asyncio.sleep(3)
        await round_(broken=5)
        assert model_queue.limits.adaptive.concurrency == 100

    run(err())


def test_refusals_for_other_reasons_do_not_slow_everything_down() -> None:
    async def play() -> float:
        chance = random.Random(1)

        async def moody() -> float | None:
            await asyncio.sleep(0.02)
            return 0.05 if chance.random() < 0.03 else None

        began = now()
        await games(queue(), moody, n=1000, turns=12)
        return 12_000 / (now() - began)

    assert run(play()) > 500


# Pauses.


@pytest.mark.parametrize(("asked", "waits"), [(0.001, MIN_BACKOFF), (0.0, MIN_BACKOFF), (0.7, 0.7), (7200.0, 7200.0)])
def test_after_a_refusal_nobody_goes_before_the_time_that_was_asked_for(asked: float, waits: float) -> None:
    async def refuse() -> float:
        model_queue = queue()
        one = await acquired(model_queue)
        began = now()
        model_queue.record_rate_limit(one, asked)
        model_queue.release()
        await acquired(model_queue)
        return now() - began

    assert run(refuse()) == pytest.approx(waits, abs=0.01)


def test_refusals_that_say_nothing_are_waited_for_longer_and_longer() -> None:
    async def refuse() -> list[float]:
        model_queue, began = queue(), []
        going = QueuedCall(now(), now(), 0)
        for _ in range(9):
            await model_queue.acquire(going)
            began.append(now())
            model_queue.record_rate_limit(going, None)
            model_queue.release()
        return [then - before for before, then in pairwise(began)]

    waits = run(refuse())
    assert waits[:3] == pytest.approx([0.5, 1.0, 2.0])
    assert waits[-1] == pytest.approx(30.0)


# Order.


def test_the_call_that_waited_longest_goes_first_and_of_equals_the_older_game() -> None:
    async def order() -> list[str]:
        model_queue, went = queue(at_once=1), []
        first, began = await acquired(model_queue), now()

        async def one(name: str, began: float) -> None:
            going = await acquired(model_queue, began=began)
            went.append(name)
            over(model_queue, going)

        tasks = [asyncio.create_task(one("young", began)), asyncio.create_task(one("old", began - 5))]
        await asyncio.sleep(1)
        tasks.append(asyncio.create_task(one("late", began - 5)))
        await asyncio.sleep(1)
        over(model_queue, first)
        await asyncio.gather(*tasks)
        return went

    assert run(order()) == ["old", "young", "late"]


def test_a_refused_call_keeps_its_place_before_those_that_came_later() -> None:
    async def order() -> list[str]:
        model_queue, went = queue(at_once=1), []
        first = await acquired(model_queue)

        async def later() -> None:
            await acquired(model_queue)
            went.append("later")

        await asyncio.sleep(0.01)
        waiting = asyncio.create_task(later())
        await asyncio.sleep(0.01)
        over(model_queue, first, 1.0)
        await model_queue.acquire(first)
        went.append("refused")
        over(model_queue, first)
        await waiting
        return went

    assert run(order()) == ["refused", "later"]


def test_a_call_that_is_taken_back_gives_its_place_to_the_next() -> None:
    async def take_back() -> None:
        model_queue = queue(at_once=1)
        await acquired(model_queue)
        waiting = [asyncio.create_task(acquired(model_queue)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        model_queue.release()
        # Let go in the same moment in which it is taken back.
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert [task.cancelled() for task in waiting] == [True, True, False]
        assert model_queue.running == 1

    run(take_back())


# An endpoint that does not answer.


def test_an_overload_is_waited_out_by_time_and_told_ever_more_rarely() -> None:
    told: list[str] = []

    async def overload() -> None:
        waiting = Availability("http://x/v1", 600, now, told.append)
        for _ in range(2):
            for _ in range(500):
                waiting.record_failure(Overloaded("HTTP 529"))
                await asyncio.sleep(1)
            assert waiting.is_waited_for
            waiting.record_answer()
            assert not waiting.is_waited_for

    run(overload())
    assert told[0] == "http://x/v1 does not answer (HTTP 529): waiting; 1 s so far, at most 10 min"
    assert [int(re.findall(r"(\d+) s so far", line)[0]) for line in told[:9]] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert told[9] == "http://x/v1 answers again after 500 s" and len(told) == 20


def test_a_short_trouble_is_no_news() -> None:
    told: list[str] = []

    async def trouble() -> None:
        waiting = Availability("http://x/v1", 600, now, told.append)
        for _ in range(100):
            waiting.record_failure(RateLimited("HTTP 429", retry_after=0.5))
            await asyncio.sleep(0.5)
            waiting.record_answer()

    run(trouble())
    assert told == []


GONE = Unreachable("connection refused")


@pytest.mark.parametrize(
    ("patience", "failures", "says"),
    [
        (
            20,
            [None, GONE, GONE],
            r"has not answered for 21 s \(connection refused\): run again to .* longer --patience$",
        ),
        (600, [RateLimited("HTTP 429", retry_after=7200)], r"HTTP 429: run again after 20\d\d-\d\d-\d\d \d\d:\d\d UTC"),
        (None, [Overloaded("HTTP 503"), GONE], r"connection refused: check that the address is right"),
    ],
    ids=["patience is over", "the wait is longer than patience", "it was never reached"],
)
def test_the_last_of_these_failures_ends_the_run_in_one_line(
    patience: float | None, failures: list[AttemptFailed | None], says: str
) -> None:
    clock = [0.0]
    waiting = Availability("http://x/v1", patience, lambda: clock[0], lambda line: None)
    for failure in failures[:-1]:
        waiting.record_answer() if failure is None else waiting.record_failure(failure)
    clock[0] = 21.0
    with pytest.raises(RunFailed, match=f"^http://x/v1:? {says}"):
        waiting.record_failure(failures[-1])  # type: ignore[arg-type]


# Values.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("at_once", 0),
        ("at_once", 1.5),
        ("at_once", True),
        ("attempts", 0),
        ("requests_per_minute", -1),
        ("tokens_per_minute", 0),
        ("call_seconds", math.inf),
        ("patience", math.nan),
        ("patience", "soon"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be a .*number"):
        Limits(**{name: value})
