"""The controls of split: talk, then say what to keep."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w
from typing_extensions import override

from negolab.game import Invalid, other
from negolab.games.split.reading import SELECTION
from negolab.games.split.rules import Split
from negolab.games.split.state import EndTalk, Message, Proposal, Seen, Units
from negolab.games.split.words import WORDS
from negolab.studies.texts import refusal_text, table_texts
from negolab_widgets.fields import Stepper
from negolab_widgets.html import element
from negolab_widgets.layout import column, framed, set_visible, show, styled
from negolab_widgets.tables.controls import Table
from negolab_widgets.tables.decision import COMPOSE, SEND, UNSET, set_class
from negolab_widgets.tables.split import view
from negolab_widgets.tables.split.view import format_units, render_keep_value, values_of


class KeepEditor:
    """A slider and a number for every item type, and the value of keeping that much.

    All start at 0, because any other share that stood there would suggest itself. `chosen` says that one was moved, or
    that nothing is to be kept: a press too many must not ask for nothing. `changed` is called when that changes.
    """

    def __init__(self, controls: Table, game: Split, changed: Callable[[], None]) -> None:
        self._controls, self._game, self._changed = controls, game, changed
        names = [WORDS.item(item) for item in game.items]
        self.numbers = [
            Stepper(WORDS.KEEP.format(item=name), WORDS.TO_KEEP.format(item=name), has_slider=True) for name in names
        ]
        self.chosen = False
        for number in self.numbers:
            controls.on_change(number, self._chose)
            number.add_class("nl-share")
        self.nothing = controls.button(WORDS.KEEP_NOTHING, self._keep_nothing)
        self.widget = styled(w.VBox([*self.numbers, self.nothing]), "nl-goods")
        self.sum = styled(w.HTML(), "nl-sum")

    @property
    def keep(self) -> Units:
        return tuple(number.value for number in self.numbers)

    def clear(self) -> None:
        """Choose nothing."""
        for number in self.numbers:
            number.value = 0
        self.chosen = False

    def draw(self, *, enabled: bool) -> None:
        stock = self._seen.public.stock
        for at, number in enumerate(self.numbers):
            number.description = self._label(at)
            item = WORDS.item(self._game.items[at])
            number.text = WORDS.KEEP_OF.format(count="{value}", stock=stock[at], item=item)
            number.limit(stock[at])
            number.disabled = not enabled
            set_visible(number, stock[at] > 0)
        self.nothing.disabled = not enabled
        self.draw_sum()

    def draw_sum(self) -> None:
        """Show what this share would pay."""
        stock = self._seen.public.stock
        # What a page sends may be out of range; it is refused when it is sent.
        keep = tuple(min(units, most) for units, most in zip(self.keep, stock, strict=True))
        self.sum.value = render_keep_value(self._game, self._seen, keep if self.is_ready else None)

    @property
    def is_ready(self) -> bool:
        """True if a share was chosen, or there is none to choose."""
        return self.chosen or not any(self._seen.public.stock)

    @property
    def _seen(self) -> Seen:
        return self._controls.seen

    def _label(self, at: int) -> str:
        """Describe an item type, such as `hats: 10 to divide, worth 3 each to you`."""
        seen = self._seen
        item, units = WORDS.item(self._game.items[at]), seen.public.stock[at]
        own, theirs = values_of(seen, seen.seat), values_of(seen, other(seen.seat))
        if own is None:
            return WORDS.LINE.format(item=item, count=units)
        if theirs is None:
            return WORDS.LINE_WORTH.format(item=item, count=units, worth=own[at])
        return WORDS.LINE_BOTH.format(item=item, count=units, worth=own[at], theirs=theirs[at], seat=other(seen.seat))

    def _keep_nothing(self) -> None:
        self.clear()
        self._chose()

    def _chose(self) -> None:
        self.chosen = True
        self._changed()


class MessageEditor:
    """The message of a round; what would not arrive as written is refused here, because it costs a message."""

    def __init__(self, controls: Table, game: Split) -> None:
        self._controls, self._game = controls, game
        self.words = controls.message_box(WORDS.AT_MOST.format(most=game.max_chars))
        self.notice = controls.new_notice()
        self.send = controls.button(table_texts.SEND_MESSAGE, self._send, cls=f"nl-primary {SEND}")
        self.skip = controls.button(WORDS.SAY_NOTHING, self._say, "", cls=SEND)
        self.end = controls.button(WORDS.END_TALK, self._end, cls=SEND)
        self.buttons = [self.send, self.skip, self.end]
        self.widget = column(self.words, self.notice)

    def draw(self, *, asked: bool) -> None:
        due = asked and self._seen.public.phase == "talk"
        for control in (self.words, self.send, self.skip, self.end):
            control.disabled = not due
        for part in (self.widget, self.send, self.skip):
            set_visible(part, due)
        set_visible(self.end, due and self._game.is_free)

    @property
    def _seen(self) -> Seen:
        return self._controls.seen

    def _send(self) -> None:
        words = self.words.value.strip()
        if words or not self._controls.asked:
            self._say(words)
        else:
            self._refuse(WORDS.NOTHING_TO_SEND)

    def _end(self) -> None:
        if self._controls.asked and self._seen.public.phase != "talk":
            self._refuse(WORDS.TALK_OVER)
        elif self.words.value.strip() and self._controls.asked:
            self._refuse(WORDS.NOT_SENT)
        else:
            self._controls.say(self._game.say(EndTalk()), self.notice)

    def _say(self, words: str) -> None:
        text = self._game.say(Message(words))
        if self._controls.asked and (fault := self._fault(words, text)):
            self._refuse(fault)
        else:
            self._controls.say(text, self.notice)

    def _fault(self, words: str, text: str) -> str:
        """Return why these words would not arrive as they are, "" if they would."""
        if self._seen.public.phase != "talk":
            return WORDS.TALK_OVER
        read = self._game.parse(text, self._seen)
        if isinstance(read, Invalid) and "too_long" in read.codes:
            return refusal_text(self._game, read)
        if read != Message(words):
            if self._game.is_free and SELECTION in words.lower():
                return WORDS.ENDS_TALK.format(token=SELECTION)
            return WORDS.TAG
        return ""

    def _refuse(self, reason: str) -> None:
        self._controls.refuse(reason, self.notice)


class SplitTable(Table, view=view):
    """How the rounds went and the talk of this one, beside the message to write and the share to ask for."""

    game: Split

    @override
    def build(self) -> None:
        self._round = self.seen.public.round
        self._meant: object = None
        self._filed: Proposal | None = None
        self._ending, self._standing = w.HTML(), w.HTML()
        self.speech = MessageEditor(self, self.game)
        self._build_ask()
        self._build_past()
        self.offer_typing(text=WORDS.TYPE_REPLY, send=WORDS.SEND_REPLY)
        self.past.children = [self.course, self._standing, self._past, self.said]
        self.composer.children = [self._ending, self._waiting, self._asking, self.speech.widget]

    def _build_ask(self) -> None:
        self._title, self._hand, self._waiting = w.HTML(), w.HTML(), w.HTML()
        self.share = KeepEditor(self, self.game, self._chosen)
        self.ask = self.button("", self._ask, cls=f"nl-primary {SEND}")
        self.no_deal = self.button(WORDS.PROPOSE_NO_DEAL, self._propose, Proposal(None))
        self._asking = column(self._title, self._hand, self.share.widget, self.notice, self.share.sum)
        self.actions.children = [self.ask, self.no_deal, *self.speech.buttons]

    def _build_past(self) -> None:
        self._table = w.HTML()
        self._past = framed(w.HTML(element("h2", WORDS.ROUNDS)), self._table)

    @override
    def draw(self) -> None:
        public = self.seen.public
        over = public.phase == "over"
        if public.round != self._round:
            self._round, self._filed = public.round, None
            self.share.clear()
        show(self._ending, view.ending(self.game, self.seen))
        show(self._standing, view.render_points(self.game, self.seen) if public.history else "")
        set_visible(self._past, bool(public.history))
        self._table.value = view.render_rounds(self.game, self.seen)
        self.speech.draw(asked=self.asked)
        self._draw_ask(over)

    def _draw_ask(self, over: bool) -> None:
        own = self._own_proposal()
        due = self.asked and self.seen.public.phase == "split"
        show(self._waiting, view.render_pending(self.game, own))
        set_visible(self._asking, not (over or own is not None))
        later = not due and self.seen.public.phase == "talk"
        self.compose = WORDS.CHOOSE if due else WORDS.WRITE if self.asked else ""
        set_class(self._asking, COMPOSE, due)
        set_class(self.speech.widget, COMPOSE, not due)
        title = WORDS.KEEP_LATER if later else WORDS.KEEP_TITLE
        self._title.value = element("h2", title.format(round=self.seen.public.round))
        show(self._hand, view.render_hand(self.seen))
        self.share.draw(enabled=not over and own is None)
        self.ask.disabled = self.no_deal.disabled = not due
        set_visible(self.ask, due)
        set_visible(self.no_deal, due and self.game.rule == "exact")
        self._name_ask()

    def _own_proposal(self) -> Proposal | None:
        """Return the own proposal that waits: a match shows it only once it is stepped, so it is kept here."""
        if self.seen.public.phase != "split" or self.asked:
            return None
        return view.pending_proposal(self.seen) or self._filed

    @override
    def clear_input(self) -> None:
        if isinstance(self._meant, Proposal):
            self._filed = self._meant
        self._meant = None

    @override
    def say(self, text: str, beside: w.HTML | None = None) -> None:
        self._meant = self.game.parse(text, self.seen)
        super().say(text, beside)

    # What is sent.

    def _chosen(self) -> None:
        self.share.draw_sum()
        self._name_ask()

    def _name_ask(self) -> None:
        keep = self.share.keep
        words = WORDS.KEEP_UNITS.format(units=format_units(self.game, keep))
        self.ask.description = words if self.share.is_ready else WORDS.SEND_CHOICE
        set_class(self.ask, UNSET, not self.share.is_ready)

    def _ask(self) -> None:
        due = self.asked and self.seen.public.phase == "split"
        if due and not self.share.is_ready:
            self.refuse(WORDS.CHOOSE_FIRST, self.notice)
        else:
            self._propose(Proposal(self.share.keep))

    def _propose(self, proposal: Proposal) -> None:
        if self.asked and self.seen.public.phase != "split":
            self.refuse(WORDS.AFTER_TALK, self.notice)
        else:
            self.act(proposal, self.notice)
