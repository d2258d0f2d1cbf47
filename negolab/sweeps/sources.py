"""The sources of a sweep's cells: its notebook, the modules next to it, and the user's own players and scenarios."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from negolab import user_code
from negolab._internal.files import atomic_write, read_text
from negolab._internal.validation import located, suggest
from negolab.players.code import CodeReference, code_facts, find_player, parse_reference
from negolab.scenarios import SUFFIX
from negolab.sweeps.plan import SWEEP_PARAMETERS, SweepPlan

if TYPE_CHECKING:
    from jupyter_client import AsyncKernelManager

_MAGIC = re.compile(r"^[%!].*$", re.MULTILINE)
_PLAYER_FILE = re.compile(r"""["']([\w./-]+\.py):[A-Za-z_]""")


class Notebook:
    """A notebook, read once when opened; in Python unless it says otherwise.

    Args:
        path: The file.
        home: The folder of its modules (None: the file's).

    Raises:
        ValueError: The file is not a notebook.
    """

    def __init__(self, path: Path, home: Path | None = None) -> None:
        import nbformat  # a third of a second to import

        self.path, self._home = path, home or path.parent
        with located(f"{path} is not a notebook", Exception):  # nbformat raises whatever its readers raise
            self._node: Any = nbformat.reads(read_text(path), 4)
        python = {"name": "python3", "language": "python", "display_name": "Python 3"}
        self._node.metadata.setdefault("kernelspec", python)
        self._node.metadata.setdefault("language_info", {"name": "python"})

    @property
    def text(self) -> str:
        """The notebook as the text of a notebook file."""
        import nbformat

        return str(nbformat.writes(self._node))

    @cached_property
    def sources(self) -> list[str]:
        """The sources of the code cells."""
        return [cell.source for cell in self._node.cells if cell.cell_type == "code"]

    @cached_property
    def imports(self) -> list[str]:
        """The modules that the code cells import, from anywhere."""
        return user_code.imported_modules(self.sources)

    @cached_property
    def _imported(self) -> dict[str, bytes]:
        """The modules next to the notebook that it imports, directly or indirectly."""
        return user_code.read_modules(self.imports, self._home)

    @cached_property
    def _player_files(self) -> list[Path]:
        """The files of players that the notebook names, such as `mine.py:Haggler`."""
        return [self._home / name for source in self.sources for name in _PLAYER_FILE.findall(source)]

    @cached_property
    def modules(self) -> dict[str, bytes]:
        """The modules next to the notebook that it imports, directly or indirectly, and the files of its players."""
        found = {**self._imported}
        for file in self._player_files:
            found |= user_code.read_modules([file.stem], file.parent)
        return found

    def startup(self, players: Iterable[Path] = ()) -> str:
        """Return code that loads what cells import into a kernel; files in the folder are loaded only as hashed now.

        Args:
            players: Files of players that cells use in addition to those that the notebook names.
        """
        hashes = {name: hashlib.sha256(data).hexdigest() for name, data in self._imported.items()}
        codes = [user_code.read_code(str(file)) for file in (*self._player_files, *players) if file.is_file()]
        pins = {code.reference: code.source.sha256 for code in codes if code is not None}
        lines = ["from negolab import user_code"] if hashes or pins else []
        lines += [f"user_code.serve({str(self._home.resolve())!r}, {hashes!r})"] if hashes else []
        lines += [f"user_code.pin({pins!r})"] if pins else []
        # Failures are left to the notebook, where users see them.
        return "\n".join(
            [*lines, *(f"try:\n    __import__({name!r})\nexcept Exception:\n    pass" for name in self.imports)]
        )

    @cached_property
    def sha256(self) -> str:
        """A hash of the cells, without outputs, and of `modules`."""
        cells = [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in self._node.cells]
        digest = hashlib.sha256(repr(cells).encode())
        for name, data in sorted(self.modules.items()):
            digest.update(repr((name, hashlib.sha256(data).hexdigest())).encode())
        return digest.hexdigest()

    @cached_property
    def _parameter_cells(self) -> dict[int, str]:
        """The sources of the cells tagged `parameters`, by cell number from 1."""
        cells = enumerate(self._node.cells, 1)
        return {at: cell.source for at, cell in cells if "parameters" in cell.metadata.get("tags", ())}

    @cached_property
    def parameters(self) -> list[str]:
        """The names that the cell tagged `parameters` sets, parsed as Python."""
        found: dict[str, None] = {}
        for source in self._parameter_cells.values():
            for line in _statements(source):
                if isinstance(line, ast.Assign | ast.AnnAssign):
                    targets = line.targets if isinstance(line, ast.Assign) else [line.target]
                    found.update((name.id, None) for name in targets if isinstance(name, ast.Name))
        return list(found)

    def check_parameters(self, names: Sequence[str]) -> None:
        """Raise ValueError if a sweep cannot run the notebook, or for the first of `names` that it lacks."""
        if len(self._parameter_cells) > 1:
            said = " and ".join(f"{at} ({text.splitlines()[0]:.40})" for at, text in self._parameter_cells.items())
            raise ValueError(f"{self.path}: cells {said} are both tagged `parameters`: tag only one")
        if not self.parameters:
            raise ValueError(f"{self.path} has no parameters: tag the cell that sets them with `parameters`")
        for name in SWEEP_PARAMETERS:
            if name not in self.parameters:
                raise ValueError(
                    f"{self.path} has no parameter {name}: a sweep sets where records go (out) and the seed (seed)"
                )
        settable = [name for name in self.parameters if name not in SWEEP_PARAMETERS]
        for name in names:
            if name not in settable:
                raise ValueError(f"{self.path.name} has no parameter {name!r}: {suggest(name, settable)}")


