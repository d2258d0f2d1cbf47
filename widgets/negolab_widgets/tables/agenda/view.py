"""A seat's table of an agenda as HTML: its points, the offer that stands, how the match ended, and what was said."""

from __future__ import annotations

from collections.abc import Sequence

from negolab.game import Seat, other
from negolab.games.agenda import prompt
from negolab.games.agenda.reading import option_name
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.scenario import Issue
from negolab.games.agenda.state import Agreement, Entry, Seen, seen_by_author, worth
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation

MAX_LISTED = 12
"""Options of an issue that a table without controls lists; of more the first and the last."""


def role(game: Agenda, seat: Seat) -> str:
    return prompt.role(game, seat)


def clock(game: Agenda, seen: Seen) -> str:
    written = len(seen.public.messages)
    if seen.public.end is not None:
        return f"{written} message{'' if written == 1 else 's'}"
    left = game.turns - written
    own = (left + 1) // 2 if seen.public.to_move == seen.seat else left // 2
    return f"Message {written + 1} of {game.turns}, {own} left for you"


def render(game: Agenda, seen: Seen) -> Markup:
    standing = html.panel(standing_title(game, seen), render_standing(game, seen)) if seen.public.end is None else ""
    parts = [
        render_ending(game, seen),
        render_brief(game, seen),
        standing,
        render_points(game, seen),
        html.panel("What was said", render_conversation(conversation_entries(game, seen), whole=True)),
    ]
    return element("div", *filter(None, parts), cls="nl-stack")


# Numbers.


def format_points(points: int) -> str:
    """Format points, such as `1,200 points`."""
    return f"{format_number(points)} point{'' if points == 1 else 's'}"


def format_number(points: int) -> str:
    return f"{points:,}".replace("-", "\N{MINUS SIGN}")


def format_paid(game: Agenda, points: int, messages: int) -> str:
    """Format what points pay if the match ends after this many messages."""
    return f"{round(float(points * game.discounting(messages)), 2):,.10g}".replace("-", "\N{MINUS SIGN}")


def has_discount(game: Agenda) -> bool:
    return game.discounting(1) != 1


def best_points(seen: Seen) -> int:
    """Return the points of the seat's own best agreement."""
    return sum(map(max, seen.private.points))


def last_offers(seen: Seen) -> dict[Seat, Agreement]:
    """Return the last offer of each seat that has made one."""
    return {entry.seat: entry.offer for entry in seen.public.messages if entry.offer is not None}


# What the seat knows.


def render_brief(game: Agenda, seen: Seen) -> Markup:
    """Render the seat's role, its brief, and what it has without a deal."""
    own = seen.private
    alone, best = format_points(own.reservation), format_points(best_points(seen))
    costs = (
        element("div", f"Every message before the last one multiplies what you are paid by {game.discount}.")
        if has_discount(game)
        else ""
    )
    return html.panel(
        f"{game.title}. Your role: {role(game, seen.seat)}",
        element("div", own.brief, cls="nl-said") if own.brief else "",
        element("div", "Without a deal you have ", element("b", alone), f"; your best agreement has {best}."),
        costs,
        cls="nl-agenda-brief",
    )


def importance_text(game: Agenda, seen: Seen, at: int) -> str:
    """Say how much an issue matters to the other, where the seat is told; "" where it is not."""
    order = seen.private.order
    if order is None:
        return ""
    rank = order[at]
    who = role(game, other(seen.seat))
    return f"no. {rank} of {len(order)} for {who}" + (" (shared)" if order.count(rank) > 1 else "")


def option_notes(issue: Issue, seen: Seen, at: int) -> list[str]:
    """Return what each option of an issue is worth, the other's points behind one's own where the seat sees them."""
    own = [format_number(points) for points in seen.private.points[at]]
    if seen.private.theirs is None:
        return own
    theirs = seen.private.theirs[at]
    return [f"{mine} / {format_number(points)}" for mine, points in zip(own, theirs, strict=True)]


