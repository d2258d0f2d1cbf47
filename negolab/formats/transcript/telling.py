"""A match as rows: what the game master told whom, and what came back. Any game's record, or one seat's view of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from negolab.catalog import AnyGame
from negolab.events import Ended, Forfeited, Rejected, Replied, Stepped
from negolab.game import SEATS, End, Invalid, Observation, Reply, Seat, observe
from negolab.record import Closing, Fold, Record, View, start

Who = Literal["A", "B", "GM"]
Seen = Observation[Any, Any]
Prompt = Callable[[Seen, Seen | None], str]
Reason = Callable[[Invalid], str]

CLOSING: dict[End, str] = {
    "AGREED": "game successful",
    "ABORTED": "abort",
    "FORFEIT": "None",
    "NO_DEAL": "no deal",
    "OUT_OF_TIME": "out of time",
}
"""The master's note to itself at the end, as clembench words it; `None` is its word for a lost match."""

PLAIN: dict[End, str] = {
    "AGREED": "The match ended with a deal.",
    "ABORTED": "The match was broken off.",
    "FORFEIT": "The match ended by forfeit.",
    "NO_DEAL": "The match ended without a deal.",
    "OUT_OF_TIME": "The match ran out of time, without a deal.",
}
"""The same for readers."""


class Row(msgspec.Struct, frozen=True):
    """One line of a transcript."""

    sender: Who
    receiver: Who
    text: str
    codes: tuple[str, ...] = ()
    """What was wrong with it; () for what was accepted, or said by the master."""
    reason: str = ""
    """Why it was refused, if no later row tells its author."""
    refusal: bool = False
    """The master says why it refused the row before."""
    forfeit: bool = False
    """With it its author used up the allowance of refused replies; what that costs is for the rules to say."""
    taken: str = ""
    """How long the reply took and how many tokens, where that is known."""

    @property
    def cell(self) -> str:
        """Its direction: `GM>A`, `A>GM`, `GM>B`, `B>GM` or `GM|GM`."""
        return "GM|GM" if self.sender == self.receiver else f"{self.sender}>{self.receiver}"

    @property
    def way(self) -> str:
        """Its direction in words."""
        sender, receiver = (who.replace("GM", "master") for who in (self.sender, self.receiver))
        return sender if sender == receiver else f"{sender} → {receiver}"

    @property
    def flags(self) -> tuple[str, ...]:
        """What is to be noticed about it: refused and for what, a refusal, a forfeit."""
        refused = f"not accepted ({', '.join(self.codes)})" if self.codes else ""
        flags = (refused, "why it was not accepted" if self.refusal else "", "forfeit" if self.forfeit else "")
        return tuple(filter(None, flags))


def taken(reply: Reply) -> str:
    """`2.1 s, 812 + 96 tokens` (read and written), or as much of it as is recorded."""
    parts = []
    if reply.asked_at is not None and reply.answered_at is not None:
        parts.append(f"{max(0.0, reply.answered_at - reply.asked_at):.1f} s")
    usage = reply.usage or {}
    names = ("input", "output") if "input" in usage or "output" in usage else ("prompt_tokens", "completion_tokens")
    read_and_written = [usage.get(name) for name in names]
    tokens = " + ".join(str(n) for n in read_and_written if n is not None) or usage.get("total_tokens")
    return ", ".join([*parts, f"{tokens} tokens"] if tokens else parts)


def rows(source: Record | View, *, prompt: Prompt | None = None, reason: Reason | None = None) -> list[Row]:
    """The rows of a whole match, or of what one seat was told and said.

    `prompt` and `reason` replace the game's own words, for a match that was played with others.
    """
    if isinstance(source, View):
        return _of_view(source, prompt, reason)
    return _of_record(source, prompt, reason)


