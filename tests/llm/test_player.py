"""A language model as a player: its settings, its faults, its reasoning, and mixed players."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from negolab.catalog import AnyGame
from negolab.events import Forfeited, Rejected, Replied
from negolab.formatting import format_model
from negolab.game import Malformed, Reply, Seat
from negolab.llm.endpoint.call import Answer, Usage
from negolab.llm.endpoint.errors import GameFailed, NoAnswer
from negolab.llm.output_modes import ExtractedText, extract_reasoning
from negolab.llm.player import LLM
from negolab.match import Match
from negolab.players.lookup import list_players, player
from negolab.record import parse_record
from negolab.runs.driver import make_player, play
from negolab.verification import replay_differences
from tests.support.matches import said as after
from tests.support.scripted_model import ScriptedModel, answer

GAME = nl.load("bargaining")


def model(name: str, game: AnyGame = GAME, script: Any = (), **more: Any) -> LLM:
    found = player(name, game, models=ScriptedModel(script), match="m", **more)
    assert isinstance(found, LLM)
    return found


def asked(sitting: LLM, match: Match, seat: Seat = "A") -> Any:
    """What the player makes of its model's next answer."""
    return asyncio.run(sitting.reply(match.told(seat), match.pending()[seat]))


def replied(said: str | Answer, setting: str = "form=free", game: AnyGame = GAME, *before: str) -> Any:
    """The reply that the model's answer becomes, at the seat on turn after these replies."""
    match = after(game, *before, seed=3)
    return asked(model(f"llm:fake,{setting}", game, [said]), match, next(iter(match.pending())))


# Names and settings.


@pytest.mark.parametrize("name", ["qwen2.5:0.5b", "meta-llama/Llama-3.1-8B", "gpt-5.1", "7"])
def test_a_models_name_may_hold_colons_slashes_and_dots(name: str) -> None:
    found = model(f"llm:{name},temperature=0.7,max_tokens=80", script=["50"])
    assert found.settings.model == name
    assert found.name == f"llm:{name},temperature=0.7,max_tokens=80"
    asked(found, Match(GAME, seed=1))
    call = found.endpoint.calls[0]  # type: ignore[attr-defined]
    assert (call.model, call.params) == (name, {"temperature": 0.7, "max_tokens": 80})


def test_what_is_set_is_sent() -> None:
    assert model("llm:x").settings.request_fields() == {}
    full = model("llm:x,temperature=0,top_p=0.9,seed=3,reasoning_effort=low,max_tokens=5").settings.request_fields()
    assert full == {"temperature": 0.0, "top_p": 0.9, "max_tokens": 5, "seed": 3, "reasoning_effort": "low"}
    assert model("llm:x", temperature=0.5).settings.temperature == 0.5
    extra = model('llm:x,extra.top_k=40,extra.stop=["a","b"],seed=3').settings
    assert extra.request_fields() == {"seed": 3, "top_k": 40, "stop": ["a", "b"]}


def test_the_seed_of_a_deal_is_not_the_seed_of_a_model() -> None:
    sitting = make_player("llm:x", GAME, 5, "A", models=ScriptedModel([]), match="m")
    assert isinstance(sitting, LLM)
    assert sitting.settings.seed is None


