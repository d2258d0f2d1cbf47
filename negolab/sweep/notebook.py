"""The notebook of a sweep: which parameters it has, and that a plan sets no others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from negolab import catalog
from negolab.sweep.plan import OURS


def loaded(path: Path) -> Any:
    """The notebook, which is of Python unless it says otherwise; `ValueError` if the file holds none."""
    import nbformat  # a third of a second to import

    try:
        found: Any = nbformat.read(path, 4)
    except Exception as error:  # nbformat raises whatever its readers raise
        raise ValueError(f"{path} is no notebook: {error}") from None
    found.metadata.setdefault("kernelspec", {"name": "python3", "language": "python", "display_name": "Python 3"})
    found.metadata.setdefault("language_info", {"name": "python"})
    return found


def sha256(path: Path) -> str:
    """Which notebook it is: a hash of its cells. Outputs and how it was run do not count."""
    cells = [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in loaded(path).cells]
    return hashlib.sha256(repr(cells).encode()).hexdigest()


def parameters(path: Path) -> list[str]:
    """The names in the cell tagged `parameters`; `ValueError` if there is no such cell, or it lacks those that are a
    sweep's to set."""
    from papermill import inspect_notebook  # half a second to import

    found = list(inspect_notebook(loaded(path)))
    if not found:
        raise ValueError(f"{path} has no parameters: tag the cell that sets them with `parameters`")
    for name in OURS:
        if name not in found:
            raise ValueError(f"{path} has no parameter {name}: a sweep sets where records go (out) and the seed (seed)")
    return found


def check(path: Path, names: Sequence[str]) -> None:
    """`ValueError` names the first parameter that the notebook does not have, with the near ones."""
    known = [name for name in parameters(path) if name not in OURS]
    for name in names:
        if name not in known:
            raise ValueError(f"{path.name} has no parameter {name!r}: {catalog.near(name, known)}")
