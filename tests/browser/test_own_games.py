"""Games of a user's own have inputs that follow from their actions, and are played by the keyboard alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_slow_line import entries_page
from tests.support.browser import accessibility_violations
from tests.support.gate_server import running_gate

pytestmark = [pytest.mark.browser, pytest.mark.long]

KEYS = {
    "hands": (["o", "Tab", "Enter"], "paper"),
    "job": (["o", "ArrowUp", "ArrowUp", "Tab", "Tab", "Tab", "ArrowUp", "Enter"], "$2, 1 days off"),
    "picnic": (["o", "Space", "Tab", "Tab", "Space", "Enter"], "take bread, cherries"),
}
"""What is pressed at each table, from the bar on, and what is said by it."""


def test_own_games_are_played_by_the_keyboard_in_inputs_without_a_line_for_them(tmp_path: Path, chromium: Any) -> None:
    with running_gate("pool_size=2", page=entries_page(tmp_path), warm=False) as gate:
        for kind, (keys, meant) in KEYS.items():
            page = chromium.new_context(viewport={"width": 1280, "height": 800}).new_page()
            page.goto(f"http://127.0.0.1:{gate.port}/join/good-{kind}")
            page.get_by_role("button", name="Continue").click()
            page.get_by_role("button", name=f"Try {kind}", exact=True).click()
            page.locator(".nl-decision").wait_for()
            page.wait_for_function("document.activeElement.closest('.nl-decision')")
            assert accessibility_violations(page) == []
            for key in keys:
                page.keyboard.press(key)
            page.wait_for_timeout(1000)
            assert json.loads((tmp_path / f"{kind}.jsonl").read_text()) == meant
            page.context.close()
