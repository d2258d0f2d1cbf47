"""A seat's table of split as HTML: what is divided, the conversation, and the results of the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from negolab.game import Seat, other
from negolab.games.split.allocation import allocate, complement, points
from negolab.games.split.prompt import format_decimal
from negolab.games.split.reading import singular
from negolab.games.split.rules import Split
from negolab.games.split.state import BEATEN_BY, BEATS, HIGH, LOW, Public, Seen, Sent, Settled, Units
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.conversation import ConversationEntry, render_conversation


def values_of(seen: Seen, seat: Seat) -> Units | None:
    """Return what a unit is worth to a seat in this round; None if this observation does not hold it."""
    if seen.public.values is not None:
        return seen.public.values[seat]
    return seen.private.values if seat == seen.seat else None


def count_noun(number: float, word: str = "point") -> str:
    """Format a number of points with at most two decimals."""
    written = format_decimal(number)
    return f"{written} {word}" if written == "1" else f"{written} {word}s"


def format_units(game: Split, units: Sequence[float]) -> str:
    """Format units of the types of which there are any, such as `1 hat, 2.5 balls`."""
    some = [(item, some) for item, some in zip(game.items, units, strict=True) if some]
    return (
        ", ".join(f"{format_decimal(count)} {singular(item) if count == 1 else item}" for item, count in some)
        or "nothing"
    )


def render_keep_value(game: Split, seen: Seen, keep: Units) -> Markup:
    """Render what an ask would pay, and what it leaves to the other."""
    left = complement(seen.public.stock, keep)
    theirs = values_of(seen, other(seen.seat))
    # Keeping nothing pays nothing in the best case too.
    unless = _worst_case_text(game, seen, keep) if any(keep) else ""
    leaves = f"Leaves {format_units(game, left)} to player {other(seen.seat)}"
    also = "" if theirs is None else f", {count_noun(points(left, theirs))}"
    return element(
        "div",
        element("div", *_best_case_parts(seen, keep), cls="nl-gain"),
        element("div", unless, cls="nl-soft") if unless else "",
        element("div", f"{leaves}{also}.", cls="nl-soft"),
        cls="nl-brings nl-shared",
    )


def _best_case_parts(seen: Seen, keep: Units) -> tuple[object, ...]:
    own = values_of(seen, seen.seat)
    if own is not None:
        whole = count_noun(points(seen.public.stock, own))
        condition = ", if you get all you keep" if any(keep) else ""
        return element("b", format_decimal(points(keep, own))), f" of {whole}{condition}"
    units = sum(keep)
    if not units:
        return (element("b", count_noun(0)),)
    return (
        element("b", count_noun(HIGH * units)),
        " if your hand wins, ",
        element("b", count_noun(LOW * units)),
        " if it loses, if you get all you keep",
    )


def _worst_case_text(game: Split, seen: Seen, keep: Units) -> str:
    """Say what an ask pays in the worst case."""
    if game.rule == "exact":
        return "0 points unless the other keeps exactly the rest."
    share, _, _ = allocate("proportional", seen.public.stock, keep, seen.public.stock)
    own = values_of(seen, seen.seat)
    if own is not None:
        return f"{count_noun(points(share, own))} if the other asks for everything."
    won, lost = count_noun(HIGH * sum(share)), count_noun(LOW * sum(share))
    return f"{won} or {lost} if the other asks for everything."


def role(game: Split, seat: Seat) -> str:
    return f"player {seat}"


def clock(game: Split, seen: Seen) -> str:
    public = seen.public
    if public.phase == "over":
        return f"{count_noun(len(public.history), 'round')} played"
    at = f"Round {public.round} of {game.rounds}"
    if public.phase == "talk":
        left = count_noun(messages_left(game, seen), "message")
        return f"{at}, at most {left} until the talk ends" if game.is_free else f"{at}, {left} left for you"
    return f"{at}, proposals are due"


def messages_left(game: Split, seen: Seen) -> int:
    """Count the messages that the seat, or in free talk both, may still send in this round."""
    if game.is_free:
        return game.talk_limit - sum(each.round == seen.public.round for each in seen.public.messages)
    sent = sum(each.round == seen.public.round and each.seat == seen.seat for each in seen.public.messages)
    return game.quota - sent


def render(game: Split, seen: Seen) -> Markup:
    own = PendingProposal(seen.private.ask) if _has_pending(seen) else None
    parts = [render_ending(seen), render_stock(game, seen), render_pending(game, own), render_points(game, seen)]
    said = (
        html.panel(chat_title(seen), render_conversation(conversation_entries(seen), whole=seen.public.phase == "over"))
        if game.messages_each
        else ""
    )
    past = html.panel("Rounds", render_rounds(game, seen)) if seen.public.history else ""
    return element("div", *filter(None, (*parts, said, past)), cls="nl-stack")


# What is divided.


def stock_title(seen: Seen) -> str:
    return f"To divide in round {seen.public.round}"


def render_stock(game: Split, seen: Seen) -> Markup:
    """Render the stock of the round and its value to those whose values the seat knows."""
    public = seen.public
    if public.phase == "over":
        return Markup("")
    own, theirs = values_of(seen, seen.seat), values_of(seen, other(seen.seat))
    columns: list[tuple[str, Units]] = [("To divide", public.stock)]
    columns += [("Worth each to you", own)] if own is not None else []
    columns += [(f"to player {other(seen.seat)}", theirs)] if theirs is not None else []
    rows = ((item, *(row[at] for _, row in columns)) for at, item in enumerate(game.items))
    head = ("Item", *(name for name, _ in columns))
    return html.panel(stock_title(seen), html.table(head, rows, "What is to be divided"), render_hand(seen))


def render_hand(seen: Seen) -> Markup:
    """Render the own hand and what it says about values; empty in games without hands."""
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


class PendingProposal(NamedTuple):
    """A proposal that waits for the other's."""

    ask: Units | None


