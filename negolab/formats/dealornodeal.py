"""Reader of the published Deal or No Deal corpus (Lewis et al. 2017; licence CC BY-NC 4.0, so not distributed here).

There are three line formats, recognised line by line: `data.txt`, the tagged `train.txt`, `val.txt` and `test.txt`, and
the bare contexts of `selfplay.txt`. Neighbouring lines that are the two views of one dialogue are read as one dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from negolab.game import Seat, other

ITEMS = ("books", "hats", "balls")
"""Item types in the order of the files: book, hat, ball."""

Counts = tuple[int, int, int]
Speaker = str
"""`YOU`, the agent whose view a line is, or `THEM`, the other agent."""

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
        own: YOU's value of one item of each type.
        partners: THEM's values.
        turns: Speaker and words, in order.
        closer: The speaker who ended the dialogue.
        end: "agreed", "no_agreement", "disconnect" or "mismatch".
        took: YOU's selection: items or words; None where it is not stored.
        left: THEM's selection; None without agreement.
    """

    line: int
    form: str
    counts: Counts
    own: Counts
    partners: Counts
    turns: tuple[tuple[Speaker, str], ...]
    closer: Speaker
    end: str
    took: Counts | str | None
    left: Counts | None


def read_corpus(lines: Iterable[str]) -> list[dict[str, Any]]:
    """Parse lines of a corpus file into dialogues and scenarios.

    Args:
        lines: Lines of any of the three formats; empty ones are skipped.

    Returns:
        One dict per dialogue or scenario: `line` (from 1), `views` (lines merged, 1 or 2), `counts`, `values`, `turns`,
        `selector` (the seat that ended the talk), `end`, `selections`, `keep` and `points`. Seat A is the agent of the
        earlier line. `end` is "agreed", "no_agreement", "disconnect", or "mismatch" where the selections contradict
        each other. A scenario of `selfplay.txt` has no turns and None for what follows them.

    Raises:
        ValueError: A line does not follow its format, or two views contradict each other; names the line.
    """
    dialogues: list[dict[str, Any]] = []
    numbered = _numbered(lines)
    waiting: View | None = None
    for number, line in numbered:
        if _CONTEXT.fullmatch(line):
            if waiting is not None:
                dialogues.append(_parse_selfplay(waiting))
                waiting = None
            dialogues.append(_scenario(number, line, next(numbered, None)))
            continue
        view = _tagged(number, line) if line.startswith("<input>") else _data(number, line)
        if waiting is not None and _is_mirrored(waiting, view):
            dialogues.append(_parse_pair(waiting, view))
            waiting = None
            continue
        if waiting is not None:
            dialogues.append(_parse_selfplay(waiting))
        waiting = view
    return dialogues if waiting is None else [*dialogues, _parse_selfplay(waiting)]


def contexts(dialogues: Iterable[dict[str, Any]]) -> tuple[tuple[Counts, Counts, Counts], ...]:
    """Return the distinct (counts, values of A, values of B) by first appearance, for `Split(contexts=...)`."""
    found = ((_row(one["counts"]), _row(one["values"]["A"]), _row(one["values"]["B"])) for one in dialogues)
    return tuple(dict.fromkeys(found))


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped:
            if "  " in stripped:
                raise _error(number, "fields must be separated by single blanks")
            yield number, stripped


def _error(number: int, what: str) -> ValueError:
    return ValueError(f"line {number}: {what}")


# One line.


def _data(number: int, line: str) -> View:
    found = _DATA.fullmatch(line)
    if found is None:
        raise _error(number, "neither a line of data.txt, a tagged line nor a context")
    mine, rest = found.groups()
    talk, _, tail = rest.rpartition(" <eos> ")
    rewarded = _REWARD.fullmatch(tail)
    if rewarded is None:
        raise _error(number, f"a line must end with reward=, a flag and the partner's context, not {tail!r:.60}")
    reward, flag, theirs = rewarded.groups()
    counts, own, partners = _contexts(number, mine, theirs)
    turns, closer, selection = _talk(number, talk)
    took = selection if selection in _WORDS else _items(number, selection, counts)
    worth = took if isinstance(took, str) else str(_points(took, own))
    if reward != worth:
        raise _error(number, f"the reward of this selection is {worth}, not {reward!r:.40}")
    if flag == "disagree":
        return View(number, "data", counts, own, partners, turns, closer, "mismatch", took, None)
    if isinstance(took, str):
        return View(number, "data", counts, own, partners, turns, closer, _WORDS[took], took, None)
    return View(number, "data", counts, own, partners, turns, closer, "agreed", took, _complement(counts, took))


def _tagged(number: int, line: str) -> View:
    found = _TAGGED.fullmatch(line)
    if found is None:
        raise _error(number, "not a tagged line of input, dialogue, output and partner_input")
    mine, talk, output, theirs = found.groups()
    counts, own, partners = _contexts(number, mine, theirs)
    turns, closer, selection = _talk(number, talk)
    if selection:
        raise _error(number, f"a tagged dialogue must end with <selection>, not {selection!r:.40}")
    tokens = output.split(" ")
    if tokens[0] in _TOKENS:
        if len(set(tokens)) > 1:
            raise _error(number, "the six tokens of an output without agreement must be equal")
        return View(number, "tagged", counts, own, partners, turns, closer, _TOKENS[tokens[0]], None, None)
    took, left = (_items(number, " ".join(part), counts) for part in (tokens[:3], tokens[3:]))
    if left != _complement(counts, took):
        raise _error(number, "the two selections do not add up to the counts")
    return View(number, "tagged", counts, own, partners, turns, closer, "agreed", took, left)


