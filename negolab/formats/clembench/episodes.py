"""Published matches of clembench's `hot_air_balloon`: an instance file as games, an episode folder as a record.

An episode is replayed under the rules of the preset `clembench`, and each difference from its files is reported.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from negolab._internal.files import read_bytes
from negolab.catalog import load
from negolab.formats.clembench.scores import NOTE, describe_pair, score_pairs, stored_scores
from negolab.formatting import counted
from negolab.game import Reply, Seat
from negolab.games.balloon import Balloon
from negolab.games.balloon.prompt import language, languages
from negolab.match import Match
from negolab.record import Record, parse_record
from negolab.verification import Difference

GAME = "hot_air_balloon"
_OWN_FIELDS = frozenset({"item_weights", "negotiation_mode", "player1_preferences"})
"""Fields of an instance that no other clembench game has."""
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
"""Fault code -> field of an instance with the sentence with which its game master answers that fault."""
DIFFERENCES = "differences"
"""Name of the note in an imported record that lists the record's differences from its files."""
PREFIX = "air_balloon_survival_"
"""Beginning of all experiments' names, left out of record ids."""

_SEATS: dict[str, Seat] = {"Player 1": "A", "Player 2": "B"}
_TEMPERATURE = re.compile(r"-t\d+(\.\d+)?$")
"""End of a model's name in the name of a results folder, MODEL-tTEMPERATURE; two names are joined by `--`."""


class CrashedError(ValueError):
    """The dialogue of an episode is missing or cannot be read."""


class Published(NamedTuple):
    """One instance: the game with its explicit start, and the game master's texts by seat and by fault code."""

    experiment: str
    game_id: int | str
    game: Balloon
    prompts: dict[Seat, str]
    reasons: dict[str, str]


# Instances.


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
    """Determine the language by the word for agreeing in the instance's pattern; the experiment's name does not reveal
    it."""
    word = agree_tag.split(":")[0]
    for name in languages():
        if language(name).tags.agree == word:
            return name
    raise ValueError(f"unknown tag word {word!r} for agreeing: no language uses it")


# Episodes.


def read_episode(folder: Path | str) -> Record:
    """Import the episode in a folder by replaying its dialogue.

    Each model with each temperature is a separate player, MODEL-tTEMPERATURE; the temperature comes from the results
    folder around the episode, or else from the folder named in its metadata.

    Args:
        folder: A folder with `instance.json`, `interactions.json` and, in newer releases, `scores.json`.

    Returns:
        The record. Its notes contain the stored scores, the texts of the episode's game master and, as `DIFFERENCES`, a
        sentence for each difference between the replay and the files. Its id is the same each time it is imported.

    Raises:
        CrashedError: There is no dialogue (an episode that crashed has no `interactions.json`), or it cannot be read.
        ValueError: The instance is missing or does not fit the game.
    """
    folder = Path(folder).resolve()
    instance = read_json(folder / "instance.json")
    said = _read_dialogue(folder)
    source = import_published(instance, said.meta.get("experiment_name", folder.parent.name))
    match = Match(source.game, seed=0, players=said.players, id=_id(source, said), notes=_notes(source, said, folder))
    differences = [*_replay(match, said.replies), *_compare(match.record())]
    if differences:
        match.notes[DIFFERENCES] = differences
    record = match.record()
    created = next((reply.asked_at or reply.answered_at for _, reply in said.replies), None)
    when = "" if created is None else datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds")
    # The header as read from a file, so that a folder of episodes and the run imported from it have equal records.
    header = msgspec.structs.replace(parse_record(record.to_line()).header, seed=None, created=when)
    return Record(header, record.events)


class _Dialogue(NamedTuple):
    """Contents of an episode's files other than its instance."""

    meta: Mapping[str, Any]
    players: dict[Seat, str]
    scores: dict[str, Any]
    replies: list[tuple[Seat, Reply]]


