"""Code of the user's own, such as a game or a player: how it is loaded, its hash, and what of it the user trusts.

Code is only ever loaded from what a user names. A folder of records keeps in `sources.json` where the code of its games
came from; it is loaded from there if this user has run it before, or says so (`--trust`), and never from what a record
names.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import logging
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import msgspec
import platformdirs

from negolab._internal.files import atomic_write

log = logging.getLogger("negolab.user_code")

FILE = "sources.json"
"""File of a folder of records: the `CodeSource` of each game in it that is not installed, by the game's id."""
TRUSTED = "NEGOLAB_TRUSTED"
"""Environment variable with the path of the list of trusted code."""


class CodeSource(msgspec.Struct, frozen=True):
    """Where code came from.

    Attributes:
        reference: The absolute path of a `.py` file or of a package's folder, or the name of a module.
        sha256: Hash of its files, see `files_of`.
    """

    reference: str
    sha256: str


def beside(reference: str, folder: Path) -> str:
    """Return a reference that a file in `folder` makes: a path is relative to it, and becomes absolute."""
    path = folder / reference
    return str(path.resolve()) if reference.endswith(".py") or (path / "__init__.py").is_file() else reference


class NoSuchModule(ValueError):
    """There is no module of this name, or at this path."""


def is_path(reference: str) -> bool:
    """Return True for the path of a `.py` file or of a package's folder, False for the name of a module."""
    return reference.endswith(".py") or os.sep in reference or (Path(reference) / "__init__.py").is_file()


def load(reference: str) -> ModuleType:
    """Import a module by path or name, which runs its code.

    Raises:
        ValueError: There is no such module, it cannot be imported, or another one has its name.
    """
    return _load_path(Path(reference)) if is_path(reference) else _load_name(reference)


def _load_name(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ModuleNotFoundError, TypeError, ValueError) as error:
        if isinstance(error, ModuleNotFoundError) and not f"{name}.".startswith(f"{error.name}."):
            raise ValueError(f"module {name} cannot be imported: {describe_failure(error)}") from error
        raise NoSuchModule(f"there is no module {name!r}") from None
    except Exception as error:
        raise ValueError(f"module {name} cannot be imported: {describe_failure(error)}") from error


def describe_failure(error: BaseException) -> str:
    """Say in one line what an exception in a user's code was, and in which of its lines it was raised."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
    frame = own_frame(traceback.extract_tb(error.__traceback__))
    return text if frame is None else f"{text} ({Path(frame.filename).name}, line {frame.lineno})"


def own_frame(frames: list[traceback.FrameSummary]) -> traceback.FrameSummary | None:
    """Return the innermost frame of a user's own file, else of an installed package that negolab called; or None."""
    own = [frame for frame in frames if not (_is_ours(frame) or frame.filename.startswith((*_LIBRARY, *_INSTALLED)))]
    if own:
        return own[-1]
    last = max((n for n, frame in enumerate(frames) if _is_ours(frame)), default=-1)
    return next((frame for frame in frames[:last:-1] if not frame.filename.startswith(_LIBRARY)), None)


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(str(Path(__file__).parent)) or "negolab_widgets" in Path(frame.filename).parts


_INSTALLED = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
_LIBRARY = (sysconfig.get_path("stdlib"), "<frozen")
"""Beginnings of the names of files that are not a user's own, and of those that are of Python."""


