"""The table of utterances: the talk of replies without their tokens, with what each author knew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import negolab as nl
from negolab.analysis import export, tables
from negolab.analysis.table_columns import UTTERANCES
from negolab.formats import open_source
from negolab.match import Match
from tests.analysis.test_export import kept
from tests.coding.dialogues import bargained
from tests.support.command import negolab


def test_a_row_tells_what_its_author_said_knew_and_was_offered() -> None:
    rows = tables.utterances([bargained()]).to_dict("records")
    assert [(row["turn"], row["seat"], row["role"], row["text"]) for row in rows] == [
        (0, "A", "seller", "My cost is $40."),
        (1, "B", "buyer", "Too much for me."),
        (2, "A", "seller", "Take it or leave it."),
    ]
    assert [row["own_value"] for row in rows] == [4000, 6500, 4000]
    assert [json.loads(row["offer"])["price_cents"] for row in rows] == [6000, 5000, 5500]
    assert rows[0]["own_offer_payoff"] != rows[0]["own_offer_payoff"]
    # The buyer's 50 would bring the seller 10 and the seller's 60 the buyer 5; earlier offers are their author's.
    assert rows[1]["other_offer_payoff"] == 500 and rows[2]["own_offer_payoff"] == 2000
    assert rows[2]["other_offer_payoff"] == 1000
    assert {row["end"] for row in rows} == {"AGREED"} and rows[0]["payoff"] == 1500


@pytest.mark.parametrize(
    ("game", "reply", "said"),
    [
        ("agenda", "That is all I can do. [Offer: Food = 2; Water = 1; Firewood = 1]", "That is all I can do."),
        ("trading", "I need wheat. [Offer: 1 Ore -> 1 Wheat]", "I need wheat."),
        ("split", "<message>Hats are mine.</message>", "Hats are mine."),
        ("balloon", "PROPOSAL: {'%s'}\nARGUMENT: {'It is light.'}", "It is light."),
    ],
)
def test_talk_is_told_without_its_tokens(game: str, reply: str, said: str) -> None:
    preset = {"agenda": "casino", "split": "lewis-2017", "balloon": "seed"}.get(game)
    match = Match(nl.load(game, preset=preset), seed=3)
    (seat, ask) = next(iter(match.pending().items()))
    if game == "balloon":
        reply = reply.replace("%s", min(ask.seen.public.terms.effort, key=ask.seen.public.terms.effort.__getitem__))
    match.submit(seat, reply)
    assert list(tables.utterances([match.record()])["text"]) == [said]


def test_utterances_are_exported_and_in_the_dictionary(tmp_path: Path) -> None:
    source = kept(tmp_path / "run", bargained())
    rows = export.export(export.open_tables(open_source(source)), tmp_path, ["csv"])
    assert rows["utterances"] == 3
    dictionary = (tmp_path / "dictionary.csv").read_text()
    assert all(f"utterances,{column.name}," in dictionary for column in UTTERANCES)
    assert "My cost is $40." in negolab("replay", str(source)).stdout
