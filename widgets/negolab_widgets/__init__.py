"""The screen of negolab: widgets for JupyterLab and Voila. It may import all of negolab; nothing there imports it."""

from negolab_widgets.lobby import Lobby
from negolab_widgets.seat import HumanSeat

__all__ = ["HumanSeat", "Lobby"]
