"""`negolab guide`: list the pages of the guide, print one, or write its example files."""

from __future__ import annotations

import pydoc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from negolab._internal.guide_pages import guide_pages
from negolab._internal.validation import suggest
from negolab.cli.options import Group

app = Group()
_BLOCK = re.compile(r"^```(\w+)[ ]?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block on a page: its language, the file it belongs to ("": none), and its text."""

    language: str
    file: str
    text: str


@app.command()
def guide(
    page: Annotated[str | None, typer.Argument(help="Page to print (default: list all pages).")] = None,
    save: Annotated[bool, typer.Option("--save", help="Write the page's example files to the current folder.")] = False,
) -> None:
    """Print a page of the guide, or list the pages."""
    pages = guide_pages()
    if page is None and save:
        raise ValueError("--save needs a page: name the page whose examples you want")
    if page is None:
        typer.echo(pages["README"])
    elif page not in pages:
        raise ValueError(f"the guide has no page {page!r}: {suggest(page, pages)}")
    elif save:
        write_examples(pages[page], Path())
    else:
        pydoc.pager(pages[page])


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    return (Block(*match.groups()) for match in _BLOCK.finditer(text))


def write_examples(text: str, folder: Path) -> None:
    """Write the files shown on a page; a notebook's blocks are its cells, and the first one its parameters.

    Raises:
        ValueError: The page has no such files, or one of them exists with different content.
    """
    files: dict[str, list[str]] = {}
    for block in blocks(text):
        if block.file:
            files.setdefault(block.file, []).append(block.text)
    if not files:
        raise ValueError("this page has no example files")
    contents = {
        folder / name: _notebook(cells) if name.endswith(".ipynb") else "".join(cells) for name, cells in files.items()
    }
    for path, content in contents.items():
        is_other = path.exists() and not (path.is_file() and path.read_bytes() == content.encode())
        if path.is_symlink() or is_other:
            raise ValueError(f"{path} already exists with different content: move it elsewhere first")
    for path, content in contents.items():
        path.write_text(content, "utf-8")
        typer.echo(f"wrote {path}")


def _notebook(cells: list[str]) -> str:
    """Return a notebook of code cells as JSON, with ids that do not change."""
    import nbformat  # two seconds to import

    code = [nbformat.v4.new_code_cell(text.rstrip("\n"), id=f"cell-{n}") for n, text in enumerate(cells)]
    code[0].metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return f"{nbformat.writes(nbformat.v4.new_notebook(cells=code, metadata={'kernelspec': kernel}), 4)}\n"
