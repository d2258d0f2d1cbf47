"""The screen of negolab: widgets for JupyterLab and Voila. It may import all of negolab; nothing there imports it.

Importing it also teaches the notebook to show games, matches, records, observations and players as HTML.
"""

from negolab_widgets import display
from negolab_widgets.lobby import Lobby
from negolab_widgets.replay import Replay
from negolab_widgets.seat import HumanSeat

__all__ = ["HumanSeat", "Lobby", "Replay"]

display.register()
