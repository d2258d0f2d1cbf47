"""The user's own code, such as a game or a player: how it is loaded, its hash, and whether the user trusts it.

Code is only ever loaded from what a user names. A folder of records keeps in `sources.json` where its games' code came
from; it is loaded from there if this user has run it before or says so (`--trust`), and never from what a record names.

What is hashed is what runs: the files of a piece of code are read once, hashed and compiled from memory. Python's own
search finds none of them, so no `.pyc` is used, and whatever lies beside them but is not part of the hash is refused.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import logging
import os
import site
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Mapping
from importlib import metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, ClassVar

import msgspec
import platformdirs
from typing_extensions import override

from negolab._internal import workers
from negolab._internal.files import read_bytes, write_json
from negolab._internal.manifest import changed_files
from negolab._internal.validation import located

log = logging.getLogger("negolab.user_code")

FILE = "sources.json"
"""File in a folder of records: the `CodeSource` of each game in it that is not installed, by the game's id."""
TRUSTED = "NEGOLAB_TRUSTED"
"""Environment variable with the path to the list of trusted code."""
MAX_BYTES = 16 << 20
MAX_FILES = 100_000
"""Largest number of bytes in the files that a hash covers, and of files in a package's folder."""
_MAX_PARSED = 1 << 20
"""Largest number of bytes in a file searched for imports; whatever a longer one imports from beside it is refused."""
_INSTALLED = (
    *(sysconfig.get_path(kind) for kind in ("purelib", "platlib")),
    *site.getsitepackages(),
    site.getusersitepackages(),
)
_LIBRARY = (sysconfig.get_path("stdlib"), "<frozen")
"""Beginnings of the names of installed packages' files, which Python imports itself, and of Python's own."""
_IMPORTING = ("importlib", "_frozen_importlib", "_frozen_importlib_external")
OURS = ("negolab", "negolab_widgets", "builtins")


class CodeSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """The origin of code.

    Attributes:
        reference: The absolute path of a `.py` file or of a package's folder, or the dotted name of a module.
        sha256: Hash of its files; for a single file, its own SHA-256.
        files: Hash of each file, by its path below the folder that holds the code; empty for a single file.
    """

    reference: str
    sha256: str
    files: dict[str, str] = {}

    @property
    def pinned(self) -> str:
        """The reference with the hash before it, which `load` also accepts; it then refuses code that has changed."""
        return f"{self.sha256}  {self.reference}"


class Code(msgspec.Struct, frozen=True, eq=False):
    """Code as it was read; reading runs nothing.

    Attributes:
        reference: Same as in `CodeSource`.
        home: The folder that holds the module and the neighboring modules that it imports.
        module: The module's name.
        files: Contents of the files, by their path in `home`.
    """

    reference: str
    home: Path
    module: str
    files: dict[str, bytes]

    @property
    def source(self) -> CodeSource:
        """The code's reference and hashes."""
        hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(self.files.items())}
        if len(hashes) == 1:
            return CodeSource(self.reference, hashes.popitem()[1])
        lines = "".join(f"{sha256}  {name}\n" for name, sha256 in hashes.items())
        return CodeSource(self.reference, hashlib.sha256(lines.encode()).hexdigest(), hashes)


class _Loader(SourceFileLoader):
    """Compile a module from the bytes that were hashed."""

    def __init__(self, module: str, file: str, code: Code) -> None:
        super().__init__(module, str(code.home / file))
        self.code, self._data = code, code.files[file]

    @override
    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._data, self.path)


class NoSuchModule(ImportError, ValueError):
    """There is no module with this name or at this path, or it lies beside code whose hash does not cover it."""


class _Finder(MetaPathFinder):
    """Find the modules of code that was read; keep it, and negolab, from importing whatever lies beside them
    unhashed."""

    codes: ClassVar[dict[str, Code]] = {}
    """Code that was loaded, by the names of its top-level modules."""

    @override
    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        code, name = self.codes.get(fullname.partition(".")[0]), fullname.replace(".", "/")
        # Nothing was loaded, `importlib.reload`, or other people's packages.
        if not self.codes or target is not None or (path is not None and code is None):
            return None
        for file in (f"{name}/__init__.py", f"{name}.py"):
            if code is not None and file in code.files:
                return spec_from_file_location(fullname, code.home / file, loader=_Loader(fullname, file, code))
        if code is None and _importer() not in (*self.codes, *OURS):
            return None
        homes = {each.home: each for each in self.codes.values()}
        found = PathFinder.find_spec(fullname, path) or PathFinder.find_spec(fullname, path or list(map(str, homes)))
        beside = None if found is None else code if path else homes.get(_folder(found) or Path())
        if found is None or beside is None:
            return None
        if code is not None and found.loader is None:  # a folder without __init__.py, whose modules are looked up here
            return found
        raise NoSuchModule(
            f"{found.origin or name} is not covered by the hash of {beside.reference}: import a .py file by its name "
            "in an import statement, and install anything else as a package"
        )


