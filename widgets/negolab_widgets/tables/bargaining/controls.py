"""The controls of bargaining: answer the offer that stands, or name a price."""

from __future__ import annotations

import ipywidgets as w
from typing_extensions import override

from negolab.game import SEATS, Invalid
from negolab.games.bargaining.money import money
from negolab.games.bargaining.reading import LONGEST_MESSAGE, tidy
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Accept, Action, Offer, Reject
from negolab_widgets import charts, html
from negolab_widgets.html import element
from negolab_widgets.tables import controls
from negolab_widgets.tables.bargaining import view
from negolab_widgets.tables.bargaining.naming import Price
from negolab_widgets.tables.bargaining.worth import name, number_of
from negolab_widgets.tables.controls import framed, row, shown_if
from negolab_widgets.tables.typed import Typed


class Controls(controls.Controls):
    """Left the offer that stands, the price to answer it with and the course of the offers; right what one knows, the
    manager's texts and the box to type in."""

    game: Bargaining

    @override
    def build(self) -> None:
        self._ending, self._knows, self._messages, self._table = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._build_answer()
        self._build_offer()
        self._chart = charts.Chart(height=260)
        self._drawn: object = None
        self._course = framed(w.HTML(element("h2", "All offers")), self._chart, self._table)
        self._typed = Typed(self, text="Or type your answer", send="Send answer", primary=False)
        self._due = w.HTML()
        self._typing = framed(self._due, self._typed.widget)
        self._read, self._filled = 0, frozenset[int]()
        self.main.children = [self._ending, self._answering, self._offering, self._course]
        self.side.children = [self._knows, self._messages, self.desk.log, self._typing]
        for part in (self.main, self.side):
            part.add_class("nl-even")

    def _build_answer(self) -> None:
        self._standing, self.answer_notice = w.HTML(), self.new_notice()
        self.accept = self.button("Accept", lambda: self._play(Accept(), self.answer_notice), cls="nl-primary")
        self.reject = self.button("Reject", lambda: self._play(Reject(), self.answer_notice))
        self._answers = row(self.accept, self.reject)
        self._answering = framed(self._standing, self._answers, self.answer_notice)

    def _build_offer(self) -> None:
        self.price = Price(self, self.game, self._priced)
        # Sent as a whole when the box is left, so that a press on a button cannot come before the last letters.
        self.words = w.Textarea(description="Your message (optional)", rows=2, continuous_update=False)
        self.words.placeholder = f"Goes along with your offer, at most {LONGEST_MESSAGE} characters."
        self.on_change(self.words)
        shown_if(self.words, view.may_write(self.seen))
        self._title, self._last = w.HTML(), w.HTML()
        self.offer = self.button("", self._make, cls="nl-primary")
        self._offering = framed(
            self._title, self._last, self.price.widget, self.price.sum, self.words, self.offer, self.notice
        )

    @override
    def draw(self) -> None:
        public = self.seen.public
        self._see_filled()
        self._ending.value = view.ending(self.seen, unread=self.slip is not None)
        self._knows.value = view.knows(self.game, self.seen)
        self._messages.value = view.messages(self.game, self.seen)
        shown_if(self._messages, bool(self._messages.value))
        shown_if(self._ending, public.over)
        shown_if(self._typing, not public.over)
        self._draw_answer()
        self._draw_offer()
        self._table.value = view.offer_table(self.seen, self._filled)
        self._draw_chart()
        self._typed.draw(asked=self.asked)
        self._due.value = element("div", self._last_try(), cls="nl-due")
        shown_if(self._due, bool(self._last_try()))

    def _see_filled(self) -> None:
        """An own offer that came after an answer which could not be read was made in its place."""
        offers = self.seen.public.offers
        new, self._read = offers[self._read :], len(offers)
        for number, seat, cents in new:
            if self.slip is not None and seat == self.seat:
                self._filled |= {number}
                self.refuse(view.filled(cents))

    def _last_try(self) -> str:
        """What another answer that cannot be read would do; "" while one may still be mended."""
        if not self.asked or self.left != 0:
            return ""
        answer = "One more unreadable answer" if self.slip is not None else "One unreadable answer"
        return f"{answer}, and {view.instead(self.seen)}."

    def _draw_answer(self) -> None:
        public = self.seen.public
        self._standing.value = html.join(
            [element("h2", view.standing_title(self.seen)), "" if public.over else view.standing_body(self.seen)]
        )
        shown_if(self._answering, not public.over)
        shown_if(self._answers, bool(public.offers))
        self.accept.description = "Accept" if public.standing is None else f"Accept {money(public.standing)}"
        self.reject.description = "Reject, no deal" if public.last_response else "Walk away, no deal"
        shown_if(self.reject, public.last_response or public.terms.walk_away)
        self.accept.disabled = self.reject.disabled = not (self.asked and public.offers)

    def _draw_offer(self) -> None:
        public = self.seen.public
        title = "Your counteroffer" if public.offers else "Your offer"
        self._title.value = element("h2", title)
        words = "This is your last chance to make an offer." if view.last_chance(self.seen) and self.asked else ""
        self._last.value = element("div", words, cls="nl-due")
        shown_if(self._last, bool(words))
        shown_if(self._offering, not (public.over or public.last_response))
        self.price.draw(asked=self.asked)
        self.words.disabled = self.offer.disabled = not self.asked
        self._name_offer()

    def _draw_chart(self) -> None:
        """Drawn again only if there is another offer or the end: a figure costs more than all else."""
        public = self.seen.public
        if self._drawn == (public.offers, public.status):
            return
        self._drawn = (public.offers, public.status)
        known = ((view.own_word(self.seen, seat), number_of(self.seen, seat)) for seat in SEATS)
        figure = charts.offers(
            public.offers,
            lines={word: number for word, number in known if number is not None},
            rounds=public.terms.rounds,
            deal=public.price is not None,
            names={seat: f"{name(seat)}{' (you)' if seat == self.seat else ''}" for seat in SEATS},
        )
        self._chart.show(figure)

    @override
    def taken(self) -> None:
        self._typed.clear()
        self.price.clear()
        self.words.value = ""

    # What is sent.

    def _priced(self) -> None:
        self.price.draw_sum()
        self._name_offer()

    def _name_offer(self) -> None:
        cents = self.price.cents
        self.offer.description = "Offer a price" if cents is None else f"Offer {money(cents)}"

    def _make(self) -> None:
        words = tidy(self.words.value) if view.may_write(self.seen) else ""
        cents, count = self.price.cents, len(" ".join(self.words.value.split()))
        if not self.asked:
            self.say("offer", self.notice)
        elif self.seen.public.last_response:
            self.refuse("No round is left for another offer.", self.notice)
        elif cents is None:
            self.refuse(self.price.fault, self.notice)
        elif words and count > LONGEST_MESSAGE:
            self.refuse(f"Your message has {count} characters; {LONGEST_MESSAGE} are the most.", self.notice)
        else:
            self._play(Offer(cents, words), self.notice)

    def _play(self, action: Action, beside: w.HTML) -> None:
        """Send what is read back as it is meant; what is not is said beside its button."""
        text = self.game.say(action)
        read = self.game.parse(text, self.seen)
        if not self.asked or read == action:
            self.say(text, beside)
        elif isinstance(read, Invalid):
            self.refuse(read.reason, beside)
        else:
            self.refuse("This cannot be answered now.", beside)
