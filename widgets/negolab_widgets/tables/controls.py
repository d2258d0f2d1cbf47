"""The base class of tables, made once for a seat and redrawn from what it sees, and the widgets that tables share.

A control is no gate: a disabled one can be pressed and a value rewritten from the browser. All that a control does is
to compose a reply; the match reads it like any other and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import ipywidgets as w
from typing_extensions import override

from negolab.catalog import AnyGame
from negolab.game import Invalid, Observation, Seat
from negolab.studies.texts import refusal_text, table_texts
from negolab.texts import are_overridden
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard, Given
from negolab_widgets.layout import column, is_visible, row, set_visible, show, styled, warning
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation
from negolab_widgets.tables.decision import REFUSE, Decision
from negolab_widgets.tables.timeline import Timeline


class ControlsContext:
    """The seat as its controls use it.

    `send(text)` sends a reply; `guard` runs callbacks so that a fault shows one plain sentence; `log` shows the
    conversation so far, as the game's prompts or its front word it.
    """

    def __init__(self, send: Callable[[str], None], guard: FaultGuard, log: w.HTML) -> None:
        self.send, self.guard, self.log = send, guard, log


_WORDED = ("role", "clock", "rules", "facts", "decision", "outcome", "ending", "known", "timeline", "talk")


class RejectedReply(NamedTuple):
    """The seat's own reply that was not accepted, and why."""

    text: str
    reason: str


