"""The built-in games, one folder each, found by name (`nl.list_games()`).

Start with `trading/rules.py`: the class is the game, and its fields are the parameters.
"""
