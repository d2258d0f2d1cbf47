"""Importer of published matches of clembench's `hot_air_balloon`: instance files, episode folders and trees of them.

An episode is replayed under the rules of the preset `clembench`, and each difference from its files is reported.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from negolab.catalog import load
from negolab.formats.transcript.rows import Row, Seen
from negolab.formats.transcript.rows import rows as told_rows
from negolab.game import End, Invalid, Reply, Seat
from negolab.games.balloon import Balloon
from negolab.games.balloon.prompt import language, languages
from negolab.games.balloon.state import State
from negolab.match import Match
from negolab.record import Record, final_state

NOTE = "official"
"""Name of the note in an imported record that holds the scores of its files, under their own names."""
END = "end"
MAIN = "Main Score"
"""A score of `scores.json`; all others are of `interactions.json`."""

_ENDS: dict[str, End] = {"Success": "AGREED", "Lose": "FORFEIT", "Aborted": "ABORTED"}


class ScorePair(NamedTuple):
    """One score: its name in the file, the stored value and the one derived from the dialogue; None where undefined."""

    name: str
    theirs: Any
    ours: Any

    @property
    def same(self) -> bool:
        """True if both values are equal, numbers up to rounding."""
        if all(isinstance(value, int | float) for value in self[1:]):
            return math.isclose(self.theirs, self.ours, rel_tol=1e-9, abs_tol=1e-9)
        return bool(self.theirs == self.ours)


def stored_scores(played: Mapping[str, Any], scored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores stored in an episode's files, with None for NaN.

    The Pareto flag is left out: clembench computes it wrongly where both seats value items alike.

    Args:
        played: The content of `interactions.json`.
        scored: The content of `scores.json`; may be empty.
    """
    ends = [end for name, end in _ENDS.items() if played.get(name)]
    found: dict[str, Any] = {END: " and ".join(ends)} if ends else {}
    found |= {name: _defined(played[name]) for name in _SCORES if name in played}
    main = scored.get("episode scores", {}).get(MAIN, math.inf)
    return found if main == math.inf else found | {MAIN: _defined(main)}


