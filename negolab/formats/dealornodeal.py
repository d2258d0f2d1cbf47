"""Reader of the published Deal or No Deal corpus (Lewis et al. 2017; CC BY-NC 4.0 license, so not distributed here).

There are three line formats, recognized line by line: `data.txt`, the tagged `train.txt`, `val.txt` and `test.txt`, and
the bare contexts in `selfplay.txt`. Adjacent lines that are the two views of one dialogue are read as one dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from negolab.game import Seat
from negolab.match import replace_surrogates

ITEMS = ("books", "hats", "balls")
"""Item types in the order used in the files: book, hat, ball."""

Counts = tuple[int, ...]
_SEATS: dict[str, Seat] = {"YOU": "A", "THEM": "B"}
"""The agent whose view a line gives, and the other agent."""

_NUMBERS = r"[0-9]{1,9}(?: [0-9]{1,9}){5}"
_CONTEXT = re.compile(_NUMBERS)
_DATA = re.compile(rf"({_NUMBERS}) (.+)")
_REWARD = re.compile(rf"reward=(.+) (agree|disagree) ({_NUMBERS})")
_TAGGED = re.compile(
    rf"<input> ({_NUMBERS}) </input> <dialogue> (.+) </dialogue> <output> (\S+(?: \S+){{5}}) </output> "
    rf"<partner_input> ({_NUMBERS}) </partner_input>"
)
_TURN = re.compile(r"(YOU|THEM): (?!<selection>)(.+)")
_CLOSING = re.compile(r"(YOU|THEM): <selection>(?: (.+))?")
_ITEMS = re.compile(r"item0=([0-9]{1,9}) item1=([0-9]{1,9}) item2=([0-9]{1,9})")
_WORDS = {"no agreement": "no_agreement", "disconnect": "disconnect"}
_TOKENS = {"<disagree>": "mismatch", "<no_agreement>": "no_agreement", "<disconnect>": "disconnect"}


class View(NamedTuple):
    """One line as seen by its own agent, YOU.

    Attributes:
        line: Number of the line, from 1.
        form: Line format, "data" or "tagged".
        counts: Number of items of each type.
        own: YOU's value for one item of each type.
        partners: THEM's values.
        turns: Seat and words, in order; YOU is A.
        closer: The seat that ended the dialogue.
        end: "agreed", "no_agreement", "disconnect" or "mismatch".
        took: YOU's selection: items or words; None if it is not stored.
        left: THEM's selection; None without an agreement.
    """

    line: int
    form: str
    counts: Counts
    own: Counts
    partners: Counts
    turns: tuple[tuple[Seat, str], ...]
    closer: Seat
    end: str
    took: Counts | str | None
    left: Counts | None


class Context(NamedTuple):
    """One line of `selfplay.txt`: one agent's counts and values."""

    line: int
    text: str


Dialogue = dict[str, Any]
"""A dialogue or scenario as yielded by `scan_corpus`."""


class LineError(ValueError):
    """A line that is not part of a dialogue; the text gives its number, from 1, and what is wrong with it."""


def scan_corpus(lines: Iterable[str]) -> Iterator[Dialogue | LineError]:
    """Parse lines of a corpus file into dialogues and scenarios.

    Args:
        lines: Lines of any of the three formats; empty ones are skipped.

    Yields:
        One dict per dialogue or scenario: `line` (from 1), `views` (lines merged, 1 or 2), `counts`, `values`, `turns`,
        `selector` (the seat that ended the talk), `end`, `selections`, `keep` and `points`. Seat A is the agent of the
        earlier line. `end` is "agreed", "no_agreement", "disconnect", or "mismatch" if the selections contradict each
        other. A scenario from `selfplay.txt` has no turns, and None for all fields after them.

        An error for each line that does not follow its format. A line whose mirrored view contradicts it counts as a
        single view; the mirrored line is the error.
    """
    waiting: View | Context | None = None
    for number, text in enumerate(lines, 1):
        line = text.strip()
        if not line:
            continue
        try:
            view = _parse_line(number, line)
            pair = _parse_pair(waiting, view)
        except ValueError as error:
            yield LineError(f"line {number}: {error}")
            continue
        if pair is not None:
            yield pair
            waiting = None
            continue
        if waiting is not None:
            yield _parse_single(waiting)
        waiting = view
    if waiting is not None:
        yield _parse_single(waiting)