class Table:
    """Base class of a game's table: what stands before a seat, and the controls by which it answers.

    A subclass builds its widgets once in `build`: what the seat can do into `composer`, the buttons that answer an
    offer into `actions`; `past` holds what happened, the timeline and the talk. It sets their state in `draw` from
    `self.seen` and `self.asked`, and clears what was entered in `clear_input`. It may word `role`, `clock`, `rules`,
    `facts`, `decision`, `outcome`, `ending`, `known`, `timeline` and `talk`.

    Attributes:
        game: The game as this seat may know it.
        seen: The seat's observation.
        asked: The seat is on turn.
        left: Invalid replies that are still allowed now; None for any number.
        rejection: The last reply of the seat, if it was not accepted.
        compose: Words of the bar's button that goes to the controls of an own offer (of the class `COMPOSE`); "": none.
    """

    compose = ""

    def __init__(self, game: AnyGame, seen: Observation[Any, Any], context: ControlsContext) -> None:
        self.game, self.seen, self.context = game, seen, context
        self.seat = seen.seat
        self.asked = False
        self.left: int | None = None
        self.rejection: RejectedReply | None = None
        self._just_refused = False
        self._typed: ReplyBox | None = None
        self._message_boxes = list[w.Textarea]()
        self.notice = self.new_notice()
        self._beside = self.notice
        self.course, self.said = w.HTML(), w.HTML()
        self.past, self.composer = column(self.course, self.said, cls="nl-past"), column(cls="nl-composer")
        self.actions, self.help = row(), column()
        self.answer_notice = self.new_notice()
        self.build()

    # What a game's table writes.

    @override
    def __init_subclass__(cls, *, view: ModuleType | None = None, **more: Any) -> None:
        """Take what a table words from the functions of a module, if one is given."""
        super().__init_subclass__(**more)
        for name in _WORDED if view is not None else ():
            setattr(cls, name, staticmethod(getattr(view, name)))

    @staticmethod
    def role(game: Any, seat: Seat) -> str:
        """Return what the seat is called, such as "the buyer"."""
        return table_texts.ROLE.format(seat=seat)

    @staticmethod
    def clock(game: Any, seen: Any) -> str:
        """Return how far the match is, such as "Round 3 of 6"; "" if nothing counts."""
        return ""

    @staticmethod
    def rules(game: Any, seen: Any) -> Sequence[str]:
        """Return the rules for a person in a few sentences, the goal first; () shows the game's own text alone."""
        return ()

    @staticmethod
    def facts(game: Any, seen: Any) -> Sequence[tuple[str, object]]:
        """Return what the seat must have in view, as names and short values."""
        return ()

    @staticmethod
    def decision(game: Any, seen: Any) -> Decision:
        """Return what stands before the seat, for the bar that stays in view."""
        return Decision()

    @staticmethod
    def outcome(game: Any, seen: Any) -> str:
        """Return in a line what was agreed, or why nothing was; "" leaves it to the record of the match."""
        return ""

    @staticmethod
    def ending(game: Any, seen: Any) -> html.Markup:
        """Render how the match ended; empty while it runs."""
        return html.Markup()

    @staticmethod
    def known(game: Any, seen: Any) -> Sequence[object]:
        """Render what else the seat knows, for a table without controls; what is empty is left out."""
        told = html.panel(table_texts.TOLD, html.preformatted(game.prompt(seen, None)))
        return [render_facts(game, seen), told]

    @staticmethod
    def timeline(game: Any, seen: Any) -> Timeline | None:
        """Return the course of the offers, which is drawn once there is one; None where there is none to draw."""
        return None

    @staticmethod
    def talk(game: Any, seen: Any) -> Sequence[ConversationEntry] | None:
        """List what was said and done; None where nobody says anything."""
        return None

    @classmethod
    def render(cls, game: Any, seen: Any) -> html.Markup:
        """Render all that stands before the seat, without controls, for replays and notebooks."""
        facts = cls.facts(game, seen)
        parts = [
            cls.ending(game, seen) or cls.decision(game, seen).render(),
            html.panel(table_texts.WHAT_YOU_KNOW, html.pairs(facts)) if facts else "",
            *cls.known(game, seen),
            *cls._render_past(game, seen),
        ]
        return html.element("div", *filter(None, parts), cls="nl-stack")

    @classmethod
    def _render_past(cls, game: Any, seen: Any) -> tuple[html.Markup, html.Markup]:
        """Render the timeline and the talk, each empty if there is none."""
        drawn, entries = cls.timeline(game, seen), cls.talk(game, seen)
        said = render_conversation(entries or (), whole=bool(cls.ending(game, seen)))
        return (
            drawn.render() if drawn and drawn.rows else html.Markup(),
            html.Markup() if entries is None else html.panel(table_texts.SAID, said),
        )

    def build(self) -> None:
        """Make the widgets."""
        raise NotImplementedError

    def draw(self) -> None:
        """Set the widgets from `self.seen`; controls are enabled exactly if `self.asked`."""
        raise NotImplementedError

    def clear_input(self) -> None:
        """Clear what else was entered than messages, after a reply was accepted."""

    # What it has for that.

    def button(
        self, text: str, work: Callable[[*Given], object], *given: *Given, cls: str = "", hint: str = ""
    ) -> w.Button:
        """Make a button whose press calls `work`, with what it is given."""
        return self.context.guard.button(text, work, *given, cls=cls, tooltip=hint or None)

    def offer_typing(self, *above: w.Widget, **options: Any) -> ReplyBox:
        """Put a box for a reply in the game's own form, and the game's own log, behind the page's "?".

        A study with texts of its own shows neither. `above` stands above the box, which takes the `options`.
        """
        self._typed = ReplyBox(self, **options)
        words = Collapsible(self.button, table_texts.WORD_FOR_WORD, self.context.log).widget
        self._typing = column(column(*above, self._typed.widget), cls="nl-typed")
        self.help.children = [self._typing, words]
        for part in (self._typing.children[0], words):
            set_visible(part, not are_overridden())
        return self._typed

    def ask_first(self, text: str, work: Callable[[*Given], object], *given: *Given, key: bool = True) -> AskFirst:
        """Make a quiet button that ends the match once it is confirmed; with `key` it is what the key R presses."""
        asking = AskFirst(text, "", table_texts.END_YES, table_texts.END_NO, lambda: self.context.guard(work, *given))
        for button in (asking.button, asking.yes) if key else ():
            button.add_class(REFUSE)
        return asking

    def message_box(
        self, hint: str, label: str = "", *, rows: int = 1, changed: Callable[[], None] | None = None
    ) -> w.Textarea:
        """Make a box for words, which `changed` is told of once the box is left; an accepted reply clears it."""
        label = label or table_texts.YOUR_MESSAGE
        box = w.Textarea(description=label, placeholder=hint, rows=rows, continuous_update=False)
        self.on_change(box, changed)
        self._message_boxes.append(box)
        return box

    def on_change(self, control: w.Widget, work: Callable[[], None] | None = None) -> None:
        """Clear the last refusal and call `work` when a control's value changes."""
        self.context.guard.on_change(self._clear_notices, control)
        if work is not None:
            self.context.guard.on_change(work, control)

    def say(self, text: str, beside: w.HTML | None = None) -> None:
        """Send a reply; should it be refused, show the reason `beside` the control that caused it."""
        self._clear_notices()
        self._beside = self.notice if beside is None else beside
        self.context.send(text)

    def act(self, action: Any, beside: w.HTML | None = None) -> None:
        """Send an action that is read back as it is meant; otherwise show why not, beside its button."""
        if isinstance(action, Invalid):
            self.refuse(refusal_text(self.game, action), beside)
            return
        text = self.game.say(action)
        read = self.game.parse(text, self.seen)
        if not self.asked or read == action:
            self.say(text, beside)
        else:
            self.refuse(refusal_text(self.game, read) if isinstance(read, Invalid) else table_texts.NOT_NOW, beside)

    def refuse(self, reason: str, beside: w.HTML | None = None) -> None:
        """Show why nothing was done, where it was tried."""
        if beside is not None:
            self._clear_notices()
            self._beside = beside
        self._beside.value = warning(reason)

    def render_lost(self, loser: Seat | None) -> html.Markup:
        """Render the seat's last reply if it was not accepted and lost the match, "" if not."""
        slip = self.rejection if loser == self.seat else None
        return html.Markup() if slip is None else html.panel(table_texts.WHAT_ENDED, render_rejected(slip))

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
        if self._typed is not None:
            self._typed.box.disabled = self._typed.button.disabled = not asked
            set_visible(self._typing, bool(self.game.turn(seen.public)))
        for part, drawn in zip((self.course, self.said), self._render_past(self.game, seen), strict=True):
            show(part, drawn)

    def on_accepted(self) -> None:
        """Clear what was entered: the last reply was accepted."""
        self.rejection = None
        self._clear_notices()
        for box in self._message_boxes:
            box.value = ""
        self.clear_input()

    def on_rejected(self, text: str, reason: str) -> None:
        """Show why the reply `text` was not accepted."""
        self.rejection = RejectedReply(text, reason)
        self._just_refused = True
        self.refuse(reason)

    def _clear_notices(self) -> None:
        for notice in {self._beside, self.notice}:
            notice.value = warning("")


