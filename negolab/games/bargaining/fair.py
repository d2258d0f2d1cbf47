"""What a reply means as its author meant it (`reading = "fair"`), on top of the grammar of `reading.py`.

An acceptance word accepts only where it stands as an answer, and only the number that is meant is a price. What says
so is data below: whoever finds a sentence that is read wrong adds a word and a test. Every step is linear in the text.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from negolab.games.bargaining.lexer import (
    MAX_NORMALISED,
    MAX_RAW,
    has_digit,
    is_negated,
    is_vetoed,
    normalise,
    without_thanks,
    words_of,
)
from negolab.games.bargaining.reading import Grammar, is_rejection, read_offer
from negolab.games.bargaining.state import Accept, Action, Reject
from negolab.reading import LATER, RUNS_ON, spoken_lines, straight, without_reasoning


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


COURTESY = _set(
    "ok okay well great good fine sure alright excellent perfect wonderful fantastic cool oh ah and so then now yeah "
    "yep absolutely definitely certainly gladly happily agreed done sold thanks please sir madam friend"
)
_UNITS = _set("usd dollar dollars buck bucks")
THING = (
    "(?:it|(?:(?:the|this|that|your|ur|his|her|their|seller's|buyer's) )?"
    "(?:(?:last|latest|final|current|standing|new|recent|most|generous|fair|kind|revised|counter) )*"
    "(?:offer|price|proposal|counteroffer|counter-offer|bid|amount|terms|number|figure|one|deal)|this|that|your|the)"
)
_END = (
    "(?: (?:for (?:it|(?:the|this|your) (?:item|mug))|as (?:the|a|our) (?:final )?(?:price|deal)"
    "|of|at|for|on|as is|as it is|as it stands|as offered|as proposed|with pleasure|with|in full|today"
    "|right away))*+(?: (?:look forward|appreciate|(?:am|are) (?:glad|happy|pleased|delighted)).*)?$"
)
"""END; of "with thanks" only "with" is left beside the courtesies."""
DEAL = re.compile(
    "(?:(?:a )?deal|(?:let's )?call it a deal|(?:we|you) have (?:got )?a deal"
    "|(?:we've|you've) (?:got )?(?:yourself )?a deal|(?:it is|it's|that is|that's) a deal)"
    f"(?: (?:at|for|on)(?: {THING})?)?|deal (?:it is|accepted)"
    "|(?:i|we|i'll|we'll|i will|we will) (?:take|accept|agree to) (?:the|this|that|your) deal"
)
_SAID_OF = (
    "suppose supposing imagine pretend assume assuming say says said think thinks claim claims believe believes moment "
    "day time second minute that like will can do shall"
)
"""Words before `I accept` that only speak of it."""
_MODAL = "(?:will|can|do|shall|hereby|therefore)"
_SELF = "(?:i|we|i'll|we'll|i'm|we're|i'd|we'd|i've|we've)"
ANSWER = re.compile(
    rf"(?:^(?:{_MODAL} )++|(?<!\S)(?:i|we|i'll|we'll) (?:{_MODAL} )*+"
    rf"|(?:^|(?<!\S){_SELF} (?:(?!you|he |she |they)[\w'-]+ ){{0,6}}?)"
    r"(?:happy|glad|pleased|ready|willing|prepared|delighted|decided|going|like|love|agree|choose|chosen|opt) to )"
    rf"accept(?: {THING})?{_END}"
)
"""`I accept` and its like; not "nobody will accept", so that a modal stands behind one's own self or nothing."""
SPOKEN_OF = re.compile(rf"(?<!i )\b(?:{'|'.join(_SAID_OF.split())}) (?:i|we)\b.* accept\b")
COMMAND = re.compile(rf"accept(?: {THING})?{_END}")
_LABEL = r"(?:(?:my|our|the|final) )*(?:offer|counteroffer|counter-offer|price|response|action|answer|decision"
EASY = re.compile(
    rf"{_LABEL}|reply)(?: is)?|(?:i|we|my|our|it|this|that) (?:.* )?(?:profit|gains?|surplus|payoff|earns?)(?: .*)?"
    f"|to(?: {THING})?|(?:i'm|i am|we're|we are) (?:happy|fine|good|ok|okay) with (?:it|that|this)"
    "|(?:i|we) agree|i do|i will|i'll take (?:it|that)|(?:(?:that|it) )?works(?: (?:for )?(?:me|us))?"
    "|sounds (?:good|fair|great|fine)|let's do (?:it|this|that)|fair enough"
    "|(?:(?:(?:that|this|it) )?is |that's |this's |it's )?(?:a )?"
    "(?:(?:fair|good|great|fine|ok|okay|acceptable|reasonable)(?: (?:price|offer|deal))?|price|offer|deal)"
    "(?: (?:for|by|with) (?:me|us))?"
    "|(?:(?:it has been|it was|it is|it's|it's been) )?(?:a )?"
    "(?:thank you|thanks|nice|pleasure|great|good|looking forward)"
    r"(?! (?:\w+ )?(?:try|luck|joke|grief|question|point)\b)(?: .*)?"
)
LABEL = re.compile(rf"\W*{_LABEL})\b(?: is\b)?[\s:,=]*")
_DECIDING = re.compile(r"\b(?:answer|decision)\b")
BARE = _set("i we my our your the this that offer price at of for is to pay dollars final")
REASON = re.compile(r"\W*(?:reason|reasoning|because|explanation)\b")
TOLD = _set("profit gain earn earns surplus payoff value valuation cost worth budget midpoint")
ABOUT_STANDING = _set("too high low you your")
"""Beside NEGATION: in a clause with one of these, the standing price is only spoken of."""
ROUND = re.compile(r"((?:\b(?:round|turn|step)|#) ?)\d{1,4}(?: ?(?:of|/) ?\d{1,4})?(?![.,]?\d|\w)")
THREE_DECIMALS = re.compile(r"\d\.\d{3}")
_GIVES = "gives|leaves|earns|giving|leaving|earning"
GIVES_ME = re.compile(
    rf"(?:,(?: which)?| (?:because|since|as) (?:it|this|that))(?: still)? (?=(?:{_GIVES}) (?:me|us)\b)"
)
_PROFIT = "(?:profit|gain|surplus|payoff|earns?)"
_NUMBER = r"[$€£]? ?(?<![\d.,])\d++(?:[.,]\d++)*+(?: ?(?:usd|dollars?|bucks?))?"
AS_PROFIT = re.compile(
    rf"(?:\b{_PROFIT}(?: (?:of|is|a|me))* |\b(?:{_GIVES}) (?:me|us) ){_NUMBER}"
    rf"|{_NUMBER}(?: (?:of|is|a|me))* {_PROFIT}\b"
)
HARMLESS = re.compile(
    r"\bafter (?:(?:careful|much|some|due|further|long) )*+(?:consideration|thought|deliberation|review)\b"
    r"|\bbest (?:regards|wishes)\b|\bwould (?=(?:like|love|be happy|be glad) to accept\b)"
)
"""What holds a word that takes back, and takes nothing back."""
VETO = _set(
    "false or nobody sadly unfortunately regrettably alas afraid condition conditions conditional subject included "
    "plus free shipping delivery off tomorrow dreams kidding joking psych"
)
"""Words that take an acceptance back beside those of the literal reading."""
PUT_OFF = re.compile(
    rf"{LATER.pattern}|^\W*(?:please )?(?:add|throw|sweeten|include|raise|send|put|promise|pay|bring|toss|increase"
    r"|double|change|swap|come|meet|knock|cut)\b"
)
"""In a sentence with an acceptance: it is for later, or for something that the other does first."""
ASKED = re.compile(r"\b(?:you|u|they|please) (?:(?!i\b)[\w'-]+ )?accept\b")
DENIED_BEHIND = re.compile(r"\b(?:accept|deal|yes)[\s:=]*(?:no|false)\b")

