"""Who may go when: declared rates, learned limits, pauses, order, and an endpoint that is silent. In skipped time."""

from __future__ import annotations

import asyncio
import math
import random
from bisect import bisect_left
from collections.abc import Callable, Coroutine
from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.players.endpoint.failures import RunFailed
from negolab.players.endpoint.lane import FLOOR, Lane, Pass
from negolab.players.endpoint.limits import Limits
from negolab.players.endpoint.outage import LONGEST, Outage
from negolab.players.endpoint.pace import Pace
from tests.clockwork import run

Ask = Callable[[], Coroutine[Any, Any, float | None]]


def lane(outage: Outage | None = None, **limits: Any) -> Lane:
    clock = asyncio.get_running_loop().time
    return Lane(Limits(**limits), outage or Outage("http://x/v1", clock), clock)


def now() -> float:
    return asyncio.get_running_loop().time()


class Bucket:
    """A server that takes `rate` calls a second out of a bucket of `burst`, and says honestly when it will again."""

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


async def through(way: Lane, ask: Ask, *, began: float = 0.0, tokens: int = 0) -> float:
    """Ask until there is an answer; the seconds it took."""
    going = Pass(now(), began or now(), tokens)
    while True:
        await way.enter(going)
        wait = await ask()
        if wait is None:
            way.answered(going, tokens)
            way.leave(going)
            return now() - going.asked
        way.refused(going, wait)
        way.leave(going)


async def games(way: Lane, ask: Ask, n: int, turns: int) -> list[float]:
    """Games at once, each of so many calls after each other; the seconds of all calls, sorted."""

    async def game() -> list[float]:
        return [await through(way, ask) for _ in range(turns)]

    return sorted(chain.from_iterable(await asyncio.gather(*(game() for _ in range(n)))))


# Declared rates.


@given(
    rate=st.floats(1, 5000),
    waits=st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.001, 0.3, 5.0, 61.0]), max_size=200),
)
def test_no_minute_holds_more_calls_than_declared(rate: float, waits: list[float]) -> None:
    pace, clock, sent = Pace.a_minute(rate), 0.0, []
    for wait in waits:
        clock = max(clock + wait, pace.opens)
        pace.take(clock)
        sent.append(clock)
    for i, at in enumerate(sent):
        assert bisect_left(sent, at + 59.999) - i <= math.ceil(rate)


@given(
    costs=st.lists(st.integers(1, 900), min_size=1, max_size=200),
    takes=st.lists(st.floats(0, 1), min_size=200, max_size=200),
)
def test_no_minute_holds_more_tokens_than_declared_and_one_call(costs: list[int], takes: list[float]) -> None:
    pace, clock, sent = Pace.a_minute(1000), 0.0, []
    for cost, share in zip(costs, takes, strict=False):
        clock = max(clock, pace.opens)
        pace.take(clock, cost)
        took = round(cost * share)
        pace.correct(took - cost)
        sent.append((clock, took))
    for at, _ in sent:
        assert sum(took for when, took in sent if at <= when < at + 59.999) <= 1000 + max(costs)


@pytest.mark.parametrize("burst", [1, 2, 5])
def test_a_declared_rate_is_kept_within_two_percent_and_next_to_nothing_is_refused(burst: int) -> None:
    async def minutes() -> None:
        server, began = Bucket(rate=5, burst=burst, latency=0.05), now()
        calls = asyncio.create_task(games(lane(requests_per_minute=300), server, n=100, turns=9))
        while not calls.done():
            # The process stands still for a moment, again and again.
            await asyncio.sleep(7)
            asyncio.get_running_loop().now += 0.05  # type: ignore[attr-defined]
        assert 0.98 * 300 <= server.answered / (now() - began) * 60 <= 1.02 * 300
        assert server.refused <= 0.02 * server.answered

    run(minutes())


def test_declared_tokens_are_counted_as_the_endpoint_counts_them() -> None:
    async def minutes() -> float:
        way = lane(tokens_per_minute=6000)

        async def one() -> None:
            going = Pass(now(), now(), 500)
            await way.enter(going)
            way.answered(going, 100)
            way.leave(going)

        began = now()
        for _ in range(120):
            await one()
        return now() - began

    assert 117 <= run(minutes()) <= 123


# Learned limits.


@pytest.mark.parametrize(("burst", "latency"), [(10, 0.05), (20, 0.05), (100, 0.05), (50, 0.3), (100, 1.0)])
def test_an_undeclared_limit_is_found_and_used(burst: float, latency: float) -> None:
    async def play() -> None:
        server, began = Bucket(100, burst, latency), now()
        calls = await games(lane(), server, n=300, turns=6)
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
        await games(lane(), few, n=300, turns=6)
        assert 1800 / (now() - began) >= 0.5 * 8 / 0.05
        assert refused / (refused + 1800) < 0.1

    run(play())


