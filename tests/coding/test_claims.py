"""Truth of claims and leaks against sentences that were written, with their verdicts, before the code was."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from negolab.analysis import tables
from negolab.analysis.claims import judge
from negolab.match import Match
from tests.coding.dialogues import bargained
from tests.support.timing import grows_linearly

SENTENCES = [json.loads(line) for line in (Path(__file__).parent / "claims.jsonl").read_text().splitlines()]


def facts(sentence: dict[str, Any]) -> dict[str, float]:
    """Return what the author of a sentence knows, as `Game.own_facts` tells it."""
    own = sentence["own"]
    if isinstance(own, int):
        return {"": own / 100}
    return {hand: hand == own for hand in ("rock", "paper", "scissors")} if isinstance(own, str) else own


def test_the_sixty_sentences_are_of_three_games() -> None:
    assert [sum(one["game"] == game for one in SENTENCES) for game in ("bargaining", "split", "balloon")] == [20] * 3


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one["text"])
def test_a_sentence_gets_the_verdict_that_was_written_for_it(sentence: dict[str, Any]) -> None:
    claim, is_told = judge(sentence["text"], facts(sentence))
    assert (claim or "none", is_told and sentence["game"] == "balloon") == (sentence["verdict"], sentence["leak"])


def test_the_table_of_utterances_tells_the_truth_of_claims_and_the_code_of_games_says_what_is_a_leak() -> None:
    rows = tables.utterances([bargained(), bargained("60\nMESSAGE: My cost is $50.", "accept")])
    assert [claim if isinstance(claim, str) else None for claim in rows["claim"]] == ["true", None, None, "false"]
    assert not rows["leak"].any(), "no rule of bargaining forbids to tell a cost"
    match = Match(nl.load("balloon"), seed=3)
    item, score = next(iter(match.pending()["A"].seen.private.importance.items()))
    for number in (score, score + 1):
        said = Match(nl.load("balloon"), seed=3)
        said.submit("A", f"PROPOSAL: {{'{item}'}}\nARGUMENT: {{'{item} is worth {number} to me.'}}")
        (row,) = tables.utterances([said.record()]).to_dict("records")
        assert (row["claim"], row["leak"]) == (str(number == score).lower(), number == score)


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("piece", ["a", "1, ", "my cost is 1", "\u202e.?\x00", "("])
def test_judging_takes_time_linear_in_the_text(piece: str) -> None:
    for private in {"": 40.0}, {"A01": 3.0, "B02": 4.0}:
        assert grows_linearly(lambda n, private=private: partial(judge, piece * (n // len(piece)), private), 12_500)
