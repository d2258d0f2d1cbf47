"""negolab: a research workbench for negotiation games between people, language models and scripted strategies.

Example:
    >>> import negolab as nl
    >>> match = nl.Match(nl.load("trading"), seed=7)
    >>> match.pending().keys()
    dict_keys(['A'])
"""

import sys
from importlib import import_module
from typing import Any

from negolab._internal.version import __version__
from negolab.catalog import list_games, load
from negolab.game import Ask, Game, Invalid, Observation, Outcome, Reply, State, observe, other
from negolab.match import Match
from negolab.players.lookup import list_players, player
from negolab.protocols import Scripted
from negolab.record import Record, states
from negolab.runs.batch import batch, run
from negolab.runs.driver import aplay, play
from negolab.store import Store, read
from negolab.tournaments.tournament import tournament

__all__ = [
    "Ask",
    "Game",
    "Invalid",
    "Match",
    "Observation",
    "Outcome",
    "Record",
    "Reply",
    "Scripted",
    "State",
    "Store",
    "__version__",
    "aplay",
    "batch",
    "explore",
    "list_games",
    "list_players",
    "load",
    "observe",
    "other",
    "play",
    "player",
    "read",
    "replay",
    "run",
    "states",
    "tournament",
]


def explore(game: str | Game[Any, Any, Any]) -> Any:
    """Show a game's card at full size, with sliders that redraw its figure.

    Args:
        game: A game, or the name of one with its default preset.

    Returns:
        The card, a widget for notebooks.
    """
    return import_module("negolab_widgets.card").Card(load(game), large=True)


def replay(source: Any) -> Any:
    """Show a match step by step.

    Args:
        source: A match, a record, several records, or the path of records; see `negolab_widgets.Replay`.

    Returns:
        The replay, a widget for notebooks.
    """
    return import_module("negolab_widgets").Replay(source.record() if isinstance(source, Match) else source)


if "IPython" in sys.modules:
    # Games, matches, runs and records display themselves in notebooks; elsewhere, no screen is imported.
    import_module("negolab_widgets")


def __dir__() -> list[str]:
    # Completion offers only the public names, not submodules that happen to be imported.
    return __all__