def _defined(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(value)
    return None if isinstance(value, float) and math.isnan(value) else value


_SCORES = (
    "final deal",
    "Total weight deal",
    "Normalized Utility Player 1",
    "Normalized Utility Player 2",
    "Normalized harmonic mean",
)


def compare_scores(theirs: Mapping[str, Any], game: Balloon, state: State) -> Iterator[ScorePair]:
    """Yield each stored score with the value derived from the final state.

    Args:
        theirs: Scores of `stored_scores`.
        game: The game of the episode.
        state: The state after the last reply.
    """
    end = state.public.end
    details = game.details(state)
    norm = details["norm"] or {"A": None, "B": None}
    of_deal = (details["deal"], details["effort"], norm["A"], norm["B"], details["normalised_harmonic"])
    ours = {END: end, **dict(zip(_SCORES, of_deal, strict=True)), MAIN: details["main"]}
    yield from (ScorePair(name, value, ours[name]) for name, value in theirs.items())


def score_pairs(record: Record) -> tuple[ScorePair, ...]:
    """Return the stored scores of an imported episode with those of its replayed dialogue; () for other records."""
    theirs = record.header.notes.get(NOTE)
    game = record.game
    return tuple(compare_scores(theirs, game, final_state(record))) if theirs and isinstance(game, Balloon) else ()


REASONS = {
    "no_reasoning": "no_sr_prompt",
    "no_argument": "no_argument_prompt",
    "untagged": "untagged_sequence_prompt",
    "bad_set": "invalid_python_set_error",
    "nothing_to_relay": "only_sr_prompt",
    "unknown_item": "proposal_error_prompt",
    "refuse_inactive": "refuse_error_prompt",
    "agree_ambiguous": "agreement_ambiguous_prompt",
    "agree_inactive": "agreement_non_active_prompt",
}
"""Code of a fault -> field of an instance with the sentence that its game master answers to that fault."""

_SEATS: dict[str, Seat] = {"Player 1": "A", "Player 2": "B"}


class Published(NamedTuple):
    """One instance: the game with its explicit start, and its game master's texts by seat and by code of a fault."""

    experiment: str
    game_id: int | str
    game: Balloon
    prompts: dict[Seat, str]
    reasons: dict[str, str]


class Imported(NamedTuple):
    """A replayed episode, and a sentence for each difference between the replay and its files."""

    record: Record
    differences: tuple[str, ...]


# Instances.


def read_instances(file: Path | str) -> list[Published]:
    """Read the instances of an instance file, in order.

    Raises:
        ValueError: The file is missing or not an instance file, or an instance does not fit the game.
    """
    experiments = _read(Path(file)).get("experiments")
    if not isinstance(experiments, list):
        raise ValueError(f"{file}: not an instance file, it has no experiments")
    return [import_published(one, each["name"]) for each in experiments for one in each["game_instances"]]


def import_published(plain: Mapping[str, Any], experiment: str) -> Published:
    """Build the game of one instance.

    Args:
        plain: The instance, an object of `game_instances`.
        experiment: Name of its experiment, for error messages and the record's notes.

    Raises:
        ValueError: A field is missing, or a parameter does not fit the game.
    """
    try:
        game = load(
            "balloon",
            "clembench",
            language=_language(plain["agree_tag"]),
            mode=plain["negotiation_mode"],
            **{name: plain[name] for name in ("strategic_reasoning", "require_argument", "patience")},
            empty_turn_limit=plain["empty_turn_limit"],
            items=len(plain["item_weights"]),
            instance={
                "effort": plain["item_weights"],
                "limit": plain["max_weight"],
                "importance": {"A": plain["player1_preferences"], "B": plain["player2_preferences"]},
            },
        )
    except KeyError as missing:
        raise ValueError(f"instance of {experiment}: no field {missing}") from None
    assert isinstance(game, Balloon)
    first, second = plain.get("player1_initial_prompt"), plain.get("player2_initial_prompt")
    prompts: dict[Seat, str] = {} if first is None or second is None else {"A": first, "B": second}
    reasons = {code: plain[field] for code, field in REASONS.items() if field in plain}
    return Published(experiment, plain.get("game_id", 0), game, prompts, reasons)


def _language(agree_tag: str) -> str:
    """Find the language by the word for agreeing in the instance's pattern; the experiment's name does not tell it."""
    word = agree_tag.split(":")[0]
    for name in languages():
        if language(name).tags.agree == word:
            return name
    raise ValueError(f"unknown tag word {word!r} for agreeing: there is no language with it")


# Episodes.


def read_episode(folder: Path | str) -> Imported:
    """Import the episode in a folder by replaying its dialogue.

    Args:
        folder: A folder with `instance.json`, `interactions.json` and, in newer releases, `scores.json`.

    Returns:
        The record and its differences. Its notes keep the stored scores and the texts of the episode's game master.

    Raises:
        ValueError: A file is missing or not a JSON object (an episode that crashed has no `interactions.json`), an
            event is malformed, or the instance does not fit the game.
    """
    folder = Path(folder)
    played = _read(folder / "interactions.json")
    meta = played.get("meta", {})
    source = import_published(_read(folder / "instance.json"), meta.get("experiment_name", folder.parent.name))
    heard = list(_replies(played))
    match = Match(source.game, seed=0, players=_models(played.get("players", {})), notes=_notes(source, meta))
    match.notes[NOTE] = theirs = stored_scores(played, _scored(folder))
    differences = [*_replay(match, heard), *_compare(match, theirs)]
    if differences:
        match.notes["differences"] = differences
    record = match.record()
    created = next((reply.asked_at or reply.answered_at for _, reply in heard), None)
    when = "" if created is None else datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds")
    header = msgspec.structs.replace(record.header, seed=None, created=when)
    return Imported(Record(header, record.events), tuple(differences))


def read_tree(root: Path | str) -> Iterator[tuple[Path, Imported | str]]:
    """Yield every episode folder below `root` in order, with its import or the reason why it cannot be imported."""
    for instance in sorted(Path(root).rglob("instance.json")):
        folder = instance.parent
        try:
            yield folder, read_episode(folder)
        except ValueError as error:
            yield folder, str(error)
        except (TypeError, LookupError, AttributeError, RecursionError) as error:  # JSON of another shape
            yield folder, f"{folder}: not an episode of clembench: {type(error).__name__}: {error}"[:300]


def transcript_rows(record: Record) -> list[Row]:
    """Return the transcript rows of an imported match in its own game master's words, where the instance has them."""
    notes = record.header.notes
    prompts, reasons = notes.get("prompts", {}), notes.get("reasons", {})

    def prompt(seen: Seen, since: Seen | None) -> str:
        if since is not None or seen.seat not in prompts:
            return record.game.told(seen.seat).prompt(seen, since)
        return "\n\n".join((prompts[seen.seat], *(message.text for message in seen.public.messages)))

    def reason(invalid: Invalid) -> str:
        return "\n".join(reasons.get(code, invalid.reason) for code in invalid.codes)

    return told_rows(record, prompt=prompt, reason=reason)


def _scored(folder: Path) -> dict[str, Any]:
    """Read the scores beside an episode; {} for older releases, which have none."""
    file = folder / "scores.json"
    return _read(file) if file.is_file() else {}


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise ValueError(f"{file.parent}: no {file.name}")
    try:
        plain = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: not JSON ({error})") from None
    if not isinstance(plain, dict):
        raise ValueError(f"{file}: not a JSON object")
    return plain


def _notes(source: Published, meta: Mapping[str, Any]) -> dict[str, Any]:
    notes = {"source": "clembench", "experiment": source.experiment, "game_id": source.game_id}
    notes |= {name: meta[name] for name in ("clem_version", "results_folder") if name in meta}
    return notes | {"prompts": dict(source.prompts), "reasons": source.reasons}


def _models(players: Mapping[str, Any]) -> dict[Seat, str]:
    found = ((_seat(name), player.get("model_name", "")) for name, player in players.items())
    return {seat: model for seat, model in found if seat is not None}


def _seat(name: str) -> Seat | None:
    """Map a player's name to a seat by its prefix: newer releases append a suffix."""
    return next((seat for prefix, seat in _SEATS.items() if name.startswith(prefix)), None)


def _replies(played: Mapping[str, Any]) -> Iterator[tuple[Seat, Reply]]:
    """Yield the players' replies in order, each with the times of the last prompt to its seat and of the answer."""
    asked: dict[Seat, float | None] = {}
    for number, event in enumerate((event for turn in played.get("turns", ()) for event in turn), 1):
        try:
            kind, content = event["action"]["type"], event["action"]["content"]
            spoken, heard = _seat(event["from"]), _seat(event["to"])
            when = _seconds(event.get("timestamp"))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"interactions.json: event {number} is malformed ({error!r})") from None
        if kind == "send message" and heard is not None:
            asked[heard] = when
        elif kind == "get message" and spoken is not None:
            if not isinstance(content, str):
                raise ValueError(f"interactions.json: event {number} is a reply without words")
            yield spoken, Reply(content, via="clembench", asked_at=asked.get(spoken), answered_at=when)


