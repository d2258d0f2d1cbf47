"""The table for split: what is to be divided, what to keep of it, the talk of the round, and the rounds before.

worth.py says what a seat knows of its values, asking.py is where a share is chosen, speaking.py holds the message,
view.py draws a seat's table without controls.
"""

from negolab_widgets.tables.split.controls import Controls
from negolab_widgets.tables.split.view import clock, render, role

__all__ = ["Controls", "clock", "render", "role"]
