"""Widgets for JupyterLab and Voila: play, watch, replay and compare negotiation games.

Importing the package also registers how a notebook shows games, matches, observations, players and records.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython

if TYPE_CHECKING:
    from negolab_widgets.coder import Coder
    from negolab_widgets.play.lobby import Lobby
    from negolab_widgets.play.matchmaking import HumanSeat
    from negolab_widgets.progress import RunProgress
    from negolab_widgets.replay import Replay
    from negolab_widgets.results import SweepResults
    from negolab_widgets.results.board import SweepBoard
    from negolab_widgets.study.monitor import Monitor

__all__ = ["Coder", "HumanSeat", "Lobby", "Monitor", "Replay", "RunProgress", "SweepBoard", "SweepResults"]

_MODULES = {
    "Coder": "coder",
    "HumanSeat": "play.matchmaking",
    "Lobby": "play.lobby",
    "Monitor": "study.monitor",
    "Replay": "replay",
    "RunProgress": "progress",
    "SweepBoard": "results.board",
    "SweepResults": "results",
}

_DISPLAY_HOOKS = {
    ("negolab.game", "Game"): "game",
    ("negolab.game", "Observation"): "observation",
    ("negolab.match", "Match"): "match",
    ("negolab.protocols", "Scripted"): "player",
    ("negolab.record", "Record"): "record",
    ("negolab.runs.run", "Run"): "run",
    ("negolab.tournaments.tournament", "Tournament"): "tournament",
    ("builtins", "list"): "records",
}
"""The `display` function that shows a type, by the type's module and name. A list without records is shown as usual."""

_LIVE = {("negolab.game", "Game"): "card:Card", ("negolab.runs.run", "Run"): "progress:RunProgress"}
"""Types that are shown as widgets where a kernel can keep them alive; elsewhere, `_DISPLAY_HOOKS` apply."""


def __getattr__(name: str) -> Any:
    """Import a widget on first use, because every unneeded import costs memory in each participant's kernel."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def _register_display_hooks() -> None:
    """Register the display hooks; outside IPython, do nothing."""
    shell: Any = get_ipython()
    if shell is None:
        return
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), function in _DISPLAY_HOOKS.items():
        formatter.for_type_by_name(module, name, _lazy(f"display:{function}"))
    for (module, name), widget in _LIVE.items() if hasattr(shell, "kernel") else ():
        shell.display_formatter.ipython_display_formatter.for_type_by_name(module, name, _show_live(widget))


def _show_live(widget: str) -> Callable[[Any], None]:
    """Return a function that shows a value with a widget of this class."""
    make = _lazy(widget)
    return lambda value: make(value)._ipython_display_()


def _lazy(named: str) -> Callable[[Any], Any]:
    """Return a stand-in for a function or class; it imports the original, and with it pandas and NumPy, only when
    called."""
    module, _, name = named.partition(":")
    return lambda value: getattr(import_module(f"{__name__}.{module}"), name)(value)


_register_display_hooks()
