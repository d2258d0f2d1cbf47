"""The table for balloon: a checklist against the LIMIT, what stands, and the words that go with it.

worth.py says what a set of items comes to for one seat, checklist.py is where one is chosen, standing.py holds the open
proposals, saying.py the message, heard.py what was said; view.py draws a seat's table without controls.
"""

from negolab_widgets.tables.balloon.controls import Controls
from negolab_widgets.tables.balloon.view import clock, render, role

__all__ = ["Controls", "clock", "render", "role"]