def _has_pending(seen: Seen) -> bool:
    return seen.public.phase == "split" and seen.seat not in seen.public.on_turn


def render_pending(game: Split, own: PendingProposal | None) -> Markup:
    """Render the own proposal while the other's is awaited; empty without one."""
    if own is None:
        return Markup("")
    words = "no deal" if own.ask is None else f"you keep {format_units(game, own.ask)}"
    return html.panel(f"You proposed: {words}", "It stays hidden until both proposals are in.", cls="nl-deal")


# What came of it.


def render_ending(seen: Seen) -> Markup:
    """Render what was earned in all; empty while the match runs."""
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
        "All rounds",
        element("div", count_noun(sum(seen.private.earned)), cls="nl-big"),
        _render_other_points(seen),
        why,
        cls="nl-deal",
    )


def _render_other_points(seen: Seen) -> Markup:
    """Render what the other earned so far, where the rounds tell it."""
    told = [settled.points[other(seen.seat)] for settled in seen.public.history if settled.points is not None]
    if not told:
        return Markup("")
    return element("div", f"Player {other(seen.seat)}: {count_noun(sum(told))}.", cls="nl-soft")


def render_points(game: Split, seen: Seen) -> Markup:
    """Render the points so far, and how the last round went."""
    history = seen.public.history
    if not history:
        return html.panel(
            "Your points so far",
            element("div", "0", cls="nl-big"),
            element("div", "No round is finished yet.", cls="nl-soft"),
        )
    last = history[-1]
    lines = [
        element("h3", f"Round {last.round}{_agreement_text(game, last)}"),
        *(element("div", _round_sentence(game, seen, last, seat)) for seat in (seen.seat, other(seen.seat))),
    ]
    if seen.public.phase == "over":
        return html.panel("The last round", *lines[1:])
    head = (element("div", format_decimal(sum(seen.private.earned)), cls="nl-big"), _render_other_points(seen))
    return html.panel("Your points so far", *head, *lines)


