"""Parsing of messages: one reader for the rules as the prompt states them, one for the reference's.

Both read in linear time. Free text may contain nested braces, one level deep.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from functools import lru_cache
from typing import Literal, NamedTuple

from typing_extensions import override

from negolab.games.balloon.prompt import Tags, language
from negolab.games.balloon.state import Names, Rules, Say
from negolab.reading import spoken_lines, straight, without_reasoning

# Python set literals, parsed by Python's own parser, with a fast path for plain quoted names.

_MAX_CACHED_LITERAL = 2_000
_WARNINGS_LOCK = threading.Lock()


class SetLiteral(NamedTuple):
    """The contents of braces. In a `mixed` set, elements that are not strings, and so not items, are replaced by ''; a
    `dict` has no names, and one without keys is `empty`."""

    names: frozenset[str]
    kind: Literal["strings", "mixed", "dict", "empty"]


def parse_set(body: str) -> SetLiteral:
    """Parse `{body}`; raise `ValueError` if `ast.literal_eval` would raise anything."""
    return _parse_cached(body) if len(body) <= _MAX_CACHED_LITERAL else _parse_uncached(body)


def _parse_uncached(body: str) -> SetLiteral:
    plain = _parse_plain(body)
    return _from_tree(_syntax_tree(body)) if plain is None else SetLiteral(plain, "strings")


_parse_cached = lru_cache(maxsize=4096)(_parse_uncached)


def _parse_plain(body: str) -> frozenset[str] | None:
    """Parse `'A01', 'B02'` with one kind of quote and no escapes; None for anything else."""
    quote = body[:1]
    if quote not in ("'", '"') or body[-1:] != quote or "\\" in body or not body.isprintable():
        return None
    parts = body[1:-1].split(f"{quote}, {quote}")
    return frozenset(parts) if body.count(quote) == 2 * len(parts) else None


def _syntax_tree(body: str) -> ast.expr:
    # Warnings about odd escapes are of no use here, and under `-W error` they would change the reading.
    with _WARNINGS_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(f"{{{body}}}", mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise ValueError("no Python literal") from error


def _from_tree(tree: ast.expr) -> SetLiteral:
    if isinstance(tree, ast.Dict):
        for key, value in zip(tree.keys, tree.values, strict=True):
            _hashable_value(key)
            _literal_value(value)
        return SetLiteral(frozenset(), "dict" if tree.keys else "empty")
    if not isinstance(tree, ast.Set):
        raise ValueError("no set")
    values = [_hashable_value(part) for part in tree.elts]
    strings = frozenset(value for value in values if isinstance(value, str))
    if all(isinstance(value, str) for value in values):
        return SetLiteral(strings, "strings")
    return SetLiteral(strings | {""}, "mixed")


def _hashable_value(part: ast.expr | None) -> object:
    """Evaluate one element; evaluated as a set, numbers chosen to collide would take quadratic time."""
    value = _literal_value(part)
    try:
        hash(value)
    except TypeError as error:
        raise ValueError("unhashable") from error
    return value


def _literal_value(part: ast.expr | None) -> object:
    try:
        return ast.literal_eval(part)  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("no Python literal") from error


_NESTED = r"\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}"
_MAX_CACHED_TEXT = 4_000

NO_SET: Names = frozenset({None})  # type: ignore[arg-type]
"""Stands for a dict, which the reference's rules refuse and its reader does not; equals no set that can be read."""


class ReadError(NamedTuple):
    """The fault in a text that is not a message: its code, and the tag word concerned."""

    code: str
    tag: str


class Blocks(NamedTuple):
    """Consecutive blocks at the start of a text: moves as (tag, body), the number of arguments, and where the blocks
    end."""

    moves: list[tuple[str, str]]
    arguments: int
    end: int


