"""Replies are read as they were meant: laws over texts, and examples of each rule."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import negolab as nl
from negolab import laws
from negolab.game import Invalid
from negolab.games import agenda, bargaining
from negolab.reading import read_tokens, without_reasoning
from tests.conftest import ROOT
from tests.support.matches import on_turn, said

SEEDS = st.integers(0, 2**32 - 1)
GAMES = ("agenda", "balloon", "split", "trading")
TOKENS = ("[Accept]", "[Deny]", "[Reject]", "[Walk away]", "[Offer: 1 Wheat -> 1 Ore]", "[Offer: food = 1; water = 1]")
PROSE = (
    *("I", "will", "not", "can't", "if you", "but", "so I", "add 1 Wheat", "my answer:", "you said", "next turn", "or"),
    *(".", "?", ",", "...", " - ", "\n", "\n\n", "\n> ", "```\n", "<think>", "</think>", "1. ", "**", "\u201c", "["),
    "]",
)


def fair(game: str, **more: Any) -> Any:
    loaded = nl.load(game, reading="fair", **more)
    return loaded if loaded.bound() is not None else nl.load(game, reading="fair", turn_limit=30, **more)


def after(game: Any, *texts: str) -> tuple[Any, Any]:
    """The told game and the observation of the seat on turn, after these replies."""
    return on_turn(said(game, *texts, seed=3))


@pytest.mark.hypothesis
@pytest.mark.parametrize(
    "law",
    [pytest.param(law, marks=[pytest.mark.long] * (law is not laws.words_and_actions_agree)) for law in laws.LAWS],
    ids=lambda law: law.__name__,
)
@pytest.mark.parametrize("game", GAMES)
def test_a_game_that_is_read_fairly_obeys(game: str, law: laws.Law) -> None:
    @given(seed=SEEDS)
    def holds(seed: int) -> None:
        law(fair(game), seed)

    holds()


TEXTS = st.lists(st.sampled_from([*TOKENS, *PROSE]), max_size=14).map(" ".join)


@pytest.mark.hypothesis
@pytest.mark.parametrize("game", ["agenda", "trading"])
def test_any_text_is_read_and_quoted_lines_and_fences_change_nothing(game: str) -> None:
    offer = "[Offer: 1 Wheat -> 1 Ore]" if game == "trading" else "[Offer: food = 1; water = 2; firewood = 3]"
    told, seen = after(fair(game, **({"rules": "tolerant"} if game == "trading" else {"preset": "casino"})), offer)

    def meant(text: str) -> Any:
        read = told.parse(text, seen)
        if isinstance(read, Invalid):
            return read.codes
        return (read.accept, read.deny, read.offer) if game == "trading" else (read.reply, read.offer)

    @given(text=TEXTS)
    def holds(text: str) -> None:
        found = meant(text)
        if "[" not in text and "\uff3b" not in text and found[0] not in ("reasoning_open",):
            assert not any(isinstance(part, str) and part in ("accept", "walk away") for part in found)
        if "\n" not in text and "`" not in text and not text.lstrip().startswith(">"):
            assert meant(f"> I [Accept], [Deny] and [Walk away]\n{text}") == found
            assert meant(f"```\n{text}\n```") == found
        if "think" not in text:
            conditional = text.replace("[Accept]", "[Accept] if you add 1 Wheat")
            assert not any(token.kind == "accept" for token in read_tokens(conditional).counting("accept"))

    holds()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("I will [Accept].", "accept"),
        ("I won't [Accept] this.", ""),
        ("It isn't perfect, [Accept]", "accept"),
        ("I cannot, at this price, [Accept].", ""),
        ("I'd love to [Accept], really, but I have no Wood. [Deny]", "deny"),
        ("If you add 1 Wheat, I will [Accept].", ""),
        ("[Accept], if this is your last offer", "accept"),
        ("Add one Wheat and I'll [Accept].", ""),
        ("[Accept]. Only if you add 2 Wheat.", ""),
        ("Do we [Accept] this?", ""),
        ("[Accept] with 1 more Ore", ""),
        ("[Accept] and let me know if you want more", "accept"),
        ("Why would I [Deny] that? [Accept]", "accept"),
        ("Please [Accept] or [Deny].", ""),
        ("[Deny]... no wait, I misread. [Accept]", "accept"),
        ("You said [Accept] too early. [Deny]", "deny"),
        ("> [Accept]\n[Deny]", "deny"),
        ("I have three options: [Accept], [Deny], or neither.", ""),
        ("[Accept] would be wrong.\n\nFinal answer: [Deny]", "deny"),
        ("I will not\n[Accept]", ""),
        ("I don't love it\n[Accept]", "accept"),
        ("**[Accept.]**", "accept"),
        ("\uff3bAccept\uff3d", "accept"),
        ("\\[Accept your offer\\]", "accept"),
        ("I am not [Accept]ing this.", ""),
        ("You should [Offer: 1 Ore -> 1 Wheat].", ""),
        ("I give you [Offer: 1 Ore -> 1 Wheat]", "offer"),
        ("Write [Offer: 1 Ore -> 1 Wheat] instead", ""),
        ("When I [Accept], you owe me one.", ""),
        ("[Accept]. When do we ship?", "accept"),
        ("[Accept] your offer of 5 Wheat", ""),
    ],
)
def test_a_token_counts_unless_what_stands_around_it_says_otherwise(text: str, kinds: str) -> None:
    counting = read_tokens(text).counting("accept", "deny", "walk away", "offer")
    assert " ".join(dict.fromkeys(token.kind for token in counting)) == kinds


WAITING = {
    "trading": ["[Offer: 1 Wheat -> 1 Ore]"],
    "agenda": ["[Offer: food = 1; water = 1; firewood = 1]"],
    "bargaining": ["60"],
}


def table_of_readings() -> list[tuple[str, str, str, str]]:
    """The rows of the guide's table: game, reply, how it is read fairly and by the letter."""
    lines = (ROOT / "notebooks" / "guide" / "decisions.md").read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith(tuple(f"| {game} |" for game in GAMES))]
    rows += [line.strip("| ").split(" | ") for line in lines if line.startswith("| bargaining |")]
    return [(game, reply.strip("`"), meant, said) for game, reply, meant, said in rows]


