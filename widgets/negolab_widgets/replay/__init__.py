"""Replays: a list of records, a match step by step, and its branches.

Start with `replay.py`; `cockpit.py` draws one match, `branching.py` continues it.
"""

from negolab_widgets.replay.replay import Replay

__all__ = ["Replay"]
