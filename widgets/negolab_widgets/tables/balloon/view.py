"""A seat's table of balloon as HTML: what it knows, the proposals that stand, the conversation, the agreement."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple

import ipywidgets as w
import msgspec

from negolab.game import Seat, other
from negolab.games.balloon import Balloon, Message, Say
from negolab.games.balloon.effects import total
from negolab.games.balloon.reading import parse_set
from negolab.games.balloon.state import Names, Public, Seen
from negolab.games.balloon.words import WORDS
from negolab.studies.texts import table_texts
from negolab.theory.frontier import best_set
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.layout import column, framed, row, set_visible, styled
from negolab_widgets.tables.controls import Table
from negolab_widgets.tables.conversation import MAX_ENTRIES, ConversationEntry
from negolab_widgets.tables.decision import Decision, end_class, render_pay
from negolab_widgets.tables.timeline import Timeline


class SetValue(msgspec.Struct, frozen=True):
    """A set's sums. `best` is the most that any set within the `limit` is worth to the seat."""

    count: int
    effort: int
    limit: int
    points: int
    best: int

    @property
    def over(self) -> int:
        """Effort beyond the LIMIT."""
        return max(0, self.effort - self.limit)

    @property
    def share(self) -> str:
        """The share of the seat's optimum, to which only sets within the LIMIT compare."""
        if self.over:
            return WORDS.OVER_LIMIT
        return WORDS.OF_BEST.format(share=f"{100 * self.points / self.best:.0f}") if self.best else WORDS.NO_BEST


def set_value(seen: Seen, names: Collection[str]) -> SetValue:
    """Sum a set of items for the seat."""
    terms, own = seen.public.terms, seen.private.importance
    return SetValue(len(names), total(terms.effort, names), terms.limit, total(own, names), best_value(seen))


def best_value(seen: Seen) -> int:
    """Return the seat's own optimum, a knapsack that is solved once."""
    terms, own = seen.public.terms, seen.private.importance
    return total(own, best_set(terms.effort, own, terms.limit))


def render_value_bars(sums: SetValue) -> Markup:
    """Render both sums as bars, each with its words."""
    effort = (WORDS.EFFORT_OVER if sums.over else WORDS.EFFORT_LEFT).format(
        effort=f"{sums.effort:,}", limit=f"{sums.limit:,}", over=f"{sums.over:,}", left=f"{sums.limit - sums.effort:,}"
    )
    points = WORDS.POINTS.format(points=f"{sums.points:,}", share=sums.share)
    return element(
        "div",
        element("span", WORDS.EFFORT, cls="nl-sum-name"),
        html.bar(sums.effort, sums.limit, effort, name=WORDS.EFFORT_BAR),
        element("span", WORDS.IMPORTANCE, cls="nl-sum-name"),
        html.bar(min(sums.points, sums.best), sums.best, points, name=WORDS.IMPORTANCE_BAR),
        cls="nl-sums",
    )


def render_value_line(sums: SetValue) -> Markup:
    """Render the sums in one line, the own points first."""
    effort = (WORDS.EFFORT_TOO_MUCH if sums.over else WORDS.EFFORT_OF).format(
        effort=f"{sums.effort:,}", over=f"{sums.over:,}"
    )
    return element(
        "div",
        element("span", html.fill(table_texts.FOR_YOU, amount=element("b", f"{sums.points:,}"))),
        element("span", sums.share, cls="nl-excess" if sums.over else ""),
        element("span", effort),
        cls="nl-figures",
    )


def render_items(seen: Seen, names: Collection[str], most: int = 30) -> Markup:
    """Render the items of a set in their order; of a long one the first, and how many more."""
    listed = [name for name in seen.public.terms.effort if name in names]
    shown = [element("bdi", name) for name in listed[:most]]
    more = [WORDS.AND_MORE.format(count=len(listed) - most)] if len(listed) > most else []
    if not listed:
        return element("div", WORDS.NONE_HERE, cls="nl-soft")
    return element("div", Markup(", ").join([*shown, *map(html.escape, more)]), cls="nl-items")


