"""Scenes that are read: the consent, the instructions and the last page."""

from __future__ import annotations

from typing import Any

import ipywidgets as w
from typing_extensions import override

from negolab_widgets import html
from negolab_widgets.study.code import Code
from negolab_widgets.study.prose import prose
from negolab_widgets.study.view import View, heading, panel
from negolab_widgets.tables.controls import row


class ConsentView(View):
    """The text to agree to. Not to take part is the way to leave."""

    @override
    def leaving(self, scene: Any) -> bool:
        return False

    @override
    def build(self) -> list[w.Widget]:
        agree = self.button("I agree and take part", lambda: self.do("consent", agreed=True), cls="nl-primary")
        decline = self.button("I do not take part", lambda: self.do("consent", agreed=False))
        text = panel(w.HTML(prose(self.scene.text)))
        return [heading(self.scene, "Your consent"), text, row(agree, decline), self.notice]


class InstructionsView(View):
    """What awaits the participant, and the Start button."""

    @override
    def build(self) -> list[w.Widget]:
        start = self.button("Start", lambda: self.do("start"), cls="nl-primary")
        begins = w.HTML(html.element("p", "It begins as soon as you press Start."))
        text = panel(w.HTML(prose(self.scene.text)))
        return [heading(self.scene, "Instructions"), text, begins, start, self.notice]


class ClosedView(View):
    """How it ended, and the completion code."""

    @override
    def leaving(self, scene: Any) -> bool:
        return False

    @override
    def build(self) -> list[w.Widget]:
        parts: list[Any] = [heading(self.scene, "The end"), panel(w.HTML(prose(self.scene.text)))]
        if self.scene.code:
            parts += [w.HTML(html.element("h2", "Your completion code")), Code(code=self.scene.code)]
        return parts
