"""Runs of many matches: plans, driver, workers and progress.

Start with `run.py`; `driver.py` plays one match, `batch.py` opens a run's folder.
"""
