"""Tables, measures, estimates and statistics for recorded matches.

Start with `tables.py` (records as frames) and `measures.py`; `stats.py` computes intervals, and `export.py` writes
files.
"""
