"""A match in a terminal: how events are printed, and a person at the keyboard."""

from __future__ import annotations

from typing import Any

from negolab import catalog
from negolab.events import Ended, Event, Forfeited, Rejected, Replied
from negolab.fronts import front
from negolab.game import Ask, Invalid, Observation, Seat
from negolab.match import Match

_QUIT = "/quit"


def line(event: Event) -> str | None:
    """An event as the experimenter reads it; None: nothing to say."""
    match event:
        case Replied(seat, reply):
            return f"{seat}: {safe(reply.text)}"
        case Rejected(seat, invalid):
            return f"   {seat} rejected ({', '.join(invalid.codes)}): {invalid.reason}"
        case Forfeited(seat):
            return f"   {seat} forfeits"
        case Ended(end, payoffs, reason):
            why = f" ({reason})" if reason else ""
            return f"{end}{why}: " + ", ".join(f"{seat} {number(payoff)}" for seat, payoff in payoffs.items())
    return None


def safe(text: str) -> str:
    """Words for a terminal: control characters made visible, further lines indented, so that no text can move the
    cursor or pass for an event."""
    shown = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    return shown.replace("\n", "\n     ")


def number(payoff: float | None) -> str:
    """A payoff as one would write it."""
    return "unpaid" if payoff is None else f"{payoff:g}"


def show(events: list[Event]) -> None:
    """Print events as they happen."""
    for event in events:
        if (text := line(event)) is not None:
            print(text, flush=True)


def details(value: Any, indent: str = "") -> list[str]:
    """Plain data as indented lines."""
    if isinstance(value, dict):
        out = []
        for key, inner in value.items():
            small = not isinstance(inner, dict | list) or not inner or len(str(inner)) < 80
            out += [f"{indent}{key}: {inner}"] if small else [f"{indent}{key}:", *details(inner, indent + "  ")]
        return out
    if isinstance(value, list):
        return [text for inner in value for text in details(inner, indent + "- ")]
    return [f"{indent}{value}"]


class Person:
    """A player at the keyboard: prints what the seat may read, and reads its words. A game with a text front of its own
    is read word for word as that front says it."""

    name = "person"

    def __init__(self, match: Match, seat: Seat) -> None:
        self._match, self._seat = match, seat
        self._front = front(match.game, seat)
        self._shown = 0
        self._since: Observation[Any, Any] | None = None

    def reply(self, told: catalog.AnyGame, ask: Ask) -> str:
        if self._front is not None:
            self.catch_up()
        elif ask.rejected and ask.seen is self._since:
            print(_refused(ask, told.retries(self._seat)), flush=True)
        else:
            print(f"\n{told.prompt(ask.seen, self._since)}", flush=True)
        self._since = ask.seen
        words = input(f"[{ask.seen.seat}] > ")
        if words.strip() == _QUIT:
            raise EOFError
        return words.replace("\\n", "\n")

    def catch_up(self) -> None:
        """Print what the front says and was not printed yet."""
        if self._front is not None:
            texts = self._front(self._match.events)
            for text in texts[self._shown :]:
                print(f"\n{text}", flush=True)
            self._shown = len(texts)

    def close(self) -> None:
        """Print the end: the front's own words, or how it ended and what this seat is paid."""
        self.catch_up()
        ended = self._match.ended
        if self._front is None and ended is not None:
            print(f"\n{ended.end}. You get {self._match.game.paid(ended.payoffs[self._seat])}.")


def _refused(ask: Ask, allowed: int | None) -> str:
    left = f" ({ask.retries_left} more may be refused)" if allowed else ""
    invalid: Invalid = ask.rejected[-1]
    return f"   not accepted: {invalid.reason}{left}"
