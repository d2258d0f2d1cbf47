"""Prompts for both seats: the rules with the seat's own number and what it was told, and the history of offers."""

from __future__ import annotations

import json

from negolab.games.bargaining.state import Public, Seen, Terms, Told, may_talk, reservation_value
from negolab.money import cents_to_dollars, format_cents
from negolab.reading import Reading


def facts(seen: Seen) -> dict[str, str]:
    """Return the seat's reservation value and what it was told about the other's, for its table."""
    public, terms = seen.public, seen.public.terms
    cost = "valuation" if terms.frame == "keeps_item" else "cost"
    if seen.seat == "A":
        known = {
            f"Your {cost}": format_cents(reservation_value(seen)),
            "The buyer's value": describe_told(terms.seller_told, public.value),
        }
    else:
        known = {
            "Your value": format_cents(reservation_value(seen)),
            f"The seller's {cost}": describe_told(terms.buyer_told, public.cost),
        }
    known = {name: "not known to you" if text == "nothing" else text for name, text in known.items()}
    if may_talk(terms.talk, seen.seat):
        known["To add a message"] = "a second line: message: your words"
    return known


def describe_rules(seen: Seen, item: str) -> str:
    """Describe the role, reservation value, told facts, payoffs and course of the game."""
    terms = seen.public.terms
    lines = _seller_rules(seen, item) if seen.seat == "A" else _buyer_rules(seen, item)
    lines += _discounting(seen) if terms.discount_seller != 1 or terms.discount_buyer != 1 else []
    lines += [
        _course_of_rounds(seen),
        f"A price is from {format_cents(terms.price_lo)} to {format_cents(terms.price_hi)}.",
        _unreadable_rule(seen),
    ]
    return "\n".join([*lines, *message_rules(seen)])


def describe_forfeit(seen: Seen) -> str:
    """Say what the rules do in place of this seat's next unreadable answer."""
    if seen.seat == "B":
        return "the match ends without a deal"
    if seen.public.last_response:
        return "the last offer is rejected for you"
    own = [cents for _, seat, cents in seen.public.offers if seat == seen.seat]
    # A seat is not told what stands in for its first offer.
    return f"{format_cents(own[-1])} is offered for you" if own else "an offer is made for you"


def _unreadable_rule(seen: Seen) -> str:
    if seen.seat == "B":
        return "A reply that cannot be read is asked for again; if you give too many, the game ends without a deal."
    return (
        "If your replies in a round cannot be read, the rules move for you: they repeat your last offer (before your "
        "first one they choose a price), and reject the offer of the last round."
    )


def list_alternatives(amounts: tuple[str | int, ...]) -> str:
    """List amounts as `$20.00, $30.00 or $40.00`."""
    *before, last = (format_cents(int(amount)) for amount in amounts)
    return f"{', '.join(before)} or {last}" if before else last


def describe_told(facts: Told, exact: int | None) -> str:
    """Say what a seat was told about the other's number; "nothing" if it was told nothing."""
    match facts:
        case ("exact",):
            return f"exactly {format_cents(exact or 0)}"
        case ("range", int(lo), int(hi)):
            return f"between {format_cents(lo)} and {format_cents(hi)}, not the exact number"
        case ("verified", int(lo), int(hi)):
            return f"between {format_cents(lo)} and {format_cents(hi)}, certified by the game, not the exact number"
        case ("set", *amounts):
            return f"one of {list_alternatives(tuple(amounts))}, not which"
    return "nothing"


def seller_claim(told: Told, item: str) -> str | None:
    """Return the seller's message before round 1 in the `claimed` treatment; None in any other."""
    if told[0] != "claimed":
        return None
    lowest, highest = format_cents(int(told[1])), format_cents(int(told[2]))
    return f'"Just so you know, this {item} costs me roughly {lowest} to {highest}."'


def _seller_rules(seen: Seen, item: str) -> list[str]:
    terms, cost = seen.public.terms, reservation_value(seen)
    own, pay, nothing = "cost", "the price minus your cost", f"you earn {format_cents(terms.outside_seller)}"
    if terms.frame == "keeps_item":
        own, pay = "valuation", "the price"
        nothing = f"you keep the {item}, worth {format_cents(cost)} to you" + (
            f", and earn {format_cents(terms.outside_seller)}" if terms.outside_seller else ""
        )
    lines = [
        f"You are the seller in a price negotiation over one {item}. The other player is the buyer.",
        f"Your {own}: {format_cents(cost)}.",
        f"You are told of the buyer's value: {describe_told(terms.seller_told, seen.public.value)}.",
        f"The buyer is told of your {own}: {describe_told(terms.buyer_told, seen.public.cost)}.",
        f"With a deal you earn {pay}; the buyer earns their value minus the price.",
        f"Without a deal {nothing}; the buyer earns {format_cents(terms.outside_buyer)}.",
    ]
    said = seller_claim(terms.buyer_told, item)
    return lines if said is None else [*lines, f"The buyer reads this message in your name before round 1: {said}"]


