"""The fixed texts that a human buyer reads, word for word as in the seed document.

`texts` is a pure fold over a match's events that uses only the game as told to the buyer, the buyer's observations and
the final payoffs, so nothing a human writes can change the rules or reveal the seller's number.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from negolab.decoding import decode_state
from negolab.events import Dealt, Ended, Event, Replied
from negolab.game import Seat, State, observe
from negolab.games.bargaining.prompt import list_alternatives, seller_claim
from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Private, Public, Seen, Told, reservation_value
from negolab.money import divide_half_up, format_cents
from negolab.record import Fold

SEAT = "B"
"""The seat that reads the texts: the human buyer."""

FIXED: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
COMPLETE: str = FIXED["complete"]
"""The answer to anything said after the end."""
CLOSING: str = FIXED["closing"]
"""First line of the ending, which a study replaces with its own words."""

# Boxes.


def status_box(number: int, rounds: int, price: int, offerer: str) -> str:
    """Format the box below an offer from the AI."""
    box: str = FIXED["status"]
    return box.format(number=number, rounds=rounds, price=format_cents(price), offerer=offerer)


def game_over_box(human: float, ai: float) -> str:
    """Format the final box; earnings are in cents, with 50 columns between the borders."""
    earned = {"human": f"     Human: {format_cents(human)}", "ai": f"     AI: {format_cents(ai)}"}
    box: str = FIXED["game_over"].format(**{name: line.ljust(50) for name, line in earned.items()})
    return f"{CLOSING}\n\n{box}"


def reprompt(lo: int, hi: int, reject_named: bool) -> str:
    """Format the answer to an invalid reply."""
    sentence: str = FIXED["reprompt"]
    ways = "'accept', 'reject', or" if reject_named else "'accept' or"
    return sentence.format(ways=ways, lowest=format_cents(lo), highest=format_cents(hi))


# The texts of a match.

Payoffs = Mapping[Seat, int | float | None]


def texts(game: Bargaining, events: Iterable[Event]) -> list[str]:
    """Return the opening and one text per human reply, from a match's events.

    A reply that the seller has not yet answered has no text, nor does an end from outside the rules.
    """
    told = game.told("B")
    said: list[str] = []
    before: Seen | None = None
    for seen, payoffs in _buyer_observations(game, events):
        said.append(opening(told, seen) if before is None else answer(told, before, seen, payoffs))
        before = seen
    return said


def _buyer_observations(game: Bargaining, events: Iterable[Event]) -> Iterator[tuple[Seen, Payoffs]]:
    """Yield the buyer's observation before each of their replies, and the current one unless it is the seller's
    turn."""
    fold: Fold | None = None
    payoffs: Payoffs = {}
    for event in events:
        if isinstance(event, Dealt):
            fold = Fold(game, _start_state(game, event))
        elif isinstance(event, Ended):
            payoffs = event.payoffs
        elif fold is not None:
            if isinstance(event, Replied) and event.seat == "B":
                yield observe(fold.state, "B"), payoffs
            fold.apply(event)
    if fold is not None and "A" not in game.turn(fold.state.public):
        yield observe(fold.state, "B"), payoffs


def _start_state(game: Bargaining, dealt: Dealt) -> State[Public, Private]:
    return dealt.state if isinstance(dealt.state, State) else decode_state(type(game), dealt.state)


def opening(told: Bargaining, seen: Seen) -> str:
    """Write the first text: the rules, then the seller's first offer or the invitation to open."""
    public = seen.public
    lines = [rules_text(told, seen), ""]
    said = seller_claim(told.buyer_told, told.item)
    if said is not None:
        lines += [f"The AI seller writes: {said}", ""]
    if public.offers:
        return "\n".join(
            [
                *lines,
                f"{_round_label(public)}: The AI offers {format_cents(public.standing or 0)}.",
                *_after_ai_offer(public),
            ]
        )
    lo, hi = format_cents(told.price_lo), format_cents(told.price_hi)
    lines.append(f"Round 1 of {told.rounds}: Your turn to open. Name a price from {lo} to {hi}.")
    return "\n".join([*lines, FIXED["last_offer"]] if told.rounds == 1 else lines)


