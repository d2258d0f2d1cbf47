"""A box to type a reply in."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w

from negolab_widgets.tables.controls import Controls, column


class Typed:
    """A text box and its button. What was typed stays until it is accepted, so that it can be mended. What `check`
    finds wrong with it is said and not sent."""

    def __init__(
        self,
        controls: Controls,
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
