"""The scenes of the participant's page: what each one shows, and what its buttons ask the host for."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from itertools import groupby
from typing import Any, Protocol

import anywidget
import ipywidgets as w
import traitlets as t
from typing_extensions import override

from negolab.studies.client import HostSeat
from negolab.studies.page_state import Playing, Shown, Waiting
from negolab.studies.session import NotDelivered
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import Markup, element, join
from negolab_widgets.play.countdown import Countdown
from negolab_widgets.play.seat import SeatWidget
from negolab_widgets.tables.controls import column, row, set_visible, warning


class SendAct(Protocol):
    """Asks the host for something; `NotDelivered` says why it was not done."""

    def __call__(self, kind: str, /, **details: Any) -> None: ...


class SceneView:
    """Base class: a subclass makes its widgets in `build` and brings them up to date in `update`.

    `notice` shows why a click did nothing.
    """

    def __init__(self, scene: Any, do: SendAct) -> None:
        self.scene, self.do = scene, do
        self.notice = w.HTML(warning(""))
        self.guard = FaultGuard("a study's page", expected=(NotDelivered,), show=self.refuse)
        self.box = column(*self.build())
        self.update(scene)

    @classmethod
    def key(cls, scene: Any) -> Hashable:
        """Return what identifies the scene: as long as it is the same the view stays, with all that was entered."""
        return type(scene).__name__

    def may_leave(self, scene: Any) -> bool:
        """Return True if the page offers to leave the study now; those who have finished it cannot."""
        return True

    def build(self) -> list[w.Widget]:
        """Make the widgets from `self.scene`."""
        raise NotImplementedError

    def update(self, scene: Any) -> None:
        """Show the same scene, told anew by the host."""

    def refuse(self, why: str) -> None:
        """Show why nothing was done."""
        self.notice.value = warning(why)

    def button(self, text: str, work: Callable[[], Any], *, cls: str = "") -> w.Button:
        """Make a button; why its `work` was not done is shown in the notice."""
        button = self.guard.button(text, work)
        if cls:
            button.add_class(cls)
        return button


def heading(scene: Shown, text: str) -> w.HTML:
    """Render the study's title and this page's."""
    return w.HTML(html.join([html.element("div", scene.title, cls="nl-study", dir="auto"), html.element("h1", text)]))


def reading_panel(*children: w.Widget) -> w.VBox:
    """Put text to read on a panel."""
    box = column(*children)
    box.add_class("nl-panel")
    return box


CLOCK_TEXTS = {
    "reply": "{left} left for your answer",
    "match": "{left} left for this match",
    "onward": "{left} left to go on",
}


class PlayingView(SceneView):
    """A match at its table, below the round, the clock and the button to go on.

    The table stays as long as the match is the same, so that nothing a participant writes is lost.
    """

    def __init__(self, scene: Playing, do: SendAct, chair: Callable[[], HostSeat]) -> None:
        self._chair = chair
        super().__init__(scene, do)

    @classmethod
    @override
    def key(cls, scene: Playing) -> Hashable:
        return scene.match

    @override
    def may_leave(self, scene: Playing) -> bool:
        return bool(scene.label) or not scene.onward

    @override
    def build(self) -> list[w.Widget]:
        self._label = w.HTML()
        self._clock = Countdown(urgent=True, over="Time is up.")
        self._next = self.button("", lambda: self.do("next"), cls="nl-primary")
        # A game's own last words may sound as if nothing more were to be done.
        self._over = w.HTML(html.element("span", "This match is over. The next step is behind this button:"))
        self._strip = row(self._label, self._clock, self._over, self._next)
        self._strip.add_class("nl-strip")
        return [self._strip, self.notice, SeatWidget(self._chair(), title=self.scene.title)]

    @override
    def refuse(self, why: str) -> None:
        super().refuse(why)
        set_visible(self.notice, bool(why))

    @override
    def update(self, scene: Playing) -> None:
        set_visible(self.notice, False)
        self._label.value = html.element("span", scene.label, cls="nl-badge") if scene.label else ""
        self._next.description = scene.onward
        if scene.left is not None:
            self._clock.start(scene.left, words=CLOCK_TEXTS.get(scene.limit, "{left} left"))
        set_visible(self._label, bool(scene.label))
        set_visible(self._clock, scene.left is not None)
        set_visible(self._over, bool(scene.onward))
        set_visible(self._next, bool(scene.onward))
        set_visible(self._strip, bool(scene.label or scene.onward) or scene.left is not None)


class WaitingView(SceneView):
    """The waiting room: for how long already, and for how long at most."""

    @override
    def build(self) -> list[w.Widget]:
        self._clock = Countdown(words="You have waited {gone} of at most {total}.", over="The waiting time is over.")
        said = html.join(
            [
                html.element("p", "Waiting for another participant.", cls="nl-strong", role="status"),
                html.element("p", "Keep this page open: it goes on by itself as soon as somebody comes."),
            ]
        )
        return [heading(self.scene, "Please wait"), reading_panel(w.HTML(said), self._clock), self.notice]

    @override
    def update(self, scene: Waiting) -> None:
        self._clock.start(scene.left, total=scene.waited + scene.left)


_ESM = """
export default {
  render({ model, el }) {
    const code = document.createElement("output");
    const button = document.createElement("button");
    const said = document.createElement("span");
    code.className = "nl-code";
    code.textContent = model.get("code");
    button.type = "button";
    button.className = "jupyter-button nl-copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the code");
    said.setAttribute("role", "status");
    const select = () => {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    };
    // The clipboard of the browser is there on https only; the older way works everywhere.
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(model.get("code"));
        return true;
      } catch {
        select();
        return document.execCommand("copy");
      }
    };
    button.addEventListener("click", async () => {
      said.textContent = (await copy()) ? "Copied." : "Please select the code and copy it yourself.";
    });
    el.classList.add("nl-code-line");
    el.append(code, button, said);
  },
};
"""


class CompletionCode(anywidget.AnyWidget):
    """A completion code, large and selectable, with a button that copies it; it cannot be changed from the page."""

    _esm = _ESM
    code = t.Unicode("").tag(sync=True)


_BULLET = "- "


def render_prose(text: str) -> Markup:
    """Render a study's own text: blank lines part paragraphs, lines that begin with "- " make a list; markup is
    escaped."""
    blocks = re.split(r"\n[ \t]*\n", text.strip())
    return element(
        "div", join(part for block in blocks for part in _render_block(block)), cls="nl-prose-text", dir="auto"
    )


def _render_block(block: str) -> Iterator[Markup]:
    for is_item, lines in groupby(_join_continued_lines(block), key=lambda line: line.startswith(_BULLET)):
        if is_item:
            yield element("ul", *(element("li", line.removeprefix(_BULLET)) for line in lines))
        else:
            yield from (element("p", line) for line in lines if line)


def _join_continued_lines(block: str) -> list[str]:
    """Join each line with those that continue it."""
    found: list[str] = []
    for line in map(str.strip, block.split("\n")):
        if not found or line.startswith(_BULLET):
            found.append(line)
        else:
            found[-1] = f"{found[-1]} {line}"
    return found


class ConsentView(SceneView):
    """The text to agree to; who does not take part leaves."""

    @override
    def may_leave(self, scene: Any) -> bool:
        return False

    @override
    def build(self) -> list[w.Widget]:
        agree = self.button("I agree and take part", lambda: self.do("consent", agreed=True), cls="nl-primary")
        decline = self.button("I do not take part", lambda: self.do("consent", agreed=False))
        text = reading_panel(w.HTML(render_prose(self.scene.text)))
        return [heading(self.scene, "Your consent"), text, row(agree, decline), self.notice]


class InstructionsView(SceneView):
    """The instructions and the Start button."""

    @override
    def build(self) -> list[w.Widget]:
        start = self.button("Start", lambda: self.do("start"), cls="nl-primary")
        begins = w.HTML(html.element("p", "It begins as soon as you press Start."))
        text = reading_panel(w.HTML(render_prose(self.scene.text)))
        return [heading(self.scene, "Instructions"), text, begins, start, self.notice]


class ClosedView(SceneView):
    """The end and the completion code."""

    @override
    def may_leave(self, scene: Any) -> bool:
        return False

    @override
    def build(self) -> list[w.Widget]:
        parts: list[Any] = [heading(self.scene, "The end"), reading_panel(w.HTML(render_prose(self.scene.text)))]
        if self.scene.code:
            parts += [w.HTML(html.element("h2", "Your completion code")), CompletionCode(code=self.scene.code)]
        return parts