_MESSAGE = re.compile(r"(?im)^[ \t]*+[*_]++message[*_]*+:[*_]*+")
_EMPHASIS = re.compile(r'(?<![^\W_])[*_`"]+|[*_`"]+(?![^\W_])|\\(?=[\[\]])')
_PLAIN_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_BULLET = re.compile(r"\s*(?:[-*\u2022]\s+|#+\s+)")
_NUMBERED = re.compile(r"\s*(\d{1,4})[.)]\s+")
_SOFT = re.compile(r"\.{2,}|[\u2026\u2014\u2015]| - |(?:--+|\u2013)(?!-?\s*[\d$€£.])|(?<=\s)\u2013(?=\s)")
_NEW_CLAUSE = re.compile(r" (?=but\b|(?:so|and|then|therefore) (?:i|we)\b)")
_CLAUSE = re.compile(r"((?<!\d),|,(?!\d)|\.(?!\d)|[;:!?])")
_SENTENCE = re.compile(r"(?<=[!?;])|(?<=\.)(?!\d)")
_ALONE = re.compile(r"\W*(?:i(?:'ll| will)? )?(?:accept|deal|yes)\W*")
_LEFT_OPEN = re.compile(r"\b(?:i|we|i'll|we'll|and|will|can|do|shall|hereby|therefore)\W*$")


