"""Trials of a study by bots or browsers before links go out.

Start with `run.py`; `bots.py` scripts the bots, `findings.py` reports problems.
"""
