"""The message editor of balloon: argument, reasoning, and what the message proposes and refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import ipywidgets as w

from negolab.game import Invalid
from negolab.games.balloon import Balloon
from negolab.games.balloon.state import Names, Seen
from negolab.games.balloon.words import WORDS
from negolab.studies.texts import refusal_text
from negolab_widgets.html import element
from negolab_widgets.tables.balloon.view import count_items, set_value
from negolab_widgets.tables.controls import Table, framed, row, set_visible
from negolab_widgets.tables.decision import UNSET, set_class


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
        self.argument = controls.message_box(WORDS.ARGUMENT_HINT, title, rows=3, changed=self._draw_braces)
        self.reasoning = controls.message_box(WORDS.REASONING_HINT, WORDS.REASONING, changed=self._draw_braces)
        self.notice = controls.new_notice()
        self._braces, self._limit = w.HTML(), w.HTML()
        self.propose = controls.button("", self._send_proposal, cls="nl-primary")
        self.plain = controls.button("", self._send_plain)
        self._argues = game.require_argument or game.rules == "stated"
        set_visible(self.argument, self._argues)
        set_visible(self.reasoning, terms.strategic_reasoning)
        buttons = row(self.propose, self.plain)
        self.widget = framed(self.reasoning, self.argument, self._braces, self._limit, self.notice, buttons)

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
        due = _required_proposal_text(self._seen)
        self._limit.value = element("div", due, cls="nl-due")
        set_visible(self._limit, bool(due))
        self._draw_braces()

    def _draw_braces(self) -> None:
        """Warn of braces: the form of a message needs these signs itself."""
        words = WORDS.BRACES.format(braces="{ }")
        has = any(sign in box.value for box in (self.argument, self.reasoning) for sign in "{}")
        self._braces.value = element("div", words if has else "", cls="nl-soft", role="status")
        set_visible(self._braces, has)

    def clear(self) -> None:
        self.argument.value = self.reasoning.value = ""

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
