"""A match as rows of a transcript: the game master's prompts and the replies, from a record or one seat's view."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any, Literal

import msgspec

from negolab.catalog import AnyGame
from negolab.events import Ended, Forfeited, Rejected, Replied, Stepped
from negolab.formatting import format_end
from negolab.game import SEATS, End, Invalid, Observation, Reply, Seat, Seen, observe
from negolab.record import Record, SeatOutcome, SeatRecord, start_state, states

Who = Literal["A", "B", "GM"]

CLOSING: dict[End, str] = {
    "AGREED": "game successful",
    "ABORTED": "abort",
    "FORFEIT": "None",
    "NO_DEAL": "no deal",
    "OUT_OF_TIME": "out of time",
}
"""The game master's closing note, in clembench's words; `None` is clembench's word for a lost match."""


class Row(msgspec.Struct, frozen=True):
    """One message of a transcript."""

    sender: Who
    receiver: Who
    text: str
    codes: tuple[str, ...] = ()
    """Codes of its rejection; () for accepted replies and the game master's messages."""
    reason: str = ""
    """Reason for its rejection, if no later row tells the author."""
    refusal: bool = False
    """True for the game master's answer that rejects the previous row."""
    forfeit: bool = False
    """True if its author used up the allowance of rejected replies; the rules decide what follows."""
    remark: str = ""
    """The message's effect beyond its words."""
    taken: str = ""
    """Seconds and tokens that the reply took, if known."""

    @property
    def cell(self) -> str:
        """Direction: `GM>A`, `A>GM`, `GM>B`, `B>GM` or `GM|GM`."""
        return "GM|GM" if self.sender == self.receiver else f"{self.sender}>{self.receiver}"

    @property
    def way(self) -> str:
        """Direction in words, such as `master → A`."""
        sender, receiver = (who.replace("GM", "master") for who in (self.sender, self.receiver))
        return sender if sender == receiver else f"{sender} → {receiver}"

    @property
    def flags(self) -> tuple[str, ...]:
        """Marks in words: not accepted and why, the game master's rejection, a forfeit."""
        refused = f"not accepted ({', '.join(self.codes)})" if self.codes else ""
        flags = (
            refused,
            "why it was not accepted" if self.refusal else "",
            "forfeit" if self.forfeit else "",
            self.remark,
        )
        return tuple(filter(None, flags))


def usage_notes(reply: Reply) -> str:
    """Format a reply's time and tokens (read + written), as in `2.1 s, 812 + 96 tokens`, as far as recorded."""
    parts = []
    if reply.asked_at is not None and reply.answered_at is not None:
        parts.append(f"{max(0.0, reply.answered_at - reply.asked_at):.1f} s")
    usage = reply.usage or {}
    names = ("input", "output") if "input" in usage or "output" in usage else ("prompt_tokens", "completion_tokens")
    read_and_written = [usage.get(name) for name in names]
    tokens = " + ".join(str(n) for n in read_and_written if n is not None) or usage.get("total_tokens")
    return ", ".join([*parts, f"{tokens} tokens"] if tokens else parts)


def rows(source: Record | SeatRecord) -> list[Row]:
    """Return the rows of a whole match, or of one seat's side of it."""
    return _of_view(source) if isinstance(source, SeatRecord) else _of_record(source)


def messages(source: Record | SeatRecord) -> list[Row]:
    """Return the rows for readers: the closing notes are replaced with one in plain words, and rules told to both seats
    in the same words are shown only with the first."""
    listed = _with_rules_once(rows(source))
    notes = [row for row in listed if row.sender == row.receiver]
    ends = [end for end, words in CLOSING.items() if any(note.text == words for note in notes)]
    closing = [Row("GM", "GM", f"The match is over: {format_end(end)}.") for end in ends]
    return [row for row in listed if row not in notes] + closing


_RULES = 120
"""Least number of characters for words told to both seats to be printed only once."""


