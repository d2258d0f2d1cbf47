"""Reading of what was said: tokens in brackets within prose, as their author meant them (`reading = "fair"`).

A token counts unless the text around it says otherwise: it is quoted, shown as an example, put off, denied, asked as a
question or taken back. The words that say so are data, in `reading.toml`; the guide's page on decisions shows both
readings. Every step is linear in the text, except for a logarithm.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

Reading = Literal["fair", "literal"]
"""Way in which replies are read: as their author meant them, or literally."""


class Phrases:
    """Patterns by name, from a TOML file of words and phrases.

    A string in the file is a list of whole words, and a list holds patterns; any of them matches. `<NAME>` stands for
    an earlier name. `PHRASES.QUOTED` is the pattern `QUOTED`.

    Args:
        file: The file.
        known: Phrases that the file's own phrases may name.
    """

    def __init__(self, file: Path, known: Phrases | None = None) -> None:
        self._sources: dict[str, str] = {} if known is None else dict(known._sources)
        self._sets: dict[str, frozenset[str]] = {}
        for name, value in tomllib.loads(file.read_text("utf-8")).items():
            parts = value.split() if isinstance(value, str) else value
            self._sets[name] = frozenset(parts)
            any_of = f"(?:{'|'.join(parts)})"
            any_of = rf"\b{any_of}\b" if isinstance(value, str) else any_of
            self._sources[name] = re.sub("<([A-Z_]+)>", lambda found: self._sources[found[1]], any_of)

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if not name.isupper():
            raise AttributeError(name)
        pattern = re.compile(self._sources[name])
        setattr(self, name, pattern)  # from now on, it is found without this method
        return pattern

    @property
    def names(self) -> Collection[str]:
        """The names of all phrases."""
        return self._sources.keys()

    def words(self, name: str) -> frozenset[str]:
        """Return the words in a list."""
        return self._sets[name]


PHRASES = Phrases(Path(__file__).with_suffix(".toml"))
REASONING_OPEN = "Your reasoning does not end: close it with </think>, then write your message."

_LOOK_BACK = 80
"""Number of characters before a token that are searched for what comes right before it."""
_REACH = 400
"""Number of characters around a token that are searched for an amount and for the next mark."""
_MARK = "\ue000"
"""Stands for a token in prose."""
_STRAIGHT = str.maketrans(
    {
        _MARK: " ",
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
        **dict.fromkeys(map(chr, (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)), " "),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    }
)
_ARROW = re.compile("[\u2192\u21d2\u27f6\u2794]|=>|--+>|-&gt;|[\u2013\u2014]>")
_REASONING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"\s*```\w*\s*")
_MARK_OF_LIST = re.compile(r"\s*(?:[-*\u2022]\s+|#+\s*(?!\d)|(\d{1,4})[.)]\s+)")
_EMPHASIS = re.compile(r'[*_`"]|\\(?=[\[\]])')
_EMPHASES = '*_`"'
_BRACKET = re.compile(r"\[((?:[^\[\]]++|\[[^\[\]]*+\])*+)\]")
_REST = re.compile(r"[*_`\"]*\s*:?\s*([^\[\]\n]*)")


def without_reasoning(text: str) -> str | None:
    """Return what follows the reasoning that a text begins with; None if reasoning is left open."""
    end, is_open, at = 0, False, 0
    for line in text.split("\n"):
        if not line.lstrip().startswith(">"):
            for tag in _REASONING.finditer(line):
                is_open = not tag[1]
                end = end if is_open else at + tag.end()
        at += len(line) + 1
    return None if is_open else text[end:]


def spoken_lines(text: str) -> list[str]:
    """Return the lines of a text without those that only fence code and those quoted with `>`."""
    text = text.replace("\ufeff", "")  # a byte-order mark
    return [line for line in text.split("\n") if not (_FENCE.fullmatch(line) or line.lstrip().startswith(">"))]


def straight(text: str) -> str:
    """Replace curly quotes, unusual spaces and full-width characters with plain ones; the length stays the same."""
    return text.translate(_STRAIGHT)


def with_arrows(body: str) -> str:
    """Write every kind of arrow as `->`, and a multiplication sign as `x`."""
    return _ARROW.sub("->", body).replace("\u00d7", "x")


def left_out(text: str, parts: Iterable[tuple[str, str]] = ()) -> tuple[tuple[int, int, str], ...]:
    """Return where each unused part of a text is, and why it was not used: reasoning, lines that do not count, and
    `parts` in order, as they are written, each with a reason ("": this one was used)."""
    rest = without_reasoning(text) or ""
    start = at = len(text) - len(rest)
    left = [(0, start, "reasoning")] if start else []
    heard = [" " * start]
    for line in rest.split("\n"):
        if spoken_lines(line):
            heard.append(f"{line}\n")
        else:
            left.append((at, at + len(line), "a quoted line or a fence"))
            heard.append(" " * len(line) + "\n")
        at += len(line) + 1
    at, said = 0, "".join(heard)
    for part, why in parts:
        if (found := said.find(part, at)) < 0:
            break
        at, begin = found + len(part), found - (said[max(0, found - 1) : found] in tuple("$\u20ac\u00a3"))
        left += [(begin, at, why)] if why else []
    return tuple(sorted(left))


class Token:
    """A token in brackets.

    Attributes:
        kind: "accept", "deny", "walk away" or "offer".
        body: What an offer says.
        raw: The token as it is written.
        at: Its position in the prose.
        why: Why it is inert: "quoted", "vetoed" or "overruled"; "" if it counts.
    """

    def __init__(self, kind: str, body: str, raw: str) -> None:
        self.kind, self.body, self.raw, self.at, self.why = kind, body, raw, 0, ""

    @property
    def words(self) -> str:
        """The text in its brackets."""
        return " ".join(straight(self.raw)[1:].rstrip("]").split())

    @property
    def counts(self) -> bool:
        """True unless it is inert."""
        return not self.why


class Spoken(NamedTuple):
    """The tokens of a text in order, the prose in which each of them is one character, and the text between them, word
    for word."""

    tokens: list[Token]
    prose: str
    pieces: list[str]

    def counting(self, *kinds: str) -> list[Token]:
        """Return the tokens of these kinds that count."""
        return [token for token in self.tokens if token.counts and token.kind in kinds]

    @property
    def vetoed(self) -> str:
        """The sentence with the first token that was not meant; "" if there is none."""
        token = next((token for token in self.tokens if token.why == "vetoed"), None)
        if token is None:
            return ""
        words = iter(self.tokens)
        said = re.sub(_MARK, lambda _: f"[{next(words).words}]", self.prose)
        behind = said.find(f"[{token.words}]")
        start = max(said.rfind(mark, 0, behind) for mark in ".!?\n") + 1
        return said[max(start, behind - 60) : behind + len(token.words) + 40].split("\n")[0].strip()

    @property
    def talk(self) -> str:
        """The talk besides the tokens that count, on one line; an inert token appears without its brackets."""
        inert = ["" if token.counts else token.words for token in self.tokens]
        # Emphasis that touches a token goes with it.
        ends = [piece.rstrip(_EMPHASES) for piece in self.pieces[:-1]] + self.pieces[-1:]
        pieces = ends[:1] + [piece.lstrip(_EMPHASES) for piece in ends[1:]]
        parts = zip(pieces, [*inert, ""], strict=True)
        return " ".join(" ".join(f"{piece} {words}" for piece, words in parts).split())


def read_tokens(
    text: str,
    *,
    is_offer: Callable[[str], bool] = lambda body: False,
    names_standing: Callable[[str], bool] = lambda words: False,
) -> Spoken:
    """Find the tokens in a text, and which of them are meant.

    Args:
        text: The text without reasoning.
        is_offer: Returns True if what follows a bare `[Offer]` on its line is the body of an offer.
        names_standing: Returns True if words after `[Accept]`, such as `your offer of 5 Wheat`, name the standing
            offer.
    """
    kept = "\n".join(spoken_lines(text))
    flat = straight(kept)
    tokens: list[Token] = []
    spans = [0]
    for start, stop, kind, body in _brackets(flat, is_offer):
        tokens.append(Token(kind, body, kept[start:stop]))
        spans += [start, stop]
    spans.append(len(flat))
    between = list(zip(spans[::2], spans[1::2], strict=True))
    lines = plain_lines(_MARK.join(flat[start:end] for start, end in between), _EMPHASIS)
    prose = _joined(lines)
    for token, place in zip(tokens, re.finditer(_MARK, prose), strict=True):
        token.at = place.start()
    spoken = Spoken(tokens, prose, [kept[start:end] for start, end in between])
    if tokens:
        _Judge(spoken, names_standing).judge()
        _let_last_lines_decide(spoken, lines)
    return spoken


def _brackets(flat: str, is_offer: Callable[[str], bool]) -> Iterator[tuple[int, int, str, str]]:
    """Yield each token's start, end, kind and body."""
    at = 0
    while found := _BRACKET.search(flat, at):
        start, stop = found.span()
        at = start + 1
        if _is_letter(flat[start - 1 : start]) or _is_letter(flat[stop : stop + 1]):
            continue
        inner = _EMPHASIS.sub("", found[1]).strip().strip("\\'").strip()
        if reply := PHRASES.REPLY.fullmatch(inner):
            yield start, stop, _KINDS.get(word := " ".join(reply["reply"].lower().split()), word), ""
        elif offer := PHRASES.OFFERED.fullmatch(found[1].lstrip("*_`\"'")):
            yield start, stop, "offer", offer["body"].strip().rstrip("\\*_`\"'")
        elif PHRASES.BARE_OFFER.fullmatch(inner) and (rest := _REST.match(flat, stop)) and is_offer(rest[1]):
            stop = rest.end()
            yield start, stop, "offer", rest[1]
        else:
            continue
        at = stop


