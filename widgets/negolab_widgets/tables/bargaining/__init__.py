"""The table for bargaining: the standing offer, a price to answer it with, and the course of all offers.

controls.py contains the price editor and the controls; view.py draws a seat's table without controls.
"""
