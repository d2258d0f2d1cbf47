"""The parsers of the balloon game against naive regular expressions."""

from __future__ import annotations

import ast
import random
import re
import warnings
from functools import partial
from typing import Any

import pytest

from negolab.games.balloon import Say
from negolab.games.balloon.reading import parse_set
from negolab.match import Match
from tests.games.test_balloon import balloon, codes, play_texts
from tests.support.timing import grows_linearly

NESTED = r"\{(?:[^{}]|\{[^{}]*\})*\}"
PIECES = (
    *("PROPOSAL:", "REFUSE:", "AGREE:", "ARGUMENT:", "STRATEGIC REASONING:", "PROP", "OSAL", " ", "\n", "\u2028", "x"),
    *("{'A01'}", " {'A01', 'B02'}", " {'x'}", "{", "}", "{}", "{1}", "{'A01',\n'B02'}", "{['A01']}", "{A01}", "{{}}"),
    *(" {'A01': 1}", " {'C03'}", "\n{'why'}", " {'a: b'}", "STRATEGIC REASONING: {'s'}", "PROPOSAL: {'A01'}"),
    *("ARGUMENT: {'so'}", "ARGUMENT: {'so'}\n", "REFUSE: {'B02'}", "AGREE: {'A04'}", "DISAGREE: {'A04'}"),
)


def value(body: str) -> Any:
    """Evaluate a Python literal; None if it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(body)
    except Exception:
        return None


def naive_reference(text: str, reasoning: bool, argument: bool) -> tuple[str, ...] | list[list[Any]]:
    """Parse by the reference's patterns: an error code, or the literals of AGREE, REFUSE and PROPOSAL."""
    s = rf"^\s*STRATEGIC REASONING:\s*{NESTED}"
    if reasoning and not re.search(s, text):
        return ("no_reasoning",)
    if argument and not re.search(rf"ARGUMENT:\s*{NESTED}", text):
        return ("no_argument",)
    left = text
    for tag in ("AGREE", "REFUSE", "PROPOSAL"):
        left = re.sub(tag + r":\s*\{.*?\}", "", left, flags=re.DOTALL)
    left = re.sub(s, "", left, count=1) if reasoning else left
    left = re.sub(rf"ARGUMENT:\s*{NESTED}", "", left) if argument else left
    if left.strip():
        return ("untagged",)
    moves = [
        [value(found.split(":", 1)[1].strip()) for found in re.findall(tag + r":\s*\{.*?\}", text)]
        for tag in ("AGREE", "REFUSE", "PROPOSAL")
    ]
    if any(literal is None for kind in moves for literal in kind):
        return ("bad_set",)
    if reasoning and not re.sub(s, "", text, count=1).strip():
        return ("nothing_to_relay",)
    return moves


def naive_stated(text: str, reasoning: bool, argument: bool) -> tuple[str, ...] | list[list[Any]]:
    """Parse by the stated rules with whole patterns."""
    if reasoning:
        block = re.match(rf"\s*STRATEGIC REASONING:\s*{NESTED}", text)
        if not block:
            return ("no_reasoning",)
        text = text[block.end() :].strip()
    if argument and not re.search(rf"ARGUMENT:\s*{NESTED}", text):
        return ("no_argument",)
    block_pattern = rf"(?:(AGREE|REFUSE|PROPOSAL):\s*(\{{[^}}]*\}})|ARGUMENT:\s*{NESTED})"
    if not re.fullmatch(rf"(?:\s*{block_pattern})*\s*", text):
        return ("untagged",)
    moves: dict[str, list[Any]] = {"AGREE": [], "REFUSE": [], "PROPOSAL": []}
    for tag, body in re.findall(block_pattern, text):
        if tag:
            literal = value(body)
            moves[tag].append(set() if literal == {} else literal)
    if not all(isinstance(s, set) and all(isinstance(n, str) for n in s) for kind in moves.values() for s in kind):
        return ("bad_set",)
    return list(moves.values()) if text.strip() else ("nothing_to_relay",)


