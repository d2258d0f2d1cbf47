"""What the tests of tables share: a seat's controls, what a page sends to them, and what was played."""

from __future__ import annotations

from typing import Any

import ipywidgets as w
from negolab_widgets import HumanSeat

from negolab.events import Replied
from negolab.match import Match


def controls(seat: HumanSeat) -> Any:
    return seat._controls


def actions(seat: HumanSeat) -> list[Any]:
    """What the person's replies were read as, in order."""
    match, found = seat._match, []
    replay = Match(match.game, start=match.events[0].state)
    for event in match.events:
        if isinstance(event, Replied):
            if event.seat == seat._seat:
                found.append(replay.told(event.seat).parse(event.reply.text, replay.seen(event.seat)))
            replay.submit(event.seat, event.reply)
    return found


def enter(control: w.Widget, value: Any) -> None:
    control.set_state({"value": value})


def visible(widget: w.Widget) -> bool:
    return bool(widget.layout.display != "none")
