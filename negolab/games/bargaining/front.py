"""The fixed texts that a human buyer reads, word for word as in the seed document, and a driver of a match over them.

`texts` is a pure fold of a match's events that uses only the game as told to the buyer, the buyer's observations and
the final payoffs, so nothing that a human writes can change the rules or reveal the seller's number.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from negolab import catalog
from negolab.events import Dealt, Ended, Event, Replied
from negolab.game import Ask, Reply, Seat, State, observe
from negolab.games.bargaining.prompt import seller_claim
from negolab.games.bargaining.rules import Bargaining
from negolab.games.bargaining.rules_text import rules_text
from negolab.games.bargaining.state import Action, Private, Public, Seen
from negolab.match import Match
from negolab.money import format_cents
from negolab.record import Fold, Record, start_state

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


log = logging.getLogger("negolab.games.bargaining")

SEAT = "B"
"""The seat that reads the texts: the human buyer."""

AskSeller = Callable[[Seen], str | Reply | Action | None]
"""The seller's reply to its observation, text or action. None or an exception counts as an empty reply."""


class Front:
    """Drives a match of a human buyer with one text per reply.

    `ask_seller` replies for A. Without it, submit to `match` for both seats and read `texts`.

    Example:
        >>> import negolab as nl
        >>> from negolab.games.bargaining import Offer
        >>> game = nl.load("bargaining")
        >>> front = Front(game, game.start(6500, 4000), lambda seen: Offer(6000))
        >>> front.open().splitlines()[-1]
        'Do you accept, or would you like to make a counteroffer?'
        >>> front.hear("accept").splitlines()[0]
        "You accepted the AI's offer. Deal reached at $60.00."
    """

    def __init__(self, game: Bargaining, state: State[Public, Private], ask_seller: AskSeller | None = None) -> None:
        self._sit(game, Match(game, start=state), ask_seller)

    def _sit(self, game: Bargaining, match: Match, ask_seller: AskSeller | None) -> None:
        self.game = game
        self.match = match
        self.late = 0
        self._ask_seller = ask_seller

    @classmethod
    def over(cls, match: Match, ask_seller: AskSeller | None = None) -> Self:
        """Make a front over a match that has already begun."""
        if not isinstance(match.game, Bargaining):
            raise ValueError(f"this front is for bargaining, not for {type(match.game).__name__}")
        front = cls.__new__(cls)
        front._sit(match.game, match, ask_seller)
        return front

    @classmethod
    def replay(
        cls, game: Bargaining, state: State[Public, Private], record: Record, ask_seller: AskSeller | None = None
    ) -> Self:
        """Rebuild the front of a record, with the same `texts`; the seller is not asked again."""
        if record.game != game or start_state(record) != state:
            raise ValueError(f"record {record.id} is of another game or start")
        return cls.over(Match.replay(record), ask_seller)

    # The human.

    def open(self) -> str:
        """Return the first text, with the seller's first offer where it opens."""
        self._seller_moves()
        if "A" in self.match.pending() and not self.match.state.public.offers:
            raise ValueError("the seller has not made its first offer")
        return self.texts[0]

    def hear(self, text: str) -> str:
        """Submit the human's text and return the answer; after the end a fixed sentence, and `late` is counted up."""
        if self.match.ended is not None:
            self.late += 1
            return COMPLETE
        return self._answered(lambda: self.match.submit("B", text))

    def act(self, action: Action) -> str:
        """Play the human's action and return the answer; `ValueError` if it is not legal."""
        if self.match.ended is not None:
            return COMPLETE
        return self._answered(lambda: self.match.act("B", action))

    @property
    def texts(self) -> list[str]:
        """All texts so far, except those after the end."""
        return texts(self.game, self.match.events)

    @property
    def record(self) -> Record:
        return self.match.record()

    def _answered(self, reply: Callable[[], object]) -> str:
        if self._ask_seller is None:
            raise ValueError("nobody answers for the seller here: submit to the match and read `texts` afterwards")
        before = self.match.seen("B")
        reply()
        self._seller_moves()
        told: Any = self.match.told("B")
        payoffs = {} if self.match.ended is None else self.match.ended.payoffs
        return answer(told, before, self.match.seen("B"), payoffs)

    # The seller.

    def _seller_moves(self) -> None:
        while self._ask_seller is not None and (ask := self.match.pending().get("A")):
            self._hear_seller(self._ask_seller, ask)

    def _hear_seller(self, ask_seller: AskSeller, ask: Ask) -> None:
        try:
            reply = ask_seller(ask.seen)
        except Exception as error:
            # Counts as no words. Its text is not logged: it could hold what the seller knows.
            log.warning("the seller failed with %s; its decision counts as missing", type(error).__name__)
            reply = None
        if isinstance(reply, Awaitable):
            raise TypeError("this seller answers later: let `play` drive the match and read `texts`")
        if isinstance(reply, str | Reply):
            self.match.submit("A", reply)
        elif reply is None or not self._seller_acts(reply):
            self.match.submit("A", "")

    def _seller_acts(self, action: Action) -> bool:
        try:
            self.match.act("A", action)
        except ValueError:
            return False
        return True


def seller_from_player(player: Any, match: Match) -> AskSeller:
    """Wrap a synchronous player as the `ask_seller` of a front over `match`."""

    def ask_seller(seen: Seen) -> str | Reply | Action | None:
        reply: str | Reply | Action | None = player.reply(match.told("A"), match.pending()["A"])
        return reply

    return ask_seller
