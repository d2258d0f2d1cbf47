"""The wheel, installed outside the checkout, runs by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import free_port, running, serving

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, f"{command}: {ran.stdout[-2000:]} {ran.stderr[-2000:]}"
    return ran.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The `negolab` program of an environment with only the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("negolab-*.whl")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", wheel, cwd=folder)
    run(python, "-c", "import negolab; assert 'site-packages' in negolab.__file__", cwd=folder)
    yield folder / "env" / "bin" / "negolab"


def test_the_wheel_watches_and_batches(installed: Path, tmp_path: Path) -> None:
    for game in (("bargaining",), ("agenda", "--scenario", "hiring")):
        assert "agreed" in run(installed, "watch", *game, "--a", "linear", "--b", "linear", cwd=tmp_path)
    command = ["batch", "balloon", "--a", "linear", "--b", "conceder", "--n", "20", "--out", "run"]
    assert "n = 20" in run(installed, *command, cwd=tmp_path)
    assert "20 records" in run(installed, "check", "run", cwd=tmp_path)


def test_the_wheel_serves_the_page(installed: Path, tmp_path: Path, chromium: Any) -> None:
    for served in serving([str(installed)], tmp_path / "out", cwd=tmp_path):
        page = chromium.new_page()
        page.goto(served.url)
        page.get_by_role("button", name="Start the match").click()
        page.locator(".nl-bar").wait_for()
        page.close()


def test_the_wheel_opens_a_start_page_with_the_tour_and_the_guide(
    installed: Path, tmp_path: Path, chromium: Any
) -> None:
    assert "own-game" in run(installed, "guide", cwd=tmp_path)
    run(installed, "guide", "own-game", "--save", cwd=tmp_path)
    assert "ultimatum" in run(installed, "watch", "ultimatum.py", cwd=tmp_path)
    command = [str(installed), "lab", "--no-browser", f"--port={free_port()}"]
    with running(command, "negolab is at", cwd=tmp_path) as (line, _):
        page = chromium.new_page()
        page.goto(line.split()[3])
        page.get_by_role("listitem", name="guide").wait_for()
        page.get_by_role("link", name="A tour in ten minutes").click()
        page.get_by_role("heading", name="A tour in ten minutes").wait_for()
        assert page.get_by_text("official Jupyter news").count() == 0
        page.close()
    assert (tmp_path / "negolab-notebooks" / "games" / "split.ipynb").exists()
