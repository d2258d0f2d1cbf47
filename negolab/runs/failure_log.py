"""The log of a run: the traceback of every game that a player's code failed."""

from __future__ import annotations

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from negolab._internal.files import open_for_append
from negolab.match import Match

FILE = "errors.log"


def log_failure(folder: Path, match: Match, error: BaseException) -> None:
    """Append a game that a player failed to the run's log, with the traceback.

    It is one write, so that the lines of several processes do not mix.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    asked = " and ".join(match.pending()) or "nobody"
    players = ", ".join(f"{seat} = {name}" for seat, name in match.players.items())
    head = f"{now} game {match.id} (seed {match.seed}), {players}; asked: {asked}\n"
    text = head + "".join(traceback.format_exception(error)) + "\n"
    out = open_for_append(folder / FILE)
    try:
        os.write(out, text.encode("utf-8", "replace"))
    finally:
        os.close(out)