sys.meta_path.insert(0, _Finder())


_ELSEWHERE = {*sys.stdlib_module_names, "java", "org"}
"""Modules of Python itself, including those for other machines and for Java, which the standard library tries."""


class _Optional(MetaPathFinder):
    """Hide the modules beside a notebook from installed packages, which try to import many that need not exist."""

    @override
    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if path is not None:
            return None
        if installed := PathFinder.find_spec(fullname, list(filter(None, sys.path))):
            if installed.loader is None:  # a namespace, which a package in the folder would replace
                installed.submodule_search_locations = list(installed.submodule_search_locations or ())
                return installed
            return None
        if (fullname in _ELSEWHERE or self._is_installed(_importing())) and PathFinder.find_spec(fullname, [""]):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None

    def _is_installed(self, importer: Mapping[str, Any]) -> bool:
        name, file = str(importer.get("__name__")), str(importer.get("__file__"))
        # IPython imports what a cell names, as %load_ext does, but also what is completed before it is run.
        if name.startswith("IPython."):
            return name.startswith("IPython.core.completer")
        if name == workers.__name__:  # what it was sent names modules that the sender has loaded
            return False
        return name.partition(".")[0] in OURS or file.startswith(_INSTALLED)


def open_folder() -> None:
    """Let a notebook's cells import modules beside it, after everything that is installed; in our workers, too."""
    sys.path.append("")
    sys.meta_path.insert(1, _Optional())
    workers.prelude = "from negolab import user_code; user_code.open_folder(); "


def entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of installed packages; what lies beside a notebook is not installed."""
    points = metadata.entry_points(group=group)
    return tuple(point for point in points if point.dist is None or Path(str(point.dist.locate_file(""))).is_absolute())


def _importer() -> str:
    """Return the top-level name of the module that is importing now."""
    return str(_importing().get("__name__")).partition(".")[0]


def _importing() -> Mapping[str, Any]:
    """Return the globals of the module that is importing now."""
    frame: Any = sys._getframe(1)
    while frame.f_globals is globals():  # the finder that asks
        frame = frame.f_back
    while str(frame.f_globals.get("__name__")).partition(".")[0] in _IMPORTING and frame.f_back:
        frame = frame.f_back
    found: Mapping[str, Any] = frame.f_globals
    return found


def describe_failure(error: BaseException) -> str:
    """Describe, in one line, an exception in a user's code and the line of that code that raised it."""
    said = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(str(error).split()))
    text = f"{type(error).__name__}: {said}".rstrip(": ")
    frame = own_frame(traceback.extract_tb(error.__traceback__))
    return text if frame is None else f"{text} ({Path(frame.filename).name}, line {frame.lineno})"


def own_frame(frames: list[traceback.FrameSummary]) -> traceback.FrameSummary | None:
    """Return the innermost frame in a user's own file, or else in an installed package that negolab called; None if
    there is neither."""
    own = [frame for frame in frames if not (_is_ours(frame) or frame.filename.startswith((*_LIBRARY, *_INSTALLED)))]
    if own:
        return own[-1]
    last = max((n for n, frame in enumerate(frames) if _is_ours(frame)), default=-1)
    return next((frame for frame in frames[:last:-1] if not frame.filename.startswith(_LIBRARY)), None)


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(str(Path(__file__).parent)) or "negolab_widgets" in Path(frame.filename).parts


# Finding and loading.


def beside(reference: str, folder: Path) -> str:
    """Return a reference made by a file in `folder`: a path is relative to the folder, and becomes absolute."""
    path = folder / reference
    return str(path.resolve()) if reference.endswith(".py") or (path / "__init__.py").is_file() else reference


def is_path(reference: str) -> bool:
    """Return True for the path of a `.py` file or of a package's folder, False for the name of a module."""
    return reference.endswith(".py") or os.sep in reference or (Path(reference) / "__init__.py").is_file()


