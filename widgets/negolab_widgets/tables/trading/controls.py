"""The controls of trading: answer the offer that waits, make one, say something."""

from __future__ import annotations

import ipywidgets as w
from typing_extensions import override

from negolab.game import Invalid
from negolab.games.trading import Offer, Trading
from negolab.games.trading.goods import NOTHING, Deal, Goods, covers, swap
from negolab.games.trading.offers import canonical
from negolab.games.trading.position import Private
from negolab_widgets import html
from negolab_widgets.html import element
from negolab_widgets.tables import controls
from negolab_widgets.tables.controls import column, framed, row, shown_if, slipped
from negolab_widgets.tables.folding import Folding
from negolab_widgets.tables.talk import talk
from negolab_widgets.tables.trading import view
from negolab_widgets.tables.trading.composing import Composer
from negolab_widgets.tables.trading.faults import losing
from negolab_widgets.tables.typed import Typed


class Controls(controls.Controls):
    """Left the offer that waits and the one to make, right how one stands and what was said. What the rules would not
    accept is said and not sent: here a slip can cost the match."""

    game: Trading

    @override
    def build(self) -> None:
        self._build_answer()
        self._build_offer()
        self._gain, self._after, self._talk, self._warning = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._typed = Typed(self, text="Your reply with its tokens", send="Send reply", check=self._costs)
        typed = Folding(self, "a box to type the reply yourself", column(self._warning, self._typed.widget))
        words = Folding(self, "all messages word for word", self.desk.log)
        self._typing = typed.widget
        self._warning.value = element("p", _cost(self.game))
        self.main.children = [self._answering, self._offering, self._after, self._typing]
        self.side.children = [self._gain, self._talk, words.widget]

    def _build_answer(self) -> None:
        self._waiting, self.answer_notice = w.HTML(), self.new_notice()
        self.accept = self.button("Accept", lambda: self._answer("[Accept]"), cls="nl-primary")
        self.deny = self.button("Deny", lambda: self._answer("[Deny]"), cls="nl-primary")
        self._answering = framed(self._waiting, row(self.accept, self.deny, self.answer_notice))

    def _build_offer(self) -> None:
        self.composer = Composer(self, self._composed)
        # Sent as a whole when the box is left, so that a press on a button cannot come before the last letters.
        self.words = w.Textarea(description="Your message", rows=2, continuous_update=False)
        self.on_change(self.words)
        self.words.placeholder = "Goes along with what you send."
        self._last = w.HTML(
            element("div", "This is the last turn: an offer made now cannot be answered.", cls="nl-due")
        )
        self.offer = self.button("Make this offer", lambda: self._make(""), cls="nl-primary")
        self.speak = self.button("Send message without an offer", self._speak)
        self.counter = self.button("Deny and make this offer", lambda: self._make("[Deny]"))
        self.extend = self.button("Accept and make this offer", lambda: self._make("[Accept]"))
        clear = self.button("Clear", lambda: self.composer.put(NOTHING, NOTHING), cls="nl-link")
        title = row(w.HTML(element("h2", "Make an offer")), clear)
        title.add_class("nl-title-row")
        buttons = row(self.offer, self.speak, self.counter, self.extend, self.notice)
        self._offering = framed(title, self.composer.goods, self.composer.sum, self.words, self._last, buttons)

    @override
    def draw(self) -> None:
        over, own = self.seen.public.end is not None, self.seen.private
        incoming = self._incoming()
        self._gain.value = view.standing(self.seen)
        lost = self.slip is not None and self.seen.public.loser == self.seat
        what = html.panel("What ended the match", slipped(self.slip)) if self.slip is not None and lost else ""
        after = (what, view.goods_table(own), view.trades(self.seen))
        self._after.value = element("div", *after, cls="nl-stack") if over else ""
        shown_if(self._after, over)
        self._talk.value = html.panel("What was said", talk(view.entries(self.seen), whole=over))
        for part in (self._answering, self._offering, self._typing):
            shown_if(part, not over)
        self._draw_answer(incoming)
        self.composer.draw(own, self._most(own, incoming), asked=self.asked)
        self._typed.draw(asked=self.asked)
        for button, fits in (
            (self.offer, incoming is None),
            (self.speak, incoming is None),
            (self.counter, incoming is not None),
            (self.extend, incoming is not None),
        ):
            button.disabled = not self.asked or (button is self.extend and not self._can_accept(incoming))
            shown_if(button, fits)
        self.words.disabled = not self.asked
        shown_if(self._last, view.is_last(self.game, self.seen))

    def _draw_answer(self, incoming: Offer | None) -> None:
        waiting = self.seen.public.waiting
        body = () if waiting is None else view.waiting_body(self.seen, waiting)
        self._waiting.value = element("div", element("h2", view.waiting_title(self.seen)), *body, cls="nl-waiting")
        self.deny.disabled = not (self.asked and incoming)
        self.accept.disabled = self.deny.disabled or not self._can_accept(incoming)

    def _can_accept(self, incoming: Offer | None) -> bool:
        return incoming is not None and covers(self.seen.private.holdings, incoming.want)

    def _composed(self) -> None:
        self.composer.draw_sum(self.seen.private)

    @override
    def taken(self) -> None:
        self._typed.clear()
        self.words.value = ""
        self.composer.put(NOTHING, NOTHING)

    # What is sent.

    def _incoming(self) -> Offer | None:
        waiting = self.seen.public.waiting
        return waiting if waiting is not None and waiting.by != self.seat else None

    def _most(self, own: Private, incoming: Offer | None) -> Goods:
        """Most that may be given of each good, be the waiting offer accepted or not."""
        if incoming is None:
            return own.holdings
        a, b, c, d, e = map(max, own.holdings, swap(own.holdings, incoming.want, incoming.give))
        return a, b, c, d, e

    def _answer(self, reply: str) -> None:
        self._send(reply, None, self.answer_notice)

    def _make(self, reply: str) -> None:
        give, get = self.composer.give, self.composer.get
        if any(give) and any(get):
            self._send(reply, (give, get), self.notice)
        else:
            self.refuse("An offer needs something to give and something to get.", self.notice)

    def _speak(self) -> None:
        self._send("", None, self.notice)

    def _send(self, reply: str, deal: Deal | None, beside: w.HTML) -> None:
        """Tokens first, then the words: what the words hold cannot come before the offer."""
        words = self.words.value.strip()
        tokens = canonical(reply, deal) if reply or deal else ""
        text = " ".join(filter(None, (tokens, words))) or canonical("", None)
        fault = self._fault(reply, deal, text) if self.asked else ""
        if fault:
            self.refuse(fault, beside)
        else:
            self.say(text, beside)

    def _fault(self, reply: str, deal: Deal | None, text: str) -> str:
        """Why the game would not take this as it is meant; "" if it would."""
        incoming, holdings = self._incoming(), self.seen.private.holdings
        if reply and incoming is None:
            return "No offer is waiting for you."
        if reply == "[Accept]" and incoming is not None:
            if not covers(holdings, incoming.want):
                return "You do not hold what this offer asks of you."
            holdings = swap(holdings, incoming.want, incoming.give)
        if deal is not None and not covers(holdings, deal[0]):
            return f"You do not hold all that you would give{' after accepting' if reply == '[Accept]' else ''}."
        read = self.game.parse(text, self.seen)
        if isinstance(read, Invalid):
            return read.reason
        meant = (reply == "[Accept]", reply == "[Deny]", deal, False)
        if (read.accept, read.deny, read.offer, read.malformed) != meant:
            return "Your message holds a token in square brackets, which would count as a move: write it without them."
        return ""

    def _costs(self, text: str) -> str:
        return losing(self.game, self.seen, text, self.left)


def _cost(game: Trading) -> str:
    """What a reply against the rules costs."""
    if game.lenient:
        return "One error in a turn is forgiven; a second one loses the match."
    return "A reply against the rules " + (
        "loses the match." if not game.retries("A") else "may be mended once a turn."
    )
