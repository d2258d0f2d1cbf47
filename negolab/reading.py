"""Reading what was said: tokens in brackets among prose, as their author meant them (`reading = "fair"`).

A token counts unless what stands around it says otherwise: it is quoted, shown as an example, put off, denied, asked or
taken back. What says so is data below: whoever finds a sentence that is read wrong adds a word and a test. The order
of the rules and their reasons stand in the guide's page of decisions. Every step is linear in the text, but for a
logarithm.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

Reading = Literal["fair", "literal"]
"""How replies are read: as their author meant them, or by the letter."""

NEGATION = (
    "no not never none nothing neither nor nope nah cannot without refuse refuses refused refusing reject rejects "
    "rejected rejecting decline declines declined declining cant dont wont wouldnt couldnt shouldnt didnt doesnt isnt "
    "arent wasnt aint"
)
"""Words that deny; so does any word in n't."""
_NOT = (
    f"{NEGATION} unable impossible hard difficult hesitate far short too instead rather than before against whether "
    "consider considering hope need needs require doubt nearly almost hardly barely scarcely perhaps maybe tempted"
)
_MAY = "would could should might may"
_YOU = "you they please"
_IF = "if unless until till once provided providing assuming otherwise"
_GIVE = (
    "add give make throw sweeten include raise lower drop send put promise pay bring toss increase double change swap"
)
_AMOUNT = r"(?:\d|\b(?:one|two|three|four|five)\b)"
_FILLER = "oh|oops|sorry|hmm|no|wait|hang on|hold on|well"


def _any(words: str) -> str:
    return rf"\b(?:{'|'.join(words.split())})\b"


_DENIES = rf"(?:{_any(_NOT)}|\b\w+n't\b|\b(?:all|anything|everything) but\b)"
_WISHES = rf"(?:{_any(_MAY)}|\b\w+'d\b)"
_OPENS = rf"(?:{_DENIES}|{_WISHES}|{_any(_YOU)})"
"""NOT, MAY and YOU: before a token, they say that it is not meant."""

