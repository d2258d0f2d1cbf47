"""`negolab batch` against imitations of model services: set-ups, outages, limits, money, and answers of no use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from negolab.events import Forfeited, Rejected
from tests.conftest import free_port
from tests.support.service_cases import CASES, Case, Kind
from tests.support.services import (
    CONCURRENCY,
    Counted,
    Played,
    RunningServices,
    play_batch,
    play_case,
    running_services,
)

SETUP_REQUESTS = 3
"""Requests with which a wrong set-up is found: one, and one for each parameter that is renamed or left out."""


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServices]:
    with running_services() as found:
        yield found


@pytest.fixture
def services(running: RunningServices) -> RunningServices:
    """All services, with cleared counts."""
    running.forget()
    return running


def of(*kinds: Kind) -> list[object]:
    """The cases of some kinds as parameters; all but the first of each, and of each service that answers well or has an
    outage, take long: `test_endpoint_reading.py` reads what all of them say."""
    found = [case for case in CASES.values() if case.kind in kinds]
    by_service = (Kind.GOOD, Kind.PASSING)
    first = {case.kind in by_service and case.service: case for case in reversed(found)}.values()
    return [pytest.param(case, id=case.name, marks=[] if case in first else [pytest.mark.long]) for case in found]


def rejections(played: Played) -> list[Rejected]:
    return [event for record in played.records for event in record.events if isinstance(event, Rejected)]


def assert_counted(played: Played, true: Counted) -> None:
    """Tokens and US dollars that are printed are the true ones, within 1%."""
    assert played.tokens is not None and played.usd is not None, played.out
    assert played.tokens == pytest.approx((true.input, true.output), rel=0.01)
    assert played.usd == pytest.approx(true.usd, rel=0.01, abs=0.0001)


# What goes well.


@pytest.mark.parametrize("case", of(Kind.GOOD))
def test_games_with_a_service_finish_and_are_counted_as_it_bills(
    case: Case, services: RunningServices, tmp_path: Path
) -> None:
    played = play_case(case, services, tmp_path / "run")
    assert played.status == 0, played.err
    assert len(played.records) == 10 and not played.stopped
    events = [event for record in played.records for event in record.events]
    assert not any(isinstance(event, Forfeited) for event in events), "every move is the model's"
    assert all(event.invalid.codes[0] == "cut" for event in rejections(played))
    assert re.search(case.says, played.err)
    assert_counted(played, services.counted(case.name))


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("openai/top-k", "top_k", 40),
        ("vllm/template-arguments", "chat_template_kwargs", {"enable_thinking": False, "add_generation_prompt": True}),
    ],
)
def test_any_field_of_the_body_can_be_set(
    name: str, field: str, value: object, services: RunningServices, tmp_path: Path
) -> None:
    play_case(CASES[name], services, tmp_path / "run", n=1)
    assert services.counted(name).last.get(field) == value


def test_a_reasoner_is_given_room_unless_the_user_limits_it(services: RunningServices, tmp_path: Path) -> None:
    play_case(CASES["xai/room-is-needed"], services, tmp_path / "run", n=1)
    last = services.counted("xai/room-is-needed").last
    assert last.get("max_tokens", last.get("max_completion_tokens", 16_000)) >= 16_000


def test_answers_cut_at_a_limit_of_the_user_are_tried_with_more_room_or_said_to_be_cut(
    services: RunningServices, tmp_path: Path
) -> None:
    played = play_batch("xai/room-is-needed", services.url, tmp_path / "run", settings="max_tokens=1000")
    if played.status == 0:
        assert all(record.end != "FORFEIT" for record in played.records) and len(rejections(played)) < 20
        assert_counted(played, services.counted("xai/room-is-needed"))
    else:
        assert played.status == 3 and re.search(r"cut.*1,?000", played.lines[-1])


# Set-ups that cannot work.


@pytest.mark.parametrize("case", of(Kind.SETUP))
def test_a_wrong_set_up_is_told_in_one_line_before_any_game(
    case: Case, services: RunningServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the refusal may come after the moment in which it is waited for.
    monkeypatch.setattr("negolab.runs.run.PREFLIGHT_SECONDS", 5.0)
    played = play_case(case, services, tmp_path / "run", n=40)
    assert played.status == 2
    assert len(played.lines) == 1, played.err
    assert re.search(case.says, played.lines[0]), played.err
    assert played.out == "" and not (tmp_path / "run").exists()
    true = services.counted(case.name)
    assert 1 <= true.requests <= SETUP_REQUESTS


def test_a_good_answer_may_take_longer_than_a_wrong_set_up(tmp_path: Path) -> None:
    with running_services(latency=0.6) as services:
        played = play_batch("ollama/good", services.url, tmp_path / "run", n=1, speed=20)
    assert played.status == 0 and len(played.records) == 1, played.err


@pytest.mark.parametrize(
    ("url", "says"),
    [
        pytest.param("http://127.0.0.1:{port}/v1", "refused", id="nobody listens"),
        pytest.param("http://no-such-host.invalid/v1", "host", id="unknown host"),
    ],
)
def test_an_address_where_nobody_answers_is_told_at_once(url: str, says: str, tmp_path: Path) -> None:
    played = play_batch("openai/good", url.format(port=free_port()), tmp_path / "run", "--patience", "5m")
    assert played.status == 2
    assert len(played.lines) == 1 and re.search(says, played.lines[0]), played.err
    assert played.records == []


# What passes.


@pytest.mark.parametrize("case", of(Kind.PASSING))
def test_an_outage_costs_time_and_no_game(case: Case, services: RunningServices, tmp_path: Path) -> None:
    played = play_case(case, services, tmp_path / "run")
    assert played.status == 0, played.err
    assert len(played.records) == 10 and not played.stopped
    assert rejections(played) == [], "a fault of the service is not the model's"
    assert re.search(case.says, played.err)
    true = services.counted(case.name)
    assert true.refused or case.status == 200
    if case.status == 429:
        assert true.early == 0 and true.refused <= 2 * CONCURRENCY, "it waits as long as it is asked to"


def test_two_hundred_games_outlast_an_overload(services: RunningServices, tmp_path: Path) -> None:
    case = CASES["anthropic/overloaded-from-the-start"]
    played = play_case(case, services, tmp_path / "run", "--concurrency", "200", n=200)
    assert played.status == 0, played.err
    assert len(played.records) == 200 and not played.stopped


@pytest.mark.parametrize("case", of(Kind.STOPS))
def test_what_does_not_pass_stops_the_run_and_fails_no_game(
    case: Case, services: RunningServices, tmp_path: Path
) -> None:
    played = play_case(case, services, tmp_path / "run", "--concurrency", "2", n=40)
    assert played.status == 2
    assert re.search(case.says, played.lines[-1]), played.err
    assert played.records and not played.stopped


def test_a_run_that_a_daily_quota_stopped_goes_on_with_the_same_command(
    services: RunningServices, tmp_path: Path
) -> None:
    case = CASES["gemini/quota-per-day"]
    first = play_case(case, services, tmp_path / "run", n=12)
    services.forget()
    second = play_case(case, services, tmp_path / "run", n=12)
    assert first.status == 2 and second.status == 0, second.err
    assert len(second.records) == 12 and not second.stopped
    assert services.counted(case.name).answered <= 12 * 4 - 4 * len(first.records), "nothing is asked twice"


# What the model says.


@pytest.mark.parametrize("case", of(Kind.TOO_LONG))
def test_a_prompt_that_is_too_long_fails_its_game(case: Case, services: RunningServices, tmp_path: Path) -> None:
    played = play_case(case, services, tmp_path / "run", n=6)
    assert played.status == 2
    assert len(played.records) == played.stopped == 6
    assert re.search(case.says, played.out), played.out


@pytest.mark.parametrize("case", of(Kind.REJECTED))
def test_an_answer_that_the_service_rejects_is_asked_for_again(
    case: Case, services: RunningServices, tmp_path: Path
) -> None:
    played = play_case(case, services, tmp_path / "run")
    assert played.status == 0, played.err
    assert not played.stopped and rejections(played)
    assert all(rejected.invalid.kind == "format" for rejected in rejections(played))
    assert re.search(case.says, played.out), played.out


@pytest.mark.parametrize("case", of(Kind.UNUSABLE))
def test_a_model_that_never_answers_usably_stops_the_run_with_status_3(
    case: Case, services: RunningServices, tmp_path: Path
) -> None:
    played = play_case(case, services, tmp_path / "run", n=40)
    assert played.status == 3, played.out
    assert re.search(case.says, played.lines[-1]), played.err
    assert not re.search(rf"^llm:{case.name}\S* as \w+ +[\d.]+", played.out, re.MULTILINE), "no payoff is the model's"
    true = services.counted(case.name)
    assert true.answered <= 60, "it stops soon"


# Money.


@pytest.mark.parametrize(
    ("name", "concurrency"),
    [("xai/deep", 4), ("xai/deep", 200), ("gemini/deep", 200), ("gemini/gemini-2.5-pro-deep", 200)],
)
def test_a_budget_in_tokens_holds_for_what_a_reasoner_truly_uses(
    name: str, concurrency: int, services: RunningServices, tmp_path: Path
) -> None:
    cap = 6000
    more = ["--budget-tokens", str(cap), "--concurrency", str(concurrency)]
    played = play_batch(name, services.url, tmp_path / "run", *more, n=100)
    assert played.status == 2 and "budget" in played.lines[-1], played.err
    true = services.counted(name)
    assert true.input + true.output <= cap + true.largest
    assert true.input + true.output >= cap - 3 * true.largest, "a budget is there to be used"


@pytest.mark.parametrize("name", ["openai/credit-ends", "openai/refusal", "openai/always-cut"])
def test_what_a_stopped_run_has_paid_is_printed_although_its_games_are_dropped(
    name: str, services: RunningServices, tmp_path: Path
) -> None:
    played = play_case(CASES[name], services, tmp_path / "run", n=40)
    true = services.counted(name)
    assert played.tokens is not None, played.out
    in_flight = CONCURRENCY * true.largest
    assert true.input + true.output - in_flight <= sum(played.tokens) <= 1.01 * (true.input + true.output)


@pytest.mark.parametrize("concurrency", [4, 200])
def test_forty_games_on_money_for_six_finish_six(concurrency: int, services: RunningServices, tmp_path: Path) -> None:
    whole = play_batch("mistral/good", services.url, tmp_path / "one" / "run", n=6)
    assert whole.tokens is not None
    cap = ["--budget-tokens", str(int(1.1 * sum(whole.tokens))), "--concurrency", str(concurrency)]
    services.forget()
    played = play_batch("mistral/good", services.url, tmp_path / "all" / "run", *cap, n=40)
    assert played.status == 2 and len(played.records) in (5, 6) and not played.stopped
    assert f"{len(played.records)} of 40 matches are over" in played.err and "budget is used up" in played.lines[-1]
    true = services.counted("mistral/good")
    assert played.tokens == (true.input, true.output)


def test_a_budget_in_dollars_holds_for_what_a_reasoner_truly_costs(services: RunningServices, tmp_path: Path) -> None:
    cap = 0.05
    played = play_batch("xai/deep", services.url, tmp_path / "run", "--budget", str(cap), n=100)
    assert played.status == 2 and "budget" in played.lines[-1], played.err
    true = services.counted("xai/deep")
    assert 0.4 * cap <= true.usd <= 1.2 * cap


def test_a_budget_counts_an_answer_that_was_cut_once(services: RunningServices, tmp_path: Path) -> None:
    played = play_batch("xai/deep", services.url, tmp_path / "run", "--budget-tokens", "20000", n=100)
    true = services.counted("xai/deep")
    assert f"{true.input + true.output:,} of 20,000 tokens are used" in played.err


def test_a_budget_that_pays_for_no_call_is_told_before_the_first(services: RunningServices, tmp_path: Path) -> None:
    played = play_batch("xai/good", services.url, tmp_path / "run", "--budget-tokens", "50", n=10)
    assert played.status == 2 and "budget" in played.lines[-1], played.err
    assert services.counted("xai/good").requests == 0 and played.records == []


def test_a_gateway_s_own_cost_wins_over_a_price(services: RunningServices, tmp_path: Path) -> None:
    price = ["--price", "openrouter/good=100,100,100"]
    played = play_batch("openrouter/good", services.url, tmp_path / "run", *price, n=4)
    assert_counted(played, services.counted("openrouter/good"))


def test_a_price_is_found_without_the_provider_s_name_and_that_is_said(
    services: RunningServices, tmp_path: Path
) -> None:
    played = play_batch("gateway/gpt-5-mini", services.url, tmp_path / "run", "--price", "unrelated=1,1", n=4)
    assert played.status == 0 and played.usd is not None, played.out
    assert re.search(r"gateway/gpt-5-mini.*price.*gpt-5-mini", played.err + played.out)