# One line.


def _parse_line(number: int, line: str) -> View | Context:
    if "  " in line:
        raise ValueError("fields must be separated by single spaces")
    if replace_surrogates(line) != line:  # some of its bytes could not be decoded
        raise ValueError("not UTF-8")
    if _CONTEXT.fullmatch(line):
        return Context(number, line)
    return _tagged(number, line) if line.startswith("<input>") else _data(number, line)


def _fit(pattern: re.Pattern[str], text: str, fault: str) -> re.Match[str]:
    """Match a complete text from a line; a `ValueError` says what is wrong with one that does not fit."""
    if (found := pattern.fullmatch(text)) is None:
        raise ValueError(fault)
    return found


def _data(number: int, line: str) -> View:
    found = _fit(_DATA, line, "neither a line of data.txt, a tagged line nor a context")
    mine, rest = found.groups()
    talk, _, tail = rest.rpartition(" <eos> ")
    rewarded = _fit(_REWARD, tail, f"a line must end with reward=, a flag and the partner's context, not {tail!r:.60}")
    reward, flag, theirs = rewarded.groups()
    counts, own, partners = _contexts(mine, theirs)
    turns, closer, selection = _talk(talk)
    took = selection if selection in _WORDS else _items(selection, counts)
    worth = took if isinstance(took, str) else str(_points(took, own))
    if reward != worth:
        raise ValueError(f"the reward of this selection is {worth}, not {reward!r:.40}")
    end = "mismatch" if flag == "disagree" else _WORDS[took] if isinstance(took, str) else "agreed"
    left = _complement(counts, took) if end == "agreed" and not isinstance(took, str) else None
    return View(number, "data", counts, own, partners, turns, closer, end, took, left)


def _tagged(number: int, line: str) -> View:
    found = _fit(_TAGGED, line, "not a tagged line of input, dialogue, output and partner_input")
    mine, talk, output, theirs = found.groups()
    counts, own, partners = _contexts(mine, theirs)
    turns, closer, selection = _talk(talk)
    if selection:
        raise ValueError(f"a tagged dialogue must end with <selection>, not {selection!r:.40}")
    tokens = output.split(" ")
    if tokens[0] in _TOKENS:
        if len(set(tokens)) > 1:
            raise ValueError("the six tokens of an output without agreement must be equal")
        return View(number, "tagged", counts, own, partners, turns, closer, _TOKENS[tokens[0]], None, None)
    took, left = (_items(" ".join(part), counts) for part in (tokens[:3], tokens[3:]))
    if left != _complement(counts, took):
        raise ValueError("the two selections do not add up to the counts")
    return View(number, "tagged", counts, own, partners, turns, closer, "agreed", took, left)


def _contexts(mine: str, theirs: str) -> tuple[Counts, Counts, Counts]:
    """Parse both contexts into (counts, own values, partner's values); both counts must be equal."""
    counts, own = _context(mine)
    same, partners = _context(theirs)
    if counts != same:
        raise ValueError(f"the two contexts differ in counts: {counts} and {same}")
    return counts, own, partners


def _context(text: str) -> tuple[Counts, Counts]:
    """Parse `c0 v0 c1 v1 c2 v2` into (counts, values)."""
    numbers = tuple(map(int, text.split(" ")))
    return numbers[::2], numbers[1::2]