KEYS = "sk-proj-abc123 hf_AbCdEf AKIAIOSFODNN7EXAMPLE1 gsk_0123456789abcdef MY_KEY_0123456789ABCDEF0123456789"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("llm:", "the name of a model"),
        ("llm", "unknown player 'llm'.* llm:MODEL"),
        ("lm:x", "unknown player 'lm' .* A language model is named llm:MODEL"),
        ("fiar:0.2", "unknown player 'fiar' .* llm:MODEL"),
        ("llm:local:max_tokens=60", "after a comma: llm:local,max_tokens=60"),
        ("llm:x,temprature=1", "no parameter 'temprature': did you mean temperature"),
        ("llm:x,temperature=hot", "parameter temperature of a model player must be a number from 0 to 2, not 'hot'"),
        ("llm:x,temperature=3", "temperature .* from 0 to 2, not '3'"),
        ("llm:x,temperature=nan", "temperature .* from 0 to 2"),
        ("llm:x,top_p=2", "top_p"),
        ("llm:x,max_tokens=0", "max_tokens .* from 1 up"),
        ("llm:x,extra.stream=true", "^extra.stream cannot be set"),
        ("llm:x,form=json", "parameter form .*'json'"),
        ("llm:x,chat=maybe", "parameter chat"),
        ("llm:x,chat", "'chat' must have the form name=value"),
        ("llm:x,persona=/nowhere/at.txt", "persona /nowhere/at.txt: no such file"),
        ("llm:x,strategy=tiem", "unknown player 'tiem' .*did you mean time"),
        ("llm:x,strategy=time:bta=1", "no parameter 'bta'"),
        ("llm:x,strategy=llm:y", "scripted player"),
        ("llm:x,strategy=time,form=schema", "use one or the other"),
        ("llm:x,model=y", "model appears twice"),
        ("llm:x,seed=1,top_p=1, seed=2", "seed appears twice: write it once"),
        ("llm:x,strategy=time:beta=1;beta=2", "beta appears twice"),
        ("time:beta=1,beta=2", "beta appears twice"),
        ("llm:x,base_url=", "base URL"),
        ("llm:x,base_url=ftp://y", "base URL"),
        ("llm:x,base_url=http://u:secret@y/v1", "base URL must not contain"),
        *((f"llm:x,history={wrong}", "must be such as last:6") for wrong in ("last", "last:0", "last:-1", "6")),
        *((f"llm:x,key={key}", "NAME of an environment variable") for key in KEYS.split()),
    ],
)
def test_a_wrong_setting_is_named_and_a_secret_in_it_not_repeated(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        player(name, GAME, models=ScriptedModel([]))
    _, _, key = name.partition("key=")
    assert not key or key not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_address_and_name_of_the_key_are_handed_on() -> None:
    answers = ScriptedModel(["50"])
    found = player("llm:x,base_url=http://127.0.0.1:9/v1,key=LAB_KEY", GAME, models=answers)
    assert isinstance(found, LLM)
    assert found.endpoint is answers
    assert answers.asked == [("http://127.0.0.1:9/v1", "LAB_KEY")]


def test_a_persona_is_the_system_message_and_its_hash_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "tough.txt"
    file.write_text("You never give in.\n", encoding="utf-8")
    found = model(f"llm:x,persona={file}", script=["50"])
    asked(found, Match(GAME, seed=1))
    assert found.endpoint.last[0] == ("system", "You never give in.")  # type: ignore[attr-defined]
    assert found.notes() == {
        "model": "x",
        "url": ScriptedModel.url,
        "form": "free",
        "chat": True,
        "parameters": {"max_tokens": 1000},
        "persona": {"file": "tough.txt", "sha256": hashlib.sha256(b"You never give in.\n").hexdigest()},
    }


@pytest.mark.parametrize(("held", "why"), [(b"", "must contain some text"), (b"\xff", "not UTF-8")])
def test_a_persona_is_a_text(tmp_path: Path, held: bytes, why: str) -> None:
    (tmp_path / "p.txt").write_bytes(held)
    with pytest.raises(ValueError, match=why):
        model(f"llm:x,persona={tmp_path / 'p.txt'}")


def test_matches_without_an_id_share_no_answers() -> None:
    first, second = (player("llm:x", GAME, models=ScriptedModel([])) for _ in range(2))
    assert isinstance(first, LLM)
    assert isinstance(second, LLM)
    assert first.match != second.match


# Answers.


@pytest.mark.parametrize(
    ("said", "left", "thought"),
    [
        ("52.50", "52.50", None),
        (" 52.50\n", " 52.50\n", None),
        ("<think>low?</think>\n52.50", "52.50", "low?"),
        ("<THINKING>a</THINKING> 5 <think>b</think>0", "5 0", "a\n\nb"),
        ("hm, 60?</think>52.50", "52.50", "hm, 60?"),
        ("52.50 <think>and then", "52.50", "and then"),
        ("a</think>b</think>52", "52", "a\n\nb"),
        ("<think>only", "", "only"),
        ("<think></think>5", "5", None),
    ],
)
def test_thoughts_leave_the_text(said: str, left: str, thought: str | None) -> None:
    assert extract_reasoning(said) == ExtractedText(left, thought)


def test_thoughts_are_recorded_and_passed_on_to_nobody() -> None:
    game = nl.load("balloon")
    secret = "<think>A07 is worth 990 to me</think>"
    words = "ARGUMENT: {'hello'}"
    match = Match(game, seed=1)
    models = {seat: ScriptedModel([f"{secret}{words}", f"{secret}{words}", "", "", ""]) for seat in ("A", "B")}
    players = {seat: player("llm:x", game, models=models[seat], match="m") for seat in models}
    play(match, players)  # type: ignore[arg-type]
    said = [event.reply for event in match.events if isinstance(event, Replied)]
    assert said[0].reasoning == "A07 is worth 990 to me"
    assert (said[0].text, said[0].raw) == (words, f"{secret}{words}")
    sent = [message.content for answers in models.values() for call in answers.calls for message in call.messages]
    assert not any("990 to me" in content for content in sent)
    assert "990 to me" not in json.dumps([m.text for m in match.state.public.messages])


def test_what_an_answer_took_stands_with_the_reply() -> None:
    took: dict[str, Any] = {"queued": 0.5, "latency": 1.5, "attempts": 2, "fingerprint": "fp", "replayed": True}
    named: dict[str, Any] = {"model": "fake-1", "cost": 0.01, "request_id": "r1", "reasoning": "I ask for half."}
    reply = replied(Answer(text="50", finish="stop", usage=Usage(100, 10, 60, None), **took, **named))
    assert isinstance(reply, Reply)
    assert reply.usage == {"input": 100, "output": 10, "cached": 60, "finish": "stop", **took}
    assert reply.via == "model" and {name: getattr(reply, name) for name in named} == named
    assert reply.raw is None
    assert reply.asked is not None
    assert reply.asked.startswith("You are the seller")
    assert "replayed" not in replied("50").usage


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (answer(""), "empty"),
        (answer(" \n"), "empty"),
        (answer("<think>hm"), "empty"),
        (answer("", reasoning="hm"), "thoughts"),
        (answer('[{"function": {"name": "offer"}}]', "tool_calls"), "called"),
        (answer("", "content_filter"), "filtered"),
        (answer("I cannot help with that.", "refusal"), "refused"),
    ],
)
def test_a_malformed_answer_is_kept_with_its_text_and_told_what_to_do(said: Answer, code: str) -> None:
    for setting in ("form=free", "form=schema"):
        found = replied(said, setting)
        assert isinstance(found, Malformed)
        assert found.invalid.codes == (code,)
        assert found.invalid.kind == "format"
        assert "answer" in found.invalid.reason
        assert (found.reply.raw or found.reply.text) == said.text


