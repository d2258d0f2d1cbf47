"""Look through what was played: records in a list, one match step by step, branches of it side by side."""

from negolab_widgets.replay.replay import Replay

__all__ = ["Replay"]
