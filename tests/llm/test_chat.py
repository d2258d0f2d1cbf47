"""The chat of a model's seat: each message appears once, and a record restores it."""

from __future__ import annotations

import asyncio
import json
import random
from string import Template
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import negolab as nl
from negolab import laws
from negolab.catalog import AnyGame
from negolab.game import Ask, Invalid, Malformed, Reply, Seat
from negolab.llm.endpoint.call import Message
from negolab.llm.output_modes import _PHRASES
from negolab.llm.player import LLM
from negolab.match import Match
from negolab.players.lookup import player
from negolab.record import parse_record
from negolab.runs.driver import submit_reply
from tests.engine.test_laws import ALL, bounded
from tests.games.test_forms import drawn
from tests.support.scripted_model import ScriptedModel, answer

STEPS = 40
FORMS = ["form=free", "form=schema", "form=schema,talk=false", "chat=false", "chat=false,form=schema"]


def model(setting: str, game: AnyGame, answers: ScriptedModel) -> LLM:
    found = player(f"llm:fake,{setting}", game, models=answers, match="m", draws=7)
    assert isinstance(found, LLM)
    return found


def babble(setting: str, rng: random.Random, match: Match, seat: Seat) -> Any:
    """Draw an answer: a legal text or a filled form, junk, an odd finish reason, reasoning."""
    told, seen = match.told(seat), match.seen(seat)
    if rng.random() < 0.3:
        said = laws.junk_text(rng)
    elif "schema" in setting:
        said = json.dumps(drawn(told.moves(seen, 60).schema(), rng))
    else:
        said = told.say(rng.choice(told.options(seen)))
    said = rng.choice([said, said, f"<think>so</think>{said}", f"so</think> {said}", "", f"{said} <think>never closed"])
    return answer(said, rng.choice(["stop"] * 8 + ["refusal", "content_filter"]))


def asked_by(sitting: LLM, told: AnyGame, ask: Ask) -> tuple[tuple[Message, ...], Any]:
    """The player's next request and its cache name."""
    call = sitting._call(told, ask)
    return call.messages, call.repetition


def sat_through(setting: str, game: AnyGame, seed: int) -> None:
    """Play with a model at A; before each turn, a new player restored from the record must have the same chat."""
    rng = random.Random(seed)
    match = Match(game, seed=seed)
    scripts: dict[Seat, ScriptedModel] = {"A": ScriptedModel([]), "B": ScriptedModel([])}
    sitting = {seat: model(setting, game, scripts[seat]) for seat in scripts}
    for _ in range(STEPS):
        asks = match.pending()
        if not asks:
            return
        seat = rng.choice(sorted(asks))
        ask, told = asks[seat], match.told(seat)
        lost = rng.random()
        # A strategy that draws has drawn once more for an ask that left no trace.
        if lost < 0.15 and setting != "strategy=random-legal":
            sitting[seat]._call(told, ask)
        if 0.1 < lost < 0.2:
            sitting[seat]._call(told, ask)
            match.reject(seat, Invalid(("late",), "Your reply did not come within 1 s: answer sooner.", "time"))
            continue
        if rng.random() < 0.3:
            stranger = model(setting, game, scripts[seat])
            stranger.recall(parse_record(match.record().to_line()).seen_by(seat))
            assert asked_by(stranger, told, ask) == asked_by(sitting[seat], told, ask)
        scripts[seat].script.append(babble(setting, rng, match, seat))
        submit_reply(match, seat, asyncio.run(sitting[seat].reply(told, ask)))
        roles = [role for role, _ in scripts[seat].last]
        assert roles == (["user", "assistant"] * len(roles))[: len(roles)] and roles[-1] == "user"
        assert all(content.strip() for _, content in scripts[seat].last)


@pytest.mark.hypothesis
@pytest.mark.parametrize(("game", "preset"), ALL)
def test_who_recalls_a_record_has_the_chat_of_who_sat_there_and_sides_alternate(game: str, preset: str) -> None:
    loaded = bounded(game, preset)

    @given(
        seed=st.integers(0, 2**32 - 1),
        setting=st.sampled_from([*FORMS, "strategy=first-option", "strategy=random-legal"]),
    )
    def holds(seed: int, setting: str) -> None:
        sat_through(setting, loaded, seed)

    holds()


def one(game: AnyGame, script: list[Any], setting: str = "form=free") -> tuple[Match, ScriptedModel, LLM]:
    """Start a match with a model at A."""
    answers = ScriptedModel(script)
    return Match(game, seed=1), answers, model(setting, game, answers)


