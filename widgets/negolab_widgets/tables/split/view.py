"""A seat's table for split as HTML: what is divided, the conversation, and the results of the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from negolab.game import SEATS, Seat, other
from negolab.games.split.allocation import allocate, complement, points
from negolab.games.split.prompt import format_decimal
from negolab.games.split.rules import Split
from negolab.games.split.state import BEATEN_BY, BEATS, HIGH, LOW, Proposal, Public, Seen, Sent, Settled, Units
from negolab.games.split.words import WORDS
from negolab.studies.texts import table_texts
from negolab_widgets import html
from negolab_widgets.html import Markup, element
from negolab_widgets.tables.conversation import ConversationEntry
from negolab_widgets.tables.decision import Decision
from negolab_widgets.tables.timeline import Timeline


def values_of(seen: Seen, seat: Seat) -> Units | None:
    """Return what a unit is worth to a seat in this round; None if this observation does not contain it."""
    if seen.public.values is not None:
        return seen.public.values[seat]
    return seen.private.values if seat == seen.seat else None


def count_points(number: float) -> str:
    """Format a number of points with at most two decimals."""
    return choose_number(number, WORDS.POINT_1, WORDS.POINTS)


def choose_number(number: float, one: str, several: str, **more: object) -> str:
    """Fill in the singular or plural text, with at most two decimals."""
    written = format_decimal(number)
    return (one if written == "1" else several).format(count=written, **more)


def format_units(game: Split, units: Sequence[float]) -> str:
    """Format the units of types that are not zero, such as `1 hat, 2.5 balls`."""
    some = [(item, some) for item, some in zip(game.items, units, strict=True) if some]
    return (
        ", ".join(
            WORDS.SOME.format(count=format_decimal(count), item=WORDS.one(item) if count == 1 else WORDS.item(item))
            for item, count in some
        )
        or WORDS.NOTHING
    )


def render_keep_value(game: Split, seen: Seen, keep: Units | None) -> Markup:
    """Render what an ask would pay, and what it leaves to the other (None: nothing is chosen yet)."""
    if keep is None:
        words = WORDS.NOT_DUE if seen.public.phase == "talk" else WORDS.NOTHING_CHOSEN
        lines = [words, _settling_rule(game)]
        return element("div", *(element("div", line, cls="nl-soft") for line in lines), cls="nl-brings nl-shared")
    left = complement(seen.public.stock, keep)
    theirs = values_of(seen, other(seen.seat))
    # Keeping nothing pays nothing even in the best case.
    unless = _worst_case_text(game, seen, keep) if any(keep) else ""
    leaves = (WORDS.LEAVES if theirs is None else WORDS.LEAVES_WORTH).format(
        units=format_units(game, left),
        seat=other(seen.seat),
        points="" if theirs is None else count_points(points(left, theirs)),
    )
    return element(
        "div",
        element("div", _render_best_case(seen, keep), cls="nl-gain"),
        element("div", unless, cls="nl-soft") if unless else "",
        element("div", leaves, cls="nl-soft"),
        cls="nl-brings nl-shared",
    )


def _render_best_case(seen: Seen, keep: Units) -> Markup:
    own = values_of(seen, seen.seat)
    if own is not None:
        text, whole = WORDS.BEST if any(keep) else WORDS.BEST_NOTHING, count_points(points(seen.public.stock, own))
        return html.fill(text, points=element("b", format_decimal(points(keep, own))), whole=whole)
    units = sum(keep)
    if not units:
        return element("b", count_points(0))
    won, lost = element("b", count_points(HIGH * units)), element("b", count_points(LOW * units))
    return html.fill(WORDS.BEST_HAND, won=won, lost=lost)


def _worst_case_text(game: Split, seen: Seen, keep: Units) -> str:
    """Say what an ask pays in the worst case."""
    if game.rule == "exact":
        return WORDS.WORST_EXACT
    share, _, _ = allocate("proportional", seen.public.stock, keep, seen.public.stock)
    own = values_of(seen, seen.seat)
    if own is not None:
        return WORDS.WORST.format(points=count_points(points(share, own)))
    return WORDS.WORST_HAND.format(won=count_points(HIGH * sum(share)), lost=count_points(LOW * sum(share)))


def role(game: Split, seat: Seat) -> str:
    return WORDS.ROLE.format(seat=seat)


def clock(game: Split, seen: Seen) -> str:
    public = seen.public
    if public.phase == "over":
        return choose_number(len(public.history), WORDS.PLAYED_1, WORDS.PLAYED)
    at: dict[str, Any] = {"round": public.round, "rounds": game.rounds}
    if public.phase == "talk":
        texts = (WORDS.TALK_LEFT_1, WORDS.TALK_LEFT) if game.is_free else (WORDS.LEFT_1, WORDS.LEFT)
        return choose_number(messages_left(game, seen), *texts, **at)
    return WORDS.DUE.format(**at)


def messages_left(game: Split, seen: Seen) -> int:
    """Count the messages that the seat (in free talk, both seats) may still send in this round."""
    if game.is_free:
        return game.talk_limit - sum(each.round == seen.public.round for each in seen.public.messages)
    sent = sum(each.round == seen.public.round and each.seat == seen.seat for each in seen.public.messages)
    return game.quota - sent


def known(game: Split, seen: Seen) -> list[object]:
    past = html.panel(WORDS.ROUNDS, render_rounds(game, seen)) if seen.public.history else ""
    return [render_stock(game, seen), render_pending(game, pending_proposal(seen)), render_points(game, seen), past]


# The seat's situation.


def rules(game: Split, seen: Seen) -> list[str]:
    """State the rules for a person: the goal, talk, and how a round is settled."""
    words = WORDS["rules"]
    quota = words["one" if game.quota == 1 else "quota"].format(count=game.quota) if game.quota else ""
    told = (
        words["goal_1" if game.rounds == 1 else "goal"].format(rounds=game.rounds),
        words["free"] if game.is_free else quota,
        words["split"],
        _settling_rule(game),
        words[game.show] if game.show in ("hand", "own") else "",
    )
    return list(filter(None, told))


def _settling_rule(game: Split) -> str:
    """Say how a round is settled."""
    return WORDS["rules"]["exact" if game.rule == "exact" else "share"]


def decision(game: Split, seen: Seen) -> Decision:
    """Return what is to be divided, what all of it is worth to the seat, and the other's last message or the last
    round."""
    public, own = seen.public, values_of(seen, seen.seat)
    said = [sent for sent in public.messages if sent.seat != seen.seat]
    last = ""
    if said:
        words = " ".join(said[-1].text.split()) or table_texts.NO_WORDS
        last = WORDS.SAYS.format(seat=other(seen.seat), what=words)
    elif public.history:
        settled = public.history[-1]
        last = WORDS.ROUND_SAYS.format(round=settled.round, what=_round_sentence(game, seen, settled, seen.seat))
    whole = "" if own is None else element("b", count_points(points(public.stock, own)))
    worth = element("div", element("span", html.fill(WORDS.ALL_WORTH, points=whole)), cls="nl-pays") if whole else ""
    return Decision(WORDS.TO_DIVIDE, format_units(game, public.stock), worth, last)


def facts(game: Split, seen: Seen) -> list[tuple[str, object]]:
    """Return the points so far of each seat whose points this one knows."""
    told = [settled.points[other(seen.seat)] for settled in seen.public.history if settled.points is not None]
    theirs = [(WORDS["facts"]["theirs"], format_decimal(sum(told)))] if told else []
    return [(WORDS["facts"]["yours"], format_decimal(sum(seen.private.earned))), *theirs]


# What is divided.


def stock_title(seen: Seen) -> str:
    return WORDS.DIVIDE_IN.format(round=seen.public.round)


def render_stock(game: Split, seen: Seen) -> Markup:
    """Render the stock of the round and its value to each seat whose values this one knows."""
    public = seen.public
    if public.phase == "over":
        return Markup("")
    own, theirs = values_of(seen, seen.seat), values_of(seen, other(seen.seat))
    worth_to = WORDS.WORTH_TO.format(seat=other(seen.seat))
    known = (WORDS.STOCK, public.stock), (WORDS.WORTH, own), (worth_to, theirs)
    columns = [(name, units) for name, units in known if units is not None]
    rows = ((WORDS.item(item), *(row[at] for _, row in columns)) for at, item in enumerate(game.items))
    head = (WORDS.ITEM, *(name for name, _ in columns))
    return html.panel(stock_title(seen), html.table(head, rows, WORDS.DIVIDED), render_hand(seen))


def render_hand(seen: Seen) -> Markup:
    """Render the seat's own hand and what it says about values; empty in games without hands."""
    own, hands = seen.private.hand, WORDS["hands"]
    if own is None:
        return Markup("")
    return element(
        "div",
        element("span", html.fill(WORDS.YOUR_HAND, hand=element("b", hands[own])), " "),
        element(
            "span",
            WORDS.HAND_PAYS.format(beaten=hands[BEATS[own]], high=HIGH, by=hands[BEATEN_BY[own]], low=LOW),
            cls="nl-soft",
        ),
    )


