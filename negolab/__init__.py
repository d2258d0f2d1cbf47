"""negolab: a research workbench for negotiation games between people, language models and scripted strategies.

>>> import negolab as nl
>>> match = nl.Match(nl.load("trading"), seed=7)
"""

from typing import TYPE_CHECKING

from negolab.batch import batch, run
from negolab.catalog import load
from negolab.game import Ask, Game, Invalid, Observation, Outcome, Reply, State, observe, other
from negolab.match import Match
from negolab.play import aplay, play
from negolab.players.player import Scripted, player, players
from negolab.record import Record, states
from negolab.store import Store, read
from negolab.version import __version__

if TYPE_CHECKING:
    from negolab.catalog import games
else:
    from negolab import games

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
    "games",
    "load",
    "observe",
    "other",
    "play",
    "player",
    "players",
    "read",
    "run",
    "states",
]
