"""The controls of balloon: a set to tick, the proposals to answer, the message that carries both."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import ipywidgets as w
from typing_extensions import override

from negolab.game import Invalid
from negolab.games.balloon import Balloon
from negolab.games.balloon.state import Names, Seen
from negolab.games.balloon.words import WORDS
from negolab.studies.texts import refusal_text
from negolab_widgets import html
from negolab_widgets.html import element
from negolab_widgets.layout import column, row, set_visible, show
from negolab_widgets.tables.balloon import view
from negolab_widgets.tables.balloon.checklist import Checklist
from negolab_widgets.tables.balloon.view import (
    ProposalList,
    count_items,
    render_value_bars,
    set_value,
)
from negolab_widgets.tables.controls import Table, render_due
from negolab_widgets.tables.decision import ACCEPT, COMPOSE, SEND, UNSET, name_accept, set_class

SEARCH_THRESHOLD = 24
"""With more items than this there is a box to find some by name."""


class BalloonTable(Table, view=view):
    """The conversation and the proposals that stand, beside the set to choose."""

    game: Balloon

    @override
    def build(self) -> None:
        self.compose = WORDS.COMPOSE
        self._ending, self._pictured, self._sums = w.HTML(), w.HTML(), w.HTML()
        self.checklist = self._new_checklist()
        self.proposals = ProposalList(self, agree=self._agree, start=self._start, changed=self._redraw)
        self.message = MessageEditor(self, self.game, lambda: self.checklist.names, lambda: self.proposals.refused)
        self._patience = w.HTML()
        clear = self.button(WORDS.UNTICK, self._start, frozenset[str](), cls="nl-link")
        title = row(w.HTML(element("h2", WORDS.COMPOSE)), clear, cls="nl-title-row")
        self._choosing = column(title, self._sums, self._finder(), self.checklist, cls="nl-filling")
        self.accept = self.button(WORDS.AGREE, self._agree_to_latest, cls=f"nl-primary {ACCEPT}")
        self.actions.children = [self.accept, *self.message.buttons]
        self._offering = column(self._choosing, self.message.widget, cls=COMPOSE)
        self.offer_typing(self._patience, check=self._costs)
        self.past.children = [self.course, self.said, self.proposals.widget]
        self.composer.children = [self._ending, self._offering, self._pictured]

    def _new_checklist(self) -> Checklist:
        terms, own = self.seen.public.terms, self.seen.private.importance
        keys = (
            range(len(terms.effort)),
            list(terms.effort.values()),
            [own[name] for name in terms.effort],
            [own[name] / effort for name, effort in terms.effort.items()],
        )
        checklist = Checklist(WORDS.CHOICE, view.item_head(), view.item_cells(self.seen), keys)
        self.on_change(checklist, self._redraw)
        return checklist

    def _finder(self) -> w.Box:
        self.find = w.Text(description=WORDS.FIND, placeholder=WORDS.FIND_HINT)
        self.only = w.Checkbox(description=WORDS.ONLY_TICKED, indent=False)
        for control in (self.find, self.only):
            self.on_change(control, self._find)
        finder = row(self.find, self.only)
        set_visible(finder, len(self.seen.public.terms.effort) > SEARCH_THRESHOLD)
        return finder

    def _find(self) -> None:
        self.checklist.find(self.find.value, ticked=self.only.value)

    def _start(self, names: Names) -> None:
        """Tick exactly these, and show them where only what is ticked is shown."""
        self.checklist.tick(names)
        self._find()

    @override
    def draw(self) -> None:
        over = self.seen.public.end is not None
        ending = html.join([view.ending(self.game, self.seen), self.render_lost(self.seen.public.ended_by)])
        show(self._ending, ending if over else "")
        show(self._pictured, view.render_items_table(self.seen) if over else "")
        for part in (self._offering, self.proposals.widget):
            set_visible(part, not over)
        marks = view.item_marks(self.seen)
        self.checklist.mark([marks.get(name, "") for name in self.seen.public.terms.effort])
        self.checklist.disabled = over
        self._draw_answer()
        self._patience.value = _patience_text(self.seen.private.patience)
        self._redraw()

    def _draw_answer(self) -> None:
        latest = view.latest_of_other(self.seen)
        due = self.asked and latest is not None
        self.accept.disabled = not due
        set_visible(self.accept, due)
        self.compose = WORDS.COMPOSE if latest is None else WORDS.COMPOSE_OTHER
        if latest is not None:
            sums = set_value(self.seen, latest)
            gain = -1 if sums.over else sums.points
            name_accept(self.accept, WORDS.AGREE_TO.format(items=view.count_items(sums.count)), gain=gain)

    def _agree_to_latest(self) -> None:
        latest = view.latest_of_other(self.seen)
        if latest is not None:
            self.message.agree(latest, self.answer_notice)

    def _redraw(self) -> None:
        """Redraw what follows from the ticks."""
        chosen = self.checklist.names
        bars = render_value_bars(set_value(self.seen, chosen))
        self._sums.value = html.join([bars, view.render_comparison(self.seen, chosen)])
        self.proposals.draw(chosen, asked=self.asked)
        self.message.draw(asked=self.asked)

    @override
    def clear_input(self) -> None:
        self.proposals.clear()

    def _agree(self, names: Names) -> None:
        if self.asked and names in self.proposals.refused:
            self.refuse(WORDS.UNTICK_REFUSAL, self.proposals.notice)
        else:
            self.message.agree(names, self.proposals.notice)

    def _costs(self, text: str) -> str:
        """Return why this message would lose the match, "" if it would not or if it is forgiven."""
        read = self.game.parse(text, self.seen)
        lost = isinstance(read, Invalid) and len(read.codes) > self.seen.private.patience
        return refusal_text(self.game, read) if isinstance(read, Invalid) and lost else ""


def _patience_text(left: int) -> str:
    words = WORDS["patience"]
    return element("p", words.get(str(left), words["more"]).format(count=left))


class MessageEditor:
    """Compose a message in the game's own form; what the rules would not accept is shown and not sent.

    Args:
        controls: The table's controls.
        game: The game as told to the seat.
        chosen: Returns the ticked set.
        refused: Returns the sets to refuse.
    """

    def __init__(
        self,
        controls: Table,
        game: Balloon,
        chosen: Callable[[], Names],
        refused: Callable[[], tuple[Names, ...]],
    ) -> None:
        self._controls, self._game, self._chosen, self._refused = controls, game, chosen, refused
        terms = controls.seen.public.terms
        title = WORDS.ARGUMENT if terms.require_argument else WORDS.ARGUMENT_OPTIONAL
        self.argument = controls.message_box(WORDS.ARGUMENT_HINT, title, changed=self._draw_braces)
        self.reasoning = controls.message_box(WORDS.REASONING_HINT, WORDS.REASONING, changed=self._draw_braces)
        self.notice = controls.new_notice()
        self._braces, self._limit = w.HTML(), w.HTML()
        self.propose = controls.button("", self._send_proposal, cls=f"nl-primary {SEND}")
        self.plain = controls.button("", self._send_plain, cls=f"nl-link {SEND}")
        self.buttons = [self.propose, self.plain]
        self._argues = game.require_argument or game.rules == "stated"
        set_visible(self.argument, self._argues)
        set_visible(self.reasoning, terms.strategic_reasoning)
        self.widget = column(self.reasoning, self.argument, self._braces, self._limit, self.notice)

    def draw(self, *, asked: bool) -> None:
        count, refused = len(self._chosen()), len(self._refused())
        items, text = (
            count_items(count) if count else WORDS.A_SET,
            WORDS.PROPOSE_AND_REFUSE if refused else WORDS.PROPOSE,
        )
        self.propose.description = text.format(items=items, count=refused)
        set_class(self.propose, UNSET, not count)
        self.plain.description = WORDS.ONLY_REFUSE.format(count=refused) if refused else WORDS.ONLY_ARGUE
        for control in (self.argument, self.reasoning, self.propose, self.plain):
            control.disabled = not asked
        set_visible(self.plain, self._argues or refused > 0)
        show(self._limit, render_due(_required_proposal_text(self._seen)))
        self._draw_braces()

    def _draw_braces(self) -> None:
        """Warn of braces: the form of a message needs these signs itself."""
        words = WORDS.BRACES.format(braces="{ }")
        has = any(sign in box.value for box in (self.argument, self.reasoning) for sign in "{}")
        self._braces.value = element("div", words if has else "", cls="nl-soft", role="status")
        set_visible(self._braces, has)

    def agree(self, names: Names, beside: w.HTML) -> None:
        """Send an agreement to this set."""
        due = self._game.rules == "reference" and _required_proposal_text(self._seen)
        # There an agreement alone is a message without proposal, one too many.
        self._send(beside, agree=(names,), propose=(names,) if due else ())

    @property
    def _seen(self) -> Seen:
        return self._controls.seen

    def _send_proposal(self) -> None:
        chosen = self._chosen()
        sums = set_value(self._seen, chosen)
        if not chosen:
            self._refuse(WORDS.TICK_FIRST)
        elif sums.over and self._game.rules == "stated":
            self._refuse(WORDS.TAKE_OUT.format(over=f"{sums.over:,}"))
        else:
            self._send(self.notice, propose=(chosen,), refuse=self._refused())

    def _send_plain(self) -> None:
        refused = self._refused()
        if not refused and not self.argument.value.strip():
            self._refuse(WORDS.NOTHING_TO_SEND)
        else:
            self._send(self.notice, refuse=refused)

    def _send(
        self,
        beside: w.HTML,
        *,
        propose: Iterable[Names] = (),
        refuse: Iterable[Names] = (),
        agree: Iterable[Names] = (),
    ) -> None:
        words = self.argument.value.strip()
        # An empty box is an empty argument: no stock phrase is put into a person's mouth.
        argument = words if words or self._game.require_argument else None
        text = self._game.compose(
            self._seen,
            propose=propose,
            refuse=refuse,
            agree=agree,
            argument=argument,
            reasoning=self.reasoning.value.strip(),
        )
        read = self._game.parse(text, self._seen)
        if self._controls.asked and isinstance(read, Invalid):
            self._refuse(refusal_text(self._game, read), beside)
        else:
            self._controls.say(text, beside)

    def _refuse(self, reason: str, beside: w.HTML | None = None) -> None:
        self._controls.refuse(reason, self.notice if beside is None else beside)


def _required_proposal_text(seen: Seen) -> str:
    """Say that the next message must hold a proposal, where the limit on messages without one is reached."""
    public = seen.public
    limit = public.terms.empty_turn_limit
    if public.end is not None or limit is None or public.empty < limit:
        return ""
    return WORDS.PROPOSAL_DUE
