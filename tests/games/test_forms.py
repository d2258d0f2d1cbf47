"""Forms that models fill in: laws over every preset, and each game's form."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import negolab as nl
from negolab import laws
from negolab.game import Invalid, Observation, other
from negolab.games.split import EndTalk, Message
from negolab.llm.output_modes import filled_action
from negolab.match import Match
from negolab.moves import Count, Move, Moves, Schema
from negolab.scaffolds.ultimatum import Ultimatum
from tests.engine.test_laws import ALL, bounded
from tests.support.matches import on_turn, said

SEEDS = st.integers(0, 2**32 - 1)
TALK = 160
KEYWORDS = {
    *("type", "properties", "required", "additionalProperties", "enum", "anyOf", "items", "minItems", "maxItems"),
    *("minimum", "maximum", "pattern"),
}
ODD = "abc yz09:;.,{}[]()<>/'&!?*`→é🎈　 MESSAGE: [Accept] AGREE: {'A01'} </message> <think> accept 52.50"

every_game = pytest.mark.parametrize(("game", "preset"), ALL)


def drawn(schema: Schema, rng: random.Random) -> Any:
    """Draw an instance of a form's schema."""
    if "anyOf" in schema:
        return drawn(rng.choice(schema["anyOf"]), rng)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema["type"]:
        case "object":
            return {name: drawn(inner, rng) for name, inner in schema["properties"].items()}
        case "array":
            return [drawn(schema["items"], rng) for _ in range(rng.randint(schema["minItems"], schema["maxItems"]))]
        case "integer":
            return rng.randint(schema["minimum"], schema["maximum"])
        case "number":
            return round(rng.uniform(schema["minimum"], schema["maximum"]), 2)
        case "null":
            return None
    most = int(re.findall(r"\{0,(\d+)\}\$$", schema["pattern"])[0])
    text = "".join(rng.choice([rng.choice(ODD), rng.choice(ODD.split(" "))]) for _ in range(rng.randint(0, 30)))
    text = text[: rng.choice([0, most])]
    assert re.search(schema["pattern"], text)
    return text


def turns(game: str, preset: str, seed: int, talk: int = TALK) -> Iterator[tuple[Match, Any, Observation[Any, Any]]]:
    """Yield the match, the told game and the observation before each reply of a playout."""
    for match, seat in laws.positions(bounded(game, preset), seed):
        yield match, match.told(seat), match.seen(seat)


@pytest.mark.hypothesis
@every_game
def test_what_a_form_can_express_is_an_action_whose_words_mean_it(game: str, preset: str) -> None:
    legal: list[bool] = []

    @given(seed=SEEDS)
    def holds(seed: int) -> None:
        rng = random.Random(seed)
        for match, told, seen in turns(game, preset, seed):
            for talk in (0, TALK):  # both, so that the share below is of as many forms with free text as without
                value = drawn(told.moves(seen, talk).schema(), rng)
                action = filled_action(told, seen, value)
                legal.append(not isinstance(action, Invalid))
                if isinstance(action, Invalid):
                    assert action.codes != ("bad_field",), f"the form refuses its own schema: {value} ({action.reason})"
                    continue
                assert told.parse(told.say(action), seen) == action
                Match(match.game, start=match.state).act(seen.seat, action)

    holds()
    share = sum(legal) / len(legal)
    # A schema cannot say what an effort limit or a good named twice makes illegal, nor that talk holds no tags.
    assert share > (0.9 if game in ("bargaining", "split") else 0.3)


