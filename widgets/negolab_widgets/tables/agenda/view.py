"""A seat's table for an agenda as HTML: its points, the standing offer, how the match ended, and what was said."""

from __future__ import annotations

from collections.abc import Sequence

from negolab.formatting import format_number
from negolab.game import Seat, other
from negolab.games.agenda import prompt
from negolab.games.agenda.reading import option_name
from negolab.games.agenda.rules import Agenda
from negolab.games.agenda.scenario import Issue
from negolab.games.agenda.state import Agreement, Entry, Seen, seen_by_author, worth
from negolab.games.agenda.words import WORDS
from negolab.studies.texts import table_texts
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.conversation import ConversationEntry
from negolab_widgets.tables.decision import Decision, end_class, person_name, render_pay
from negolab_widgets.tables.timeline import Timeline

MAX_LISTED = 12
"""Maximum number of an issue's options listed in a table without controls; if there are more, only the first and last
are."""


def role(game: Agenda, seat: Seat) -> str:
    return prompt.role(game, seat)


def clock(game: Agenda, seen: Seen) -> str:
    written = len(seen.public.messages)
    if seen.public.end is not None:
        return WORDS.WRITTEN_1 if written == 1 else WORDS.WRITTEN.format(count=written)
    left = game.turns - written
    own = (left + 1) // 2 if seen.public.to_move == seen.seat else left // 2
    return WORDS.AT.format(number=written + 1, turns=game.turns, left=own)


def known(game: Agenda, seen: Seen) -> list[object]:
    brief = element("div", seen.private.brief, cls="nl-said") if seen.private.brief else ""
    return [brief and html.panel(role(game, seen.seat), brief), render_points(game, seen)]


# Numbers.


def format_points(points: int) -> str:
    """Format points, such as `1,200 points`."""
    return (WORDS.POINT_1 if points == 1 else WORDS.POINTS).format(count=format_number(points))


def format_paid(game: Agenda, points: int, messages: int) -> str:
    """Format what points pay if the match ends after this many messages."""
    return format_number(float(points * game.discounting(messages)))


def has_discount(game: Agenda) -> bool:
    return game.discounting(1) != 1


def best_points(seen: Seen) -> int:
    """Return the points of the seat's own best agreement."""
    return sum(map(max, seen.private.points))


def last_offers(seen: Seen) -> dict[Seat, Agreement]:
    """Return the last offer of each seat that has made one."""
    return {entry.seat: entry.offer for entry in seen.public.messages if entry.offer is not None}


# What the seat knows.


def facts(game: Agenda, seen: Seen) -> list[tuple[str, object]]:
    """Return what the seat has without a deal, and its best agreement."""
    rows: list[tuple[str, object]] = [
        (WORDS["facts"]["no_deal"], format_points(seen.private.reservation)),
        (WORDS["facts"]["best"], format_points(best_points(seen))),
    ]
    return [*rows, (WORDS["facts"]["discount"], str(game.discount))] if has_discount(game) else rows


def importance_text(game: Agenda, seen: Seen, at: int) -> str:
    """Say how much an issue matters to the other, if the seat is told; "" otherwise."""
    order = seen.private.order
    if order is None:
        return ""
    rank = order[at]
    text = WORDS.RANK_SHARED if order.count(rank) > 1 else WORDS.RANK
    return text.format(rank=rank, count=len(order), who=person_name(role(game, other(seen.seat)), other(seen.seat)))


def option_notes(seen: Seen, at: int) -> list[str]:
    """Return what each option of an issue is worth to the seat, followed by the other's points if the seat sees
    them."""
    own = [format_number(points) for points in seen.private.points[at]]
    if seen.private.theirs is None:
        return own
    theirs = seen.private.theirs[at]
    return [f"{mine} / {format_number(points)}" for mine, points in zip(own, theirs, strict=True)]


