"""Sweeps of one notebook over a grid of parameters.

Start with `plan.py` and `run.py`; `cell.py` runs one cell, `report.py` writes the report.
"""
