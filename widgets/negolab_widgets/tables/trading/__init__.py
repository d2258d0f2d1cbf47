"""The table for trading: the own goods and values, an offer made of them, and the offer that waits.

goods.py draws goods and what they are worth, composing.py is where an offer is made, faults.py
says what a typed reply would cost, view.py draws a seat's table
without controls.
"""

from negolab_widgets.tables.trading.controls import Controls
from negolab_widgets.tables.trading.view import clock, render, role

__all__ = ["Controls", "clock", "render", "role"]