def load(reference: str) -> ModuleType:
    """Import a module by path or name, which runs its code; a reference may be pinned to a hash.

    Raises:
        ValueError: There is no such module, it cannot be imported, another one has its name, or its hash is different.
    """
    pin, name = (reference[:64], reference[66:]) if reference[64:66] == "  " else ("", reference)
    if not is_path(name) and name in sys.modules:
        return sys.modules[name]
    if (code := read_code(name)) is None and is_path(name):
        raise NoSuchModule(f"there is no module at {name}: {_MODULE_FILES}")
    module = name if code is None else code.module
    failed = f"{name} cannot be loaded" if is_path(name) else f"module {name} cannot be imported"
    if code is not None:
        loaded = source_of(sys.modules[module]) if module in sys.modules else None
        if loaded is not None and loaded.reference == code.reference:
            return sys.modules[module]
        if (pin or _pins.get(code.reference, "")) not in ("", code.source.sha256):
            raise ValueError(f"{failed}: it has changed since its hash was taken; run the same command again")
        if not str(code.home).startswith((*_INSTALLED, *_LIBRARY)):
            _serve(code, failed)
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise NoSuchModule(f"there is no module {module!r}") from None
        raise ValueError(f"{failed}: {describe_failure(error)}") from error


def _serve(code: Code, failed: str) -> None:
    """Let the modules of a piece of code be imported; raise `ValueError` if others are loaded under their names."""
    modules = {file.partition("/")[0].removesuffix(".py") for file in code.files}
    for name in modules & sys.modules.keys():
        part = Code(name, code.home, name, read_modules([name], code.home, code.files)).source
        loaded = source_of(sys.modules[name])
        if loaded is None or loaded.sha256 != part.sha256:
            raise ValueError(
                f"{failed}: another module is called {name!r}, or this one has changed since it was loaded: rename it, "
                "or restart Python"
            )
    _Finder.codes |= dict.fromkeys(modules, code)


_pins: dict[str, str] = {}
"""Hashes of code that may be loaded only unchanged, by its path."""


def pin(hashes: Mapping[str, str]) -> None:
    """From now on, refuse the code at these paths if it has another hash."""
    _pins.update(hashes)


def serve(home: str, hashes: Mapping[str, str]) -> None:
    """Let modules in a folder be imported, and nothing else there, although Python does not search it.

    Args:
        home: The folder.
        hashes: SHA-256 of each of their files, by path in the folder.

    Raises:
        ValueError: A file has changed since its hash was taken.
    """
    files = {name: read_file(Path(home) / name) for name in hashes}
    if changed := [name for name, data in files.items() if hashlib.sha256(data).hexdigest() != hashes[name]]:
        raise ValueError(f"{Path(home) / changed[0]} has changed since its hash was taken; run the same command again")
    _serve(Code(home, Path(home), "", files), home)