def _talk(talk: str) -> tuple[tuple[tuple[Seat, str], ...], Seat, str]:
    """Parse a dialogue into (turns, seat of the closing `<selection>`, text after it)."""
    *said, last = talk.split(" <eos> ")
    closing = _fit(_CLOSING, last, f"a dialogue must end with YOU: or THEM: and <selection>, not {last!r:.40}")
    fault = "a turn must begin with YOU: or THEM: and contain words, not {!r:.40}"
    turns = [_fit(_TURN, turn, fault.format(turn)) for turn in said]
    return tuple((_SEATS[found[1]], found[2]) for found in turns), _SEATS[closing[1]], closing[2] or ""


def _items(text: str, counts: Counts) -> Counts:
    found = _fit(_ITEMS, text, f"a selection must be item0=n item1=n item2=n or its words, not {text!r:.40}")
    took = tuple(map(int, found.groups()))
    if min(_complement(counts, took)) < 0:
        raise ValueError(f"the selection {took} takes more than the counts {counts}")
    return took


def _complement(counts: Counts, took: Counts) -> Counts:
    return tuple(count - taken for count, taken in zip(counts, took, strict=True))


def _points(took: Counts, values: Counts) -> int:
    return sum(count * value for count, value in zip(took, values, strict=True))


# One or two lines as a dialogue.


def _is_mirrored(one: View, two: View) -> bool:
    """Return True if `two` is the other agent's view of the dialogue in `one`."""
    return (
        one.form == two.form
        and (one.counts, one.own, one.partners) == (two.counts, two.partners, two.own)
        and one.closer != two.closer
        and len(one.turns) == len(two.turns)
        and all(a != b and said == heard for (a, said), (b, heard) in zip(one.turns, two.turns, strict=True))
    )


def _parse_single(view: View | Context) -> Dialogue | LineError:
    if isinstance(view, Context):
        return LineError(f"line {view.line}: a bare context must be followed by that of the other agent")
    return _dialogue(view, 1, view.left)


def _parse_pair(one: View | Context | None, two: View | Context) -> Dialogue | None:
    """Return the dialogue or scenario in two adjacent lines; None if they do not belong together."""
    if isinstance(one, Context) and isinstance(two, Context):
        return _scenario(one, two)
    if not (isinstance(one, View) and isinstance(two, View) and _is_mirrored(one, two)):
        return None
    if one.end != two.end:
        raise ValueError(f"this view ends as {two.end}, but the one on line {one.line} as {one.end}")
    if one.end == "agreed" and two.took != one.left:
        raise ValueError(f"this selection and the one of line {one.line} do not add up to the counts")
    return _dialogue(one, 2, two.took)


def _dialogue(view: View, views: int, partner_took: Counts | str | None) -> Dialogue:
    """Build the dict for a dialogue from A's view."""
    took = view.took
    keep: dict[str, dict[str, int]] | None = None
    points = {"A": 0, "B": 0}
    if view.end == "agreed" and isinstance(took, tuple) and isinstance(partner_took, tuple):
        keep = {"A": _named(took), "B": _named(partner_took)}
        points = {"A": _points(took, view.own), "B": _points(partner_took, view.partners)}
    return {
        **_deal(view.line, views, view.counts, view.own, view.partners),
        "turns": [[seat, words] for seat, words in view.turns],
        "selector": view.closer,
        "end": view.end,
        "selections": None if took is None else {"A": _plain(took), "B": _plain(partner_took)},
        "keep": keep,
        "points": points,
    }


def _scenario(one: Context, two: Context) -> Dialogue:
    """Build the dict for a scenario from its two agents' bare contexts."""
    counts, own, partners = _contexts(one.text, two.text)
    nothing = dict.fromkeys(("selector", "end", "selections", "keep", "points"))
    return {**_deal(one.line, 2, counts, own, partners), "turns": [], **nothing}


def _deal(line: int, views: int, counts: Counts, a: Counts, b: Counts) -> Dialogue:
    return {"line": line, "views": views, "counts": _named(counts), "values": {"A": _named(a), "B": _named(b)}}


def _named(row: Counts) -> dict[str, int]:
    return dict(zip(ITEMS, row, strict=True))


def _plain(took: Counts | str | None) -> dict[str, int] | str | None:
    return _named(took) if isinstance(took, tuple) else took
