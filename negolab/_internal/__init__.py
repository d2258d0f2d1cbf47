"""Private modules: files, validation, clocks, workers and the version.

Nothing here is public. Start reading in `files.py`, which writes files atomically.
"""
