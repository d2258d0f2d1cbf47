"""A seat's table of split as a picture: what is divided, what was said, what came of the rounds."""

from __future__ import annotations

from typing import NamedTuple

from negolab.game import Seat, other
from negolab.games.split.position import BEATEN_BY, BEATS, HIGH, LOW, Public, Seen, Sent, Settled, Units
from negolab.games.split.rulebook import decimal
from negolab.games.split.rules import Split
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.split.worth import counted, kept, values_of
from negolab_widgets.tables.talk import Said, talk


def role(game: Split, seat: Seat) -> str:
    return f"player {seat}"


def clock(game: Split, seen: Seen) -> str:
    public = seen.public
    if public.phase == "over":
        return f"{counted(len(public.history), 'round')} played"
    at = f"Round {public.round} of {game.rounds}"
    if public.phase == "talk":
        return f"{at}, {counted(messages_left(game, seen), 'message')} left for you"
    return f"{at}, proposals are due"


def messages_left(game: Split, seen: Seen) -> int:
    """How many messages the seat may still send in this round."""
    sent = sum(each.round == seen.public.round and each.seat == seen.seat for each in seen.public.messages)
    return game.quota - sent


def render(game: Split, seen: Seen) -> Markup:
    own = Filed(seen.private.ask) if _has_filed(seen) else None
    parts = [ending(seen), stock_panel(game, seen), filed(game, own), standing(game, seen)]
    said = html.panel(chat_title(seen), talk(entries(seen), whole=seen.public.phase == "over")) if game.quota else ""
    past = html.panel("Rounds", round_table(game, seen)) if seen.public.history else ""
    return element("div", *filter(None, (*parts, said, past)), cls="nl-stack")


# What is divided.


def stock_title(seen: Seen) -> str:
    return f"To divide in round {seen.public.round}"


def stock_panel(game: Split, seen: Seen) -> Markup:
    """The stock of the round and what it is worth to those whose values one knows."""
    public = seen.public
    if public.phase == "over":
        return Markup("")
    own, theirs = values_of(seen, seen.seat), values_of(seen, other(seen.seat))
    columns: list[tuple[str, Units]] = [("To divide", public.stock)]
    columns += [("Worth each to you", own)] if own is not None else []
    columns += [(f"to player {other(seen.seat)}", theirs)] if theirs is not None else []
    rows = ((item, *(row[at] for _, row in columns)) for at, item in enumerate(game.items))
    head = ("Item", *(name for name, _ in columns))
    return html.panel(stock_title(seen), html.table(head, rows, "What is to be divided"), hand(seen))


def hand(seen: Seen) -> Markup:
    """The own hand and what it says about values; "" in games without hands."""
    own = seen.private.hand
    if own is None:
        return Markup("")
    return element(
        "div",
        element("span", "Your hand is ", element("b", own), ". "),
        element(
            "span",
            f"Against {BEATS[own]} it wins and a unit is worth {HIGH} to you; "
            f"against {BEATEN_BY[own]} it loses and a unit is worth {LOW}.",
            cls="nl-soft",
        ),
    )


class Filed(NamedTuple):
    """A proposal that waits for the other's."""

    ask: Units | None


def _has_filed(seen: Seen) -> bool:
    return seen.public.phase == "split" and seen.seat not in seen.public.on_turn


def filed(game: Split, own: Filed | None) -> Markup:
    """The own proposal while the other's is awaited; "" without one."""
    if own is None:
        return Markup("")
    words = "no deal" if own.ask is None else f"you keep {kept(game, own.ask)}"
    return html.panel(f"You proposed: {words}", "It stays hidden until both proposals are in.", cls="nl-deal")


# What came of it.


def ending(seen: Seen) -> Markup:
    """What was earned in all; "" while the match runs."""
    public = seen.public
    if public.phase != "over":
        return Markup("")
    whose = "one of your replies" if public.ended_by == seen.seat else f"a reply of player {other(seen.seat)}"
    why = (
        element("p", f"The match ended by {whose} that could not be read; the unfinished round pays nothing.")
        if public.ended_by is not None
        else ""
    )
    return html.panel(
        "All rounds", element("div", counted(sum(seen.private.earned)), cls="nl-big"), _theirs(seen), why, cls="nl-deal"
    )


