"""What a set of items comes to for one seat: effort against the LIMIT, own importance against the own optimum."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from negolab.games.balloon.play import total
from negolab.games.balloon.state import Seen
from negolab.theory.frontier import best
from negolab_widgets import html
from negolab_widgets.html import Markup, element


class Worth(msgspec.Struct, frozen=True):
    """A set's sums. `top` is the most that any set within the `limit` is worth to the seat."""

    count: int
    effort: int
    limit: int
    points: int
    top: int

    @property
    def over(self) -> int:
        """By how much it is over the LIMIT."""
        return max(0, self.effort - self.limit)

    @property
    def share(self) -> str:
        """Of the own optimum, to which only sets within the LIMIT compare."""
        if self.over:
            return "over the LIMIT"
        return f"{100 * self.points / self.top:.0f} % of your best" if self.top else "no set is worth anything to you"


def worth(seen: Seen, names: Collection[str]) -> Worth:
    """The sums of a set of items."""
    terms, own = seen.public.terms, seen.private.importance
    return Worth(len(names), total(terms.effort, names), terms.limit, total(own, names), top(seen))


def top(seen: Seen) -> int:
    """The seat's own optimum: a knapsack, which is solved once."""
    terms, own = seen.public.terms, seen.private.importance
    return total(own, best(terms.effort, own, terms.limit))


def bars(sums: Worth) -> Markup:
    """Both sums as bars, each with its words."""
    room = f"{sums.over:,} over" if sums.over else f"{sums.limit - sums.effort:,} left"
    effort = f"{sums.effort:,} of {sums.limit:,}, {room}"
    points = f"{sums.points:,}, {sums.share}"
    return element(
        "div",
        element("span", "Effort", cls="nl-sum-name"),
        html.bar(sums.effort, sums.limit, effort, name="Effort against the LIMIT"),
        element("span", "For you", cls="nl-sum-name"),
        html.bar(min(sums.points, sums.top), sums.top, points, name="Importance to you against your best set"),
        cls="nl-sums",
    )


def figures(sums: Worth) -> Markup:
    """The sums in one line, the own points first."""
    over = f", {sums.over:,} too much" if sums.over else ""
    return element(
        "div",
        element("span", element("b", f"{sums.points:,}"), " for you"),
        element("span", sums.share, cls="nl-excess" if sums.over else ""),
        element("span", f"effort {sums.effort:,}{over}"),
        cls="nl-figures",
    )


def named(seen: Seen, names: Collection[str], most: int = 30) -> Markup:
    """The items of a set in their order; of a long one the first, and how many more."""
    listed = [name for name in seen.public.terms.effort if name in names]
    shown = [element("bdi", name) for name in listed[:most]]
    more = [f"and {len(listed) - most} more"] if len(listed) > most else []
    if not listed:
        return element("div", "No items", cls="nl-soft")
    return element("div", Markup(", ").join([*shown, *map(html.escape, more)]), cls="nl-items")


def items(count: int) -> str:
    """So many items."""
    return "1 item" if count == 1 else f"{count} items"