def pending_proposal(seen: Seen) -> Proposal | None:
    """Return the seat's own proposal, once accepted, while the other's is awaited."""
    is_pending = seen.public.phase == "split" and seen.seat not in seen.public.on_turn
    return Proposal(seen.private.ask) if is_pending else None


def render_pending(game: Split, own: Proposal | None) -> Markup:
    """Render the seat's own proposal while the other's is awaited; empty without one."""
    if own is None:
        return Markup("")
    keep = own.keep
    title = WORDS.PROPOSED_NO_DEAL if keep is None else WORDS.PROPOSED.format(units=format_units(game, keep))
    return html.panel(title, WORDS.HIDDEN, cls="nl-deal")


# Results.


def ending(game: Split, seen: Seen) -> Markup:
    """Render the total earned; empty while the match is running."""
    public = seen.public
    if public.phase != "over":
        return Markup("")
    why = element("p", outcome(game, seen)) if public.ended_by is not None else ""
    return html.panel(
        WORDS.ALL_ROUNDS,
        element("div", count_points(sum(seen.private.earned)), cls="nl-big"),
        _render_other_points(seen),
        why,
        cls="nl-deal",
    )


def outcome(game: Split, seen: Seen) -> str:
    """Return why the match ended before its last round; "" if it did not."""
    ended_by = seen.public.ended_by
    text = WORDS.ENDED_BY_YOU if ended_by == seen.seat else WORDS.ENDED_BY_THEM
    return "" if ended_by is None else text.format(seat=other(seen.seat))


