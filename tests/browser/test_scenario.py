"""A person writes a scenario and plays it in the browser, without Python: `negolab new scenario`, `negolab serve`."""

from __future__ import annotations

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
    fits_width,
    open_lobby,
    open_page,
    play_to_end,
    screenshot,
    start_match,
)
from tests.support.command import NEGOLAB, negolab

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
def test_a_table_of_any_size_is_played_by_keyboard_alone(file: Path, scheme: str, lobby: Served, chromium: Any) -> None:
    page, errors = open_page(chromium)
    page.emulate_media(color_scheme=scheme)
    page.goto(lobby.url)
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
    assert not errors
    page.close()


def test_a_person_plays_a_scenario_of_their_own_on_the_served_page(chromium: Any, tmp_path: Path) -> None:
    negolab("new", "scenario", "mine", cwd=tmp_path).check_returncode()
    file = tmp_path / "mine.toml"
    with closing(serving(NEGOLAB, tmp_path / "out", "--scenario", str(file))) as servers:
        served, (page, errors) = next(servers), open_page(chromium)
        page.goto(served.url)
        hand = Mouse(page)
        open_lobby(page)
        file.write_text(file.read_text().replace("# turns = 20 ", "turns = 12 "))
        table = start_match(hand, "agenda", choose_game=False)
        assert "Message 1 of 12" in table.inner_text()
        assert play_to_end(hand, table, "agenda")
        check_result(table, served.out, "agenda")
        assert not errors
        page.close()
    (record,) = nl.read(tmp_path / "out")
    assert record.game == nl.load("agenda", scenario=str(file))
    assert str(tmp_path).encode() not in record.to_line()


def test_what_is_wrong_in_a_scenario_is_said_before_the_server_starts(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('title = "x"\nturn = 8\n')
    ran = negolab("serve", "--scenario", str(file))
    assert ran.returncode and "wrong.toml" in ran.stderr and "did you mean turns" in ran.stderr