DELETED = re.compile(
    r"thank you|why not|no (?:problem|doubt|worries)|(?:even|as|know) if|once (?:again|more)"
    r"|(?:\bwould|'d) (?:like|love|be happy|be glad) to|if (?:that|this|it)(?: is|'s) your (?:last|final|best) offer"
)
"""Phrases with such words that say nothing of the kind."""
CONDITION = re.compile(rf"{_any(_IF)}|\bas (?:long|soon) as\b|\bon condition\b")
QUOTED = re.compile(
    r"\b(?:you|they|he|she) (?:said|say|wrote|offered|proposed|suggested|asked|wanted|gave)(?: [\w']+){0,3} ?:? ?$"
)
QUOTED_OFFER = re.compile(r"\byour (?:\w+ )?(?:offer|proposal|trade|deal)(?: (?:of|was|is))? ?:? ?$")
SHOWN = re.compile(
    r"(?:\blooks like(?: this)?|\blike this|\bfor (?:example|instance)|\be\.g\.|\bsuch as|\bwrite|\btype"
    r"|\bsend (?:me|us)|\b(?:about|of|to|on) your|\bsays(?: that)?) ?[,:]? ?$"
)
_TRY = r"\b(?:could|might|may|would) (?:try|ask|counter|push|go)\b"
TRIED = re.compile(rf"{_TRY}(?: (?:for|with))? ?$")
TRYING = re.compile(rf"{_TRY}|\b(?:i|we) (?:could|might|may)\b")
PUT_OFF = re.compile(
    r"(?:\b(?:was|were) (?:going|about|ready|tempted) to|\bno (?:need|reason) to|\bafford to|\brather than|\binstead of"
    r"|\bnever said|\bfirst thought was|\b(?:thought|thinking) (?:about|of)(?: \w+ing)?(?: with)?) ?$"
)
LATER = re.compile(
    r"\bnext (?:turn|round|time)\b|\blater\b|\bin the future\b|\b(?:would|could|might) have\b|\bat first\b"
    r"|\binitially\b|\boriginally\b"
)
LISTED = re.compile(
    r"\b(?:examples?|instances?|format|instructions?|rule sheet|rules? (?:say|shows?)|options|choices|alternatives)\b"
)
TAKEN_BACK = re.compile(
    rf"(?:(?:{_FILLER}) ){{0,4}}(?:no wait|wait no|hang on|hold on|(?:scratch|ignore) that|forget (?:it|that)"
    r"|wrong token|my finger slipped|i (?:hit|pressed|typed|wrote) (?:that|it|this) by mistake|i (?:mixed up|misread)"
    r"|i meant|i mean(?! it| that)|let me correct|correction|i take (?:it|that) back|no sorry)\b"
)
COMMAND = re.compile(r"^\W*(?:reply|respond|say|press|type|send|use|just)\b|\b(?:me|order) to\W*$|^\W*to\W*$")
OFFERED_FIRST = re.compile(rf"^\W*(?:please )?(?:{'|'.join(_GIVE.split())})\b")
ONLY = re.compile(r"\s*(?:but )?only\b")
NO_ACTION = re.compile(
    r" ?(?:(?:is|was|will|would|can|could|should|does)(?:n't)?|means|closes|subject to|an?|any|anything|something"
    r"|another|whatever|every|more"
    r"|less|my|mine|no|not|none|nothing|part|half|most|some)\b"
)
"""Right behind `[Accept]`, small: it is spoken of, or something else is accepted."""
NOT_AS_IT_STANDS = re.compile(r"(?: ?(?:,|\u2014|\u2013|-))? ?(?:or|nor|when|only|after)\b")
AT_ANOTHER = re.compile(r"(?: ?(?:,|\u2014|\u2013|-))? ?(?:for|in|with|at|plus|but|however)\b([^.!?;,\n]*)")
ARTICLE = re.compile(r"\b(?:an?|the|your|any|my)(?: (?:token|word))? ?$")
_BETWEEN = r"(?: (?:to|be|able|want|going|like|have|just|even|ever|yet|say|ready|time|for|a))*"
_DENIED = rf"(?:{_any('not never cannot nor dont cant wont')}|\b\w+n't)"
NOT_DONE = re.compile(rf"(?:{_DENIED}|{_WISHES}|{_any(_YOU)}){_BETWEEN} ?$")
OFFER_NOT_DONE = re.compile(rf"(?:{_DENIED}{_BETWEEN}|\bplease) ?$")
_MODAL = "can could will would should may might must"
YOURS_TO_OFFER = re.compile(
    rf"(?:{_any(f'if do {_MODAL}')} (?:you|they)|\b(?:you|they) (?:if|do|to|{'|'.join(_MODAL.split())})) ?$"
)
IS_SPOKEN_OF = re.compile(r" ?(?:is|was|isn't|wasn't)\b")
CHOICE = re.compile(r"\bn?or\b|/")
LABEL = re.compile(
    r"\W*(?:(?:my|the|final)\s+)*(answer|decision|action|response|reply|move)(?:\s+is)?\s*:?[\s.,!]*$", re.IGNORECASE
)
RUNS_ON = re.compile(rf"(?:{_OPENS}|\bto)\W*$")
"""The end of a line that goes on in the next."""

_LOOK_BACK = 80
"""Characters before a token in which what stands right before it is looked for."""
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
_BULLET = re.compile(r"\s*(?:[-*\u2022]\s+|#+\s*)")
_NUMBERED = re.compile(r"\s*(\d{1,4})[.)]\s+")
_EMPHASIS = re.compile(r'[*_`"]|\\(?=[\[\]])')
_BRACKET = re.compile(r"\[((?:[^\[\]]++|\[[^\[\]]*+\])*+)\]")
_REPLY = re.compile(
    r"(accept|deny|reject|decline|walk\s+away)(?:\s+(?:(?:the|this|your)\s+)?(?:offer|trade|deal))?\s*[.!,]?",
    re.IGNORECASE,
)
_OFFER = re.compile(r"\s*(?:counter-?\s?)?offer(?:\s*:|\s)(.*)", re.IGNORECASE | re.DOTALL)
_BARE_OFFER = re.compile(r"offer\s*:?", re.IGNORECASE)
_REST = re.compile(r"[*_`\"]*\s*:?\s*([^\[\]\n]*)")