def answer(told: Bargaining, before: Seen, after: Seen, payoffs: Payoffs) -> str:
    """Write the text for a human reply that led from `before` to `after`, including the seller's reaction.

    `payoffs` are used only when the game is over.
    """
    if before.public.over:
        return COMPLETE
    public = after.public
    made = len(public.offers) - len(before.public.offers)
    if public.over:
        said = _last_words(public) if made == 0 else f"{_your_offer(public, -1)} {_reaction(public)}"
        return f"{said}\n\n{game_over_box(payoffs['B'] or 0, payoffs['A'] or 0)}"
    if made == 0:
        return reprompt(told.price_lo, told.price_hi, told.reject_named)
    counter = f"{_round_label(public)}: The AI counteroffers {format_cents(public.standing or 0)}."
    return "\n".join([f"{_your_offer(public, -2)} The AI rejects.", counter, *_after_ai_offer(public)])


def _last_words(public: Public) -> str:
    """Write the sentence for an end brought about by the human."""
    if public.price is not None:
        return f"You accepted the AI's offer. Deal reached at {format_cents(public.price)}."
    if public.forfeited:
        return "You gave no valid response. No deal."
    return "You rejected the AI's final offer. No deal." if public.last_response else "You walked away. No deal."


def _your_offer(public: Public, index: int) -> str:
    number, _, cents = public.offers[index]
    return f"Round {number}: You offered {format_cents(cents)}."


def _reaction(public: Public) -> str:
    """Write the sentence for an end brought about by the AI."""
    if public.price is not None:
        return f"The AI accepts. Deal reached at {format_cents(public.price)}."
    return f"The AI {'rejects' if public.last_response else 'walks away'}. No deal."


def _round_label(public: Public) -> str:
    number = len(public.offers)
    return f"Round {number} (FINAL)" if number == public.terms.rounds else f"Round {number}"


def _after_ai_offer(public: Public) -> list[str]:
    """Return the lines below an offer from the AI: its message, the status box, and what the human may do."""
    number, _, cents = public.offers[-1]
    said = [f'The AI says: "{text}"' for at, _, text in public.messages if at == number]
    lines = [*said, "", status_box(number, public.terms.rounds, cents, "AI"), ""]
    left = public.terms.rounds - number
    if left == 0:
        return [*lines, FIXED["final_note"], FIXED["final_question"]]
    return [*lines, *([FIXED["last_offer"]] if left == 1 else []), FIXED["question"]]


# The rules, in plain lines.


def rules_text(game: Bargaining, seen: Seen) -> str:
    """Write the rules from the game as told to the buyer and the buyer's observation."""
    article = "an" if game.item[0].lower() in "aeiou" else "a"
    value = format_cents(reservation_value(seen))
    lines = [
        f"This is a price negotiation over {article} {game.item}. You are the buyer and the AI is the seller.",
        "",
        f"- Your valuation: The {game.item} is worth {value} to you",
        *_cost_lines(game, seen),
        *_value_lines(game, seen),
        f"- Alternating offers: {_alternation(game)}",
        f"- Maximum {_count(game.rounds, 'round')} ({_offers_per_player(game)})",
        f"- Valid prices: {format_cents(game.price_lo)} to {format_cents(game.price_hi)}",
        "- Each round: You can accept the current offer or make a counteroffer",
        *_extra_lines(game),
        f"- If a deal is reached: You earn {value} minus the agreed price; {_deal_earnings(game, seen)}",
        f"- If no deal after {_count(game.rounds, 'round')}: {_no_deal_earnings(game)}",
        "",
        *_example_lines(game, seen, value),
    ]
    return "\n".join(lines)


def _cost_word(game: Bargaining) -> str:
    return "valuation" if game.frame == "keeps_item" else "cost"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _told(of: str, told: Told, exact: int | None) -> str:
    """Say what one seat was told `of` the other's number."""
    kind, *given = map(str, told)
    amounts = [exact or 0] if kind == "exact" else [int(amount) for amount in given]
    words: dict[str, str] = FIXED[of]
    either = list_alternatives(tuple(amounts)) if amounts else ""
    return words.get(kind, words["nothing"]).format(*map(format_cents, amounts), either=either)


def _cost_lines(game: Bargaining, seen: Seen) -> list[str]:
    line = f"- Seller's {_cost_word(game)}: {_told('cost', game.buyer_told, seen.public.cost)}"
    return [line, FIXED["claim"]] if game.buyer_told[0] == "claimed" else [line]


