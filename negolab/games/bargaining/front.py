"""The fixed texts that a human buyer reads, word for word as in the seed document.

`texts` is a pure fold of a match's events that uses only the game as told to the buyer, the buyer's observations and
the final payoffs, so nothing that a human writes can change the rules or reveal the seller's number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from negolab import catalog
from negolab.events import Dealt, Ended, Event, Replied
from negolab.game import Seat, State, observe
from negolab.games.bargaining.prompt import seller_claim
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.rules_text import rules_text
from negolab.games.bargaining.state import Private, Public, Seen
from negolab.money import format_cents
from negolab.record import Fold

# Sentences and boxes.

QUESTION = "Do you accept, or would you like to make a counteroffer?"
LAST_OFFER = "This is your last chance to make an offer."
FINAL_NOTE = "Any counteroffer now counts as a rejection."
FINAL_QUESTION = "This is the AI's final offer. Type 'accept' or 'reject'."
COMPLETE = "The game is complete. You do not need to do anything else. Thank you for participating!"

_RULER = "━" * 30
CLOSING = "══════════ GAME OVER ══════════"
"""First line of the closing, which a study puts its own words in place of."""
_GAME_OVER = """\
══════════ GAME OVER ══════════

╔══════════════════════════════════════════════════╗
║                                                  ║
║            ✅  YOU ARE FINISHED  ✅               ║
║                                                  ║
║   This interview is now COMPLETE.                ║
║   You do not need to do anything else.           ║
║                                                  ║
║   Final Earnings:                                ║
║{human}║
║{ai}║
║                                                  ║
║   Thank you for participating!                   ║
║                                                  ║
╚══════════════════════════════════════════════════╝"""


def status_box(number: int, rounds: int, price: int, offerer: str) -> str:
    """Format the box below an offer of the AI."""
    lines = [
        "  BARGAINING STATUS",
        f"  Round {number} of {rounds}",
        f"  Last offer: {format_cents(price)} by {offerer}",
    ]
    return "\n".join([_RULER, *lines, _RULER])


def game_over_box(human: float, ai: float) -> str:
    """Format the final box; earnings in cents, 50 columns between the borders."""
    return _GAME_OVER.format(
        human=f"     Human: {format_cents(human)}".ljust(50), ai=f"     AI: {format_cents(ai)}".ljust(50)
    )


def reprompt(lo: int, hi: int, reject_named: bool) -> str:
    """Format the answer to an invalid reply."""
    ways = "'accept', 'reject', or" if reject_named else "'accept' or"
    lowest, highest = format_cents(lo), format_cents(hi)
    return f"That's not a valid response. Please type {ways} enter a counteroffer between {lowest} and {highest}."


# The texts of a match.

Payoffs = Mapping[Seat, int | float | None]


def texts(game: Bargaining, events: Iterable[Event]) -> list[str]:
    """Return the opening and one text per human reply, from a match's events.

    A reply that the seller has not yet answered has no text, nor has an end from outside the rules.
    """
    told = game.told("B")
    said: list[str] = []
    before: Seen | None = None
    for seen, payoffs in _buyer_observations(game, events):
        said.append(opening(told, seen) if before is None else answer(told, before, seen, payoffs))
        before = seen
    return said


def _buyer_observations(game: Bargaining, events: Iterable[Event]) -> Iterator[tuple[Seen, Payoffs]]:
    """Yield the buyer's observation before each of their replies, and the current one unless the seller is on turn."""
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
    return dealt.state if isinstance(dealt.state, State) else catalog.decode_state(type(game), dealt.state)


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
    return "\n".join([*lines, LAST_OFFER] if told.rounds == 1 else lines)


def answer(told: Bargaining, before: Seen, after: Seen, payoffs: Payoffs) -> str:
    """Write the text for a human reply that led from `before` to `after`, the seller's reaction included.

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
    """Sentence for an end by the human."""
    if public.price is not None:
        return f"You accepted the AI's offer. Deal reached at {format_cents(public.price)}."
    if public.forfeited:
        return "You gave no valid response. No deal."
    return "You rejected the AI's final offer. No deal." if public.last_response else "You walked away. No deal."


def _your_offer(public: Public, index: int) -> str:
    number, _, cents = public.offers[index]
    return f"Round {number}: You offered {format_cents(cents)}."


def _reaction(public: Public) -> str:
    """Sentence for an end by the AI."""
    if public.price is not None:
        return f"The AI accepts. Deal reached at {format_cents(public.price)}."
    return f"The AI {'rejects' if public.last_response else 'walks away'}. No deal."


def _round_label(public: Public) -> str:
    number = len(public.offers)
    return f"Round {number} (FINAL)" if number == public.terms.rounds else f"Round {number}"


def _after_ai_offer(public: Public) -> list[str]:
    """Lines below an offer of the AI: its message, the status box, and what the human may do."""
    number, _, cents = public.offers[-1]
    said = [f'The AI says: "{text}"' for at, _, text in public.messages if at == number]
    lines = [*said, "", status_box(number, public.terms.rounds, cents, "AI"), ""]
    left = public.terms.rounds - number
    if left == 0:
        return [*lines, FINAL_NOTE, FINAL_QUESTION]
    return [*lines, LAST_OFFER, QUESTION] if left == 1 else [*lines, QUESTION]


SEAT = "B"
"""The seat that reads the texts: the human buyer."""
