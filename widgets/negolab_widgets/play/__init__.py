"""The lobby and a person's seat at a match.

Start with `lobby.py` and `seat.py`; `ending.py` shows the result.
"""
