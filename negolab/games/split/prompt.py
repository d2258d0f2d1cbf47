"""What a seat must read, from its observation alone: the rules, what happened, what it knows, what is asked now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from negolab.game import SEATS, Seat, other
from negolab.games.split.position import Public, Seen, Sent, Settled
from negolab.games.split.proposals import written
from negolab.games.split.rulebook import decimal, listed, rules

if TYPE_CHECKING:
    from negolab.games.split.rules import Split

_LINE_BREAKS = str.maketrans(dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x7f\x85\u2028\u2029", " "))


def whole(game: Split, seen: Seen) -> str:
    """Everything, complete by itself."""
    return _joined(rules(game, seen.seat), _past(game, seen), _now(game, seen), _said(seen, 0), _request(game, seen))


def news(game: Split, seen: Seen, since: Seen) -> str:
    """What became visible after `since`, then what is asked now."""
    told = len(since.public.messages)
    past = _past(game, seen, len(since.public.history), told)
    now = _now(game, seen) if seen.public.round != since.public.round else ""
    return _joined(past, now, _said(seen, told), _request(game, seen))


def facts(game: Split, seen: Seen) -> dict[str, Any]:
    """What is to be divided and what it is worth to the seat, for its table."""
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


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


# What happened.


def _past(game: Split, seen: Seen, rounds: int = 0, told: int = 0) -> str:
    """The rounds finished since the first `rounds`, without the first `told` messages."""
    messages = seen.public.messages[told:]
    return "\n\n".join(_finished(game, seen, settled, messages) for settled in seen.public.history[rounds:])


def _finished(game: Split, seen: Seen, settled: Settled, messages: Sequence[Sent]) -> str:
    lines = [f"Round {settled.round} is over. The stock was {listed(game.items, settled.stock)}."]
    lines += [_quoted(sent) for sent in messages if sent.round == settled.round]
    lines += [_summary(game, settled, seat) for seat in SEATS]
    if game.rule == "exact":
        lines.append("The proposals agreed." if settled.agreed else "The proposals did not agree: no deal.")
    own = seen.private.earned
    if len(own) >= settled.round:
        lines.append(f"You earned {decimal(own[settled.round - 1])} points.")
    return "\n".join(lines)


def _summary(game: Split, settled: Settled, seat: Seat) -> str:
    ask = settled.asks[seat]
    asked = "proposed no deal" if ask is None else f"asked for {listed(game.items, ask)}"
    parts = [f"{seat} {asked} and got {listed(game.items, settled.shares[seat])}"]
    if settled.hands is not None:
        parts.append(f"had {settled.hands[seat]}")
    if settled.values is not None:
        parts.append(f"had the values {listed(game.items, settled.values[seat], '=')}")
    if settled.points is not None:
        parts.append(f"earned {decimal(settled.points[seat])} points")
    lapsed = " (its replies could not be read, so this was filled in)" if seat in settled.lapsed else ""
    return "; ".join(parts) + f".{lapsed}"


# This round.


def _now(game: Split, seen: Seen) -> str:
    public = seen.public
    if public.phase == "over":
        return ""
    stock = (
        f"This is round {public.round} of {game.rounds}. The stock of this round: {listed(game.items, public.stock)}."
    )
    whose = "You are" if public.first == seen.seat else f"Player {public.first} is"
    first = f"{whose} the first speaker of this round."
    return "\n".join(filter(None, [stock, first, _known(game, seen)]))


def _known(game: Split, seen: Seen) -> str:
    public, private = seen.public, seen.private
    if private.hand is not None:
        return f"Your hand in this round: {private.hand}."
    if private.values is not None:
        return f"What one unit is worth to you: {listed(game.items, private.values, '=')}."
    if public.values is not None:
        own, others = public.values[seen.seat], public.values[other(seen.seat)]
        return (
            f"What one unit is worth to you: {listed(game.items, own, '=')}; "
            f"to player {other(seen.seat)}: {listed(game.items, others, '=')}."
        )
    return ""


def _said(seen: Seen, told: int) -> str:
    """This round's messages, in order."""
    public = seen.public
    lines = [_quoted(sent) for sent in public.messages[told:] if sent.round == public.round and public.phase != "over"]
    return "\n".join(["Messages of this round:", *lines]) if lines else ""


def _quoted(sent: Sent) -> str:
    """The seat, then its words on one line inside quotation marks, so that they cannot pass for the game's own."""
    note = " (its replies could not be read, so it passed)" if sent.lapsed else ""
    return f"{sent.seat}: {json.dumps(sent.text, ensure_ascii=False).translate(_LINE_BREAKS)}{note}"


# What is asked.


def _request(game: Split, seen: Seen) -> str:
    public = seen.public
    if public.phase == "over":
        return f"The match is over. You earned {decimal(sum(seen.private.earned))} points in all."
    if seen.seat not in public.on_turn:
        return "It is not your turn."
    return _talk_request(game, seen) if public.phase == "talk" else _split_request(game, seen)


def _talk_request(game: Split, seen: Seen) -> str:
    left = game.quota - _sent(seen.public, seen.seat)
    more = (
        "this is your last one of this round" if left == 1 else f"you have {left} left in this round, this one included"
    )
    return (
        f"Send your message ({more}) as <message>your text</message>, at most {game.max_chars} characters. "
        "Only the text inside is delivered; an empty message is a pass."
    )


def _sent(public: Public, seat: Seat) -> int:
    return sum(sent.round == public.round and sent.seat == seat for sent in public.messages)


def _split_request(game: Split, seen: Seen) -> str:
    stock = seen.public.stock
    ranges = ", ".join(f"0 to {units} {item}" for item, units in zip(game.items, stock, strict=True))
    parts = [f"Say now what you keep for yourself, as {_form(game)} with a whole number for each n: {ranges}."]
    if len(stock) > 1:
        parts.append("Types you leave out count as 0.")
    if game.rule == "exact":
        parts.append("If you want no deal, answer <no_deal/>.")
    return " ".join(parts)


def _form(game: Split) -> str:
    """A proposal as the game writes it, with n for the numbers."""
    return written(game.items, ["n"] * len(game.items))
