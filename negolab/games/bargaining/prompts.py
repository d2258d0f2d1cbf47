"""What a player at either seat must read. It holds the seat's own number, what it was told, and the typed history."""

from __future__ import annotations

import json

from negolab.games.bargaining.money import dollars, money
from negolab.games.bargaining.state import Public, Seen, Terms, Told, may_talk, own_number


def facts(seen: Seen) -> dict[str, str]:
    """The seat's own number and what it was told of the other's."""
    public, terms = seen.public, seen.public.terms
    cost = "valuation" if terms.frame == "keeps_item" else "cost"
    if seen.seat == "A":
        known = {f"Your {cost}": money(own_number(seen)), "The buyer's value": told(terms.seller_told, public.value)}
    else:
        known = {"Your value": money(own_number(seen)), f"The seller's {cost}": told(terms.buyer_told, public.cost)}
    known = {name: "not known to you" if text == "nothing" else text for name, text in known.items()}
    if may_talk(terms.talk, seen.seat):
        known["To add a message"] = "a second line: message: your words"
    return known


def rules(seen: Seen, item: str) -> str:
    """Role, own number, told facts, payoffs and the course of the game."""
    terms = seen.public.terms
    lines = _seller(seen, item) if seen.seat == "A" else _buyer(seen, item)
    lines += _waiting(seen) if terms.discount_seller != 1 or terms.discount_buyer != 1 else []
    lines += [_course(seen), f"A price is from {money(terms.price_lo)} to {money(terms.price_hi)}."]
    return "\n".join(lines + _talking(seen))


def one_of(amounts: tuple[str | int, ...]) -> str:
    """`$20.00, $30.00 or $40.00`."""
    *before, last = (money(int(amount)) for amount in amounts)
    return f"{', '.join(before)} or {last}" if before else last


def told(facts: Told, exact: int | None) -> str:
    """What a seat was told of the other's number, in words."""
    match facts:
        case ("exact",):
            return f"exactly {money(exact or 0)}"
        case ("range", int(lo), int(hi)):
            return f"between {money(lo)} and {money(hi)}, not the exact number"
        case ("verified", int(lo), int(hi)):
            return f"between {money(lo)} and {money(hi)}, certified by the game, not the exact number"
        case ("set", *amounts):
            return f"one of {one_of(tuple(amounts))}, not which"
    return "nothing"


def claim(told: Told, item: str) -> str | None:
    """The seller's words before round 1 in the `claimed` treatment."""
    if told[0] != "claimed":
        return None
    return f'"Just so you know, this {item} costs me roughly {money(int(told[1]))} to {money(int(told[2]))}."'


def _seller(seen: Seen, item: str) -> list[str]:
    terms, cost = seen.public.terms, own_number(seen)
    own, pay, nothing = "cost", "the price minus your cost", f"you earn {money(terms.outside_seller)}"
    if terms.frame == "keeps_item":
        own, pay = "valuation", "the price"
        nothing = f"you keep the {item}, worth {money(cost)} to you" + (
            f", and earn {money(terms.outside_seller)}" if terms.outside_seller else ""
        )
    lines = [
        f"You are the seller in a price negotiation over one {item}. The other player is the buyer.",
        f"Your {own}: {money(cost)}.",
        f"You are told of the buyer's value: {told(terms.seller_told, seen.public.value)}.",
        f"The buyer is told of your {own}: {told(terms.buyer_told, seen.public.cost)}.",
        f"With a deal you earn {pay}; the buyer earns their value minus the price.",
        f"Without a deal {nothing}; the buyer earns {money(terms.outside_buyer)}.",
    ]
    said = claim(terms.buyer_told, item)
    return lines if said is None else [*lines, f"The buyer reads this message in your name before round 1: {said}"]


