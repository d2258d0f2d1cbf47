"""Words in a normalised text: is it an acceptance, and does anything beside it take the acceptance back?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

ACCEPTANCES = frozenset({"accept", "yes", "deal"})
REJECTIONS = (["reject"], ["i", "reject"], ["no"], ["no", "deal"])
WALK_AWAY = (["walk", "away"], ["i", "walk", "away"])

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_NEGATION = """no not never none nothing neither nor nope nah cannot without refuse refuses refused refusing reject
    rejects rejected rejecting decline declines declined declining cant dont wont wouldnt couldnt shouldnt didnt
    doesnt isnt arent wasnt aint"""
_CONDITION = """if unless until till when once but however although though except provided providing assuming only
    instead before after later soon maybe perhaps possibly might could would should almost nearly"""
_QUESTION = "what how why which who whether where"
_REQUEST = """give make get find want need wish hope better best cheaper lower less reduce drop discount improve
    another different bad worse worst terrible unfair too expensive high wait think thinking consider considering
    breaker breakers"""
_VETOES = frozenset(f"{_NEGATION} {_CONDITION} {_QUESTION} {_REQUEST}".split())
_OTHER_PARTY = frozenset(("you", "u", "ai", "seller", "bot", "computer", "assistant", "manager", "they"))
_COURTESIES = frozenset(("thanks", "please", "sorry"))


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def without_thanks(words: Sequence[str]) -> list[str]:
    """The words less every pair `thank you` or `thank u`."""
    kept: list[str] = []
    paired = False
    for word, after in pairwise([*words, ""]):
        if paired:
            paired = False
        elif word == "thank" and after in ("you", "u"):
            paired = True
        else:
            kept.append(word)
    return kept


def without_courtesies(words: Sequence[str]) -> list[str]:
    return [word for word in without_thanks(words) if word not in _COURTESIES]


def vetoed(text: str, words: Sequence[str]) -> bool:
    """An acceptance in a negation, condition, question or request is none."""
    if "?" in text:
        return True
    words = without_thanks(words)
    return any(word in _VETOES or word.endswith("n't") for word in words) or _asks_the_other(words) or _mine(words)


def _mine(words: Sequence[str]) -> bool:
    """`accept my offer` speaks of another offer than the standing one."""
    first = next((i for i, word in enumerate(words) if word in ("accept", "deal")), len(words))
    return any(word in ("my", "mine") for word in words[first + 1 :])


def _asks_the_other(words: Sequence[str]) -> bool:
    """`you accept`, `will you ...`, `please accept` ask somebody else to accept."""
    last = max((i for i, word in enumerate(words) if word == "accept"), default=0)
    if any(word in _OTHER_PARTY for word in words[:last]):
        return True
    return any(
        (a in ("will", "can", "do", "did") and b in ("you", "u")) or (a == "please" and b == "accept")
        for a, b in pairwise(words)
    )