def render_facts(game: AnyGame, seen: Observation[Any, Any]) -> html.Markup:
    """Render what the seat alone knows."""
    return html.panel(table_texts.WHAT_YOU_KNOW, html.facts(game.facts(seen)))


def render_rejected(slip: RejectedReply) -> html.Markup:
    """Render a reply that was not accepted, of a long one its beginning, and why."""
    text = slip.text if len(slip.text) <= 300 else slip.text[:300] + "..."
    return html.element(
        "div", table_texts.MESSAGE_WAS, html.preformatted(text), html.element("div", slip.reason, cls="nl-due")
    )


def render_due(words: str) -> html.Markup:
    """Render what is to be done or heeded now; empty without words."""
    return html.element("div", words, cls="nl-due") if words else html.Markup()


class ReplyBox:
    """A box to type a reply in; what was typed stays until it is accepted, and what `check` finds wrong is not sent."""

    def __init__(
        self,
        controls: Table,
        *,
        text: str = "",
        send: str = "",
        primary: bool = True,
        check: Callable[[str], str] = lambda text: "",
    ) -> None:
        self._controls, self._check = controls, check
        self.box, self.notice = controls.message_box(table_texts.WRITE_REPLY, text, rows=3), controls.new_notice()
        self.button = controls.button(send or table_texts.SEND_MESSAGE, self._send, cls="nl-primary" if primary else "")
        self.widget = column(self.box, self.notice, self.button, cls="nl-reply")

    def _send(self) -> None:
        fault = self._check(self.box.value) if self._controls.asked else ""
        if fault:
            self._controls.refuse(fault, self.notice)
        else:
            self._controls.say(self.box.value, self.notice)


class AskFirst(w.VBox):  # type: ignore[misc]
    """A quiet button that asks for confirmation before it calls `work`.

    Args:
        text: The button's words.
        question: What is asked at first.
        yes, no: The answers.
        work: Called on the first answer.
    """

    def __init__(self, text: str, question: str, yes: str, no: str, work: Callable[[], None]) -> None:
        self.button = styled(w.Button(description=text), "nl-link")
        self.yes, back = w.Button(description=yes), w.Button(description=no)
        self._question = w.HTML()
        self.set_question(question)
        self._confirmation = styled(w.VBox([self._question, row(self.yes, back)]), "nl-panel")
        super().__init__([self.button, self._confirmation])
        self.add_class("nl-leaving")
        self.button.on_click(lambda _: set_visible(self._confirmation, not is_visible(self._confirmation)))
        back.on_click(lambda _: self.reset())
        self.yes.on_click(lambda _: self._confirm(work))
        self.reset()

    def set_question(self, text: str) -> None:
        """Ask this from now on."""
        self._question.value = html.element("p", text, role="status")

    def reset(self) -> None:
        """Start again from the first step."""
        set_visible(self._confirmation, False)

    def _confirm(self, work: Callable[[], None]) -> None:
        # A forged press of what is not shown is no answer to a question that was never asked.
        if is_visible(self._confirmation):
            self.reset()
            work()


class Collapsible:
    """A button that shows and hides a widget.

    Args:
        button: Makes a button from its words and what its press does.
        text: What is shown and hidden.
        inner: It.
        words: What the button says while it is hidden and while it is shown, with `text` in place of `{part}`.
    """

    def __init__(
        self, button: Callable[..., w.Button], text: str, inner: w.Widget, words: tuple[str, ...] = ()
    ) -> None:
        self._inner = inner
        self._words = [each.format(part=text) for each in words or (table_texts.SHOW, table_texts.HIDE)]
        self.button = button("", lambda: self.show(is_open=not is_visible(inner)), cls="nl-link")
        self.widget = column(self.button, inner)
        self.show(is_open=False)

    def show(self, *, is_open: bool = True) -> None:
        """Show the widget or hide it."""
        set_visible(self._inner, is_open)
        self.button.description = self._words[is_open]