def _value_lines(game: Bargaining, seen: Seen) -> list[str]:
    line = _told("value", game.seller_told, reservation_value(seen))
    both = game.seller_told[0] == "exact" and game.buyer_told == ("exact",)
    return [line, FIXED["both"]] if both else [line]


def _alternation(game: Bargaining) -> str:
    first, second = ("The AI makes", "you") if game.opener == "seller" else ("You make", "the AI")
    if game.rounds == 1:
        return f"{first} the only offer (Round 1)"
    course = f"{first} the first offer (Round 1), then {second} (Round 2)"
    if game.rounds > 2:
        course += f", then {'the AI' if game.opener == 'seller' else 'you'} (Round 3)"
    return f"{course}, and so on" if game.rounds > 3 else course


def _offers_per_player(game: Bargaining) -> str:
    if game.rounds % 2 == 0:
        return f"{_count(game.rounds // 2, 'offer')} per player"
    more, fewer = (game.rounds + 1) // 2, game.rounds // 2
    ai, human = (more, fewer) if game.opener == "seller" else (fewer, more)
    return f"{_count(ai, 'AI offer')}, {_count(human, 'human offer')}"


def _extra_lines(game: Bargaining) -> list[str]:
    lines = []
    if game.talk != "none":
        who, whose = ("The AI", "its") if game.talk == "seller" else ("Both players", "their")
        lines.append(
            f"- Messages: {who} may add a short message to {whose} offers. These are just talk; only the price matters"
        )
    if game.walk_away:
        lines.append("- Walking away: Type 'walk away' to end the game without a deal")
    if game.discount_buyer != 1 or game.discount_seller != 1:
        lines.append(
            "- Waiting costs: For each round after Round 1, your earnings are multiplied by "
            f"{game.discount_buyer:g} and the seller's by {game.discount_seller:g}"
        )
    return lines


def _cost_text(seen: Seen) -> str:
    return "their cost" if seen.public.cost is None else format_cents(seen.public.cost)


def _deal_earnings(game: Bargaining, seen: Seen) -> str:
    earns = "the seller earns the agreed price"
    return earns if game.frame == "keeps_item" else f"{earns} minus {_cost_text(seen)}"


def _no_deal_earnings(game: Bargaining, *, example: bool = False) -> str:
    """Say what each side earns without a deal, in fewer words for an `example`."""
    part, seller, both = (",", "Seller", "Both") if example else (";", "the seller", "Both players")
    if game.frame == "keeps_item":
        return f"You earn {format_cents(game.outside_buyer)}{part} the seller keeps the {game.item}"
    if game.outside_buyer or game.outside_seller:
        own, others = format_cents(game.outside_buyer), format_cents(game.outside_seller)
        return f"You earn {own}{part} {seller} earns {others}"
    return f"{both} earn $0.00"


# The examples.


def _example_lines(game: Bargaining, seen: Seen, value: str) -> list[str]:
    cost = seen.public.cost
    known = "" if cost is None else f", seller {_cost_word(game)} = {format_cents(cost)}"
    first, second = example_prices(game, seen)
    even = " (even split)" if _is_even(game, seen) else ""
    return [
        f"Examples (your value = {value}{known}):",
        _example(game, seen, value, first) + even,
        _example(game, seen, value, second),
        f"- No deal → {_no_deal_earnings(game, example=True)}",
    ]


def example_prices(game: Bargaining, seen: Seen) -> tuple[int, int]:
    """Return the two example prices; `fair` is the midpoint. If both numbers are public, a second example that would
    show a loss or repeat the first is replaced by a price a fifth of the surplus above cost."""
    value, cost = seen.public.value, seen.public.cost
    fair = 0 if value is None or cost is None else fair_price(value, cost)
    first, second = (fair if price == "fair" else int(price) for price in game.examples)
    if value is not None and cost is not None and not (cost < second < value and second != first):
        second = cost + divide_half_up(value - cost, 5)
    return first, second


def _is_even(game: Bargaining, seen: Seen) -> bool:
    value, cost = seen.public.value, seen.public.cost
    if game.examples[0] != "fair" or game.frame != "profit" or value is None or cost is None:
        return False
    return (value + cost) % 2 == 0


def _example(game: Bargaining, seen: Seen, value: str, price: int) -> str:
    earns = format_cents(price) if game.frame == "keeps_item" else f"{format_cents(price)} − {_cost_text(seen)}"
    return f"- Deal at {format_cents(price)} → You earn {value} − {format_cents(price)}, Seller earns {earns}"
