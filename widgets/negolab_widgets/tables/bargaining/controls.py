"""The controls of bargaining: answer the offer that stands, or name a price."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w
from typing_extensions import override

from negolab.formatting import format_money
from negolab.game import SEATS, Invalid, Seat
from negolab.games.bargaining.reading import MAX_MESSAGE, clean_message, without_decimal_comma
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Accept, Action, Offer, Reject, Seen, reservation_value
from negolab.games.bargaining.words import WORDS
from negolab.money import cents_to_dollars
from negolab.studies.texts import refusal_text, table_texts
from negolab_widgets import charts
from negolab_widgets.fields import PriceField
from negolab_widgets.html import element
from negolab_widgets.tables.bargaining import view
from negolab_widgets.tables.bargaining.view import known_reservation_value, render_deal_value, role_name
from negolab_widgets.tables.controls import ReplyBox, Table, column, framed, set_visible
from negolab_widgets.tables.decision import ACCEPT, COMPOSE, UNSET, name_accept, set_class

_STEPS = (
    ("\N{MINUS SIGN}$1", -100, "dollar_less"),
    ("\N{MINUS SIGN}1\N{CENT SIGN}", -1, "cent_less"),
    ("+1\N{CENT SIGN}", 1, "cent_more"),
    ("+$1", 100, "dollar_more"),
)


class PriceEditor:
    """A price to type or to step to, parsed by the game, with what a deal at it would pay.

    It starts empty, because a price that stood there would suggest one. `changed` is called when it changes.
    """

    def __init__(self, controls: Table, game: Bargaining, changed: Callable[[], None]) -> None:
        self._controls, self._game = controls, game
        low, high = game.price_lo, game.price_hi
        hint = WORDS.PRICE_HINT.format(low=cents_to_dollars(low), high=cents_to_dollars(high))
        steps = [[text, by, WORDS["steps"][name]] for text, by, name in _STEPS]
        self.field = PriceField(description=WORDS.PRICE, placeholder=hint, steps=steps, min=low, max=high)
        self.field.add_class("nl-price")
        controls.on_change(self.field, changed)
        self.sum = w.HTML()

    @property
    def cents(self) -> int | None:
        """The price in the field; None if it holds none."""
        found = self._game.parse(self.field.value, self._seen)
        return found.cents if isinstance(found, Offer) else None

    @property
    def fault(self) -> str:
        """The field's fault; "" if it holds a price."""
        if self.cents is not None:
            return ""
        if meant := without_decimal_comma(self.field.value):
            return WORDS.WRITE_POINT.format(price=meant)
        lo, hi = format_money(self._game.price_lo), format_money(self._game.price_hi)
        return WORDS.ENTER_ONE.format(low=lo, high=hi)

    def draw(self, *, asked: bool) -> None:
        self.field.disabled, self.field.base = not asked, self._base()
        self.draw_sum()

    def draw_sum(self) -> None:
        """Show what a deal at the price in the field would pay."""
        cents = self.cents
        if cents is not None:
            pays: object = render_deal_value(self._seen, cents, len(self._seen.public.offers) + 1)
        elif self.field.value.strip():
            pays = element("div", self.fault, cls="nl-due")
        else:
            pays = element("div", WORDS.ENTER, cls="nl-soft")
        self.sum.value = element("div", pays, cls="nl-priced")

    def clear(self) -> None:
        self.field.value = ""

    @property
    def _seen(self) -> Seen:
        return self._controls.seen

    def _base(self) -> int:
        """Return what to step from: the own last offer, else the standing offer or the own reservation value."""
        seen = self._seen
        own = [price for _, seat, price in seen.public.offers if seat == seen.seat]
        standing = seen.public.standing
        return own[-1] if own else reservation_value(seen) if standing is None else standing


