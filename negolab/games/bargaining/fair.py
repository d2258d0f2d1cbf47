"""The meaning of a reply as its author meant it (`reading = "fair"`), on top of the grammar in `reading.py`.

An acceptance word accepts only if it stands as an answer, and a number is a price only if it is meant as one. The data
that decide this are in `fair.toml`. Every step is linear in the text.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import chain
from pathlib import Path
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
from negolab.games.bargaining.state import Accept, Action, Offer, Reject
from negolab.moves import Misfit, unique_fields
from negolab.reading import PHRASES, Phrases, goes_on, plain_lines, spoken_lines, straight, without_reasoning

_PHRASES = Phrases(Path(__file__).with_suffix(".toml"), PHRASES)
_MESSAGE = re.compile(r"(?im)^[ \t]*+[*_]++message[*_]*+:[*_]*+")
_EMPHASIS = re.compile(r'(?<![^\W_])[*_`"]+|[*_`"]+(?![^\W_])|\\(?=[\[\]])|</?[A-Za-z]+>')
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CLAUSE = re.compile(r"((?<!\d),|,(?!\d)|\.(?!\d)|[;:!?])")
_SENTENCE = re.compile(r"(?<=[!?;])|(?<=\.)(?!\d)")
_NO_OFFER = ("several_prices", "malformed_number", "out_of_range")
_ACCEPT, _REJECT = Accept(), Reject()


class Heard(NamedTuple):
    """The grammar for a text, and the answers that are possible."""

    rules: Grammar
    stands: bool
    last: bool
    asked: int | None


class Line(NamedTuple):
    """A normalized line, and whether its sentence continues in the next one."""

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
    bare = {at: found for at, line in enumerate(lines) if (found := _bare(line.text, heard))}
    if len({decision for decision, _ in bare.values()}) > 1:  # as when a model plays on by itself
        return _read_plain(plain, heard, last_word=False)
    return _deciding_line(lines, bare, heard) or _read_plain(plain, heard)


# Lines.


def _lines(text: str) -> list[Line]:
    """Return the nonempty lines, without marks for lists and emphasis."""
    lines: list[Line] = []
    raw = plain_lines(straight(text), _EMPHASIS, " ")
    for line, after in zip(raw, [*raw[1:], ""], strict=True):
        plain = normalise(_PHRASES.CLAUSE_SOFT.sub(" , ", line).replace("\u3002", ". "))
        if plain is None:  # The text is too long as a whole.
            plain = "x" * (MAX_NORMALISED + 1)
        if plain := " ".join(plain.split()):
            plain = _PHRASES.NEW_CLAUSE.sub(", ", plain)
            plain = _PHRASES.ROUND.sub(r"\1", _PHRASES.GIVES_ME.sub(". ", plain))
            lines.append(Line(plain, bool(line and after) and _goes_on(line, after)))
    return lines


def _goes_on(line: str, after: str) -> bool:
    if _PHRASES.ALONE.fullmatch(after.lower()):
        end = line[-80:].lower()
        return bool(PHRASES.RUNS_ON.search(end) or _PHRASES.LEFT_OPEN.search(end))
    return goes_on(line, after)


def _deciding_line(lines: list[Line], bare: dict[int, tuple[Action, str]], heard: Heard) -> Action | None:
    """Return the one decision in the bare lines (given by line number, with their labels), if one of them decides."""
    if not bare:
        return None
    decision = next(iter(bare.values()))[0]
    others = [line.text for at, line in enumerate(lines) if at not in bare]
    if all(_PHRASES.REASON.match(line) for line in others):
        return decision
    label = bare.get(len(lines) - 1, (decision, None))[1]
    is_deciding = label is not None and _PHRASES.DECIDING.search(label) is not None
    if not any(has_digit(lines[at].text) for at in bare) or decision == _ACCEPT:
        return decision if is_deciding else None
    decides = any(_PHRASES.DECIDING.search(label) for _, label in bare.values()) or (
        label is not None and (label != "" or not lines[-2].goes_on)
    )
    return decision if decides and not any(accepts(line, heard.rules) for line in others) else None


def _bare(line: str, heard: Heard) -> tuple[Action, str] | None:
    """Return the decision in a line that contains nothing else, and the line's label."""
    found = _PHRASES.LINE_LABEL.match(line)
    rest = line[found.end() :] if found else line
    if (
        not _PHRASES.words("BARE")
        .union(heard.rules.acceptances, _PHRASES.words("REJECTING"))
        .issuperset(words_of(rest))
    ):
        return None
    decision = _read_plain(rest, heard, last_word=False)
    return None if isinstance(decision, str) else (decision, found[0] if found else "")


# The text as a whole.


def _read_plain(plain: str, heard: Heard, *, last_word: bool = True) -> Action | str:
    rules, words, digit = heard.rules, words_of(plain), has_digit(plain)
    if heard.stands and not digit and "?" not in plain and rejects(plain, heard):
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
    if found != "several_prices" and _PHRASES.MALFORMED.search(meant):
        return "malformed_number"
    if heard.last and found in (_REJECT, "several_prices") and _declines(plain, heard):
        return _REJECT
    if found == _REJECT:
        return "echoed_price" if _mention(heard.asked).search(plain) else "no_valid_input"
    if isinstance(found, Offer) and _is_taken_back(plain):
        return "refused_price"
    return found or ("vetoed_acceptance" if hit else "no_valid_input")


