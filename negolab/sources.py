"""Source files of a user's code: the modules beside a file that it imports, and the hash of them all."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def imported_modules(sources: Iterable[str]) -> list[str]:
    """Return the modules imported at the top level of sources, each once; what is no Python is skipped."""
    modules: dict[str, None] = {}
    for source in sources:
        try:
            tree: Any = ast.parse(source)
        except SyntaxError:  # such as a cell with a magic
            continue
        for node in tree.body:
            if isinstance(node, ast.Import):
                modules |= dict.fromkeys(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules[node.module] = None
    return list(modules)


def modules_beside(folder: Path, sources: Iterable[str]) -> list[Path]:
    """List the modules in a folder that sources import, directly or indirectly."""
    modules: dict[Path, None] = {}
    pending = list(sources)
    while pending:
        for name in imported_modules([pending.pop()]):
            file = folder / f"{name.partition('.')[0]}.py"
            if file not in modules and file.is_file():
                modules[file] = None
                pending.append(file.read_text("utf-8"))
    return sorted(modules)


def code_hash(path: Path) -> str:
    """Hash a file of code with the modules beside it that it imports: the file's own SHA-256 where it imports none."""
    content = path.read_bytes()
    digest = hashlib.sha256(content)
    for module in modules_beside(path.parent, [content.decode("utf-8", "replace")]):
        if module != path:
            digest.update(module.name.encode() + b"\0" + module.read_bytes())
    return digest.hexdigest()