def _seconds(stamp: str | None) -> float | None:
    """Convert a time stamp to Unix time; one without a zone counts as UTC, since only differences are used."""
    if stamp is None:
        return None
    when = datetime.fromisoformat(stamp)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _replay(match: Match, heard: list[tuple[Seat, Reply]]) -> Iterator[str]:
    """Submit the replies until one comes from a seat that is not on turn; yield that difference."""
    for number, (seat, reply) in enumerate(heard, 1):
        asked = tuple(match.pending())
        if asked != (seat,):
            over = f"the match is over ({match.ended.end})" if match.ended else f"the rules ask seat {asked[0]}"
            yield f"reply {number} of {len(heard)}: the file has seat {seat} speak, {over}"
            return
        match.submit(seat, reply)


def _compare(match: Match, theirs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences in end, deal and scores between the file and the replayed match."""
    last = f"reply {sum(1 for event in match.events if hasattr(event, 'reply'))}, the last"
    assert isinstance(match.game, Balloon)
    for pair in compare_scores(theirs, match.game, match.state):
        if pair.same:
            continue
        if pair.name == END:
            yield f"{last}: the file says {pair.theirs}, the rules {pair.ours or 'that it goes on'}"
        else:
            said = "undefined" if pair.theirs is None else pair.theirs
            yield f"{last}: {pair.name} is {said} in the file, {pair.ours} by the rules"
