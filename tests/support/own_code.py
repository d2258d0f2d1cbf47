"""Code of one's own, as tests look at it."""

from __future__ import annotations

from pathlib import Path

from negolab.user_code import CodeSource, current


def source_now(root: Path) -> CodeSource:
    """The source of the code in a file or a package's folder, as it is now."""
    source = current(CodeSource(str(root), ""))
    assert source is not None
    return source


def code_hash(root: Path) -> str:
    """The hash of the code in a file or a package's folder, as it is now."""
    return source_now(root).sha256
