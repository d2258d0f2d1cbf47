"""Player lookup by name, and players for any game.

Start with `lookup.py`; `agreements.py` has the strategies that play every game with a list of agreements.
"""
