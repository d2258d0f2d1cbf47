"""Prompts for split games, from the observation alone: the rules, the past, the seat's own information and what is
asked now."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from negolab.game import SEATS, Seat, other
from negolab.games.split.parameters import Parameters
from negolab.games.split.reading import NO_AGREEMENT, NO_DEAL, SELECTION, write_proposal
from negolab.games.split.state import HIGH, LOW, Seen, Sent, Settled

# The rules.


def rules_text(game: Parameters, seat: Seat) -> str:
    """Write the rules of the match, as `seat` is told them."""
    total = "1 round" if game.rounds == 1 else f"{game.rounds} rounds"
    aim = "Your aim is to earn as many points as you can over the whole match."
    head = f"You are player {seat} in a game between players A and B. It has {total}. {aim}"
    parts = [
        head,
        _protocol_rule(game),
        _values_rule(game),
        _allocation_rule(game),
        _publication_rule(game),
        _attempts_rule(game),
    ]
    return "\n".join(parts)


def _protocol_rule(game: Parameters) -> str:
    kinds = " and ".join(filter(None, [", ".join(game.items[:-1]), game.items[-1]]))
    goods = f"In each round a stock of {kinds} is to be divided between you."
    if not game.messages_each:
        return (
            f"{goods} There is no talk: you both say privately and at the same time how many units you keep. "
            "Who counts as the first speaker alternates from round to round."
        )
    if game.is_free:
        alternates = " Who speaks first alternates from round to round." if game.rounds > 1 else ""
        return (
            f"{goods} First you talk in turns, one message at a time, as long as you both want: either of you may end "
            f"the talk in its turn by answering {SELECTION} alone instead of a message. After {game.talk_limit} "
            f"messages it ends by itself.{alternates} Then you both say privately and at the same time how many units "
            "you keep."
        )
    each = "one message" if game.quota == 1 else f"{game.quota} messages"
    return (
        f"{goods} First you talk in turns: each of you sends {each}, which the other reads. Who speaks first "
        "alternates from round to round. Then you both say privately and at the same time how many units you keep."
    )


def _values_rule(game: Parameters) -> str:
    parts = [
        "You earn the units you receive times what one unit is worth to you, summed over the types.",
        _SOURCE_RULES[game.source](game),
        _VISIBILITY_RULES[game.show],
    ]
    if game.source not in ("rps", "fixed"):
        often = "anew for each round" if game.redraw == "all" else "once for the whole match"
        parts.append(f"Values are drawn {often}.")
    return " ".join(parts)


def _fixed_rule(game: Parameters) -> str:
    high, low = (format_units(game.items, row, "=") for row in game.fixed)
    who = {
        "fixed": "A has the first, B the second",
        "random": "a coin flip says in each round who has which",
        "alternate": "whoever speaks first in a round has the second",
    }
    return f"There are two rows of values, {high} and {low}: {who[game.roles]}."


def _hands_rule(game: Parameters) -> str:
    turns = " The winner changes from round to round." if game.roles == "alternate" else ""
    return (
        "In each round both of you are dealt different hands of rock-paper-scissors (rock beats scissors, scissors "
        f"beats paper, paper beats rock). Every unit is worth {HIGH} to the winner and {LOW} to the loser.{turns}"
    )


def _drawing_rule(game: Parameters, free: str) -> str:
    """Say how values are drawn: freely, or from the draws that meet the conditions."""
    conditions = []
    if game.equal_totals:
        conditions.append("your values add up to the same total as the other's")
    if game.conflict:
        conditions.append("the two of you differ in at least one value")
    if not conditions:
        return f"{free}."
    return f"such that {' and '.join(conditions)}; all such draws are equally likely."


_SOURCE_RULES: dict[str, Callable[[Parameters], str]] = {
    "uniform": lambda game: (
        f"Each of you has an own value for each type, a whole number drawn from {game.low} to {game.high}, "
        + _drawing_rule(game, "all equally likely and independent of one another")
    ),
    "rps": _hands_rule,
    "fixed": _fixed_rule,
    "ten_one_ties": lambda game: (
        f"Each of you values each type at {HIGH} or {LOW} a unit, "
        + _drawing_rule(game, "equally likely and independently")
    ),
    "ten_one_exclusive": lambda game: (
        f"Each type is worth {HIGH} a unit to one of you and {LOW} to the other, " + _drawing_rule(game, "by chance")
    ),
    "dond": lambda _: (
        "Each of you has an own value for each type, a whole number from 0; your values add up to 10, and so do the "
        "other's. Every type is worth something to at least one of you, and some type to both."
    ),
    "corpus": lambda _: (
        "Each of you has an own value for each type, a whole number from 0; the whole stock is worth 10 points to you "
        "and 10 points to the other. Every type is worth something to at least one of you, and some type to both."
    ),
    "contexts": lambda _: "The stock and the values of both of you are drawn from a list of cases that you do not see.",
}
_VISIBILITY_RULES = {
    "own": "You see your own values, not the other's.",
    "both": "The values of both are public.",
    "hand": "You see your own hand, not the other's.",
}


def _allocation_rule(game: Parameters) -> str:
    if game.rule == "exact":
        return (
            "It is a deal only if the two proposals agree exactly: for every type what you keep and what the other "
            "keeps must add up to the whole stock. Otherwise both of you get 0 points in this round."
        )
    return (
        "For each type, if the two proposals together do not exceed the stock, each of you gets what it asked for and "
        "units nobody asked for are lost. If they ask for more than the stock, it is divided in proportion to what "
        "each of you asked for: both amounts are scaled down until they add up to the stock."
    )


def _publication_rule(game: Parameters) -> str:
    own = "hands, values and points" if game.show == "hand" else "values and points"
    also = f", and {own} of both" if game.reveal else " only"
    return f"After each round you are both told both proposals and the shares{also}."


def _attempts_rule(game: Parameters) -> str:
    none = "no deal" if game.rule == "exact" else "0 units of every type"
    filled = f"an empty message or {none} is filled in" if game.messages_each else f"{none} is filled in"
    then = "the match ends and the round in progress pays nothing" if game.fallback == "end" else filled
    if game.attempts == 1:
        return f"If a reply of yours cannot be read, {then}."
    return (
        f"A reply that cannot be read is refused with the reason; after {game.attempts} such replies in a turn {then}."
    )


def describe_forfeit(game: Parameters, talking: bool) -> str:
    """Say what the rules do after the last unreadable reply of a turn."""
    if game.fallback == "end":
        return "the match ends and the round in progress pays nothing"
    filled = "no deal" if game.rule == "exact" else "0 units of every type"
    return f"{'an empty message' if talking else filled} is filled in for you"


def format_units(items: tuple[str, ...], row: Sequence[float], sign: str = "") -> str:
    """List units as `4 hats, 6 books`, or with a sign as `hats=4, books=6`."""
    pairs = zip(items, map(format_decimal, row), strict=True)
    return ", ".join(f"{item}{sign}{number}" if sign else f"{number} {item}" for item, number in pairs)


def format_decimal(number: float) -> str:
    """Write a number with at most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


