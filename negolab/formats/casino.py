"""Dialogues from the CaSiNo corpus (Chawla et al. 2021, arXiv 2103.15721; CC BY 4.0) as records of agenda's preset
`casino`, and the published figures about them.

Two workers divide three units each of food, water and firewood. A dialogue is replayed message by message, so that
everything that reads records can read what people did.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from negolab._internal.files import read_bytes
from negolab._internal.validation import located
from negolab.catalog import AnyGame, load
from negolab.events import Rejected
from negolab.game import SEATS, Reply, Seat
from negolab.match import Match
from negolab.record import PERSON, Record

SOURCE = "casino"
"""The note `source` in an imported record, and the `via` of its replies."""
GOODS = ("Food", "Water", "Firewood")
"""The goods in the order of the game's issues, as spelled in the corpus."""
VALUES = {"High": 5, "Medium": 4, "Low": 3}
UNITS = 3
STRATEGIES = (
    *("small-talk", "showing-empathy", "promote-coordination", "no-need", "elicit-pref", "uv-part", "vouch-fair"),
    *("self-need", "other-need", "non-strategic"),
)
"""The labels of annotated utterances."""
_OFFER, _REJECTION = "Submit-Deal", "Reject-Deal"
_REPLIES = {_REJECTION: "[Reject]", "Accept-Deal": "[Accept]", "Walk-Away": "[Walk away]"}

Dialogue = dict[str, Any]
"""A dialogue as stored in the corpus."""


class _Turn(NamedTuple):
    """Everything one worker wrote before the other did: the text of one message, and the words of its talk."""

    worker: str
    text: str
    words: tuple[str, ...]


def read_file(path: Path) -> list[Dialogue]:
    """Read the dialogues in a file such as `casino.json` or `casino_test.json`.

    Raises:
        ValueError: There is no file at `path`, or it is not a list of dialogues.
    """
    if not path.is_file():
        example = min((file.name for file in path.glob("*.json")), default="casino.json")
        what = f"is a folder: give the files in it, such as {example}" if path.is_dir() else "is not a file"
        raise ValueError(f"{path} {what}")
    with located(f"{path} is not JSON", (ValueError, RecursionError)):
        dialogues: Any = json.loads(read_bytes(path))
    needed = {"dialogue_id", "chat_logs", "participant_info"}
    if not (isinstance(dialogues, list) and dialogues) or any(
        not (isinstance(one, dict) and needed <= one.keys()) for one in dialogues
    ):
        raise ValueError(
            f"{path} is not a CaSiNo file: it must contain a list of dialogues with {', '.join(sorted(needed))}"
        )
    return dialogues


def record_id(dialogue: Dialogue) -> str:
    """Return the id of a dialogue's record, such as `casino-00157`: ids are unique across all files of the corpus."""
    number = dialogue["dialogue_id"]
    return f"casino-{number:05}" if isinstance(number, int) else f"casino-{number}"


def to_record(dialogue: Dialogue, file: str) -> Record:
    """Replay a dialogue and return its record.

    Args:
        dialogue: A dialogue from `read_file`.
        file: Name of its file, for the record's notes.

    Returns:
        A record of a match of two people with the preset `casino`; A is the one who wrote first. `turns` and
        `max_chars` are larger than the preset's if the dialogue needs it. Reasons, outcomes as stored, demographics,
        personality and strategy labels are notes.

    Raises:
        ValueError: The rules do not allow the dialogue, or its end differs from the stored one.
    """
    try:
        return _to_record(dialogue, file)
    except (LookupError, TypeError, AttributeError, ArithmeticError, StopIteration) as error:
        raise ValueError(f"the dialogue is incomplete or damaged: {type(error).__name__}: {error}") from None


def _to_record(dialogue: Dialogue, file: str) -> Record:
    turns = _turns(dialogue["chat_logs"])
    if not turns:
        raise ValueError("it contains no messages")
    first = turns[0].worker
    workers: dict[Seat, str] = {"A": first, "B": next(w for w in dialogue["participant_info"] if w != first)}
    seats = {worker: seat for seat, worker in workers.items()}
    game: Any = _game_for(len(turns), max(sum(map(len, turn.words)) + len(turn.words) for turn in turns))
    values = {seat: _values(dialogue["participant_info"][worker]["value2issue"]) for seat, worker in workers.items()}
    match = Match(
        game,
        start=game.start("A", values),
        players=dict.fromkeys(SEATS, PERSON),
        id=record_id(dialogue),
        notes=_notes(dialogue, file, workers, turns),
    )
    for turn in turns:
        submit(match, seats[turn.worker], turn.text)
    _compare(match)
    return match.record(created="")


def _turns(logs: Iterable[dict[str, Any]]) -> list[_Turn]:
    """Return the messages; what a worker writes right after a rejection belongs to the same message."""
    turns: list[_Turn] = []
    rejected = False
    for log in logs:
        text, words = _written(log)
        if rejected and turns[-1].worker == log["id"]:
            before = turns.pop()
            text, words = f"{before.text} {text}", before.words + words
        turns.append(_Turn(log["id"], text, words))
        rejected = log["text"] == _REJECTION
    return turns