class Reader:
    """Base class: parses texts in one language, with or without reasoning and argument blocks."""

    def __init__(self, tags: Tags, *, reasoning: bool, argument: bool) -> None:
        self.tags = tags
        self.reasoning = reasoning
        self.argument = argument
        self._reasoning = re.compile(rf"\s*+{re.escape(tags.reasoning)}:\s*+{_NESTED}")
        self._argument = re.compile(rf"{re.escape(tags.argument)}:\s*+{_NESTED}")
        moves = "|".join(map(re.escape, (tags.propose, tags.refuse, tags.agree)))
        self._block = re.compile(rf"\s*+(?:({moves}):\s*+\{{([^}}]*+)\}}|{self._argument.pattern})")
        # A message is read when it is heard and again when it is played.
        self._kept = lru_cache(maxsize=256)(self._read)

    def read(self, text: str) -> Say | ReadError:
        """Parse a text into a message."""
        return self._kept(text) if len(text) <= _MAX_CACHED_TEXT else self._read(text)

    def talk(self, text: str) -> str:
        """Return what a delivered text says besides its moves, on one line: arguments without their tags."""
        bare = self._block.sub(lambda block: " " if block[1] else block[0], text)
        tag = f"{self.tags.argument}:"
        said = self._argument.sub(lambda block: block[0].removeprefix(tag).strip().strip("{}").strip("' \""), bare)
        return " ".join(said.split())

    def write(self, say: Say) -> str:
        """Write a message as text."""
        return say.text if say.reasoning is None else f"{self.tags.reasoning}: {{{say.reasoning}}}\n{say.text}"

    def read_delivered(self, text: str) -> Say:
        """Parse a text that the other seat delivered: its moves, without reasoning."""
        raise NotImplementedError

    def _read(self, text: str) -> Say | ReadError:
        reasoning, rest = None, text
        if self.reasoning:
            block = self._reasoning.match(text)
            if block is None:
                return ReadError("no_reasoning", self.tags.reasoning)
            found = block[0]
            reasoning, rest = found[found.index("{") + 1 : -1], text[block.end() :].strip()
        return self._message(text, rest, reasoning)

    def _message(self, text: str, rest: str, reasoning: str | None) -> Say | ReadError:
        """Parse a message whose reasoning block was removed; `rest` is the text after it."""
        raise NotImplementedError

    def _split(self, text: str) -> Blocks:
        moves: list[tuple[str, str]] = []
        arguments = end = 0
        match = self._block.match
        while (block := match(text, end)) is not None:
            end = block.end()
            tag, body = block.groups()
            if tag is None:
                arguments += 1
            else:
                moves.append((tag, body))
        return Blocks(moves, arguments, end)

    def _lacks_argument(self, text: str) -> bool:
        return self.argument and self._argument.search(text) is None


class Blocked(NamedTuple):
    """The patterns for a line that begins with a tag and for the end of a block, in one language."""

    tag: re.Pattern[str]
    words: dict[str, str]


_MARKS = r"[*_`\"]*"
_BLOCK_END = re.compile(rf"\}}{_MARKS}[.,;]?{_MARKS}[ \t]*$")


@lru_cache(maxsize=16)
def _blocked(tags: Tags) -> Blocked:
    words = {word.lower(): word for word in (tags.propose, tags.refuse, tags.agree, tags.argument, tags.reasoning)}
    either = "|".join(map(re.escape, words))
    list_mark = r"(?:[-\u2022*]\s+|#+\s*|\d++[.)]\s+)?"
    return Blocked(re.compile(rf"\s*{list_mark}{_MARKS}({either}){_MARKS}:{_MARKS}\s*", re.IGNORECASE), words)


def fair_text(text: str, tags: Tags) -> str | None:
    """Rewrite the tags in a text as the rules write them: in their case, without marks around them or their blocks.

    Return None if its reasoning is left open.
    """
    spoken = without_reasoning(text)
    if spoken is None:
        return None
    known, lines = _blocked(tags), []
    for line in spoken_lines(spoken):
        if found := known.tag.match(line):
            body = _BLOCK_END.sub("}", line[found.end() :])
            # Quotes separate the names in a set; elsewhere they are part of what was said.
            body = straight(body) if len(body) <= _MAX_CACHED_TEXT else body
            line = f"{known.words[found[1].lower()]}: {body}"
        lines.append(line)
    return "\n".join(lines)