def _contexts(number: int, mine: str, theirs: str) -> tuple[Counts, Counts, Counts]:
    """Parse both contexts into (counts, own values, partner's values); their counts must be equal."""
    counts, own = _context(mine)
    same, partners = _context(theirs)
    if counts != same:
        raise _error(number, f"the two contexts differ in counts: {counts} and {same}")
    return counts, own, partners


def _context(text: str) -> tuple[Counts, Counts]:
    """Parse `c0 v0 c1 v1 c2 v2` into (counts, values)."""
    c0, v0, c1, v1, c2, v2 = map(int, text.split(" "))
    return (c0, c1, c2), (v0, v1, v2)


def _talk(number: int, talk: str) -> tuple[tuple[tuple[Speaker, str], ...], Speaker, str]:
    """Parse a dialogue into (turns, speaker of the closing `<selection>`, text after it)."""
    *said, last = talk.split(" <eos> ")
    closing = _CLOSING.fullmatch(last)
    if closing is None:
        raise _error(number, f"a dialogue must end with YOU: or THEM: and <selection>, not {last!r:.40}")
    turns: list[tuple[Speaker, str]] = []
    for turn in said:
        found = _TURN.fullmatch(turn)
        if found is None:
            raise _error(number, f"a turn must begin with YOU: or THEM: and have words, not {turn!r:.40}")
        turns.append((found[1], found[2]))
    return tuple(turns), closing[1], closing[2] or ""


def _items(number: int, text: str, counts: Counts) -> Counts:
    found = _ITEMS.fullmatch(text)
    if found is None:
        raise _error(number, f"a selection must be item0=n item1=n item2=n or its words, not {text!r:.40}")
    a, b, c = map(int, found.groups())
    if a > counts[0] or b > counts[1] or c > counts[2]:
        raise _error(number, f"the selection {(a, b, c)} takes more than the counts {counts}")
    return a, b, c


def _complement(counts: Counts, took: Counts) -> Counts:
    a, b, c = (count - taken for count, taken in zip(counts, took, strict=True))
    return a, b, c


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


def _parse_selfplay(view: View) -> dict[str, Any]:
    return _dialogue(view, 1, view.left)


def _parse_pair(one: View, two: View) -> dict[str, Any]:
    if one.end != two.end:
        raise _error(two.line, f"this view ends as {two.end}, the one of line {one.line} as {one.end}")
    if one.end == "agreed" and two.took != one.left:
        raise _error(two.line, f"this selection and the one of line {one.line} do not add up to the counts")
    return _dialogue(one, 2, two.took)


def _dialogue(view: View, views: int, partner_took: Counts | str | None) -> dict[str, Any]:
    """Build the dict of a dialogue from A's view."""
    took = view.took
    keep: dict[str, dict[str, int]] | None = None
    points = {"A": 0, "B": 0}
    if view.end == "agreed" and isinstance(took, tuple) and isinstance(partner_took, tuple):
        keep = {"A": _named(took), "B": _named(partner_took)}
        points = {"A": _points(took, view.own), "B": _points(partner_took, view.partners)}
    return {
        **_deal(view.line, views, view.counts, view.own, view.partners),
        "turns": [[_seat(speaker), words] for speaker, words in view.turns],
        "selector": _seat(view.closer),
        "end": view.end,
        "selections": None if took is None else {"A": _plain(took), "B": _plain(partner_took)},
        "keep": keep,
        "points": points,
    }


def _scenario(number: int, line: str, following: tuple[int, str] | None) -> dict[str, Any]:
    """Build the dict of a scenario from two bare contexts, those of its two agents."""
    if following is None or not _CONTEXT.fullmatch(following[1]):
        raise _error(number, "a bare context must be followed by that of the other agent")
    counts, own, partners = _contexts(following[0], line, following[1])
    nothing = dict.fromkeys(("selector", "end", "selections", "keep", "points"))
    return {**_deal(number, 2, counts, own, partners), "turns": [], **nothing}


def _deal(line: int, views: int, counts: Counts, a: Counts, b: Counts) -> dict[str, Any]:
    return {"line": line, "views": views, "counts": _named(counts), "values": {"A": _named(a), "B": _named(b)}}


def _seat(speaker: Speaker) -> Seat:
    return "A" if speaker == "YOU" else other("A")


def _named(row: Counts) -> dict[str, int]:
    return dict(zip(ITEMS, row, strict=True))


def _row(named: dict[str, int]) -> Counts:
    a, b, c = (named[item] for item in ITEMS)
    return a, b, c


def _plain(took: Counts | str | None) -> dict[str, int] | str | None:
    return _named(took) if isinstance(took, tuple) else took
