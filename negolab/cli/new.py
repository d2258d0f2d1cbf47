"""`negolab new`: small working examples to modify; those in Python have a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from negolab import scaffolds
from negolab.cli.options import Group
from negolab.cli.play import escape_line

app = Group("new", "Create a small working example, with a test, for you to modify.")

Name = Annotated[str, typer.Argument(help="Name of the new file or folder, in the current folder.")]

NEXT = {
    "game": "negolab watch {name}.py         plays a match (details: negolab guide own-game)",
    "player": "negolab batch bargaining --a {name}.py:{name} --b linear --out data/runs/{name}    plays 100 matches",
    "scenario": (
        "negolab games agenda --scenario {name}.toml    shows its points, best agreements and mistakes\n"
        "negolab serve --scenario {name}.toml           plays it in the browser (negolab guide scenario)"
    ),
    "codebook": (
        "negolab code RUN --book {name}.toml --coder anna    writes a sheet for a coder, and reads it back\n"
        "negolab code RUN --book {name}.toml                 reports how well coders agree (negolab guide coding)"
    ),
    "sweep": "negolab sweep run {name}/plan.toml --tiny    runs a trial; without --tiny, all of it",
    "tournament": "negolab tournament {name}.toml    plays it; --estimate shows the cost first",
    "study": (
        "negolab study links {name}.toml -n 20    makes 20 links, one for each participant\n"
        "negolab serve {name}.toml                opens the study to them"
    ),
    "import-map": "review it: its first lines show how to import {name}, and negolab guide corpora explains them",
}
"""Checks for an example of each kind."""


_PLAIN = {
    "game": "Write a game with presets, a player, a measure and a test.",
    "player": "Write a bargaining player and its test.",
    "codebook": "Write a codebook, which defines what human coders and models look for in the messages.",
    "sweep": "Create a folder with a notebook, a sweep plan and a test.",
    "tournament": "Write a tournament plan: players, conditions, games and draws.",
}
"""Kinds of examples that need only a name, and their commands' help."""


def _command(kind: str) -> Callable[[str], None]:
    def write(name: Name) -> None:
        _write(kind, name)

    return write


for _kind, _help in _PLAIN.items():
    app.command(_kind, help=_help)(_command(_kind))


@app.command()
def scenario(
    name: Name,
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Read a GENIUS (XML) or NegMAS (YAML) domain from a folder."),
    ] = None,
) -> None:
    """Write a scenario with several issues; no Python needed."""
    _write("scenario", name, source=from_)


@app.command()
def study(
    name: Name, game: Annotated[str, typer.Option(help="A game's name, or a file in the current folder.")] = "trading"
) -> None:
    """Write a study file that runs as is, with a test."""
    _write("study", name, game)


@app.command()
def import_map(file: Annotated[str, typer.Argument(metavar="FILE", help="A spreadsheet saved as CSV.")]) -> None:
    """Draft the column map for importing a spreadsheet."""
    _write("import-map", file)


def _write(kind: str, name: str, game: str = "", source: Path | None = None) -> None:
    from negolab.formats.domains import read_folder

    text, said = (None, []) if source is None else read_folder(source)
    for path in scaffolds.write_scaffold(kind, name, Path(), game, text):
        print(f"{path} is written")
    for sentence in said:
        print(escape_line(sentence))
    print(NEXT[kind].format(name=name))
