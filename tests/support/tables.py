"""A person's page at a table: what a browser sends to it, and what it shows; the test plays whoever sits across."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import ipywidgets as w
from negolab_widgets import HumanSeat
from negolab_widgets.page import take

from negolab.events import Replied
from negolab.game import Seat, other
from negolab.match import Match
from negolab.protocols import Player


def below(widget: w.Widget) -> list[w.Widget]:
    """A widget and all widgets in it."""
    inner = [child for part in getattr(widget, "children", ()) for child in below(part)]
    return [widget, *inner, *([widget.layout] if hasattr(widget, "layout") else [])]


def state(widget: w.Widget) -> str:
    """Everything that a browser can request: the synchronised state of every widget."""
    return json.dumps([part.get_state() for part in below(widget)], default=str)


def stable_state(widget: w.Widget) -> str:
    """The same without the widgets' ids, which are hexadecimal digits by chance."""
    return re.sub(r"IPY_MODEL_[0-9a-f]+", "IPY_MODEL", state(widget))


def drawn_html(widget: w.Widget) -> str:
    return "".join(part.value for part in below(widget) if isinstance(part, w.HTML))


def words_of(widget: w.Widget) -> str:
    """The values of all widgets that are texts."""
    return " ".join(str(part.value) for part in below(widget) if isinstance(getattr(part, "value", None), str))


def plain(markup: str) -> str:
    """The words of a piece of HTML."""
    return " ".join(re.sub("<[^>]+>", " ", markup).split())


def press(table: w.Widget, text: str) -> None:
    """Press the one button of that name, shown or not."""
    (button,) = [p for p in below(table) if isinstance(p, w.Button) and p.description == text]
    button.click()


def visible(widget: w.Widget) -> bool:
    return bool(widget.layout.display != "none")


class SeatPage:
    """A person's page at a match."""

    def __init__(self, match: Match, seat: Seat = "A", others: Mapping[Seat, Player] | None = None) -> None:
        self.match, self.seat = match, seat
        self.widget = HumanSeat(match, seat, others or {})

    @property
    def table(self) -> Any:
        return self.widget._controls

    @property
    def card(self) -> Any:
        return self.widget._card

    @property
    def told(self) -> Any:
        """The game and the observation of this seat, as the functions of its view take them."""
        return self.match.told(self.seat), self.match.seen(self.seat)

    def press(self, text: str) -> None:
        press(self.widget, text)

    def hear(self, text: str) -> None:
        """Let the other seat reply."""
        self.match.submit(other(self.seat), text)
        self.widget._session.advance()

    def type(self, text: str) -> Any:
        """Send a reply from the box for typed ones; return the box with what is said beside it."""
        take(self.table._typed.box, text)
        self.table._typed.button.click()
        return self.table._typed

    def drawn(self) -> str:
        return drawn_html(self.widget)

    def state(self) -> str:
        return stable_state(self.widget)

    def replies(self) -> list[str]:
        """The texts of both seats, in order."""
        return [event.reply.text for event in self.match.events if isinstance(event, Replied)]

    def actions(self) -> list[Any]:
        """The actions that the person's replies were parsed to, in order."""
        parsed, replay = [], Match(self.match.game, start=self.match.events[0].state)
        for event in self.match.events:
            if isinstance(event, Replied):
                if event.seat == self.seat:
                    parsed.append(replay.told(event.seat).parse(event.reply.text, replay.seen(event.seat)))
                replay.submit(event.seat, event.reply)
        return parsed
