"""The table for trading: the seat's own goods and values, an offer made of them, and the waiting offer.

controls.py contains the offer editor, the check of typed replies and the controls; view.py draws a seat's table without
controls.
"""
