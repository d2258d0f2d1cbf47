"""`negolab guide`: list the pages of the guide, print one, or write its example files."""

from __future__ import annotations

import pydoc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from negolab._internal.files import notebooks
from negolab._internal.validation import suggest
from negolab.cli.options import Group

app = Group()
_BLOCK = re.compile(r"^```(\w+)[ ]?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


class Block(NamedTuple):
    """A fenced block of a page: its language, the file it belongs to ("": none), and its text."""

    language: str
    file: str
    text: str


@app.command()
def guide(
    page: Annotated[str | None, typer.Argument(help="A page (default: list all pages).")] = None,
    save: Annotated[bool, typer.Option("--save", help="Write the page's example files to this folder.")] = False,
) -> None:
    """Print a page of the guide, or list the pages."""
    pages = _pages()
    if page is None and save:
        raise ValueError("--save needs a page: name the one whose examples you want")
    if page is None:
        typer.echo(pages["README"])
    elif page not in pages:
        raise ValueError(f"the guide has no page {page!r}: {suggest(page, pages)}")
    elif save:
        write_examples(pages[page], Path())
    else:
        pydoc.pager(pages[page])


def _pages() -> dict[str, str]:
    """Return the texts of the guide by page."""
    return {path.stem: path.read_text("utf-8") for path in sorted((notebooks() / "guide").glob("*.md"))}


def parameter_meanings(game: str) -> dict[str, str]:
    """Return what the parameters of a game mean, from the table of its page in the guide; {} without such a page."""
    _, _, rest = _pages().get(game, "").partition("\n## Parameters\n")
    rows = [line.strip("|").split(" | ") for line in rest.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    plain = {names: _LINK.sub(r"\1", meaning).replace("`", "").strip() for names, *_, meaning in rows}
    return {name: meaning for names, meaning in plain.items() for name in re.findall(r"`(\w+)`", names)}


def readings(game: str) -> list[str]:
    """Return the lines of a table of replies and how they are read, from that of the guide; [] without rows there."""
    rows = [
        line.strip("| ").split(" | ") for line in _pages()["decisions"].splitlines() if line.startswith(f"| {game} |")
    ]
    return [f"{reply.strip('`'):60}{fair:36}{literal}" for _, reply, fair, literal in rows]


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    return (Block(*match.groups()) for match in _BLOCK.finditer(text))


def write_examples(text: str, folder: Path) -> None:
    """Write the files that a page shows; blocks of one notebook are its cells, the first one its parameters.

    Raises:
        ValueError: The page has no such files, or one of them exists with another content.
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
        if path.exists() and path.read_text("utf-8") != content:
            raise ValueError(f"{path} already exists with other content: move it elsewhere first")
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