def _read_dialogue(folder: Path) -> _Dialogue:
    scored = folder / "scores.json"  # missing in older releases
    try:
        played = read_json(folder / "interactions.json")
        meta = {**played.get("meta", {})}
        players = _players(played.get("players", {}), results_folder(folder) or str(meta.get("results_folder", "")))
        scores = stored_scores(played, read_json(scored) if scored.is_file() else {})
        return _Dialogue(meta, players, scores, list(_replies(played)))
    except ValueError as error:
        raise CrashedError(str(error)) from None
    except (TypeError, LookupError, AttributeError, RecursionError) as error:  # JSON of another shape
        raise CrashedError(f"{folder}: not an episode of clembench: {type(error).__name__}: {error}"[:300]) from None


def results_folder(folder: Path) -> str:
    """Return the name of the closest folder above an episode that names models with temperatures; "" if there is
    none."""
    names = (parent.name for parent in folder.parents[:4])
    return next((name for name in names if all(map(_TEMPERATURE.search, name.split("--")))), "")


def _players(players: Mapping[str, Any], results: str) -> dict[Seat, str]:
    """Return the models by seat, with the temperatures in the name of the results folder."""
    parts = results.split("--")
    found: dict[Seat, str] = {}
    for name, player in players.items():
        if (seat := _seat(name)) is not None:
            model = player.get("model_name", "") if isinstance(player, Mapping) else str(player)
            warm = _TEMPERATURE.search(parts[-1 if seat == "B" else 0])
            found[seat] = model if warm is None or model.endswith(warm[0]) else model + warm[0]
    return found


def _id(source: Published, said: _Dialogue) -> str:
    """Name an episode by its experiment and number and by a hash of who said what and when."""
    words = [(seat, reply.text, reply.answered_at) for seat, reply in said.replies]
    text = json.dumps([source.experiment, source.game_id, sorted(said.players.items()), words])
    name = f"{source.experiment.removeprefix(PREFIX)}-{source.game_id}".replace(" ", "_")
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def episode_differences(record: Record) -> tuple[Difference, ...]:
    """Return the differences of an episode with their causes: where its dialogue departs from the rules, or else each
    score."""
    told = record.header.notes.get(DIFFERENCES)
    if not told:
        return ()
    wrong = [pair.name for pair in score_pairs(record) if not pair.same]
    if len(wrong) < len(told):
        return (Difference("the dialogue continues differently from the rules", told[0]),)
    causes = (f"{name} does not follow from the dialogue" for name in wrong)
    return tuple(Difference(*both) for both in zip(causes, told, strict=True))


def read_json(file: Path) -> dict[str, Any]:
    """Read a file of an episode; `ValueError` if it is missing or not a JSON object."""
    if not file.is_file():
        raise ValueError(f"{file.parent}: no {file.name}")
    try:
        plain = json.loads(read_bytes(file))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: not JSON ({error})") from None
    if not isinstance(plain, dict):
        raise ValueError(f"{file}: not a JSON object")
    return plain


def _notes(source: Published, said: _Dialogue, folder: Path) -> dict[str, Any]:
    return {
        "source": "clembench",
        "experiment": source.experiment,
        "game_id": source.game_id,
        "folder": "/".join(folder.parts[-5:]),  # RESULTS/MODELS/hot_air_balloon/EXPERIMENT/INSTANCE
        **{name: said.meta[name] for name in ("clem_version", "results_folder") if name in said.meta},
        "prompts": dict(source.prompts),
        "reasons": source.reasons,
        NOTE: said.scores,
    }


def _seat(name: str) -> Seat | None:
    """Map a player's name to a seat by its prefix: newer releases append a suffix."""
    return next((seat for prefix, seat in _SEATS.items() if name.startswith(prefix)), None)


def _replies(played: Mapping[str, Any]) -> Iterator[tuple[Seat, Reply]]:
    """Yield the players' replies in order, each with the times of the last prompt to its seat and of the reply."""
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
                raise ValueError(f"interactions.json: event {number} is an empty reply")
            yield spoken, Reply(content, via="clembench", asked_at=asked.get(spoken), answered_at=when)


def _seconds(stamp: str | None) -> float | None:
    """Convert a timestamp to Unix time; one without a time zone is taken as UTC, because only differences are used."""
    if stamp is None:
        return None
    when = datetime.fromisoformat(stamp)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _replay(match: Match, heard: list[tuple[Seat, Reply]]) -> Iterator[str]:
    """Submit the replies until one comes from a seat whose turn it is not; yield that difference."""
    for number, (seat, reply) in enumerate(heard, 1):
        asked = tuple(match.pending())
        if asked != (seat,):
            over = f"the match is over ({match.ended.end})" if match.ended else f"the rules ask seat {asked[0]}"
            yield f"reply {number} of {len(heard)}: the file has seat {seat} speak, {over}"
            return
        match.submit(seat, reply)


