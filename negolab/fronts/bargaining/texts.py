"""The manager's texts: what the human buyer reads at the start and after each of their replies.

A pure fold. It needs the game as told to the buyer, the buyer's observations, and at the end both payoffs; so a page
that knows only the buyer's side can show it, and nothing a human says can change the rules or reach the seller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from negolab import catalog
from negolab.events import Dealt, Ended, Event, Replied
from negolab.fronts.bargaining.boxes import (
    DONE,
    FINAL_NOTE,
    FINAL_QUESTION,
    LAST,
    QUESTION,
    game_over,
    reprompt,
    status,
)
from negolab.fronts.bargaining.rules_text import rules_text
from negolab.game import Seat, State, observe
from negolab.games.bargaining.money import money
from negolab.games.bargaining.prompts import claim
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.state import Private, Public, Seen
from negolab.record import Fold

Payoffs = Mapping[Seat, int | float | None]


def texts(game: Bargaining, events: Iterable[Event]) -> list[str]:
    """The opening and one text per human reply, from a match's events alone. A reply that the seller has not yet
    answered has no text, nor has an end from outside the rules."""
    told = game.told("B")
    said: list[str] = []
    before: Seen | None = None
    for seen, payoffs in _moments(game, events):
        said.append(opening(told, seen) if before is None else answer(told, before, seen, payoffs))
        before = seen
    return said


def _moments(game: Bargaining, events: Iterable[Event]) -> Iterator[tuple[Seen, Payoffs]]:
    """What the buyer saw whenever the manager spoke: before each of their replies, and now if the seller is not
    still to answer."""
    fold: Fold | None = None
    payoffs: Payoffs = {}
    for event in events:
        if isinstance(event, Dealt):
            fold = Fold(game, _start(game, event))
        elif isinstance(event, Ended):
            payoffs = event.payoffs
        elif fold is not None:
            if isinstance(event, Replied) and event.seat == "B":
                yield observe(fold.state, "B"), payoffs
            fold.apply(event)
    if fold is not None and "A" not in game.turn(fold.state.public):
        yield observe(fold.state, "B"), payoffs


def _start(game: Bargaining, dealt: Dealt) -> State[Public, Private]:
    return dealt.state if isinstance(dealt.state, State) else catalog.read_state(type(game), dealt.state)


def opening(told: Bargaining, seen: Seen) -> str:
    """The first text: rules, then the seller's first offer or the invitation to open."""
    public = seen.public
    lines = [rules_text(told, seen), ""]
    said = claim(told.buyer_told, told.item)
    if said is not None:
        lines += [f"The AI seller writes: {said}", ""]
    if public.offers:
        return "\n".join([*lines, f"{_label(public)}: The AI offers {money(public.standing or 0)}.", *_tail(public)])
    lo, hi = money(told.price_lo), money(told.price_hi)
    lines.append(f"Round 1 of {told.rounds}: Your turn to open. Name a price from {lo} to {hi}.")
    return "\n".join([*lines, LAST] if told.rounds == 1 else lines)


def answer(told: Bargaining, before: Seen, after: Seen, payoffs: Payoffs) -> str:
    """The one text for a reply of the human that led from `before` to `after`, the seller's reaction included.
    `payoffs` are looked at only when the game is over."""
    if before.public.over:
        return DONE
    public = after.public
    made = len(public.offers) - len(before.public.offers)
    if public.over:
        said = _last_words(public) if made == 0 else f"{_your_offer(public, -1)} {_reaction(public)}"
        return f"{said}\n\n{game_over(payoffs['B'] or 0, payoffs['A'] or 0)}"
    if made == 0:
        return reprompt(told.price_lo, told.price_hi, told.reject_named)
    counter = f"{_label(public)}: The AI counteroffers {money(public.standing or 0)}."
    return "\n".join([f"{_your_offer(public, -2)} The AI rejects.", counter, *_tail(public)])


def _last_words(public: Public) -> str:
    """The human ended it."""
    if public.price is not None:
        return f"You accepted the AI's offer. Deal reached at {money(public.price)}."
    if public.forfeited:
        return "You gave no valid response. No deal."
    return "You rejected the AI's final offer. No deal." if public.last_response else "You walked away. No deal."


def _your_offer(public: Public, index: int) -> str:
    number, _, cents = public.offers[index]
    return f"Round {number}: You offered {money(cents)}."


def _reaction(public: Public) -> str:
    """The AI ended it."""
    if public.price is not None:
        return f"The AI accepts. Deal reached at {money(public.price)}."
    return f"The AI {'rejects' if public.last_response else 'walks away'}. No deal."


def _label(public: Public) -> str:
    number = len(public.offers)
    return f"Round {number} (FINAL)" if number == public.terms.rounds else f"Round {number}"


def _tail(public: Public) -> list[str]:
    """What follows an offer of the AI: its message, the status box, and what the human may do."""
    number, _, cents = public.offers[-1]
    said = [f'The AI says: "{text}"' for at, _, text in public.messages if at == number]
    lines = [*said, "", status(number, public.terms.rounds, cents, "AI"), ""]
    left = public.terms.rounds - number
    if left == 0:
        return [*lines, FINAL_NOTE, FINAL_QUESTION]
    return [*lines, LAST, QUESTION] if left == 1 else [*lines, QUESTION]
