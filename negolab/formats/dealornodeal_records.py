"""Dialogues from the Deal or No Deal corpus as records of split's preset `lewis-2017`, and published figures about
them.

A dialogue is replayed message by message, so that everything that reads records can read what people did.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from negolab.catalog import load
from negolab.formats.dealornodeal import Dialogue, LineError, scan_corpus
from negolab.game import SEATS, Reply, Seat
from negolab.games.split import EndTalk, Message, Proposal, Split
from negolab.match import Match
from negolab.record import PERSON, Record, final_state

SOURCE = "dealornodeal"
"""The note `source` in an imported record, and the `via` of its replies."""
WORDS = {"no_agreement": "<no_agreement>", "disconnect": "<disconnect>", "mismatch": "<disagree>"}
"""End of a dialogue without an agreement -> the corpus's word for it, which is the record's note `end`."""


class CorpusFile(NamedTuple):
    """A file of the corpus, as read.

    Attributes:
        path: The file.
        dialogues: Dialogues in the order of their first lines, including those with only one view.
        scenarios: Number of contexts without a dialogue, as in `selfplay.txt`.
        errors: Lines that are not part of a dialogue.
    """

    path: Path
    dialogues: tuple[Dialogue, ...]
    scenarios: int
    errors: tuple[LineError, ...]

    @property
    def single(self) -> tuple[int, ...]:
        """Lines of the dialogues with only one view."""
        return tuple(one["line"] for one in self.dialogues if one["views"] == 1)


def read_file(path: Path) -> CorpusFile:
    """Read a file of the corpus, line by line.

    Raises:
        ValueError: There is no file at `path`, or no dialogue in it; the error names the first faulty line.
    """
    if not path.is_file():
        what = "is a folder: give the files in it, such as data.txt" if path.is_dir() else "is not a file"
        raise ValueError(f"{path} {what}")
    # Bytes that are not UTF-8 become lone surrogates, which make their line an error.
    with path.open(encoding="utf-8", errors="surrogateescape") as lines:
        found = list(scan_corpus(lines))
    errors = tuple(one for one in found if isinstance(one, LineError))
    dialogues = tuple(one for one in found if not isinstance(one, LineError) and one["selector"] is not None)
    if not dialogues:
        why = f": {errors[0]}" if errors else ", only contexts" if found else ": it is empty"
        raise ValueError(f"there is no Deal or No Deal dialogue in {path}{why}")
    return CorpusFile(path, dialogues, len(found) - len(errors) - len(dialogues), errors)


def to_record(dialogue: Dialogue, file: str) -> Record:
    """Replay a dialogue and return its record.

    Args:
        dialogue: A dialogue from `scan_corpus`, not a scenario.
        file: Name of its file, for the record's id and notes.

    Returns:
        A record of a match of two people with the preset `lewis-2017`. Both seats propose only if the file has an
        agreement; any other dialogue ends as ABORTED after its talk, with the corpus's word as the reason and as the
        note `end`. `talk_limit` and `max_chars` are larger than the preset's if the dialogue needs it.

    Raises:
        ValueError: The rules do not allow the dialogue: the speakers did not alternate, or words cannot be sent.
    """
    turns, closer = dialogue["turns"], dialogue["selector"]
    game = _game_for(len(turns) + 1, max((len(words) for _, words in turns), default=0))
    first: Seat = turns[0][0] if turns else closer
    start = game.start(first, [{"stock": dialogue["counts"], "values": dialogue["values"]}])
    match = Match(
        game,
        start=start,
        players=dict.fromkeys(SEATS, PERSON),
        id=record_id(dialogue, file),
        notes=_notes(dialogue, file),
    )
    for seat, words in turns:
        _say(match, seat, words)
    _submit(match, closer, game.say(EndTalk()))
    if dialogue["end"] == "agreed":
        for seat in SEATS:
            _submit(match, seat, game.say(Proposal(tuple(dialogue["keep"][seat][item] for item in game.items))))
    else:
        match.abort(WORDS[dialogue["end"]])
    return match.record(created="")


def record_id(dialogue: Dialogue, file: str) -> str:
    """Return the id of a dialogue's record, such as `val-00012`: its file and the number of its first line."""
    return f"{Path(file).stem}-{dialogue['line']:05}"


@lru_cache(maxsize=256)
def _game_for(messages: int, longest: int) -> Split:
    """Return the game, with larger limits if a dialogue of this size needs them."""
    usual = load("split", preset="lewis-2017")
    assert isinstance(usual, Split)
    game = load(
        "split",
        preset="lewis-2017",
        reading="literal",
        talk_limit=max(usual.talk_limit, messages),
        max_chars=max(usual.max_chars, longest),
    )
    assert isinstance(game, Split)
    return game


def _notes(dialogue: Dialogue, file: str) -> dict[str, Any]:
    notes: dict[str, Any] = {"source": SOURCE, "file": file, "line": dialogue["line"], "views": dialogue["views"]}
    if dialogue["end"] == "agreed":
        return notes
    # `data.txt` tells what each chose when they disagreed; this is kept, although it was never settled.
    chosen = {} if dialogue["selections"] is None else {"selections": dialogue["selections"]}
    return {**notes, "end": WORDS[dialogue["end"]], **chosen}


def _say(match: Match, seat: Seat, words: str) -> None:
    """Submit a message as written in the file, or in tags if only these deliver it unchanged."""
    message = Message(words)
    plain = match.asks(seat) and match.told(seat).parse(words, match.seen(seat)) == message
    _submit(match, seat, words if plain else match.game.say(message))
    if match.state.public.messages[-1:] == () or match.state.public.messages[-1].text != words:
        raise ValueError(f"the words {words!r:.60} cannot be sent as a message")


def _submit(match: Match, seat: Seat, text: str) -> None:
    if not match.asks(seat):
        raise ValueError("the speakers did not alternate")
    match.submit(seat, Reply(text, via=SOURCE))


class Figures(NamedTuple):
    """Figures published about the corpus, computed from records.

    Attributes:
        dialogues: Number of dialogues.
        agreed: Number of dialogues that ended in an agreement.
        agreement: Share of dialogues with an agreement; None without dialogues.
        score: Mean points per seat, 0 without an agreement; None without dialogues.
        pareto: Share of agreements that are Pareto-optimal; None without agreements.
    """

    dialogues: int
    agreed: int
    agreement: float | None
    score: float | None
    pareto: float | None


PUBLISHED = Figures(5916, 4765, 0.805, 6.02, 0.770)
"""Published figures for all dialogues with both views in train.txt, val.txt and test.txt together."""


def figures(imported: Iterable[Record]) -> Figures:
    """Compute the published figures for records of one round with the exact rule."""
    records = list(imported)
    scores = [record.payoffs[seat] or 0 for record in records for seat in SEATS]
    agreed = [record for record in records if record.end == "AGREED"]
    optimal = [record.game.details(final_state(record))["rounds"][0]["pareto"] for record in agreed]
    shares = _share(len(agreed), len(records)), _share(sum(scores), len(scores)), _share(sum(optimal), len(agreed))
    return Figures(len(records), len(agreed), *shares)


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