def unit_text(issue: Issue, seen: Seen, at: int) -> str:
    """Say what a unit of goods is worth, such as `6 units, 9 points each`."""
    own = prompt.own_row(issue, seen.private.points[at], seen.seat)[1]
    single, worth_each = issue.units == 1, format_points(own)
    if seen.private.theirs is None:
        return (WORDS.UNIT_1 if single else WORDS.UNITS).format(count=issue.units, worth=worth_each)
    theirs = format_number(prompt.own_row(issue, seen.private.theirs[at], other(seen.seat))[1])
    text = WORDS.UNIT_1_BOTH if single else WORDS.UNITS_BOTH
    return text.format(count=issue.units, worth=worth_each, theirs=theirs)


def render_points(game: Agenda, seen: Seen) -> Markup:
    """Render each issue with the seat's points for its options; those in the last offers are marked."""
    rows = [(_issue_name(game, seen, at), _points_cells(issue, seen, at)) for at, issue in enumerate(game.agenda)]
    table = html.table((), rows, WORDS.YOUR_POINTS, cls="nl-agenda-points")
    return html.panel(WORDS.ISSUES, render_legend(seen), table)


def render_legend(seen: Seen) -> Markup:
    """Say whose points the numbers are, if the seat sees those of both."""
    return Markup("") if seen.private.theirs is None else element("div", WORDS.LEGEND, cls="nl-soft")


def _issue_name(game: Agenda, seen: Seen, at: int) -> Markup:
    about = importance_text(game, seen, at)
    return html.join([game.agenda[at].name, element("div", about, cls="nl-soft") if about else ""])


def _points_cells(issue: Issue, seen: Seen, at: int) -> Markup:
    """Render the options of an issue side by side, each with its points."""
    if issue.units is not None:
        return element("span", "; ".join([unit_text(issue, seen, at), *offered_units(issue, seen, at)]))
    notes, marks = option_notes(seen, at), option_marks(issue, seen, at)
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
        cells.insert(1, element("span", WORDS.BETWEEN.format(count=issue.size - 2), cls="nl-soft"))
    return element("div", *cells, cls="nl-option-list")


def offered_units(issue: Issue, seen: Seen, at: int) -> list[str]:
    """Return the units of goods for the seat in the last offers, each preceded by whose offer it is: `theirs: you
    2`."""
    return [
        (WORDS.YOURS_UNITS if seat == seen.seat else WORDS.THEIRS_UNITS).format(
            count=seen_by_author(seen.seat, (issue,), (offer[at],))[0]
        )
        for seat, offer in last_offers(seen).items()
    ]


def option_marks(issue: Issue, seen: Seen, at: int) -> list[str]:
    """Return a mark for each option that says whose last offer contains it."""
    marks, words = [""] * issue.size, WORDS["marks"]
    for seat, offer in last_offers(seen).items():
        mark = words["yours" if seat == seen.seat else "theirs"]
        marks[offer[at]] = words["both"] if marks[offer[at]] else mark
    return marks


# The standing offer.


def rules(game: Agenda, seen: Seen) -> list[str]:
    """State the rules for a person: the goal, no deal, messages and answers."""
    alone, best, words = format_points(seen.private.reservation), format_points(best_points(seen)), WORDS["rules"]
    told = (
        words["goal" if len(game.agenda) > 1 else "goal_1"].format(issues=len(game.agenda)),
        words["no_deal"].format(alone=alone, best=best),
        words["other"],
        words["turns"].format(turns=game.turns),
        words["walk_away"] if game.walk_away else "",
        words["discount"].format(factor=game.discount) if has_discount(game) else "",
    )
    return list(filter(None, told))