class BargainingTable(Table):
    """Left the price to offer and the course of the offers; right what the seat knows and the messages."""

    role = staticmethod(view.role)
    clock = staticmethod(view.clock)
    rules = staticmethod(view.rules)
    decision = staticmethod(view.decision)
    render = staticmethod(view.render)

    game: Bargaining

    @override
    def build(self) -> None:
        self._ending, self._knows, self._messages, self._table = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        self._build_answer()
        self._build_offer()
        self._chart = charts.Chart(height=260)
        self._drawn: object = None
        self._course = framed(w.HTML(element("h2", WORDS.ALL_OFFERS)), self._chart, self._table)
        self._typed = ReplyBox(self, text=WORDS.TYPE_ANSWER, send=WORDS.SEND_ANSWER, primary=False)
        self._due = w.HTML()
        self._typing = column(self._due, self.typed(self._typed.widget))
        self._read, self._filled = 0, frozenset[int]()
        self.main.children = [self._ending, self._offering, self._course]
        self.side.children = [self._knows, self._messages, self._typing, self.word_for_word()]
        for part in (self.main, self.side):
            part.add_class("nl-even")

    def _build_answer(self) -> None:
        self.accept = self.button(WORDS.ACCEPT, lambda: self._play(Accept(), self.answer_notice), cls="nl-primary")
        self.accept.add_class(ACCEPT)
        self.reject = self.ask_first(WORDS.WALK_AWAY, lambda: self._play(Reject(), self.answer_notice))
        self.actions.children = [self.accept, self.reject]

    def _build_offer(self) -> None:
        self.price = PriceEditor(self, self.game, self._priced)
        self.words = self.message_box(WORDS.MESSAGE_HINT.format(most=MAX_MESSAGE), WORDS.MESSAGE)
        set_visible(self.words, view.may_write(self.seen))
        self._title, self._last = w.HTML(), w.HTML()
        self.offer = self.button("", self._make, cls="nl-primary")
        self._offering = framed(
            self._title, self._last, self.price.field, self.price.sum, self.words, self.offer, self.notice
        )
        self._offering.add_class(COMPOSE)

    @override
    def draw(self) -> None:
        public = self.seen.public
        self._see_filled()
        self._ending.value = view.render_ending(self.seen, unread=self.rejection is not None)
        self._knows.value = view.render_knowledge(self.game, self.seen)
        self._messages.value = view.render_messages(self.game, self.seen)
        set_visible(self._messages, bool(self._messages.value))
        set_visible(self._ending, public.over)
        set_visible(self._typing, not public.over)
        self._draw_answer()
        self._draw_offer()
        self._table.value = view.render_offers(self.seen, self._filled)
        self._typed.draw(asked=self.asked)
        self._due.value = element("div", self._last_try(), cls="nl-due")
        set_visible(self._due, bool(self._last_try()))

    def _see_filled(self) -> None:
        """Note own offers that the game made in place of an answer which could not be read."""
        offers = self.seen.public.offers
        new, self._read = offers[self._read :], len(offers)
        for number, seat, cents in new:
            if self.rejection is not None and seat == self.seat:
                self._filled |= {number}
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
        self.reject.question = WORDS.END_WITHOUT.format(amount=format_money(view.no_deal_payoff(self.seen)))
        set_visible(self.reject, due and (public.last_response or public.terms.walk_away))

    def _draw_offer(self) -> None:
        public = self.seen.public
        title = WORDS.YOUR_COUNTEROFFER if public.offers else WORDS.YOUR_OFFER
        self._title.value = element("h2", title)
        words = WORDS.LAST_CHANCE if view.is_last_offer(self.seen) and self.asked else ""
        self._last.value = element("div", words, cls="nl-due")
        set_visible(self._last, bool(words))
        set_visible(self._offering, not (public.over or public.last_response))
        self.compose = (
            "" if public.last_response else WORDS.COUNTEROFFER if public.offers else table_texts.MAKE_AN_OFFER
        )
        self.price.draw(asked=self.asked)
        self.words.disabled = self.offer.disabled = not self.asked
        self._name_offer()

    @override
    def draw_figure(self) -> None:
        """Redraw only after another offer or the end."""
        public = self.seen.public
        if self._drawn == (public.offers, public.status):
            return
        self._drawn = (public.offers, public.status)
        known = (
            (view.reservation_value_name(self.seen, seat), known_reservation_value(self.seen, seat)) for seat in SEATS
        )
        figure = charts.offers(
            public.offers,
            lines={word: number for word, number in known if number is not None},
            rounds=public.terms.rounds,
            deal=public.price is not None,
            names={
                seat: (WORDS.ROLE_YOU if seat == self.seat else "{role}").format(role=role_name(seat)) for seat in SEATS
            },
        )
        self._chart.show(figure)

    def _name(self, seat: Seat) -> str:
        name = role_name(seat)
        return WORDS.ROLE_YOU.format(role=name) if seat == self.seat else name

    @override
    def clear_input(self) -> None:
        self._typed.clear()
        self.price.clear()
        self.words.value = ""

    # What is sent.

    def _priced(self) -> None:
        self.price.draw_sum()
        self._name_offer()

    def _name_offer(self) -> None:
        cents = self.price.cents
        self.offer.description = (
            WORDS.OFFER_A_PRICE if cents is None else WORDS.OFFER.format(amount=format_money(cents))
        )
        set_class(self.offer, UNSET, cents is None)

    def _make(self) -> None:
        words = clean_message(self.words.value) if view.may_write(self.seen) else ""
        cents, count = self.price.cents, len(" ".join(self.words.value.split()))
        if not self.asked:
            self.say("offer", self.notice)
        elif self.seen.public.last_response:
            self.refuse(WORDS.NO_ROUND_LEFT, self.notice)
        elif cents is None:
            self.refuse(self.price.fault, self.notice)
        elif words and count > MAX_MESSAGE:
            self.refuse(WORDS.MESSAGE_TOO_LONG.format(count=count, most=MAX_MESSAGE), self.notice)
        else:
            self._play(Offer(cents, words), self.notice)

    def _play(self, action: Action, beside: w.HTML) -> None:
        """Send an action that is parsed back as it is meant; otherwise show why not beside its button."""
        text = self.game.say(action)
        read = self.game.parse(text, self.seen)
        if not self.asked or read == action:
            self.say(text, beside)
        elif isinstance(read, Invalid):
            self.refuse(refusal_text(self.game, read), beside)
        else:
            self.refuse(table_texts.NOT_NOW, beside)