def _buyer(seen: Seen, item: str) -> list[str]:
    terms, value = seen.public.terms, own_number(seen)
    own, pay, nothing = "cost", "the price minus their cost", f"the seller earns {money(terms.outside_seller)}"
    if terms.frame == "keeps_item":
        own, pay = "valuation", "the price"
        nothing = f"the seller keeps the {item}" + (
            f" and earns {money(terms.outside_seller)}" if terms.outside_seller else ""
        )
    lines = [
        f"You are the buyer in a price negotiation over one {item}. The other player is the seller.",
        f"Your value: {money(value)}.",
        f"You are told of the seller's {own}: {told(terms.buyer_told, seen.public.cost)}.",
        f"The seller is told of your value: {told(terms.seller_told, seen.public.value)}.",
        f"With a deal you earn your value minus the price; the seller earns {pay}.",
        f"Without a deal you earn {money(terms.outside_buyer)}; {nothing}.",
    ]
    said = claim(terms.buyer_told, item)
    return lines if said is None else [*lines, f"The seller writes before round 1, and nobody checks it: {said}"]


def _waiting(seen: Seen) -> list[str]:
    terms = seen.public.terms
    mine, theirs, other = terms.discount_buyer, terms.discount_seller, "seller"
    if seen.seat == "A":
        mine, theirs, other = theirs, mine, "buyer"
    return [
        f"For each round after round 1 a deal's pay is multiplied by {mine:g} for you and {theirs:g} for the {other}."
    ]


def _course(seen: Seen) -> str:
    terms = seen.public.terms
    opens = (terms.opener == "seller") == (seen.seat == "A")
    mine, theirs = ("odd", "even") if opens else ("even", "odd")
    other = "buyer" if seen.seat == "A" else "seller"
    rounds = "There is 1 round" if terms.rounds == 1 else f"There are at most {terms.rounds} rounds"
    return (
        f"{rounds}, and each offer is one. You make the offers of the {mine} rounds, the {other} those of the "
        f"{theirs} rounds; the offer of the last round can only be accepted or rejected."
    )


def _talking(seen: Seen) -> list[str]:
    talk = seen.public.terms.talk
    if talk == "none":
        return []
    who = "Both players" if talk == "both" else "The seller"
    lines = [f"{who} may send a short message with an offer. It is just talk; only the price counts."]
    if may_talk(talk, seen.seat):
        lines.append("To send one with your price, write it on a second line that begins with MESSAGE:")
    return lines


def story(seen: Seen, known: int) -> list[str]:
    """One line for each offer after the first `known`, with the message that came with it."""
    messages = {number: text for number, _, text in seen.public.messages}
    lines = []
    for number, seat, cents in seen.public.offers[known:]:
        who = "you" if seat == seen.seat else "the seller" if seat == "A" else "the buyer"
        # As a JSON string, a message cannot pass for the game's own words.
        said = f" Message: {json.dumps(messages[number], ensure_ascii=False)}" if number in messages else ""
        lines.append(f"Round {number}: {who} offered {money(cents)}.{said}")
    return lines


def due(seen: Seen, on_turn: bool) -> str:
    """What is to be done now, and how to say it."""
    public = seen.public
    if public.over:
        return _ended(public)
    if not on_turn:
        return "Wait: the other player is to answer."
    return f"{_situation(seen)}\nAnswer with one line: {_answers(public)}."


def _ended(public: Public) -> str:
    return "The game is over without a deal." if public.price is None else f"The deal is made at {money(public.price)}."


def _situation(seen: Seen) -> str:
    public = seen.public
    number, rounds, price = len(public.offers), public.terms.rounds, public.standing
    if price is None:
        return f"Round 1 of {rounds} is yours: make the first offer."
    if public.last_response:
        return f"The offer of {money(price)} in round {number} is the last one: take it or end without a deal."
    return (
        f"The offer of {money(price)} in round {number} of {rounds} stands: accept it, or offer in round {number + 1}."
    )


def _answers(public: Public) -> str:
    example = f"a price such as {_example(public.terms)}"
    if not public.offers:
        return example
    if public.last_response:
        return "accept or reject"
    walk = ", or walk away to end the game without a deal" if public.terms.walk_away else ""
    return f"{example}, or accept{walk}"


def _example(terms: Terms) -> str:
    inside = terms.price_lo <= 5250 <= terms.price_hi
    return dollars(5250 if inside else (terms.price_lo + terms.price_hi) // 2)
