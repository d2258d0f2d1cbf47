"""The cap on money and tokens: prices, reservations, and calls that wait for room."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from negolab.llm.endpoint.budget import CAP_STEPS, Budget, BudgetFile, BudgetState, Cost
from negolab.llm.endpoint.call import Usage
from negolab.llm.endpoint.errors import BudgetReached, RunFailed
from negolab.llm.endpoint.policy import CallPolicy, Limits
from negolab.llm.endpoint.prices import PICO, LongPrice, Price, Prices, default_prices
from tests.support.fake_clock import run

CALLS = st.lists(
    st.tuples(st.integers(0, 3 * 10**10), st.floats(0, 3), st.sampled_from(["take", "drop", "lose"])), max_size=60
)


@given(calls=CALLS, cap=st.floats(0, 0.5), seed=st.integers(0, 999))
def test_the_cap_is_passed_by_one_call_at_most_and_none_waits_for_ever(
    calls: list[tuple[int, float, str]], cap: float, seed: int
) -> None:
    budget = Budget(usd=cap)
    rng = random.Random(seed)
    largest = max((pico for pico, _, _ in calls), default=0) / PICO

    async def one(pico: int, seconds: float, how: str) -> str:
        await asyncio.sleep(rng.random())
        try:
            reservation = await budget.reserve("m", Cost(0, 1))
        except BudgetReached:
            return "reached"
        await asyncio.sleep(seconds)
        budget.settle(reservation, None if how == "lose" else Cost(pico if how == "take" else 0, 1))
        return "went"

    async def whole() -> None:
        await asyncio.gather(*(one(*call) for call in calls))

    run(whole())
    assert budget.spent <= cap + 60 * largest
    if all(how == "take" and 2 * pico >= 3 * 10**10 for pico, _, how in calls):
        assert budget.spent <= cap + largest


def test_a_call_reserves_twice_the_largest_and_near_the_end_they_go_one_at_a_time() -> None:
    async def story() -> list[str]:
        budget, said = Budget(tokens=100), []
        first = await budget.reserve("m", Cost(0, 5))

        async def want(name: str) -> None:
            try:
                reservation = await budget.reserve("m", Cost(0, 5))
            except BudgetReached as reached:
                said.append(f"{name}: {reached}")
                return
            said.append(f"{name} goes")
            await asyncio.sleep(1)
            budget.settle(reservation, Cost(0, 20))

        waiting = [asyncio.create_task(want(name)) for name in "abcd"]
        await asyncio.sleep(0)
        assert said == [], "the first call of a model goes alone"
        budget.settle(first, Cost(0, 20))
        await asyncio.sleep(0.5)
        assert said == ["a goes", "b goes"]
        await asyncio.gather(*waiting)
        return said[2:]

    reached = "80 of 100 tokens are used, the next call may take 40: raise it and run again"
    assert run(story()) == ["c goes", f"d: the budget is reached: {reached}"]


def test_what_a_small_budget_cannot_start_is_said_before_the_first_call() -> None:
    with pytest.raises(BudgetReached, match=r"^the budget is too small to begin: 0 of 100 tokens are used"):
        run(Budget(tokens=100).reserve("m", Cost(0, 101)))


def test_a_call_that_is_taken_back_while_it_waits_leaves_its_room_to_others() -> None:
    async def story() -> None:
        budget = Budget(tokens=100)
        first = await budget.reserve("m", Cost(0, 100))
        waiting = [asyncio.create_task(budget.reserve("m", Cost(0, 100))) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        budget.settle(first, Cost())
        # Room was made for it in the moment in which it is taken back.
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert [task.cancelled() for task in waiting] == [True, True, False]

    run(story())


def test_what_was_spent_before_counts_against_the_cap() -> None:
    async def story() -> None:
        budget = Budget(usd=1.0, prior_usd=0.9)
        await budget.reserve("m", Cost(PICO // 10))
        with pytest.raises(BudgetReached, match=r"\$0\.9000 of \$1\.00 are spent, the next call may cost \$0\.2000"):
            await budget.reserve("m", Cost(PICO // 5))

    run(story())


@pytest.mark.parametrize(
    "wrong", [{}, {"usd": -1}, {"usd": float("nan")}, {"tokens": True}, {"usd": 1, "prior_usd": -2}]
)
def test_a_budget_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"budget is in|must be a number"):
        Budget(**wrong)  # type: ignore[arg-type]


# Prices.


def test_a_price_counts_cached_input_apart_and_is_exact() -> None:
    price = Price(0.15, 0.075, 0.60)
    assert price.cost(Usage(1_000_000, 1_000_000, 400_000)) == round((0.6 * 0.15 + 0.4 * 0.075 + 0.6) * PICO)
    assert price.cost(Usage(None, 5)) is None
    assert sum(price.cost(Usage(1, 1)) or 0 for _ in range(1_000_000)) == round(0.75 * PICO)


def test_the_price_that_the_user_says_goes_before_the_table() -> None:
    prices = Prices.parse(["gpt-4o-mini=1,2", "own/model=v2=0,0,0"])
    assert prices.get("gpt-4o-mini") == Price(1, 1, 2)
    assert prices.get("own/model=v2") == Price(0, 0, 0)
    assert prices.get("gpt-4o") == default_prices()["gpt-4o"]


def test_only_a_date_may_stand_behind_a_known_name() -> None:
    prices = Prices()
    assert prices.get("gpt-4o-mini-2024-07-18") == prices.get("gpt-4o-mini") == default_prices()["gpt-4o-mini"]
    assert prices.get("gpt-4o-audio-preview") is None
    assert prices.get("gpt-5.9") is None


@pytest.mark.parametrize("text", ["gpt-4o", "=1,2", "m=1", "m=1,2,3,4", "m=a,b", "m=-1,2", "m=1,nan"])
def test_a_price_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="price is"):
        Prices.parse([text])


def test_a_budget_in_money_wants_a_price() -> None:
    in_money = CallPolicy(Limits(), Prices(), Budget(usd=1), None)
    with pytest.raises(ValueError, match=r"the price of local, .* --price local=0\.15,0\.60"):
        in_money.check("local")
    in_money.check("gpt-4o")
    CallPolicy(Limits(), Prices(), Budget(tokens=1), None).check("local")


def test_a_model_of_a_gateway_is_priced_by_its_own_name_and_that_is_told_once() -> None:
    told: list[str] = []
    policy = CallPolicy(Limits(), Prices(), None, told.append)
    for _ in range(2):
        assert policy.price("openai/gpt-4o-mini-2024-07-18") == default_prices()["gpt-4o-mini"]
    assert len(told) == 1 and told[0].startswith("openai/gpt-4o-mini-2024-07-18 is priced as gpt-4o-mini: $0.15")
    assert policy.price("gpt-4o") == default_prices()["gpt-4o"] and len(told) == 1


def test_cache_writes_and_long_prompts_have_prices_of_their_own() -> None:
    price = Price(3.0, 0.3, 15.0, written=3.75, long=LongPrice(1000, 6.0, 0.6, 22.5))
    assert price.cost(Usage(1000, 10, 200, written=100)) == round((700 * 3 + 200 * 0.3 + 100 * 3.75 + 150) * 10**6)
    assert price.cost(Usage(1001, 10, 1)) == round((1000 * 6 + 0.6 + 225) * 10**6)


def test_what_was_spent_outlives_a_kill_and_is_never_less_than_the_truth(tmp_path: Path) -> None:
    async def spend() -> None:
        budget = Budget(usd=1, file=BudgetFile(tmp_path))
        for _ in range(30):
            reservation = await budget.reserve("m", Cost(PICO // 100, 500))
            budget.settle(reservation, Cost(PICO // 200, 100))

    asyncio.run(spend())  # and no word at its end, as after a kill
    after = Budget(usd=1, file=BudgetFile(tmp_path))
    assert 0.15 <= after.spent <= 0.15 + 0.01 + 1 / CAP_STEPS
    assert after.spent_tokens >= 3000
    after.close()
    assert Budget(usd=1, file=BudgetFile(tmp_path)).spent == after.spent


def test_a_kill_counts_calls_in_flight_as_the_dearest_that_came_and_not_as_estimated(tmp_path: Path) -> None:
    estimate, took = Cost(PICO // 100, 5000), Cost(PICO // 10_000, 50)

    async def spend(calls: int) -> Budget:
        budget = Budget(usd=5, file=BudgetFile(tmp_path))
        budget.settle(await budget.reserve("m", estimate), took)
        flying = [await budget.reserve("m", estimate) for _ in range(100)]
        for _ in range(calls - 1):
            budget.settle(flying.pop(), took)
            flying.append(await budget.reserve("m", estimate))
        return budget  # killed with a hundred calls in flight

    for kill in range(1, 4):
        before = Budget(usd=5, file=BudgetFile(tmp_path)).spent
        budget = asyncio.run(spend(200))
        after = Budget(usd=5, file=BudgetFile(tmp_path)).spent
        truth = before + 200 * 0.0001
        assert truth < after <= truth + 1.3 * 115 * 0.0001 + 5 / CAP_STEPS, kill
        assert budget.spent == pytest.approx(truth)
    dropped = asyncio.run(spend(200))
    dropped.close()
    assert Budget(usd=5, file=BudgetFile(tmp_path)).spent == pytest.approx(dropped.spent + 100 * 0.0001)


def test_a_kill_before_the_first_answer_counts_the_estimate(tmp_path: Path) -> None:
    asyncio.run(Budget(usd=5, file=BudgetFile(tmp_path)).reserve("m", Cost(PICO // 100, 5000)))
    assert 0.01 <= Budget(usd=5, file=BudgetFile(tmp_path)).spent <= 0.08


@pytest.mark.parametrize("cap", [{"usd": 1000.0}, {"tokens": 10**9}, {"usd": 1000.0, "tokens": 10**9}])
def test_the_disk_is_not_asked_for_each_call_whatever_the_cap_is_in(tmp_path: Path, cap: dict[str, Any]) -> None:
    writes: list[int] = []

    class Counting(BudgetFile):
        @override
        def write(self, noted: BudgetState) -> None:
            writes.append(noted.tokens)
            super().write(noted)

    async def spend() -> Budget:
        budget = Budget(**cap, file=Counting(tmp_path))
        for _ in range(2000):
            budget.settle(await budget.reserve("m", Cost(PICO // 100, 500)), Cost(PICO // 100, 500))
        return budget

    spent = asyncio.run(spend())
    assert len(writes) <= 100
    after = BudgetFile(tmp_path).state
    assert spent.spent * PICO <= after.pico <= 1.1 * spent.spent * PICO + 1000 * PICO / CAP_STEPS
    assert spent.spent_tokens <= after.tokens <= 1.1 * spent.spent_tokens + 10**9 / CAP_STEPS


def test_an_account_that_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "spent.json").write_text("{")
    with pytest.raises(ValueError, match="does not say what was spent"):
        BudgetFile(tmp_path)
    gone = BudgetFile(tmp_path / "nowhere")
    with pytest.raises(RunFailed, match="cannot be noted"):
        asyncio.run(Budget(usd=1, file=gone).reserve("m", Cost(1, 1)))