def decision(game: Agenda, seen: Seen) -> Decision:
    """Return the standing offer, its points for the seat, and the other's last action."""
    standing = seen.public.standing
    theirs = [entry for entry in seen.public.messages if entry.seat != seen.seat]
    told = _conversation_entry(game, seen, theirs[-1]) if theirs else None
    what = "" if told is None else " ".join(told.text.split()) or (told.note if standing is None else "")
    last = WORDS.SAYS.format(who=_other_name(game, seen), what=what) if what else ""
    if standing is None:
        return Decision(_silence_text(seen), last=last)
    pays = render_worth(game, seen, standing, len(seen.public.messages))
    by = other(seen.seat) if seen.public.to_move == seen.seat else seen.seat
    return Decision(standing_title(game, seen), describe_agreement(game, seen.seat, standing), pays, last, by)


def _bar(seen: Seen, points: int) -> tuple[float, float] | None:
    """Return points, and those for no deal, as shares of the seat's best agreement."""
    best = best_points(seen)
    return (points / best, seen.private.reservation / best) if best else None


def standing_title(game: Agenda, seen: Seen) -> str:
    public = seen.public
    if public.standing is None:
        return WORDS.NONE_STANDS
    return WORDS.YOURS_WAITS if public.to_move != seen.seat else WORDS.OFFERS.format(who=_other_name(game, seen))


def _other_name(game: Agenda, seen: Seen) -> str:
    """Return the other's role as the beginning of a sentence."""
    return html.capitalised(person_name(role(game, other(seen.seat)), other(seen.seat)))


def _silence_text(seen: Seen) -> str:
    if not seen.public.messages:
        return WORDS.NOBODY_YET
    last = seen.public.messages[-1]
    if last.reply == "reject":
        return WORDS.YOU_REJECTED if last.seat == seen.seat else WORDS.THEY_REJECTED
    return WORDS.HELD_NONE


def render_terms(game: Agenda, seen: Seen, agreement: Agreement) -> Markup:
    """Render an agreement: the option for each issue with the seat's points."""
    numbers = seen_by_author(seen.seat, game.agenda, agreement)
    rows = []
    for at, (issue, number) in enumerate(zip(game.agenda, numbers, strict=True)):
        points = format_number(seen.private.points[at][agreement[at]])
        what = option_name(issue, number) if issue.units is None else format_split(number, issue.units)
        rows.append((issue.name, html.join([what, " ", element("span", f"({points})", cls="nl-soft")])))
    return html.pairs(rows)


def format_split(number: int, units: int) -> str:
    """Say who gets how many units of goods."""
    return WORDS.SPLIT.format(count=number, rest=units - number)


def render_worth(game: Agenda, seen: Seen, agreement: Agreement, messages: int, beside: int | None = None) -> Markup:
    """Render an agreement's points, compared with no deal.

    Args:
        messages: Number of messages before the one that would accept it.
        beside: Points of the other's last offer, for a further comparison.
    """
    points = worth(seen.private.points, agreement)
    alone = seen.private.reservation
    compared = _compare_no_deal(points, alone)
    if beside is None:
        compared = WORDS.COMPARED_1.format(first=compared)
    else:
        texts = WORDS.AS_THEIRS, WORDS.MORE_THAN_THEIRS, WORDS.FEWER_THAN_THEIRS
        compared = WORDS.COMPARED.format(first=compared, second=_compare(points, beside, *texts))
    theirs = seen.private.theirs
    pays = WORDS.IF_NEXT.format(amount=format_paid(game, points, messages)) if has_discount(game) else ""
    also = "" if theirs is None else WORDS.FOR_OTHER.format(points=format_points(worth(theirs, agreement)))
    words = " ".join(filter(None, (pays, compared, also)))
    return render_pay(format_points(points), words, gain=points - alone, bar=_bar(seen, points))


def _compare_no_deal(points: int, alone: int) -> str:
    texts = WORDS.AS_NO_DEAL, WORDS.MORE_THAN_NO_DEAL, WORDS.FEWER_THAN_NO_DEAL
    return html.capitalised(_compare(points, alone, *texts))


def _compare(points: int, than: int, same: str, more: str, fewer: str) -> str:
    text = same if points == than else more if points > than else fewer
    return text.format(count=format_number(abs(points - than)))