REASONING_OPEN = "Your reasoning does not end: close it with </think>, then write your message."


def without_reasoning(text: str) -> str | None:
    """Return what is said behind the reasoning that a text begins with; None if reasoning is left open."""
    end, is_open, at = 0, False, 0
    for line in text.split("\n"):
        if not line.lstrip().startswith(">"):
            for tag in _REASONING.finditer(line):
                is_open = not tag[1]
                end = end if is_open else at + tag.end()
        at += len(line) + 1
    return None if is_open else text[end:]


def spoken_lines(text: str) -> list[str]:
    """Return the lines of a text without those that only fence code and those that are quoted by `>`."""
    return [line for line in text.split("\n") if not (_FENCE.fullmatch(line) or line.lstrip().startswith(">"))]


def straight(text: str) -> str:
    """Write curly quotes, blanks and full-width characters as plain ones; the length stays."""
    return text.translate(_STRAIGHT)


def with_arrows(body: str) -> str:
    """Write each kind of arrow as `->`, and a multiplication sign as `x`."""
    return _ARROW.sub("->", body).replace("\u00d7", "x")


class Token:
    """A token in brackets.

    Attributes:
        kind: "accept", "deny", "walk away" or "offer".
        body: What an offer says.
        words: What stands in its brackets.
        at: Its place in the prose.
        why: Why it is inert: "quoted", "vetoed" or "overruled"; "" if it counts.
    """

    def __init__(self, kind: str, body: str, words: str) -> None:
        self.kind, self.body, self.words, self.at, self.why = kind, body, words, 0, ""

    @property
    def counts(self) -> bool:
        """True unless it is inert."""
        return not self.why


class Spoken(NamedTuple):
    """The tokens of a text in their order, the prose in which each of them is one character, and what stands between
    them, word for word."""

    tokens: list[Token]
    prose: str
    pieces: list[str]

    def counting(self, *kinds: str) -> list[Token]:
        """The tokens of these kinds that count."""
        return [token for token in self.tokens if token.counts and token.kind in kinds]

    @property
    def vetoed(self) -> str:
        """The sentence of the first token that was not meant; "" if there is none."""
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
        """The talk beside the tokens that count, on one line; a token that is inert has no brackets."""
        inert = ["" if token.counts else token.words for token in self.tokens]
        parts = zip(self.pieces, [*inert, ""], strict=True)
        return " ".join(" ".join(f"{piece} {words}" for piece, words in parts).split())


def read_tokens(text: str, *, is_offer: Callable[[str], bool] = lambda body: False) -> Spoken:
    """Find the tokens of a text, and which of them are meant.

    Args:
        text: The text without reasoning.
        is_offer: Whether what follows a bare `[Offer]` on its line is the body of one.
    """
    kept = "\n".join(spoken_lines(text))
    flat = straight(kept)
    tokens: list[Token] = []
    spans = [0]
    for start, stop, kind, body in _brackets(flat, is_offer):
        tokens.append(Token(kind, body, " ".join(flat[start + 1 : stop].rstrip("]").split())))
        spans += [start, stop]
    spans.append(len(flat))
    between = list(zip(spans[::2], spans[1::2], strict=True))
    lines = _plain_lines(_MARK.join(flat[start:end] for start, end in between))
    prose = _joined(lines)
    for token, place in zip(tokens, re.finditer(_MARK, prose), strict=True):
        token.at = place.start()
    spoken = Spoken(tokens, prose, [kept[start:end] for start, end in between])
    if tokens:
        _Judge(spoken).judge()
        _let_last_lines_decide(spoken, lines)
    return spoken


