"""The table for an agenda: the seat's points for every option, the standing offer, and the offer to make.

controls.py contains the offer editor and the controls; view.py draws a seat's table without controls.
"""
