"""What stands before a seat and the controls by which it answers: made once, drawn again from what the seat sees.

A control is no gate: a disabled one can be pressed and a value rewritten from the browser. All that a control does is
to put a reply together; the match reads it like any other and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.game import Observation
from negolab_widgets import html


class Desk:
    """What controls are given by the seat they belong to.

    `play(text)` sends a reply; `guard(work)` wraps a callback so that a fault shows one plain sentence; `log` shows
    what was said so far, as the game's prompts or its front word it.
    """

    def __init__(self, play: Callable[[str], None], guard: Callable[..., Callable[..., None]], log: w.HTML) -> None:
        self.play, self.guard, self.log = play, guard, log


class Slip(NamedTuple):
    """An own reply that was not accepted, and why."""

    text: str
    reason: str


class Controls:
    """A subclass builds its widgets once in `build` (into `main` and `side`), and sets their state in `draw` from
    `self.seen` and `self.asked`. `taken` is called when a reply of its own was accepted, to clear what was entered.
    `slip` is the last reply that was not; `left` says how many more may go wrong now, None if any number may."""

    def __init__(self, game: AnyGame, seen: Observation[Any, Any], desk: Desk) -> None:
        self.game, self.seen, self.desk = game, seen, desk
        self.seat = seen.seat
        self.asked = False
        self.left: int | None = None
        self.slip: Slip | None = None
        self._just_refused = False
        self.notice = self.new_notice()
        self._beside = self.notice
        self.main, self.side = column(), column()
        self.build()

    # What a game's table writes.

    def build(self) -> None:
        """Make the widgets."""
        raise NotImplementedError

    def draw(self) -> None:
        """Set them from `self.seen`; controls are enabled exactly if `self.asked`."""
        raise NotImplementedError

    def taken(self) -> None:
        """A reply was accepted: clear what was entered."""

    # What it has for that.

    def button(self, text: str, work: Callable[[], None], *, cls: str = "", hint: str = "") -> w.Button:
        """A button whose press calls `work`."""
        button = w.Button(description=text, tooltip=hint or None)
        button.on_click(lambda _: self.desk.guard(work)())
        if cls:
            button.add_class(cls)
        return button

    def on_change(self, control: w.Widget, work: Callable[[], None] | None = None, trait: str = "value") -> None:
        """When a control's value changes, a refusal of what stood there before goes away and `work` is called."""

        def changed() -> None:
            self._quiet()
            if work is not None:
                work()

        control.observe(lambda _: self.desk.guard(changed)(), trait)

    def say(self, text: str, beside: w.HTML | None = None) -> None:
        """Send a reply; should it be refused, the reason is shown `beside` the control that caused it."""
        self._quiet()
        self._beside = self.notice if beside is None else beside
        self.desk.play(text)

    def act(self, action: Any, beside: w.HTML | None = None) -> None:
        """Send a typed action as its words."""
        self.say(self.game.say(action), beside)

    def refuse(self, reason: str, beside: w.HTML | None = None) -> None:
        """Show why nothing was done, where it was tried."""
        if beside is not None:
            self._quiet()
            self._beside = beside
        self._beside.value = warning(reason)

    def new_notice(self) -> w.HTML:
        """A place for a refusal, to stand beside a control."""
        return w.HTML(warning(""))

    # What the seat calls.

    def update(self, seen: Observation[Any, Any], *, asked: bool, left: int | None = None) -> None:
        """A refusal stands until something happened at the table after it."""
        if seen.public != self.seen.public and not self._just_refused:
            self._quiet()
        self._just_refused = False
        self.seen, self.asked, self.left = seen, asked, left
        self.draw()

    def accepted(self) -> None:
        self.slip = None
        self._quiet()
        self.taken()

    def rejected(self, text: str, reason: str) -> None:
        self.slip = Slip(text, reason)
        self._just_refused = True
        self.refuse(reason)

    def _quiet(self) -> None:
        for notice in {self._beside, self.notice}:
            notice.value = warning("")


def warning(text: str) -> html.Markup:
    """A refusal or a fault, read aloud when it appears; its place is kept while it is empty."""
    return html.element("div", text, cls="nl-notice", role="alert")


def slipped(slip: Slip, most: int = 300) -> html.Markup:
    """Which own message was not accepted, and why."""
    text = slip.text if len(slip.text) <= most else slip.text[:most] + "..."
    return html.element("div", "Your message was:", html.said(text), html.element("div", slip.reason, cls="nl-due"))


def column(*children: w.Widget) -> w.VBox:
    """Widgets below each other, with air between them."""
    box = w.VBox(list(children))
    box.add_class("nl-column")
    return box


def row(*children: w.Widget) -> w.Box:
    """Widgets beside each other, wrapping where there is no room."""
    box = w.Box(list(children))
    box.add_class("nl-row")
    return box


def framed(*children: w.Widget) -> w.VBox:
    """Controls that belong together, on a panel of their own."""
    box = column(*children)
    box.add_class("nl-panel")
    return box


def shown_if(widget: w.Widget, visible: bool) -> None:
    """Take a widget off the page or put it back."""
    wanted = None if visible else "none"
    if widget.layout.display != wanted:
        widget.layout.display = wanted