def unit_text(issue: Issue, seen: Seen, at: int) -> str:
    """Say what a unit of goods is worth, such as `6 units, worth 9 each to you`."""
    own = prompt.own_row(issue, seen.private.points[at], seen.seat)[1]
    words = f"{issue.units} unit{'' if issue.units == 1 else 's'}, worth {format_number(own)} each to you"
    if seen.private.theirs is None:
        return words
    away = other(seen.seat)
    return f"{words}, {format_number(prompt.own_row(issue, seen.private.theirs[at], away)[1])} to the other"


def render_points(game: Agenda, seen: Seen) -> Markup:
    """Render every issue with the own points of its options; those of the last offers are marked."""
    rows = [(_issue_name(game, seen, at), _points_cells(issue, seen, at)) for at, issue in enumerate(game.agenda)]
    table = html.table((), rows, "Your points", cls="nl-agenda-points")
    return html.panel("The issues and your points", render_legend(seen), table)


def render_legend(seen: Seen) -> Markup:
    """Say whose points the numbers are, where the seat sees those of both."""
    words = "Points: yours / the other's"
    return Markup("") if seen.private.theirs is None else element("div", words, cls="nl-soft")


def _issue_name(game: Agenda, seen: Seen, at: int) -> Markup:
    about = importance_text(game, seen, at)
    return html.join([game.agenda[at].name, element("div", about, cls="nl-soft") if about else ""])


def _points_cells(issue: Issue, seen: Seen, at: int) -> Markup:
    """Render the options of an issue beside each other, each with its points."""
    if issue.units is not None:
        offered = [f"{whose} you {number}" for whose, number in offered_units(issue, seen, at)]
        return element("span", "; ".join([unit_text(issue, seen, at), *offered]))
    notes, marks = option_notes(issue, seen, at), option_marks(issue, seen, at)
    shown: Sequence[int] = range(issue.size) if issue.size <= MAX_LISTED else (0, issue.size - 1)
    cells = [
        element(
            "span",
            element("span", option_name(issue, k)),
            element("b", notes[k]),
            element("span", marks[k], cls="nl-mark") if marks[k] else "",
            cls="nl-option",
        )
        for k in shown
    ]
    if len(cells) < issue.size:
        cells.insert(1, element("span", f"{issue.size - 2} options between", cls="nl-soft"))
    return element("div", *cells, cls="nl-option-list")


def offered_units(issue: Issue, seen: Seen, at: int) -> list[tuple[str, int]]:
    """Return the units of goods for the seat in the last offers, each behind whose offer it is, such as `theirs:`."""
    return [
        ("yours:" if seat == seen.seat else "theirs:", seen_by_author(seen.seat, (issue,), (offer[at],))[0])
        for seat, offer in last_offers(seen).items()
    ]


def option_marks(issue: Issue, seen: Seen, at: int) -> list[str]:
    """Return a mark for each option: in whose last offer it is."""
    marks = [""] * issue.size
    for seat, offer in last_offers(seen).items():
        mark = "yours" if seat == seen.seat else "theirs"
        marks[offer[at]] = "both" if marks[offer[at]] else mark
    return marks


# The offer that stands.


def standing_title(game: Agenda, seen: Seen) -> str:
    public = seen.public
    if public.standing is None:
        return "No offer stands"
    return "Your offer waits for an answer" if public.to_move != seen.seat else f"{_other_name(game, seen)} offers"


def _other_name(game: Agenda, seen: Seen) -> str:
    """Return the other's role as a sentence begins."""
    words = role(game, other(seen.seat))
    return words[:1].upper() + words[1:]


def render_standing(game: Agenda, seen: Seen) -> Markup:
    """Render the offer that stands and what it pays the seat."""
    standing = seen.public.standing
    if standing is None:
        return element("div", _silence_text(seen), cls="nl-soft")
    worth_now = render_worth(game, seen, standing, len(seen.public.messages))
    return html.join([worth_now, render_terms(game, seen, standing)])