@pytest.mark.parametrize(("game", "reply", "meant", "said"), table_of_readings())
def test_the_guide_says_how_a_reply_is_read(game: str, reply: str, meant: str, said: str) -> None:
    for reading, expected in (("fair", meant), ("literal", said)):
        told, seen = after(nl.load(game, reading=reading), *WAITING.get(game, []))
        read = told.parse(reply, seen)
        assert ("asked again" if isinstance(read, Invalid) else told.describe(read)) == expected


SENTENCES = [json.loads(line) for line in (Path(__file__).with_name("readings.jsonl")).read_text("utf-8").splitlines()]
"""Replies to an offer as people and models may write them, each with what it does: A accepts, D refuses, W walks away,
O makes an offer (with the price in bargaining), R is asked again."""


def done(read: Any) -> str:
    """What a reply does, in the letters of the sentences."""
    if isinstance(read, Invalid):
        return "R"
    if isinstance(read, bargaining.Offer):
        return f"O{read.cents / 100:g}"
    if isinstance(read, bargaining.Accept):
        return "A"
    if isinstance(read, agenda.Message):
        reply = {"accept": "A", "reject": "D", "walk away": "W", None: ""}[read.reply]
    else:
        reply = "A" if read.accept else "D" if read.deny else ""
    return " ".join(filter(None, (reply, "O" if read.offer else "")))


@pytest.mark.parametrize("game", ["agenda", "bargaining", "trading"])
def test_sentences_do_what_their_authors_meant(game: str) -> None:
    offer = {"trading": "[Offer: 2 Wheat -> 1 Ore]", "agenda": "[Offer: food = 2; water = 1; firewood = 1]"}
    told, seen = after(fair(game), offer.get(game, "60"))
    rows = [row for row in SENTENCES if row["game"] == game]
    assert len(rows) > 40
    wrong = [(row["text"], got) for row in rows if (got := done(told.parse(row["text"], seen))) != row["read"]]
    assert wrong == []


