"""The base class of tables, made once for a seat and redrawn from what it sees, and the widgets that tables share.

A control is no gate: a disabled one can be pressed and a value rewritten from the browser. All that a control does is
to compose a reply; the match reads it like any other and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ipywidgets as w

from negolab.catalog import AnyGame
from negolab.game import Observation, Seat
from negolab_widgets import html


class ControlsContext:
    """The seat as its controls use it.

    `send(text)` sends a reply; `guard(work)` runs a callback so that a fault shows one plain sentence; `log` shows the
    conversation so far, as the game's prompts or its front word it.
    """

    def __init__(self, send: Callable[[str], None], guard: Callable[[Callable[[], None]], None], log: w.HTML) -> None:
        self.send, self.guard, self.log = send, guard, log


class RejectedReply(NamedTuple):
    """The seat's own reply that was not accepted, and why."""

    text: str
    reason: str


class Table:
    """Base class of a game's table: what stands before a seat, and the controls by which it answers.

    A subclass builds its widgets once in `build` (into `main` and `side`), sets their state in `draw` from `self.seen`
    and `self.asked`, and clears what was entered in `clear_input`. It may word `role`, `clock` and `render`.

    Attributes:
        game: The game as this seat may know it.
        seen: The seat's observation.
        asked: The seat is on turn.
        left: Invalid replies that are still allowed now; None for any number.
        rejection: The last reply of the seat, if it was not accepted.
    """

    def __init__(self, game: AnyGame, seen: Observation[Any, Any], context: ControlsContext) -> None:
        self.game, self.seen, self.context = game, seen, context
        self.seat = seen.seat
        self.asked = False
        self.left: int | None = None
        self.rejection: RejectedReply | None = None
        self._just_refused = False
        self.notice = self.new_notice()
        self._beside = self.notice
        self.main, self.side = column(), column()
        self.build()

    # What a game's table writes.

    @staticmethod
    def role(game: Any, seat: Seat) -> str:
        """Return what the seat is called, such as "the buyer"."""
        return f"seat {seat}"

    @staticmethod
    def clock(game: Any, seen: Any) -> str:
        """Return how far the match is, such as "Round 3 of 6"; "" if nothing counts."""
        return ""

    @staticmethod
    def render(game: Any, seen: Any) -> html.Markup:
        """Render all that stands before the seat, without controls, for replays and notebooks."""
        told = html.panel("What you were told", html.preformatted(game.prompt(seen, None)))
        return html.join([render_facts(game, seen), told])

    def build(self) -> None:
        """Make the widgets."""
        raise NotImplementedError

    def draw(self) -> None:
        """Set the widgets from `self.seen`; controls are enabled exactly if `self.asked`."""
        raise NotImplementedError

    def clear_input(self) -> None:
        """Clear what was entered, after a reply was accepted."""

    # What it has for that.

    def button(self, text: str, work: Callable[[], None], *, cls: str = "", hint: str = "") -> w.Button:
        """Make a button whose press calls `work`."""
        button = w.Button(description=text, tooltip=hint or None)
        button.on_click(lambda _: self.context.guard(work))
        if cls:
            button.add_class(cls)
        return button

    def on_change(self, control: w.Widget, work: Callable[[], None] | None = None, trait: str = "value") -> None:
        """Clear the last refusal and call `work` when a control's value changes."""

        def changed() -> None:
            self._clear_notices()
            if work is not None:
                work()

        control.observe(lambda _: self.context.guard(changed), trait)

    def on_enter(self, field: w.Text, work: Callable[[], None]) -> None:
        """Call `work` when Enter is pressed in a field of one line."""

        def received(_: Any, content: Any, __: Any) -> None:
            if isinstance(content, dict) and content.get("event") == "submit":
                self.context.guard(work)

        field.on_msg(received)

    def say(self, text: str, beside: w.HTML | None = None) -> None:
        """Send a reply; should it be refused, show the reason `beside` the control that caused it."""
        self._clear_notices()
        self._beside = self.notice if beside is None else beside
        self.context.send(text)

    def act(self, action: Any, beside: w.HTML | None = None) -> None:
        """Send a typed action as its words."""
        self.say(self.game.say(action), beside)

    def refuse(self, reason: str, beside: w.HTML | None = None) -> None:
        """Show why nothing was done, where it was tried."""
        if beside is not None:
            self._clear_notices()
            self._beside = beside
        self._beside.value = warning(reason)

    def new_notice(self) -> w.HTML:
        """Make a place for refusals, to stand beside a control."""
        return w.HTML(warning(""))

    # What the seat calls.

    def update(self, seen: Observation[Any, Any], *, asked: bool, left: int | None = None) -> None:
        """Redraw; a refusal is shown until something happens at the table after it."""
        if seen.public != self.seen.public and not self._just_refused:
            self._clear_notices()
        self._just_refused = False
        self.seen, self.asked, self.left = seen, asked, left
        self.draw()

    def on_accepted(self) -> None:
        self.rejection = None
        self._clear_notices()
        self.clear_input()

    def on_rejected(self, text: str, reason: str) -> None:
        self.rejection = RejectedReply(text, reason)
        self._just_refused = True
        self.refuse(reason)

    def _clear_notices(self) -> None:
        for notice in {self._beside, self.notice}:
            notice.value = warning("")


