"""A match as steps, each one thing that somebody did, in words, with what was seen after it and what it would pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from negolab.catalog import AnyGame
from negolab.events import Dealt, Ended, Event, Forfeited, Rejected, Replied, Stepped
from negolab.formatting import display_unit, format_end, format_money, format_number, format_quote
from negolab.game import SEATS, Invalid, Observation, Seat, Seen, observe
from negolab.record import Record, SeatOutcome, SeatRecord, start_state, states
from negolab_widgets.html import capitalised
from negolab_widgets.tables.seats import seat_name

Entry = Event | SeatOutcome | Seen
Stakes = tuple[dict[Seat, int | float], ...]


class Step(NamedTuple):
    """A reply with its effects, or something else that happened at one moment.

    Attributes:
        entries: Events of the record, or entries of a seat's view; the first one names the step.
        words: One line for lists.
        seen: What the seats see after it.
        at: Number of events of the record that have happened by then (0 in a seat's view, which does not say).
        stakes: What each of its proposals would pay A and B; for the start, what no deal pays; if rounds pay
            separately, what was paid so far, for a step that settles a round. () in a seat's view.
        left_out: Parts of its reply that were not used: start, end and why.
        news: What the view's seat reads when it is asked after this step.
    """

    entries: tuple[Entry, ...]
    words: str
    seen: dict[Seat, Seen]
    at: int = 0
    stakes: Stakes = ()
    news: str = ""
    left_out: tuple[tuple[int, int, str], ...] = ()

    @property
    def entry(self) -> Entry:
        """The entry that names the step."""
        return self.entries[0]

    @property
    def seat(self) -> Seat | None:
        """The seat that acted, if one did."""
        return self.entry.seat if isinstance(self.entry, Replied | Rejected | Forfeited) else None

    @property
    def rejection(self) -> Rejected | None:
        """The refusal of its reply."""
        return next((entry for entry in self.entries if isinstance(entry, Rejected)), None)


def record_steps(record: Record) -> list[Step]:
    """Make the steps of a record as the experimenter sees them.

    Raises:
        ValueError: The record cannot be replayed; the message names the event.
    """
    game, after = record.game, list(states(record))
    told = {seat: game.told(seat) for seat in SEATS}
    before = start_state(record)
    steps: list[Step] = []
    for events in _group(record.events):
        at = len(events) + (steps[-1].at if steps else 0)
        words = describe(events, game)
        stakes: Stakes = ()
        left: tuple[tuple[int, int, str], ...] = ()
        if isinstance(first := events[0], Replied):
            seen = observe(before, first.seat)
            left = told[first.seat].left_out(first.reply.text, seen)
            refused = any(isinstance(event, Rejected) for event in events)
            action = None if refused else told[first.seat].parse(first.reply.text, seen)
            if action is not None and not isinstance(action, Invalid):
                remark = game.describe_effect(after[at - 1].public)
                words = f"{subject(game, first.seat)} {game.describe(action)}" + (f" ({remark})" if remark else "")
                stakes = () if game.has_paid_rounds else game.stakes(before, first.seat, action)
        if game.has_paid_rounds and _settles_round(events):
            stakes = (_paid_so_far(game, after[at - 1]),)
        before = after[at - 1]
        steps.append(Step(events, words, {seat: observe(before, seat) for seat in SEATS}, at, stakes, left_out=left))
    if any(step.stakes for step in steps) and not game.has_paid_rounds:
        steps[0] = steps[0]._replace(stakes=(game.disagreement(start_state(record)),))
    return steps


def _settles_round(events: Sequence[Event]) -> bool:
    """Return True if both seats acted at the same time."""
    return any(isinstance(event, Stepped) and len(event.seats) == len(SEATS) for event in events)


def _paid_so_far(game: AnyGame, state: Any) -> dict[Seat, int | float]:
    return {seat: paid or 0 for seat, paid in game.outcome(state).payoffs.items()}


def _group(entries: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Split entries before each one that is not an effect of the reply before it."""
    group: list[Any] = []
    for entry in entries:
        if group and not _belongs(entry, group):
            yield tuple(group)
            group = []
        group.append(entry)
    if group:
        yield tuple(group)


def _belongs(entry: Entry, group: list[Entry]) -> bool:
    match entry:
        case Stepped() | Forfeited():
            return True
        case Rejected(seat, _, wordless):
            return not wordless and isinstance(group[-1], Replied) and group[-1].seat == seat
        case Observation():
            return isinstance(group[0], Replied) and not any(isinstance(one, Observation) for one in group)
    return False


def view_steps(view: SeatRecord) -> list[Step]:
    """Make the steps of one seat's view; the effects of its own reply that the seat saw belong to the reply."""
    game, seat = view.told, view.seat
    steps: list[Step] = []
    before: Seen | None = None
    for entries in _group(view.entries):
        seen = next((entry for entry in reversed(entries) if isinstance(entry, Observation)), before)
        if seen is None:
            continue
        words, news = describe(entries, game), ""
        if isinstance(first := entries[0], Replied) and before is not None:
            action = game.parse(first.reply.text, before)
            words = words if isinstance(action, Invalid) else f"{subject(game, seat)} {game.describe(action)}"
        elif isinstance(first, Observation):
            # Words that are new since the last observation, as the seat will read them when it is asked.
            news = game.prompt(seen, before) if seat in game.turn(seen.public) else ""
            if before is None:
                words = "The start"
            elif news:
                words = f"{subject(game, seat)} reads {format_quote(news)}"
        steps.append(Step(entries, words, {seat: seen}, news=news))
        before = seen
    return steps


def subject(game: AnyGame, seat: Seat) -> str:
    """Return a seat's name for the beginning of a line."""
    return capitalised(seat_name(game, seat))


def describe(entries: tuple[Entry, ...], game: AnyGame) -> str:
    """Describe in one line what happened, without reading a reply's words."""
    last_chance = ", its last attempt" if any(isinstance(entry, Forfeited) for entry in entries) else ""
    refused = next((entry for entry in entries if isinstance(entry, Rejected)), None)
    match entries[0]:
        case Dealt():
            return "The start"
        case Replied(seat, reply):
            if refused is not None:
                return f"{subject(game, seat)} is refused: {refused.invalid.reason}{last_chance}"
            return f"{subject(game, seat)} replies {format_quote(reply.text)}{last_chance}"
        case Rejected(seat, Invalid(_, reason), _, unread):
            fault = "gives no answer in time" if unread is None else "cannot be read"
            return f"{subject(game, seat)} {fault}: {reason}{last_chance}"
        case Forfeited(seat):
            return f"{subject(game, seat)} has used up its invalid replies"
        case Ended(end, payoffs):
            paid = ", ".join(f"{seat_name(game, seat)} {format_pay(payoffs[seat], game)}" for seat in SEATS)
            return f"The end: {format_end(end)}; {paid}"
        case SeatOutcome(end, payoff):
            return f"The end: {format_end(end)}; paid {game.format_payoff(payoff)}"
    return "The table has changed"


def describe_stakes(step: Step, game: AnyGame) -> str:
    """Format what the step's proposals would pay, such as `A 5,185, B 2,556`; "" if it has none."""
    if not step.stakes:
        return ""
    names = {seat: seat_name(game, seat) for seat in SEATS}
    pairs = (", ".join(f"{names[seat]} {format_stake(pay[seat], game)}" for seat in SEATS) for pay in step.stakes)
    of = "so far: " if game.has_paid_rounds else "in all: " if game.stakes_add_up else ""
    return ("no deal: " if isinstance(step.entry, Dealt) else of) + " or ".join(pairs)


def format_stake(amount: float, game: AnyGame) -> str:
    """Format what a proposal would pay, without the unit unless it is money."""
    unit = game.stake_unit or game.unit
    return format_money(amount) if display_unit(unit)[0] == "dollars" else format_number(amount)


def format_pay(payoff: float | None, game: AnyGame) -> str:
    """Format what a seat was paid, without the unit unless the game words it."""
    return game.format_payoff(payoff).removesuffix(f" {game.unit}")
