"""The tree itself: style, types, import contracts, notebooks without outputs, one file of each kind per game."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from negolab.catalog import game_names

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").rglob("*.ipynb"))


def run(*command: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "widgets")])}
    bin_ = str(Path(sys.executable).parent)
    env["PATH"] = bin_ + os.pathsep + env.get("PATH", "")
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("lint-imports",),
        pytest.param(("mypy",), marks=pytest.mark.long),
    ],
    ids=" ".join,
)
def test_checks_are_clean(command: tuple[str, ...]) -> None:
    run(*command)


def test_notebooks_carry_no_outputs() -> None:
    run("nbstripout", "--verify", *map(str, NOTEBOOKS))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[str(path.relative_to(ROOT / "notebooks")) for path in NOTEBOOKS])
def test_a_notebook_compiles_and_its_imports_resolve(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notebook.parent)
    monkeypatch.syspath_prepend(str(notebook.parent))
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = TransformerManager().transform_cell("".join(cell["source"]))
            code = compile(source, notebook.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            imports = [node for node in code.body if isinstance(node, ast.Import | ast.ImportFrom)]
            exec(compile(ast.Module(imports, []), notebook.name, "exec"), {})


def test_every_game_has_a_notebook_and_a_golden_record() -> None:
    for name in game_names():
        assert (ROOT / "notebooks" / "games" / f"{name}.ipynb").is_file()
        assert (ROOT / "data" / "replays" / f"{name}.jsonl").is_file()


def test_the_top_level_is_as_planned() -> None:
    planned = {"pyproject.toml", "negolab", "notebooks", "widgets", "data", "tests", "README.md"}
    planned |= {"LICENSE", "CITATION.cff", "CHANGELOG.md"}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    found = {path.split("/")[0] for path in tracked}
    assert {name for name in found if not name.startswith(".")} <= planned
