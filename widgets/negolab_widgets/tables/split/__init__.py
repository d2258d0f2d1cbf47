"""The table for split: what is to be divided, what to keep of it, the talk of the round, and the rounds before.

controls.py holds the keep editor, the message editor and the controls, view.py draws a seat's table without
controls.
"""