def count_items(count: int) -> str:
    """Format a number of items."""
    return WORDS.ITEM_1 if count == 1 else WORDS.ITEMS.format(count=count)


def talk(game: Balloon, seen: Seen) -> list[ConversationEntry]:
    """List one entry per message, the latest ones in full."""
    messages = seen.public.messages
    early = max(0, len(messages) - MAX_ENTRIES)
    # The early ones are only counted, so they need not be read.
    return [ConversationEntry("", "")] * early + [_entry(game, seen, message) for message in messages[early:]]


def timeline(game: Balloon, seen: Seen) -> Timeline:
    """Return the worth of both sides' latest proposals for the seat, in percent of its best set."""
    rows: list[tuple[int, Seat, float]] = []
    first = max(0, len(seen.public.messages) - MAX_ENTRIES)
    for number, message in enumerate(seen.public.messages[first:], first + 1):
        made = game.reader.read_delivered(message.text).propose if message.accepted else ()
        sums = [set_value(seen, names) for names in made]
        paid = ((0 if each.over else 100 * each.points / each.best) for each in sums if each.best)
        rows += [(number, message.seat, share) for share in paid]
    lines = {WORDS["facts"]["best"]: 100.0}
    return Timeline(seen.seat, WORDS.COURSE, rows, table_texts.MESSAGE, lines, "{:.0f}%".format, tick="{}%")


def _entry(game: Balloon, seen: Seen, message: Message) -> ConversationEntry:
    who, kind = (WORDS.YOU, "own") if message.seat == seen.seat else (WORDS.THEY, "other")
    if not message.accepted:
        return ConversationEntry(who, message.text, WORDS.AGAINST_RULES, kind)
    note = "; ".join(_describe_moves(seen, game.reader.read_delivered(message.text)))
    return ConversationEntry(who, extract_arguments(message.text, game.reader.tags.argument), note, kind)


def _describe_moves(seen: Seen, say: Say) -> list[str]:
    done = (WORDS.PROPOSED, say.propose), (WORDS.REFUSED, say.refuse), (WORDS.AGREED, say.agree)
    return [words.format(set=_describe_set(seen, names)) for words, sets in done for names in sets]


def _describe_set(seen: Seen, names: Names) -> str:
    sums = set_value(seen, names)
    return WORDS.SET.format(
        items=count_items(sums.count), points=f"{sums.points:,}", share=sums.share, effort=f"{sums.effort:,}"
    )


def extract_arguments(text: str, tag: str) -> str:
    """Return the words of a message's arguments, without tags, braces and quotes around a single string."""
    return "\n".join(filter(None, map(_unquote, _argument_pattern(tag).findall(text))))


@lru_cache
def _argument_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(tag)}:\s*+\{{([^{{}}]*+(?:\{{[^{{}}]*+\}}[^{{}}]*+)*+)\}}")


def _unquote(body: str) -> str:
    try:
        found = parse_set(body.strip())
    except ValueError:
        return body.strip()
    return next(iter(found.names)).strip() if found.kind == "strings" and len(found.names) == 1 else body.strip()


def role(game: Balloon, seat: Seat) -> str:
    return WORDS.ROLE.format(seat=seat)


def clock(game: Balloon, seen: Seen) -> str:
    public = seen.public
    terms = public.terms
    if public.end is not None:
        return WORDS.WRITTEN_1 if public.turn == 1 else WORDS.WRITTEN.format(count=public.turn)
    at = (WORDS.AT if terms.turn_limit is None else WORDS.AT_OF).format(number=public.turn + 1, limit=terms.turn_limit)
    most = terms.empty_turn_limit
    return at if most is None else WORDS.EMPTY.format(at=at, count=public.empty, most=most)


def known(game: Balloon, seen: Seen) -> list[object]:
    return [render_items_table(seen), render_standing(seen)]


