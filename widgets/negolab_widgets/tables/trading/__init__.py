"""The table for trading: the own goods and values, an offer made of them, and the offer that waits.

controls.py holds the offer editor, the check of typed replies and the controls, view.py draws a seat's table without
controls.
"""