def _brackets(flat: str, is_offer: Callable[[str], bool]) -> Iterator[tuple[int, int, str, str]]:
    """Yield start, end, kind and body of each token."""
    at = 0
    while found := _BRACKET.search(flat, at):
        start, stop = found.span()
        at = start + 1
        if _is_letter(flat[start - 1 : start]) or _is_letter(flat[stop : stop + 1]):
            continue
        inner = _EMPHASIS.sub("", found[1]).strip().strip("\\'").strip()
        if reply := _REPLY.fullmatch(inner):
            yield start, stop, _KINDS.get(word := " ".join(reply[1].lower().split()), word), ""
        elif offer := _OFFER.match(found[1].lstrip("*_`\"'")):
            yield start, stop, "offer", offer[1].strip().rstrip("\\*_`\"'")
        elif _BARE_OFFER.fullmatch(inner) and (rest := _REST.match(flat, stop)) and is_offer(rest[1]):
            stop = rest.end()
            yield start, stop, "offer", rest[1]
        else:
            continue
        at = stop


_KINDS = {"reject": "deny", "decline": "deny"}


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def _plain_lines(text: str) -> list[str]:
    """Return the lines of a text without marks of lists and emphasis."""
    lines = text.split("\n")
    numbers = [int(found[1]) for line in lines if (found := _NUMBERED.match(line))]
    counted = numbers[:2] == [1, 2]
    plain = []
    for line in lines:
        mark = _BULLET.match(line) or (_NUMBERED.match(line) if counted else None)
        plain.append(" ".join(_EMPHASIS.sub("", line[mark.end() if mark else 0 :]).split()))
    return plain


def _joined(lines: list[str]) -> str:
    """Join lines: by a blank where a sentence goes on in the next one, else by a line break."""
    parts: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        parts += [line, " " if line and after and _goes_on(line, after) else "\n"]
    return "".join(parts)


def _goes_on(line: str, after: str) -> bool:
    last, first = line[-1], after[0]
    if last == _MARK:
        return True
    if _only_tokens(after):
        return RUNS_ON.search(line[-_LOOK_BACK:].lower()) is not None
    return (last.isalnum() or last in ",:") and (first.islower() or first.isdigit() or first in f"[{_MARK}")


def _only_tokens(line: str) -> bool:
    return not line.strip(f"{_MARK} .,!")


_SENTENCE_END = re.compile(r"[!?;\u3002\n]")
_SOFT = re.compile(r",|\u2026|\.{2,}|\u2014|\u2013| - ")
_BUT = re.compile(r"(?<!\ball )(?<!\banything )(?<!\beverything )\bbut\b")
_SO_I = re.compile(r"\b(?:so|and|then|therefore)(?= (?:i|we)\b(?! ?(?:,|\u2026|\.\.|\u2014|\u2013| - )))")