def rules(game: Balloon, seen: Seen) -> list[str]:
    """Say the rules to a person: the goal, the limit, no agreement, how a set is agreed."""
    terms, words = seen.public.terms, WORDS["rules"]
    turns = words["turns"] if terms.turn_limit is None else words["counted"].format(turns=terms.turn_limit)
    # The reference's rules let a set over the LIMIT be agreed to, and score it 0.
    limit = words["limit_unchecked" if game.rules == "reference" else "limit"]
    return [words["goal"], limit.format(limit=f"{terms.limit:,}"), words["other"], turns]


def facts(game: Balloon, seen: Seen) -> list[tuple[str, object]]:
    """Return the limit and the most that a set can pay the seat."""
    words = WORDS["facts"]
    return [(words["limit"], f"{seen.public.terms.limit:,}"), (words["best"], f"{best_value(seen):,}")]


def latest_of_other(seen: Seen) -> Names | None:
    """Return the other's newest proposal that stands; None without one."""
    standing = seen.public.active[other(seen.seat)]
    return standing[-1] if standing else None


def render_comparison(seen: Seen, chosen: Names) -> Markup:
    """Render how many items the other's newest proposal and a chosen set do not share; empty if either is missing."""
    latest = latest_of_other(seen)
    if latest is None or not chosen:
        return Markup("")
    return element("div", _differences(latest, chosen), cls="nl-soft")


def _differences(theirs: Names, yours: Names) -> str:
    return WORDS.ONLY_IN.format(theirs=count_items(len(theirs - yours)), yours=count_items(len(yours - theirs)))


def decision(game: Balloon, seen: Seen) -> Decision:
    """Return the other's newest proposal, what it pays, how it differs from the own one, and the last message: what it
    refused, and its argument."""
    said = [message for message in seen.public.messages if message.seat != seen.seat]
    last = _last_message(game, seen, said[-1]) if said else ""
    latest = latest_of_other(seen)
    if latest is None:
        return Decision(WORDS.NONE_OF_THEIRS, last=last)
    sums, own = set_value(seen, latest), latest_proposal(seen.public, seen.seat)
    compared = WORDS.PAYS_NOTHING.format(over=f"{sums.over:,}") if sums.over else sums.share
    last = _differences(latest, own) if own and not last else last
    gain, bar = -1 if sums.over else sums.points, (sums.points / sums.best, 0.0) if sums.best else None
    pays = render_pay(WORDS.PAYS.format(points=f"{sums.points:,}"), compared, gain=gain, bar=bar)
    what = f"{count_items(sums.count)}, {WORDS.EFFORT_OF.format(effort=f'{sums.effort:,}')}"
    return Decision(WORDS.PROPOSES, what, pays, last, other(seen.seat))


def _last_message(game: Balloon, seen: Seen, message: Message) -> str:
    sets = game.reader.read_delivered(message.text).refuse if message.accepted else ()
    refused = (WORDS.REFUSED.format(set=count_items(len(names))) for names in sets)
    who, said = WORDS.PLAYER.format(seat=message.seat), " ".join(_entry(game, seen, message).text.split())
    did, told = ", ".join(refused), f"{who}: {said}" if said else ""
    # What is said is about their own set, not about what was refused.
    return f"{who} {did}. {told}".strip() if did else told


def ending(game: Balloon, seen: Seen) -> Markup:
    """Render what was agreed, or why nothing was; empty while the match runs."""
    public = seen.public
    if public.end is None:
        return Markup("")
    if public.deal is None:
        return html.panel(WORDS.NOT_AGREED, element("p", outcome(game, seen)))
    sums = set_value(seen, public.deal)
    return html.panel(
        outcome(game, seen),
        render_value_bars(sums),
        render_items(seen, public.deal),
        cls=end_class(0 if sums.over else sums.points),
    )


