"""A replay as one file: what it holds, of one match and of many, and what a seat's file leaves out."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from negolab_widgets.replay.file import replay_page

import negolab as nl
from negolab.catalog import game_names
from negolab.game import SEATS
from negolab.match import Match
from tests.support.command import negolab
from tests.widgets.test_replay import golden


def held(page: str) -> dict[str, Any]:
    """Return what the page unpacks in the browser."""
    (packed,) = re.findall(r'id="matches">([^<]+)<', page)
    return dict(json.loads(gzip.decompress(base64.b64decode(packed))))


@pytest.mark.parametrize("game", game_names())
def test_a_file_shows_each_step_of_a_match_to_both_seats(game: str) -> None:
    record = golden(game)
    told = held(replay_page([record]))
    (match,) = told["matches"]
    assert match["count"] == len(match["moments"]) == len(match["seats"]) > 1
    for places in match["seats"]:
        seen = "".join(told["parts"][at] for at in places)
        assert all(f"Seat {seat}" in seen for seat in SEATS)


def test_a_seats_file_holds_nothing_of_the_other() -> None:
    secrets = (987_654_321, 123_456_789)
    game = nl.load(
        "bargaining",
        preset="none",
        buyer_values=secrets[:1],
        seller_costs=secrets[1:],
        price_hi=10**9,
        default_opening=10**8,
    )
    match = nl.play(Match(game, seed=1), {"A": nl.player("linear", game), "B": nl.player("boulware", game)})
    written = {number: rf"\b{number}\b|{number / 100:,.2f}" for number in secrets}
    for seat, other in zip("AB", secrets, strict=True):
        page = replay_page([match.record()], [seat])  # type: ignore[list-item]
        text = json.dumps(held(page)) + page
        assert not re.search(written[other], text)
        assert re.search(written[next(n for n in secrets if n != other)], text)
    whole = json.dumps(held(replay_page([match.record()])))
    assert all(re.search(pattern, whole) for pattern in written.values())


def test_a_file_asks_no_other_address_for_anything() -> None:
    page = replay_page([golden("bargaining")])
    assert not re.search(r"""(?:src|href)\s*=|@import|url\(|fetch\(|https?://(?!www\.w3\.org)""", page)


def test_the_command_writes_the_file_and_says_what_it_holds(tmp_path: Path) -> None:
    run, page = tmp_path / "run", tmp_path / "match.html"
    negolab(
        "watch", "bargaining", "--a", "linear", "--b", "boulware", "--seed", "7", "--out", str(run)
    ).check_returncode()
    done = negolab("replay", str(run), "--html", str(page), "--seat", "buyer")
    assert done.stdout == f"{page}: 1 match, 0.1 MB\n"
    (match,) = held(page.read_text())["matches"]
    assert match["name"] == "1 of 1: bargaining, agreed: boulware $20.00"
    neither = negolab("replay", str(run), "--html", str(page), "--seat", "C")
    assert "--seat must be A (seller) or B (buyer), not 'C'" in neither.stderr
    missing = negolab("replay", str(run), "--html", str(tmp_path / "no" / "match.html"))
    assert missing.returncode == 2 and missing.stderr.count("\n") == 1