def _compare(record: Record) -> Iterator[str]:
    """Yield the differences in end, deal and scores between the files and the replayed match."""
    replies = sum(hasattr(event, "reply") for event in record.events)
    for pair in score_pairs(record):
        if not pair.same:
            yield f"reply {replies}, the last: {describe_pair(pair)}"


# All episodes under a folder, and what is left out.


class LeftOut(NamedTuple):
    """An episode that has no record.

    Attributes:
        folder: The folder of the episode.
        kind: The episode is of another game, it crashed (there is no readable dialogue), or its instance cannot be
            read.
        what: The other game, the models that crashed, or the reason.
    """

    folder: Path
    kind: Literal["game", "crashed", "unreadable"]
    what: str


def read_tree(root: Path | str) -> Iterator[Record | LeftOut]:
    """Read every episode folder under `root`, in the order of their paths, one at a time."""
    root = Path(root).resolve()
    for folder in episode_folders(root):
        links = (file for file in _files(folder) if file.is_symlink() and not file.resolve().is_relative_to(root))
        if (link := next(links, None)) is not None:
            yield LeftOut(folder, "unreadable", f"{link.name} is a link to a place outside {root.name}")
            continue
        game = _game_of(folder)
        yield _read_or_leave_out(folder) if game == GAME else LeftOut(folder, "game", game)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files read for an episode."""
    yield from folder.glob("*.json")
    yield folder.parent / "experiment.json"


def episode_folders(root: Path) -> Iterator[Path]:
    """Yield every folder under `root` that holds an episode, of any game, in the order of their paths."""
    for path, folders, files in os.walk(root):
        folders.sort()
        if "instance.json" in files or "interactions.json" in files:
            yield Path(path)


def _read_or_leave_out(folder: Path) -> Record | LeftOut:
    try:
        return read_episode(folder)
    except CrashedError:
        return LeftOut(folder, "crashed", _models(folder))
    except ValueError as error:
        return LeftOut(folder, "unreadable", str(error).replace(str(folder), "").lstrip("/: "))
    except (TypeError, LookupError, AttributeError, OverflowError) as error:  # JSON of another shape
        return LeftOut(folder, "unreadable", f"not an instance of {GAME}: {type(error).__name__}: {error}"[:300])


def _game_of(folder: Path) -> str:
    """Return the name of an episode's game, as given by its instance, or else by its files or folders."""
    if not _OWN_FIELDS.isdisjoint(_plain(folder / "instance.json")):
        return GAME
    stated = _plain(folder.parent / "experiment.json").get("game_name")
    meta = stated or _plain(folder / "interactions.json").get("meta")
    return str(stated or (isinstance(meta, dict) and meta.get("game_name")) or folder.parents[1].name)


def _models(folder: Path) -> str:
    """Return the models that played an episode, as named by its results folder."""
    if found := results_folder(folder):
        return found
    return folder.parents[2].name if folder.parents[1].name == GAME else "models unknown"


def _plain(file: Path) -> dict[str, Any]:
    with suppress(ValueError):
        return read_json(file)
    return {}


def count_left_out(left_out: Iterable[LeftOut]) -> tuple[str, ...]:
    """Say, in one sentence each, which other games there are, whose episodes crashed, and what could not be read."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for one in left_out:
        groups.setdefault((one.kind, one.what), []).append(one.folder)
    return tuple(_sentence(kind, what, folders) for (kind, what), folders in groups.items())


def _sentence(kind: str, what: str, folders: list[Path]) -> str:
    episodes = counted(len(folders), "episode")
    if kind == "game":
        return f"{what}: {episodes} of another game, left out"
    first = f"first: {folders[0]}"
    if kind == "crashed":
        return f"{what}: {episodes} crashed (interactions.json is missing or cannot be read), left out; {first}"
    return f"{episodes} cannot be read, left out: {what}; {first}"
