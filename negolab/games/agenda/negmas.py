"""The agenda as NegMAS sees it: the same issues, with utilities from 0 to 1, and one step per message."""

from __future__ import annotations

from typing import Any

from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.state import Agreement, Message, Seen, seen_by_author
from negolab.players.negmas import Move


def domain(game: Agenda, seen: Seen) -> dict[str, Any]:
    """Return the issues with the seat's points, scaled; with a discount, 0 stays 0, because the discount multiplies
    points."""
    discount, table = float(game.discounting(1)), seen.private.points
    low, high = sum(map(min, table)), sum(map(max, table))
    floors = [min(row) if discount == 1 else 0 for row in table]
    span = (high - low if discount == 1 else max(abs(low), abs(high))) or 1
    issues = [
        {
            "name": issue.name,
            "size": issue.size,
            "utilities": [(points - floor) / span for points in row],
            **({"low": 0} if issue.options is None else {"options": issue.options}),
        }
        for issue, row, floor in zip(game.agenda, table, floors, strict=True)
    ]
    reservation = (seen.private.reservation - sum(floors)) / span
    about = {"steps": game.turns, "discount": discount, "no_deal_is_discounted": True}
    return {"issues": issues, "reservation": reservation, **about}


def heard(game: Agenda, seen: Seen) -> list[Agreement | None]:
    """Return each message's offer."""
    return [entry.offer for entry in seen.public.messages]


def act(game: Agenda, seen: Seen, move: Move) -> Message | None:
    """Return the message for a move; if it is impossible, reject, or else ask for an offer, or else walk away."""
    if isinstance(move, tuple) and not game.is_last(seen.public):
        return Message(offer=seen_by_author(seen.seat, game.agenda, move))
    if move == "accept" and seen.public.standing is not None:
        return Message("accept")
    if move == "end" and game.walk_away:
        return Message("walk away")
    options = game.options(seen)
    return next((option for option in options if option.offer is None and option.reply != "accept"), None)
