"""Where code of a game or of a player raised, said without what it raised with."""

from __future__ import annotations

import traceback
from pathlib import Path

from negolab import user_code
from negolab.game import Game


def locate_fault(error: BaseException) -> str:
    """Say in one line what an exception was, and in which file, line and method of a game it was raised.

    Its message is left out: it may quote a participant, or what is hidden from one.
    """
    frames, kind = traceback.extract_tb(error.__traceback__), type(error).__name__
    if not frames:
        return kind
    at = user_code.own_frame(list(frames)) or frames[-1]
    called = (
        frame for frame, _ in traceback.walk_tb(error.__traceback__) if isinstance(frame.f_locals.get("self"), Game)
    )
    # Not the base class's own, such as `moves`, which calls `options`.
    names = [frame.f_code.co_name for frame in called if frame.f_globals["__name__"] != Game.__module__]
    return f"{kind} in {Path(at.filename).name}, line {at.lineno}, in {[*names, at.name][0]}"