def _with_rules_once(listed: list[Row]) -> list[Row]:
    """Shorten the first message to the second seat by what is already in the first message to the other."""
    firsts = {row.receiver: at for at, row in reversed(list(enumerate(listed))) if row.way.startswith("master →")}
    if len(firsts) < len(SEATS):
        return listed
    first, second = sorted(firsts.values())
    told = {line for line in listed[first].text.splitlines() if line.strip()}
    lines: list[str] = []
    for is_told, group in groupby(listed[second].text.splitlines(), key=lambda line: line in told or not line.strip()):
        run = list(group)
        again = is_told and sum(map(len, run)) >= _RULES
        lines += ["", f"(The same words as to {listed[first].receiver} above.)", ""] if again else run
    shortened = msgspec.structs.replace(listed[second], text="\n".join(lines).strip())
    return [*listed[:second], shortened, *listed[second + 1 :]]


class _RowBuilder:
    """Builder of the rows: before each reply comes the prompt with everything new to its author since the last one."""

    def __init__(self, told: dict[Seat, AnyGame]) -> None:
        self.rows: list[Row] = []
        self._told = told
        self._since: dict[Seat, Seen] = {}
        self._said: dict[Seat, int] = {}
        self._rejected: dict[Seat, Invalid] = {}

    def reply(self, seen: Seen, reply: Reply) -> None:
        """Add the reply, after the prompt or the reason for rejection that it answers."""
        seat = seen.seat
        rejected = self._rejected.pop(seat, None)
        if rejected is None:
            self.rows.append(Row("GM", seat, self._told[seat].prompt(seen, self._since.get(seat))))
        else:
            self.mark(seat, reason="")
            self.rows.append(Row("GM", seat, rejected.reason, refusal=True))
        self._since[seat] = seen
        self._said[seat] = len(self.rows)
        self.rows.append(Row(seat, "GM", reply.text, taken=usage_notes(reply)))

    def reject(self, seen: Seen, rejected: Rejected) -> None:
        """Mark the reply as rejected; a wordless reply gets its own row first."""
        if rejected.wordless:
            codes = f"(no words: {', '.join(rejected.invalid.codes)})"
            self.reply(seen, Reply(rejected.said.text or codes) if rejected.said else Reply(codes))
        self._rejected[seen.seat] = rejected.invalid
        self.mark(seen.seat, codes=rejected.invalid.codes, reason=rejected.invalid.reason)

    def mark(self, seat: Seat, **changes: Any) -> None:
        """Change the row of this seat's last reply."""
        at = self._said[seat]
        self.rows[at] = msgspec.structs.replace(self.rows[at], **changes)

    def move_on(self, *seats: Seat) -> None:
        """Drop the pending rejections of these seats: their next row is a prompt, not a reason."""
        for seat in seats:
            self._rejected.pop(seat, None)

    def end(self, end: End) -> None:
        self.rows += (Row("GM", "GM", CLOSING[end]), Row("GM", "GM", "end game"))


def _of_record(record: Record) -> list[Row]:
    game = record.game
    telling = _RowBuilder({seat: game.told(seat) for seat in SEATS})
    for event, (before, state) in zip(record.events, pairwise((start_state(record), *states(record))), strict=True):
        match event:
            case Replied(seat, reply):
                telling.reply(observe(before, seat), reply)
            case Rejected(seat):
                telling.reject(observe(before, seat), event)
            case Forfeited(seat):
                telling.mark(seat, forfeit=True)
            case Ended(end):
                telling.end(end)
        if isinstance(event, Stepped):
            telling.move_on(*SEATS)
            for seat in event.seats:
                telling.mark(seat, remark=game.describe_effect(state.public))
        elif isinstance(event, Forfeited) and state.public != before.public:
            telling.move_on(event.seat)
    return telling.rows


def _of_view(view: SeatRecord) -> list[Row]:
    telling = _RowBuilder({view.seat: view.told})
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
                telling.mark(seat, forfeit=True)
            case SeatOutcome(end):
                telling.end(end)
    return telling.rows
