"""Parsing of replies: messages and proposals. Every step is linear in the length of the text.

A proposal may be written in tagged regions, `Proposal:` lines, a JSON object or plainly; if a reply holds several, they
must all agree, because guessing which one was meant would hide misread bids. Matching ignores case, but only of ASCII
letters; digits are only 0-9; whitespace is Unicode's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from negolab.game import Invalid, InvalidKind
from negolab.games.split.state import EndTalk, Message, Proposal, Units
from negolab.reading import PHRASES, spoken_lines

_RULES = frozenset({"too_long", "over_stock", "no_deal_not_allowed"})
_CLOSED = ("</think>", "</thinking>")
_OPENED = ("<think>", "<thinking>")
_MESSAGE = re.compile(r"<message>|<<message_start>>")
_MESSAGE_END = re.compile(r"</message>|<<message_end>>")
_QUOTE = re.compile(r"\s*+>")
_MAX_REASON = 499
_MARKUP = str.maketrans("*`", "  ")

SELECTION = "<selection>"
"""The word with which a seat ends free talk."""
NO_DEAL = "<no_deal/>"
NO_AGREEMENT = "<no_agreement>"
"""The tag for no deal in games with free talk."""
_NO_AGREEMENT = re.compile(r"<no_agreement(?: ?/)?>", re.ASCII | re.IGNORECASE)


def lower_ascii(text: str) -> str:
    """Lowercase ASCII letters and change nothing else, so that positions stay the same."""
    if text.isascii():
        return text.lower()
    # Bytes lowercase only ASCII letters, and beyond ASCII this is ten times faster than a translation table.
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def refusal(code: str, reason: str) -> Invalid:
    """Return the `Invalid` for a code."""
    kind: InvalidKind = "rule" if code in _RULES else "format"
    return Invalid((code,), reason[:_MAX_REASON], kind)


def strip_reasoning(text: str) -> str | Invalid:
    """Remove reasoning from a reply. Reasoning must never become public, so everything before a closing tag is removed,
    even if it was not opened: chat templates open it for the model."""
    low = lower_ascii(text)
    if "<think" in low or "</think" in low:
        ends = [low.rfind(tag) + len(tag) for tag in _CLOSED if tag in low]
        start = max(ends, default=0)
        if any(low.find(tag, start) >= 0 for tag in _OPENED):
            return refusal("reasoning_open", "Your reasoning is not closed: end it with </think> before you answer.")
        text = text[start:]
    return text.strip()


def read_message(text: str, max_chars: int) -> Message | Invalid:
    """Read the text in the message tag, or the whole reply if there is none."""
    said = strip_reasoning(text)
    if isinstance(said, Invalid):
        return said
    if "<" in said:
        low = lower_ascii(said)
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


def read_free_talk(text: str, max_chars: int) -> Message | EndTalk | Invalid:
    """Read a message, or the tag that ends the talk, which must stand alone."""
    said = strip_reasoning(text)
    if isinstance(said, Invalid):
        return said
    message = read_message(said, max_chars)
    if SELECTION not in lower_ascii(said) or isinstance(message, Invalid):
        return message
    if lower_ascii(message.text.translate(_MARKUP).strip()) == SELECTION:
        return EndTalk()
    reason = f"Your reply holds {SELECTION} and other words: send it alone to end the talk, or a message without it."
    return refusal("contradictory", reason)


def is_sendable(text: str, max_chars: int, *, free: bool = False) -> bool:
    """Return True if the message is read back unchanged; `free` is True for talk that a tag ends."""
    if len(text) > max_chars or text != text.strip():
        return False
    read = read_free_talk if free else read_message
    return "<" not in text or read(f"<message>{text}</message>", max_chars) == Message(text)


# Replies as they were meant.


def fair_talk(text: str, items: tuple[str, ...], *, free: bool) -> str | Invalid:
    """Return the message in a reply, with its tags; the text around it is never delivered.

    Args:
        text: The reply.
        items: Names of the item types; proposals for them have no place in talk.
        free: True if the tag `SELECTION` alone ends the talk.
    """
    said = strip_reasoning(text)
    if isinstance(said, Invalid):
        return said
    before, inside, behind = around_message(said)
    around = "\n".join((*spoken_lines(before), *spoken_lines(behind)))
    if name_table(items).opening.search(lower_ascii(around)):
        return refusal("proposal_in_talk", "Your reply holds a proposal, but now you talk: send a message alone.")
    if inside or not free or lower_ascii(around.translate(_MARKUP)).strip() != SELECTION:
        if not inside or _MESSAGE.search(lower_ascii(around)):
            code = "several_messages" if inside else "message_missing"
            reason = "Write <message>your text</message>: only what is inside is delivered."
            return refusal(code, "Your reply holds several messages: send exactly one." if inside else reason)
        # Beside a message, the tag is a contradiction, which the grammar refuses.
        return f"{inside}{SELECTION}" if free and SELECTION in lower_ascii(around) else inside
    return SELECTION


def around_message(said: str) -> tuple[str, str, str]:
    """Split a reply into what precedes its message, the message with its tags, and what follows it."""
    low, line, at = lower_ascii(said), 0, 0
    for opening in _MESSAGE.finditer(low):
        start = opening.start()
        line, at = low.rfind("\n", at, start) + 1 or line, opening.end()
        if _QUOTE.match(low, line, start) or PHRASES.NOT_SENT.search(low[max(line, start - 80) : start]):
            continue
        end = _MESSAGE_END.search(low, opening.end())
        stop = end.end() if end else len(said)
        return said[: opening.start()], said[opening.start() : stop], said[stop:]
    return said, "", ""


def fair_proposal(text: str, items: tuple[str, ...], *, free: bool) -> str:
    """Return a reply without quoted lines, fences, proposals after a negation, or no deal under a condition.

    Args:
        text: The reply.
        items: Names of the item types.
        free: True if no deal has a second tag, as after free talk.
    """
    kept = "\n".join(spoken_lines(_NO_AGREEMENT.sub(NO_DEAL, text) if free else text))
    low, parts, end = lower_ascii(kept), [], 0
    for opening in name_table(items).opening.finditer(low):
        is_no_deal = opening[0].startswith("<no_deal")
        before, behind = low[max(0, opening.start() - 80) : opening.start()], low[opening.end() : opening.end() + 80]
        is_conditional = PHRASES.CONDITION.match(behind.lstrip(" ,")) or PHRASES.BEHIND_CONDITION.search(before)
        is_inert = PHRASES.NOT_PROPOSED.search(before) or (is_no_deal and is_conditional)
        if opening.start() >= end and is_inert:
            closing = low.find(">", low.find("</", opening.end())) if not is_no_deal else 0
            parts.append(kept[end : opening.start()])
            end = max(closing + 1, opening.end())
    return "".join((*parts, kept[end:]))


# Names of item types.

_TAGS = ("items_to_self", "split", "propose", "proposal")
_WRAPPERS = ("items_to_self", "proposal", "split", "keep")
_NAME = re.compile(r"[a-z]+")


class NameTable(NamedTuple):
    """Names of a game's item types. `types`: index of the type by each form of its name; `opening`: the tags that
    open a proposal; `wrappers`: JSON keys that may hold one."""

    items: tuple[str, ...]
    types: dict[str, int]
    opening: re.Pattern[str]
    wrappers: frozenset[str]


def singular(item: str) -> str:
    """Remove one final "s"."""
    return item.removesuffix("s") or item


def singular_and_plural(item: str) -> tuple[str, str]:
    """Return the name without and with one final "s"."""
    one = singular(item)
    return one, one + "s"


@lru_cache(maxsize=256)
def name_table(items: tuple[Any, ...]) -> NameTable:
    """Build the table for these types; raise `ValueError` if a name is malformed or two of them could be confused."""
    if not items:
        raise ValueError("items must name at least one type, not ()")
    types: dict[str, int] = {}
    for at, item in enumerate(items):
        if not isinstance(item, str) or not _NAME.fullmatch(item) or "and" in singular_and_plural(item):
            raise ValueError(f'items must be words of the letters a-z other than "and", not {item!r}')
        for form in singular_and_plural(item):
            if form in types:
                raise ValueError(
                    f"items must differ in singular and plural: {items[types[form]]!r} and {item!r} do not"
                )
            types[form] = at
    own = (f"{items[0]}_to_self",) if len(items) == 1 else ()
    tags = "|".join((*_TAGS, *own))
    opening = re.compile(rf"<(?P<tag>{tags})>|<<(?P<proposal>proposal)_start>>|<no_deal(?: ?/)?>")
    return NameTable(items, types, opening, frozenset(_WRAPPERS + own))


# Bodies of proposals: a list of units, `<hats>4</hats>` elements, a JSON object, a number, or no deal.

Pairs = list[tuple[str, str]]
"""(name, digits) in the order written; names are not yet checked, and digits not yet converted."""

_ENTRY = re.compile(r"([0-9]++)\s*+([a-z]++)|([a-z]++)\s*+[:=]\s*+([0-9]++)")
_BETWEEN = re.compile(r"(?:[\s,;&]|and(?![a-z]))++")
_ELEMENT = re.compile(r"<([a-z]++)>\s*+([0-9]++)\s*+</\1>")
_GAP = re.compile(r"[\s,]*+")
_DIGITS = re.compile(r"[0-9]++")


def read_body(text: str, table: NameTable, stock: Units, exact: bool) -> Proposal | Invalid:
    """Parse one body as a proposal."""
    text = _trim(text)
    low = lower_ascii(text)
    if low in ("no deal", "no_deal"):
        return Proposal(None) if exact else _refuse_no_deal(table)
    pairs = _parse_pairs(text, low, table)
    return _unreadable(table) if pairs is None else proposal_from_pairs(pairs, table, stock)


def read_list(text: str, table: NameTable, stock: Units) -> Proposal | Invalid:
    """Parse a list such as `4 hats, 6 books`."""
    pairs = _parse_list(lower_ascii(_trim(text)))
    return _unreadable(table) if pairs is None else proposal_from_pairs(pairs, table, stock)


def proposal_from_pairs(pairs: Iterable[tuple[str, str]], table: NameTable, stock: Units) -> Proposal | Invalid:
    """Check pairs and collect units per type: each type at most once, at least one type, the others 0, none above the
    stock."""
    keep: dict[int, int] = {}
    for name, digits in pairs:
        at = table.types.get(name)
        if at is None:
            return refusal("unknown_item", f"There is no such item: name only {_listed(table)}.")
        if at in keep:
            return refusal(
                "repeated_item", f"You name {_shorten(table.items[at])} more than once: name each type once."
            )
        units = _bounded_int(digits, stock[at])
        if units is None:
            item = _shorten(table.items[at])
            return refusal("over_stock", f"Only {stock[at]} {item} can be had: keep from 0 to {stock[at]} {item}.")
        keep[at] = units
    if not keep:
        return _unreadable(table)
    return Proposal(tuple([keep.get(at, 0) for at in range(len(stock))]))


def _bounded_int(digits: str, most: int) -> int | None:
    """Parse a number; None if it is above `most`. Lengths are compared first, because conversion takes time and has
    limits."""
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(most)):
        return None
    number = int(digits)
    return number if number <= most else None


def _trim(text: str) -> str:
    """Strip whitespace, and any periods, commas and semicolons at the end."""
    end = len(text)
    while end and (text[end - 1] in ".,;" or text[end - 1].isspace()):
        end -= 1
    return text[:end].lstrip()


def _parse_pairs(text: str, low: str, table: NameTable) -> Pairs | None:
    if text.startswith("{"):
        return _parse_json(text, table)
    if "<" in text:
        return _parse_elements(low)
    if len(table.items) == 1 and _DIGITS.fullmatch(low):
        return [(table.items[0], low)]
    return _parse_list(low)


def _parse_list(low: str) -> Pairs | None:
    """Parse `4 hats and 6 books` or `hats: 4, books=6`; None for anything else."""
    pairs: Pairs = []
    at = 0
    while entry := _ENTRY.match(low, at):
        digits, name, name_first, digits_last = entry.groups()
        pairs.append((name or name_first, digits or digits_last))
        if entry.end() == len(low):
            return pairs
        between = _BETWEEN.match(low, entry.end())
        if between is None:
            return None
        at = between.end()
    return None


def _parse_elements(low: str) -> Pairs | None:
    """Parse `<hats>4</hats> <books>6</books>`; None for anything else."""
    pairs: Pairs = []
    at = 0
    while entry := _ELEMENT.match(low, at):
        pairs.append((entry[1], entry[2]))
        gap = _GAP.match(low, entry.end())
        assert gap is not None
        at = gap.end()
    return pairs if at == len(low) else None


class _Object(list[tuple[str, Any]]):
    """A JSON object as pairs, so that repeated keys are kept."""


class _Integer(str):
    """The digits of a JSON integer, not converted."""

    __slots__ = ()


def _parse_json(text: str, table: NameTable) -> Pairs | None:
    try:
        found = json.loads(text, object_pairs_hook=_Object, parse_int=_Integer, parse_float=lambda _: None)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, _Object) and len(found) == 1:
        found = _unwrap(found, table)
    if not isinstance(found, _Object):
        return None
    pairs = [(lower_ascii(key.strip()), value) for key, value in found]
    return pairs if all(isinstance(n, _Integer) and n[0] != "-" for _, n in pairs) else None


def _unwrap(found: _Object, table: NameTable) -> Any:
    """Return the value of a key such as `proposal`: an object or, with a single type, its number."""
    ((key, value),) = found
    if lower_ascii(key.strip()) not in table.wrappers:
        return found
    if isinstance(value, _Integer) and len(table.items) == 1:
        return _Object([(table.items[0], value)])
    return value if isinstance(value, _Object) else found


def _unreadable(table: NameTable) -> Invalid:
    return refusal("unreadable", f"Your proposal cannot be read: write it as {_example_form(table)}.")


def _refuse_no_deal(table: NameTable) -> Invalid:
    return refusal(
        "no_deal_not_allowed", f"No deal is not possible here: write what you keep as {_example_form(table)}."
    )


def _example_form(table: NameTable) -> str:
    first = _shorten(table.items[0])
    if len(table.items) == 1:
        return f"<{first}_to_self>n</{first}_to_self>"
    more = ", ..." if len(table.items) > 2 else ""
    return f"<items_to_self>n {first}, n {_shorten(table.items[1])}{more}</items_to_self>"


def _listed(table: NameTable) -> str:
    return ", ".join(_shorten(item) for item in table.items[:8]) + (", ..." if len(table.items) > 8 else "")


def _shorten(item: str) -> str:
    """Shorten a very long name, because reasons are short."""
    return item if len(item) <= 40 else item[:37] + "..."


# Proposals in replies.

_LABEL = re.compile(r"proposal[ \t]*+:")
_LINE_END = re.compile(r"[\r\n]")
_LEAD_IN = re.compile(r"(?:i(?:['’]ll|\s++will)?+\s++)?(?:keep|take|want|ask\s++for)(?!\w)\s*+:?+")
_MAX_CACHED = 160
"""Largest reply whose parse is cached: the same few short replies recur within and across matches."""


def read_proposal(text: str, items: tuple[str, ...], stock: Units, exact: bool) -> Proposal | Invalid:
    """Parse the proposal in a reply, legal for this stock; no deal is legal only under the exact rule."""
    return (_read_cached if len(text) <= _MAX_CACHED else _read)(text, items, stock, exact)


def read_free_proposal(text: str, items: tuple[str, ...], stock: Units, exact: bool) -> Proposal | Invalid:
    """Parse a proposal after free talk, where a second tag also means "no deal"."""
    return read_proposal(_NO_AGREEMENT.sub(NO_DEAL, text), items, stock, exact)


def write_proposal(items: tuple[str, ...], keep: Sequence[object] | None, *, free: bool = False) -> str:
    """Write a proposal; `read_proposal`, or after `free` talk `read_free_proposal`, reads it back."""
    if keep is None:
        return NO_AGREEMENT if free else NO_DEAL
    if len(items) == 1:
        return f"<{items[0]}_to_self>{keep[0]}</{items[0]}_to_self>"
    listed = ", ".join([f"{units} {item}" for item, units in zip(items, keep, strict=True)])
    return f"<items_to_self>{listed}</items_to_self>"


def _read(text: str, items: tuple[str, ...], stock: Units, exact: bool) -> Proposal | Invalid:
    reply = strip_reasoning(text)
    if isinstance(reply, Invalid):
        return reply
    table = name_table(items)
    first: Proposal | None = None
    for body in _find_bodies(reply.translate(_MARKUP).strip(), table):
        found = read_body(body, table, stock, exact)
        if isinstance(found, Invalid):
            return found
        if first is not None and found != first:
            return refusal("contradictory", "Your reply holds different proposals: send exactly one.")
        first = found
    assert first is not None
    return first


_read_cached = lru_cache(maxsize=8192)(_read)


def _find_bodies(text: str, table: NameTable) -> Iterator[str]:
    """Iterate over at least one body, in the first form that applies; lazily, because parsing stops at the first
    fault."""
    low = lower_ascii(text)
    for ways in (_tagged_bodies(text, low, table), _labelled_bodies(text, low)):
        found = next(ways, None)
        if found is not None:
            return chain((found,), ways)
    return iter((_json_part(text) if "{" in text else text[_lead_in_length(low) :],))


def _tagged_bodies(text: str, low: str, table: NameTable) -> Iterator[str]:
    """Yield the contents of proposal tags; one that is not closed runs to the end."""
    at = 0
    while opened := table.opening.search(low, at):
        tag, proposal = opened.group("tag", "proposal")
        if tag is None and proposal is None:
            at = opened.end()
            yield "no deal"
            continue
        close = f"</{tag}>" if tag else "<<proposal_end>>"
        end = low.find(close, opened.end())
        yield text[opened.end() : end if end >= 0 else len(text)]
        if end < 0:
            return
        at = end + len(close)


def _labelled_bodies(text: str, low: str) -> Iterator[str]:
    """Yield what follows each `Proposal:` on its line."""
    for label in _LABEL.finditer(low):
        before = low[label.start() - 1 : label.start()]
        if not (before.isalpha() or before == "_"):
            end = _LINE_END.search(text, label.end())
            yield text[label.end() : end.start() if end else len(text)]


def _json_part(text: str) -> str:
    first, last = text.find("{"), text.rfind("}")
    return text[first : last + 1] if last > first else text[first:]


def _lead_in_length(low: str) -> int:
    """Return the length of words such as `I'll take:` at the start of a plain reply."""
    lead = _LEAD_IN.match(low)
    return lead.end() if lead else 0