def _buyer_rules(seen: Seen, item: str) -> list[str]:
    terms, value = seen.public.terms, reservation_value(seen)
    own, pay, nothing = "cost", "the price minus their cost", f"the seller earns {format_cents(terms.outside_seller)}"
    if terms.frame == "keeps_item":
        own, pay = "valuation", "the price"
        nothing = f"the seller keeps the {item}" + (
            f" and earns {format_cents(terms.outside_seller)}" if terms.outside_seller else ""
        )
    lines = [
        f"You are the buyer in a price negotiation over one {item}. The other player is the seller.",
        f"Your value: {format_cents(value)}.",
        f"You are told of the seller's {own}: {describe_told(terms.buyer_told, seen.public.cost)}.",
        f"The seller is told of your value: {describe_told(terms.seller_told, seen.public.value)}.",
        f"With a deal you earn your value minus the price; the seller earns {pay}.",
        f"Without a deal you earn {format_cents(terms.outside_buyer)}; {nothing}.",
    ]
    said = seller_claim(terms.buyer_told, item)
    return lines if said is None else [*lines, f"The seller writes before round 1, and nobody checks it: {said}"]


def _discounting(seen: Seen) -> list[str]:
    terms = seen.public.terms
    mine, theirs, other = terms.discount_buyer, terms.discount_seller, "seller"
    if seen.seat == "A":
        mine, theirs, other = theirs, mine, "buyer"
    return [
        f"For each round after round 1 a deal's pay is multiplied by {mine:g} for you and {theirs:g} for the {other}."
    ]


def _course_of_rounds(seen: Seen) -> str:
    terms = seen.public.terms
    opens = (terms.opener == "seller") == (seen.seat == "A")
    mine, theirs = ("odd", "even") if opens else ("even", "odd")
    other = "buyer" if seen.seat == "A" else "seller"
    rounds = "There is 1 round" if terms.rounds == 1 else f"There are at most {terms.rounds} rounds"
    return (
        f"{rounds}, and each offer is one. You make the offers of the {mine} rounds, the {other} those of the "
        f"{theirs} rounds; the offer of the last round can only be accepted or rejected."
    )


def message_rules(seen: Seen) -> tuple[str, ...]:
    """Say who may send messages and, if the seat may, how they are written."""
    talk = seen.public.terms.talk
    if talk == "none":
        return ()
    who = "Both players" if talk == "both" else "The seller"
    may = f"{who} may send a short message with an offer. It is just talk; only the price counts."
    how = "To send one with your price, write it on a second line that begins with MESSAGE:"
    return (may, how) if may_talk(talk, seen.seat) else (may,)


def offer_history(seen: Seen, known: int) -> list[str]:
    """Write one line for each offer after the first `known`, with its message."""
    messages = {number: text for number, _, text in seen.public.messages}
    lines = []
    for number, seat, cents in seen.public.offers[known:]:
        who = "you" if seat == seen.seat else "the seller" if seat == "A" else "the buyer"
        # As a JSON string, a message cannot pass for the game's own words.
        said = f" Message: {json.dumps(messages[number], ensure_ascii=False)}" if number in messages else ""
        lines.append(f"Round {number}: {who} offered {format_cents(cents)}.{said}")
    return lines


def request(seen: Seen, on_turn: bool, reading: Reading) -> str:
    """Say what to do now and in what form."""
    public = seen.public
    if public.over:
        return _end_line(public)
    if not on_turn:
        return "Wait: the other player is to answer."
    return f"{_situation(seen)}{answer_format(public, reading)}"


def answer_format(public: Public, reading: Reading) -> str:
    """Describe how an answer is written; for a fair reading, without a price that could be taken for advice."""
    fair = "a price in dollars, digits with two decimals"
    price = fair if reading == "fair" else f"a price such as {cents_to_dollars(example_price(public.terms))}"
    return f"\nAnswer with one line: {_answers(public, price)}."


def _end_line(public: Public) -> str:
    return (
        "The game is over without a deal."
        if public.price is None
        else f"The deal is made at {format_cents(public.price)}."
    )


def _situation(seen: Seen) -> str:
    public = seen.public
    number, rounds, price = len(public.offers), public.terms.rounds, public.standing
    if price is None:
        return f"Round 1 of {rounds} is yours: make the first offer."
    if public.last_response:
        return f"The offer of {format_cents(price)} in round {number} is the last one: take it or end without a deal."
    standing = f"The offer of {format_cents(price)} in round {number} of {rounds} stands"
    return f"{standing}: accept it, or offer in round {number + 1}."


def _answers(public: Public, price: str) -> str:
    if not public.offers:
        return price
    if public.last_response:
        return "accept or reject"
    walk = ", or walk away to end the game without a deal" if public.terms.walk_away else ""
    return f"{price}, or accept{walk}"


def example_price(terms: Terms) -> int:
    """Return the price that literal prompts and forms show, in cents."""
    return 5250 if terms.price_lo <= 5250 <= terms.price_hi else (terms.price_lo + terms.price_hi) // 2
