"""Folders of published episodes: all episodes of the balloon game below a folder, and what is left out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from negolab.formats.clembench.episodes import CrashedError, Imported, read_episode, read_json, results_folder

GAME = "hot_air_balloon"
_OWN_FIELDS = frozenset({"item_weights", "negotiation_mode", "player1_preferences"})
"""Fields of an instance that no other game of clembench has."""


class LeftOut(NamedTuple):
    """An episode that has no record.

    Attributes:
        folder: The folder of the episode.
        kind: It is of another game, it crashed (there is no dialogue, or none that can be read), or its instance
            cannot be read.
        what: The other game, the models that crashed, or the reason.
    """

    folder: Path
    kind: Literal["game", "crashed", "unreadable"]
    what: str


def read_tree(root: Path | str) -> Iterator[Imported | LeftOut]:
    """Read every episode folder below `root`, in the order of their paths, one at a time."""
    for folder in episode_folders(Path(root).resolve()):
        game = _game(folder)
        yield _read(folder) if game == GAME else LeftOut(folder, "game", game)


def episode_folders(root: Path) -> Iterator[Path]:
    """Yield every folder below `root` that holds an episode, of any game, in the order of their paths."""
    for path, folders, files in os.walk(root):
        folders.sort()
        if "instance.json" in files or "interactions.json" in files:
            yield Path(path)


def _read(folder: Path) -> Imported | LeftOut:
    try:
        return read_episode(folder)
    except CrashedError:
        return LeftOut(folder, "crashed", _models(folder))
    except ValueError as error:
        return LeftOut(folder, "unreadable", str(error).replace(str(folder), "").lstrip("/: "))
    except (TypeError, LookupError, AttributeError) as error:  # JSON of another shape
        return LeftOut(folder, "unreadable", f"no instance of {GAME}: {type(error).__name__}: {error}"[:300])


def _game(folder: Path) -> str:
    """Return the name of the game of an episode, by its instance, else by what its files or folders say."""
    if not _OWN_FIELDS.isdisjoint(_plain(folder / "instance.json")):
        return GAME
    stated = _plain(folder.parent / "experiment.json").get("game_name")
    meta = stated or _plain(folder / "interactions.json").get("meta")
    return str(stated or (isinstance(meta, dict) and meta.get("game_name")) or folder.parents[1].name)


def _models(folder: Path) -> str:
    """Return the models that played an episode, as its results folder names them."""
    if found := results_folder(folder):
        return found
    return folder.parents[2].name if folder.parents[1].name == GAME else "models unknown"


def _plain(file: Path) -> dict[str, Any]:
    with suppress(ValueError):
        return read_json(file)
    return {}


def count_left_out(left_out: Iterable[LeftOut]) -> tuple[str, ...]:
    """Say in a sentence each which other games there are, whose episodes crashed, and what could not be read."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for one in left_out:
        groups.setdefault((one.kind, one.what), []).append(one.folder)
    return tuple(_sentence(kind, what, folders) for (kind, what), folders in groups.items())


def _sentence(kind: str, what: str, folders: list[Path]) -> str:
    episodes = f"{len(folders):,} episode{'s' * (len(folders) > 1)}"
    if kind == "game":
        return f"{what}: {episodes} of another game, left out"
    first = f"first: {folders[0]}"
    if kind == "crashed":
        return f"{what}: {episodes} crashed (interactions.json is missing or cannot be read), left out; {first}"
    return f"{episodes} cannot be read, left out: {what}; {first}"