def _statements(source: str) -> list[ast.stmt]:
    """Parse a cell without its magic lines; return an empty list if it is not Python."""
    try:
        return ast.parse(_MAGIC.sub("", source)).body
    except (SyntaxError, ValueError, RecursionError):
        return []


def write_modules(modules: Mapping[str, bytes], folder: Path) -> None:
    """Write the modules read earlier to a folder."""
    for name, data in modules.items():
        file = folder / name
        inside = [path for path in file.parents if path.is_relative_to(folder) and path != folder]
        if link := next(filter(Path.is_symlink, inside), None):
            raise ValueError(f"{link} is a symbolic link, which negolab does not write through: delete it")
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(file, data)


def leaving_cell(executed: Any) -> int | None:
    """Return the number of the cell that ended the notebook early with `sys.exit(0)`, which is not an error."""
    for at, cell in enumerate(executed.cells, 1):
        if any(output.get("ename") == "SystemExit" for output in cell.get("outputs", ())):
            return at
    return None


def execute_notebook(text: str, target: Path, parameters: Mapping[str, Any], kernel: AsyncKernelManager) -> Any:
    """Run the notebook with this text in a kernel, write it to `target` and return it; raise what papermill raises."""
    papermill, given = _papermill(), f"{_IN_MEMORY}{target}"
    _running[given] = text
    # Papermill would fill in braces in paths, and write parameters in the language that the notebook names.
    paths = (path.replace("{", "{{").replace("}", "}}") for path in (given, str(target)))
    options = {"progress_bar": False, "kernel_name": "python3", "language": "python"}
    try:
        return papermill.execute_notebook(*paths, dict(parameters), km=kernel, **options)
    finally:
        del _running[given]


_IN_MEMORY = "memory:"
_running: dict[str, str] = {}
"""The running notebooks, as hashed: a file could be changed in the meantime."""


@cache
def _papermill() -> Any:
    """Import papermill, and enable it to read from memory."""
    import papermill
    from papermill.iorw import NoIOHandler, papermill_io

    handler = NoIOHandler()
    handler.read = _running.__getitem__
    papermill_io.register(_IN_MEMORY, handler)
    return papermill


def own_players(plan: SweepPlan, folder: Path) -> dict[str, CodeReference]:
    """Load the players `file.py:Class` that a plan's parameters name.

    Args:
        plan: The plan.
        folder: The folder to which paths are relative: the plan file's.

    Returns:
        The references with absolute paths, by their names in the plan.

    Raises:
        ValueError: There is no such file or player, or its import failed.
    """
    found = {text: reference for text in _plan_texts(plan) if (reference := parse_reference(text))}
    references = {text: reference.beside(folder) for text, reference in found.items() if reference.is_file}
    for reference in references.values():
        find_player(reference, load=True)
    return references


def player_facts(players: Mapping[str, CodeReference]) -> dict[str, dict[str, Any]]:
    """Return the facts about the code of loaded players, by their names in the plan."""
    return {text: code_facts(find_player(reference, load=False)) for text, reference in players.items()}


def own_scenarios(plan: SweepPlan, folder: Path) -> dict[str, Path]:
    """Return the scenario files next to a plan that its parameters name, by their names in the plan."""
    named = {text for text in _plan_texts(plan) if text.endswith(SUFFIX)}
    return {text: file for text in sorted(named) if (file := (folder / text).resolve()).is_file()}


def scenario_facts(scenarios: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Return the name, hash and path of scenario files, by their names in the plan."""
    return {
        text: {"source": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "path": str(file)}
        for text, file in scenarios.items()
    }


def _plan_texts(plan: SweepPlan) -> Iterator[str]:
    """Yield the strings in a plan's parameters."""
    for point in (plan.fixed, plan.tiny, *chain.from_iterable(plan.axes())):
        yield from _texts(point)


def _texts(value: Any) -> Iterator[str]:
    """Yield the strings in a parameter's value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
