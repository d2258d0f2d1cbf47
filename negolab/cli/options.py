"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat
from negolab.players.player import setting

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game's name, a module, or a path ending in .py.")]
Preset = Annotated[str | None, typer.Option(help="A preset of the game (see `negolab games`).")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter; repeatable.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the deal; drawn if left out, and kept in the record.")]
DB = "NEGOLAB_DB"
"""The environment variable that names a database; what has a password in it is better said there."""
Db = Annotated[
    str | None,
    typer.Option("--db", envvar=DB, metavar="URL", help="A file, or postgresql+psycopg://... (default: a file)."),
]
Module = Annotated[str | None, typer.Option(help="Module or .py file of the game, if it is not one of ours.")]


def chosen(game: str, preset: str | None, changes: list[str] | None) -> AnyGame:
    """The game that the options name."""
    return catalog.load(game, preset=preset, **_pairs(changes or []))


def seat_of(text: str) -> Seat:
    """A seat named on the command line."""
    for seat in SEATS:
        if text == seat:
            return seat
    raise ValueError(f"--seat must be A or B, not {text!r}")


def _pairs(changes: list[str]) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for change in changes:
        name, sign, value = change.partition("=")
        if not sign or not name:
            raise ValueError(f"--set {change!r} is not of the form name=value")
        if name.strip() in ("preset", "game"):
            raise ValueError(f"--set {change!r}: {name.strip()} is not a parameter; use its own option")
        pairs[name.strip()] = setting(value)
    return pairs


def known(module: str | None) -> None:
    """Load a researcher's own game, so that its records can be read."""
    if module is not None:
        catalog.module(module)
