"""Studies with people: study file, host process, database and export.

Start with `study_file.py`, then `session.py` (one match with people) and `server.py` (the host).
"""
