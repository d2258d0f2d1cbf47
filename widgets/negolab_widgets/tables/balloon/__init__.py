"""The table for balloon: a checklist against the LIMIT, the proposals that stand, and the messages.

checklist.py is where a set is chosen, editor.py composes the message, view.py draws a seat's table and the open
proposals, controls.py puts them together.
"""

from negolab_widgets.tables.balloon.controls import BalloonTable

__all__ = ["BalloonTable"]