def rejects(plain: str, heard: Heard) -> bool:
    """Return True if a text refuses when that ends the game: some clause does, and the others add nothing to it."""
    spoken = _impolite_clauses(plain)
    ends = [_refuses(clause, heard) for clause in spoken]
    return any(ends) and all(
        end or _PHRASES.REFUSES_WITH.fullmatch(clause) for end, clause in zip(ends, spoken, strict=True)
    )


def _declines(plain: str, heard: Heard) -> bool:
    """Return True if a text with a number refuses when that ends the game: one of its clauses does, it only says no to
    the standing price, or it is only another price."""
    said = _mention(heard.asked).sub(" offer ", plain)
    if "?" in said or PHRASES.CONDITION.search(said):
        return False
    clauses = _impolite_clauses(said)
    if any(clause not in _PHRASES.words("NO") and _refuses(clause, heard) for clause in clauses):
        return True
    if not has_digit(said):
        return rejects(said, heard)
    return len(_NUMBER.findall(said)) == 1 and _PHRASES.words("BID").issuperset(words_of(said))


def _impolite_clauses(plain: str) -> list[str]:
    """Return the clauses of a text without courtesies."""
    clauses = [without_thanks(words_of(clause)) for clause in _CLAUSE.split(plain)[::2]]
    return [" ".join(word for word in words if word not in _PHRASES.words("POLITE")) for words in clauses]


def _is_taken_back(plain: str) -> bool:
    """Return True if what follows the last number takes it back, as in `50. Scratch that.`"""
    behind = plain.rpartition(_NUMBER.findall(plain)[-1])[2]
    clauses = [" ".join(words_of(clause)) for clause in _CLAUSE.split(behind)[2::2]]
    said = [*clauses, " ".join(filter(None, clauses))]
    return any(PHRASES.TAKEN_BACK.fullmatch(words) or words in _PHRASES.words("NEVER") for words in said)


def _refuses(clause: str, heard: Heard) -> bool:
    return (
        is_rejection(clause.split(), heard.rules, heard.last)
        or (heard.last and _PHRASES.REFUSES.fullmatch(clause) is not None)
        or (heard.rules.walk_away and _PHRASES.WALKS.fullmatch(clause) is not None)
    )


def accepts(plain: str, rules: Grammar) -> bool:
    """Return True if an acceptance word in a text stands and nothing takes it back; numbers are ignored."""
    sentences = _SENTENCE.split(_PHRASES.HARMLESS.sub("", plain))
    for sentence in sentences:
        words = words_of(sentence)
        if (
            is_vetoed(sentence, words)
            or not _PHRASES.words("VETO").isdisjoint(words)
            or _PHRASES.NOT_NOW.search(sentence)
        ):
            return False
    heard = [[_without_yes(clause, rules) for clause in _CLAUSE.split(sentence)[::2]] for sentence in sentences]
    every = list(chain.from_iterable(heard))
    if any(_is_answer(rest) for rest, _, _ in every):
        return True
    for clauses in heard:
        commands = [bool(_PHRASES.COMMANDED.match(rest)) for rest, _, _ in clauses]
        if any(commands) and all(
            is_easy or command for (_, _, is_easy), command in zip(clauses, commands, strict=True)
        ):
            return True
    return any(yes for _, yes, _ in every) and all(is_easy for _, _, is_easy in every)


def _is_answer(clause: str) -> bool:
    return bool(
        _PHRASES.DEAL.fullmatch(clause) or (_PHRASES.ANSWER.search(clause) and not _PHRASES.SPOKEN_OF.search(clause))
    )


def _without_yes(clause: str, rules: Grammar) -> tuple[str, bool, bool]:
    """Return the words of a clause without its courtesies and its leading `yes`, whether there was one, and whether
    what is left is easy."""
    answers = rules.acceptances - {"accept", "deal"}
    raw = [word for word in words_of(clause) if word not in _PHRASES.words("UNITS")]
    kept = [word for word in without_thanks(raw) if word not in _PHRASES.words("COURTESY") or word in answers]
    start = next((at for at, word in enumerate(kept) if word not in answers), len(kept))
    rest = " ".join(kept[start:])
    words = " ".join(raw)
    is_easy = (
        not rest
        or _PHRASES.EASY.fullmatch(rest) is not None
        or (not start and _PHRASES.EASY.fullmatch(words) is not None)
    )
    return rest, start > 0, is_easy


