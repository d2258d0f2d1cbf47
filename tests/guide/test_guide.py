"""Every command and code block of the README and the guide runs, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

import negolab as nl
from negolab import catalog
from negolab.cli.guide import blocks, write_examples
from negolab.players.negmas import NEGMAS
from tests.conftest import NEGOLAB_CI, ROOT, needs, running
from tests.support.services import ADDRESSES, RunningServices, running_services

GUIDE = ROOT / "notebooks" / "guide"
PAGES = {"README": ROOT / "README.md", **{path.stem: path for path in sorted(GUIDE.glob("[a-z]*.md"))}}
SLOW = {
    "README",
    "batches",
    "first-hour",
    "models",
    "own-game",
    "own-player",
    "own-table",
    "paid-study",
    "play",
    "replay",
    "scenario",
    "server",
    "studies",
    "sweeps",
    "tournaments",
}
"""Pages with commands that serve a page or a model until Ctrl-C, or that play long."""
_SERVING = (["model", "serve"], ["sweep", "show"], ["tournament", "show"])
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def is_server(words: list[str]) -> bool:
    if words[1:3] == ["study", "try"]:
        return False
    return "--browser" in words or words[1] in ("serve", "lab") or words[1:3] in _SERVING


class Reader:
    """Somebody who types what a page says, into a shell and a notebook in one folder."""

    def __init__(self, folder: Path, stack: ExitStack, env: dict[str, str], services: RunningServices) -> None:
        self.folder, self.env, self.services = folder, env, services
        self.stack, self.page = stack, stack.enter_context(ExitStack())
        self.execute: Callable[[str], None] | None = None

    def read(self, text: str) -> None:
        """Follow a page from top to bottom."""
        seen: set[str] = set()
        for block in blocks(text):
            if block.file:
                if block.file not in seen:
                    only = [f"```{b.language} {b.file}\n{b.text}```" for b in blocks(text) if b.file == block.file]
                    write_examples("\n".join(only), self.folder)
                seen.add(block.file)
            elif block.language == "sh":
                for line in block.text.splitlines():
                    self.command(shlex.split(line, comments=True))
            elif block.language == "python":
                self.run_cell(block.text)
            elif block.language == "r":
                if NEGOLAB_CI or shutil.which("Rscript"):
                    self.command([needs("Rscript", "r-cran-lme4"), "-e", block.text])
            else:
                assert block.language in ("text", "toml")

    def command(self, words: list[str]) -> None:
        """Run one command with imitations of services; a page is served until the next one, a model until the end."""
        words = list(map(self.services.address, words))
        if not words or words[0] == "python3":  # to install and to test is what CI does itself
            return
        if NEGMAS not in self.env and ("agents" in words or any("negmas:" in word for word in words)):
            return
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.env[name] = value
        elif words[0] == "pip":
            assert words[2].removeprefix("negolab[").removesuffix("]") in EXTRAS
        elif words[1:3] == ["study", "try"] and "--browser" in words and shutil.which("chromium") is None:
            return
        elif is_server(words):
            is_model = words[1] == "model"
            if not is_model:
                self.page.close()
            place = self.stack if is_model else self.page
            place.enter_context(running(words, "http", signal.SIGINT, cwd=self.folder, env=self.env))
        else:
            at = words.index(">") if ">" in words else len(words)
            done = subprocess.run(
                words[:at], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
            for file in words[at + 1 :]:
                (self.folder / file).write_text(done.stdout)
            assert done.returncode == 0, f"{shlex.join(words)}: {done.stdout[-1000:]}{done.stderr[-2000:]}"

    def run_cell(self, code: str) -> None:
        """Run a cell in the folder's notebook."""
        if self.execute is None:
            manager, client = start_new_kernel(cwd=str(self.folder), env=self.env)
            self.stack.callback(manager.shutdown_kernel, now=True)
            self.stack.callback(client.stop_channels)
            self.execute = lambda text: check(client.execute_interactive(text, timeout=300, output_hook=lambda _: None))
        self.execute(code)


def check(reply: Any) -> None:
    assert reply["content"]["status"] == "ok", "\n".join(reply["content"].get("traceback", []))


@pytest.fixture(scope="module")
def services() -> Iterator[RunningServices]:
    """Imitations of model services."""
    with running_services(latency=0.01) as found:
        yield found


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.long] if page in SLOW else []) for page in PAGES]
)
def test_every_block_of_a_page_runs_in_an_empty_folder(page: str, services: RunningServices, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {
        **os.environ,
        "PATH": path,
        "BROWSER": "true",
        "OPENAI_BASE_URL": services.address(ADDRESSES["openai"]),
        "NEGOLAB_CACHE": str(tmp_path / "cache"),
    }
    folder = tmp_path / "empty"
    folder.mkdir()
    with ExitStack() as stack:
        Reader(folder, stack, env, services).read(PAGES[page].read_text("utf-8"))


_OUT = re.compile(r'(?:--out |--dir |out="|new study )([\w./-]+)')


def written(text: str) -> dict[str, list[str]]:
    """Return what the commands and blocks of a page write, by file or folder: the lines that do it, or the content."""
    places: dict[str, list[str]] = {}
    for block in blocks(text):
        if block.file:
            places.setdefault(block.file, []).append(block.text)
        elif block.language in ("sh", "python"):
            for line in block.text.splitlines():
                for place in _OUT.findall(line):
                    places.setdefault(place, []).append(line)
    return places


def test_no_page_writes_over_what_another_page_wrote() -> None:
    by_page = {page: written(path.read_text("utf-8")) for page, path in PAGES.items()}
    for (one, own), (two, others) in combinations(by_page.items(), 2):
        shared = [place for place in own.keys() & others.keys() if own[place] != others[place]]
        assert not shared, f"{one} and {two} both write {shared}"


def test_the_readme_is_short() -> None:
    assert len(PAGES["README"].read_text().split()) <= 900


def test_every_page_begins_with_what_one_gets_and_a_command() -> None:
    for page, path in PAGES.items():
        if page != "README":
            title, _, first, *rest = path.read_text().split("\n")
            assert title.startswith("# ") and first.startswith(("This page ", "In your first hour, "))
            assert any(block.language == "sh" for block in blocks("\n".join(rest)))


def test_the_guide_lists_every_page() -> None:
    listed = (GUIDE / "README.md").read_text()
    assert all(f"[{page}]({page}.md)" in listed for page in PAGES if page != "README")


@pytest.mark.parametrize("name", catalog.game_names())
def test_a_game_s_page_names_every_preset_and_parameter(name: str) -> None:
    words = (GUIDE / f"{name}.md").read_text()
    names = [*nl.list_games()[name], *catalog.parameters(nl.load(name))]
    assert [word for word in names if f"`{word}`" not in words] == []


def test_the_page_on_own_games_shows_the_game_that_tests_play() -> None:
    (game,) = (block.text for block in blocks((GUIDE / "own-game.md").read_text()) if block.file == "ultimatum.py")
    assert game == (ROOT / "negolab" / "scaffolds" / "ultimatum.py").read_text()


def test_links_between_pages_lead_somewhere() -> None:
    for path in [*PAGES.values(), GUIDE / "README.md", ROOT / ".github" / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_version_stands_in_one_place_and_the_citation_follows() -> None:
    assert f"version: {nl.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {nl.__version__}" in (ROOT / "CHANGELOG.md").read_text()
