"""Prompts for an agenda: the case, the seat's own points, the rules, the messages so far, and what is due.

Whatever a seat wrote is quoted as a JSON string, so it stays on its line and cannot pass for the game's own words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from negolab.game import Seat, other
from negolab.games.agenda.parameters import Parameters
from negolab.games.agenda.reading import option_name, write_offer
from negolab.games.agenda.scenario import Issue, Row
from negolab.games.agenda.state import Agreement, Entry, Seen, seen_by_author, worth


def full_prompt(game: Parameters, seen: Seen) -> str:
    """Write the complete prompt."""
    parts = [
        _case(game, seen),
        _points(game, seen),
        _shown(game, seen),
        _aim(game, seen),
        reply_format(game),
        _rules(game),
        _transcript(game, seen, seen.public.messages),
        _request(game, seen),
    ]
    return "\n\n".join(filter(None, parts))


def update_prompt(game: Parameters, seen: Seen, since: Seen) -> str:
    """Write what became visible after `since`, then what is due now."""
    fresh = seen.public.messages[len(since.public.messages) :]
    return "\n\n".join(filter(None, [_transcript(game, seen, fresh), _request(game, seen)]))


def role(game: Parameters, seat: Seat) -> str:
    """Return the name of a seat's role."""
    return game.roles.A if seat == "A" else game.roles.B


def own_row(issue: Issue, row: Row, seat: Seat) -> Row:
    """Return the seat's points for each number of units it could get, or for each option."""
    return row[::-1] if issue.units is not None and seat == "B" else row


def _case(game: Parameters, seen: Seen) -> str:
    you, they = role(game, seen.seat), role(game, other(seen.seat))
    head = f"{game.title}. You are {you} (seat {seen.seat}); the other side is {they} (seat {other(seen.seat)})."
    return f"{head}\n{seen.private.brief}" if seen.private.brief else head


def _points(game: Parameters, seen: Seen) -> str:
    head = "You must agree on one option for every issue. Your own points:"
    rows = zip(game.agenda, seen.private.points, strict=True)
    return "\n".join([head, *(f"- {_issue_points(issue, row, seen.seat)}" for issue, row in rows)])


def _issue_points(issue: Issue, row: Row, seat: Seat) -> str:
    if issue.units is not None:
        own = own_row(issue, row, seat)
        return f"{issue.name}: {issue.units} to divide, each worth {own[1]} to you"
    return f"{issue.name}: " + ", ".join(
        f"{name} ({points})" for name, points in zip(issue.options or (), row, strict=True)
    )


def _shown(game: Parameters, seen: Seen) -> str:
    """Say what is known about the other's points."""
    own = seen.private
    if own.theirs is not None:
        rows = zip(game.agenda, own.theirs, strict=True)
        listed = (f"- {_issue_points(issue, row, other(seen.seat))}" for issue, row in rows)
        head = "The points of the other side, for options or for each unit that it gets:"
        return "\n".join([head, *listed]).replace(" to you", "")
    if own.order is not None:
        names = [issue.name for issue in game.agenda]
        groups = {
            rank: [n for n, r in zip(names, own.order, strict=True) if r == rank] for rank in sorted(set(own.order))
        }
        ranked = "; then ".join(" and ".join(group) for group in groups.values())
        return f"The other side has points of its own. Its issues, by how much they matter to it: {ranked}."
    return "The other side has points of its own, which you do not see; it does not see yours."


def _aim(game: Parameters, seen: Seen) -> str:
    alone = seen.private.reservation
    aim = f"Your aim is as many points for yourself as you can get. Without an agreement you get {alone}."
    if str(game.discount) != "1":
        aim += f" Every message before the end multiplies what you get by {game.discount}."
    return aim


def reply_format(game: Parameters) -> str:
    """Describe how a reply is written in words; for a fair reading, without an offer that could be taken for advice."""
    middle = [issue.size // 2 for issue in game.agenda]
    names = "; ".join(f"{issue.name} = {'n' if issue.options is None else 'option'}" for issue in game.agenda)
    offer = write_offer(middle, game.agenda) if game.reading == "literal" else f"[Offer: {names}]"
    around = ", with any text around them" if game.talk else " and nothing else"
    lines = [
        f"Your message may hold these{around}:",
        f"{offer} offers an agreement; name every issue once{_units_note(game)}",
        "[Accept] accepts the offer that stands, and ends the match",
        "[Reject] rejects it",
    ]
    if game.walk_away:
        lines.append("[Walk away] ends the match without an agreement")
    lines += [] if game.reading == "literal" else ["Write a token only where you mean it."]
    return "\n".join(lines)


def _units_note(game: Parameters) -> str:
    goods = any(issue.units is not None for issue in game.agenda)
    return ". A number is how many units you get; the other side gets the rest" if goods else ""


def _rules(game: Parameters) -> str:
    silence = (
        "An offer must be answered in the next message: accept it, reject it, walk away, or make an offer of your own, "
        "which rejects it."
        if game.walk_away
        else "An offer must be answered in the next message: accept it, reject it, or make an offer of your own, which "
        "rejects it."
    )
    if game.answer == "may":
        silence = "An offer stands for the next message only: if it is not accepted there, it is rejected."
    limit = f" Talk has at most {game.max_chars} characters." if game.talk else " There is no talk."
    return (
        f"You take turns; after {game.turns} messages of both together the match is over. {silence} A message holds at "
        f"most one offer and one reply, and the last message no offer.{limit}"
    )


def _transcript(game: Parameters, seen: Seen, messages: tuple[Entry, ...]) -> str:
    if not messages:
        return "" if seen.public.messages else "Nothing has been said yet."
    return "What was said:\n" + "\n".join(_line(game, seen, entry) for entry in messages)


def _line(game: Parameters, seen: Seen, entry: Entry) -> str:
    who = "You" if entry.seat == seen.seat else role(game, entry.seat)
    return f"{who}: " + "; ".join(_deeds(game, seen, entry))


def _deeds(game: Parameters, seen: Seen, entry: Entry) -> Iterator[str]:
    """Yield the parts of a message in words."""
    if entry.reply is not None:
        yield {"accept": "accepted the offer", "reject": "rejected the offer", "walk away": "walked away"}[entry.reply]
    if entry.talk:
        yield f"said {json.dumps(entry.talk, ensure_ascii=False)}"
    if entry.offer is not None:
        yield f"offered {describe_agreement(game, seen.seat, entry.offer)}"


def describe_agreement(game: Parameters, seat: Seat, agreement: Agreement) -> str:
    """Write an agreement as one seat reads it, such as `salary = $55,000; food = 2 for you, 1 for the other`."""
    rows = zip(game.agenda, seen_by_author(seat, game.agenda, agreement), strict=True)
    return "; ".join(
        f"{issue.name} = {option_name(issue, n)}"
        + ("" if issue.units is None else f" for you, {issue.units - n} for the other")
        for issue, n in rows
    )


def _request(game: Parameters, seen: Seen) -> str:
    public = seen.public
    if public.to_move is None:
        return "The match is over."
    left = game.turns - len(public.messages)
    parts = [f"{left} message{' is' if left == 1 else 's are'} left in all, this one included."]
    if public.standing is not None:
        points = worth(seen.private.points, public.standing)
        own = public.to_move != seen.seat
        whose = "Your offer stands" if own else "An offer stands for you to answer"
        described = describe_agreement(game, seen.seat, public.standing)
        parts.append(f"{whose}: {described}. It is worth {points} points to you.")
    parts.append("It is your turn." if public.to_move == seen.seat else "It is the other side's turn.")
    return " ".join(parts)
