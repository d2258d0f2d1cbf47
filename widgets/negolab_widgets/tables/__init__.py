"""Tables: how a game looks to its players; `plain` serves games without a table of their own.

A game names its table in `TABLE`, such as "negolab_widgets.tables.split.controls:SplitTable", because rules know no
screen. It is a subclass of `Table`, which gets the game as told to the seat and the seat's observation alone.
"""

from __future__ import annotations

import importlib

from negolab import catalog
from negolab.catalog import AnyGame
from negolab.user_code import describe_failure
from negolab_widgets.fields import Slider
from negolab_widgets.layout import column, framed, row, set_visible
from negolab_widgets.tables.controls import Table, render_facts
from negolab_widgets.tables.decision import ACCEPT, COMPOSE, REFUSE, SEND, Decision, render_pay
from negolab_widgets.tables.plain import PlainTable

__all__ = [
    "ACCEPT",
    "COMPOSE",
    "REFUSE",
    "SEND",
    "Decision",
    "PlainTable",
    "Slider",
    "Table",
    "column",
    "framed",
    "render_facts",
    "render_pay",
    "row",
    "set_visible",
    "table",
]


def table(game: AnyGame) -> type[Table]:
    """Find the table of a game.

    Raises:
        ValueError: The game's `TABLE` names no table.
    """
    named = catalog.part(game, "TABLE")
    if named is None:
        return PlainTable
    module, _, name = str(named).partition(":")
    if not (module and name):
        raise ValueError(f"TABLE of {catalog.game_id(game)} is {named!r}, which must be of the form 'module:Class'")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:
        why = describe_failure(error)
        raise ValueError(f"TABLE of {catalog.game_id(game)} is {named!r}, which cannot be imported: {why}") from error
    if not (isinstance(found, type) and issubclass(found, Table)):
        raise ValueError(f"TABLE of {catalog.game_id(game)} is {named!r}, which is not a subclass of Table")
    return found