def test_more_calls_at_once_are_tried_only_where_they_are_used() -> None:
    async def play() -> None:
        used, unused = lane(at_once=400), lane(at_once=400)

        async def ask() -> None:
            await asyncio.sleep(0.1)

        await games(used, ask, n=400, turns=10)
        await games(unused, ask, n=20, turns=200)
        assert used.adaptive.limit == 400
        assert unused.adaptive.limit == 50

    run(play())


def test_one_episode_of_refusals_cuts_once_by_a_fifth() -> None:
    async def refuse() -> None:
        way = lane(at_once=50)
        going = [Pass(now(), now(), 0) for _ in range(50)]
        for one in going:
            await way.enter(one)
        for one in going[:30]:
            way.refused(one, 0.2)
            way.leave(one)
        assert way.adaptive.limit == 40
        assert way.adaptive.episodes == 1

    run(refuse())


def test_many_errors_of_the_server_stop_growth_and_shrink_nothing() -> None:
    async def err() -> None:
        way = lane(at_once=400)

        async def round_(broken: int) -> None:
            going = [Pass(now(), now(), 0) for _ in range(int(way.adaptive.limit))]
            for one in going:
                await way.enter(one)
            await asyncio.sleep(0.01)
            for i, one in enumerate(going):
                if i < broken:
                    way.broken()
                way.answered(one, None)
                way.leave(one)

        await round_(broken=20)
        assert way.adaptive.limit == 50
        await asyncio.sleep(3)
        await round_(broken=5)
        assert way.adaptive.limit == 100

    run(err())


def test_refusals_for_other_reasons_do_not_slow_everything_down() -> None:
    async def play() -> float:
        chance = random.Random(1)

        async def moody() -> float | None:
            await asyncio.sleep(0.02)
            return 0.05 if chance.random() < 0.03 else None

        began = now()
        await games(lane(), moody, n=1000, turns=12)
        return 12_000 / (now() - began)

    assert run(play()) > 500


# Pauses.


@pytest.mark.parametrize(("asked", "waits"), [(0.001, FLOOR), (0.0, FLOOR), (0.7, 0.7), (7200.0, 7200.0)])
def test_after_a_refusal_nobody_goes_before_the_time_that_was_asked_for(asked: float, waits: float) -> None:
    async def refuse() -> float:
        way = lane()
        one, other = Pass(now(), now(), 0), Pass(now(), now(), 0)
        await way.enter(one)
        began = now()
        assert way.refused(one, asked) == waits
        way.leave(one)
        await way.enter(other)
        return now() - began

    assert run(refuse()) == pytest.approx(waits, abs=0.01)


def test_refusals_that_say_nothing_are_waited_for_longer_and_longer() -> None:
    async def refuse() -> list[float]:
        way, waits = lane(), []
        going = Pass(now(), now(), 0)
        for _ in range(8):
            await way.enter(going)
            waits.append(way.refused(going, None))
            way.leave(going)
        return waits

    waits = run(refuse())
    assert waits[:3] == [0.5, 1.0, 2.0]
    assert waits[-1] == 30.0


# Order.


def test_the_call_that_waited_longest_goes_first_and_of_equals_the_older_game() -> None:
    async def order() -> list[str]:
        way, went = lane(at_once=1), []
        first = Pass(now(), now(), 0)
        await way.enter(first)

        async def one(name: str, began: float) -> None:
            going = Pass(now(), began, 0)
            await way.enter(going)
            went.append(name)
            way.answered(going, None)
            way.leave(going)

        began = now()
        tasks = [asyncio.create_task(one("young", began))]
        tasks.append(asyncio.create_task(one("old", began - 5)))
        await asyncio.sleep(1)
        tasks.append(asyncio.create_task(one("late", began - 5)))
        await asyncio.sleep(1)
        way.answered(first, None)
        way.leave(first)
        await asyncio.gather(*tasks)
        return went

    assert run(order()) == ["old", "young", "late"]


def test_a_refused_call_keeps_its_place_before_those_that_came_later() -> None:
    async def order() -> list[str]:
        way, went = lane(at_once=1), []
        first = Pass(now(), now(), 0)
        await way.enter(first)

        async def later() -> None:
            going = Pass(now(), now(), 0)
            await way.enter(going)
            went.append("later")

        await asyncio.sleep(0.01)
        waiting = asyncio.create_task(later())
        await asyncio.sleep(0.01)
        way.refused(first, 1.0)
        way.leave(first)
        await way.enter(first)
        went.append("refused")
        way.answered(first, None)
        way.leave(first)
        await waiting
        return went

    assert run(order()) == ["refused", "later"]


