"""From a text to a message: one reader for the rules as the prompt states them, one for the reference's.

Both read in linear time. Free text may have braces within its braces, one level deep.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from typing_extensions import override

from negolab.games.balloon.language import Tags, language
from negolab.games.balloon.literal import Display, display
from negolab.games.balloon.state import Names, Rules, Say

_NESTED = r"\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}"
_LONG = 4_000

NO_SET: Names = frozenset({None})  # type: ignore[arg-type]
"""Stands for a dict where the reference's rules, not its reader, refuse it. It equals no set that can be read."""


class Misread(NamedTuple):
    """Why a text is no message: the code, and the tag word concerned."""

    code: str
    tag: str


class Blocks(NamedTuple):
    """Blocks side by side at the start of a text: moves as tag and body, how many arguments, and where they end."""

    moves: list[tuple[str, str]]
    arguments: int
    end: int


class Reader:
    """Reads texts of one language under one setting of reasoning and argument."""

    def __init__(self, tags: Tags, *, reasoning: bool, argument: bool) -> None:
        self.tags = tags
        self.reasoning = reasoning
        self.argument = argument
        self._reasoning = re.compile(rf"\s*+{re.escape(tags.reasoning)}:\s*+{_NESTED}")
        self._argument = re.compile(rf"{re.escape(tags.argument)}:\s*+{_NESTED}")
        moves = "|".join(map(re.escape, (tags.propose, tags.refuse, tags.agree)))
        self._block = re.compile(rf"\s*+(?:({moves}):\s*+\{{([^}}]*+)\}}|{self._argument.pattern})")
        # A message is read when it is heard and once more when it is played.
        self._kept = lru_cache(maxsize=256)(self._read)

    def read(self, text: str) -> Say | Misread:
        """The message a text is."""
        return self._kept(text) if len(text) <= _LONG else self._read(text)

    def write(self, say: Say) -> str:
        """The text of a message."""
        return say.text if say.reasoning is None else f"{self.tags.reasoning}: {{{say.reasoning}}}\n{say.text}"

    def heard(self, text: str) -> Say:
        """What a text handed on by the other seat holds: its moves, without its reasoning."""
        raise NotImplementedError

    def _read(self, text: str) -> Say | Misread:
        reasoning, rest = None, text
        if self.reasoning:
            block = self._reasoning.match(text)
            if block is None:
                return Misread("no_reasoning", self.tags.reasoning)
            found = block[0]
            reasoning, rest = found[found.index("{") + 1 : -1], text[block.end() :].strip()
        return self._message(text, rest, reasoning)

    def _message(self, text: str, rest: str, reasoning: str | None) -> Say | Misread:
        """The message, once its reasoning block has been taken off; `rest` is what follows it."""
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


class Stated(Reader):
    """The rules as the prompt states them: blocks one after the other, and free text is inert."""

    @override
    def heard(self, text: str) -> Say:
        said = self._message(text, text, None)
        return said if isinstance(said, Say) else Say(text)

    @override
    def _message(self, text: str, rest: str, reasoning: str | None) -> Say | Misread:
        moves, arguments, end = self._split(rest)
        if not arguments and self._lacks_argument(rest):
            return Misread("no_argument", self.tags.argument)
        if not _blank(rest[end:]):
            return Misread("untagged", "")
        return self._say(moves, rest, reasoning)

    def _say(self, moves: list[tuple[str, str]], rest: str, reasoning: str | None) -> Say | Misread:
        tags = self.tags
        sets: dict[str, list[Names]] = {tags.propose: [], tags.refuse: [], tags.agree: []}
        for tag, body in moves:
            found = _display(body)
            if found is None or found.kind in ("mixed", "dict"):
                return Misread("bad_set", tag)
            sets[tag].append(found.names)
        if _blank(rest):
            return Misread("nothing_to_relay", "")
        return Say(rest, reasoning, *map(tuple, sets.values()))


