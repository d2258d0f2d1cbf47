"""The controls of bargaining: answer the offer that stands, or name a price."""

from __future__ import annotations

import ipywidgets as w
from msgspec import UNSET
from typing_extensions import override

from negolab.formatting import format_money
from negolab.game import ANY_LENGTH
from negolab.games.bargaining.moves import offer_move
from negolab.games.bargaining.reading import MAX_MESSAGE, without_decimal_comma
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Accept, Offer, Reject, reservation_value
from negolab.games.bargaining.words import WORDS
from negolab.studies.texts import table_texts
from negolab_widgets.html import element, join
from negolab_widgets.layout import column, set_visible, show, styled
from negolab_widgets.tables import decision
from negolab_widgets.tables.bargaining import view
from negolab_widgets.tables.bargaining.view import render_deal_value
from negolab_widgets.tables.controls import Table, render_due
from negolab_widgets.tables.decision import ACCEPT, COMPOSE, SEND, name_accept, set_class
from negolab_widgets.tables.inputs import PriceInput


class BargainingTable(Table, view=view):
    """The course of the offers and the messages, beside the price to offer."""

    game: Bargaining

    @override
    def build(self) -> None:
        self._ending = w.HTML()
        self._build_answer()
        self._build_offer()
        self._due = w.HTML()
        self.offer_typing(self._due, text=WORDS.TYPE_ANSWER, send=WORDS.SEND_ANSWER, primary=False)
        self._read = 0
        self.composer.children = [self._ending, self._offering]

    def _build_answer(self) -> None:
        beside = self.answer_notice
        self.accept = self.button(WORDS.ACCEPT, self.act, Accept(), beside, cls=f"nl-primary {ACCEPT}")
        self.reject = self.ask_first(WORDS.WALK_AWAY, self.act, Reject(), beside)

    def _build_offer(self) -> None:
        fields = offer_move(self.game, self.seen, ANY_LENGTH).fields
        self.price = PriceInput(self, "price", next(iter(fields.values())), self._priced)
        self.price.zone = lambda: view.price_zone(self.seen, self.price.field.least, self.price.field.most)
        self.price.read, self.price.start, self._sum = self._read_price, self._first_price, styled(w.HTML(), "nl-sum")
        self.words = self.message_box(WORDS.MESSAGE_HINT.format(most=MAX_MESSAGE), WORDS.MESSAGE)
        set_visible(self.words, "message" in fields)
        self._title, self._last = w.HTML(), w.HTML()
        self.offer = self.button("", self._make, cls=f"nl-primary {SEND}")
        self._offering = column(
            self._title, self._last, self.price.widget, self.notice, self.words, self._sum, cls=COMPOSE
        )
        self.actions.children = [self.accept, self.offer, self.reject]

    @override
    def draw(self) -> None:
        self._see_filled()
        show(self._ending, view.ending(self.game, self.seen, unread=self.rejection is not None))
        self._draw_answer()
        self._draw_offer()
        show(self._due, render_due(self._last_try()))

    def _see_filled(self) -> None:
        """Note own offers that the game made in place of an answer which could not be read."""
        offers = self.seen.public.offers
        new, self._read = offers[self._read :], len(offers)
        for _, seat, cents in new:
            if self.rejection is not None and seat == self.seat:
                self.refuse(view.filled_offer_text(cents))

    def _last_try(self) -> str:
        """Say what another unreadable answer would do; "" while one may still be corrected."""
        if not self.asked or self.left != 0:
            return ""
        text = WORDS.ONE_MORE_UNREADABLE if self.rejection is not None else WORDS.ONE_UNREADABLE
        return text.format(then=self.game.describe_forfeit(self.seen))

    def _draw_answer(self) -> None:
        public = self.seen.public
        due = self.asked and public.standing is not None
        set_visible(self.accept, due)
        self.accept.disabled = self.reject.button.disabled = not due
        if public.standing is not None:
            text = WORDS.ACCEPT_AT.format(amount=format_money(public.standing))
            name_accept(self.accept, text, gain=view.standing_gain(self.seen))
        self.reject.button.description = WORDS.REJECT if public.last_response else WORDS.WALK_AWAY
        self.reject.set_question(WORDS.END_WITHOUT.format(amount=format_money(view.no_deal_payoff(self.seen))))
        set_visible(self.reject, due and (public.last_response or public.terms.walk_away))

    def _draw_offer(self) -> None:
        public = self.seen.public
        title = WORDS.YOUR_COUNTEROFFER if public.offers else WORDS.YOUR_OFFER
        self._title.value = element("h2", title)
        words = WORDS.LAST_CHANCE if view.is_last_offer(self.seen) and self.asked else ""
        show(self._last, render_due(words))
        for part in (self._offering, self.offer):
            set_visible(part, not (public.over or public.last_response))
        self.compose = (
            "" if public.last_response else WORDS.COUNTEROFFER if public.offers else table_texts.MAKE_AN_OFFER
        )
        self.price.draw(self.price.field, asked=self.asked)
        self.words.disabled = self.offer.disabled = not self.asked
        self._priced()

    @override
    def clear_input(self) -> None:
        self.price.put(UNSET)

    # What is sent.

    def _read_price(self, text: str) -> int | None:
        found = self.game.parse(text, self.seen)
        return found.cents if isinstance(found, Offer) else None

    def _first_price(self) -> int:
        """Return the own last offer, else the standing offer or the own reservation value."""
        own = [price for _, seat, price in self.seen.public.offers if seat == self.seat]
        standing = self.seen.public.standing
        return own[-1] if own else reservation_value(self.seen) if standing is None else standing

    def _priced(self) -> None:
        """Show what a deal at the price in the field would pay."""
        cents, typed = self.price.value, self.price.widget.value.strip()
        if cents is not UNSET:
            number = len(self.seen.public.offers) + 1
            pays: object = join(render(self.seen, cents, number) for render in (view.render_shares, render_deal_value))
        else:
            pays = element("div", self._fault(), cls="nl-due") if typed else element("div", WORDS.ENTER, cls="nl-soft")
        self._sum.value = element("div", pays, cls="nl-priced")
        self.offer.description = (
            WORDS.OFFER_A_PRICE if cents is UNSET else WORDS.OFFER.format(amount=format_money(cents))
        )
        set_class(self.offer, decision.UNSET, cents is UNSET)

    def _fault(self) -> str:
        """Return what is wrong with what stands in the field."""
        meant = without_decimal_comma(self.price.widget.value)
        return WORDS.WRITE_POINT.format(price=meant) if meant else self.price.fault

    def _make(self) -> None:
        offer, count = self.game.moves(self.seen).move("offer"), len(" ".join(self.words.value.split()))
        if not self.asked:
            self.say("offer", self.notice)
        elif offer is None:
            self.refuse(WORDS.NO_ROUND_LEFT, self.notice)
        elif self.price.value is UNSET:
            self.refuse(self._fault(), self.notice)
        elif "message" in offer.fields and count > MAX_MESSAGE:
            self.refuse(WORDS.MESSAGE_TOO_LONG.format(count=count, most=MAX_MESSAGE), self.notice)
        else:
            words = {"message": self.words.value} if "message" in offer.fields else {}
            self.act(offer.make(self.price.value, **words), self.notice)