def test_a_malformed_answer_is_an_event_of_the_match_and_replays() -> None:
    match = Match(GAME, seed=1, players={"A": "a", "B": "b"})
    sitting = model("llm:x", script=[answer("60 is", "refusal", cost=0.25), "60", "50", "50"])
    play(match, {"A": sitting, "B": nl.player("linear", GAME)})
    refused = next(event for event in match.events if isinstance(event, Rejected))
    assert refused.wordless
    assert refused.said is not None
    assert (refused.said.text, refused.said.cost, refused.invalid.codes) == ("60 is", 0.25, ("refused",))
    assert replay_differences(parse_record(match.record().to_line())) == []


CUT = "length max_tokens MAX_TOKENS model_length model_context_window_exceeded insufficient_system_resource abort"


@pytest.mark.parametrize("finish", [*CUT.split(), "unknown", "because"])
@pytest.mark.parametrize("game", ["bargaining", "trading", "balloon"])
def test_an_answer_that_is_not_whole_is_no_move_and_no_forfeit(finish: str, game: str) -> None:
    loaded = nl.load(game)
    match = Match(loaded, seed=1, players={"A": "a", "B": "b"})
    with pytest.raises(NoAnswer, match=rf"^no answer: .*{finish}\), asked 1 times; it began: I offer \$5$"):
        play(match, {seat: model("llm:x", script=[answer("I offer $5", finish)] * 3, game=loaded) for seat in "AB"})
    assert not any(isinstance(event, Replied | Rejected | Forfeited) for event in match.events)