class Reference(Reader):
    """clembench's `hot_air_balloon`: blocks are deleted from the text, moves looked up in all of it."""

    def __init__(self, tags: Tags, *, reasoning: bool, argument: bool) -> None:
        super().__init__(tags, reasoning=reasoning, argument=argument)
        self._tags = (tags.agree, tags.refuse, tags.propose)
        every = (*self._tags, tags.argument, tags.reasoning)
        self._distinct = not any(tag != end and tag.endswith(end) for tag in every for end in every)
        self._heads = tuple(re.compile(rf"{re.escape(tag)}:\s*+\{{") for tag in self._tags)
        self._blocks = tuple(re.compile(rf"{head.pattern}[^}}]*+\}}") for head in self._heads)

    @override
    def heard(self, text: str) -> Say:
        moves = self._moves(text)
        return Say(text) if isinstance(moves, Misread) else Say(text, None, moves[2], moves[1], moves[0])

    @override
    def _message(self, text: str, rest: str, reasoning: str | None) -> Say | Misread:
        plain = self._plain(text, rest, reasoning)
        if plain is not None:
            return plain
        if self._lacks_argument(text):
            return Misread("no_argument", self.tags.argument)
        if not _blank(self._left(text)):
            return Misread("untagged", "")
        moves = self._moves(text)
        if isinstance(moves, Misread):
            return moves
        if reasoning is not None and not rest:
            return Misread("nothing_to_relay", "")
        return Say(rest, reasoning, moves[2], moves[1], moves[0])

    def _plain(self, text: str, rest: str, reasoning: str | None) -> Say | None:
        """The message if it is blocks side by side with one colon to each: then no tag hides in any, none can form by
        a deletion, and this reads as the long way does. None leaves it to that."""
        moves, arguments, end = self._split(rest)
        colons = len(moves) + arguments + (reasoning is not None)
        if bool(arguments) != self.argument or text.count(":") != colons or not self._distinct:
            return None
        if not rest or not _blank(rest[end:]):
            return None
        sets: dict[str, list[Names]] = {tag: [] for tag in self._tags}
        for tag, body in moves:
            found = None if "\n" in body else _display(body)
            if found is None or found.kind in ("dict", "empty"):
                return None
            sets[tag].append(found.names)
        agree, refuse, propose = map(tuple, sets.values())
        return Say(rest, reasoning, propose, refuse, agree)

    def _left(self, text: str) -> str:
        """What remains when one kind of block after the other is deleted; a deletion may form a block of a later."""
        left = text
        for tag, block in zip(self._tags, self._blocks, strict=True):
            if tag in left:
                # After the last `}` nothing can match, and before it every `{` is closed: no scan comes to nothing.
                end = left.rfind("}") + 1
                left = block.sub("", left[:end]) + left[end:]
        if self.reasoning:
            left = self._reasoning.sub("", left, count=1) if self._reasoning.match(left) else left
        return self._argument.sub("", left) if self.argument else left

    def _moves(self, text: str) -> list[tuple[Names, ...]] | Misread:
        """The sets of each kind, in the order of `_tags`."""
        moves: list[tuple[Names, ...]] = []
        for tag, head in zip(self._tags, self._heads, strict=True):
            sets: list[Names] = []
            for body in _on_one_line(text, head) if tag in text else ():
                found = _display(body)
                if found is None:
                    return Misread("bad_set", tag)
                sets.append(NO_SET if found.kind in ("dict", "empty") else found.names)
            moves.append(tuple(sets))
        return moves


def _on_one_line(text: str, head: re.Pattern[str]) -> list[str]:
    """What stands in braces after each `head`, up to the first `}`, without a line break."""
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


def _blank(text: str) -> bool:
    return not text or text.isspace()


def _display(body: str) -> Display | None:
    try:
        return display(body)
    except ValueError:
        return None


@lru_cache(maxsize=64)
def reader(rules: Rules, name: str, reasoning: bool, argument: bool) -> Reader:
    """The reader of a game's texts in the language `name`."""
    cls = Stated if rules == "stated" else Reference
    return cls(language(name).tags, reasoning=reasoning, argument=argument)
