"""The table for bargaining: the offer that stands, a price to answer it with, and the course of all offers.

controls.py holds the price editor and the controls, view.py draws a seat's table without controls.
"""