class _Judge:
    """Decides which tokens are meant, from the prose around them."""

    def __init__(self, spoken: Spoken) -> None:
        self.tokens, prose = spoken.tokens, spoken.prose
        self.prose = prose
        # As long as the prose: what is deleted becomes blanks.
        self.low = DELETED.sub(lambda found: " " * len(found[0]), _lower(prose))
        self.ends = sorted([*_places(_SENTENCE_END, prose), *_points(prose)])
        self.opens = _places(re.compile(_OPENS), self.low)
        self.open_ends = {found.end() for found in re.finditer(rf"{_OPENS} ?", self.low)}
        self.soft = _places(_SOFT, self.low)
        self.breaks = [found.end() for found in re.finditer(":", self.low) if found.start() not in self.open_ends]
        self.breaks += [found.end() for found in _BUT.finditer(self.low)]
        self.breaks += [found.end() for found in _SO_I.finditer(self.low)]
        self.breaks.sort()
        self.ifs, self.later = _places(CONDITION, self.low), _places(LATER, self.low)
        self.listed, self.trying = _places(LISTED, self.low), _places(TRYING, self.low)
        self.questions = _places(re.compile(r"\?"), prose)
        self.yous = _places(re.compile(r"\b(?:you|they)\b"), self.low)

    def judge(self) -> None:
        """Mark the tokens that are quoted or not meant, from left to right."""
        last_counting = -1
        for number, token in enumerate(self.tokens):
            token.why = self._why(token, number, last_counting)
            if token.counts:
                last_counting = token.at
        self._veto_choices()

    def _why(self, token: Token, number: int, last_counting: int) -> str:
        at, right = token.at, self.low[max(0, token.at - _LOOK_BACK) : token.at]
        start, end = self._sentence(at)
        if QUOTED.search(right) or (token.kind == "offer" and QUOTED_OFFER.search(right)):
            return "quoted"
        if PUT_OFF.search(right) or self._within(self.later, start, at) or self._within(self.listed, start, at):
            return "vetoed"
        if TAKEN_BACK.match(_words(self.low[at + 1 : at + 1 + 2 * _LOOK_BACK].partition(_MARK)[0])):
            return "vetoed"
        if token.kind == "offer":
            vetoed = self._is_no_offer(number, right, start)
        elif token.kind == "accept":
            vetoed = self._is_no_acceptance(at, right, start, end, last_counting)
        else:
            vetoed = self._is_no_refusal(at, right, start, end)
        return "vetoed" if vetoed else ""

    def _is_no_offer(self, number: int, right: str, start: int) -> bool:
        token, before = self.tokens[number], self.tokens[number - 1] if number else None
        replies_later = any(later.kind != "offer" for later in self.tokens[number + 1 : number + 4])
        return bool(
            SHOWN.search(right)
            or TRIED.search(right)
            or (replies_later and self._within(self.trying, start, token.at))
            or OFFER_NOT_DONE.search(right)
            or YOURS_TO_OFFER.search(right)
            or (
                before is not None
                and before.kind == "accept"
                and before.why == "vetoed"
                and not self.prose[before.at + 1 : token.at].strip()
            )
        )

    def _is_no_acceptance(self, at: int, right: str, start: int, end: int, last_counting: int) -> bool:
        segment = self._segment_start(at, start, last_counting)
        behind, small = self.low[at + 1 : end], self._is_small_behind(at)
        command = COMMAND.search(self.low[segment:at][:_LOOK_BACK]) or COMMAND.search(right[-(at - segment) or None :])
        if command and not right.endswith("no choice but to "):
            return True
        if self._within(self.opens, segment, at) or self._within(self.ifs, start, end):
            return True
        if ONLY.match(self.low, end) or (
            OFFERED_FIRST.match(self.low[start : start + _LOOK_BACK])
            and re.search(r"\b(?:and|then) (?:i|we)\b", self.low[max(start, at - 400) : at])
        ):
            return True
        if self._asks(at, small=small) or ARTICLE.search(right):
            return True
        if not small:
            return False
        another = AT_ANOTHER.match(behind)
        return bool(
            NO_ACTION.match(behind)
            or re.match(rf" ?{_AMOUNT}", behind)
            or NOT_AS_IT_STANDS.match(behind)
            or (another and re.search(_AMOUNT, another[1]))
        )

    def _is_no_refusal(self, at: int, right: str, start: int, end: int) -> bool:
        small = self._is_small_behind(at)
        behind = self.low[at + 1 : at + 1 + _LOOK_BACK]
        if self._within(self.ifs, start, at) or (small and CONDITION.match(behind.lstrip(" ,"))):
            return True
        if NOT_DONE.search(right) or IS_SPOKEN_OF.match(behind) or self.prose[at + 1 : at + 2] == "?":
            return True
        asks = self.prose[end - 1 : end] == "?"
        worded = re.search(r"\w", self.low[start:at][-_LOOK_BACK:]) is not None
        return (worded and small and self._asks(at, small=True)) or (asks and self._within(self.yous, start, at))

    def _asks(self, at: int, *, small: bool) -> bool:
        """True if a `?` is the next mark behind a token, and right behind it or what follows is small."""
        if self.prose[at + 1 : at + 2] == "?":
            return True
        mark = re.compile(r"[.!?;,:\n]").search(self.prose, at + 1)
        return small and mark is not None and mark[0] == "?"

    def _is_small_behind(self, at: int) -> bool:
        """True if what follows a token goes on with a small letter or a digit."""
        found = re.compile(r"[ ,\u2014\u2013-]*([^\W_])").match(self.prose, at + 1)
        return found is not None and (found[1].islower() or found[1].isdigit())

    def _veto_choices(self) -> None:
        """Different replies in one sentence with `or` between are a choice that is named, not made."""
        replies = [token for token in self.tokens if token.kind != "offer"]
        for one, other in pairwise(replies):
            is_choice = one.kind != other.kind and CHOICE.search(self.low[one.at + 1 : other.at])
            if is_choice and self._sentence(one.at) == self._sentence(other.at):
                one.why, other.why = one.why or "vetoed", other.why or "vetoed"

    def _segment_start(self, at: int, start: int, last_counting: int) -> int:
        """Return where the part of a sentence begins that a token belongs to."""
        place = bisect_right(self.breaks, at)
        begin = max(start, last_counting + 1, self.breaks[place - 1] if place else 0)
        if self.low[max(0, at - 4) : at].strip() == "so":
            return at
        marks = self.soft[bisect_left(self.soft, begin) : bisect_left(self.soft, at)]
        if len(marks) == 1 and marks[0] not in self.open_ends:
            return marks[0] + 1
        return begin

    def _sentence(self, at: int) -> tuple[int, int]:
        """Return the start and the end of the sentence around a token."""
        place = bisect_left(self.ends, at)
        start = self.ends[place - 1] + 1 if place else 0
        return start, self.ends[place] + 1 if place < len(self.ends) else len(self.prose)

    @staticmethod
    def _within(places: list[int], start: int, end: int) -> bool:
        at = bisect_left(places, start)
        return at < len(places) and places[at] < end