def forget(code: Code) -> None:
    """Forget the modules of a piece of code, so that the next import runs them as they are now."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file).resolve() in {code.home / name for name in code.files}:
            del sys.modules[name]


def read_code(reference: str) -> Code | None:
    """Read the code at a path or of a module, without running any; None if it is not here or is not a Python file.

    Raises:
        ValueError: There is something else at the path, or more than a hash covers.
    """
    path, module = Path(reference).resolve(), reference
    home: Path | None = None
    if not is_path(reference):
        spec = PathFinder.find_spec(reference.partition(".")[0])
        home = None if spec is None else _folder(spec)
    elif path.exists():
        home, module, reference = path.parent, path.name.removesuffix(".py"), str(path)
        if "." in module or not ((path.is_file() and path.suffix) or (path / "__init__.py").is_file()):
            raise NoSuchModule(f"there is no module at {path}: {_MODULE_FILES}")
    files = {} if home is None else read_modules([module], home)
    return Code(reference, home, module, files) if home and files else None


_MODULE_FILES = "give a .py file, or a folder with an __init__.py, without another dot in its name"


def _folder(spec: ModuleSpec) -> Path | None:
    """Return the folder that a top-level module is in; None for one without a file."""
    place = next(iter(spec.submodule_search_locations or ()), spec.origin if spec.has_location else None)
    return None if place is None else Path(place).resolve().parent


# Hashes.


def source_of(module: ModuleType) -> CodeSource | None:
    """Return where an imported module came from; None if it has no file, such as a notebook's `__main__`.

    The hash is that of the bytes that run, or, for a module that was imported by other means, that of its files now.
    """
    file, name = getattr(module, "__file__", None), module.__name__
    if file is None or not file.endswith(".py") or name == "__main__":
        return None
    path = Path(file).resolve()
    root = path.parent if path.name == "__init__.py" else path
    home = root.parents[name.count(".")]
    loader = getattr(module.__spec__, "loader", None)
    known = loader.code.files if isinstance(loader, _Loader) else None
    files = read_modules([root.relative_to(home).parts[0].removesuffix(".py")], home, known)
    reference = name if "." in name or root.stem != name else str(root)
    return Code(reference, home, name, files).source if files else None


def current(source: CodeSource) -> CodeSource | None:
    """Return a source with the hash that its files have now, without running them; None if it is not here."""
    code = read_code(source.reference)
    return None if code is None else msgspec.structs.replace(code.source, reference=source.reference)


def describe_change(then: CodeSource, now: CodeSource) -> str:
    """Name the files in which code has changed."""
    return changed_files(then.files, now.files, now.reference)


def read_modules(modules: Iterable[str], home: Path, known: Mapping[str, bytes] | None = None) -> dict[str, bytes]:
    """Read modules in a folder and those that they import from it, by path in the folder.

    Args:
        modules: Their names; those that are not there are left out.
        home: The folder. If it holds installed packages, only the modules themselves are read.
        known: Files that were read before, which are used instead.
    """
    files: dict[str, bytes] = {}
    seen, pending = set(OURS), [name.partition(".")[0] for name in modules]
    while pending:
        if (top := pending.pop()) in seen:
            continue
        seen.add(top)
        found = (
            _read_module(home, top)
            if known is None
            else {file: data for file, data in known.items() if file.removesuffix(".py").partition("/")[0] == top}
        )
        files |= found
        if sum(map(len, files.values())) > MAX_BYTES:
            raise ValueError(f"{home / top} and its imports exceed {MAX_BYTES >> 20} MiB, the limit for code")
        if not str(home).startswith((*_INSTALLED, *_LIBRARY)):
            imported = (name.partition(".")[0] for name in imported_modules(found.values()))
            pending += [name for name in imported if name not in sys.stdlib_module_names]
    return files


def _read_module(home: Path, top: str) -> dict[str, bytes]:
    """Read the file of a module in a folder, or all files of a package there."""
    single, files = home / f"{top}.py", dict[str, bytes]()
    is_single = single.is_file() and not (home / top / "__init__.py").is_file()
    for count, file in enumerate([single] if is_single else (home / top).rglob("*")):
        if count > MAX_FILES:
            raise ValueError(f"{home / top} has more than {MAX_FILES:,} files, the limit for a package")
        if file.suffix == ".py" and (is_single or file.stem.isidentifier()):
            files[file.relative_to(home).as_posix()] = read_file(file)
    return files


def read_file(file: Path) -> bytes:
    """Read a file of code; raise `ValueError` for a pipe, a device, or more than a hash covers."""
    if not file.is_file() or len(data := read_bytes(file)) > MAX_BYTES:
        raise ValueError(f"{file} is not code: code must be a regular file of at most {MAX_BYTES >> 20} MiB")
    return data


def imported_modules(sources: Iterable[str | bytes]) -> list[str]:
    """Return the modules that source texts import anywhere or name as `TABLE`, each once.

    A text that is not Python is skipped.
    """
    modules: dict[str, None] = {}
    for source in sources:
        try:
            tree = ast.parse(source if len(source) <= _MAX_PARSED else "")
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # such as a cell with a magic
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Import(names):
                    modules |= dict.fromkeys(alias.name for alias in names)
                case ast.ImportFrom(str(module), level=0):
                    modules[module] = None
                case ast.Assign([ast.Name("TABLE")], ast.Constant(str(table))) if home := table.partition(":")[0]:
                    modules[home] = None  # which a screen imports
    return list(modules)


# Trust.


def is_trusted(source: CodeSource) -> bool:
    """Return True if this user has run or accepted the code with this hash."""
    file = _trusted_file()
    return file.is_file() and source.pinned in file.read_text("utf-8").splitlines()


def trust(source: CodeSource) -> None:
    """Note that this user runs or accepts the code with this hash."""
    if is_trusted(source):
        return
    file = _trusted_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.write(source.pinned + "\n")
    except OSError as error:  # the user will be asked again
        log.warning("%s cannot be written (%s), so negolab asks each time whether code is trusted", file, error)


def _trusted_file() -> Path:
    name = os.environ.get(TRUSTED)
    file = Path(name).expanduser() if name else platformdirs.user_data_path("negolab") / "trusted.txt"
    if not file.is_absolute():  # it could be a stranger's, in the current folder
        raise ValueError(f"${TRUSTED} is {name}: set it to an absolute path")
    return file


# Folders of records.


def read(folder: Path) -> dict[str, CodeSource]:
    """Return the sources of the games in a folder of records, by game id; raise `ValueError` if the file is damaged."""
    file = folder / FILE
    if not file.is_file():
        return {}
    with located(f"{file} cannot be read", (msgspec.DecodeError, RecursionError)):
        sources = msgspec.json.decode(read_file(file), type=dict[str, CodeSource])
    if not all(text.isprintable() for each in sources.values() for text in (each.reference, *each.files)):
        raise ValueError(f"{file} cannot be read: a name in it contains a control character")
    return sources


def write(folder: Path, sources: dict[str, CodeSource]) -> None:
    """Write the sources of the games in a folder of records."""
    write_json(folder / FILE, sources)