class Stated(Reader):
    """Reader for the rules as the prompt states them: consecutive blocks; free text has no effect."""

    @override
    def read_delivered(self, text: str) -> Say:
        said = self._message(text, text, None)
        return said if isinstance(said, Say) else Say(text)

    @override
    def _message(self, text: str, rest: str, reasoning: str | None) -> Say | ReadError:
        moves, arguments, end = self._split(rest)
        if not arguments and self._lacks_argument(rest):
            return ReadError("no_argument", self.tags.argument)
        if not _is_blank(rest[end:]):
            return ReadError("untagged", "")
        return self._say(moves, rest, reasoning)

    def _say(self, moves: list[tuple[str, str]], rest: str, reasoning: str | None) -> Say | ReadError:
        tags = self.tags
        sets: dict[str, list[Names]] = {tags.propose: [], tags.refuse: [], tags.agree: []}
        for tag, body in moves:
            found = _parse_set(body)
            if found is None or found.kind in ("mixed", "dict"):
                return ReadError("bad_set", tag)
            sets[tag].append(found.names)
        if _is_blank(rest):
            return ReadError("nothing_to_relay", "")
        return Say(rest, reasoning, *map(tuple, sets.values()))


class Reference(Reader):
    """Reader for clembench's `hot_air_balloon`: it deletes blocks from the text and searches the whole text for
    moves."""

    def __init__(self, tags: Tags, *, reasoning: bool, argument: bool) -> None:
        super().__init__(tags, reasoning=reasoning, argument=argument)
        self._tags = (tags.agree, tags.refuse, tags.propose)
        self._heads = tuple(re.compile(rf"{re.escape(tag)}:\s*+\{{") for tag in self._tags)
        self._blocks = tuple(re.compile(rf"{head.pattern}[^}}]*+\}}") for head in self._heads)

    @override
    def read_delivered(self, text: str) -> Say:
        moves = self._moves(text)
        return Say(text) if isinstance(moves, ReadError) else Say(text, None, moves[2], moves[1], moves[0])

    @override
    def _message(self, text: str, rest: str, reasoning: str | None) -> Say | ReadError:
        if self._lacks_argument(text):
            return ReadError("no_argument", self.tags.argument)
        if not _is_blank(self._left(text)):
            return ReadError("untagged", "")
        moves = self._moves(text)
        if isinstance(moves, ReadError):
            return moves
        if reasoning is not None and not rest:
            return ReadError("nothing_to_relay", "")
        return Say(rest, reasoning, moves[2], moves[1], moves[0])

    def _left(self, text: str) -> str:
        """Delete one kind of block after another and return the rest; a deletion may form a block of a later kind."""
        left = text
        for tag, block in zip(self._tags, self._blocks, strict=True):
            if tag in left:
                # After the last `}` nothing can match, and before it every `{` is closed, so no scan is in vain.
                end = left.rfind("}") + 1
                left = block.sub("", left[:end]) + left[end:]
        if self.reasoning:
            left = self._reasoning.sub("", left, count=1) if self._reasoning.match(left) else left
        return self._argument.sub("", left) if self.argument else left

    def _moves(self, text: str) -> list[tuple[Names, ...]] | ReadError:
        """Collect the sets of each kind, in the order of `_tags`."""
        moves: list[tuple[Names, ...]] = []
        for tag, head in zip(self._tags, self._heads, strict=True):
            sets: list[Names] = []
            for body in _bodies_on_one_line(text, head) if tag in text else ():
                found = _parse_set(body)
                if found is None:
                    return ReadError("bad_set", tag)
                sets.append(NO_SET if found.kind in ("dict", "empty") else found.names)
            moves.append(tuple(sets))
        return moves


def _bodies_on_one_line(text: str, head: re.Pattern[str]) -> list[str]:
    """Return the contents of the braces after each `head`, up to the first `}` on the same line."""
    bodies = []
    end = close = line = -1
    for start in head.finditer(text):
        at = start.end()
        if start.start() < end:
            continue
        if close < at:
            close = text.find("}", at)
            if close < 0:
                break
        if line < at:
            line = text.find("\n", at)
            line = len(text) if line < 0 else line
        if close < line:
            bodies.append(text[at:close])
            end = close + 1
    return bodies


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _parse_set(body: str) -> SetLiteral | None:
    try:
        return parse_set(body)
    except ValueError:
        return None


@lru_cache(maxsize=64)
def reader(rules: Rules, name: str, reasoning: bool, argument: bool) -> Reader:
    """Return the reader for a game's texts in the language `name`."""
    cls = Stated if rules == "stated" else Reference
    return cls(language(name).tags, reasoning=reasoning, argument=argument)