def test_a_call_that_is_taken_back_gives_its_place_to_the_next() -> None:
    async def take_back() -> None:
        way = lane(at_once=1)
        first = Pass(now(), now(), 0)
        await way.enter(first)
        waiting = [asyncio.create_task(way.enter(Pass(now(), now(), 0))) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        way.leave(first)
        # Let go in the same moment in which it is taken back.
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert [task.cancelled() for task in waiting] == [True, True, False]
        assert way.running == 1

    run(take_back())


# A silent endpoint.


def test_a_silent_endpoint_is_tried_by_one_call_at_a_time_and_ever_more_rarely() -> None:
    async def silence() -> None:
        told: list[str] = []
        outage = Outage("http://x/v1", asyncio.get_running_loop().time, told=told.append)
        ways = [lane(outage), lane(outage)]
        tries: list[float] = []
        running = most = 0
        up_at = now() + 200

        async def one(way: Lane) -> None:
            nonlocal running, most
            going = Pass(now(), now(), 0)
            while True:
                await way.enter(going)
                running += 1
                if outage.down:
                    most = max(most, running)
                    tries.append(now())
                await asyncio.sleep(0.01)
                running -= 1
                if now() >= up_at:
                    way.answered(going, None)
                    way.leave(going)
                    return
                way.silent(going, "connection refused")
                way.leave(going)

        await asyncio.gather(*(one(way) for way in ways for _ in range(50)))
        assert most == 1
        gaps = [after - before for before, after in pairwise(tries)]
        assert gaps == pytest.approx([2.01, 4.01, 8.01, 16.01, *[LONGEST + 0.01] * (len(gaps) - 4)], abs=0.001)
        assert told[0] == "http://x/v1 does not answer (connection refused): waiting; 0 s so far"
        assert told[-1].startswith("http://x/v1 answers again after")
        assert now() - up_at < LONGEST + 1

    run(silence())


def test_patience_with_a_silent_endpoint_ends_the_run_in_one_line() -> None:
    async def silence() -> tuple[str, float]:
        outage = Outage("http://x/v1", asyncio.get_running_loop().time, patience=20)
        way = lane(outage)
        going = Pass(now(), now(), 0)
        await way.enter(going)
        began = now()
        way.silent(going, "connection refused")
        way.leave(going)

        async def hopeless() -> None:
            again = Pass(now(), now(), 0)
            while True:
                await way.enter(again)
                way.silent(again, "connection refused")
                way.leave(again)

        with pytest.raises(RunFailed) as failed:
            await hopeless()
        with pytest.raises(RunFailed):
            await way.enter(Pass(now(), now(), 0))
        return str(failed.value), now() - began

    text, took = run(silence())
    assert text == "http://x/v1 has not answered for 20 s: see that it runs, then start again"
    assert took == pytest.approx(20, abs=0.01)


def test_an_endpoint_that_answers_after_patience_was_over_is_used_as_before() -> None:
    async def silence() -> None:
        outage = Outage("http://x/v1", asyncio.get_running_loop().time, patience=20)
        way = lane(outage, at_once=1)
        going = Pass(now(), now(), 0)
        await way.enter(going)
        way.silent(going, "no answer")
        way.leave(going)
        assert way.seconds(60) == 20
        await asyncio.sleep(30)
        assert outage.lost is not None
        tries = Pass(now(), now(), 0)
        await way.enter(tries)
        assert way.seconds(60) == 60
        way.answered(tries, None)
        assert outage.lost is None
        waiting = asyncio.create_task(way.enter(Pass(now(), now(), 0)))
        await asyncio.sleep(1)
        way.leave(tries)
        await waiting

    run(silence())


def test_the_next_call_tries_when_the_one_that_tried_is_taken_back() -> None:
    async def silence() -> None:
        outage = Outage("http://x/v1", asyncio.get_running_loop().time)
        way = lane(outage)
        going = Pass(now(), now(), 0)
        await way.enter(going)
        way.silent(going, "no answer")
        way.leave(going)
        tries = Pass(now(), now(), 0)
        await way.enter(tries)
        waiting = asyncio.create_task(way.enter(Pass(now(), now(), 0)))
        await asyncio.sleep(100)
        assert not waiting.done()
        way.leave(tries)
        await waiting

    run(silence())


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