_KINDS = {"reject": "deny", "decline": "deny"}


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def plain_lines(text: str, emphasis: re.Pattern[str], blank: str = "") -> list[str]:
    """Return the lines of a text without emphasis and list markers; numbers are such markers if two count up from 1."""
    lines = text.split("\n")
    marks = [_MARK_OF_LIST.match(line) for line in lines]
    numbers = [int(mark[1]) for mark in marks if mark and mark[1]]
    count = 1 if numbers[:2] == [1, 2] else 0
    plain = []
    for line, mark in zip(lines, marks, strict=True):
        is_mark = mark is not None and (not mark[1] or (count > 0 and int(mark[1]) in (1, count)))
        if is_mark and mark is not None and mark[1]:
            count = int(mark[1]) + 1
        plain.append(" ".join(emphasis.sub(blank, line[mark.end() if mark and is_mark else 0 :]).split()))
    return plain


def _joined(lines: list[str]) -> str:
    """Join lines: with a space if a sentence continues in the next one, otherwise with a line break."""
    parts: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        parts += [line, " " if line and after and _goes_on(line, after) else "\n"]
    return "".join(parts)


def _goes_on(line: str, after: str) -> bool:
    if line[-1] == _MARK:
        return True
    if not after.strip(f"{_MARK} .,!"):
        return PHRASES.RUNS_ON.search(line[-_LOOK_BACK:].lower()) is not None
    return goes_on(line, after)


