"""The coder's screen without a browser: what it keeps, and what it says if that is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from negolab_widgets.coder import Coder

from negolab.coding.units import all_readings, readings_file
from tests.analysis.test_export import kept
from tests.coding.dialogues import bargained
from tests.support.command import negolab


@pytest.mark.parametrize("lose", ["remove", "cut"])
def test_codes_that_are_lost_while_somebody_codes_are_missed_with_the_next_answer(tmp_path: Path, lose: str) -> None:
    run = kept(tmp_path / "run", *(bargained(id=f"m{n}") for n in range(3)))
    negolab("new", "codebook", "mine", cwd=tmp_path).check_returncode()
    coder = Coder(run, tmp_path / "mine.toml", "anna")

    def answer() -> None:
        coder._screen._handle_custom_msg({"id": coder._screen.unit["id"], "marks": {}}, [])

    for _ in range(3):
        answer()
    assert len(all_readings(run)) == 3 and "deleted or replaced" not in coder._guard.notice.value
    file = readings_file(run)
    lines = file.read_bytes()
    file.unlink() if lose == "remove" else file.write_bytes(lines[: len(lines) // 2])
    answer()
    assert "was deleted or replaced while it was being written" in coder._guard.notice.value
    file.write_bytes(lines)
    answer()
    assert len(all_readings(run)) == 4 and "deleted or replaced" not in coder._guard.notice.value
