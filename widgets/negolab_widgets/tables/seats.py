"""The tables of both seats at one moment of a match, beside each other."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.game import SEATS, Seat, Seen
from negolab_widgets.html import Markup, element
from negolab_widgets.layout import box, show
from negolab_widgets.tables import table


def seat_name(game: AnyGame, seat: Seat) -> str:
    """Return the role of a seat, such as `seller`; its letter where the game has no other name for it."""
    role = " ".join(table(game).role(game, seat).split()).removeprefix("the ")
    return seat if role.endswith(f" {seat}") else role


def role_name(game: AnyGame, seat: Seat) -> str:
    """Return a seat as part of a sentence: `the seller`, or `seat A` where the game has no name for it."""
    name = seat_name(game, seat)
    return f"seat {seat}" if name == seat else f"the {name}"


def render_seat(told: AnyGame, seen: Seen) -> Markup:
    """Render a seat's table; `told` is the game as the seat may know it."""
    looks = table(told)
    name, clock = seat_name(told, seen.seat), looks.clock(told, seen)
    title = f"Seat {seen.seat} sees" if name == seen.seat else f"Seat {seen.seat}, the {name}, sees"
    head = element("h2", title, element("span", clock, cls="nl-clock"), cls="nl-seat")
    return element("div", head, looks.render(told, seen), cls=f"nl-view nl-view-{seen.seat.lower()}")


def render_seats(game: AnyGame, seen: Mapping[Seat, Seen]) -> Markup:
    """Render these seats' tables beside each other: each shows what the other seat may not see."""
    views = (render_seat(game.told(seat), one) for seat, one in seen.items())
    return element("div", *views, cls="nl-columns nl-halves")


class SeatTables:
    """The tables as a widget."""

    def __init__(self) -> None:
        self._tables = {seat: w.HTML() for seat in SEATS}
        self._games: dict[Seat, AnyGame] = {}
        self.widget = box(*self._tables.values(), cls="nl-columns nl-halves")

    def set_game(self, game: AnyGame) -> None:
        """Show a match of this game from now on; each seat's table gets the game as told to that seat."""
        self._games = {seat: game.told(seat) for seat in SEATS}

    def show(self, seen: Mapping[Seat, Seen]) -> None:
        """Show what these seats see."""
        for seat, shown in self._tables.items():
            show(shown, render_seat(self._games[seat], seen[seat]) if seat in seen else "")