def _theirs(seen: Seen) -> Markup:
    """What the other earned so far, where the rounds tell it."""
    told = [settled.points[other(seen.seat)] for settled in seen.public.history if settled.points is not None]
    if not told:
        return Markup("")
    return element("div", f"Player {other(seen.seat)}: {counted(sum(told))}.", cls="nl-soft")


def standing(game: Split, seen: Seen) -> Markup:
    """Points so far, and how the last round went."""
    history = seen.public.history
    if not history:
        return html.panel(
            "Your points so far",
            element("div", "0", cls="nl-big"),
            element("div", "No round is finished yet.", cls="nl-soft"),
        )
    last = history[-1]
    lines = [
        element("h3", f"Round {last.round}{_agreed(game, last)}"),
        *(element("div", _went(game, seen, last, seat)) for seat in (seen.seat, other(seen.seat))),
    ]
    if seen.public.phase == "over":
        return html.panel("The last round", *lines[1:])
    head = (element("div", decimal(sum(seen.private.earned)), cls="nl-big"), _theirs(seen))
    return html.panel("Your points so far", *head, *lines)


def _agreed(game: Split, settled: Settled) -> str:
    if game.rule != "exact":
        return ""
    return ": the proposals agreed" if settled.agreed else ": no deal"


def _went(game: Split, seen: Seen, settled: Settled, seat: Seat) -> str:
    """One seat's round in a sentence."""
    ask, who = settled.asks[seat], "You" if seat == seen.seat else f"Player {seat}"
    asked = "proposed no deal" if ask is None else f"asked for {kept(game, ask)}"
    held = [f"held {settled.hands[seat]}"] if settled.hands is not None else []
    parts = [*held, asked, f"got {kept(game, settled.shares[seat])}"]
    earned = _points(seen, settled, seat)
    paid = "" if earned is None else f": {counted(earned)}"
    lapsed = " The replies could not be read, so this was filled in." if seat in settled.lapsed else ""
    return f"{who} {', '.join(parts[:-1])} and {parts[-1]}{paid}.{lapsed}"


def _points(seen: Seen, settled: Settled, seat: Seat) -> float | None:
    if seat == seen.seat:
        return seen.private.earned[settled.round - 1]
    return settled.points[seat] if settled.points is not None else None


def round_table(game: Split, seen: Seen) -> Markup:
    """Every finished round in numbers, a line for each side, the newest last; agreed divisions in bold."""
    deal = ("Deal",) if game.rule == "exact" else ()
    head = ("Round", "Asked", "Got", "Earned", *deal)
    rows = [
        _row(game, seen, settled, seat) for settled in seen.public.history for seat in (seen.seat, other(seen.seat))
    ]
    note = f"Units of {', '.join(game.items)}." if len(game.items) > 1 else ""
    table = html.table(head, rows, "All rounds", cls="nl-rounds")
    return html.join([table, element("div", note, cls="nl-soft") if note else ""])


def _row(game: Split, seen: Seen, settled: Settled, seat: Seat) -> list[object]:
    ask, earned = settled.asks[seat], _points(seen, settled, seat)
    who = "you" if seat == seen.seat else f"player {seat}"
    asked = "no deal" if ask is None else _numbers(ask)
    paid = "not told" if earned is None else decimal(earned)
    cells: list[object] = [f"{settled.round}, {who}", asked, _numbers(settled.shares[seat]), paid]
    if game.rule != "exact":
        return cells
    cells.append("yes" if settled.agreed else "no")
    return [element("b", cell) for cell in cells] if settled.agreed else cells


def _numbers(units: tuple[float, ...]) -> Markup:
    """With places where a line may end."""
    return Markup("/<wbr>").join(map(decimal, units))


# What was said.


def chat_title(seen: Seen) -> str:
    return "What was said" if seen.public.phase == "over" else f"Talk of round {seen.public.round}"


def entries(seen: Seen) -> list[Said]:
    """The messages of this round; of all rounds when the match is over."""
    public = seen.public
    return [
        _entry(seen, sent, public) for sent in public.messages if public.phase == "over" or sent.round == public.round
    ]


def _entry(seen: Seen, sent: Sent, public: Public) -> Said:
    own = sent.seat == seen.seat
    said = [f"round {sent.round}"] if public.phase == "over" else []
    if sent.lapsed:
        said.append("its replies could not be read, so it passed")
    elif not sent.text:
        said.append("passed")
    return Said("you" if own else f"player {sent.seat}", sent.text, ", ".join(said), "own" if own else "other")