def test_reasoning_is_cut_off_and_an_open_one_is_told() -> None:
    assert without_reasoning("<think>no [Deny]</think>yes") == "yes"
    told, seen = after(fair("trading"))
    assert told.parse("<think>I could [Accept]", seen).codes == ("reasoning_open",)


def test_a_refusal_of_a_token_that_was_not_meant_quotes_its_sentence() -> None:
    told, seen = after(fair("trading"), "[Offer: 1 Wheat -> 1 Ore]")
    refused = told.parse("Hm. I won't [Accept] this. Sorry!", seen)
    assert refused.codes == ("vetoed_reply",) and refused.kind == "rule"
    assert "(\"I won't [Accept] this" in refused.reason and "[Accept] or [Deny] on a line of its own" in refused.reason


def test_an_acceptance_that_names_an_offer_names_the_one_that_waits() -> None:
    told, seen = after(fair("trading"), "[Offer: 2 Wheat -> 1 Ore]")
    assert told.parse("I [Accept] your offer of 2 Wheat for 1 Ore.", seen).accept
    for other in ("5 Wheat", "2 Wheat for 3 Ore", "2 Ore for 1 Wheat", "two Wheat"):
        assert told.parse(f"I [Accept] your offer of {other}.", seen).codes == ("vetoed_reply",)
    for named in ("your 2 Wheat for my 1 Ore.", "the 2 Wheat for my 1 Ore", "your offer of 2 Wheat for my 1 Ore!"):
        assert told.parse(f"My apologies for earlier. I [Accept] {named}", seen).accept
    for other in (
        *("your 1 Ore for my 2 Wheat.", "your 2 Wheat for my 2 Ore.", "your 2 Wheat for my Ore.", "your 2 Wheat."),
        *(
            "your 2 Wheat and 1 Wood for my 1 Ore.",
            "your 2 Wheat for my 1 Ore if you add 1 Wood.",
            "your hat for my 1 Ore.",
        ),
        *("your 2 Wheat for my 1 Ore is no option.", "your 2 Wheat for my 1 Ore plus 1 Wood.", "2 Wheat for my 1 Ore."),
        "your offer of 1 Ore for my 2 Wheat.",
    ):
        assert told.parse(f"I [Accept] {other}", seen).codes == ("vetoed_reply",)


def test_an_offer_that_is_cut_off_is_talk_with_a_warning() -> None:
    told, seen = after(fair("trading"))
    for broken in ("Hello. [Offer: 2 Wood -> ", "[Offers: 2 Wood -> 1 Ore]", "[Offer] 2 Wood"):
        assert told.parse(broken, seen).warnings == ("broken_offer",)
    assert told.parse("My offer: 2 Wood", seen).warnings == ()
    assert told.parse("I would never write [Offer: 5 Ore -> 1 Wheat].", seen).warnings == ()


@pytest.mark.parametrize(
    ("argument", "is_taken"),
    [
        ("Deal!", True),
        ("Only this set fits the limit.", True),
        ("If we had more room, I would ask for more.", True),
        ("If you agree with my sums, we both gain.", True),
        ("But only if you add C53 to the set!", False),
        ("I agree, provided that you drop the rope.", False),
        ("Fine, unless you also raise the limit.", False),
        ("But you must take the map.", False),
    ],
)
def test_an_agreement_of_balloon_holds_no_condition(argument: str, is_taken: bool) -> None:
    game = fair("balloon")
    match = nl.Match(game, seed=3)
    (name,) = list(match.seen("A").private.importance)[:1]
    told, seen = after(game, f"PROPOSAL: {{'{name}'}}\nARGUMENT: {{'One.'}}")
    text = f"AGREE: {{'{name}'}}\nARGUMENT: {{'{argument}'}}"
    read = told.parse(text, seen)
    assert not isinstance(read, Invalid) if is_taken else read.codes == ("agree_conditional",)
    assert not isinstance(replace(told, reading="literal").parse(text, seen), Invalid)
    assert not isinstance(told.parse(text.replace("AGREE", "PROPOSAL"), seen), Invalid)