def outcome(game: Balloon, seen: Seen) -> str:
    """Return how large the agreed set is, or why none was agreed."""
    public = seen.public
    if public.deal is not None:
        agreed = WORDS.AGREED_SET.format(items=count_items(len(public.deal)))
        return f"{agreed}. {WORDS.PAYS_BOTH_NOTHING}" if set_value(seen, public.deal).over else agreed
    match public.end:
        case "OUT_OF_TIME":
            return WORDS.OUT_OF_TIME
        case "NO_DEAL":
            return WORDS.NO_DEAL
    return WORDS.ENDED_BY_YOU if public.ended_by == seen.seat else WORDS.ENDED_BY_THEM.format(seat=other(seen.seat))


def item_marks(seen: Seen) -> dict[str, str]:
    """Say whose latest standing proposal holds an item ("yours", "theirs", "both"); after a deal, what was kept."""
    public = seen.public
    if public.deal is not None:
        return dict.fromkeys(public.deal, WORDS["marks"]["kept"])
    marks = WORDS["marks"]
    own, away = (latest_proposal(public, seat) for seat in (seen.seat, other(seen.seat)))
    whose = {
        name: "both" if name in own and name in away else "yours" if name in own else "theirs" for name in own | away
    }
    return {name: marks[mark] for name, mark in whose.items()}


def latest_proposal(public: Public, seat: Seat) -> Names:
    """Return the seat's newest proposal that stands, the empty set if none does."""
    active = public.active[seat]
    return active[-1] if active else frozenset()


def item_head(last: str = "proposed") -> tuple[str, ...]:
    """Return the heads of the columns of items; the last says who proposed one, or that it was agreed."""
    words = WORDS["head"]
    return (words["item"], words["effort"], words["importance"], words["ratio"], words[last])


def item_cells(seen: Seen) -> list[tuple[str, str, str, str]]:
    """Format each item's name and numbers."""
    own = seen.private.importance
    return [
        (name, f"{effort:,}", f"{own[name]:,}", f"{own[name] / effort:.2f}")
        for name, effort in seen.public.terms.effort.items()
    ]


def render_items_table(seen: Seen) -> Markup:
    """Render all items with both numbers."""
    marked = item_marks(seen)
    head = item_head("proposed" if seen.public.deal is None else "agreed")
    rows = ((*row, marked.get(row[0], "")) for row in item_cells(seen))
    return html.panel(
        WORDS.ITEMS_TITLE.format(limit=f"{seen.public.terms.limit:,}"),
        html.table(head, rows, WORDS.ITEMS_TABLE, cls="nl-item-table"),
    )


def render_standing(seen: Seen) -> Markup:
    """Render the proposals that stand, newest first."""
    public = seen.public
    if public.end is not None:
        return Markup("")
    drawn = [
        element(
            "li",
            element("b", each.title),
            render_value_line(set_value(seen, each.names)),
            render_items(seen, each.names),
        )
        for each in standing_proposals(seen)
    ]
    empty = element("p", WORDS.NONE_STANDS)
    return html.panel(WORDS.STANDING, element("ul", *drawn, cls="nl-standing") if drawn else empty)


class StandingProposal(NamedTuple):
    """A proposal that stands: its seat, what it is called, its items."""

    seat: Seat
    title: str
    names: Names


def standing_proposals(seen: Seen) -> list[StandingProposal]:
    """List the proposals that stand, the other seat's first, the newest first; a set that stands twice once."""
    found = []
    for seat in (other(seen.seat), seen.seat):
        own = seat == seen.seat
        latest, earlier = (WORDS.YOUR_LATEST, WORDS.YOUR_EARLIER) if own else (WORDS.THEIR_LATEST, WORDS.THEIR_EARLIER)
        for at, names in enumerate(dict.fromkeys(reversed(seen.public.active[seat]))):
            found.append(StandingProposal(seat, (earlier if at else latest).format(seat=seat), names))
    return found


FIRST_SHOWN = 4
"""Proposals of each side that are shown at once; a button shows the earlier ones."""


