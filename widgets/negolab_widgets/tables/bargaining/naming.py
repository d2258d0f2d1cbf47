"""A price to type or to step to, read as the game reads it, with what a deal at it would pay."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import ipywidgets as w

from negolab.games.bargaining.money import dollars, money
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Offer, Seen, own_number
from negolab_widgets.html import element
from negolab_widgets.tables.bargaining.worth import brings
from negolab_widgets.tables.controls import Controls

_STEPS = (
    ("\N{MINUS SIGN}$1", -100, "one dollar less"),
    ("\N{MINUS SIGN}1\N{CENT SIGN}", -1, "one cent less"),
    ("+1\N{CENT SIGN}", 1, "one cent more"),
    ("+$1", 100, "one dollar more"),
)


class Price:
    """A field between steps of a dollar and of a cent. It starts empty: a price that stood there would suggest one.
    Each key stroke is sent, so that no press on a button comes before it; `changed` is called then."""

    def __init__(self, controls: Controls, game: Bargaining, changed: Callable[[], None]) -> None:
        self._controls, self._game = controls, game
        self.field = w.Text(description="Price in dollars", continuous_update=True)
        self.field.placeholder = f"{dollars(game.price_lo)} to {dollars(game.price_hi)}"
        self.steps = [
            controls.button(text, partial(self._step, by), cls="nl-step", hint=hint) for text, by, hint in _STEPS
        ]
        controls.on_change(self.field, changed)
        self.widget = w.Box([*self.steps[:2], self.field, *self.steps[2:]])
        self.widget.add_class("nl-price")
        self.sum = w.HTML()

    @property
    def cents(self) -> int | None:
        """The price in the field; None if it holds none."""
        found = self._game.parse(self.field.value, self._seen)
        return found.cents if isinstance(found, Offer) else None

    @property
    def fault(self) -> str:
        """What is wrong with the field; "" if it holds a price."""
        if self.cents is not None:
            return ""
        lo, hi = money(self._game.price_lo), money(self._game.price_hi)
        return f"Enter one price from {lo} to {hi}."

    def draw(self, *, asked: bool) -> None:
        for control in (self.field, *self.steps):
            control.disabled = not asked
        self.draw_sum()

    def draw_sum(self) -> None:
        """What a deal at the price in the field would pay."""
        cents = self.cents
        if cents is not None:
            pays: object = brings(self._seen, cents, len(self._seen.public.offers) + 1)
        elif self.field.value.strip():
            pays = element("div", self.fault, cls="nl-due")
        else:
            pays = element("div", "Enter a price to see what a deal at it pays you.", cls="nl-soft")
        self.sum.value = element("div", pays, cls="nl-priced")

    def clear(self) -> None:
        self.field.value = ""

    @property
    def _seen(self) -> Seen:
        return self._controls.seen

    def _step(self, by: int) -> None:
        """From the field's price, else from the own last offer, the standing one or the own number."""
        cents = self.cents
        if cents is None:
            seen = self._seen
            own = [price for _, seat, price in seen.public.offers if seat == seen.seat]
            standing = seen.public.standing
            cents = own[-1] if own else own_number(seen) if standing is None else standing
        self.field.value = dollars(min(self._game.price_hi, max(self._game.price_lo, cents + by)))
