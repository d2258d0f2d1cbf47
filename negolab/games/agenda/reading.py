"""Reading and writing messages: tokens in brackets, and talk around them. Every step is linear in the text's length.

`[Accept]`, `[Reject]`, `[Walk away]` and `[Offer: salary = $55,000; food = 2]`, in any letter case and order; names and
options are compared after folding. Other text in brackets is talk.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from negolab.game import Invalid, InvalidKind
from negolab.games.agenda.scenario import Issue, fold
from negolab.reading import read_tokens

_TOKEN = re.compile(
    r"\[\s*+(?:(?:(accept|reject|walk\s++away)\s*+\])|(offer)(?!\w)(?:\s*+:([^\[\]]*+)\])?)", re.IGNORECASE
)
"""A reply; or an offer, whose body is missing if it has no colon or is not closed."""
_FORMAT = frozenset(
    (
        *("two_replies", "two_offers", "reply_and_offer", "offer_unreadable"),
        *("unknown_issue", "unknown_option", "issue_twice", "issue_missing"),
    )
)
_MAX_QUOTED = 60
_MAX_COMPARED = 1000
_LONGEST_DECOMPOSED = 8
"""The most characters that NFKC makes from one, with room to spare."""


class Tokens(NamedTuple):
    """Replies (folded), bodies of offers (None if unreadable), and the talk around them."""

    replies: list[str]
    offers: list[str | None]
    talk: str


def scan(text: str) -> Tokens:
    """Split a text into its tokens and its talk."""
    replies: list[str] = []
    offers: list[str | None] = []
    if "[" not in text:
        return Tokens(replies, offers, " ".join(text.split()))
    # Removing its tokens can leave a text that reads as one, as in "[walk [Reject] away]". A third pass could only find
    # a second reply or offer again, so the talk of an accepted message contains no token.
    for _ in range(3):
        found = list(_TOKEN.finditer(text))
        if not found:
            break
        for token in found:
            if token[1]:
                replies.append(" ".join(token[1].lower().split()))
            else:
                offers.append(token[3])
        text = " ".join(_TOKEN.sub(" ", text).split())
    return Tokens(replies, offers, " ".join(text.split()))


_PLAIN = re.compile(r"\[(?:Accept|Reject|Walk away)\]|(?:\[Reject\]\s++)?\[Offer: [^\[\]:\n]*+\]")


def is_plain(text: str) -> bool:
    """Return True for tokens alone: both readings agree on them, and the literal one takes a tenth of the time."""
    return _PLAIN.fullmatch(text) is not None and (";" in text or "," not in text)


def scan_fair(text: str) -> tuple[Tokens, str]:
    """Split a text without reasoning into the tokens it means, each once, and its talk.

    Returns:
        The tokens, and the sentence with a token that is not meant; "" if there is none.
    """
    spoken = read_tokens(text)
    replies = dict.fromkeys(
        "reject" if token.kind == "deny" else token.kind for token in spoken.counting(*_REPLY_KINDS)
    )
    offers = dict.fromkeys(token.body for token in spoken.counting("offer"))
    talk = spoken.talk
    # Removing its tokens can leave a text that reads as one, as in "[walk [Reject] away]".
    talk = talk.translate(_ROUND) if reads_as_token(talk) else talk
    return Tokens([*replies], [*offers], talk), spoken.vetoed


_REPLY_KINDS = ("accept", "deny", "walk away")
_ROUND = str.maketrans("[]", "()")


def reads_as_token(talk: str) -> bool:
    """Return True if some part of the talk would be read as a reply or an offer."""
    return "[" in talk and _TOKEN.search(talk) is not None


def refusal(code: str, reason: str) -> Invalid:
    """Return the `Invalid` for a code."""
    kind: InvalidKind = "format" if code in _FORMAT else "rule"
    return Invalid((code,), reason, kind)


# Offers.


class Vocabulary(NamedTuple):
    """Folded names in a scenario.

    Attributes:
        issues: Index of each issue by its name.
        options: Index of each option, per issue; None for goods.
        longest: Length beyond which a text cannot be one of these names.
        least: Smallest similarity at which a name is suggested.
    """

    issues: dict[str, int]
    options: tuple[dict[str, int] | None, ...]
    longest: int
    least: float


@lru_cache(maxsize=64)
def vocabulary(issues: tuple[Issue, ...], least: float) -> Vocabulary:
    """Return the names by which the issues and their options are found."""
    names = {fold(issue.name): at for at, issue in enumerate(issues)}
    options = tuple(
        None if issue.options is None else {fold(option): k for k, option in enumerate(issue.options)}
        for issue in issues
    )
    known = [*names, *(option for found in options if found is not None for option in found)]
    return Vocabulary(names, options, _LONGEST_DECOMPOSED * max(32, *map(len, known)), least)


def with_semicolons(body: str, issues: tuple[Issue, ...]) -> str:
    """Rewrite the body of an offer with `;` between its parts and `=` after each name, if it has other marks."""
    known = "|".join(re.escape(issue.name) for issue in sorted(issues, key=lambda issue: -len(issue.name)))
    if ";" not in body:
        parts = body.strip().split("\n")
        parts = parts if len(parts) > 1 else re.split(rf",\s*(?=(?:{known})\s*[=:])", body, flags=re.IGNORECASE)
        body = ";".join(part.strip().rstrip(",") for part in parts)
    return ";".join(part if "=" in part else part.replace(":", "=", 1) for part in body.split(";"))


def read_offer(body: str | None, issues: tuple[Issue, ...], least: float = 0.0) -> tuple[int, ...] | Invalid:
    """Read the body of an offer, from its author's side; an `Invalid` names the first faulty part, and suggests a name
    whose similarity is at least `least`."""
    if body is None:
        example = f"{issues[0].name} = {option_name(issues[0], 0)}"
        reason = f"Your offer cannot be read: write [Offer: {example}; ...] with a colon and a closing bracket."
        return refusal("offer_unreadable", reason)
    parts = [part for part in body.split(";") if part.strip()]
    for part in parts:
        if "=" not in part:
            reason = f"Your offer cannot be read at {_quote(part)}: write every issue as name = option, parted by ;"
            return refusal("offer_unreadable", reason)
    known = vocabulary(issues, least)
    chosen: dict[int, int] = {}
    for part in parts:
        name, _, option = part.partition("=")
        read = _read_part(name, option, issues, known, chosen)
        if isinstance(read, Invalid):
            return read
        chosen[read[0]] = read[1]
    if missing := [issue.name for at, issue in enumerate(issues) if at not in chosen]:
        reason = f"Your offer leaves out {', '.join(missing)}: name every issue exactly once."
        return refusal("issue_missing", reason)
    return tuple([chosen[at] for at in range(len(issues))])


def _read_part(
    name: str, option: str, issues: tuple[Issue, ...], known: Vocabulary, chosen: dict[int, int]
) -> tuple[int, int] | Invalid:
    """Read one part as (issue, number)."""
    at = known.issues.get(_fold_short(name, known))
    if at is None:
        meant = _meant(name, [issue.name for issue in issues], known)
        return refusal("unknown_issue", f"There is no issue {_quote(name)}: {meant}")
    issue, options = issues[at], known.options[at]
    folded = _fold_short(option, known)
    number = _units(folded, issue) if options is None else options.get(folded)
    if number is None:
        return refusal("unknown_option", _unknown_option(option, issue, known))
    if at in chosen:
        return refusal("issue_twice", f"Your offer names {issue.name} twice: name every issue exactly once.")
    return at, number


def _fold_short(text: str, known: Vocabulary) -> str:
    """Fold a text; one too long to be any name is cut first, because folding it could take more than linear time."""
    return fold(text) if len(text) <= known.longest else fold(" ".join(text.split())[: known.longest]) + "\0"


def _units(digits: str, issue: Issue) -> int | None:
    """Read ASCII digits as a number of units; None for anything else, or for more than there are."""
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = digits.lstrip("0") or "0"
    units = int(digits) if len(digits) < 12 else None
    return units if units is not None and units < issue.size else None


def _unknown_option(option: str, issue: Issue, known: Vocabulary) -> str:
    if issue.options is None:
        return f"Of {issue.name} you can take 0 to {issue.units} units, in digits, not {_quote(option)}."
    return f"{issue.name} has no option {_quote(option)}: {_meant(option, issue.options, known)}"


def _meant(text: str, names: Sequence[str], known: Vocabulary) -> str:
    """Suggest the most similar name; if none is close enough, list them all."""
    folded = fold(" ".join(text.split())[:_MAX_QUOTED])
    ratios = {name: difflib.SequenceMatcher(None, folded, fold(name)).ratio() for name in names[:_MAX_COMPARED]}
    nearest = max(ratios, key=lambda name: ratios[name])
    return f"did you mean {nearest}?" if ratios[nearest] >= known.least else f"write one of {', '.join(names)}."


def _quote(text: str) -> str:
    """Quote what an author wrote, on one line and shortened."""
    text = " ".join(text.split())
    return f'"{text}"' if len(text) <= _MAX_QUOTED else f'"{text[:_MAX_QUOTED]}..."'


def write_offer(offer: Sequence[int], issues: Sequence[Issue]) -> str:
    """Write an offer from its author's side, with the scenario's own names."""
    parts = (f"{issue.name} = {option_name(issue, n)}" for issue, n in zip(issues, offer, strict=True))
    return f"[Offer: {'; '.join(parts)}]"


def option_name(issue: Issue, number: int) -> str:
    """Return an option's words, or the number of units."""
    return str(number) if issue.options is None else issue.options[number]