@pytest.mark.parametrize(
    ("setting", "sent", "says"),
    [
        ("form=free", {"max_tokens": 16_000}, "cut off at 16,000 tokens"),
        ("max_tokens=300", {"max_completion_tokens": 300}, "cut off at 300 tokens"),
        ("reasoning_effort=low", {}, "it was cut off (length)"),
    ],
)
def test_an_answer_is_said_to_be_cut_at_what_its_own_call_was_sent(
    setting: str, sent: dict[str, int], says: str
) -> None:
    with pytest.raises(NoAnswer) as cut:
        replied(answer("I offer $5", "length", sent={**sent, "temperature": 1}), setting)
    assert says in str(cut.value)
    assert cut.value.tokens == (300 if "300" in setting else None), "advice is about a limit that the user set"


def test_a_note_holds_the_parameters_that_were_sent_and_a_reply_its_own() -> None:
    sitting = model(
        "llm:x,temperature=0.5,label=tough,history=last:2", script=[answer("60", sent={"max_tokens": 4000})]
    )
    notes = sitting.notes()
    assert notes["parameters"] == {"temperature": 0.5, "max_tokens": 1000}
    said = asked(sitting, Match(GAME, seed=3))
    assert isinstance(said, Reply) and said.usage and said.usage["sent"] == notes["parameters"] == {"max_tokens": 4000}
    assert format_model(notes) == "tough, form=free, chat=True, history=last:2, max_tokens=4000"


def test_a_part_of_the_history_is_the_opening_and_the_last_exchanges() -> None:
    sitting = model("llm:x,history=last:2", script=["90", "89", "88", "87", "86", "85"])
    match = Match(GAME, seed=3)
    play(match, {"A": sitting, "B": nl.player("linear", GAME)})
    sent = [call.messages for call in sitting.endpoint.calls]  # type: ignore[attr-defined]
    assert [len(messages) for messages in sent][:6] == [1, 3, 5, 7, 7, 7][: len(sent)]
    longest = sent[-1]
    assert longest[:2] == sent[1][:2] and [message.role for message in longest] == ["user", "assistant"] * 3 + ["user"]


@pytest.mark.parametrize(
    ("said", "setting", "text"),
    [
        ("nonsense", "form=free", "nonsense"),
        ("50 \ud83c", "form=free", "50 \ufffd"),
        (answer("", reasoning="<think>Hm, 50?</think>52.50"), "form=free", "52.50"),
        (
            '{"move":{"kind":"offer","price":7,"message":"ha \\ud83c \\ud83c\\udf88"}}',
            "form=schema",
            "7.00\nMESSAGE: ha \ufffd \U0001f388",
        ),
    ],
    ids=["free words are judged by the match", "half a surrogate", "behind reasoning", "half a surrogate in a form"],
)
def test_an_answer_becomes_words_of_the_match(said: Any, setting: str, text: str) -> None:
    assert replied(said, setting, nl.load("bargaining", preset="cheap-talk")).text == text


