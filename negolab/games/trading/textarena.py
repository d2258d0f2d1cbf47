"""The turn rules of TextArena 0.7.4's SimpleNegotiation, under which its published games were played.

They differ from the written rules: a refused offer stays and may be accepted later, even by its proposer; silence
denies; one error per turn is forgiven, but its message is delivered; the game lasts one turn longer than it says.
"""

from __future__ import annotations

from collections.abc import Mapping

from negolab.game import Seat, State, other
from negolab.games.trading.state import Entry, Move, Offer, Position, Private, Public, covers, execute_trade


def delivered(text: str) -> str:
    """Return the text as TextArena delivers it: without its own tags, each removed in one pass."""
    for tag in ("[Player 0]", "[Player 1]", "[GAME]"):
        text = text.replace(tag, "")
    return text


class _Errors:
    """The moving seat's tolerated errors and notices during one message."""

    def __init__(self, own: Private) -> None:
        self.tolerated = own.errors
        self.notices = own.notices
        self.flag = False
        self.forfeit = False

    def add(self, code: str) -> None:
        self.notices += (code,)
        if self.tolerated < 1:
            self.tolerated += 1
            self.flag = True
        else:
            self.forfeit = True


def step(state: Position, seat: Seat, move: Move) -> Position:
    """Play one message; faults are handled here, because `parse` finds none."""
    public = state.public
    errors = _Errors(state.private[seat])
    private, trade, denied = _reply(state, seat, move, errors)
    waiting = None if trade is not None else public.waiting
    offer: Offer | None = None
    if not errors.forfeit:
        if move.malformed:
            errors.add("offer_format")
        elif move.offer is not None and not covers(private[seat].holdings, move.offer[0]):
            errors.add("offer_holdings")
        elif move.offer is not None:
            waiting = offer = Offer(seat, *move.offer)
    over = errors.forfeit or public.turn >= public.max_turns
    counted = not errors.flag
    entry = Entry(seat, delivered(move.text), trade, denied, offer)
    after = Public(
        public.turn + counted,
        public.max_turns,
        None if over else other(seat) if counted else seat,
        waiting,
        public.messages + (entry,),  # noqa: RUF005
        None if not over else "forfeit" if errors.forfeit else "limit",
        seat if errors.forfeit else None,
    )
    return State(after, _charged(private, seat, 0 if counted else errors.tolerated, errors.notices))


def _reply(
    state: Position, seat: Seat, move: Move, errors: _Errors
) -> tuple[Mapping[Seat, Private], Offer | None, bool]:
    """Apply the reply tokens to a waiting offer, whoever made it; return (private, trade, denied)."""
    waiting = state.public.waiting
    if waiting is None:
        return state.private, None, False
    if not move.accept:
        return state.private, None, True
    if not covers(state.private[seat].holdings, waiting.want):
        errors.add("accept_holdings")
        return state.private, None, False
    return execute_trade(state.private, waiting, seat), waiting, False


def _charged(private: Mapping[Seat, Private], seat: Seat, errors: int, notices: tuple[str, ...]) -> dict[Seat, Private]:
    own = private[seat]
    if own.errors == errors and own.notices == notices:
        return dict(private)
    return {**private, seat: Private(own.holdings, own.values, own.start, errors, notices)}
