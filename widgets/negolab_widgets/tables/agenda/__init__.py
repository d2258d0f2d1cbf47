"""The table for an agenda: own points for every option, the offer that stands, and the offer to make.

controls.py holds the offer editor and the controls, view.py draws a seat's table without controls.
"""
