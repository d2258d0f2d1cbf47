"""Claims about a seat's own values and leaks, decided by computation, because the record knows what each author knew.

Only plain statements are read; questions, suppositions and statements about the other side are not claims. A claim that
the words leave open, such as a hedged or vague one, is unverifiable; its truth is never guessed. The words are data in
`claims.toml`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from negolab.reading import Phrases, straight

_WORDS = Phrases(Path(__file__).with_suffix(".toml"))
_SENTENCE = re.compile(r"(?:[^.!?;\n]|\.(?=\d))+[.!?;\n]?")
_CLAUSE = re.compile(r"(?<!^for me)(?<!^to me)(?<!^for us)(?<!^to us),(?!\d)|\b(?:but|so|because|while)\b")
_NUMBER = re.compile(r"(?<![\w.])\$?(\d+(?:\.\d+)?)(?![\w%]|\.\d)")
_CARRIED = re.compile(r"\W*\w+\W+(?:(?:is|are|at|only|just|and)\W+)*\$?\d+(?:\.\d+)?\W*(?:points?|each)?\W*")
_RELATIONS = {
    "NOT_BELOW": operator.ge,
    "NOT_ABOVE": operator.le,
    "AT_MOST": operator.le,
    "AT_LEAST": operator.ge,
    "BELOW": operator.lt,
    "ABOVE": operator.gt,
    "NOT": operator.ne,
}


def judge(text: str, facts: Mapping[str, float]) -> tuple[str | None, bool]:
    """Return the truth of what a text claims about its author's values, and True if it tells one exactly.

    Args:
        text: What was said.
        facts: The author's values, keyed by what they are values of, as returned by `Game.own_facts`.

    Returns:
        "false" if any claim is false, else "unverifiable" if one cannot be decided, else "true"; None for a text that
        claims nothing. The second item is True if a value is told exactly.

    Example:
        >>> judge("Hats are worth 3 to me.", {"hats": 3, "books": 1})
        ('true', True)
    """
    found = [each for sentence in _SENTENCE.findall(straight(text).lower()) for each in _claims(sentence, facts)]
    worst = next((verdict for verdict in ("false", "unverifiable", "true") if verdict in found), None)
    return worst, ("true", "told") in pairwise(found)


def _claims(sentence: str, facts: Mapping[str, float]) -> list[str]:
    claimed: list[str] = []
    if not sentence.endswith("?") and not _WORDS.SUPPOSED.search(sentence):
        for clause in _CLAUSE.split(sentence.strip()):
            is_carried = claimed[-1:] == ["told"] and _CARRIED.fullmatch(clause) is not None
            if is_carried or (_WORDS.OWN.search(clause) and not _WORDS.YOURS.search(clause)):
                claimed += _claim(clause, facts, is_carried)
    return claimed


def _claim(clause: str, facts: Mapping[str, float], is_carried: bool) -> list[str]:
    """Return the verdict on a clause that is about its author; [] if it claims nothing."""
    said = {name for name in _WORDS.names if getattr(_WORDS, name).search(clause)}
    named = {found.start(): name for name in facts for found in re.finditer(_name_pattern(name), clause)}
    values = [facts[named[at]] for at in sorted(named)] if "" not in facts else [facts[""]]
    numbers = [float(digits) for digits in _NUMBER.findall(clause)] or [0.0] * ("ZERO" in said)
    relation = next((is_so for name, is_so in _RELATIONS.items() if name in said), operator.eq)
    holds, told = None, list[str]()
    if not values:
        return []
    if isinstance(values[0], bool):
        if "HOLDS" not in said or len(values) > 1:
            return []
        holds = values[0] != ("NOT" in said)
    elif numbers and (is_carried or "WORTH" in said):
        if "OTHER_NUMBER" in said:
            return []
        if len(values) == len(numbers):
            holds, told = all(map(relation, values, numbers)), ["told"] * (relation is operator.eq)
    elif len(values) == 2 and "THAN" in said and said & {"MORE", "LESS"}:
        holds = values[0] < values[1] if "LESS" in said else values[0] > values[1]
    elif len(values) == 1 and len(facts) > 1 and said & {"MOST", "LEAST"}:
        best = max(facts.values()) if "MOST" in said else min(facts.values())
        holds = values[0] == best if list(facts.values()).count(best) == 1 else None
    elif "VAGUE" not in said:
        return []
    is_open = holds is None or "HEDGED" in said or ("NOT" in said and not numbers and not isinstance(values[0], bool))
    return ["unverifiable"] if is_open else [str(holds).lower(), *told]


def _name_pattern(name: str) -> str:
    return rf"\b{re.escape(name.lower().rstrip('s'))}s?\b"
