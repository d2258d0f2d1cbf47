"""The limit on answers of a model that cannot be used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import negolab as nl
from negolab.events import Rejected, Replied
from negolab.game import Invalid, InvalidKind, Reply
from negolab.llm.endpoint.call import Call
from negolab.runs.answers import MIN_ANSWERS, AnswerCounter, UnusableAnswers
from tests.runs.test_run import Fake, run

PLAYERS = {"A": "llm:mute", "B": "linear"}
LLM = "llm:fake"


def answered(kinds: list[InvalidKind | None], via: str = "model") -> list[Replied | Rejected]:
    """Events of A's answers: accepted (None) or rejected, by kind."""
    events: list[Replied | Rejected] = []
    for kind in kinds:
        events.append(Replied("A", Reply("?", via=via)))
        if kind is not None:
            events.append(Rejected("A", Invalid(("x",), "No.", kind)))
    return events


def stops(counter: AnswerCounter) -> bool:
    try:
        counter.check()
    except UnusableAnswers:
        return True
    return False


@given(
    st.lists(st.sampled_from((None, "format", "rule", "time")), max_size=60),
    st.floats(0, 1),
)
def test_a_run_stops_exactly_above_the_share_of_unreadable_answers(
    kinds: list[InvalidKind | None], limit: float
) -> None:
    counter = AnswerCounter(limit)
    for event in range(len(kinds)):
        counter.add(PLAYERS, {}, answered(kinds[event : event + 1]))
    unusable = kinds.count("format")
    assert stops(counter) == (len(kinds) >= MIN_ANSWERS and unusable > limit * len(kinds))


@given(st.lists(st.sampled_from((None, "format")), min_size=1, max_size=40))
def test_only_answers_of_models_count(kinds: list[InvalidKind | None]) -> None:
    counter = AnswerCounter(0)
    counter.add(PLAYERS, {}, answered(kinds, via="text"))
    assert not stops(counter)
    counter.check_any_usable()


BAD = {
    "filtered": {"text": "", "finish": "content_filter"},
    "refused": {"text": "I cannot help with that.", "finish": "refusal"},
    "empty": {"text": ""},
    "no_valid_input": {"text": "let me think"},
}


def mute(code: str = "empty", when: Callable[[Call], bool] = lambda call: True) -> Fake:
    """An endpoint that gives an unusable answer at these calls."""
    return Fake(alters=lambda call: BAD[code] if when(call) else {})


@pytest.mark.parametrize("code", BAD)
def test_a_model_that_never_gives_a_usable_answer_stops_the_run(tmp_path: Path, code: str) -> None:
    fake = mute(code)
    going = run(tmp_path, fake, LLM, "linear", n=200, at_once=4)
    with pytest.raises(UnusableAnswers, match=r"llm:fake: 20 of 20 answers \(100%\) could not be used, 20 of them"):
        asyncio.run(going.play())
    assert fake.calls <= MIN_ANSWERS + 4, "no more than what was in flight"
    assert going.progress.phase == "stopped" and "--unusable" in (going.progress.failure or "")


def test_finished_games_stay_and_count_when_the_same_command_is_given_again(tmp_path: Path) -> None:
    fake = mute()
    with pytest.raises(UnusableAnswers, match="empty answers: set a larger max_tokens"):
        asyncio.run(run(tmp_path, fake, LLM, "linear", n=50, at_once=1).play())
    kept, calls = len(nl.read(tmp_path)), fake.calls
    assert kept >= 2
    with pytest.raises(UnusableAnswers):
        asyncio.run(run(tmp_path, fake, LLM, "linear", n=50, at_once=1).play())
    assert len(nl.read(tmp_path)) == kept and fake.calls <= calls + 4, "only those of the game that was dropped"
    asyncio.run(run(tmp_path, fake, LLM, "linear", n=50, at_once=1, unusable=1).play())
    assert len(nl.read(tmp_path)) == 50


def test_answers_that_are_never_whole_are_no_moves_and_stop_the_run(tmp_path: Path) -> None:
    cut = Fake(alters=lambda call: {"text": "I think th", "finish": "length", "attempts": 3})
    with pytest.raises(UnusableAnswers, match="answers cut at the token limit: set a larger max_tokens"):
        asyncio.run(run(tmp_path, cut, LLM, "linear", n=50, at_once=1).play())
    records = nl.read(tmp_path)
    assert len(records) == 7 and all(record.end == "ABORTED" for record in records)
    assert not any(isinstance(event, Replied | Rejected) and event.seat == "A" for r in records for event in r.events)
    assert "it began: I think th" in (tmp_path / "errors.log").read_text()


def test_few_answers_none_of_which_can_be_used_are_enough_at_the_end(tmp_path: Path) -> None:
    with pytest.raises(UnusableAnswers, match="of 4 answers"):
        asyncio.run(run(tmp_path, mute(), LLM, "linear", n=1).play())
    assert len(nl.read(tmp_path)) == 1


def test_a_model_below_the_limit_plays_on(tmp_path: Path) -> None:
    fake = mute(when=lambda call: call.repetition[-2:] == (0, 0))
    asyncio.run(run(tmp_path, fake, LLM, "linear", n=30, at_once=1).play())
    assert len(nl.read(tmp_path)) == 30


def test_each_model_is_judged_by_itself(tmp_path: Path) -> None:
    fake = mute(when=lambda call: call.model == "mute")
    with pytest.raises(UnusableAnswers, match="llm:mute: 20 of 20"):
        asyncio.run(run(tmp_path, fake, "llm:mute", LLM, n=100, at_once=10).play())


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_a_limit_is_a_share(tmp_path: Path, share: float) -> None:
    with pytest.raises(ValueError, match="unusable must be a number from 0 to 1"):
        run(tmp_path, Fake(), unusable=share)
