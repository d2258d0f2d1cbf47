"""What a typed reply of trading would lose the match by."""

from __future__ import annotations

from negolab.game import Invalid
from negolab.games.trading import Trading
from negolab.games.trading.goods import covers, swap
from negolab.games.trading.position import Move, Seen


def losing(game: Trading, seen: Seen, text: str, left: int | None) -> str:
    """Why the match would be lost by this reply; "" if it would not or if it can be mended."""
    read = game.parse(text, seen)
    if isinstance(read, Invalid):
        return read.reason if left == 0 else ""
    found = _tolerated(seen, read) if game.lenient else []
    return found[-1] if seen.private.errors + len(found) > 1 else ""


def _tolerated(seen: Seen, move: Move) -> list[str]:
    """The faults of a message by TextArena's rules, of which one a turn is forgiven."""
    held, waiting, found = seen.private.holdings, seen.public.waiting, []
    if move.accept and waiting is not None:
        if not covers(held, waiting.want):
            found.append("You do not hold what the waiting offer asks for.")
        elif waiting.by != seen.seat:
            held = swap(held, waiting.want, waiting.give)
    if move.malformed:
        found.append("Your offer cannot be read.")
    elif move.offer is not None and not covers(held, move.offer[0]):
        found.append("You do not hold all that your offer gives.")
    return found
