"""A sweep from its plan to its cells: finished cells stay, and faults are classified."""

from __future__ import annotations

import asyncio
import json
import os
import py_compile
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import pytest

from negolab import user_code
from negolab.sweeps import kernels, status
from negolab.sweeps.folder import SweepFolder
from negolab.sweeps.plan import notebook_path, read_plan
from negolab.sweeps.run import Sweep, SweepProgress
from negolab.sweeps.status import read_unsuccessful
from tests.support import sweeps
from tests.support.command import NEGOLAB, negolab, refusal, succeeding
from tests.support.own_code import code_hash
from tests.support.processes import command_line as command_of
from tests.support.processes import descendants, kill, until
from tests.support.sweeps import finished_sweep, recorded_cells, write_plan

GRID = "repeats = 2\n[grid]\nbeta = [0.2, 5.0]\n"
COMMAND = [*NEGOLAB, "sweep"]


def run_sweep(file: Path, out: Path, *, retry: frozenset[str] = frozenset()) -> SweepProgress:
    found = read_plan(file)
    return Sweep(found, notebook_path(found, file), out, retry=retry).run(workers=2)


sweep_command = partial(negolab, "sweep")


def driving(file: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    """Start `negolab sweep run` in a process and a session of its own."""
    command, pipe = [*COMMAND, "run", str(file), "--out", str(out), *more], subprocess.PIPE
    return subprocess.Popen(command, start_new_session=True, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A plan, and the folder of its sweep."""
    folder = tmp_path_factory.mktemp("sweep")
    file, out = write_plan(folder, GRID), folder / "out"
    os.environ["A_PROVIDERS_KEY"] = "sk-canary-sweep"
    try:
        end = run_sweep(file, out)
    finally:
        del os.environ["A_PROVIDERS_KEY"]
    assert end.states == {"done": 4} and end.new == 4
    return file, out


def test_each_cell_leaves_its_notebook_its_records_and_its_status(undisturbed: tuple[Path, Path]) -> None:
    file, out = undisturbed
    done = SweepFolder(out).done()
    assert set(done) == {cell.id for cell in read_plan(file).cells()}
    for id, found in done.items():
        nb = nbformat.read(out / "cells" / id / "notebook.ipynb", 4)
        injected = next(cell.source for cell in nb.cells if "injected-parameters" in cell.metadata.get("tags", []))
        assert f"beta = {found.params['beta']}" in injected and f"seed = {found.seed}" in injected
        assert all(cell.get("execution_count") for cell in nb.cells if cell.cell_type == "code")
        assert found.state == "done" and found.attempts == 1 and found.seconds > 0
    assert all(len(records) == 3 for records in recorded_cells(out).values())


def test_cells_of_one_repeat_have_the_same_deals(undisturbed: tuple[Path, Path]) -> None:
    _, out = undisturbed
    deals: dict[int, set[tuple[int, ...]]] = {}
    for id, records in recorded_cells(out).items():
        seeds = tuple(record["header"]["seed"] for record in records)
        deals.setdefault(SweepFolder(out).done()[id].repeat, set()).add(tuple(sorted(seeds)))
    assert all(len(found) == 1 for found in deals.values()) and deals[0] != deals[1]


def test_no_key_is_in_a_kernel_or_in_anything_that_is_kept(undisturbed: tuple[Path, Path]) -> None:
    _, out = undisturbed
    for file in out.rglob("*"):
        assert not file.is_file() or b"sk-canary-sweep" not in file.read_bytes(), file
    for notebook in out.glob("cells/*/notebook.ipynb"):
        printed = [o.text for c in nbformat.read(notebook, 4).cells for o in c.get("outputs", []) if "text" in o]
        assert printed[0] == "[]\n", "names of keys in the environment"


def test_what_is_finished_is_not_run_again_and_a_plan_can_grow(undisturbed: tuple[Path, Path], tmp_path: Path) -> None:
    file, out = undisturbed
    before = {id: found.ended for id, found in SweepFolder(out).done().items()}
    assert run_sweep(file, out).new == 0
    grown = write_plan(tmp_path, GRID.replace("5.0]", "5.0, 2.0]"))
    end = run_sweep(grown, out)
    assert (end.new, end.states) == (2, {"done": 6})
    after = SweepFolder(out).done()
    assert {id: after[id].ended for id in before} == before
    with pytest.raises(ValueError, match="has 2 cells that are not in this plan"):
        run_sweep(file, out)
    for id in set(after) - set(before):
        (out / "cells" / id).rename(tmp_path / id)


@pytest.mark.long
def test_a_check_names_the_cells_whose_kernel_held_something_else_than_the_plan(tmp_path: Path) -> None:
    file, out = write_plan(tmp_path, "[grid]\nbeta = [0.2, 5.0]\nhow = ['well']\n"), tmp_path / "out"
    sweeps.write_notebook(tmp_path, body=f"if beta > 1:\n    beta = beta / 2\n{sweeps.BODY}")
    assert run_sweep(file, out).states == {"done": 2}
    ran = negolab("check", str(out))
    (changed,) = (id for id, one in SweepFolder(out).done().items() if one.params["beta"] == 5.0)
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert f"cells that ran with values other than the plan's: {changed} (beta = 2.5, not 5.0)\n" in ran.stderr
    for kept in out.glob("cells/*/cell.json"):  # as earlier versions wrote it
        written = json.loads(kept.read_bytes())
        assert set(written.pop("values")) == {"beta", "how"}
        kept.write_text(json.dumps(written))
    succeeding("check", str(out))


def test_modules_beside_the_notebook_are_part_of_it(tmp_path: Path) -> None:
    file = write_plan(tmp_path, "")
    sweeps.write_notebook(tmp_path, body="import own\nassert own.VALUE == 1\nopen(out + '/kept.txt', 'w').close()")
    (tmp_path / "own.py").write_text("from other import VALUE\n")
    (tmp_path / "other.py").write_text("VALUE = 1\n")
    (tmp_path / "unused.py").write_text("")
    out = tmp_path / "out"
    assert run_sweep(file, out).states == {"done": 1}
    assert {path.name for path in out.glob("*.py")} == {"own.py", "other.py"}
    (tmp_path / "unused.py").write_text("changed = True\n")
    assert run_sweep(file, out).new == 0
    (tmp_path / "other.py").write_text("VALUE = 2\n")
    with pytest.raises(ValueError, match="cells from another or an older notebook"):
        run_sweep(file, out)


def test_cells_import_from_the_folder_what_is_hashed_and_nothing_else(tmp_path: Path) -> None:
    """Not modules that IPython or installed packages look for, nor compiled code in place of the source."""
    ran, own = tmp_path / "ran", tmp_path / "own.py"
    leaves = f"open({str(ran)!r}, 'a').write(__file__)"
    for name in ("ipykernel_launcher", "storemagic", "numexpr", "json"):
        (tmp_path / f"{name}.py").write_text(leaves)
    py_compile.compile(str(tmp_path / "json.py"), cfile=str(tmp_path / "traitlets.pyc"))
    own.write_text(leaves)
    py_compile.compile(str(own), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    own.write_text("import lib.part\nVALUE = lib.part.VALUE\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/part.py").write_text("VALUE = 'hashed'\n")
    file = write_plan(tmp_path, "")
    sweeps.write_notebook(
        tmp_path, body="import own, pandas\nwho = 'lib/part.py:Who'\nopen(out + '/kept.txt', 'w').write(own.VALUE)"
    )
    assert run_sweep(file, tmp_path / "out").states == {"done": 1}
    assert [kept.read_text() for kept in (tmp_path / "out").rglob("kept.txt")] == ["hashed"]
    assert not ran.exists()


MINE = """
import negolab as nl
class Mine(nl.Scripted):
    def act(self, game, seen):
        return game.options(seen)[0]
"""
PLAYS = "import negolab as nl\nawait nl.run('bargaining', 'mine.py:Mine', 'linear', n=1, out=out)"


@pytest.mark.parametrize(
    ("name", "text", "cell"),
    [
        ("own.py", "VALUE = 1", "import own\nopen(out + '/kept.txt', 'w').close()"),
        ("mine.py", MINE, PLAYS),
    ],
)
def test_code_that_is_changed_while_a_sweep_runs_fails_the_cells_that_would_run_it(
    tmp_path: Path, name: str, text: str, cell: str
) -> None:
    own = tmp_path / name
    own.write_text(text)
    file = write_plan(tmp_path, "repeats = 3\n")
    sweeps.write_notebook(tmp_path, body=f"{cell}\nopen({str(own)!r}, 'a').write('# changed')")
    end = run_sweep(file, tmp_path / "out")
    assert set(end.states) == {"done", "failed"}
    told = [each.error.text for each in read_unsuccessful(tmp_path / "out").values() if each.error]
    assert all("has changed since its hash was taken; run the same command again" in text for text in told)


def test_modules_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/part.py").write_text("VALUE = 1")
    file = write_plan(tmp_path, "")
    sweeps.write_notebook(tmp_path, body="import lib.part")
    for folder in ("out", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "out/lib").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="lib is a symbolic link, which negolab does not write through"):
        run_sweep(file, tmp_path / "out")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_another_notebook_needs_another_folder(undisturbed: tuple[Path, Path], tmp_path: Path) -> None:
    _, out = undisturbed
    other = write_plan(tmp_path, GRID)
    notebook = tmp_path / "game.ipynb"
    notebook.write_text(notebook.read_text("utf-8").replace("import nego", "import math\\nimport nego"), "utf-8")
    with pytest.raises(ValueError, match="cells from another or an older notebook"):
        run_sweep(other, out)


@pytest.mark.long
def test_each_fault_is_called_what_it_is_and_the_others_finish(tmp_path: Path) -> None:
    how = "['well', 'raises', 'loops', 'dies', 'leaves', 'idles']"
    file = write_plan(tmp_path, f"[limits]\ncell_seconds = 5\n[grid]\nhow = {how}\n")
    out = tmp_path / "out"
    ran = sweep_command("run", str(file), "--out", str(out))
    assert ran.returncode == 2 and "1 of 6 cells are done" in ran.stdout
    assert "3 failed, 1 timed out, 1 died" in ran.stderr and "--retry failed,timeout,died" in ran.stderr
    assert "only 1 of the 3 matches are distinct" in ran.stderr, "nothing is random in the game of `well`"
    found = {one.params["how"]: one for one in read_unsuccessful(out).values()}
    states = {"raises": "failed", "loops": "timeout", "dies": "died", "leaves": "failed", "idles": "failed"}
    assert {how: one.state for how, one in found.items()} == states
    said = {how: one.error for how, one in found.items()}
    assert said["raises"] == status.CellError(kind="KeyError", text="'no such thing'", cell=3)
    assert said["leaves"] == status.CellError(kind="SystemExit", text="it ended the notebook", cell=3)
    assert said["idles"] and "played no matches" in said["idles"].text
    assert said["loops"] and said["loops"].text == "not done after 5 s"
    assert [one.params["how"] for one in SweepFolder(out).done().values()] == ["well"]
    assert sweep_command("run", str(file), "--out", str(out)).returncode == 2, "they are not run again by themselves"
    assert len(list((out / "attempts").iterdir())) == 5
    again = sweep_command("run", str(file), "--out", str(out), "--retry", "failed")
    assert again.returncode == 2 and len(list((out / "attempts").iterdir())) == 8


@pytest.mark.long
def test_a_cell_whose_time_is_over_before_it_began_is_late_as_well(tmp_path: Path) -> None:
    file = write_plan(tmp_path, "[limits]\ncell_seconds = 0.001\n[grid]\nbeta = [1.0, 2.0]\n")
    assert run_sweep(file, tmp_path / "out").states == {"timeout": 2}


def test_a_kernel_that_ends_at_its_start_is_started_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    start, tries = kernels._start_kernel, iter(range(10))

    async def late(*args: Any) -> Any:
        if next(tries) < 2:
            raise RuntimeError("Kernel died before replying to kernel_info")
        return await start(*args)

    monkeypatch.setattr(kernels, "_start_kernel", late)
    kernel = kernels.start_kernel(dict(os.environ), str(tmp_path))
    try:
        assert asyncio.run(kernel.is_alive()) and next(tries) == 3
    finally:
        kernels.end_kernel(kernel)


@pytest.mark.long
def test_an_error_of_a_workers_own_is_its_cells_alone(tmp_path: Path) -> None:
    file, out = write_plan(tmp_path, "[grid]\nbeta = [1.0, 2.0]\n"), tmp_path / "out"
    out.mkdir()
    (out / "cells").write_text("in the way")
    assert run_sweep(file, out).states == {"failed": 2}
    assert [one.error.kind for one in read_unsuccessful(out).values() if one.error] == ["ValueError"] * 2
    (out / "cells").unlink()
    assert run_sweep(file, out, retry=frozenset({"failed"})).states == {"done": 2}


def test_a_status_that_cannot_be_read_says_what_to_do(tmp_path: Path) -> None:
    out = finished_sweep(tmp_path, "repeats = 2\n").path
    file = tmp_path / "plan.toml"
    torn = next(out.glob("cells/*/cell.json"))
    torn.write_text('{"id": "', "utf-8")
    for command in ("check", "run"):
        ran = sweep_command(command, str(file), "--out", str(out))
        assert ran.returncode == 2 and f"delete {torn.parent} to run the cell again" in ran.stderr, ran.stderr


def test_what_a_run_would_refuse_is_refused_by_the_check(tmp_path: Path) -> None:
    out = finished_sweep(tmp_path, "[grid]\nbeta = [1.0, 2.0]\n").path
    file = tmp_path / "plan.toml"
    text = file.read_text("utf-8")
    for changed, said in (
        (text.replace(", 2.0", ""), "cells that are not in this plan"),
        ('report = "nowhere.ipynb"\n' + text, "there is no notebook"),
        (text + "[tiny]\ngams = 1\n", "has no parameter 'gams': did you mean games?"),
    ):
        file.write_text(changed, "utf-8")
        assert said in refusal("sweep", "check", str(file), "--out", str(out))


def test_a_cell_with_a_parameter_that_the_notebook_lacks_is_refused(tmp_path: Path) -> None:
    file = write_plan(tmp_path, "[grid]\nbta = [1.0]\n")
    for command in ("check", "run"):
        ran = sweep_command(command, str(file), "--out", str(tmp_path / "out"))
        assert ran.returncode == 2 and "game.ipynb has no parameter 'bta': did you mean beta?" in ran.stderr
        assert ran.stderr.count("\n") == 1 and not (tmp_path / "out").exists()


@pytest.mark.long
def test_kills_of_the_driver_lose_nothing_and_publish_nothing_twice(tmp_path: Path) -> None:
    """Two hundred cells under NEGOLAB_SLOW=1."""
    cells, pause = (200, (5.0, 30.0)) if os.environ.get("NEGOLAB_SLOW") else (12, (3.0, 6.0))
    file, out = write_plan(tmp_path, f"repeats = {cells // 2}\n[grid]\nbeta = [0.2, 5.0]\n"), tmp_path / "whole"
    assert run_sweep(file, out).states == {"done": cells}
    rng, there = random.Random(4), tmp_path / "out"
    for _ in range(3):
        driver = driving(file, there)
        time.sleep(rng.uniform(*pause))
        driver.kill()
        driver.communicate()
        print(f"killed with {len(SweepFolder(there).done())} of {cells} cells done")
    assert run_sweep(file, there).states == {"done": cells}
    assert recorded_cells(there) == recorded_cells(out)
    ended = [msgspec.json.decode(line) for line in (there / "attempts.ndjson").read_bytes().splitlines()]
    published = [line["cell"] for line in ended if line["state"] == "done"]
    assert set(published) == set(SweepFolder(there).done())


@pytest.mark.long
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_sweep_that_is_stopped_keeps_what_is_finished_and_leaves_nothing_running(
    stop: signal.Signals, tmp_path: Path
) -> None:
    """Ctrl-C goes to all processes of a terminal, SIGTERM to the one that was named."""
    file, out = write_plan(tmp_path, "[grid]\nbeta = [1.0, 2.0]\nhow = ['well', 'waits']\n"), tmp_path / "out"
    go = tmp_path / "go"
    sweeps.write_notebook(
        tmp_path, body=f"import os\nwhile how == 'waits' and not os.path.exists({str(go)!r}):\n    pass\n{sweeps.BODY}"
    )
    driver = driving(file, out)
    until(lambda: len(SweepFolder(out).done()) == 2 and len(list((out / "attempts").iterdir())) == 2)
    children = descendants(driver.pid)
    assert sum("ipykernel" in command_of(child) for child in children) >= 2
    send = os.killpg if stop is signal.SIGINT else os.kill
    send(driver.pid, stop)
    _, err = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert err == "stopped after 2 of 4 cells: run the same command again to resume\n"
    until(lambda: not any(map(command_of, children)), seconds=10)
    kept = {cell.name: (cell / "cell.json").read_bytes() for cell in (out / "cells").iterdir()}
    go.touch()
    succeeding("sweep", "run", str(file), "--out", str(out))
    assert len(SweepFolder(out).done()) == 4
    assert all((out / "cells" / name / "cell.json").read_bytes() == text for name, text in kept.items())


@pytest.mark.long
def test_a_sweep_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    file, out = write_plan(tmp_path, "repeats = 3\n"), tmp_path / "out"
    command = ["nohup", *COMMAND, "run", str(file), "--out", str(out)]
    driver = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: len(SweepFolder(out).done()) >= 1)
    driver.send_signal(signal.SIGHUP)
    assert driver.wait(timeout=120) == 0 and len(SweepFolder(out).done()) == 3


def _lose_a_cell(out: Path) -> str:
    shutil.rmtree(next((out / "cells").iterdir()))
    return f"1 finished cells are missing from {out}: run the sweep again"


def _lose_the_folder(out: Path) -> str:
    out.rename(out.with_name("moved"))
    return f"{out}: was deleted, moved or replaced while it was being written"


def _lose_the_manifest(out: Path) -> str:
    (out / "manifest.json").unlink()
    return f"{out / 'manifest.json'}: was deleted, moved or replaced while it was being written"


def _cut_the_manifest(out: Path) -> str:
    os.truncate(out / "manifest.json", 300)
    return f"{out / 'manifest.json'}: was cut by another program while it was being written"


@pytest.mark.long
@pytest.mark.parametrize("lose", [_lose_a_cell, _lose_the_folder, _lose_the_manifest, _cut_the_manifest])
def test_a_sweep_whose_cells_are_lost_ends_with_an_error(lose: Callable[[Path], str], tmp_path: Path) -> None:
    file, out = write_plan(tmp_path, "repeats = 4\n"), tmp_path / "out"
    driver = driving(file, out)
    until(lambda: len(SweepFolder(out).done()) >= 1)
    why = lose(out)
    said, err = driver.communicate(timeout=300)
    assert (driver.returncode, said, err.splitlines()[-1]) == (2, "", f"negolab: {why}")
    assert out.exists() == (lose is not _lose_the_folder)


@pytest.mark.parametrize("keep", [None, 100])
def test_a_finished_cell_whose_records_are_gone_is_not_finished_and_every_command_names_the_file(
    keep: int | None, tmp_path: Path
) -> None:
    out = finished_sweep(tmp_path, "repeats = 2\n").path
    lost = next((out / "cells").iterdir()) / "records.jsonl"
    if keep is None:
        lost.unlink()
    else:
        os.truncate(lost, keep)
    plan = str(tmp_path / "plan.toml")
    for command in (["check", plan, f"--out={out}"], ["run", plan, f"--out={out}"], ["report", str(out)]):
        ran = sweep_command(*command)
        assert ran.returncode == 2 and ran.stdout == ""
        assert ran.stderr == (
            f"negolab: {lost} was deleted or truncated after its cell was done: restore it, or delete {lost.parent} to "
            "run the cell again\n"
        )


# Elsewhere.


@contextmanager
def scheduler(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Run a Dask scheduler and workers as commands; yield the address and the processes, the scheduler first."""
    dask, quiet = [sys.executable, "-m", "dask"], {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    said = folder / "scheduler.json"
    started: list[subprocess.Popen[bytes]] = []
    try:
        where = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(said)]
        started.append(subprocess.Popen([*dask, "scheduler", *where], **quiet))  # type: ignore[call-overload]
        until(lambda: said.is_file() and said.read_text("utf-8").strip().endswith("}"))
        address = json.loads(said.read_text("utf-8"))["address"]
        for number in range(workers):
            own = ["--nthreads", "1", *where[:2], "--no-dashboard", "--local-directory", f"{folder}/{number}"]
            started.append(subprocess.Popen([*dask, "worker", address, *own], **quiet))  # type: ignore[call-overload]
        yield address, started
    finally:
        for process in started:
            for pid in [*descendants(process.pid), process.pid]:
                kill(pid)
            process.wait()


@pytest.mark.long
def test_a_scheduler_of_ones_own_gives_the_same_tables_also_when_a_worker_dies(
    undisturbed: tuple[Path, Path], tmp_path: Path
) -> None:
    file, out = undisturbed
    there = tmp_path / "out"
    with scheduler(tmp_path, 2) as (address, processes):
        driver = driving(file, there, "--scheduler", address)
        until(lambda: len(SweepFolder(there).done()) >= 1)
        for pid in [*descendants(processes[1].pid), processes[1].pid]:
            kill(pid)
        driver.communicate(timeout=120)
        assert driver.returncode == 0
        # The other worker still serves; nothing left to do.
        succeeding("sweep", "run", str(file), "--scheduler", address, "--out", str(there))
    assert recorded_cells(there) == recorded_cells(out)


@pytest.mark.long
def test_a_scheduler_that_goes_away_is_said_in_one_line(tmp_path: Path) -> None:
    file, there = write_plan(tmp_path, "repeats = 50\n[fixed]\nhow = 'slow'\n"), tmp_path / "out"
    with scheduler(tmp_path, 2) as (address, processes):
        driver = driving(file, there, "--scheduler", address)
        until(lambda: len(SweepFolder(there).done()) >= 2)
        kill(processes[0].pid)
        _, err = driver.communicate(timeout=300)
    assert driver.returncode == 2 and "lost the connection to the scheduler" in err, err
    assert len(SweepFolder(there).done()) >= 2


@pytest.mark.long
def test_a_sweep_that_is_stopped_leaves_no_kernel_on_the_workers_of_a_scheduler(tmp_path: Path) -> None:
    file, there = write_plan(tmp_path, "repeats = 3\n[fixed]\nhow = 'loops'\n"), tmp_path / "out"
    with scheduler(tmp_path, 1) as (address, (_, worker)):

        def running() -> int:
            return sum("ipykernel" in command_of(child) for child in descendants(worker.pid))

        driver = driving(file, there, "--scheduler", address)
        until(lambda: running() >= 2)
        driver.terminate()
        _, err = driver.communicate(timeout=60)
        assert driver.returncode == 130
        assert err == "stopped after 0 of 3 cells: run the same command again to resume\n"
        until(lambda: not running(), seconds=10)
    assert not read_unsuccessful(there), "the cell is run again, without --retry"


@pytest.mark.long
def test_a_scheduler_that_is_not_there_is_said_in_one_line(undisturbed: tuple[Path, Path], tmp_path: Path) -> None:
    file, _ = undisturbed
    assert "no scheduler answers at tcp://127.0.0.1:9: start one with dask scheduler" in refusal(
        "sweep", "run", str(file), "--scheduler", "tcp://127.0.0.1:9", "--out", str(tmp_path / "out")
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["check", "nowhere.toml"], "nowhere.toml cannot be read: No such file"),
        (["run", "PLAN", "--workers", "0"], "--workers"),
        (["run", "PLAN", "--retry", "lost"], "--retry accepts only failed, timeout, died, refused, not lost"),
        (["run", "PLAN", "--scheduler", "127.0.0.1:1"], "must begin with tcp:// or tls://"),
        (["run", "PLAN", "--out", "PLAN"], "is a file"),
        (["run"], "PLAN.toml is missing: negolab sweep run PLAN.toml; see negolab sweep run --help"),
        (["rn"], "no such command 'rn'"),
    ],
)
def test_a_mistake_is_answered_in_one_line(tmp_path: Path, args: list[str], said: str) -> None:
    file = write_plan(tmp_path, GRID)
    assert said in refusal("sweep", *(str(file) if arg == "PLAN" else arg for arg in args))


