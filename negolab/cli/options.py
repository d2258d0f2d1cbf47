"""Options shared by several commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from negolab import catalog
from negolab._internal.validation import parse_value
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game's name, a module, or a path ending in .py.")]
Preset = Annotated[str | None, typer.Option(help="A preset of the game (see `negolab games`).")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; repeatable.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the deal; drawn if left out, and kept in the record.")]
DB = "NEGOLAB_DB"
"""Environment variable that names a database; unlike `--db`, it hides a password from the list of processes."""
Db = Annotated[
    str | None,
    typer.Option("--db", envvar=DB, metavar="URL", help="A file, or postgresql+psycopg://... (default: a file)."),
]
Module = Annotated[str | None, typer.Option(help="Module or .py file of the game, if it is not one of ours.")]


def load_game(game: str, preset: str | None, changes: list[str] | None) -> AnyGame:
    """Load the game with the preset and the parameters of the options.

    Raises:
        ValueError: Unknown game, preset or parameter, or a value of the wrong form.
    """
    return catalog.load(game, preset=preset, **_pairs(changes or []))


def parse_seat(text: str) -> Seat:
    """Parse `--seat`; `ValueError` unless it is A or B."""
    for seat in SEATS:
        if text == seat:
            return seat
    raise ValueError(f"--seat must be A or B, not {text!r}")


def _pairs(changes: list[str]) -> dict[str, Any]:
    """Parse the values of `--set` into parameters by name."""
    pairs: dict[str, Any] = {}
    for change in changes:
        name, sign, value = change.partition("=")
        if not sign or not name:
            raise ValueError(f"--set {change!r} is not of the form name=value")
        if name.strip() in ("preset", "game"):
            raise ValueError(f"--set {change!r}: {name.strip()} is not a parameter; use its own option")
        pairs[name.strip()] = parse_value(value)
    return pairs


def import_game_module(module: str | None) -> None:
    """Import the module of a game from outside the package, so that its records can be read; None: do nothing."""
    if module is not None:
        catalog.game_module(module)
