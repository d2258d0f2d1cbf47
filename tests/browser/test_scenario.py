"""A person plays a scenario of their own in the browser, against a player of their own: `negolab new`, `serve`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from tests.conftest import ROOT, Served, serving
from tests.support.browser import (
    WIDE,
    Keyboard,
    Mouse,
    accessibility_violations,
    check_result,
    choose_game_card,
    fits_width,
    leave_match,
    open_lobby,
    play_to_end,
    screenshot,
    start_match,
)
from tests.support.command import NEGOLAB, negolab
from tests.support.own_code import code_hash

pytestmark = [pytest.mark.browser, pytest.mark.long]

SCENARIOS = (
    ROOT / "tests" / "support" / "scenarios" / "two.toml",
    ROOT / "tests" / "support" / "scenarios" / "five.toml",
    ROOT / "data" / "scenarios" / "hiring.toml",
)
"""Two, five and eight issues; those of five are long, with a list, goods, and the points of both."""
NARROW = {"width": 360, "height": 800}


@pytest.fixture(scope="module")
def lobby(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The lobby with the scenarios."""
    out = tmp_path_factory.mktemp("played")
    with closing(serving(NEGOLAB, out, *(f"--scenario={file}" for file in SCENARIOS))) as servers:
        yield next(servers)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_table_of_any_size_is_played_by_keyboard_alone(file: Path, scheme: str, lobby: Served, visit: Any) -> None:
    page = visit(lobby.url, color_scheme=scheme)
    hand = Keyboard(page)
    open_lobby(page)
    hand.choose(page.get_by_label("Preset", exact=True), nl.load("agenda", scenario=file).title)
    table = start_match(hand, "agenda", choose_game=False)

    def look(move: int | str) -> None:
        for width, size in (("360", NARROW), ("1280", WIDE)):
            page.set_viewport_size(size)
            page.wait_for_timeout(300)
            assert fits_width(page)
            assert accessibility_violations(page) == []
            screenshot(page, f"agenda-{file.stem}-{move}-{width}-{scheme}")

    play_to_end(hand, table, "agenda", lambda move: look(move) if move < 2 else None)
    look("end")
    check_result(table, lobby.out, "agenda")


def test_a_person_plays_a_scenario_and_against_a_player_of_their_own(visit: Any, tmp_path: Path) -> None:
    negolab("new", "scenario", "mine", cwd=tmp_path).check_returncode()
    file = tmp_path / "mine.toml"
    player = Path(shutil.copy(ROOT / "negolab" / "scaffolds" / "haggler.py", tmp_path / "haggler.py"))
    own = (f"--scenario={file}", f"--module={player}")
    with closing(serving(NEGOLAB, tmp_path / "out", *own)) as servers:
        served = next(servers)
        page = visit(served.url)
        hand = Mouse(page)
        open_lobby(page)
        file.write_text(file.read_text().replace("# turns = 20 ", "turns = 12 "))
        table = start_match(hand, "agenda", choose_game=False)
        assert "Message 1 of 12" in table.inner_text()
        assert play_to_end(hand, table, "agenda")
        check_result(table, served.out, "agenda")
        leave_match(hand)
        choose_game_card(hand, "bargaining")
        hand.choose(page.get_by_label("Opponent", exact=True), "haggler")
        table = start_match(hand, "bargaining", choose_game=False)
        assert play_to_end(hand, table, "bargaining")
        check_result(table, served.out, "bargaining")
        page.close()
    first, record = nl.read(tmp_path / "out")
    assert first.game == nl.load("agenda", scenario=str(file))
    assert str(tmp_path).encode() not in first.to_line()
    (seat,) = (seat for seat, name in record.header.players.items() if name == "haggler")
    assert record.header.notes["code"] == {seat: {"source": "haggler.py", "sha256": code_hash(player)}}


def test_what_is_wrong_in_a_scenario_is_said_before_the_server_starts(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('title = "x"\nturn = 8\n')
    ran = negolab("serve", "--scenario", str(file))
    assert ran.returncode and "wrong.toml" in ran.stderr and "did you mean turns" in ran.stderr
