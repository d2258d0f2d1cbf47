"""A small model on this machine, without a key.

Start with `process.py`, which runs `server.py`; `weights.py` downloads the model.
"""