def render_facts(game: AnyGame, seen: Observation[Any, Any]) -> html.Markup:
    """Render what the seat alone knows."""
    return html.panel("What you know", html.facts(game.facts(seen)))


def warning(text: str) -> html.Markup:
    """Render a refusal or a fault, read aloud when it appears; its place is kept while it is empty."""
    return html.element("div", text, cls="nl-notice", role="alert")


def render_rejected(slip: RejectedReply, most: int = 300) -> html.Markup:
    """Render a reply that was not accepted, and why."""
    text = slip.text if len(slip.text) <= most else slip.text[:most] + "..."
    return html.element(
        "div", "Your message was:", html.preformatted(text), html.element("div", slip.reason, cls="nl-due")
    )


def column(*children: w.Widget) -> w.VBox:
    """Put widgets below each other, with space between them."""
    box = w.VBox(list(children))
    box.add_class("nl-column")
    return box


def row(*children: w.Widget) -> w.Box:
    """Put widgets beside each other, wrapping where there is no room."""
    box = w.Box(list(children))
    box.add_class("nl-row")
    return box


def framed(*children: w.Widget) -> w.VBox:
    """Put controls that belong together on a panel."""
    box = column(*children)
    box.add_class("nl-panel")
    return box


def set_visible(widget: w.Widget, visible: bool) -> None:
    """Show a widget or take it off the page."""
    wanted = None if visible else "none"
    if widget.layout.display != wanted:
        widget.layout.display = wanted


class ReplyBox:
    """A box to type a reply in; what was typed stays until it is accepted, and what `check` finds wrong is not sent."""

    def __init__(
        self,
        controls: Table,
        *,
        text: str = "Your message",
        send: str = "Send message",
        primary: bool = True,
        check: Callable[[str], str] = lambda text: "",
    ) -> None:
        self._controls, self._check = controls, check
        # Sent as a whole when the box is left, so that a press on the button cannot come before the last letters.
        self.box = w.Textarea(description=text, rows=3, placeholder="Write your reply here.", continuous_update=False)
        self.notice = controls.new_notice()
        controls.on_change(self.box)
        self.button = controls.button(send, self._send, cls="nl-primary" if primary else "")
        self.widget = column(self.box, self.notice, self.button)

    def draw(self, *, asked: bool) -> None:
        self.box.disabled = self.button.disabled = not asked

    def clear(self) -> None:
        self.box.value = ""

    def _send(self) -> None:
        fault = self._check(self.box.value) if self._controls.asked else ""
        if fault:
            self._controls.refuse(fault, self.notice)
        else:
            self._controls.say(self.box.value, self.notice)


class Collapsible:
    """A button that shows and hides a widget; `on_open` is called when it opens."""

    def __init__(self, controls: Table, text: str, inner: w.Widget, on_open: Callable[[], None] | None = None) -> None:
        self._text, self._inner, self._on_open = text, inner, on_open
        self._button = controls.button("", self._turn, cls="nl-link")
        self.widget = column(self._button, inner)
        self._show(False)

    @property
    def is_open(self) -> bool:
        return bool(self._inner.layout.display != "none")

    def _turn(self) -> None:
        self._show(not self.is_open)
        if self.is_open and self._on_open is not None:
            self._on_open()

    def _show(self, is_open: bool) -> None:
        self._inner.layout.display = None if is_open else "none"
        self._button.description = ("Hide: " if is_open else "Show: ") + self._text
