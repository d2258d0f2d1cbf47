"""Prompts for trading: the seat's own goods, the rules, the messages and trades so far, and what is due."""

from __future__ import annotations

import json

from negolab.games.trading.parameters import Parameters
from negolab.games.trading.state import GOODS, Entry, Offer, Seen, format_goods, worth


def full_prompt(game: Parameters, seen: Seen) -> str:
    """Write the complete prompt."""
    parts = [_own_goods(game, seen)]
    if game.lenient:
        parts += [TOKENS["literal"], f"The game has {game.max_turns} turns."]
    else:
        parts += [_prior_knowledge(game), _objective(game), TOKENS[game.reading], _reply_rules(game)]
    parts += [_transcript(seen, seen.public.messages), _notices(seen), _request(game, seen)]
    return "\n\n".join(filter(None, parts))


def update_prompt(game: Parameters, seen: Seen, since: Seen) -> str:
    """Write what became visible after `since`, then what is due now."""
    fresh = seen.public.messages[len(since.public.messages) :]
    moved = _holdings(seen) if seen.private.holdings != since.private.holdings else ""
    parts = [_transcript(seen, fresh), moved, _notices(seen, len(since.private.notices)), _request(game, seen)]
    return "\n\n".join(filter(None, parts))


def _own_goods(game: Parameters, seen: Seen) -> str:
    own = seen.private
    rows = "\n".join(
        f"- {name}: you hold {n}, each worth {v} to you"
        for name, n, v in zip(GOODS, own.holdings, own.values, strict=True)
    )
    head = f"You are player {seen.seat} in a trading game between A and B. Your goods:\n{rows}"
    if game.lenient:
        return head
    now, start = worth(own.holdings, own.values), worth(own.start, own.values)
    return f"{head}\nTogether they are worth {now} to you now; at the start they were worth {start}."


def _prior_knowledge(game: Parameters) -> str:
    base = ", ".join(f"{name} {value}" for name, value in zip(GOODS, game.base_values, strict=True))
    low, high = game.holdings_range
    return (
        "The other player has goods and values of its own, which you do not know. For both of you each value was drawn "
        f"within {game.spread_percent} % of a base value ({base}; never below {game.value_clamp[0]} or above "
        f"{game.value_clamp[1]}), and each quantity at the start from {low} to {high}."
    )


def _objective(game: Parameters) -> str:
    kept = 0 if game.rules == "seed" else "+1"
    return (
        f"You take turns, A first; after {game.max_turns} turns in all the game is over. Your objective is a larger "
        "gain than the other player's: gain is the worth of your goods at the end minus their worth at the start, each "
        "at your own values. Having more than the other is no advantage; only gains count. The larger gain wins (+1), "
        "the smaller loses (-1), equal gains are a draw (0). Who breaks the rules for good loses at once (-1) and "
        f"the other gets {kept}."
    )


TOKENS = {
    "literal": (
        "Your message may hold these tokens, with any text around them:\n"
        "[Offer: 2 Wheat, 1 Ore -> 3 Sheep] offers what you give -> what you want\n"
        "[Accept] accepts the offer that waits for you\n"
        "[Deny] refuses it"
    ),
    "fair": (
        "Your message may hold these tokens, with any text around them:\n"
        "[Offer: n Good, n Good -> n Good] offers what you give -> what you want; each n is a whole number, each Good "
        "one of the five\n"
        "[Accept] accepts the offer that waits for you\n"
        "[Deny] refuses it\n"
        "Write a token only where you mean it. Of different offers in a message the last one counts."
    ),
}
"""The form of a reply in words, by reading; an example that is an offer could be taken for advice."""
_ANSWERS = {
    ("literal", "seed"): "must be answered in your next message with exactly one of [Accept] and [Deny]",
    ("literal", "tolerant"): "is answered with one of [Accept] and [Deny], never both; saying neither refuses it",
    ("fair", "seed"): "must be accepted or refused in your next message",
    ("fair", "tolerant"): "is accepted or refused in your next message; saying neither refuses it",
}
_OFFERS = {"literal": "Only the first offer of a message counts, and you", "fair": "You"}


def _reply_rules(game: Parameters) -> str:
    retries = game.retries("A")
    allowed = f"{retries} message in a row may be corrected" if retries else "there is no second try"
    return (
        f"An offer made to you {_ANSWERS[game.reading, game.rules]}. After the reply you may make a counter-offer in "
        f"the same message. {_OFFERS[game.reading]} must hold what it gives (after the trade, if you accepted one). "
        f"A message against these rules is not delivered: {allowed}, then you lose."
    )


def _transcript(seen: Seen, messages: tuple[Entry, ...]) -> str:
    if not messages:
        return "" if seen.public.messages else "Nothing has been said yet."
    return "What was said:\n" + "\n".join(_line(entry) for entry in messages)


def _line(entry: Entry) -> str:
    done = []
    if entry.trade is not None:
        done.append(
            f"accepted: {entry.seat} gave {format_goods(entry.trade.want)} and got {format_goods(entry.trade.give)}"
        )
    if entry.denied:
        done.append("refused the waiting offer")
    if entry.offer is not None:
        done.append(f"offered {format_goods(entry.offer.give)} for {format_goods(entry.offer.want)}")
    # As a JSON string, a message stays on its line and cannot pass for the game's own words.
    said = json.dumps(entry.text, ensure_ascii=False)
    return f"{entry.seat}: {said} ({'; '.join(done) or 'only talk'})"


def _holdings(seen: Seen) -> str:
    own = seen.private
    amounts = ", ".join(f"{n} {name}" for n, name in zip(own.holdings, GOODS, strict=True))
    return f"You now hold {amounts}, worth {worth(own.holdings, own.values)} to you."


_NOTICES = {
    "accept_holdings": "you accepted an offer without the goods it asks for",
    "offer_format": "your offer could not be read",
    "offer_holdings": "you offered goods that you do not hold",
}


def _notices(seen: Seen, told: int = 0) -> str:
    fresh = seen.private.notices[told:]
    return "Errors of yours so far: " + "; ".join(_NOTICES[code] for code in fresh) + "." if fresh else ""


def _request(game: Parameters, seen: Seen) -> str:
    public = seen.public
    if public.to_move is None:
        return "The game is over."
    left = (
        (game.max_turns - public.turn + 1) // 2 if public.to_move == seen.seat else (game.max_turns - public.turn) // 2
    )
    turn = (
        f"This is turn {public.turn + 1} of {game.max_turns}; you have {left} left, this one included."
        if not game.lenient
        else ""
    )
    waiting = _waiting(public.waiting, seen) if public.waiting is not None else ""
    whose = "It is your turn." if public.to_move == seen.seat else "It is the other player's turn."
    return " ".join(filter(None, [turn, waiting, whose]))


def _waiting(offer: Offer, seen: Seen) -> str:
    if offer.by == seen.seat:
        return (
            f"Your offer is waiting: you would give {format_goods(offer.give)} and receive {format_goods(offer.want)}."
        )
    give, want = format_goods(offer.give), format_goods(offer.want)
    return f"An offer is waiting for you: you would receive {give}, you would give {want}."