def _load_path(path: Path) -> ModuleType:
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise NoSuchModule(f"there is no module at {path}: name a .py file, or a folder with an __init__.py")
    name = path.resolve().stem
    if (imported := sys.modules.get(name)) is not None:
        if Path(getattr(imported, "__file__", None) or "").resolve() == file.resolve():
            return imported
        raise ValueError(f"{path} cannot be loaded: another module is called {name!r}; rename it")
    spec = importlib.util.spec_from_file_location(
        name, file.resolve(), submodule_search_locations=[str(path.resolve())] if path.is_dir() else None
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _make_importable(file)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ValueError(f"{path} cannot be loaded: {describe_failure(error)}") from error
    return module


def _make_importable(file: Path) -> None:
    """Let a file import the modules beside it; last in the search, so that nothing is replaced by one of them."""
    folder = str(file.parent.resolve())
    if folder not in sys.path and modules_beside(file.parent, [file.read_text("utf-8", "replace")]):
        sys.path.append(folder)


# Hashes.


def source_of(module: ModuleType) -> CodeSource | None:
    """Return where an imported module came from; None if it has no file, such as a notebook's `__main__`."""
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py") or module.__name__ == "__main__":
        return None
    path = Path(file).resolve()
    root = path.parent if path.name == "__init__.py" else path
    by_name = "." in module.__name__ or root.stem != module.__name__
    return CodeSource(module.__name__ if by_name else str(root), code_hash(root))


def current(source: CodeSource) -> CodeSource | None:
    """Return a source with the hash that its files have now, without running them; None if it is not here."""
    root = Path(source.reference) if is_path(source.reference) else _find(source.reference)
    if root is None or not root.exists():
        return None
    return CodeSource(source.reference, code_hash(root))


def _find(name: str) -> Path | None:
    top = name.partition(".")[0]
    spec = importlib.util.find_spec(name) if importlib.util.find_spec(top) else None
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return path.parent if path.name == "__init__.py" else path


def files_of(root: Path) -> list[Path]:
    """List the files that a hash covers: all modules of a package's folder, or a file and then those beside it that it
    imports, directly or not."""
    if root.is_dir():
        return sorted(root.rglob("*.py"))
    beside = modules_beside(root.parent, [root.read_text("utf-8", "replace")])
    return [root, *(file for file in beside if file != root)]


def code_hash(root: Path) -> str:
    """Hash the code of a file or a package's folder: of a file that imports nothing from beside it, its own SHA-256."""
    first, *others = files_of(root)
    digest = hashlib.sha256(first.read_bytes())
    for file in others:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def modules_beside(folder: Path, sources: Iterable[str]) -> list[Path]:
    """List the modules of a folder that some source texts import, directly or indirectly."""
    modules: dict[Path, None] = {}
    pending = list(sources)
    while pending:
        for name in imported_modules([pending.pop()]):
            file = folder / f"{name.partition('.')[0]}.py"
            if file not in modules and file.is_file():
                modules[file] = None
                pending.append(file.read_text("utf-8", "replace"))
    return sorted(modules)


def imported_modules(sources: Iterable[str]) -> list[str]:
    """Return the modules that source texts import at their top level or name as `TABLE`, each once.

    A text that is no Python is skipped.
    """
    modules: dict[str, None] = {}
    for source in sources:
        try:
            tree = ast.parse(source)
        except SyntaxError:  # such as a cell with a magic
            continue
        for node in tree.body:
            if isinstance(node, ast.Import):
                modules |= dict.fromkeys(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules[node.module] = None
            elif isinstance(node, ast.Assign) and (table := _table_module(node)):
                modules[table] = None
    return list(modules)


def _table_module(node: ast.Assign) -> str:
    """Return the module that an assignment to TABLE names, which a screen imports; "" for any other assignment."""
    match node:
        case ast.Assign([ast.Name("TABLE")], ast.Constant(str(table))):
            return table.partition(":")[0]
    return ""


# Trust.


def is_trusted(source: CodeSource) -> bool:
    """Return True if this user has run or accepted the code with this hash."""
    file = _trusted_file()
    return file.is_file() and _line(source) in file.read_text("utf-8").splitlines()


def trust(source: CodeSource) -> None:
    """Note that this user runs or accepts the code with this hash."""
    if is_trusted(source):
        return
    file = _trusted_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.write(_line(source) + "\n")
    except OSError as error:  # the user will be asked again
        log.warning("%s cannot be written (%s), so negolab asks each time whether code is trusted", file, error)


def _trusted_file() -> Path:
    name = os.environ.get(TRUSTED)
    return Path(name).expanduser() if name else platformdirs.user_data_path("negolab") / "trusted.txt"


def _line(source: CodeSource) -> str:
    return f"{source.sha256}  {source.reference}"


# Folders of records.


def read(folder: Path) -> dict[str, CodeSource]:
    """Return the sources of the games of a folder of records, by the game's id; ValueError for a damaged file."""
    file = folder / FILE
    if not file.is_file():
        return {}
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, CodeSource])
    except msgspec.DecodeError as error:
        raise ValueError(f"{file} does not say where games came from: {error}") from None


def write(folder: Path, sources: dict[str, CodeSource]) -> None:
    """Write the sources of the games of a folder of records."""
    atomic_write(folder / FILE, msgspec.json.format(msgspec.json.encode(sources)) + b"\n")