def _last_sentence_accepts(plain: str, heard: Heard) -> bool:
    """Return True if the last sentence that is more than courtesy accepts, and what precedes it does not bid."""
    rules, at = heard.rules, len(plain)
    for sentence in reversed(_SENTENCE.split(plain)):
        at -= len(sentence)
        clauses = [_without_yes(clause, rules) for clause in _CLAUSE.split(sentence)[::2]]
        if all(is_easy for _, _, is_easy in clauses) and rules.acceptances.isdisjoint(words_of(sentence)):
            continue
        if not (accepts(sentence, rules) and _numbers_fit(plain[at:], heard)):
            return False
        before = _mention(heard.asked).sub(" ", plain[:at])
        if rejects(before, heard):
            return False
        found = _read_plain(before, heard._replace(last=False), last_word=False)
        return found == _ACCEPT or (isinstance(found, str) and found not in _NO_OFFER)
    return False


def _is_left_to_other(plain: str, rules: Grammar) -> bool:
    """Return True if each acceptance word is negated or is a request to the other."""
    for clause in _CLAUSE.split(_PHRASES.LEFT_TO_OTHER.sub(" ", plain))[::2]:
        words = words_of(clause)
        first = next((at for at, word in enumerate(words) if word in rules.acceptances), None)
        if first is not None and not is_negated(words[:first]):
            return False
    return True


# Numbers.


@lru_cache(maxsize=1024)
def _mention(cents: int | None) -> re.Pattern[str]:
    """Return the pattern for a price as people write it."""
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
    """Return True if each number is the standing price, or is told as a profit without an acceptance word."""
    for sentence in filter(has_digit, _SENTENCE.split(plain)):
        rest = _mention(heard.asked).sub(" ", sentence)
        if heard.rules.acceptances.isdisjoint(words_of(rest)):
            rest = _PHRASES.AS_PROFIT.sub(" ", rest)
        if has_digit(rest):
            return False
    return True


def _without_told(plain: str, heard: Heard) -> str:
    """Remove the numbers that are only told, if another remains."""
    meant = _untold(plain, heard)
    return meant if has_digit(meant) else plain


def _untold(plain: str, heard: Heard) -> str:
    """Remove the numbers that are only told."""
    parts = _CLAUSE.split(plain.replace("(", ";").replace(")", ";"))
    label: list[str] = []
    for at in range(0, len(parts), 2):
        parts[at] = _PHRASES.AS_PROFIT.sub("", parts[at])
        words = words_of(parts[at])
        if not _PHRASES.words("TOLD").isdisjoint(words + label):
            parts[at] = _PHRASES.NUMBER.sub("", parts[at])
        elif is_negated(words) or not _PHRASES.words("ABOUT_STANDING").isdisjoint(words):
            parts[at] = _mention(heard.asked).sub("", parts[at])
        label = words[-1:] if parts[at + 1 : at + 2] == [":"] else []
    return "".join(parts)


def told_numbers(text: str, heard: Heard) -> list[tuple[str, str]]:
    """Return the numbers in a text in order, each with the reason if it is only told."""
    plain = " ".join(f"{line.text} ." for line in _lines(text))
    meant = iter(_NUMBER.findall(_without_told(plain, heard)))
    following, parts = next(meant, ""), []
    for number in _NUMBER.findall(plain):
        parts.append((number, "" if number == following else "told, not offered"))
        following = next(meant, "") if number == following else following
    return parts


# One JSON object.


def _read_object(text: str, heard: Heard) -> Action | str | None:
    """Read a reply that is one JSON object; None if it is not one, or if `_in_words` cannot put it into words."""
    try:
        found = json.loads(text, object_pairs_hook=unique_fields, parse_float=str, parse_int=str)
    except Misfit:
        return "key_twice"
    except (ValueError, RecursionError):
        return None
    return (
        None if not isinstance(found, dict) or (words := _in_words(found, heard)) is None else _read_plain(words, heard)
    )


def _in_words(found: dict[str, Any], heard: Heard) -> str | None:
    """Put an object into words: `accept` with each price that it names, or `no` and its price; None if it is
    neither."""
    fields = {key.lower(): value for key, value in found.items() if value not in (None, "")}
    prices = [value for key, value in fields.items() if key in _PHRASES.words("PRICES")]
    named = [value for key, value in fields.items() if _PHRASES.PRICE_LIKE.search(key)]
    said = [fields[key] for key in _PHRASES.words("DECISIONS") & fields.keys()]
    decided = [words_of(normalise(value) or "") for value in said if isinstance(value, str)]
    agreeing = [len(words) == 1 and words[0] in heard.rules.acceptances for words in decided if words]
    agrees = fields.get("accept") is True or any(agreeing)
    declines = fields.get("accept") is False or fields.get("reject") is True or not all(agreeing)
    if not all(isinstance(price, str) for price in prices):
        return None
    plain = normalise(" ; ".join(value for value in (named if agrees else prices) if isinstance(value, str)))
    if plain is None or not (agrees or declines or has_digit(plain)):
        return None
    is_final = declines and all(is_rejection(words, heard.rules, heard.last) for words in decided or [["reject"]])
    no = "reject" if is_final and not has_digit(plain) else "no" if has_digit(plain) else "accept no"
    return " , ".join(filter(None, ("accept" * agrees, no * declines, plain)))