def _written(log: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return an entry as text for the game, and its words if it is talk."""
    text = log["text"]
    if text == _OFFER:
        return _offer(log["task_data"]), ()
    if text in _REPLIES:
        return _REPLIES[text], ()
    return text, (text,)


def _offer(data: dict[str, Any]) -> str:
    own, left = ({good: int(data[part][good]) for good in GOODS} for part in ("issue2youget", "issue2theyget"))
    if any(own[good] + left[good] != UNITS for good in GOODS):
        raise ValueError(f"the offer {own} and {left} does not divide {UNITS} units of each")
    return f"[Offer: {'; '.join(f'{good} = {own[good]}' for good in GOODS)}]"


def _values(issue_by_value: dict[str, str]) -> list[int]:
    by_good = {good: VALUES[value] for value, good in issue_by_value.items()}
    return [by_good[good] for good in GOODS]


@lru_cache(maxsize=64)
def _game_for(messages: int, longest: int) -> AnyGame:
    """Return the game, with larger limits if a dialogue of this size needs them."""
    usual: Any = load("agenda", preset="casino", reading="literal")
    return load(usual, turns=max(usual.turns, messages), max_chars=max(usual.max_chars, longest))


def submit(match: Match, seat: Seat, text: str, source: str = SOURCE) -> None:
    """Replay a reply from a log; raise `ValueError` if the seat is not asked, or the rules refuse the reply."""
    if not match.asks(seat):
        raise ValueError("the two participants did not take turns, or one of them wrote after the dialogue ended")
    rejected = next((e for e in match.submit(seat, Reply(text, via=source)) if isinstance(e, Rejected)), None)
    if rejected is not None:
        raise ValueError(f"the rules don't allow {text!r:.80}: {rejected.invalid.reason}")


def _compare(match: Match) -> None:
    """Raise `ValueError` unless the match is over and its payoffs are those stored."""
    if match.ended is None:
        raise ValueError("it has neither an agreement nor a walk-away")
    stored = {seat: match.notes["participants"][seat]["outcomes"]["points_scored"] for seat in SEATS}
    if match.ended.payoffs != stored:
        raise ValueError(f"it pays {match.ended.payoffs}, but the file says {stored}")


def _notes(dialogue: Dialogue, file: str, workers: dict[Seat, str], turns: list[_Turn]) -> dict[str, Any]:
    info = dialogue["participant_info"]
    kept = ("value2reason", "outcomes", "demographics", "personality")
    notes: dict[str, Any] = {
        "source": SOURCE,
        "licence": "CC BY 4.0",
        "file": file,
        "dialogue": dialogue["dialogue_id"],
        "workers": workers,
        "participants": {seat: {name: info[worker].get(name) for name in kept} for seat, worker in workers.items()},
    }
    labels = _strategies(dialogue.get("annotations") or [], turns)
    return {**notes, "strategies": labels} if labels else notes


def _strategies(annotations: list[list[str]], turns: list[_Turn]) -> list[list[Any]]:
    """Return [number of the message from 1, labels] for each annotated utterance; utterances are matched by their
    words."""
    found: list[list[Any]] = []
    left = iter(annotations)
    annotation = next(left, None)
    for number, turn in enumerate(turns, 1):
        for words in turn.words:
            if annotation is not None and annotation[0] == words:
                found.append([number, annotation[1].split(",")])
                annotation = next(left, None)
    return found


def labels(record: Record) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the turn of each annotated utterance in an imported record, and 1 or 0 for each of `STRATEGIES`."""
    for number, named in record.header.notes.get("strategies", ()):
        yield number - 1, {name: int(name in named) for name in STRATEGIES}


class Figures(NamedTuple):
    """Figures published about the corpus, computed from records.

    Attributes:
        dialogues: Number of dialogues.
        agreed: Number of dialogues that ended in an agreement.
        offers: Number of offers.
        rejections: Number of rejected offers.
        points: Mean points per worker; None without dialogues.
        joint: Mean joint points per agreement; None without agreements.
    """

    dialogues: int
    agreed: int
    offers: int
    rejections: int
    points: float | None
    joint: float | None


PUBLISHED = Figures(1030, 1005, 1181, 167, 18.64, 37.95)
"""Published figures for the whole corpus."""


def figures(imported: Iterable[Record]) -> Figures:
    """Compute the figures for imported records."""
    records = list(imported)
    details = [outcome.details for record in records if (outcome := record.outcome) is not None]
    offers, rejections = (sum(sum(one[name].values()) for one in details) for name in ("offers", "rejections"))
    paid = [record.payoffs[seat] or 0 for record in records for seat in SEATS]
    joint = [sum(record.payoffs[seat] or 0 for seat in SEATS) for record in records if record.end == "AGREED"]
    return Figures(len(records), len(joint), offers, rejections, _mean(paid), _mean(joint))


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None
