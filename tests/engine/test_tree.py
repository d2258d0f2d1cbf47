"""The tree itself: style, types, import contracts, notebooks without outputs, one file of each kind per game."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from graphlib import TopologicalSorter
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


def imports(module: str, file: Path, modules: dict[str, Path]) -> set[str]:
    """Return the modules that a module's text names in imports, at its top, in a function or under TYPE_CHECKING.

    `from package import name` names the submodule if there is one of this name, else the package's own `__init__`. That
    Python also runs the `__init__` of each package around a module that it imports does not count: nothing is taken
    from it there, and an `__init__` that shows what its submodules define would make a circle of every package.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None and not node.level, f"{module}: imports are absolute here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in modules else node.module for name in names}
    return found & modules.keys() - {module}


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {
        ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): file
        for source, package in ((ROOT, "negolab"), (ROOT / "widgets", "negolab_widgets"))
        for file in (source / package).rglob("*.py")
    }
    assert len(modules) > 300
    TopologicalSorter({module: imports(module, file, modules) for module, file in modules.items()}).prepare()


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
