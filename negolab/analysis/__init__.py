"""Tables, measures, estimates and statistics of recorded matches.

Start with `tables.py` (records as frames) and `measures.py`; `stats.py` has the intervals, `export.py` writes files.
"""
