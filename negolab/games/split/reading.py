"""Reading replies: what both phases share, and messages. Every step is linear in the length of the text.

Letters are matched without case, but only the ASCII ones; digits are 0-9 alone; whitespace is Unicode's.
"""

from __future__ import annotations

import re

from negolab.game import Invalid, Kind
from negolab.games.split.position import Message

_RULES = frozenset({"too_long", "over_stock", "no_deal_not_allowed"})
_CLOSED = ("</think>", "</thinking>")
_OPENED = ("<think>", "<thinking>")
_MESSAGE = re.compile(r"<message>|<<message_start>>")
_MESSAGE_END = re.compile(r"</message>|<<message_end>>")
_LONGEST_REASON = 499


def fold(text: str) -> str:
    """The text with ASCII letters in lower case and nothing else changed, so that positions stay."""
    if text.isascii():
        return text.lower()
    # Bytes know only ASCII letters, and beyond ASCII this is ten times faster than a translation table.
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def refusal(code: str, reason: str) -> Invalid:
    """An `Invalid` with one of the game's codes."""
    kind: Kind = "rule" if code in _RULES else "format"
    return Invalid((code,), reason[:_LONGEST_REASON], kind)


def spoken(text: str) -> str | Invalid:
    """The reply without its reasoning, stripped. Reasoning must never become public, so whatever stands before a
    closing tag goes, opened or not: chat templates open it for the model."""
    low = fold(text)
    if "<think" in low or "</think" in low:
        ends = [low.rfind(tag) + len(tag) for tag in _CLOSED if tag in low]
        start = max(ends, default=0)
        if any(low.find(tag, start) >= 0 for tag in _OPENED):
            return refusal("reasoning_open", "Your reasoning is not closed: end it with </think> before you answer.")
        text = text[start:]
    return text.strip()


def read_message(text: str, max_chars: int) -> Message | Invalid:
    """The text in the message tag, or without one the whole reply."""
    said = spoken(text)
    if isinstance(said, Invalid):
        return said
    if "<" in said:
        low = fold(said)
        openings = [tag.end() for tag in _MESSAGE.finditer(low)]
        if len(openings) > 1:
            return refusal("several_messages", "Your reply holds several messages: send exactly one.")
        start = openings[0] if openings else 0
        end = _MESSAGE_END.search(low, start)
        said = said[start : end.start() if end else len(said)].strip()
    if len(said) > max_chars:
        reason = f"Your message has {len(said)} characters and at most {max_chars} are allowed: shorten it."
        return refusal("too_long", reason)
    return Message(said)


def is_sendable(text: str, max_chars: int) -> bool:
    """Whether a message written by a program would be read back as it is."""
    if len(text) > max_chars or text != text.strip():
        return False
    return "<" not in text or read_message(f"<message>{text}</message>", max_chars) == Message(text)