def _render_other_points(seen: Seen) -> Markup:
    """Render what the other earned so far, if the rounds tell."""
    told = [settled.points[other(seen.seat)] for settled in seen.public.history if settled.points is not None]
    if not told:
        return Markup("")
    return element("div", WORDS.THEIRS.format(seat=other(seen.seat), points=count_points(sum(told))), cls="nl-soft")


def render_points(game: Split, seen: Seen) -> Markup:
    """Render the points so far, and how the last round went."""
    history = seen.public.history
    if not history:
        return html.panel(
            WORDS.SO_FAR,
            element("div", "0", cls="nl-big"),
            element("div", WORDS.NONE_FINISHED, cls="nl-soft"),
        )
    last = history[-1]
    lines = [
        element("h3", _round_title(game, last)),
        *(element("div", _round_sentence(game, seen, last, seat)) for seat in (seen.seat, other(seen.seat))),
    ]
    if seen.public.phase == "over":
        return html.panel(WORDS.LAST_ROUND, *lines[1:])
    head = (element("div", format_decimal(sum(seen.private.earned)), cls="nl-big"), _render_other_points(seen))
    return html.panel(WORDS.SO_FAR, *head, *lines)


def _round_title(game: Split, settled: Settled) -> str:
    text = WORDS.ROUND if game.rule != "exact" else WORDS.ROUND_AGREED if settled.agreed else WORDS.ROUND_NO_DEAL
    return text.format(round=settled.round)


