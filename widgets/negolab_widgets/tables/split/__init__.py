"""The table for split: what is to be divided, how much of it to keep, the round's talk, and the previous rounds.

controls.py contains the keep editor, the message editor and the controls; view.py draws a seat's table without
controls.
"""