@pytest.mark.hypothesis
@every_game
def test_any_json_is_an_action_or_an_invalid(game: str, preset: str) -> None:
    scalars = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.just(10**400), st.just("\ud800")
    )
    words = ["move", "kind", "offer", "accept", "agree", "propose", "refuse", "keep", "message", "price", "option"]
    keys = st.one_of(st.sampled_from([*words, "items", "proposal", "argument", "give", "want", "good", "amount"]))
    values = st.recursive(
        st.one_of(scalars, st.sampled_from(words)),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
        max_leaves=12,
    )

    @given(seed=SEEDS, value=values)
    def holds(seed: int, value: Any) -> None:
        rng = random.Random(seed)
        for _, told, seen in turns(game, preset, seed):
            for tried in (value, spoiled(drawn(told.moves(seen, TALK).schema(), rng), value, rng)):
                action = filled_action(told, seen, tried)
                assert isinstance(action, Invalid) or told.parse(told.say(action), seen) == action
                if isinstance(action, Invalid):
                    assert action.codes
                    assert len(action.reason) < 1000

    holds()


def spoiled(value: Any, junk: Any, rng: random.Random) -> Any:
    """Replace one part of a value."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice(list(value))
        return {**value, name: spoiled(value[name], junk, rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        return [spoiled(value[0], junk, rng), *value[1:]]
    return junk


GOLDEN: dict[str, list[str]] = json.loads(Path(__file__).with_name("forms.json").read_text())
"""By game and preset or parameters: a hash of all forms of a playout, for each of six seeds."""


def form_hash(game: Any, seed: int) -> str:
    """The hash of every instruction and schema, to the byte, that models read in a playout."""
    forms = []
    for match, seat in laws.positions(game, seed):
        for talk in (0, 40, 160, 3000):
            moves = match.told(seat).moves(match.seen(seat), talk)
            form = json.dumps([moves.instruction, moves.schema()], ensure_ascii=False, separators=(",", ":"))
            forms.append(hashlib.sha256(form.encode()).hexdigest())
    return hashlib.sha256("".join(forms).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", GOLDEN)
def test_models_read_forms_that_are_equal_to_the_byte(name: str) -> None:
    game, _, rest = name.partition(" ")
    params = json.loads(rest) if rest.startswith("{") else {}
    loaded = nl.load(game, **params) if params else bounded(game, rest)
    if "reading" not in params and hasattr(loaded, "reading"):
        loaded = replace(loaded, reading="literal")
    assert [form_hash(loaded, seed) for seed in range(6)] == GOLDEN[name]


@every_game
def test_a_schema_is_in_the_subset_that_strict_servers_take(game: str, preset: str) -> None:
    def check(schema: Schema, depth: int = 0) -> None:
        assert set(schema) <= KEYWORDS
        if "anyOf" in schema:
            assert depth
            assert set(schema) == {"anyOf"}
            assert len(schema["anyOf"]) > 1
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
        inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
        for part in [*inner, *([schema["items"]] if "items" in schema else [])]:
            check(part, depth + 1)

    for talk in (0, TALK):
        for _, told, seen in turns(game, preset, 3):
            schema = told.moves(seen, talk).schema()
            assert schema["type"] == "object"
            assert json.loads(json.dumps(schema)) == schema
            check(schema)
            assert told.moves(seen, talk).instruction


@every_game
def test_a_form_tells_no_secret_of_the_other_seat(game: str, preset: str) -> None:
    for match, told, seen in turns(game, preset, 5):
        varied = match.game.vary(match.state, other(seen.seat), random.Random(1))
        if varied is None or match.game.revealed(match.state.public):
            continue
        again = Observation(seen.seat, varied.public, varied.private[seen.seat])
        assert told.moves(again, TALK).schema() == told.moves(seen, TALK).schema()
        assert told.moves(again, TALK).instruction == told.moves(seen, TALK).instruction


@every_game
def test_two_options_are_the_same_move_as_themselves(game: str, preset: str) -> None:
    for _, told, seen in turns(game, preset, 2):
        options = told.options(seen)[:8]
        assert all(told.same(seen, option, option) for option in options)


def observe_after(game: nl.Game[Any, Any, Any], *words: str) -> tuple[Any, Any]:
    """The told game and the observation of the seat on turn, after these replies."""
    return on_turn(said(game, *words, seed=3))


def kinds(told: Any, seen: Any) -> list[str]:
    """The kinds of move that a seat has."""
    return [move.kind for move in told.moves(seen).moves]


def test_bargaining_offers_no_accept_before_an_offer_stands_and_no_offer_after_the_last() -> None:
    game = nl.load("bargaining", rounds=2)
    assert kinds(*observe_after(game)) == ["offer"]
    assert kinds(*observe_after(game, "50")) == ["offer", "accept"]
    assert kinds(*observe_after(game, "50", "40")) == ["accept", "reject"]
    late = filled_action(*observe_after(game, "50", "40"), {"move": {"kind": "offer", "price": 1}})
    assert isinstance(late, Invalid)


@pytest.mark.parametrize(("reading", "price"), [("fair", {"price": 6.5}), ("literal", {"price_cents": 650})])
def test_a_price_becomes_the_games_words(reading: str, price: dict[str, float]) -> None:
    told, seen = observe_after(nl.load("bargaining", preset="cheap-talk-two-way", reading=reading))
    value = {"move": {"kind": "offer", **price, "message": "my last one"}}
    assert told.say(filled_action(told, seen, value)) == "6.50\nMESSAGE: my last one"


@pytest.mark.parametrize("price", [6.505, 650, -1, "6.50", True, float("nan"), float("inf"), 10**400])
def test_a_price_that_is_no_price_in_dollars_is_refused(price: object) -> None:
    told, seen = observe_after(nl.load("bargaining", preset="mug"))
    assert filled_action(told, seen, {"move": {"kind": "offer", "price": price}}).codes == ("bad_field",)


def test_a_trade_gives_no_more_than_is_held_after_the_reply() -> None:
    game = nl.load("trading")
    told, seen = observe_after(game, "[Offer: 1 Wheat -> 1 Ore]")
    accept, deny = told.moves(seen, 0).schema()["properties"]["move"]["anyOf"]

    def most(branch: Schema, side: str) -> dict[str, int]:
        lots = branch["properties"]["offer"]["anyOf"][1]["properties"][side]["items"]["anyOf"]
        return {lot["properties"]["good"]["enum"][0]: lot["properties"]["amount"]["maximum"] for lot in lots}

    assert most(accept, "give")["Wheat"] == most(deny, "give")["Wheat"] + 1
    assert most(accept, "give")["Ore"] == most(deny, "give")["Ore"] - 1
    assert most(deny, "give")["Ore"] == seen.private.holdings[4]


def test_a_token_in_free_text_makes_no_second_move() -> None:
    told, seen = observe_after(nl.load("trading"), "[Offer: 1 Wheat -> 1 Ore]")
    move = {"move": {"reply": "deny", "offer": None}, "message": "never [Accept] this"}
    action = filled_action(told, seen, move)
    assert action.text == "never (Accept) this [Deny]"
    assert action.deny
    assert not action.accept


def test_split_keeps_within_the_stock_and_knows_no_deal_where_the_rules_do() -> None:
    game: Any = nl.load("split", preset="deal-or-no-deal", rounds=1)
    told, seen = observe_after(game, *["<message>hi</message>"] * 2 * game.quota)
    units, no_deal = told.moves(seen, 0).schema()["properties"]["keep"]["anyOf"]
    most = tuple(part["maximum"] for part in units["properties"].values())
    assert most == seen.public.stock
    assert no_deal["enum"] == ["no deal"]
    assert told.say(filled_action(told, seen, {"keep": "no deal"})) == "<no_deal/>"


def test_a_form_ends_free_talk_by_the_tag_alone() -> None:
    told, seen = observe_after(nl.load("split", preset="lewis-2017"))
    assert told.moves(seen, TALK).schema()["properties"]["message"]["anyOf"][1]["enum"] == ["<selection>"]
    assert told.moves(seen, 0).schema()["properties"]["message"]["enum"][-1] == "<selection>"
    for talk in (0, TALK):
        assert '{"message":"<selection>"}' in told.moves(seen, talk).instruction
    assert filled_action(told, seen, {"message": "<selection>"}) == EndTalk()
    assert not told.same(seen, EndTalk(), Message(""))
    told, seen = observe_after(nl.load("split", preset="lewis-2017"), "<selection>")
    assert told.say(filled_action(told, seen, {"keep": "no deal"})) == "<no_agreement>"


def test_without_talk_a_script_words_what_is_said() -> None:
    told, seen = observe_after(nl.load("split", preset="trust-and-split"))
    said = told.moves(seen, 0).schema()["properties"]["message"]["enum"]
    assert said == ["", f"My hand is {seen.private.hand}."]
    told, seen = observe_after(nl.load("balloon"))
    schema = told.moves(seen, 0).schema()
    assert list(schema["properties"]) == ["move"]
    action = filled_action(told, seen, {"move": {"kind": "argue"}})
    assert "This is what I can offer for now." in action.text


@pytest.mark.parametrize(("language", "argued"), [("en", "ARGUMENT"), ("de", "ARGUMENT"), ("it", "ARGOMENTAZIONE")])
def test_balloon_names_open_proposals_by_number_in_its_language(language: str, argued: str) -> None:
    game = nl.load("balloon", language=language, strategic_reasoning=True, turn_limit=8)
    told, seen = observe_after(game)
    assert kinds(told, seen) == ["propose", "argue"]
    item = next(iter(seen.public.terms.effort))
    propose = {"reasoning": "r", "move": {"kind": "propose", "items": [item, item]}, "argument": "so it is"}
    words = told.say(filled_action(told, seen, propose))
    told, seen = observe_after(game, words)
    assert argued in words
    assert kinds(told, seen) == ["agree", "propose", "refuse", "argue"]
    assert f"1: {item}\n" in told.moves(seen, TALK).instruction
    agree = filled_action(told, seen, {"reasoning": "", "move": {"kind": "agree", "proposal": 1}, "argument": "fine"})
    assert agree.agree == (frozenset({item}),)
    wrong = filled_action(told, seen, {"reasoning": "", "move": {"kind": "agree", "proposal": 2}, "argument": "fine"})
    assert isinstance(wrong, Invalid)


def test_a_game_of_ones_own_has_moves_without_a_line_for_them() -> None:
    told, seen = observe_after(Ultimatum())
    share = told.moves(seen, TALK).schema()["properties"]["move"]["properties"]["share"]
    assert (share["minimum"], share["maximum"]) == (0, 10)
    assert filled_action(told, seen, {"move": {"kind": "offer", "share": 2}}) == told.options(seen)[2]
    assert told.moves(seen, TALK).instruction.endswith('{"move":{"kind":"offer","share":n}} with share from 0 to 10.')
    told, seen = observe_after(Ultimatum(), "3")
    assert filled_action(told, seen, {"move": {"kind": "answer", "accept": True}}) == told.options(seen)[0]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2", 2),
        (" 2.", 2),
        ("b)", 2),
        ("(B)", 2),
        ("b) Yes", 2),
        ("b) because I like it", 2),
        ("2) yes", 2),
        ("b) no", None),
        ("b) or c)", None),
        ("4", None),
        ("a plan b)", None),
        ("I take b", None),
        ("2 is what I want", None),
        ("b", None),
        ("", None),
    ],
)
def test_an_option_is_named_by_its_number_or_letter(text: str, number: int | None) -> None:
    option = Count(1, 3, words=("no", "yes", "maybe"))
    moves = Moves((Move("option", lambda option: option, {"option": option}),), tag="", bare=True)
    assert moves.named_option(text) == (None if number is None else {"option": number})


def test_a_split_message_is_the_same_move_if_it_states_the_same() -> None:
    told, seen = observe_after(nl.load("split", preset="trust-and-split"))
    decided, reworded, lied = (
        told.parse(f"<message>{text}</message>", seen)
        for text in ("My hand is rock.", "Believe me, I hold rock!", "I hold paper.")
    )
    assert told.same(seen, decided, reworded)
    assert not told.same(seen, decided, lied)
