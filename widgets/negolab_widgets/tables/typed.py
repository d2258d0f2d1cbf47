"""A box to type a reply in."""

from __future__ import annotations

import ipywidgets as w

from negolab_widgets.tables.controls import Controls, column


class Typed:
    """A text box and its button. What was typed stays until it is accepted, so that it can be mended."""

    def __init__(self, controls: Controls, *, text: str = "Your message", send: str = "Send message") -> None:
        # Sent as a whole when the box is left, so that a press on the button cannot come before the last letters.
        self.box = w.Textarea(description=text, rows=3, placeholder="Write your reply here.", continuous_update=False)
        self.notice = controls.new_notice()
        self.button = controls.button(send, lambda: controls.say(self.box.value, self.notice), cls="nl-primary")
        self.widget = column(self.box, self.notice, self.button)

    def draw(self, *, asked: bool) -> None:
        self.box.disabled = self.button.disabled = not asked

    def clear(self) -> None:
        self.box.value = ""