def _agreement_text(game: Split, settled: Settled) -> str:
    if game.rule != "exact":
        return ""
    return ": the proposals agreed" if settled.agreed else ": no deal"


def _round_sentence(game: Split, seen: Seen, settled: Settled, seat: Seat) -> str:
    """Describe one seat's round in a sentence."""
    ask, who = settled.asks[seat], "You" if seat == seen.seat else f"Player {seat}"
    asked = "proposed no deal" if ask is None else f"asked for {format_units(game, ask)}"
    held = [f"held {settled.hands[seat]}"] if settled.hands is not None else []
    parts = [*held, asked, f"got {format_units(game, settled.shares[seat])}"]
    earned = _round_points(seen, settled, seat)
    paid = "" if earned is None else f": {count_noun(earned)}"
    lapsed = " The replies could not be read, so this was filled in." if seat in settled.lapsed else ""
    return f"{who} {', '.join(parts[:-1])} and {parts[-1]}{paid}.{lapsed}"


def _round_points(seen: Seen, settled: Settled, seat: Seat) -> float | None:
    if seat == seen.seat:
        return seen.private.earned[settled.round - 1]
    return settled.points[seat] if settled.points is not None else None


def render_rounds(game: Split, seen: Seen) -> Markup:
    """Render every finished round in numbers, a line per seat, the newest last; agreed divisions in bold."""
    deal = ("Deal",) if game.rule == "exact" else ()
    head = ("Round", "Asked", "Got", "Earned", *deal)
    rows = [
        _round_row(game, seen, settled, seat)
        for settled in seen.public.history
        for seat in (seen.seat, other(seen.seat))
    ]
    note = f"Units of {', '.join(game.items)}." if len(game.items) > 1 else ""
    table = html.table(head, rows, "All rounds", cls="nl-rounds")
    return html.join([table, element("div", note, cls="nl-soft") if note else ""])


def _round_row(game: Split, seen: Seen, settled: Settled, seat: Seat) -> list[object]:
    ask, earned = settled.asks[seat], _round_points(seen, settled, seat)
    who = "you" if seat == seen.seat else f"player {seat}"
    asked = "no deal" if ask is None else _format_numbers(ask)
    paid = "not told" if earned is None else format_decimal(earned)
    cells: list[object] = [f"{settled.round}, {who}", asked, _format_numbers(settled.shares[seat]), paid]
    if game.rule != "exact":
        return cells
    cells.append("yes" if settled.agreed else "no")
    return [element("b", cell) for cell in cells] if settled.agreed else cells


def _format_numbers(units: tuple[float, ...]) -> Markup:
    """Format units with places where a line may end."""
    return Markup("/<wbr>").join(map(format_decimal, units))


# What was said.


def chat_title(seen: Seen) -> str:
    return "What was said" if seen.public.phase == "over" else f"Talk of round {seen.public.round}"


def conversation_entries(seen: Seen) -> list[ConversationEntry]:
    """List the messages of this round; of all rounds when the match is over."""
    public = seen.public
    return [
        _conversation_entry(seen, sent, public)
        for sent in public.messages
        if public.phase == "over" or sent.round == public.round
    ]


def _conversation_entry(seen: Seen, sent: Sent, public: Public) -> ConversationEntry:
    own = sent.seat == seen.seat
    said = [f"round {sent.round}"] if public.phase == "over" and public.round > 1 else []
    if sent.lapsed:
        said.append("its replies could not be read, so it passed")
    elif not sent.text and not sent.ends:
        said.append("passed")
    who, text = "you" if own else f"player {sent.seat}", "ended the talk" if sent.ends else sent.text
    return ConversationEntry(who, text, ", ".join(said), "note" if sent.ends else "own" if own else "other")