def test_a_game_that_has_changed_since_cells_were_run_is_refused_without_trust(tmp_path: Path) -> None:
    out = finished_sweep(tmp_path, "[grid]\nbeta = [1.0, 2.0]\n").path
    own = tmp_path / "mygame.py"
    own.write_text("x = 1\n")
    cell = next(out.glob("cells/*"))
    user_code.write(cell, {"mygame:Mine": user_code.CodeSource(str(own), code_hash(own))})
    command = ("run", str(tmp_path / "plan.toml"), "--out", str(out))
    succeeding("sweep", *command)
    own.write_text("x = 2\n")
    ran = sweep_command(*command)
    assert ran.returncode == 2 and "mygame.py changed after cells in" in ran.stderr, ran.stderr
    succeeding("sweep", *command, "--trust")


@pytest.mark.long
def test_no_file_in_the_working_directory_is_taken_for_a_module_of_python(tmp_path: Path) -> None:
    plan, here = write_plan(tmp_path, "[grid]\nbeta = [0.2]\n"), tmp_path / "received"
    (here / "multiprocessing").mkdir(parents=True)
    for name in ("multiprocessing/__init__.py", "multiprocessing/spawn.py", "distributed.py", "ipykernel_launcher.py"):
        (here / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    script = (
        tmp_path / "bin" / "negolab"
    )  # as pip installs it: its own folder is in the path, not the working directory
    script.parent.mkdir()
    script.write_text("from negolab.cli import main\nif __name__ == '__main__':\n    main()\n")
    command = [sys.executable, script, "sweep", "run", plan, "--out", tmp_path / "out", "--workers", "1"]
    ran = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=300)
    assert not (tmp_path / "ran").exists() and ran.returncode == 0, ran.stderr
