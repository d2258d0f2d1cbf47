"""The cap on money and tokens: prices, reservations, and calls that wait for room."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from negolab.ledger import FILE, PICO, Cost, Ledger, paid
from negolab.llm.configuration import ModelConfiguration, open_models
from negolab.llm.endpoint.budget import Budget
from negolab.llm.endpoint.call import Usage
from negolab.llm.endpoint.completion import parse_usage
from negolab.llm.endpoint.errors import BudgetReached, RunFailed
from negolab.llm.endpoint.policy import CallPolicy, Limits
from negolab.llm.endpoint.prices import LongPrice, Price, Prices, call_cost, default_prices
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
    assert budget.spent.usd <= cap + 60 * largest
    if all(how == "take" and 2 * pico >= 3 * 10**10 for pico, _, how in calls):
        assert budget.spent.usd <= cap + largest


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

    reached = "80 of 100 tokens are used, and the next call may take 40: raise it and run again"
    assert run(story()) == ["c goes", f"d: the budget is used up: {reached}"]


def test_what_a_small_budget_cannot_start_is_said_before_the_first_call() -> None:
    with pytest.raises(BudgetReached, match=r"^the budget is too small to start: 0 of 100 tokens are used"):
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
        budget = Budget(usd=1.0, ledger=Ledger(opening=lambda: Cost(9 * PICO // 10)))
        await budget.reserve("m", Cost(PICO // 10))
        with pytest.raises(BudgetReached, match=r"\$0\.9000 of \$1\.00 is spent, and the next call may cost \$0\.2000"):
            await budget.reserve("m", Cost(PICO // 5))

    run(story())


@pytest.mark.parametrize("wrong", [{"usd": -1}, {"usd": float("nan")}, {"tokens": True}])
def test_a_budget_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be a number"):
        Budget(**wrong)  # type: ignore[arg-type]


# Prices.


def test_a_price_counts_cached_input_apart_and_is_exact() -> None:
    price = Price(0.15, 0.075, 0.60)
    assert price.cost(Usage(1_000_000, 1_000_000, 400_000)) == round((0.6 * 0.15 + 0.4 * 0.075 + 0.6) * PICO)
    assert price.cost(Usage(None, 5)) is None
    assert sum(price.cost(Usage(1, 1)) or 0 for _ in range(1_000)) == round(0.00075 * PICO)


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
    with pytest.raises(ValueError, match="price must be"):
        Prices.parse([text])


def test_a_budget_in_money_wants_a_price() -> None:
    in_money = CallPolicy(Limits(), Prices(), Budget(usd=1), None)
    with pytest.raises(
        ValueError, match=r"the price of local, .* --price local=0\.15,0\.60 .* in a plan under \[models\]: prices"
    ):
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


ANTHROPIC = Price(3.0, 0.3, 15.0, written=3.75)
TOKENS = {"prompt_tokens": 30_946, "completion_tokens": 102, "total_tokens": 31_048}
CACHE = {"cache_read_input_tokens": 30_940, "cache_creation_input_tokens": 460}
WRITTEN_INSIDE = {
    "prompt_tokens": 6_200,
    "completion_tokens": 300,
    "total_tokens": 6_500,
    "prompt_tokens_details": {"cached_tokens": 5_000},
    "cache_creation_input_tokens": 1_000,
}
OWN_KEY: dict[str, Any] = {"prompt_tokens": 900, "completion_tokens": 60, "cost": 0, "is_byok": True}
OWN_KEY["cost_details"] = {"upstream_inference_cost": 0.036}
FREE = {"prompt_tokens": 1_000, "completion_tokens": 100, "cost": 0}


@pytest.mark.parametrize(
    ("usage", "price", "usd"),
    [
        (TOKENS | CACHE, ANTHROPIC, 0.012555),
        ({"input_tokens": 6, "output_tokens": 102} | CACHE, ANTHROPIC, 0.012555),
        (WRITTEN_INSIDE, ANTHROPIC, 0.01035),
        ({**WRITTEN_INSIDE, "prompt_tokens": 200, "input_tokens": 200, "total_tokens": 500}, ANTHROPIC, 0.01035),
        (OWN_KEY, None, 0.036),
        (OWN_KEY, ANTHROPIC, 0.036),
        ({**OWN_KEY, "cost": 0.001}, ANTHROPIC, 0.037),
        ({**OWN_KEY, "cost": 0.04, "is_byok": False}, ANTHROPIC, 0.04),
        (FREE, ANTHROPIC, 0.0045),
        (FREE, None, 0.0),
    ],
)
def test_a_bill_is_exact_however_the_service_words_it(usage: dict[str, Any], price: Price | None, usd: float) -> None:
    took = call_cost(price, parse_usage(usage))
    assert took.usd == usd
    assert not took.unpriced and not took.uncounted


def test_a_price_or_a_count_that_is_not_known_is_not_nothing() -> None:
    assert call_cost(None, Usage(10, 5)).unpriced and not call_cost(None, Usage(10, 5)).uncounted
    assert call_cost(ANTHROPIC, Usage()).uncounted and not call_cost(ANTHROPIC, Usage()).unpriced


def test_cache_writes_and_long_prompts_have_prices_of_their_own() -> None:
    price = Price(3.0, 0.3, 15.0, written=3.75, long=LongPrice(1000, 6.0, 0.6, 22.5))
    assert price.cost(Usage(1000, 10, 200, written=100)) == round((700 * 3 + 200 * 0.3 + 100 * 3.75 + 150) * 10**6)
    assert price.cost(Usage(1001, 10, 1)) == round((1000 * 6 + 0.6 + 225) * 10**6)


# The ledger.


def killed(folder: Path, calls: int, flying: int = 0, took: Cost = Cost(PICO // 200, 100)) -> Budget:  # noqa: B008
    """A budget after some calls, of which some are in flight when its process is killed."""

    async def spend() -> Budget:
        budget = Budget(usd=5, ledger=Ledger(folder / FILE))
        estimate = Cost(PICO // 100, 500)
        for _ in range(calls):
            budget.settle(await budget.reserve("m", estimate, ("game", "A", 0, 0)), took)
        for _ in range(flying):
            await budget.reserve("m", estimate, ("game", "A", 1, 0))
        return budget

    return asyncio.run(spend())


def test_what_was_spent_outlives_a_kill_to_the_last_token(tmp_path: Path) -> None:
    killed(tmp_path, 30)
    after = Budget(usd=1, ledger=Ledger(tmp_path / FILE))
    assert (after.spent.usd, after.spent.tokens) == (0.15, 3000)
    assert after.ledger.games["game"].usd == 0.15
    assert paid(tmp_path) == after.ledger.total


def test_a_kill_counts_each_call_in_flight_once_as_the_dearest_of_its_model(tmp_path: Path) -> None:
    took = Cost(PICO // 10_000, 50)
    for kill in range(1, 4):
        killed(tmp_path, 200, 100, took)
        after = Budget(usd=5, ledger=Ledger(tmp_path / FILE))
        assert after.spent.usd == pytest.approx(kill * 300 * 0.0001)
        assert after.ledger.total.usd == pytest.approx(kill * 200 * 0.0001), "what is printed is what is known"
        assert after.ledger.total.uncounted == kill * 100


def test_a_kill_before_the_first_answer_counts_the_estimate(tmp_path: Path) -> None:
    killed(tmp_path, 0, 1)
    assert Budget(usd=5, ledger=Ledger(tmp_path / FILE)).spent.usd == 0.01


@given(cut=st.integers(0, 2000))
def test_a_ledger_cut_off_anywhere_is_read_up_to_there_and_goes_on(cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        killed(folder, 5)
        data = (folder / FILE).read_bytes()
        (folder / FILE).write_bytes(data[:cut])
        whole = data[:cut].count(b"\n")
        ledger = Ledger(folder / FILE)
        assert ledger.total.pico == whole // 2 * PICO // 200 and ledger.total.uncounted == whole % 2
        ledger.close()
        assert (folder / FILE).read_bytes().startswith(data[: data[:cut].rfind(b"\n") + 1])
        assert Ledger(folder / FILE).total == ledger.total


def test_a_run_of_an_earlier_version_goes_on_with_what_it_had_spent(tmp_path: Path) -> None:
    state = {"pico": PICO // 2, "tokens": 700, "flying": 2, "dear_pico": PICO // 100, "dear_tokens": 10}
    (tmp_path / "spent.json").write_bytes(msgspec.json.encode(state))
    for _ in range(2):
        with ExitStack() as resources:
            models = open_models(ModelConfiguration(usd=1, private=True), tmp_path, "run", [], resources)
            assert (models.policy.budget.spent.usd, models.policy.budget.spent.tokens) == (0.52, 720)


def test_an_account_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "spent.json").write_text("{")
    with ExitStack() as resources, pytest.raises(ValueError, match="its costs cannot be read"):
        open_models(ModelConfiguration(private=True), tmp_path, "run", [], resources)
    for line in ("{", '{"call":0,"took":{"pico":-1000000000000000000}}', '{"call":0,"took":{"output":-1}}'):
        (tmp_path / FILE).write_text(f"{line}\n")
        with pytest.raises(ValueError, match=r"calls.ndjson, line 1: its costs cannot be read"):
            Ledger(tmp_path / FILE)


@pytest.mark.parametrize("kind", ["link", "pipe", "digits", "length"])
def test_a_ledger_that_is_none_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    file = tmp_path / FILE
    if kind == "link":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        pico = "1" + "0" * (400 if kind == "digits" else 100_000)
        file.write_text(f'{{"call": 0, "took": {{"pico": {pico}}}}}\n')
    with pytest.raises(
        (OSError, ValueError), match=r"is a link|is not a regular file|line 1: its costs cannot be read"
    ):
        Ledger(file)


@pytest.mark.parametrize(
    ("lose", "said"),
    [
        (os.unlink, "was deleted"),
        (lambda file: os.truncate(file, 9), "was cut"),
        (lambda file: file.write_bytes(file.read_bytes() * 2), "was changed"),
    ],
)
def test_a_ledger_that_is_lost_while_it_is_written_stops_the_calls(
    tmp_path: Path, lose: Callable[[Path], None], said: str
) -> None:
    file = tmp_path / FILE
    ledger = Ledger(file)
    call = ledger.begin("fake", ("m", "A", 0, 0), Cost())
    lose(file)
    for note in (lambda: ledger.end(call, Cost(calls=1), "stop"), lambda: ledger.begin("fake", (), Cost())):
        with pytest.raises(OSError, match=said):
            note()


def test_a_call_that_cannot_be_noted_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    killed(tmp_path, 1)
    ledger, before = Ledger(tmp_path / FILE), (tmp_path / FILE).read_bytes()
    monkeypatch.setattr("negolab.ledger.os.write", lambda file, data: write(file, data[:7]))
    with pytest.raises(RunFailed, match=r"calls.ndjson: spending cannot be recorded: No space left"):
        asyncio.run(Budget(usd=1, ledger=ledger).reserve("m", Cost(1, 1)))
    assert (tmp_path / FILE).read_bytes() == before, "nothing of a line that does not fit stays"
