"""Exact results for any game: equilibria, cooperative solutions, frontiers and surplus.

Start with `frontier.py`; each function cites its source.
"""