class ProposalRow:
    """One proposal, made once, so that a redraw takes the focus from none of its buttons."""

    def __init__(
        self, controls: Table, each: StandingProposal, agree: Callable[[Names], None], start: Callable[[Names], None]
    ) -> None:
        self.each = each
        self.picture = w.HTML()
        listed = ", ".join(sorted(each.names)[:12]) or WORDS.NO_ITEMS
        self.agree = controls.button(WORDS.AGREE_THIS, agree, each.names, hint=WORDS.AGREE_TO.format(items=listed))
        self.start = controls.button(WORDS.START_THIS, start, each.names, hint=WORDS.TICK.format(items=listed))
        self.refuse = w.Checkbox(description=WORDS.REFUSE_NEXT, indent=False)
        theirs = each.seat != controls.seat
        actions = [self.agree, self.start, self.refuse] if theirs else [self.start]
        self.widget = styled(w.VBox([self.picture, row(*actions)]), "nl-offer")

    def draw(self, seen: Seen, each: StandingProposal, chosen: Names, *, asked: bool) -> None:
        same = element("span", WORDS.SAME, cls="nl-same") if each.names == chosen else ""
        head = element("div", element("b", each.title), same, cls="nl-offer-head")
        self.picture.value = Markup("").join(
            [head, render_value_line(set_value(seen, each.names)), render_items(seen, each.names)]
        )
        self.refuse.disabled = not asked
        self.agree.disabled = not asked or self.refuse.value


class ProposalList:
    """The proposals that stand, a row each: to compare, agree to, refuse or start from.

    Args:
        controls: The table's controls.
        agree: Called with a set to agree to.
        start: Called with a set to start from.
        changed: Called when a refusal is ticked or taken back.
    """

    def __init__(
        self,
        controls: Table,
        *,
        agree: Callable[[Names], None],
        start: Callable[[Names], None],
        changed: Callable[[], None],
    ) -> None:
        self._controls, self._agree, self._start, self._changed = controls, agree, start, changed
        self._rows_by_set: dict[tuple[str, Names], ProposalRow] = {}
        self._most = FIRST_SHOWN
        self._rows = column()
        self._empty = w.HTML(element("div", WORDS.NONE_STANDS_YET, cls="nl-soft"))
        self._more = controls.button(WORDS.SHOW_EARLIER, self._show_more, cls="nl-link")
        self.notice = controls.new_notice()
        title = w.HTML(element("h2", WORDS.STANDING))
        self.widget = framed(title, self._empty, self._rows, self._more, self.notice)

    @property
    def refused(self) -> tuple[Names, ...]:
        """Sets ticked to be refused with the next message, of those that still stand."""
        return tuple(
            each.names
            for each in standing_proposals(self._controls.seen)
            if (row := self._rows_by_set.get((each.seat, each.names))) is not None
            and each.seat != self._controls.seat
            and row.refuse.value
        )

    def draw(self, chosen: Names, *, asked: bool) -> None:
        every = standing_proposals(self._controls.seen)
        sides = [[each for each in every if (each.seat == self._controls.seat) is own] for own in (False, True)]
        rows = []
        for each in [each for side in sides for each in side[: self._most]]:
            made = self._row(each)
            made.draw(self._controls.seen, each, chosen, asked=asked)
            rows.append(made.widget)
        self._rows.children = rows
        set_visible(self._empty, not rows)
        set_visible(self._more, max(map(len, sides)) > self._most)

    def clear(self) -> None:
        """Untick all refusals."""
        for made in self._rows_by_set.values():
            made.refuse.value = False

    def _row(self, each: StandingProposal) -> ProposalRow:
        key = (each.seat, each.names)
        if key not in self._rows_by_set:
            made = ProposalRow(self._controls, each, self._agree, self._start)
            self._controls.on_change(made.refuse, self._changed)
            self._rows_by_set[key] = made
        return self._rows_by_set[key]

    def _show_more(self) -> None:
        self._most *= 4
        self._controls.draw()
