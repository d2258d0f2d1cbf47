"""A person writes a scenario and plays it in the browser, without Python: `negolab new scenario`, `negolab serve`."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import negolab as nl
from tests.conftest import serving
from tests.support.browser import Mouse, check_result, open_page, play_to_end, start_match

pytestmark = [pytest.mark.browser, pytest.mark.long]

NEGOLAB = [sys.executable, "-m", "negolab"]


def test_a_person_plays_a_scenario_of_their_own_on_the_served_page(chromium: Any, tmp_path: Path) -> None:
    subprocess.run([*NEGOLAB, "new", "scenario", "mine"], cwd=tmp_path, check=True, timeout=60)
    file = tmp_path / "mine.toml"
    with closing(serving(NEGOLAB, tmp_path / "out", "--scenario", str(file))) as servers:
        served, (page, errors) = next(servers), open_page(chromium)
        page.goto(served.url)
        hand = Mouse(page)
        table = start_match(hand, "agenda", choose_game=False)
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
    ran = subprocess.run([*NEGOLAB, "serve", "--scenario", str(file)], capture_output=True, text=True, timeout=60)
    assert ran.returncode and "wrong.toml" in ran.stderr and "did you mean turns" in ran.stderr