def goes_on(line: str, after: str) -> bool:
    """Return True if a sentence continues in the next line."""
    return (line[-1].isalnum() or line[-1] in ",:") and (
        after[0].islower() or after[0].isdigit() or after[0] in f"[{_MARK}"
    )


_SENTENCE_END = re.compile(r"[!?;\u3002\n]|(?<!\.)\.(?!\.)(?!(?<=\d\.)\d)")


class _Judge:
    """Decides which tokens are meant, from the prose around them."""

    def __init__(self, spoken: Spoken, names_standing: Callable[[str], bool]) -> None:
        self._tokens, self._prose, self._names_standing = spoken.tokens, spoken.prose, names_standing
        # As long as the prose: what is deleted becomes spaces.
        self._low = PHRASES.DELETED.sub(lambda found: " " * len(found[0]), _lower(spoken.prose))
        self._places: dict[str, list[int]] = {}
        self._ends = [found.start() for found in _SENTENCE_END.finditer(spoken.prose)]
        self._open_ends = {found.end() for found in PHRASES.OPENS_TO.finditer(self._low)}
        breaks = PHRASES.BREAK.finditer(self._low)
        self._breaks = [found.end() for found in breaks if found[0] != ":" or found.start() not in self._open_ends]

    def judge(self) -> None:
        """Mark the tokens that are quoted or not meant, from left to right."""
        last_counting = -1
        for number, token in enumerate(self._tokens):
            token.why = self._why(token, number, last_counting)
            if token.counts:
                last_counting = token.at
        self._veto_choices()

    def _why(self, token: Token, number: int, last_counting: int) -> str:
        at, right = token.at, self._low[max(0, token.at - _LOOK_BACK) : token.at]
        start, end = self._sentence(at)
        is_behind = PHRASES.QUOTED.search(right) or (token.kind == "offer" and PHRASES.QUOTED_OFFER.search(right))
        if is_behind or PHRASES.QUOTED_BEHIND.match(self._low, at + 1):
            return "quoted"
        behind = " ".join(re.findall(r"[\w']+", self._low[at + 1 : at + 1 + 2 * _LOOK_BACK].partition(_MARK)[0]))
        if PHRASES.PUT_OFF.search(right) or PHRASES.TAKEN_BACK.match(behind) or self._within("NOT_NOW", start, at):
            return "vetoed"
        if token.kind == "offer":
            vetoed = self._is_no_offer(number, right, start)
        elif token.kind == "accept":
            vetoed = self._is_no_acceptance(at, right, start, end, last_counting)
        else:
            vetoed = self._is_no_refusal(at, right, start, end)
        return "vetoed" if vetoed else ""

    def _is_no_offer(self, number: int, right: str, start: int) -> bool:
        token, before = self._tokens[number], self._tokens[number - 1] if number else None
        follows = before is not None and not self._prose[before.at + 1 : token.at].strip()
        joined = follows and before is not None and (before.kind, before.why) == ("accept", "vetoed")
        replies_later = any(later.kind != "offer" for later in self._tokens[number + 1 : number + 4])
        tried = replies_later and self._within("TRYING", start, token.at)
        return joined or tried or PHRASES.NOT_OFFERED.search(right) is not None

    def _is_no_acceptance(self, at: int, right: str, start: int, end: int, last_counting: int) -> bool:
        low, small, reach = self._low, self._is_small_behind(at), min(end, at + _REACH)
        segment = self._segment_start(at, start, last_counting)
        ends = low[segment : min(at, segment + _LOOK_BACK)], low[max(segment, at - _LOOK_BACK) : at]
        named = PHRASES.OFFER_NAMED.match(low, at + 1, reach)
        return bool(
            any(PHRASES.COMMAND.search(part) for part in ends)
            or self._within("OPENS", segment, at)
            or self._within("CONDITION", start, end)
            or PHRASES.ONLY.match(low, end)
            or self._is_priced(at, start)
            or self._asks(at, small=small)
            or (self._prose[end - 1 : end] == "?" and PHRASES.ASKED.search(right))
            or PHRASES.ARTICLE.search(right)
            or (named and not self._names_standing(named[0] + low[named.end() : reach]))
            or (small and PHRASES.NOT_ACCEPTED.match(low, at + 1, reach))
        )

    def _is_no_refusal(self, at: int, right: str, start: int, end: int) -> bool:
        low, small = self._low, self._is_small_behind(at)
        is_worded = re.search(r"\w", low[max(start, at - _LOOK_BACK) : at]) is not None
        is_question = self._prose[end - 1 : end] == "?"
        return bool(
            self._is_priced(at, start)
            or self._within("CONDITION", start, at)
            or (small and PHRASES.CONDITION.match(low[at + 1 : at + 1 + _LOOK_BACK].lstrip(" ,")))
            or PHRASES.NOT_REFUSED.search(right)
            or PHRASES.REFUSAL_SPOKEN_OF.match(low, at + 1)
            or (is_worded and small and self._asks(at, small=True))
            or (is_question and self._within("THEY", start, at))
        )

    def _is_priced(self, at: int, start: int) -> bool:
        """Return True if a sentence first says what the other should do or give, and then what its author does in
        return."""
        if PHRASES.OFFERED_FIRST.match(self._low, start, start + _LOOK_BACK) and self._within("AND_I", start, at):
            return True
        said = self._low[start:at] if at - start < _REACH else ""
        own = PHRASES.SELF_BEFORE.search(said)
        priced = own is not None and PHRASES.PRICED.fullmatch(said[: own.start()]) is not None
        return priced and not self._names_standing(said)

    def _asks(self, at: int, *, small: bool) -> bool:
        """Return True if the next mark after a token is a `?`, and it comes right after the token or what follows is
        `small`."""
        mark = re.compile(r"[.!?;,:\n]").search(self._prose, at + 1, at + _REACH)
        return mark is not None and mark[0] == "?" and (small or mark.start() == at + 1)

    def _is_small_behind(self, at: int) -> bool:
        """Return True if what follows a token continues with a lowercase letter or a digit."""
        found = re.compile(r"[ ,\u2014\u2013-]*([^\W_])").match(self._prose, at + 1)
        return found is not None and (found[1].islower() or found[1].isdigit())

    def _veto_choices(self) -> None:
        """Veto different replies in one sentence with `or` between them, and those in a list before them: such a choice
        is named, not made."""
        replies = [token for token in self._tokens if token.kind != "offer"]
        is_choice = False
        for one, other in reversed(list(pairwise(replies))):
            is_listed = is_choice and not self._low[one.at + 1 : other.at].strip(" ,")
            differ = one.kind != other.kind and self._sentence(one.at) == self._sentence(other.at)
            is_choice = differ and (is_listed or self._within("CHOICE", one.at + 1, other.at))
            if is_choice:
                one.why, other.why = one.why or "vetoed", other.why or "vetoed"

    def _segment_start(self, at: int, start: int, last_counting: int) -> int:
        """Return the start of the part of a sentence that a token belongs to."""
        if self._low[max(0, at - 4) : at].strip() == "so":
            return at
        place = bisect_right(self._breaks, at)
        begin = max(start, last_counting + 1, self._breaks[place - 1] if place else 0)
        soft = self._places_of("SOFT")
        first = bisect_left(soft, begin)
        is_one = bisect_left(soft, at) == first + 1 and soft[first] not in self._open_ends
        return soft[first] + 1 if is_one else begin

    def _sentence(self, at: int) -> tuple[int, int]:
        """Return the start and the end of the sentence around a token."""
        place = bisect_left(self._ends, at)
        start = self._ends[place - 1] + 1 if place else 0
        return start, self._ends[place] + 1 if place < len(self._ends) else len(self._prose)

    def _places_of(self, name: str) -> list[int]:
        """Return where the phrases with this name begin."""
        if name not in self._places:
            self._places[name] = [found.start() for found in getattr(PHRASES, name).finditer(self._low)]
        return self._places[name]

    def _within(self, name: str, start: int, end: int) -> bool:
        """Return True if a phrase with this name begins between two positions."""
        places = self._places_of(name)
        at = bisect_left(places, start)
        return at < len(places) and places[at] < end


