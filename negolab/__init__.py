"""negolab: a research workbench for negotiation games between people, language models and scripted strategies.

Example:
    >>> import negolab as nl
    >>> match = nl.Match(nl.load("trading"), seed=7)
    >>> match.pending().keys()
    dict_keys(['A'])
"""

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
    "list_games",
    "list_players",
    "load",
    "observe",
    "other",
    "play",
    "player",
    "read",
    "run",
    "states",
]


def __dir__() -> list[str]:
    # Completion offers the public names only, not submodules that happen to be imported.
    return __all__
