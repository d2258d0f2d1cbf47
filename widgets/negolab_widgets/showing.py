"""Teaches a notebook to show our values, and imports what draws them only when there is one."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from IPython.core.getipython import get_ipython

_SHOWN = {
    ("negolab.game", "Game"): "game",
    ("negolab.game", "Observation"): "observation",
    ("negolab.match", "Match"): "match",
    ("negolab.players.player", "Scripted"): "player",
    ("negolab.record", "Record"): "record",
    ("builtins", "list"): "records",
}
"""Module and name of a type, and the function of `display` that shows it. A list that is not one of records shows
itself as always."""


def register() -> None:
    """Teach this notebook; outside IPython it does nothing."""
    shell: Any = get_ipython()
    if shell is None:
        return
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), function in _SHOWN.items():
        formatter.for_type_by_name(module, name, _later(function))


def _later(function: str) -> Callable[[Any], str | None]:
    def show(value: Any) -> str | None:
        shown: str | None = getattr(import_module("negolab_widgets.display"), function)(value)
        return shown

    return show
