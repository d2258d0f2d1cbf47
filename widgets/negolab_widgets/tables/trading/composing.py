"""An offer of trading: how much of each good to give and to get, beside what one holds and what it is worth."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w

from negolab.games.trading import GOODS, Goods
from negolab.games.trading.goods import minus
from negolab.games.trading.position import Private
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.controls import Controls
from negolab_widgets.tables.stepper import MOST, Stepper
from negolab_widgets.tables.trading.view import brings, change, halves, signed

HEAD = ("Good", "You hold", "Net so far", "Worth each")
_WORDS = ("hold", "net", "worth")
"""The same on a narrow screen, where each number carries its own."""


class Composer:
    """A row per good. `changed` is called when an amount changes."""

    def __init__(self, controls: Controls, changed: Callable[[], None]) -> None:
        self._facts = [w.HTML() for _ in GOODS]
        self._give = [Stepper(controls, f"Give {good}", f"{good} to give", changed) for good in GOODS]
        self._get = [Stepper(controls, f"Get {good}", f"{good} to get", changed) for good in GOODS]
        self._sum = w.HTML()
        head = w.HTML(_head())
        lines = [head]
        for facts, give, get in zip(self._facts, self._give, self._get, strict=True):
            line = w.Box([facts, give.widget, get.widget])
            line.add_class("nl-good")
            lines.append(line)
        self.goods = w.VBox(lines)
        self.goods.add_class("nl-goods")
        self.sum = self._sum

    @property
    def give(self) -> Goods:
        return _vector(self._give)

    @property
    def get(self) -> Goods:
        return _vector(self._get)

    @property
    def is_empty(self) -> bool:
        return not any((*self.give, *self.get))

    def put(self, give: Goods, get: Goods) -> None:
        """Show these amounts."""
        for steppers, goods in ((self._give, give), (self._get, get)):
            for stepper, amount in zip(steppers, goods, strict=True):
                stepper.put(amount)

    def draw(self, own: Private, most: Goods, *, asked: bool) -> None:
        """`most` is what may be given of each good."""
        net = minus(own.holdings, own.start)
        for at, facts in enumerate(self._facts):
            facts.value = _facts(GOODS[at], own.holdings[at], net[at], own.values[at])
            self._give[at].draw(most=most[at], asked=asked)
            self._get[at].draw(most=MOST, asked=asked)
        self.draw_sum(own)

    def draw_sum(self, own: Private) -> None:
        """What the offer would bring."""
        give, get = self.give, self.get
        if self.is_empty:
            line = element("span", "Step up what you would give and what you would get.", cls="nl-soft")
        else:
            line = change(brings(own, give, get), "for you if it is accepted")
        self._sum.value = element("div", line, element("div", halves(own, give, get)), cls="nl-composed")


def _vector(steppers: list[Stepper]) -> Goods:
    a, b, c, d, e = (stepper.value for stepper in steppers)
    return a, b, c, d, e


def _head() -> Markup:
    names = element("div", *(element("span", text) for text in HEAD), cls="nl-good-facts")
    return element("div", names, element("span", "You give"), element("span", "You get"), cls="nl-good nl-good-head")


def _facts(good: str, held: int, net: int, value: int) -> Markup:
    numbers = zip(_WORDS, (f"{held:,}", signed(net), f"{value:,}"), strict=True)
    cells = (element("span", element("span", f"{name} ", cls="nl-cell-name"), text) for name, text in numbers)
    return element("div", element("b", good), *cells, cls="nl-good-facts")