def turn(match: Match, sitting: LLM) -> Any:
    """Let the model at A reply."""
    reply = asyncio.run(sitting.reply(match.told("A"), match.pending()["A"]))
    submit_reply(match, "A", reply)
    return reply


def test_a_chat_tells_everything_once_and_then_what_is_new() -> None:
    game = nl.load("bargaining", seller_retries=None)
    match, answers, sitting = one(game, ["60", "55"])
    opening = game.told("A").prompt(match.seen("A"), None)
    since = match.seen("A")
    turn(match, sitting)
    assert answers.last == [("user", opening)]
    match.submit("B", "45")
    new = game.told("A").prompt(match.seen("A"), since)
    turn(match, sitting)
    assert answers.last == [("user", opening), ("assistant", "60"), ("user", new)]
    assert opening not in new


def test_a_rejection_is_told_as_a_sentence() -> None:
    match, answers, sitting = one(nl.load("bargaining"), ["hello", "60"])
    turn(match, sitting)
    reply = turn(match, sitting)
    (_, _), (role, said), (_, why) = answers.last
    assert (role, said) == ("assistant", "hello")
    assert why.startswith("Your answer was not accepted. Your reply holds neither a price")
    assert reply.asked == why
    assert [call.repetition for call in answers.calls] == [("m", "A", 0, 0), ("m", "A", 0, 1)]


def test_every_language_has_all_sentences_with_the_same_slots() -> None:
    slots = [{name: Template(text).get_identifiers() for name, text in own.items()} for own in _PHRASES.values()]
    assert len(slots) > 1 and all(own == slots[0] for own in slots)


@pytest.mark.parametrize(
    ("language", "begins"),
    [("en", "Your answer was"), ("de", "Deine Antwort wurde"), ("it", "La tua risposta non")],
)
def test_a_rejection_is_told_in_the_language_of_the_game(language: str, begins: str) -> None:
    match, answers, sitting = one(nl.load("balloon", language=language), ["hello", "hello"])
    turn(match, sitting)
    turn(match, sitting)
    assert answers.last[-1][1].startswith(begins)


def test_single_shot_tells_everything_each_time_and_what_was_refused() -> None:
    game = nl.load("bargaining")
    match, answers, sitting = one(game, ["hello", "60", "55"], "chat=false")
    turn(match, sitting)
    opening = answers.last[0][1]
    turn(match, sitting)
    ((_, again),) = answers.last
    assert again.startswith(opening)
    assert "Your answer was:\nhello\nIt was not accepted." in again
    match.submit("B", "45")
    seen = match.seen("A")
    turn(match, sitting)
    assert answers.last == [("user", game.told("A").prompt(seen, None))]


def test_the_same_ask_again_takes_the_place_of_the_last() -> None:
    match, answers, sitting = one(nl.load("bargaining"), ["60", "61"])
    told, ask = match.told("A"), match.pending()["A"]
    asyncio.run(sitting.reply(told, ask))
    asyncio.run(sitting.reply(told, ask))
    one_call, other = answers.calls
    assert (one_call.messages, one_call.repetition) == (other.messages, other.repetition)
    submit_reply(match, "A", "61")
    match.submit("B", "45")
    answers.script.append("59")
    turn(match, sitting)
    assert [content for role, content in answers.last if role == "assistant"] == ["61"]


def test_what_was_never_answered_is_gone_on_with_in_one_message() -> None:
    match, answers, sitting = one(nl.load("bargaining"), ["", "60"])
    assert isinstance(turn(match, sitting), Malformed)
    turn(match, sitting)
    ((role, content),) = answers.last
    assert role == "user"
    assert content.endswith(
        "Your answer was not accepted. Your answer was empty: answer in the form that is asked for."
    )


def test_words_of_another_author_in_its_seat_are_its_own_then() -> None:
    game = nl.load("bargaining")
    match = Match(game, seed=1)
    match.submit("A", Reply("70", via="table"))
    match.submit("B", "45")
    answers = ScriptedModel(["69"])
    sitting = model("form=schema", game, answers)
    sitting.recall(match.record().seen_by("A"))
    turn(match, sitting)
    assert answers.last[1] == ("assistant", "70")
    assert answers.calls[0].repetition == ("m", "A", 1, 0)


def test_a_seat_taken_over_in_the_middle_of_a_turn_knows_what_was_refused() -> None:
    game = nl.load("bargaining")
    match = Match(game, seed=1)
    match.submit("A", "hello")
    answers = ScriptedModel(["60"])
    turn(match, model("form=free", game, answers))
    ((_, content),) = answers.last
    assert "Your answer was not accepted." in content