def _silence_text(seen: Seen) -> str:
    if not seen.public.messages:
        return "Nobody has made an offer yet."
    last = seen.public.messages[-1]
    if last.reply == "reject":
        return "You rejected the last one." if last.seat == seen.seat else "Your last one was rejected."
    return "The last message held none."


def render_terms(game: Agenda, seen: Seen, agreement: Agreement) -> Markup:
    """Render an agreement: the option of each issue with its own points."""
    numbers = seen_by_author(seen.seat, game.agenda, agreement)
    rows = []
    for at, (issue, number) in enumerate(zip(game.agenda, numbers, strict=True)):
        points = format_number(seen.private.points[at][agreement[at]])
        what = option_name(issue, number) if issue.units is None else f"you {number}, they {issue.units - number}"
        rows.append((issue.name, html.join([what, " ", element("span", f"({points})", cls="nl-soft")])))
    return html.pairs(rows)


def render_worth(game: Agenda, seen: Seen, agreement: Agreement, messages: int, beside: int | None = None) -> Markup:
    """Render an agreement's points, compared with no deal.

    Args:
        messages: Messages before the one that would accept it.
        beside: Points of the other's last offer, to compare with too.
    """
    points = worth(seen.private.points, agreement)
    alone = seen.private.reservation
    compared = [_compare(points, alone, "without a deal")]
    if beside is not None:
        compared.append(_compare(points, beside, "in their last offer"))
    theirs = seen.private.theirs
    pays = f"It pays {format_paid(game, points, messages)} if it is accepted next. " if has_discount(game) else ""
    also = "" if theirs is None else f" {format_points(worth(theirs, agreement))} for the other."
    words = f"{pays}{', '.join(compared).capitalize()}.{also}"
    head = element("b", format_number(points)), f" of at most {format_points(best_points(seen))} for you"
    return element(
        "div",
        element("div", *head, cls="nl-loss" if points < alone else "nl-gain"),
        element("div", words, cls="nl-soft"),
        cls="nl-brings",
    )


def _compare(points: int, than: int, what: str) -> str:
    if points == than:
        return f"as many as {what}"
    return f"{format_number(abs(points - than))} {'more' if points > than else 'fewer'} than {what}"


# How it ended.


def render_ending(game: Agenda, seen: Seen) -> Markup:
    """Render how the match ended; empty while it runs."""
    public = seen.public
    if public.end is None:
        return Markup("")
    if public.end == "agreed":
        assert public.standing is not None
        points = worth(seen.private.points, public.standing)
        return html.panel(
            "You agreed",
            element("div", format_points(points), cls="nl-big"),
            element("div", f"{_compare(points, seen.private.reservation, 'without a deal')}.".capitalize()),
            render_terms(game, seen, public.standing),
            cls="nl-deal",
        )
    return html.panel("No agreement", element("div", _ending_text(game, seen)), cls="nl-deal")


def _ending_text(game: Agenda, seen: Seen) -> str:
    public, they = seen.public, _other_name(game, seen)
    if public.end == "walked_away":
        return f"{'You' if public.messages[-1].seat == seen.seat else they} walked away."
    if public.end == "forfeit":
        return f"{'You' if public.loser == seen.seat else they} sent no message that could be used."
    return "There was no time for another message."


# What was said.


def conversation_entries(game: Agenda, seen: Seen) -> list[ConversationEntry]:
    """List the messages and what each of them did."""
    return [_conversation_entry(game, seen, entry) for entry in seen.public.messages]


_DID = {"accept": "accepted the offer", "reject": "rejected the offer", "walk away": "walked away"}


def _conversation_entry(game: Agenda, seen: Seen, entry: Entry) -> ConversationEntry:
    own = entry.seat == seen.seat
    done = [_DID[entry.reply]] if entry.reply is not None else []
    if entry.offer is not None:
        points = format_points(worth(seen.private.points, entry.offer))
        done.append(f"offered {prompt.describe_agreement(game, seen.seat, entry.offer)} ({points} for you)")
    return ConversationEntry(
        "you" if own else role(game, entry.seat), entry.talk, "; ".join(done), "own" if own else "other"
    )
