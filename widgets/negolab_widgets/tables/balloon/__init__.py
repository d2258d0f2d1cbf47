"""The table for balloon: a checklist against the LIMIT, the proposals that stand, and the messages.

checklist.py is where a set is chosen, view.py draws a seat's table and the open proposals, controls.py composes the
message and puts them together.
"""
