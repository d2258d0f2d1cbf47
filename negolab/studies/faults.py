"""Place where code of a game or player raised, described without the exception's message."""

from __future__ import annotations

import traceback
from pathlib import Path

from negolab import user_code
from negolab.game import Game


def locate_fault(error: BaseException) -> str:
    """Return one line that names an exception, and the file, line and game method in which it was raised.

    The exception's message is left out: it may quote a participant, or reveal what is hidden from one.
    """
    frames, kind = traceback.extract_tb(error.__traceback__), type(error).__name__
    if not frames:
        return kind
    at = user_code.own_frame(list(frames)) or frames[-1]
    called = (
        frame for frame, _ in traceback.walk_tb(error.__traceback__) if isinstance(frame.f_locals.get("self"), Game)
    )
    # Not the base class's own methods, such as `moves`, which calls `options`.
    names = [frame.f_code.co_name for frame in called if frame.f_globals["__name__"] != Game.__module__]
    return f"{kind} in {Path(at.filename).name}, line {at.lineno}, in {[*names, at.name][0]}"