def test_talk_of_an_agenda_keeps_the_words_of_a_token_that_does_not_count() -> None:
    told, seen = after(fair("agenda", preset="casino"))
    read = told.parse("I won't [Accept] less. [Offer: food = 1, water = 1, firewood = 1]", seen)
    assert (read.talk, read.reply) == ("I won't Accept less.", None)


def test_a_split_delivers_only_what_is_inside_a_message() -> None:
    told, seen = after(fair("split", rounds=1))
    assert told.parse("My value is 7. <message>It is 15.</message> Good.", seen).text == "It is 15."
    assert told.parse("My value is 7, so I bluff.", seen).codes == ("message_missing",)
    assert told.parse("<message>hi</message> <coins_to_self>6</coins_to_self>", seen).codes == ("proposal_in_talk",)
    private = "I won't send <message>my value</message>, because it is private."
    assert told.parse(private, seen).codes == ("message_missing",)
    assert told.parse(f"{private} <message>Hello</message>", seen).codes == ("several_messages",)
    assert told.parse("I won't lie. <message>It is 7.</message>", seen).text == "It is 7."
    assert told.parse("Why not? I'd not\n<message>It is 7.</message>", seen).text == "It is 7."


def test_a_split_after_free_talk_knows_the_end_of_talk_and_no_deal_from_their_mention() -> None:
    game = fair("split", preset="lewis-2017")
    told, seen = after(game, "<message>hi</message>")
    for both in ("<message>Ok, deal!</message><selection>", "<selection>\n<message>Ok</message>"):
        assert told.parse(both, seen).codes == ("contradictory",)
    assert told.parse("<message>Ok</message>\n> <selection>", seen).text == "Ok"
    told, seen = after(game, "<message>hi</message>", "<selection>")
    for meant in (
        "<no_agreement>",
        "<no_deal/>. If you ask why: greed.",
        "<no_deal/>\nIf only!",
        "I give up, <no_deal/>",
    ):
        assert told.parse(meant, seen).keep is None
    for other in (
        *("<no_deal/> unless you take only the hats", "<no_agreement>, if you insist", "If you insist, <no_deal/>"),
        *("I won't take <no_agreement>", "Not <no_deal/>!"),
    ):
        assert told.parse(other, seen).codes == ("unreadable",)


def pieces(rng: random.Random, n: int) -> Iterator[str]:
    while n > 0:
        piece = rng.choice((*TOKENS, *PROSE)) + " "
        n -= len(piece)
        yield piece


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_a_hundred_thousand_characters_are_read(game: str) -> None:
    told, seen = after(fair(game))
    for seed in range(3):
        told.parse("".join(pieces(random.Random(seed), 100_000)), seen)


@pytest.mark.parametrize(
    ("game", "text", "struck"),
    [
        ("trading", "<think>hm</think>You said [Accept]. [Deny]", ["<think>hm</think>", "[Accept]"]),
        ("trading", "> [Accept]\n[Accept]", ["> [Accept]"]),
        ("agenda", "I can't **[Accept]** that. [Reject]", ["[Accept]"]),
        ("bargaining", "My value is 65, your 60 is too high, so I offer 50", ["65", "60"]),
        ("bargaining", "50", []),
        ("split", "A bluff: <message>My value is 15.</message>", ["A bluff: "]),
    ],
)
def test_a_replay_tells_what_was_left_out_of_a_reply(game: str, text: str, struck: list[str]) -> None:
    told, seen = after(fair(game), *WAITING.get(game, []))
    left = told.left_out(text, seen)
    assert [text[start:end] for start, end, _ in left] == struck
    assert all(why for _, _, why in left)
    assert replace(told, reading="literal").left_out(text, seen) == ()
