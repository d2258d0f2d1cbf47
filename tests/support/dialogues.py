"""Invented dialogues as lines of the Deal or No Deal files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from negolab.formats.dealornodeal import Dialogue, LineError, scan_corpus

Row = tuple[int, ...]
COUNTS, A, B = (1, 3, 2), (1, 3, 0), (4, 0, 3)
"""A context of the corpus: both could have 10 points; A wants hats, B a book and balls."""
KEEP: Row = (0, 3, 0)
"""The best division for both, as A's part."""
TALK = ("i want the hats", "then i take the rest", "deal")


def read_corpus(lines: Iterable[str]) -> list[Dialogue]:
    """All dialogues of these lines; the first error is raised."""
    dialogues: list[Dialogue] = []
    for found in scan_corpus(lines):
        if isinstance(found, LineError):
            raise found
        dialogues.append(found)
    return dialogues


def context(counts: Row, values: Row) -> str:
    return " ".join(f"{n} {v}" for n, v in zip(counts, values, strict=True))


def items(units: Row) -> str:
    return " ".join(f"item{at}={n}" for at, n in enumerate(units))


def tagged(
    talk: Sequence[str] = TALK,
    keep: Row | str = KEEP,
    *,
    first: str = "YOU",
    counts: Row = COUNTS,
    a: Row = A,
    b: Row = B,
) -> tuple[str, str]:
    """Both views of a dialogue as lines of `val.txt`; `keep` is A's part, or the token of a dialogue without one."""
    other = {"YOU": "THEM", "THEM": "YOU"}
    speakers = [first if at % 2 == 0 else other[first] for at in range(len(talk) + 1)]
    said = [f"{who}: {words}" for who, words in zip(speakers, (*talk, "<selection>"), strict=True)]
    mirrored = [f"{other[who]}: {words}" for who, words in zip(speakers, (*talk, "<selection>"), strict=True)]
    if isinstance(keep, str):
        chosen = [" ".join([keep] * 6)] * 2
    else:
        rest = tuple(n - kept for n, kept in zip(counts, keep, strict=True))
        chosen = [f"{items(keep)} {items(rest)}", f"{items(rest)} {items(keep)}"]
    mine, theirs = _line(said, chosen[0], counts, a, b), _line(mirrored, chosen[1], counts, b, a)
    return mine, theirs


def _line(said: Sequence[str], chosen: str, counts: Row, own: Row, partners: Row) -> str:
    return (
        f"<input> {context(counts, own)} </input> <dialogue> {' <eos> '.join(said)} </dialogue> "
        f"<output> {chosen} </output> <partner_input> {context(counts, partners)} </partner_input>"
    )


def small_corpus() -> list[str]:
    """Two agreements (10 and 10 points; 4 and 7), one dialogue of each other kind, a single view, and a torn line."""
    worse = tagged(keep=(1, 1, 0), first="THEM")
    ends = [line for word in ("<disagree>", "<no_agreement>", "<disconnect>") for line in tagged(keep=word)]
    return [*tagged(), *worse, *ends, tagged(("only one saw this",))[0], "<input> 1 1 3 <dialogue> YOU: torn"]


def payoffs(record: Any) -> tuple[float, float]:
    return record.payoffs["A"], record.payoffs["B"]
