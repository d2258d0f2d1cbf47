"""A seat's table of balloon as a picture: what it knows, what stands, what was said, what was agreed."""

from __future__ import annotations

from typing import NamedTuple

from negolab.game import Seat, other
from negolab.games.balloon import Balloon
from negolab.games.balloon.state import Names, Public, Seen
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.balloon.heard import entries
from negolab_widgets.tables.balloon.worth import bars, figures, items, named, worth
from negolab_widgets.tables.talk import talk


def role(game: Balloon, seat: Seat) -> str:
    return f"player {seat}"


def clock(game: Balloon, seen: Seen) -> str:
    public = seen.public
    terms = public.terms
    if public.end is not None:
        return f"{public.turn} message{'' if public.turn == 1 else 's'}"
    limit = "" if terms.turn_limit is None else f" of {terms.turn_limit}"
    rows = f", {public.empty} of at most {terms.empty_turn_limit} in a row without a proposal"
    return f"Message {public.turn + 1}{limit}{'' if terms.empty_turn_limit is None else rows}"


def render(game: Balloon, seen: Seen) -> Markup:
    parts = [ending(seen), item_table(seen), standing_table(seen)]
    said = html.panel("What was said", talk(entries(game, seen), whole=seen.public.end is not None))
    return element("div", *filter(None, parts), said, cls="nl-stack")


def ending(seen: Seen) -> Markup:
    """What was agreed, or why nothing was; "" while the match runs."""
    public = seen.public
    if public.end is None:
        return Markup("")
    if public.deal is None:
        return html.panel("No set was agreed", element("p", _without(public, seen.seat)))
    sums = worth(seen, public.deal)
    pays = "" if not sums.over else element("p", "It is over the LIMIT, so it pays both sides nothing.")
    title = f"The agreed set: {items(sums.count)}"
    return html.panel(title, bars(sums), named(seen, public.deal), pays, cls="nl-deal")


def _without(public: Public, seat: Seat) -> str:
    match public.end:
        case "OUT_OF_TIME":
            return "The last message was sent before the two of you agreed."
        case "NO_DEAL":
            return "Too many messages in a row held no proposal."
    whose = "one of your messages" if public.ended_by == seat else f"a message of player {other(seat)}"
    return f"The match ended by {whose} that the rules do not allow."


def marks(seen: Seen) -> dict[str, str]:
    """Whose latest standing proposal holds an item: "yours", "theirs" or "both"; after a deal, what was kept."""
    public = seen.public
    if public.deal is not None:
        return dict.fromkeys(public.deal, "kept")
    own, away = (latest(public, seat) for seat in (seen.seat, other(seen.seat)))
    return {
        name: "both" if name in own and name in away else "yours" if name in own else "theirs" for name in own | away
    }


def latest(public: Public, seat: Seat) -> Names:
    """The seat's newest proposal that stands; nothing if none does."""
    active = public.active[seat]
    return active[-1] if active else frozenset()


HEAD = ("Item", "Effort", "For you", "Per effort", "Proposed")


def cells(seen: Seen) -> list[tuple[str, str, str, str]]:
    """Each item's name and numbers, as one would write them."""
    own = seen.private.importance
    return [
        (name, f"{effort:,}", f"{own[name]:,}", f"{own[name] / effort:.2f}")
        for name, effort in seen.public.terms.effort.items()
    ]


def item_table(seen: Seen) -> Markup:
    """All items with both numbers."""
    marked = marks(seen)
    last = "Agreed" if seen.public.deal is not None else HEAD[-1]
    rows = ((*row, marked.get(row[0], "")) for row in cells(seen))
    return html.panel(
        f"Items, LIMIT {seen.public.terms.limit:,}", html.table((*HEAD[:-1], last), rows, "Items", cls="nl-item-table")
    )


def standing_table(seen: Seen) -> Markup:
    """The proposals that stand, newest first."""
    public = seen.public
    if public.end is not None:
        return Markup("")
    drawn = [
        element("li", element("b", each.title), figures(worth(seen, each.names)), named(seen, each.names))
        for each in standing(seen)
    ]
    empty = element("p", "No proposal stands.")
    return html.panel("Proposals that stand", element("ul", *drawn, cls="nl-standing") if drawn else empty)


class Standing(NamedTuple):
    """A proposal that stands: whose, what it is called, what is in it."""

    seat: Seat
    title: str
    names: Names


def standing(seen: Seen) -> list[Standing]:
    """Proposals that stand, the other's before the own, the newest first; a set that stands twice is listed once."""
    found = []
    for seat in (other(seen.seat), seen.seat):
        whose = "Your" if seat == seen.seat else f"Player {seat}'s"
        for at, names in enumerate(dict.fromkeys(reversed(seen.public.active[seat]))):
            found.append(Standing(seat, f"{whose} {'earlier' if at else 'latest'}", names))
    return found
