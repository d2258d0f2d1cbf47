"""Published matches of clembench's `hot_air_balloon`: instance files, episode folders, trees of them.

An episode is played again through the preset `clembench`; where the file says something else, the importer says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from negolab.catalog import load
from negolab.formats import official
from negolab.formats.transcript.telling import Row, Seen
from negolab.formats.transcript.telling import rows as told_rows
from negolab.game import Invalid, Reply, Seat
from negolab.games.balloon import Balloon
from negolab.games.balloon.language import language, languages
from negolab.match import Match
from negolab.record import Record

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
"""Where an instance keeps the sentence that its master says on a fault."""

_SEATS: dict[str, Seat] = {"Player 1": "A", "Player 2": "B"}


class Published(NamedTuple):
    """One instance: the game with its explicit start, and the words its master uses (by seat, and by code)."""

    experiment: str
    game_id: int | str
    game: Balloon
    prompts: dict[Seat, str]
    reasons: dict[str, str]


class Imported(NamedTuple):
    """An episode played again, and a sentence for each place where its file says something else."""

    record: Record
    differences: tuple[str, ...]


# Instances.


def instances(file: Path | str) -> list[Published]:
    """The instances of an instance file, in order."""
    experiments = _read(Path(file)).get("experiments")
    if not isinstance(experiments, list):
        raise ValueError(f"{file}: not an instance file, it has no experiments")
    return [published(one, each["name"]) for each in experiments for one in each["game_instances"]]


def published(plain: Mapping[str, Any], experiment: str) -> Published:
    """One instance object; `ValueError` names what is missing or does not fit."""
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
    """The language whose word for AGREE opens the pattern; the experiment's name does not tell."""
    word = agree_tag.split(":")[0]
    for name in languages():
        if language(name).tags.agree == word:
            return name
    raise ValueError(f"unknown tag word {word!r} for agreeing: there is no language with it")


# Episodes.


def episode(folder: Path | str) -> Imported:
    """One episode folder; `ValueError` names a missing file: without `interactions.json` the episode crashed."""
    folder = Path(folder)
    played = _read(folder / "interactions.json")
    meta = played.get("meta", {})
    source = published(_read(folder / "instance.json"), meta.get("experiment_name", folder.parent.name))
    heard = list(_replies(played))
    match = Match(source.game, seed=0, players=_models(played.get("players", {})), notes=_notes(source, meta))
    match.notes[official.NOTE] = theirs = official.stored(played, _scored(folder))
    differences = [*_replay(match, heard), *_compare(match, theirs)]
    if differences:
        match.notes["differences"] = differences
    record = match.record()
    created = next((reply.asked_at or reply.answered_at for _, reply in heard), None)
    when = "" if created is None else datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds")
    header = msgspec.structs.replace(record.header, seed=None, created=when)
    return Imported(Record(header, record.events), tuple(differences))


def tree(root: Path | str) -> Iterator[tuple[Path, Imported | str]]:
    """Every episode folder below `root` in order, with its import or the reason why there is none."""
    for instance in sorted(Path(root).rglob("instance.json")):
        folder = instance.parent
        try:
            yield folder, episode(folder)
        except ValueError as error:
            yield folder, str(error)
        except (TypeError, LookupError, AttributeError, RecursionError) as error:  # JSON of another shape
            yield folder, f"{folder}: not an episode of clembench: {type(error).__name__}: {error}"[:300]


def rows(record: Record) -> list[Row]:
    """The rows of an imported match in the words of its own master, as far as the instance has them."""
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
    """The scores that stand beside an episode; older folders have none."""
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
    """Newer files add a suffix to the players' names."""
    return next((seat for prefix, seat in _SEATS.items() if name.startswith(prefix)), None)


def _replies(played: Mapping[str, Any]) -> Iterator[tuple[Seat, Reply]]:
    """What the players said, in order, each with the times of the master's last words to it and of the answer."""
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
    """Seconds since the epoch; stamps without a zone count as UTC, since only differences are told."""
    if stamp is None:
        return None
    when = datetime.fromisoformat(stamp)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _replay(match: Match, heard: list[tuple[Seat, Reply]]) -> Iterator[str]:
    """Plays the replies, as long as the rules ask the seats that gave them."""
    for number, (seat, reply) in enumerate(heard, 1):
        asked = tuple(match.pending())
        if asked != (seat,):
            over = f"the match is over ({match.ended.end})" if match.ended else f"the rules ask seat {asked[0]}"
            yield f"reply {number} of {len(heard)}: the file has seat {seat} speak, {over}"
            return
        match.submit(seat, reply)


def _compare(match: Match, theirs: Mapping[str, Any]) -> Iterator[str]:
    """Where end, deal and scores of the file are not ours."""
    last = f"reply {sum(1 for event in match.events if hasattr(event, 'reply'))}, the last"
    assert isinstance(match.game, Balloon)
    for pair in official.compared(theirs, match.game, match.state):
        if pair.same:
            continue
        if pair.name == official.END:
            yield f"{last}: the file says {pair.theirs}, the rules {pair.ours or 'that it goes on'}"
        else:
            said = "undefined" if pair.theirs is None else pair.theirs
            yield f"{last}: {pair.name} is {said} in the file, {pair.ours} by the rules"
