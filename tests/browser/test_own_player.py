"""A person plays against a player of the researcher's own, chosen in the lobby of `negolab serve --module`."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from tests.conftest import ROOT, serving
from tests.support.browser import (
    SEED,
    Mouse,
    check_result,
    choose_game_card,
    fill_seed,
    open_lobby,
    open_page,
    play_to_end,
)
from tests.support.own_code import code_hash

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_a_person_plays_against_a_player_from_a_file(chromium: Any, tmp_path: Path) -> None:
    file = Path(shutil.copy(ROOT / "negolab" / "scaffolds" / "haggler.py", tmp_path / "haggler.py"))
    command = [sys.executable, "-m", "negolab"]
    with closing(serving(command, tmp_path / "out", "--module", str(file))) as servers:
        served, (page, errors) = next(servers), open_page(chromium)
        page.goto(served.url)
        open_lobby(page)
        hand = Mouse(page)
        choose_game_card(hand, "bargaining")
        hand.choose(page.get_by_label("Opponent", exact=True), "haggler")
        fill_seed(hand, SEED)
        hand.press(page.get_by_role("button", name="Start the match"))
        page.locator(".nl-bar").wait_for()
        table = page.locator(".nl-page .nl-page")
        assert play_to_end(hand, table, "bargaining")
        check_result(table, served.out, "bargaining")
        assert not errors
        page.close()
    (record,) = nl.read(tmp_path / "out")
    (seat,) = (seat for seat, name in record.header.players.items() if name == "haggler")
    assert record.header.notes["code"] == {seat: {"source": "haggler.py", "sha256": code_hash(file)}}