_REJECTING = _set("reject no deal walk away")
_NO_OFFER = ("several_prices", "malformed_number", "out_of_range")
_ACCEPT, _REJECT = Accept(), Reject()


class Heard(NamedTuple):
    """What a text is read against: the grammar, and what may be answered."""

    rules: Grammar
    stands: bool
    last: bool
    asked: int | None


class Line(NamedTuple):
    """A normalised line, and whether its sentence goes on in the next one."""

    text: str
    goes_on: bool


def said(text: str) -> str | None:
    """Return what a reply says without reasoning, fences and quoted lines; None if its reasoning is left open."""
    rest = without_reasoning("\n".join(spoken_lines(text)))
    return None if rest is None else _MESSAGE.sub("MESSAGE:", "\n".join(spoken_lines(rest)))


def read_fairly(text: str, rules: Grammar, stands: bool, last: bool, asked: int | None) -> Action | str:
    """Parse what was `said` as `read_reply` parses a text."""
    heard = Heard(rules, stands, last, asked)
    if len(text) > MAX_RAW:
        return "too_long"
    answer = _read_object(text, heard)
    if answer is not None:
        return answer
    lines = _lines(text)
    plain = " ".join(line.text if line.goes_on or line.text[-1] in ".!?;" else f"{line.text} ." for line in lines)
    if len(plain) > MAX_NORMALISED:
        return "too_long"
    return _deciding_line(lines, heard) or _read_plain(plain, heard)


# Lines.


def _lines(text: str) -> list[Line]:
    """Return the lines that are not empty, without marks of lists and emphasis."""
    lines: list[Line] = []
    raw = _unmarked(straight(text).split("\n"))
    for line, after in zip(raw, [*raw[1:], ""], strict=True):
        plain = normalise(_SOFT.sub(" , ", line).replace("\u3002", ". "))
        if plain is None:  # The text is too long as a whole.
            plain = "x" * (MAX_NORMALISED + 1)
        if plain := " ".join(plain.split()):
            plain = ROUND.sub(r"\1", GIVES_ME.sub(". ", _NEW_CLAUSE.sub(", ", plain)))
            lines.append(Line(plain, bool(line and after) and _goes_on(line, after)))
    return lines


def _unmarked(lines: list[str]) -> list[str]:
    """Drop marks of lists and emphasis; numbers are marks of a list if they count up from 1."""
    plain: list[str] = []
    counts = [int(mark[1]) for line in lines if (mark := _NUMBERED.match(line))][:2] == [1, 2]
    count = 0
    for line in lines:
        mark = _BULLET.match(line)
        if counts and (number := _NUMBERED.match(line)) and int(number[1]) in (1, count + 1):
            mark, count = number, int(number[1])
        plain.append(_EMPHASIS.sub(" ", line[mark.end() if mark else 0 :]).strip())
    return plain


def _goes_on(line: str, after: str) -> bool:
    if _ALONE.fullmatch(after.lower()):
        end = line[-80:].lower()
        return bool(RUNS_ON.search(end) or _LEFT_OPEN.search(end))
    return (line[-1].isalnum() or line[-1] in ",:") and (after[0].islower() or after[0].isdigit() or after[0] == "[")


def _deciding_line(lines: list[Line], heard: Heard) -> Action | None:
    """Return the decision of a bare line that decides, if there is one."""
    bare = {at: found for at, line in enumerate(lines) if (found := _bare(line.text, heard))}
    decisions = {action for action, _ in bare.values()}
    if len(decisions) != 1:
        return None
    (decision,) = decisions
    others = [line.text for at, line in enumerate(lines) if at not in bare]
    if all(REASON.match(line) for line in others):
        return decision
    label = bare.get(len(lines) - 1, (decision, None))[1]
    is_deciding = label is not None and _DECIDING.search(label) is not None
    if not any(has_digit(lines[at].text) for at in bare) or decision == _ACCEPT:
        return decision if is_deciding else None
    decides = any(_DECIDING.search(label) for _, label in bare.values()) or (
        label is not None and (label != "" or not lines[-2].goes_on)
    )
    return decision if decides and not any(accepts(line, heard.rules) for line in others) else None