@pytest.mark.parametrize(("preset", "naive"), [("clembench", naive_reference), ("seed", naive_stated)])
@pytest.mark.parametrize("reasoning", [False, True])
@pytest.mark.parametrize("argument", [False, True])
def test_a_text_is_read_as_its_patterns_say(preset: str, naive: Any, reasoning: bool, argument: bool) -> None:
    game = balloon(preset, strategic_reasoning=reasoning, require_argument=argument)
    rng = random.Random(f"{preset}{reasoning}{argument}")
    counts = {"read": 0, "not": 0}
    for _ in range(1000):
        start = "STRATEGIC REASONING: {s}" if reasoning and rng.random() < 0.8 else ""
        end = "ARGUMENT: {'so'}" if argument and rng.random() < 0.8 else ""
        text = start + "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 5))) + end
        said, expected = game.reader.read(text), naive(text, reasoning, argument)
        if isinstance(said, Say):
            counts["read"] += 1
            assert isinstance(expected, list), (text, said, expected)
            found = [said.agree, said.refuse, said.propose]
            assert [list(map(plain, kind)) for kind in expected] == [list(map(plain, kind)) for kind in found], text
        else:
            counts["not"] += 1
            assert (said.code,) == expected, text
    assert min(counts.values()) > 20


def plain(names: Any) -> Any:
    """Normalize a set; a dict, or an element that is no string, is no set of items."""
    items = isinstance(names, set | frozenset) and all(isinstance(name, str) and name for name in names)
    return frozenset(names) if items else "no items"


LITERALS = (
    *("'A01', 'B02'", '"A01", "B02"', "'A01','B02'", "'A01' , 'B02',", "", " ", "'A01' 'B02'", "'A', \"B\"", "'\\d'"),
    *("'\\x41'", "'\\u00e9'", "'a\\\nb'", "'a\nb'", "'''a\nb'''", "r'\\d'", "b'a'", "u'a'", "f'a'", "'a' + 'b'", "'"),
    *("1, 2", "1.5, 'a'", "-1", "1+2j", "None", "True, 'A'", "('a', 'b')", "('a')", "['a']", "{'a'", "'a': 1", "**{}"),
    *("'a': [1]", "['a']: 1", "*'ab'", "x", "x for x in y", "'a', # note\n 'b'", "'a'\r\n, 'b'", "'a\r'", "'a\0'"),
    *("''", "'', ''", "''', '''", "'a''b'", "'\ud800'", "'\xa0'", "1if 1else 2", "0777", "1_0", "'a', 'a'", ","),
    "'a',,",
    *("((((((((((1))))))))))", "'it\\'s'", "'say \"hi\"'", "\\", "'\\N{BULLET}'", "2305843009213693951, 0", "'a'; 'b'"),
)


@pytest.mark.parametrize("body", LITERALS)
def test_a_literal_is_what_python_says(body: str) -> None:
    expected = value("{" + body + "}")
    try:
        found = parse_set(body)
    except ValueError:
        assert expected is None
        return
    if isinstance(expected, dict):
        assert found.kind == ("dict" if expected else "empty")
    else:
        assert isinstance(expected, set)
        assert (found.kind == "strings") == all(isinstance(name, str) for name in expected)
        assert found.names - {""} == {name for name in expected if isinstance(name, str)} - {""}


def test_odd_escapes_are_kept_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_set(r"'\d', '\{'").names == {r"\d", r"\{"}
        assert codes(balloon(), "PROPOSAL: {'\\d'}\nARGUMENT: {'\\d'}") == ("unknown_item",)


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("preset", ["seed", "clembench"])
@pytest.mark.parametrize(
    "piece", ["PROPOSAL: {", "PROPOSAL: {'A01'} ", "ARGUMENT: {{", "ARGUMENT: {}", "REFUSE: {\n", "[{(<", "1234567890"]
)
def test_reading_takes_time_linear_in_the_text(preset: str, piece: str) -> None:
    game = balloon(preset)
    seen = Match(game, seed=0).seen("A")
    for start, end in ("", ""), ("ARGUMENT: {}", "\n}"):
        assert grows_linearly(
            lambda n, start=start, end=end: partial(game.parse, start + piece * (n // len(piece)) + end, seen), 12_500
        )


def test_a_tag_in_an_argument_is_a_move_for_the_reference_only() -> None:
    text = "ARGUMENT: {take PROPOSAL: {'A01'}}"
    assert play_texts(balloon("clembench"), text).state.public.active["A"] == ({"A01"},)
    assert play_texts(balloon(), text).state.public.active["A"] == ()