def _lower(text: str) -> str:
    """Convert to lowercase without changing the length."""
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _let_last_lines_decide(spoken: Spoken, lines: list[str]) -> None:
    """Make what comes before the last lines inert if those hold nothing but tokens; otherwise, the last of several
    different replies decides, if it is alone in its sentence and none of another kind is."""
    tokens, last, everything = spoken.tokens, len(spoken.tokens), False
    said = [line for line in lines if line]
    while said and (found := PHRASES.LAST_LINE.fullmatch(said.pop())):
        if said and PHRASES.RUNS_ON.search(said[-1][-_LOOK_BACK:].lower()):
            break
        last -= found[0].count(_MARK)
        everything = everything or found["deciding"] is not None
    decided = {token.kind == "offer" for token in tokens[last:] if token.counts}
    for token in tokens[:last]:
        if token.counts and (everything or (token.kind == "offer") in decided):
            token.why = "overruled"
    replies = spoken.counting("accept", "deny", "walk away")
    alone = [token for token in replies if _is_alone(spoken.prose, token.at)]
    if len({token.kind for token in replies}) > 1 and replies[-1] in alone and len({t.kind for t in alone}) == 1:
        for token in replies:
            if token.kind != replies[-1].kind:
                token.why = "overruled"


def _is_alone(prose: str, at: int) -> bool:
    """Return True if a token is alone in its sentence, apart from a label."""
    before = re.split(r"[.!?;\u3002\n]", prose[max(0, at - _LOOK_BACK) : at])[-1]
    behind = prose[at + 1 : at + 3].lstrip()
    return (not before.strip() or PHRASES.LABEL.fullmatch(before) is not None) and (not behind or behind[0] in ".!;\n")
