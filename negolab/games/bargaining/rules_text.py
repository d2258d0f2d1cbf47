"""The rules as the human buyer reads them, in plain lines."""

from __future__ import annotations

from negolab.games.bargaining.prompt import list_alternatives
from negolab.games.bargaining.rules import Bargaining, fair_price
from negolab.games.bargaining.state import Seen, reservation_value
from negolab.money import divide_half_up, format_cents


def rules_text(game: Bargaining, seen: Seen) -> str:
    """Write the rules from the game as told to the buyer and the buyer's observation."""
    article = "an" if game.item[0].lower() in "aeiou" else "a"
    value = format_cents(reservation_value(seen))
    lines = [
        f"This is a price negotiation over {article} {game.item}. You are the buyer and the AI is the seller.",
        "",
        f"- Your valuation: The {game.item} is worth {value} to you",
        *_cost_lines(game, seen),
        *_value_lines(game, value),
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


def _cost_lines(game: Bargaining, seen: Seen) -> list[str]:
    kind, *amounts = game.buyer_told
    match kind:
        case "exact":
            told = f"Exactly {format_cents(seen.public.cost or 0)}"
        case "range":
            lo, hi = map(_format_amount, amounts)
            told = f"Between {lo} and {hi}; you are not told the exact number"
        case "set":
            told = f"One of {list_alternatives(tuple(amounts))}; you are not told which"
        case "verified":
            told = f"About {_format_amount(amounts[0])} to {_format_amount(amounts[1])}; the game certifies this range"
        case _:
            told = "Not known to you"
    lines = [f"- Seller's {_cost_word(game)}: {told}"]
    if kind == "claimed":
        lines.append(
            "- First message: The AI seller may write to you before Round 1; the game does not check what it says"
        )
    return lines


def _format_amount(amount: int | str) -> str:
    return format_cents(int(amount))


def _value_lines(game: Bargaining, value: str) -> list[str]:
    kind, *amounts = game.seller_told
    match kind:
        case "exact":
            told = f"- The seller knows your exact valuation of {value}"
        case "range":
            lo, hi = _format_amount(amounts[0]), _format_amount(amounts[1])
            told = f"- The seller was told that your value lies between {lo} and {hi}, not the exact number"
        case "set":
            told = f"- The seller was told that your value is one of {list_alternatives(tuple(amounts))}, not which"
        case _:
            told = "- The seller does not know your valuation"
    both = kind == "exact" and game.buyer_told == ("exact",)
    return [told, "- Both players know both valuations — full information"] if both else [told]


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
    """Say what no deal brings, in the shorter words of an `example` too."""
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
    """Return the two example prices; `fair` is the midpoint. Where both numbers are public, a second example that would
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
