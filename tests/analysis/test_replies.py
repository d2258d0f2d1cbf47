"""The moment that decided a match."""

from __future__ import annotations

import pytest

import negolab as nl
from negolab import store
from negolab.analysis.replies import decisive_event
from negolab.catalog import game_names
from negolab.events import Rejected, Replied
from negolab.record import Record
from tests.conftest import ROOT


def said_at(record: Record) -> str:
    event = record.events[decisive_event(record)]
    assert isinstance(event, Replied)
    return event.reply.text


def test_an_agreement_is_decided_by_the_proposal_that_was_accepted() -> None:
    (record,) = nl.batch(nl.load("bargaining", rounds=6), "linear", "boulware", n=1, seed=1)
    assert record.end == "AGREED" and record.outcome is not None
    assert said_at(record) == f"{record.outcome.details['price'] / 100:.2f}"


def test_a_match_without_a_deal_is_decided_by_its_last_reply() -> None:
    (record,) = nl.batch(nl.load("bargaining", rounds=2), "fixed:price=8000", "fixed:price=3000", n=1, seed=1)
    assert record.end == "NO_DEAL"
    replies = [event.reply.text for event in record.events if isinstance(event, Replied)]
    assert said_at(record) == replies[-1]


@pytest.mark.parametrize("game", game_names())
def test_every_game_has_a_decisive_reply(game: str) -> None:
    for record in store.read(ROOT / "data" / "replays" / f"{game}.jsonl"):
        assert isinstance(record.events[decisive_event(record)], Replied | Rejected)


def test_a_match_that_nobody_has_begun_is_at_its_deal() -> None:
    assert decisive_event(nl.Match(nl.load("trading"), seed=1).record()) == 0
