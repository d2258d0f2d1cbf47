"""The cap on money and tokens: prices, worst cases, and calls that wait for room."""

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
from negolab.llm.endpoint.prices import PICO, Price, Prices, default_prices
from tests.support.fake_clock import run

CALLS = st.lists(
    st.tuples(st.integers(0, 3 * 10**10), st.floats(0, 1), st.floats(0, 3), st.sampled_from(["take", "drop", "lose"])),
    max_size=60,
)


@given(calls=CALLS, cap=st.floats(0, 0.5), seed=st.integers(0, 999))
def test_no_order_of_calls_passes_the_cap_and_none_waits_for_ever(
    calls: list[tuple[int, float, float, str]], cap: float, seed: int
) -> None:
    budget = Budget(usd=cap)
    rng = random.Random(seed)

    async def one(worst: Cost, share: float, seconds: float, how: str) -> str:
        await asyncio.sleep(rng.random())
        try:
            await budget.reserve(worst)
        except BudgetReached:
            assert budget.spent + worst.pico / PICO > cap
            return "reached"
        took = Cost(int(worst.pico * share)) if how == "take" else worst if how == "lose" else Cost()
        await asyncio.sleep(seconds)
        budget.settle(worst, took)
        assert budget.spent <= cap
        return "went"

    async def whole() -> None:
        await asyncio.gather(*(one(Cost(pico), *rest) for pico, *rest in calls))

    run(whole())
    assert budget.spent <= cap


def test_a_call_waits_for_those_in_flight_and_is_refused_when_they_leave_no_room() -> None:
    async def story() -> list[str]:
        budget, said = Budget(tokens=100), []
        await budget.reserve(Cost(0, 80))

        async def want(tokens: int) -> None:
            try:
                await budget.reserve(Cost(0, tokens))
                said.append(f"{tokens} goes")
            except BudgetReached as reached:
                said.append(f"{tokens}: {reached}")

        waiting = [asyncio.create_task(want(tokens)) for tokens in (50, 30)]
        await asyncio.sleep(0)
        assert said == []
        budget.settle(Cost(0, 80), Cost(0, 60))
        await asyncio.gather(*waiting)
        return said

    reached = "the budget is reached: 60 of 100 tokens are used, the next could take 50: raise it and run again"
    assert run(story()) == [f"50: {reached}", "30 goes"]


def test_a_call_that_is_taken_back_while_it_waits_leaves_its_room_to_others() -> None:
    async def story() -> None:
        budget = Budget(tokens=100)
        await budget.reserve(Cost(0, 100))
        waiting = [asyncio.create_task(budget.reserve(Cost(0, 100))) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        budget.settle(Cost(0, 100), Cost())
        # Room was made for it in the moment in which it is taken back.
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert [task.cancelled() for task in waiting] == [True, True, False]

    run(story())


def test_what_was_spent_before_counts_against_the_cap() -> None:
    async def story() -> None:
        budget = Budget(usd=1.0, prior_usd=0.9)
        await budget.reserve(Cost(PICO // 10))
        with pytest.raises(BudgetReached, match=r"\$0\.9000 of \$1\.00 are spent, the next call could cost \$0\.2000"):
            await budget.reserve(Cost(PICO // 5))

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


def test_a_budget_wants_a_bound_on_answers_and_in_money_a_price() -> None:
    in_money = CallPolicy(Limits(), Prices(), Budget(usd=1), None)
    with pytest.raises(ValueError, match="set max_tokens for gpt-4o"):
        in_money.check("gpt-4o", {})
    with pytest.raises(ValueError, match=r"the price of local, .* --price local=0\.15,0\.60"):
        in_money.check("local", {"max_tokens": 10})
    in_money.check("gpt-4o", {"max_completion_tokens": 10})
    CallPolicy(Limits(), Prices(), Budget(tokens=1), None).check("local", {"max_tokens": 10})


@given(text=st.text(max_size=200), limit=st.integers(1, 500))
def test_the_worst_case_of_a_call_is_never_less_than_a_token_for_each_byte(text: str, limit: int) -> None:
    policy = CallPolicy(Limits(), Prices(), Budget(usd=1), None)
    price = Price(1.0, 0.5, 2.0)
    size = len(text.encode("utf-8", "replace"))
    worst = policy.worst_case(price, {"max_tokens": limit}, size)
    took = price.cost(Usage(size, limit))
    assert took is not None
    assert worst.pico >= took
    assert worst.tokens >= size + limit


def test_what_was_spent_outlives_a_kill_and_is_never_less_than_the_truth(tmp_path: Path) -> None:
    async def spend() -> None:
        budget = Budget(usd=1, file=BudgetFile(tmp_path))
        for _ in range(30):
            await budget.reserve(Cost(PICO // 100, 500))
            budget.settle(Cost(PICO // 100, 500), Cost(PICO // 200, 100))

    asyncio.run(spend())  # and no word at its end, as after a kill
    after = Budget(usd=1, file=BudgetFile(tmp_path))
    assert 0.15 <= after.spent <= 0.15 + 0.01 + 1 / CAP_STEPS
    assert after.spent_tokens >= 3000
    after.close()
    assert Budget(usd=1, file=BudgetFile(tmp_path)).spent == after.spent


def test_a_kill_counts_calls_in_flight_as_the_dearest_that_came_and_not_as_the_worst_case(tmp_path: Path) -> None:
    worst, took = Cost(PICO // 100, 5000), Cost(PICO // 10_000, 50)

    async def spend(calls: int) -> Budget:
        budget = Budget(usd=5, file=BudgetFile(tmp_path))
        for _ in range(100):
            await budget.reserve(worst)
        for _ in range(calls):
            budget.settle(worst, took)
            await budget.reserve(worst)
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


def test_a_kill_before_the_first_answer_counts_the_worst_case(tmp_path: Path) -> None:
    async def spend() -> None:
        budget = Budget(usd=5, file=BudgetFile(tmp_path))
        for _ in range(10):
            await budget.reserve(Cost(PICO // 100, 5000))

    asyncio.run(spend())
    assert 0.1 <= Budget(usd=5, file=BudgetFile(tmp_path)).spent <= 0.2


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
            await budget.reserve(Cost(PICO // 100, 500))
            budget.settle(Cost(PICO // 100, 500), Cost(PICO // 100, 500))
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
        Budget(usd=1, file=gone)._hold(Cost(1, 1))
