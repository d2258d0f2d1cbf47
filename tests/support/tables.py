"""A seat's controls at a table, the values that a page sends to them, and the actions that were played."""

from __future__ import annotations

from typing import Any

import ipywidgets as w
from negolab_widgets import HumanSeat
from negolab_widgets.page import take

from negolab.events import Replied
from negolab.match import Match


def controls(seat: HumanSeat) -> Any:
    return seat._controls


def parsed_actions(seat: HumanSeat) -> list[Any]:
    """The actions that the person's replies were parsed to, in order."""
    match, parsed = seat._match, []
    replay = Match(match.game, start=match.events[0].state)
    for event in match.events:
        if isinstance(event, Replied):
            if event.seat == seat._seat:
                parsed.append(replay.told(event.seat).parse(event.reply.text, replay.seen(event.seat)))
            replay.submit(event.seat, event.reply)
    return parsed


def set_value(control: w.Widget, value: Any) -> None:
    take(control, value)


def visible(widget: w.Widget) -> bool:
    return bool(widget.layout.display != "none")
