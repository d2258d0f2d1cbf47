"""The manager's fixed sentences and boxes, word for word."""

from __future__ import annotations

from negolab.games.bargaining.money import money

QUESTION = "Do you accept, or would you like to make a counteroffer?"
LAST = "This is your last chance to make an offer."
FINAL_NOTE = "Any counteroffer now counts as a rejection."
FINAL_QUESTION = "This is the AI's final offer. Type 'accept' or 'reject'."
DONE = "The game is complete. You do not need to do anything else. Thank you for participating!"

_RULE = "━" * 30
_BOX = """\
══════════ GAME OVER ══════════

╔══════════════════════════════════════════════════╗
║                                                  ║
║            ✅  YOU ARE FINISHED  ✅               ║
║                                                  ║
║   This interview is now COMPLETE.                ║
║   You do not need to do anything else.           ║
║                                                  ║
║   Final Earnings:                                ║
║{human}║
║{ai}║
║                                                  ║
║   Thank you for participating!                   ║
║                                                  ║
╚══════════════════════════════════════════════════╝"""


def status(number: int, rounds: int, price: int, offerer: str) -> str:
    """The box below an offer of the AI."""
    lines = ["  BARGAINING STATUS", f"  Round {number} of {rounds}", f"  Last offer: {money(price)} by {offerer}"]
    return "\n".join([_RULE, *lines, _RULE])


def game_over(human: float, ai: float) -> str:
    """The ending; earnings in cents, 50 columns between the borders."""
    return _BOX.format(human=f"     Human: {money(human)}".ljust(50), ai=f"     AI: {money(ai)}".ljust(50))


def reprompt(lo: int, hi: int, reject_named: bool) -> str:
    """The one answer to every invalid reply."""
    ways = "'accept', 'reject', or" if reject_named else "'accept' or"
    return f"That's not a valid response. Please type {ways} enter a counteroffer between {money(lo)} and {money(hi)}."