def _bare(line: str, heard: Heard) -> tuple[Action, str] | None:
    """Return the decision of a line that holds nothing else, and its label."""
    found = LABEL.match(line)
    rest = line[found.end() :] if found else line
    if not BARE.union(heard.rules.acceptances, _REJECTING).issuperset(words_of(rest)):
        return None
    decision = _read_plain(rest, heard, last_word=False)
    return None if isinstance(decision, str) else (decision, found[0] if found else "")


# The text as a whole.


def _read_plain(plain: str, heard: Heard, *, last_word: bool = True) -> Action | str:
    rules, words, digit = heard.rules, words_of(plain), has_digit(plain)
    if heard.stands and not digit and "?" not in plain and is_rejection(words, rules, heard.last):
        return _REJECT
    is_a = words == ["a"] and not digit
    hit = is_a or not rules.acceptances.isdisjoint(words)
    if hit:
        accepted = is_a or accepts(plain, rules)
        if (accepted and _numbers_fit(plain, heard)) or (last_word and _last_sentence_accepts(plain, heard)):
            return _ACCEPT if heard.stands else "nothing_to_accept"
        if digit and (accepted or not _is_left_to_other(plain, rules)):
            return "ambiguous_accept_and_number"
    meant = _without_told(plain, heard)
    found = read_offer(meant, words_of(meant), rules, heard.last, heard.asked)
    if found != "several_prices" and THREE_DECIMALS.search(meant):
        return "malformed_number"
    return found or ("vetoed_acceptance" if hit else "no_valid_input")


def accepts(plain: str, rules: Grammar) -> bool:
    """Return True if an acceptance word of a text stands, and nothing takes it back; numbers are not looked at."""
    sentences = _SENTENCE.split(HARMLESS.sub("", plain))
    for sentence in sentences:
        words = words_of(sentence)
        if is_vetoed(sentence, words) or not VETO.isdisjoint(words) or PUT_OFF.search(sentence):
            return False
    said = [[_without_yes(clause, rules) for clause in _CLAUSE.split(sentence)[::2]] for sentence in sentences]
    if any(_is_answer(rest) for rest, _, _ in chain.from_iterable(said)):
        return True
    for clauses in said:
        commands = [bool(COMMAND.match(rest)) for rest, _, _ in clauses]
        if any(commands) and all(
            is_easy or command for (_, _, is_easy), command in zip(clauses, commands, strict=True)
        ):
            return True
    every = list(chain.from_iterable(said))
    return any(yes for _, yes, _ in every) and all(is_easy for _, _, is_easy in every)


def _is_answer(clause: str) -> bool:
    return bool(DEAL.fullmatch(clause) or (ANSWER.search(clause) and not SPOKEN_OF.search(clause)))


def _without_yes(clause: str, rules: Grammar) -> tuple[str, bool, bool]:
    """Return the words of a clause without its courtesy and the `yes` it begins with, whether there is one, and whether
    what is left is easy."""
    answers = rules.acceptances - {"accept", "deal"}
    raw = [word for word in words_of(clause) if word not in _UNITS]
    kept = [word for word in without_thanks(raw) if word not in COURTESY or word in answers]
    start = next((at for at, word in enumerate(kept) if word not in answers), len(kept))
    rest = " ".join(kept[start:])
    words = " ".join(raw)
    is_easy = not rest or EASY.fullmatch(rest) is not None or (not start and EASY.fullmatch(words) is not None)
    return rest, start > 0, is_easy


def _last_sentence_accepts(plain: str, heard: Heard) -> bool:
    """Return True if the last sentence that is more than courtesy accepts, and what stands before it does not bid."""
    rules, at = heard.rules, len(plain)
    for sentence in reversed(_SENTENCE.split(plain)):
        at -= len(sentence)
        said = [_without_yes(clause, rules) for clause in _CLAUSE.split(sentence)[::2]]
        if all(is_easy for _, _, is_easy in said) and rules.acceptances.isdisjoint(words_of(sentence)):
            continue
        if not (accepts(sentence, rules) and _numbers_fit(plain[at:], heard)):
            return False
        before = plain[:at]
        if is_rejection(words_of(before), rules, heard.last):
            return False
        found = _read_plain(before, heard._replace(last=False), last_word=False)
        return found == _ACCEPT or (isinstance(found, str) and found not in _NO_OFFER)
    return False