# How it ended.


def ending(game: Agenda, seen: Seen) -> Markup:
    """Render how the match ended; empty while it is running."""
    public = seen.public
    if public.end is None:
        return Markup("")
    if public.end == "agreed" and public.standing is not None:
        points = worth(seen.private.points, public.standing)
        return html.panel(
            WORDS.AGREED,
            element("div", format_points(points), cls="nl-big"),
            element("div", WORDS.COMPARED_1.format(first=_compare_no_deal(points, seen.private.reservation))),
            render_terms(game, seen, public.standing),
            cls=end_class(points - seen.private.reservation),
        )
    return html.panel(WORDS.NO_AGREEMENT, element("div", outcome(game, seen)))


def outcome(game: Agenda, seen: Seen) -> str:
    """Return what was agreed, or why nothing was."""
    public, they = seen.public, _other_name(game, seen)
    match public.end:
        case "agreed" if public.standing is not None:
            return f"{WORDS.AGREED}: {describe_agreement(game, seen.seat, public.standing)}"
        case "walked_away":
            return WORDS.YOU_WALKED if public.messages[-1].seat == seen.seat else WORDS.THEY_WALKED.format(who=they)
        case "forfeit":
            return WORDS.YOU_FORFEIT if public.loser == seen.seat else WORDS.THEY_FORFEIT.format(who=they)
    return WORDS.NO_TIME


# What was said.


def talk(game: Agenda, seen: Seen) -> list[ConversationEntry]:
    """List the messages and what each of them did."""
    return [_conversation_entry(game, seen, entry) for entry in seen.public.messages]


def timeline(game: Agenda, seen: Seen) -> Timeline:
    """Return the seat's points for both sides' offers, over the messages."""
    public, own = seen.public, seen.private
    made = [(n, e.seat, worth(own.points, e.offer)) for n, e in enumerate(public.messages, 1) if e.offer is not None]
    lines: dict[str, float] = {WORDS["facts"]["no_deal"]: own.reservation, WORDS["facts"]["best"]: best_points(seen)}
    now = table_texts.DEAL if public.end == "agreed" else "{amount}" if public.standing is None else table_texts.STANDS
    theirs = _other_name(game, seen)
    return Timeline(seen.seat, WORDS.COURSE, made, table_texts.MESSAGE, lines, format_number, now=now, theirs=theirs)


def describe_agreement(game: Agenda, seat: Seat, agreement: Agreement) -> str:
    """Format an agreement as one seat reads it: `salary: $55,000; 2 food for you; 1 food, 3 water for them`."""
    parts: list[str] = []
    units: dict[str, list[str]] = {"yours": [], "theirs": []}
    for issue, number in zip(game.agenda, seen_by_author(seat, game.agenda, agreement), strict=True):
        if issue.units is None:
            parts.append(WORDS.TERM.format(issue=issue.name, option=option_name(issue, number)))
            continue
        for whose, count in (("yours", number), ("theirs", issue.units - number)):
            if count:
                units[whose].append(WORDS.SOME.format(count=count, issue=issue.name))
    parts += [WORDS["shares"][whose].format(goods=", ".join(goods)) for whose, goods in units.items() if goods]
    return "; ".join(parts)


def _conversation_entry(game: Agenda, seen: Seen, entry: Entry) -> ConversationEntry:
    own = entry.seat == seen.seat
    done = [WORDS["did"][entry.reply]] if entry.reply is not None else []
    if entry.offer is not None:
        points = format_points(worth(seen.private.points, entry.offer))
        done.append(WORDS.OFFERED.format(agreement=describe_agreement(game, seen.seat, entry.offer), points=points))
    return ConversationEntry(
        WORDS.YOU if own else person_name(role(game, entry.seat), entry.seat),
        entry.talk,
        "; ".join(done),
        "own" if own else "other",
    )