def messages(source: Record | View) -> list[Row]:
    """The rows as one reads them: the end is told once, in plain words."""
    listed = rows(source)
    notes = [row for row in listed if row.sender == row.receiver]
    ends = [words for end, words in PLAIN.items() if any(note.text == CLOSING[end] for note in notes)]
    return [row for row in listed if row not in notes] + [Row("GM", "GM", words) for words in ends]


class _Telling:
    """Writes the rows of one game: before each reply, what its author had been told since the last."""

    def __init__(self, games: dict[Seat, AnyGame], prompt: Prompt | None, reason: Reason | None) -> None:
        self.rows: list[Row] = []
        self._prompt = prompt or (lambda seen, since: games[seen.seat].prompt(seen, since))
        self._reason = reason or (lambda invalid: invalid.reason)
        self._since: dict[Seat, Seen] = {}
        self._said: dict[Seat, int] = {}
        self._rejected: dict[Seat, Invalid] = {}

    def reply(self, seen: Seen, reply: Reply) -> None:
        seat = seen.seat
        rejected = self._rejected.pop(seat, None)
        if rejected is None:
            self.rows.append(Row("GM", seat, self._prompt(seen, self._since.get(seat))))
        else:
            self._mark(seat, reason="")
            self.rows.append(Row("GM", seat, self._reason(rejected), refusal=True))
        self._since[seat] = seen
        self._said[seat] = len(self.rows)
        self.rows.append(Row(seat, "GM", reply.text, taken=taken(reply)))

    def reject(self, seen: Seen, rejected: Rejected) -> None:
        if rejected.wordless:
            codes = f"(no words: {', '.join(rejected.invalid.codes)})"
            self.reply(seen, Reply(rejected.said.text or codes) if rejected.said else Reply(codes))
        self._rejected[seen.seat] = rejected.invalid
        self._mark(seen.seat, codes=rejected.invalid.codes, reason=self._reason(rejected.invalid))

    def forfeit(self, seat: Seat) -> None:
        self._mark(seat, forfeit=True)

    def _mark(self, seat: Seat, **changes: Any) -> None:
        """Change the row of what this seat said last."""
        at = self._said[seat]
        self.rows[at] = msgspec.structs.replace(self.rows[at], **changes)

    def move_on(self, *seats: Seat) -> None:
        """The rejections of these seats are history."""
        for seat in seats:
            self._rejected.pop(seat, None)

    def end(self, end: End) -> None:
        self.rows += (Row("GM", "GM", CLOSING[end]), Row("GM", "GM", "end game"))


def _of_record(record: Record, prompt: Prompt | None, reason: Reason | None) -> list[Row]:
    game = record.game
    fold = Fold(game, start(record))
    telling = _Telling({seat: game.told(seat) for seat in SEATS}, prompt, reason)
    for event in record.events:
        before = fold.state.public
        match event:
            case Replied(seat, reply):
                telling.reply(observe(fold.state, seat), reply)
            case Rejected(seat):
                telling.reject(observe(fold.state, seat), event)
            case Forfeited(seat):
                telling.forfeit(seat)
            case Ended(end):
                telling.end(end)
        after = fold.apply(event).public
        if isinstance(event, Stepped):
            telling.move_on(*SEATS)
        elif isinstance(event, Forfeited) and after != before:
            telling.move_on(event.seat)
    return telling.rows


def _of_view(view: View, prompt: Prompt | None, reason: Reason | None) -> list[Row]:
    telling = _Telling({view.seat: view.told}, prompt, reason)
    seen: Seen | None = None
    for entry in view.entries:
        match entry:
            case Observation():
                if seen is not None and seen.public != entry.public:
                    telling.move_on(view.seat)
                seen = entry
            case Replied(_, reply) if seen is not None:
                telling.reply(seen, reply)
            case Rejected() if seen is not None:
                telling.reject(seen, entry)
            case Forfeited(seat):
                telling.forfeit(seat)
            case Closing(end):
                telling.end(end)
    return telling.rows
