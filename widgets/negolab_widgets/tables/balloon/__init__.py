"""The table for balloon: a checklist against the LIMIT, the standing proposals, and the messages.

checklist.py is for choosing a set, view.py draws a seat's table and the open proposals, and controls.py composes the
message and combines them.
"""
