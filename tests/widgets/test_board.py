"""The board of a sweep: cells in every state, and links to their output."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from negolab_widgets import Replay, SweepBoard
from negolab_widgets.faults import FaultGuard
from negolab_widgets.results import board as executed

import negolab as nl
from negolab._internal import manifest
from negolab.studies.texts import texts
from negolab.sweeps import status
from negolab.sweeps.folder import NOTEBOOK, SweepFolder, claim_folder
from negolab.sweeps.plan import notebook_path, read_plan
from negolab.sweeps.sources import Notebook
from negolab.sweeps.status import CellError
from tests.support.sweeps import write_plan
from tests.support.tables import below, press, words_of

GRID = "repeats = 2\n[grid]\nbeta = [0.2, 5.0]\nhow = ['well', 'raises', 'loops']\n"


@pytest.fixture
def half_done_sweep(tmp_path: Path) -> SweepFolder:
    """A sweep of twelve cells in its middle: four done, one failed, one timed out, one running."""
    file = write_plan(tmp_path, GRID)
    found, folder = read_plan(file), SweepFolder(tmp_path / "out")
    with claim_folder(folder, found, Notebook(notebook_path(found, file)).sha256):
        pass
    for cell in found.cells():
        how, beta = cell.params["how"], cell.params["beta"]
        attempt, number = folder.new_attempt(cell.id)
        if how == "well":
            nl.run("bargaining", f"time:beta={beta}", "linear", n=2, seed=cell.seed, out=attempt)
            nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]), attempt / NOTEBOOK)
            status.write_status(attempt, cell.status("done", number, 10.0, 12.5, worker="here"))
            assert folder.publish(attempt, cell.id)
        elif cell.repeat or (how, beta) == ("loops", 5.0):
            attempt.rmdir()
        elif how == "raises" and beta == 0.2:
            fault = CellError(kind="KeyError", text="<b>no such thing</b>", cell=3)
            status.write_status(attempt, cell.status("failed", number, 10.0, 11.0, worker="here", error=fault))
        elif how == "loops":
            fault = CellError(kind="TimeoutError", text="not done after 5 s")
            status.write_status(attempt, cell.status("timeout", number, 10.0, 15.0, worker="here", error=fault))
    return folder


def chosen(board: SweepBoard, where: str, find: str = "") -> SweepBoard:
    board._state.value, board._find.value = where, find
    return board


def test_the_grid_shows_each_cell_by_what_became_of_it(half_done_sweep: SweepFolder) -> None:
    shown = words_of(SweepBoard(half_done_sweep.path))
    for words in (
        "6 of 12 cells",
        "2 done",
        "1 failed",
        "1 timed out",
        "1 running",
        "1 waiting",
        "2.5 s (median, n = 4)",
    ):
        assert words in shown
    assert "Across: how. Each field has 2 repeats: press one to see more." in shown


def test_what_changes_in_the_folder_is_shown_at_the_next_look(half_done_sweep: SweepFolder) -> None:
    board = SweepBoard(half_done_sweep.path)
    waiting = next(cell for cell in board._now.cells if board._now.state(cell) == "waiting")  # type: ignore[union-attr]
    attempt, number = half_done_sweep.new_attempt(waiting.id)
    board.refresh()
    assert "2 running" in words_of(board) or board._now.state(waiting) == "running"  # type: ignore[union-attr]
    status.write_status(attempt, waiting.status("died", number, 1.0, 2.0, worker="here"))
    board.refresh()
    assert "7 of 12 cells" in words_of(board) and "1 died" in words_of(board)


def test_cells_are_found_by_state_and_words(half_done_sweep: SweepFolder) -> None:
    board = chosen(SweepBoard(half_done_sweep.path), "done")
    assert len(board._list.options) == 4
    assert len(chosen(board, "done", "beta=5, repeat=1")._list.options) == 1
    assert len(chosen(board, "all", "beta=5")._list.options) == 6
    assert (
        chosen(board, "refused")._list.value is None
        and board._notebook_button.disabled
        and board._replay_button.disabled
    )


def test_a_cell_that_failed_says_why_and_nothing_of_it_is_markup(half_done_sweep: SweepFolder) -> None:
    board = chosen(SweepBoard(half_done_sweep.path), "failed")
    assert "KeyError, cell 3 of the notebook: &lt;b&gt;no such thing" in words_of(board)
    assert board._replay_button.disabled and board._notebook_button.disabled, "this attempt left neither"


def test_a_finished_cell_opens_its_notebook_and_its_records(half_done_sweep: SweepFolder) -> None:
    board = chosen(SweepBoard(half_done_sweep.path), "done")
    press(board, "Show its notebook")
    assert "1 + 1" in words_of(board)
    press(board, "Replay its records")
    (replay,) = (part for part in below(board) if isinstance(part, Replay))
    assert "bargaining" in words_of(replay)


def test_what_went_wrong_with_a_button_stands_until_it_goes_well(half_done_sweep: SweepFolder) -> None:
    board = chosen(SweepBoard(half_done_sweep.path), "done")
    file = board._cell_folder() / NOTEBOOK  # type: ignore[operator]
    kept = file.read_text("utf-8")
    file.write_text("torn", "utf-8")
    press(board, "Show its notebook")
    board._looking(board.refresh)
    assert "cannot be shown" in words_of(board)
    file.write_text(kept, "utf-8")
    press(board, "Show its notebook")
    assert "cannot be shown" not in words_of(board) and "1 + 1" in words_of(board)


def test_a_fault_of_ours_is_logged_and_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    guarded = FaultGuard("a page")
    guarded(lambda: {}["/a/secret/path"])
    assert "secret" not in guarded.notice.value and texts.FAULT in guarded.notice.value
    assert "a page failed" in caplog.text and "secret" in caplog.text


def test_a_folder_without_a_sweep_is_said(tmp_path: Path) -> None:
    assert "not a sweep folder" in words_of(SweepBoard(tmp_path))
    manifest.write(tmp_path, {"notebook": "x", "plan": {"repeats": "x"}, "players": {}})
    assert "has no sweep plan" in words_of(SweepBoard(tmp_path))


def test_nothing_in_an_executed_notebook_is_run(tmp_path: Path) -> None:
    trick = "<img src=x onerror=alert(1)>"
    cell = nbformat.v4.new_code_cell(f"'{trick}'")
    bundle = {"text/html": trick, "text/plain": trick, "image/png": 'x" onerror="alert(1)'}
    cell.outputs = [
        nbformat.v4.new_output("stream", text=trick),
        nbformat.v4.new_output("error", ename="E", evalue=trick, traceback=[f"\x1b[31m{trick}\x1b[0m"]),
        nbformat.v4.new_output("display_data", bundle),
    ]
    file = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_markdown_cell(trick)]), file)
    shown = str(executed.render_notebook(file))
    assert "<img" not in shown and shown.count("&lt;img") >= 5
    (link := tmp_path / "link.ipynb").symlink_to(file)
    os.mkfifo(pipe := tmp_path / "pipe.ipynb")
    file.write_text("{", "utf-8")
    for bad in (file, link, pipe):
        with pytest.raises(ValueError, match="cannot be shown"):
            executed.render_notebook(bad)


def test_a_picture_is_shown_as_a_picture(tmp_path: Path) -> None:
    cell, dot = (
        nbformat.v4.new_code_cell("figure"),
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    )
    cell.outputs = [nbformat.v4.new_output("display_data", {"image/png": dot + "\n", "text/plain": "<Figure>"})]
    file = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), file)
    shown = str(executed.render_notebook(file))
    assert 'src="data:image/png;base64,iVBOR' in shown and "alt=" in shown


def test_a_field_of_the_grid_chooses_its_cell_whatever_the_list_shows(half_done_sweep: SweepFolder) -> None:
    asked: list[object] = []
    board = chosen(SweepBoard(half_done_sweep.path, picked=asked.append), "failed")
    done = next(cell for cell in board._now.cells if board._now.state(cell) == "done")  # type: ignore[union-attr]
    assert f'data-pick="{done.id}"' in board._grid.value
    board._pick(done.id)
    assert board._list.value == done.id and asked == [done.params]
