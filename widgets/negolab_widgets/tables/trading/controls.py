"""The controls of trading: answer the offer that waits, make one, write a message."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w
from typing_extensions import override

from negolab.game import Invalid
from negolab.games.trading import GOODS, Goods, Offer, Trading
from negolab.games.trading.offers import canonical_text
from negolab.games.trading.state import (
    NOTHING,
    Deal,
    Move,
    Private,
    Seen,
    can_accept,
    covers,
    holdings_after,
    incoming_offer,
    subtract,
    to_goods,
)
from negolab.games.trading.words import WORDS
from negolab.studies.texts import refusal_text, table_texts
from negolab_widgets.fields import MAX_NUMBER, Stepper
from negolab_widgets.html import Markup, element
from negolab_widgets.layout import box, column, row, set_visible, show, styled
from negolab_widgets.tables.controls import Table
from negolab_widgets.tables.decision import ACCEPT, COMPOSE, REFUSE, SEND, UNSET, name_accept, set_class
from negolab_widgets.tables.trading import view
from negolab_widgets.tables.trading.view import format_signed, render_change, trade_sentence, trade_value


class OfferEditor:
    """Amounts of each good to give and to get, beside what the seat holds and what it is worth.

    `changed` is called when an amount changes.
    """

    def __init__(self, controls: Table, changed: Callable[[], None]) -> None:
        self._facts = [w.HTML() for _ in GOODS]
        goods = [view.good_name(at) for at in range(len(GOODS))]
        self._give = [Stepper(WORDS.GIVE.format(good=good), WORDS.TO_GIVE.format(good=good)) for good in goods]
        self._get = [Stepper(WORDS.GET.format(good=good), WORDS.TO_GET.format(good=good)) for good in goods]
        for stepper in (*self._give, *self._get):
            controls.on_change(stepper, changed)
        self.sum = styled(w.HTML(), "nl-sum")
        lines = (box(*line, cls="nl-good") for line in zip(self._facts, self._give, self._get, strict=True))
        self.goods = styled(w.VBox([w.HTML(_render_head()), *lines]), "nl-goods")

    @property
    def deal(self) -> Deal:
        """What the seat gives and what it gets."""
        give, get = (to_goods(stepper.value for stepper in side) for side in (self._give, self._get))
        return give, get

    @property
    def is_empty(self) -> bool:
        return not any(map(any, self.deal))

    def put(self, give: Goods, get: Goods) -> None:
        """Show these amounts."""
        for steppers, goods in ((self._give, give), (self._get, get)):
            for stepper, amount in zip(steppers, goods, strict=True):
                stepper.value = amount

    def draw(self, own: Private, most: Goods, *, asked: bool) -> None:
        """Allow at most `most` of each good to be given."""
        net = subtract(own.holdings, own.start)
        for at, facts in enumerate(self._facts):
            facts.value = _render_good(view.good_name(at), own.holdings[at], net[at], own.values[at])
            for stepper, limit in ((self._give[at], most[at]), (self._get[at], MAX_NUMBER)):
                stepper.limit(limit)
                stepper.disabled = not asked
        self.draw_sum(own)

    def draw_sum(self, own: Private) -> None:
        """Show the value of the offer."""
        give, get = self.deal
        if self.is_empty:
            line = element("span", WORDS.STEP_UP, cls="nl-soft")
        else:
            line = render_change(trade_value(own, give, get), WORDS.IF_ACCEPTED)
        self.sum.value = element("div", line, element("div", trade_sentence(own, give, get)), cls="nl-composed")


def _render_head() -> Markup:
    names = element("div", *(element("span", text) for text in list(WORDS["head"].values())[:-1]), cls="nl-good-facts")
    gives, gets = element("span", WORDS.YOU_GIVE), element("span", WORDS.YOU_GET)
    return element("div", names, gives, gets, cls="nl-good nl-good-head")


def _render_good(good: str, held: int, net: int, value: int) -> Markup:
    # On a narrow screen each number carries its own name.
    numbers = zip(WORDS["narrow"].values(), (f"{held:,}", format_signed(net), f"{value:,}"), strict=True)
    cells = (element("span", element("span", f"{name} ", cls="nl-cell-name"), text) for name, text in numbers)
    return element("div", element("b", good), *cells, cls="nl-good-facts")


def losing_fault(game: Trading, seen: Seen, text: str, left: int | None) -> str:
    """Return why this reply would lose the match, "" if it would not or if it can be corrected."""
    read = game.parse(text, seen)
    if isinstance(read, Invalid):
        return refusal_text(game, read) if left == 0 else ""
    found = _tolerated_faults(seen, read) if game.lenient else []
    return found[-1] if seen.private.errors + len(found) > 1 else ""


def _tolerated_faults(seen: Seen, move: Move) -> list[str]:
    """List the faults of a message by TextArena's rules, which forgive one a turn."""
    held, waiting, found = seen.private.holdings, seen.public.waiting, []
    if move.accept and waiting is not None:
        if not covers(held, waiting.want):
            found.append(WORDS["faults"]["asked"])
        else:
            held = holdings_after(seen, accepted=True)
    if move.malformed:
        found.append(WORDS["faults"]["unreadable"])
    elif move.offer is not None and not covers(held, move.offer[0]):
        found.append(WORDS["faults"]["held"])
    return found


