"""The message of a round: words, or nothing."""

from __future__ import annotations

import ipywidgets as w

from negolab.game import Invalid
from negolab.games.split.position import Message, Seen
from negolab.games.split.rules import Split
from negolab_widgets.tables.controls import Controls, column, row


class Speech:
    """What would not arrive as it was written is said and not sent: a slip costs a message."""

    def __init__(self, controls: Controls, game: Split) -> None:
        self._controls, self._game = controls, game
        # Sent as a whole when the box is left, so that a press on a button cannot come before the last letters.
        self.words = w.Textarea(description="Your message", rows=2, continuous_update=False)
        controls.on_change(self.words)
        self.words.placeholder = f"At most {game.max_chars} characters."
        self.notice = controls.new_notice()
        self.send = controls.button("Send message", self._send, cls="nl-primary")
        self.skip = controls.button("Say nothing", lambda: self._say(""))
        self.widget = column(self.words, self.notice, row(self.send, self.skip))

    def draw(self, *, asked: bool) -> None:
        due = asked and self._seen.public.phase == "talk"
        for control in (self.words, self.send, self.skip):
            control.disabled = not due

    def clear(self) -> None:
        self.words.value = ""

    @property
    def _seen(self) -> Seen:
        return self._controls.seen

    def _send(self) -> None:
        words = self.words.value.strip()
        if words or not self._controls.asked:
            self._say(words)
        else:
            self._refuse("There is nothing to send yet: write a message, or say nothing.")

    def _say(self, words: str) -> None:
        text = self._game.say(Message(words))
        if self._controls.asked and (fault := self._fault(words, text)):
            self._refuse(fault)
        else:
            self._controls.say(text, self.notice)

    def _fault(self, words: str, text: str) -> str:
        """Why these words would not arrive as they are; "" if they would."""
        if self._seen.public.phase != "talk":
            return "The talk of this round is over: say what you keep."
        read = self._game.parse(text, self._seen)
        if isinstance(read, Invalid) and "too_long" in read.codes:
            return read.reason
        if read != Message(words):
            return "Your message holds a tag such as <message> or <think>, which would be cut out: leave it away."
        return ""

    def _refuse(self, reason: str) -> None:
        self._controls.refuse(reason, self.notice)
