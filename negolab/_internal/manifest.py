"""The manifest of a run's folder: its plan and its players, written before the first game."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from negolab._internal.files import read_bytes, write_json

FILE = "manifest.json"
_MAX_SHOWN = 60


class _Tournament(msgspec.Struct):
    """The parts of a tournament's manifest besides its plan: `games` are folders inside it, by label."""

    games: dict[str, str]
    entrants: list[str]
    opponents: list[str] | None
    bases: dict[str, str]
    conditions: dict[str, dict[str, str | None]]

    def __post_init__(self) -> None:
        if len(set(self.entrants)) < len(self.entrants):
            raise ValueError("an entrant appears twice")
        for game, name in self.games.items():
            if not re.fullmatch(r"[\w+=-][\w.+=-]{0,79}", name):
                raise ValueError(f"the game {game!r:.40} is in {name!r:.40}, which is not the name of a folder in it")


def read(folder: Path) -> dict[str, Any]:
    """Read a folder's manifest, or `{}` if there is none; raise `ValueError` for a file that is not a manifest."""
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        manifest = msgspec.json.decode(read_bytes(path), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not the manifest of a run ({error}): choose another folder") from None
    if not all(isinstance(manifest.get(part), dict) for part in ("plan", "players")):
        raise ValueError(f"{path} is not the manifest of a run (it names no plan): choose another folder")
    if manifest.keys() & {"entrants", "conditions"}:
        try:
            msgspec.convert(manifest, _Tournament)
        except msgspec.ValidationError as error:
            raise ValueError(f"{path} is not the manifest of a tournament ({error}): choose another folder") from None
    return manifest


class Pairing(msgspec.Struct):
    """A pairing's plan: its players, and the number of matches."""

    a: str
    b: str
    n: int


def read_pairing(folder: Path) -> Pairing:
    """Read the plan of a pairing from its folder's manifest."""
    try:
        return msgspec.convert(read(folder)["plan"], Pairing)
    except msgspec.ValidationError as error:
        raise ValueError(f"{folder / FILE} is not the manifest of a pairing ({error}): restore it") from None


def game_folders(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Return the folder of each game in a tournament that has been played, by label; a link is left out, because it may
    lead elsewhere."""
    found = {game: folder / name for game, name in manifest["games"].items()}
    return {game: path for game, path in found.items() if path.is_dir() and not path.is_symlink()}


def planned_matches(folder: Path) -> int:
    """Return how many matches the run in a folder planned; 0 if its manifest does not say."""
    about = read(folder)
    found = about.get("matches") if "entrants" in about else about.get("plan", {}).get("n")
    return found if isinstance(found, int) else 0


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Describe what makes `new` a different run from `old`, with both values: parts of the plan except the number of
    games, or facts about a player such as the text of its prompt."""
    names = {**old["plan"], **new["plan"]}
    plan = [name for name in names if name != "n" and new["plan"].get(name) != old["plan"].get(name)]
    changed = [_changes({name: old["plan"].get(name)}, {name: new["plan"].get(name)}) or [name] for name in plan]
    return [text for texts in changed for text in texts] or list(_player_differences(old["players"], new["players"]))


def _player_differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for player, facts in new.items():
        yield from _changes(old.get(player) or {}, facts, f" of {player}")


def _changes(old: dict[str, Any], new: dict[str, Any], whose: str = "") -> list[str]:
    """Name the facts that differ, with their values then and now."""
    then, now = _flatten(old), _flatten(new)
    return [
        f"{name}{whose} ({_shorten(then.get(name))} then, {_shorten(now.get(name))} now)"
        for name in {**then, **now}
        if then.get(name) != now.get(name)
    ]


def _flatten(facts: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten nested facts, joining names with spaces; hashes of texts that are compared, and where code is, are left
    out."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        inner = _flatten(value, f"{before}{name} ") if isinstance(value, dict) else {f"{before}{name}": value}
        flat |= {k: v for k, v in inner.items() if not k.endswith("sha256") and k != "path" and name != "files"}
    return flat


def changed_code(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Name the files of players whose hash differs, each once."""
    pairs = ((old["players"].get(player) or {}, facts) for player, facts in new["players"].items())
    changed = [(a, b) for a, b in pairs if "source" in b and a.get("sha256") != b.get("sha256")]
    return list(dict.fromkeys(changed_files(a.get("files", {}), b.get("files", {}), b["source"]) for a, b in changed))


def changed_files(then: Mapping[str, str], now: Mapping[str, str], whole: str) -> str:
    """Name the files whose hashes differ, as parts of `whole`; `whole` alone if they are not known."""
    names = sorted(name for name in {**then, **now} if then.get(name) != now.get(name)) if then and now else []
    few = [*names[:3], f"{len(names) - 3} more"] if len(names) > 3 else names
    return f"{' and '.join(few)} of {whole}" if few and few != [Path(whole).name] else whole


def _shorten(value: Any) -> str:
    text = "not set" if value is None else " ".join(str(value).split())
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


def write(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a folder's manifest atomically."""
    write_json(folder / FILE, manifest)