class TradingTable(Table, view=view):
    """The conversation beside the offer to make.

    What the rules would not accept is shown and not sent: here a mistake can cost the match.
    """

    game: Trading

    @override
    def build(self) -> None:
        self._build_answer()
        self._build_offer()
        self._after = w.HTML()
        self.offer_typing(
            w.HTML(element("p", _error_rule_text(self.game))),
            text=WORDS.TYPE_REPLY,
            send=WORDS.SEND_REPLY,
            check=lambda text: losing_fault(self.game, self.seen, text, self.left),
        )
        self.composer.children = [self._offering, self._after]

    def _build_answer(self) -> None:
        self.accept = self.button(WORDS.ACCEPT, self._answer, "[Accept]", cls=f"nl-primary {ACCEPT}")
        self.deny = self.button(WORDS.DENY, self._answer, "[Deny]", cls=f"nl-link {REFUSE}")
        self.finish = self.button(WORDS.FINISH, self._finish, cls="nl-primary")

    def _build_offer(self) -> None:
        self.editor = OfferEditor(self, self._composed)
        self.words = self.message_box(WORDS.MESSAGE_HINT)
        self._last = w.HTML(element("div", WORDS.LAST_TURN, cls="nl-due"))
        self.offer = self.button(WORDS.MAKE, self._make, "", cls=f"nl-primary {SEND}")
        self.speak = self.button(WORDS.SPEAK, self._send, "", None, self.notice, cls=f"nl-link {SEND}")
        self.counter = self.button(WORDS.DENY_AND_MAKE, self._make, "[Deny]", cls=f"nl-primary {SEND}")
        self.extend = self.button(WORDS.ACCEPT_AND_MAKE, self._make, "[Accept]", cls=f"nl-link {SEND}")
        clear = self.button(WORDS.CLEAR, self.editor.put, NOTHING, NOTHING, cls="nl-link")
        title = row(w.HTML(element("h2", table_texts.MAKE_AN_OFFER)), clear, cls="nl-title-row")
        self._composing = (title, self.editor.goods, self.editor.sum)
        self._offering = column(
            title, self.editor.goods, self._last, self.notice, self.words, self.editor.sum, cls=COMPOSE
        )
        self.actions.children = [
            self.accept, self.offer, self.counter, self.extend, self.finish, self.speak, self.deny
        ]  # fmt: skip

    @override
    def draw(self) -> None:
        over, own = self.seen.public.end is not None, self.seen.private
        incoming, last = incoming_offer(self.seen), self.game.is_last(self.seen.public)
        lost = self.render_lost(self.seen.public.loser)
        after = (view.ending(self.game, self.seen), lost, view.render_goods(own), view.render_trades(self.seen))
        show(self._after, element("div", *after, cls="nl-stack") if over else "")
        set_visible(self._offering, not over)
        self._draw_answer(incoming, last=last)
        self.editor.draw(own, self._most(), asked=self.asked)
        for button, fits in (
            (self.offer, incoming is None and not last),
            (self.speak, incoming is None),
            (self.counter, incoming is not None and not last),
            (self.extend, incoming is not None and not last),
        ):
            button.disabled = not self.asked
            set_visible(button, fits)
        self._draw_answering_offers()
        self.words.disabled = not self.asked
        self.speak.description = WORDS.SPEAK_LAST if last else WORDS.SPEAK
        for part in self._composing:
            set_visible(part, not last)
        set_visible(self._last, last)

    def _draw_answering_offers(self) -> None:
        """Allow to answer with an own offer once something of it is chosen."""
        ready = self.asked and not self.editor.is_empty
        for button in (self.offer, self.counter):
            set_class(button, UNSET, self.editor.is_empty)
        self.counter.disabled = not ready
        self.extend.disabled = not (ready and can_accept(self.seen))

    def _composed(self) -> None:
        self.editor.draw_sum(self.seen.private)
        self._draw_answering_offers()

    def _draw_answer(self, incoming: Offer | None, *, last: bool) -> None:
        due = self.asked and incoming is not None
        can = due and can_accept(self.seen)
        ends = self.asked and last and incoming is None
        for button, visible in ((self.accept, can), (self.deny, due), (self.finish, ends)):
            button.disabled = not visible
            set_visible(button, visible)
        if incoming is not None:
            name_accept(self.accept, WORDS.ACCEPT, gain=view.offer_value(self.seen, incoming))
        offer = WORDS.COUNTEROFFER if incoming is not None else table_texts.MAKE_AN_OFFER
        self.compose = "" if last else offer

    def _finish(self) -> None:
        # A page can press it at any time; sent early it would be a pass that nobody chose.
        if self.game.is_last(self.seen.public) and incoming_offer(self.seen) is None:
            self._answer("")

    @override
    def clear_input(self) -> None:
        self.editor.put(NOTHING, NOTHING)

    # What is sent.

    def _most(self) -> Goods:
        """Return the most that may be given of each good, with the waiting offer accepted or not."""
        return to_goods(map(max, *(holdings_after(self.seen, accepted=accepted) for accepted in (False, True))))

    def _answer(self, reply: str) -> None:
        self._send(reply, None, self.answer_notice)

    def _make(self, reply: str) -> None:
        deal = self.editor.deal
        if all(map(any, deal)):
            self._send(reply, deal, self.notice)
        else:
            self.refuse(WORDS.NEEDS_BOTH, self.notice)

    def _send(self, reply: str, deal: Deal | None, beside: w.HTML) -> None:
        """Send tokens first, then the words: what the words hold cannot come before the offer."""
        words = self.words.value.strip()
        tokens = canonical_text(reply, deal) if reply or deal else ""
        text = " ".join(filter(None, (tokens, words))) or canonical_text("", None)
        fault = self._fault(reply, deal, text) if self.asked else ""
        if fault:
            self.refuse(fault, beside)
        else:
            self.say(text, beside)

    def _fault(self, reply: str, deal: Deal | None, text: str) -> str:
        """Return why the game would not take this as it is meant, "" if it would."""
        accepts = reply == "[Accept]"
        if reply and incoming_offer(self.seen) is None:
            return WORDS.NOTHING_WAITS
        if accepts and not can_accept(self.seen):
            return WORDS.NOT_HELD
        if deal is not None and not covers(holdings_after(self.seen, accepted=accepts), deal[0]):
            return WORDS.NOT_HELD_AFTER if accepts else WORDS.NOT_HELD_TO_GIVE
        read = self.game.parse(text, self.seen)
        if isinstance(read, Invalid):
            return refusal_text(self.game, read)
        meant = (reply == "[Accept]", reply == "[Deny]", deal, False)
        if (read.accept, read.deny, read.offer, read.malformed) != meant:
            return WORDS.TOKEN
        return ""


def _error_rule_text(game: Trading) -> str:
    """Say what a reply against the rules costs."""
    return WORDS["errors"][view.mistakes(game, "A")]