def _places(pattern: re.Pattern[str], text: str) -> list[int]:
    return [found.start() for found in pattern.finditer(text)]


def _points(text: str) -> Iterator[int]:
    """Yield the points that end a sentence: not one of several, and not between digits."""
    for found in re.finditer(r"(?<!\.)\.(?!\.)", text):
        at = found.start()
        if not (text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()):
            yield at


def _words(text: str) -> str:
    return " ".join(re.findall(r"[\w']+", text))


def _lower(text: str) -> str:
    """Lower-case without a change of length."""
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _let_last_lines_decide(spoken: Spoken, lines: list[str]) -> None:
    """Make what stands before the last lines inert, if they hold nothing but tokens; else the last of different replies
    decides, if it is alone in its sentence and none of another kind is."""
    tokens = spoken.tokens
    last = len(tokens)
    everything = False
    while lines and not lines[-1]:
        lines = lines[:-1]
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        label = LABEL.match(line.split(_MARK)[0]) if _MARK in line else None
        if not (_MARK in line and _only_tokens(line[line.index(_MARK) :]) and (label or line.startswith(_MARK))):
            break
        before = next((each for each in reversed(lines[:number]) if each), "")
        if RUNS_ON.search(before[-_LOOK_BACK:].lower()):
            break
        last -= line.count(_MARK)
        everything = everything or (label is not None and label[1].lower() in ("answer", "decision"))
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
    """True if a token is alone in its sentence, a label aside."""
    before = re.split(r"[.!?;\u3002\n]", prose[max(0, at - _LOOK_BACK) : at])[-1]
    behind = prose[at + 1 : at + 3].lstrip()
    return (not before.strip() or LABEL.match(before) is not None) and (not behind or behind[0] in ".!;\n")
