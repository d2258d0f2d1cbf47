"""Why a call has no answer, by what it means for the game and for the run."""

from __future__ import annotations


class GameFailed(Exception):
    """This game cannot go on; others can. The text is the recorded reason, in one line, without keys."""


class GameTimedOut(GameFailed):
    """The game's own time limit came."""


class NoMove(GameFailed):
    """The model makes no move of this game. Its answers are kept: only other ones can end otherwise."""


class RunFailed(Exception):
    """No game can go on until the user has changed something; the text says what, in one line, without keys."""


class BudgetReached(RunFailed):
    """The next call could cost more than is left."""