_LINE_BREAKS = str.maketrans(dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x7f\x85\u2028\u2029", " "))


def full_prompt(game: Parameters, seen: Seen) -> str:
    """Write the complete prompt."""
    return _join(
        rules_text(game, seen.seat),
        _finished_rounds(game, seen),
        _current_round(game, seen),
        _current_messages(seen, 0),
        _request(game, seen),
    )


def update_prompt(game: Parameters, seen: Seen, since: Seen) -> str:
    """Write what became visible after `since`, then what is asked now."""
    told = len(since.public.messages)
    past = _finished_rounds(game, seen, len(since.public.history), told)
    now = _current_round(game, seen) if seen.public.round != since.public.round else ""
    return _join(past, now, _current_messages(seen, told), _request(game, seen))


def facts(game: Parameters, seen: Seen) -> dict[str, Any]:
    """Return the stock and its worth to the seat, for its table."""
    public, private = seen.public, seen.private
    named: dict[str, Any] = {"round": f"{public.round} of {game.rounds}"}
    values = {"you": private.values} if public.values is None else {"you": public.values[seen.seat]}
    if public.values is not None:
        values["the other"] = public.values[other(seen.seat)]
    worths = {f"worth each to {whose}": row for whose, row in values.items() if row is not None}
    columns = {"to be divided": public.stock, **worths}
    named["stock"] = {item: {name: row[at] for name, row in columns.items()} for at, item in enumerate(game.items)}
    if private.hand is not None:
        named["your hand"] = private.hand
    return {**named, "earned so far": round(sum(private.earned), 2)}


def _join(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


# What happened.


def _finished_rounds(game: Parameters, seen: Seen, rounds: int = 0, told: int = 0) -> str:
    """Describe the rounds finished after the first `rounds`, without the first `told` messages."""
    messages = seen.public.messages[told:]
    return "\n\n".join(_round_summary(game, seen, settled, messages) for settled in seen.public.history[rounds:])


def _round_summary(game: Parameters, seen: Seen, settled: Settled, messages: Sequence[Sent]) -> str:
    lines = [f"Round {settled.round} is over. The stock was {format_units(game.items, settled.stock)}."]
    lines += [_quoted(sent) for sent in messages if sent.round == settled.round]
    lines += [_seat_summary(game, settled, seat) for seat in SEATS]
    if game.rule == "exact":
        lines.append("The proposals agreed." if settled.agreed else "The proposals did not agree: no deal.")
    own = seen.private.earned
    if len(own) >= settled.round:
        lines.append(f"You earned {format_decimal(own[settled.round - 1])} points.")
    return "\n".join(lines)


def _seat_summary(game: Parameters, settled: Settled, seat: Seat) -> str:
    ask = settled.asks[seat]
    asked = "proposed no deal" if ask is None else f"asked for {format_units(game.items, ask)}"
    parts = [f"{seat} {asked} and got {format_units(game.items, settled.shares[seat])}"]
    if settled.hands is not None:
        parts.append(f"had {settled.hands[seat]}")
    if settled.values is not None:
        parts.append(f"had the values {format_units(game.items, settled.values[seat], '=')}")
    if settled.points is not None:
        parts.append(f"earned {format_decimal(settled.points[seat])} points")
    lapsed = " (its replies could not be read, so this was filled in)" if seat in settled.lapsed else ""
    return "; ".join(parts) + f".{lapsed}"


# This round.


def _current_round(game: Parameters, seen: Seen) -> str:
    public = seen.public
    if public.phase == "over":
        return ""
    units = format_units(game.items, public.stock)
    stock = f"This is round {public.round} of {game.rounds}. The stock of this round: {units}."
    whose = "You are" if public.first == seen.seat else f"Player {public.first} is"
    first = f"{whose} the first speaker of this round."
    return "\n".join(filter(None, [stock, first, _own_information(game, seen)]))


def _own_information(game: Parameters, seen: Seen) -> str:
    public, private = seen.public, seen.private
    if private.hand is not None:
        return f"Your hand in this round: {private.hand}."
    if private.values is not None:
        return f"What one unit is worth to you: {format_units(game.items, private.values, '=')}."
    if public.values is not None:
        own, others = public.values[seen.seat], public.values[other(seen.seat)]
        return (
            f"What one unit is worth to you: {format_units(game.items, own, '=')}; "
            f"to player {other(seen.seat)}: {format_units(game.items, others, '=')}."
        )
    return ""


def _current_messages(seen: Seen, told: int) -> str:
    """List this round's messages in order."""
    public = seen.public
    lines = [_quoted(sent) for sent in public.messages[told:] if sent.round == public.round and public.phase != "over"]
    return "\n".join(["Messages of this round:", *lines]) if lines else ""


def _quoted(sent: Sent) -> str:
    """Quote a message on one line after its seat, so that it cannot pass for the game's own words."""
    if sent.ends:
        return f"{sent.seat} ended the talk."
    note = " (its replies could not be read, so it passed)" if sent.lapsed else ""
    return f"{sent.seat}: {json.dumps(sent.text, ensure_ascii=False).translate(_LINE_BREAKS)}{note}"


# What is asked.


def _request(game: Parameters, seen: Seen) -> str:
    public = seen.public
    if public.phase == "over":
        return f"The match is over. You earned {format_decimal(sum(seen.private.earned))} points in all."
    if seen.seat not in public.on_turn:
        return "It is not your turn."
    request = _talk_request(game, seen) if public.phase == "talk" else _split_request(game, seen)
    return request + (_form(game, seen) if game.reading == "literal" else reply_format(game, seen))


def reply_format(game: Parameters, seen: Seen) -> str:
    """Describe on a separate line how the reply that is due is written in words."""
    how = "<message>your text</message>: only the text inside is delivered."
    if seen.public.phase != "talk":
        how = f"{_example(game)} with a whole number for each n."
    return f"\nWrite it as {how}{_form(game, seen)}"


def _form(game: Parameters, seen: Seen) -> str:
    """Say what else may be written."""
    if seen.public.phase == "talk":
        return f" To end the talk, answer {SELECTION} and nothing else." if game.is_free else ""
    left_out = " Types you leave out count as 0." if len(game.items) > 1 else ""
    no_deal = f" If you want no deal, answer {NO_AGREEMENT if game.is_free else NO_DEAL}."
    return left_out + (no_deal if game.rule == "exact" else "")


def _talk_request(game: Parameters, seen: Seen) -> str:
    sent = [sent for sent in seen.public.messages if sent.round == seen.public.round]
    if game.is_free:
        left = game.talk_limit - len(sent)
        more = "the last one of this talk" if left == 1 else f"{left} are left to the two of you, this one included"
    else:
        left = game.quota - sum(each.seat == seen.seat for each in sent)
        more = f"you have {left} left in this round, this one included"
        more = "this is your last one of this round" if left == 1 else more
    return _SEND[game.reading].format(more=more, most=game.max_chars)


_SEND = {
    "literal": "Send your message ({more}) as <message>your text</message>, at most {most} characters. Only the text "
    "inside is delivered; an empty message is a pass.",
    "fair": "Send your message ({more}), at most {most} characters; an empty message is a pass.",
}


def _split_request(game: Parameters, seen: Seen) -> str:
    ranges = ", ".join(f"0 to {units} {item}" for item, units in zip(game.items, seen.public.stock, strict=True))
    how = f", as {_example(game)} with a whole number for each n" if game.reading == "literal" else ""
    return f"Say now what you keep for yourself{how}: {ranges}."


def _example(game: Parameters) -> str:
    return write_proposal(game.items, ["n"] * len(game.items))