# Constrained.


def test_a_filled_form_becomes_the_games_words() -> None:
    filled = '<think>half</think>{"move":{"kind":"offer","price":52.5}}'
    sitting = model("llm:x,form=schema", script=[filled])
    reply = asked(sitting, Match(GAME, seed=1))
    assert (reply.text, reply.raw) == ("52.50", filled)
    sent = sitting.endpoint.calls[0]  # type: ignore[attr-defined]
    form = sent.params["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["properties"]["move"]["properties"]["price"]["maximum"] == 100
    prompt = sent.messages[-1].content
    assert "Answer with one JSON object" in prompt and "Answer with one line" not in prompt


def test_a_game_of_before_shows_its_words_beside_the_form() -> None:
    game = nl.load("bargaining", reading="literal")
    sitting = model("llm:x,form=schema", game, ['{"move":{"kind":"offer","price_cents":5250}}'])
    assert asked(sitting, Match(game, seed=1)).text == "52.50"
    prompt = sitting.endpoint.calls[0].messages[-1].content  # type: ignore[attr-defined]
    assert "Answer with one line: a price such as 52.50." in prompt and "Answer with one JSON object" in prompt


ACCEPT = '{"move":{"kind":"accept"}}'


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (f"Sure. {ACCEPT} Thanks!", "accept"),
        (f"{ACCEPT}\n{ACCEPT}", "accept"),
        (f"\ufeff{ACCEPT}", "accept"),
        ('{hm} {"move":{"kind":"offer","price":52.5}}', "52.50"),
        (f"```json\n{ACCEPT}\n```", "accept"),
        (f"```\n{ACCEPT}```", "accept"),
        (f"  {ACCEPT}\n", "accept"),
        (answer(ACCEPT, "length"), "accept"),
    ],
)
def test_the_one_object_in_a_reply_is_the_answer_also_where_it_ends_at_the_limit(said: Any, text: str) -> None:
    assert replied(said, "form=schema", GAME, "60").text == text


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("52.50", "bad_json"),
        ('{"move":', "bad_json"),
        ("[1]", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ('{"move":{"kind":"steal"}}', "bad_field"),
        ('{"move":{"kind":"offer","price":999}}', "bad_field"),
        (ACCEPT, "bad_field"),
        (ACCEPT + ' or {"move":{"kind":"offer","price":50}}', "bad_json"),
        ('{"move":{"kind":"accept"},"move":{"kind":"offer","price":50}}', "bad_field"),
        ('{"move":{"kind":"offer","price":50,"Price":60}}', "bad_field"),
    ],
)
def test_what_breaks_the_schema_or_answers_twice_is_malformed(said: str, code: str) -> None:
    found = replied(said, "form=schema")
    assert isinstance(found, Malformed)
    assert found.invalid.codes == (code,)
    assert found.reply.text == said


def test_its_own_form_stays_in_the_chat_and_the_words_in_the_record() -> None:
    filled = '{"move":{"kind":"offer","price":60}}'
    sitting = model("llm:x,form=schema", script=[filled, filled])
    match = Match(GAME, seed=1)
    match.submit("A", asked(sitting, match))
    match.submit("B", "45")
    asked(sitting, match)
    assert ("assistant", filled) in sitting.endpoint.last  # type: ignore[attr-defined]
    assert match.state.public.offers[0] == (1, "A", 6000)


# Mixed.


def test_a_strategy_decides_and_the_model_words_it() -> None:
    game = nl.load("bargaining", preset="cheap-talk")
    said = "7.50\nMESSAGE: a fine mug"
    sitting = model("llm:x,strategy=time:beta=0.2;start=750", game, [said])
    assert asked(sitting, Match(game, seed=1)).text == said
    assert "In the words of the game it is:\n7.50" in sitting.endpoint.last[-1][1]  # type: ignore[attr-defined]
    assert sitting.notes()["strategy"] == "time:beta=0.2;start=750"


