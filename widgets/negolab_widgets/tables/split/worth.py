"""What units are worth to a seat as far as it may know, and what an ask would bring."""

from __future__ import annotations

from collections.abc import Sequence

from negolab.game import Seat, other
from negolab.games.split.allocation import allocate, complement, points
from negolab.games.split.names import singular
from negolab.games.split.position import HIGH, LOW, Seen, Units
from negolab.games.split.rulebook import decimal
from negolab.games.split.rules import Split
from negolab_widgets.html import Markup, element


def values_of(seen: Seen, seat: Seat) -> Units | None:
    """What a unit is worth to a seat in this round; None if this observation does not hold it."""
    if seen.public.values is not None:
        return seen.public.values[seat]
    return seen.private.values if seat == seen.seat else None


def counted(number: float, word: str = "point") -> str:
    """So many points, with at most two decimals."""
    written = decimal(number)
    return f"{written} {word}" if written == "1" else f"{written} {word}s"


def kept(game: Split, units: Sequence[float]) -> str:
    """Units of the types of which there are any: `1 hat, 2.5 balls`."""
    some = [(item, some) for item, some in zip(game.items, units, strict=True) if some]
    return ", ".join(f"{decimal(count)} {singular(item) if count == 1 else item}" for item, count in some) or "nothing"


def brings(game: Split, seen: Seen, keep: Units) -> Markup:
    """What an ask would pay, and what it leaves to the other."""
    left = complement(seen.public.stock, keep)
    theirs = values_of(seen, other(seen.seat))
    # Keeping nothing pays nothing in the best case too.
    unless = _unless(game, seen, keep) if any(keep) else ""
    leaves = f"Leaves {kept(game, left)} to player {other(seen.seat)}"
    also = "" if theirs is None else f", {counted(points(left, theirs))}"
    return element(
        "div",
        element("div", *_pays(seen, keep), cls="nl-gain"),
        element("div", unless, cls="nl-soft") if unless else "",
        element("div", f"{leaves}{also}.", cls="nl-soft"),
        cls="nl-brings nl-shared",
    )


def _pays(seen: Seen, keep: Units) -> tuple[object, ...]:
    own = values_of(seen, seen.seat)
    if own is not None:
        whole = counted(points(seen.public.stock, own))
        condition = ", if you get all you keep" if any(keep) else ""
        return element("b", decimal(points(keep, own))), f" of {whole}{condition}"
    units = sum(keep)
    if not units:
        return (element("b", counted(0)),)
    return (
        element("b", counted(HIGH * units)),
        " if your hand wins, ",
        element("b", counted(LOW * units)),
        " if it loses, if you get all you keep",
    )


def _unless(game: Split, seen: Seen, keep: Units) -> str:
    """What it pays in the worst case."""
    if game.rule == "exact":
        return "0 points unless the other keeps exactly the rest."
    share, _, _ = allocate("proportional", seen.public.stock, keep, seen.public.stock)
    own = values_of(seen, seen.seat)
    if own is not None:
        return f"{counted(points(share, own))} if the other asks for everything."
    won, lost = counted(HIGH * sum(share)), counted(LOW * sum(share))
    return f"{won} or {lost} if the other asks for everything."
