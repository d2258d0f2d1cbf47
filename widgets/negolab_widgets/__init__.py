"""The screen of negolab: widgets for JupyterLab and Voila. It may import all of negolab; nothing there imports it.

Importing it also teaches the notebook to show games, matches, records, observations and players as HTML.
"""

from typing import TYPE_CHECKING, Any

from negolab_widgets import showing

if TYPE_CHECKING:
    from negolab_widgets.board import SweepBoard
    from negolab_widgets.lobby import Lobby
    from negolab_widgets.monitor import Monitor
    from negolab_widgets.progress import RunProgress
    from negolab_widgets.replay import Replay
    from negolab_widgets.results import SweepResults
    from negolab_widgets.seat import HumanSeat

__all__ = ["HumanSeat", "Lobby", "Monitor", "Replay", "RunProgress", "SweepBoard", "SweepResults"]

_HOMES = {
    "HumanSeat": "seat",
    "Lobby": "lobby",
    "Monitor": "monitor",
    "Replay": "replay",
    "RunProgress": "progress",
    "SweepBoard": "board",
    "SweepResults": "results",
}


def __getattr__(name: str) -> Any:
    """Imported when asked for: every participant's kernel pays in memory for what it does not use."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


showing.register()