def test_words_that_make_another_move_are_asked_for_again_and_then_replaced() -> None:
    game = nl.load("bargaining", seller_retries=1)
    sitting = model("llm:x,strategy=time:start=6000", game, ["90", "95"])
    match = Match(game, seed=1)
    first = asked(sitting, match)
    assert isinstance(first, Malformed)
    assert first.invalid.codes == ("other_move",)
    assert first.reply.text == "90"
    match.reject("A", first.invalid, first.reply)
    second = asked(sitting, match)
    assert isinstance(second, Reply)
    assert (second.text, second.raw) == ("60.00", "95")


def test_wording_costs_no_match_where_the_game_allows_no_second_try() -> None:
    game = nl.load("trading")
    reply = asked(model("llm:x,strategy=first-option", game, [answer("[Offer: all", "length")]), Match(game, seed=1))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.raw) == ("Pass.", "[Offer: all")


def test_where_a_game_asks_for_ever_wording_is_tried_three_times() -> None:
    game = nl.load("bargaining", opener="buyer", buyer_retries=None)
    sitting = model("llm:x,strategy=linear", game, ["no idea"] * 3)
    match = Match(game, seed=1)
    for _ in range(2):
        tried = asked(sitting, match, "B")
        match.reject("B", tried.invalid, tried.reply)
    last = asked(sitting, match, "B")
    assert isinstance(last, Reply)
    assert last.raw == "no idea"


def test_a_strategy_decides_once_for_a_turn() -> None:
    game = nl.load("split", preset="no-press", rounds=2)
    sitting = model("llm:x,strategy=random-legal", game, ["?", "?", "?"], draws=4)
    match = Match(game, seed=1)
    for _ in range(3):
        reply = asked(sitting, match)
        if isinstance(reply, Malformed):
            match.reject("A", reply.invalid, reply.reply)
    decided = {call.messages[0].content for call in sitting.endpoint.calls}  # type: ignore[attr-defined]
    assert len({text.split("it is:")[1].split("\n")[1] for text in decided}) == 1
    assert isinstance(reply, Reply)


def test_a_mixed_player_sits_where_its_strategy_can() -> None:
    game = nl.load("bargaining", preset="cheap-talk")
    sells = [name for name, cls in list_players(game).items() if cls.seats == ("A",)]
    seats = []
    for name in sells:
        try:
            seats.append(model(f"llm:x,strategy={name}", game).seats)
        except ValueError:  # written for another treatment
            continue
    assert seats
    assert set(seats) == {("A",)}


@pytest.mark.parametrize("setting", ["form=free", "form=schema"])
def test_what_is_told_in_a_turn_does_not_grow_with_the_match(setting: str) -> None:
    game = nl.load("trading", max_turns=200)
    sitting = model(f"llm:x,{setting}", game)
    match = Match(game, seed=1)
    lengths = []
    while asks := match.pending():
        seat, ask = next(iter(asks.items()))
        if seat == "A":
            messages = sitting._call(match.told("A"), ask).messages
            lengths.append(len(messages[-1].content))
            sitting._chat.record_answer("Pass.")
        match.submit(seat, "Pass.")
    assert len(lengths) == 100
    assert max(lengths[1:]) < lengths[1] + 10


def test_a_model_that_never_finds_a_move_fails_its_game() -> None:
    game = nl.load("bargaining")
    match = nl.Match(game, seed=1, players={"A": "linear", "B": "llm:fake"})
    model = nl.player("llm:fake", game, models=ScriptedModel(["Hello there."] * 50))
    with pytest.raises(GameFailed, match="20 answers in a row were not valid moves"):
        nl.play(match, {"A": nl.player("linear", game), "B": model})
    assert sum(isinstance(event, Rejected) for event in match.events) == 20