def _round_sentence(game: Split, seen: Seen, settled: Settled, seat: Seat) -> str:
    """Describe one seat's round in a sentence."""
    ask, earned = settled.asks[seat], _round_points(seen, settled, seat)
    kind = ("hand_" if settled.hands is not None else "") + ("no_deal" if ask is None else "asked")
    what = (WORDS["you_asked"] if seat == seen.seat else WORDS["they_asked"])[kind].format(
        seat=seat,
        hand="" if settled.hands is None else WORDS["hands"][settled.hands[seat]],
        asked="" if ask is None else format_units(game, ask),
        got=format_units(game, settled.shares[seat]),
    )
    if earned is None:
        sentence = WORDS.WITHOUT_POINTS.format(what=what)
    else:
        sentence = WORDS.WITH_POINTS.format(what=what, points=count_points(earned))
    return WORDS.FILLED_IN.format(what=sentence) if seat in settled.lapsed else sentence


def _round_points(seen: Seen, settled: Settled, seat: Seat) -> float | None:
    if seat == seen.seat:
        return seen.private.earned[settled.round - 1]
    return settled.points[seat] if settled.points is not None else None


def render_rounds(game: Split, seen: Seen) -> Markup:
    """Render each finished round in numbers, with a line per seat, the newest last, and agreed divisions in bold."""
    words = WORDS["head"]
    head = [words[name] for name in ("round", "asked", "got", "earned", *(("deal",) if game.rule == "exact" else ()))]
    rows = [
        _round_row(game, seen, settled, seat)
        for settled in seen.public.history
        for seat in (seen.seat, other(seen.seat))
    ]
    note = WORDS.UNITS_OF.format(items=", ".join(map(WORDS.item, game.items))) if len(game.items) > 1 else ""
    table = html.table(head, rows, WORDS.ALL_ROUNDS, cls="nl-rounds")
    return html.join([table, element("div", note, cls="nl-soft") if note else ""])


def _round_row(game: Split, seen: Seen, settled: Settled, seat: Seat) -> list[object]:
    ask, earned = settled.asks[seat], _round_points(seen, settled, seat)
    who = WORDS.YOU if seat == seen.seat else WORDS.THEY
    asked = WORDS.NO_DEAL if ask is None else _format_numbers(ask)
    paid = WORDS.NOT_TOLD if earned is None else format_decimal(earned)
    cells: list[object] = [
        WORDS.ROW.format(round=settled.round, who=who),
        asked,
        _format_numbers(settled.shares[seat]),
        paid,
    ]
    if game.rule != "exact":
        return cells
    cells.append(WORDS.YES if settled.agreed else WORDS.NO)
    return [element("b", cell) for cell in cells] if settled.agreed else cells


def _format_numbers(units: tuple[float, ...]) -> Markup:
    """Format units with places where a line may break."""
    return Markup("/<wbr>").join(map(format_decimal, units))


# What was said.


def timeline(game: Split, seen: Seen) -> Timeline:
    """Return the points of the rounds, including the other's if they are told."""
    rows = [
        (settled.round, seat, earned)
        for settled in seen.public.history
        for seat in SEATS
        if (earned := _round_points(seen, settled, seat)) is not None
    ]
    last = game.rounds
    return Timeline(seen.seat, WORDS.COURSE, rows, table_texts.ROUND, {}, format_decimal, last=last, steps=False)


def talk(game: Split, seen: Seen) -> list[ConversationEntry] | None:
    """List the messages of this round, or of all rounds once the match is over."""
    public = seen.public
    if not game.messages_each:
        return None
    return [
        _conversation_entry(seen, sent, public)
        for sent in public.messages
        if public.phase == "over" or sent.round == public.round
    ]


def _conversation_entry(seen: Seen, sent: Sent, public: Public) -> ConversationEntry:
    who, kind = (WORDS.YOU, "own") if sent.seat == seen.seat else (WORDS.THEY, "other")
    at = WORDS.IN_ROUND.format(round=sent.round) if public.phase == "over" and public.round > 1 else ""
    silent = WORDS.LAPSED if sent.lapsed else "" if sent.text or sent.ends else WORDS.PASSED
    text = WORDS.ENDED_TALK if sent.ends else sent.text
    return ConversationEntry(who, text, ", ".join(filter(None, (at, silent))), "note" if sent.ends else kind)