def _is_left_to_other(plain: str, rules: Grammar) -> bool:
    """Return True if each acceptance word is negated or asked of the other."""
    for clause in _CLAUSE.split(DENIED_BEHIND.sub(" ", ASKED.sub(" ", plain)))[::2]:
        words = words_of(clause)
        first = next((at for at, word in enumerate(words) if word in rules.acceptances), None)
        if first is not None and not is_negated(words[:first]):
            return False
    return True


# Numbers.


@lru_cache(maxsize=1024)
def _mention(cents: int | None) -> re.Pattern[str]:
    """Return the pattern of a price as people write it."""
    if cents is None:
        return re.compile("(?!)")
    dollars, rest = divmod(cents, 100)
    whole = f"{dollars}|{dollars:,}" if dollars else "0?"
    fraction = f"\\.{rest:02}" if rest % 10 else (rf"\.{rest // 10}0?" if rest else r"(?:\.00?)?")
    return re.compile(
        rf"(?<![\w.,/-])(?<!-[$€£])(?:{whole}){fraction} ?(?:(?:usd|dollars?|bucks?)\b)?"
        r"(?![\w/]|[.,]\d)(?! ?(?:[%¢]|(?:percent|per cent|pct|cents?)\b))"
    )


def _numbers_fit(plain: str, heard: Heard) -> bool:
    """Return True if each number is the standing price, or told as a profit beside no acceptance word."""
    for sentence in _SENTENCE.split(plain):
        rest = _mention(heard.asked).sub(" ", sentence)
        if heard.rules.acceptances.isdisjoint(words_of(rest)):
            rest = AS_PROFIT.sub(" ", rest)
        if has_digit(rest):
            return False
    return True


def _without_told(plain: str, heard: Heard) -> str:
    """Leave out the numbers that are only told, if another remains."""
    parts = _CLAUSE.split(plain)
    for at in range(0, len(parts), 2):
        words, parts[at] = words_of(parts[at]), AS_PROFIT.sub("", parts[at])
        if not TOLD.isdisjoint(words):
            parts[at] = _PLAIN_NUMBER.sub("", parts[at])
        elif is_negated(words) or not ABOUT_STANDING.isdisjoint(words):
            parts[at] = _mention(heard.asked).sub("", parts[at])
    meant = "".join(parts)
    return meant if has_digit(meant) else plain


# One JSON object.

_PRICES = _set("price offer counteroffer counter_offer counter amount")
_DECISIONS = _set("decision action answer response reply move")


_REJECTS = [["reject"]]


class _KeyTwiceError(ValueError):
    pass


def _read_object(text: str, heard: Heard) -> Action | str | None:
    """Read a reply that is one JSON object; None if it is none, or says nothing of the kind."""
    try:
        found = json.loads(text, object_pairs_hook=_fields, parse_float=str, parse_int=str)
    except _KeyTwiceError:
        return "key_twice"
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    fields = {key: value for key, value in found.items() if value not in (None, "")}
    prices = [value for key, value in fields.items() if key in _PRICES]
    if not all(isinstance(price, str) for price in prices):
        return None
    plain = normalise(" ; ".join(prices)) or ""
    said = [fields[key] for key in _DECISIONS & fields.keys() if isinstance(fields[key], str)]
    words = [each for value in said if (each := words_of(normalise(value) or ""))]
    agreeing = [len(each) == 1 and each[0] in heard.rules.acceptances for each in words]
    agrees = fields.get("accept") is True or any(agreeing)
    declines = fields.get("accept") is False or fields.get("reject") is True or not all(agreeing)
    if agrees and has_digit(_mention(heard.asked).sub(" ", plain)):
        return "ambiguous_accept_and_number"
    if agrees and not declines:
        return _ACCEPT if heard.stands else "nothing_to_accept"
    if not agrees and has_digit(plain):
        return _read_plain(plain, heard)
    if not declines:
        return None
    is_final = (
        heard.stands and not agrees and all(is_rejection(each, heard.rules, heard.last) for each in words or _REJECTS)
    )
    return _REJECT if is_final else "vetoed_acceptance"


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = {key.lower(): value for key, value in pairs}
    if len(fields) < len(pairs):
        raise _KeyTwiceError
    return fields
