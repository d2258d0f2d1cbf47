"""Players in a user's own code: `mine.py:Haggler`, `package.module:Haggler`, and those that installed packages offer.

A file or module is imported only for a text that the user typed: on a command line, in Python, in a plan or a study
file. A record may name the same player later in the same process; by itself, it imports nothing.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from typing_extensions import override

from negolab import user_code
from negolab._internal.validation import suggest
from negolab.game import Game
from negolab.user_code import OURS, describe_failure

GROUP = "negolab.players"
"""Entry point group for installed packages: a class, a function that returns a player, or a module with PLAYERS."""
PlayerClass = Callable[..., Any]
"""A class of players, or a function that returns a player; its keyword parameters are the player's."""

_REFERENCE = re.compile(r"(?P<head>.+?\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_][\w-]*)(?:,(?P<tail>.*))?", re.DOTALL)


class CodeReference(NamedTuple):
    """A reference to a player in a user's code: a file or module, the player in it, and its parameters as text."""

    head: str
    name: str
    tail: str

    @property
    def is_file(self) -> bool:
        return self.head.endswith(".py")

    @property
    def shown(self) -> str:
        """The player without its parameters, and a file without its folder, so that folders can be moved."""
        return f"{Path(self.head).name if self.is_file else self.head}:{self.name}"

    def is_importable(self) -> bool:
        """Return True if the head may be a module: a dotted path, or one that is found."""
        return "." in self.head or self.head in sys.modules or importlib.util.find_spec(self.head) is not None

    @property
    def full_name(self) -> str:
        """The player's name in records: like `shown`, with its parameters."""
        return f"{self.shown},{self.tail}" if self.tail else self.shown

    def beside(self, folder: Path) -> CodeReference:
        """Return the reference with the absolute path of its file, which is relative to a folder."""
        return self._replace(head=str((folder / Path(self.head).expanduser()).resolve())) if self.is_file else self

    @override
    def __str__(self) -> str:
        return f"{self.head}:{self.name}" + (f",{self.tail}" if self.tail else "")


def parse_reference(text: str) -> CodeReference | None:
    """Parse `mine.py:Haggler,beta=2` or `package.module:Haggler`; None for a text in another form."""
    match = _REFERENCE.fullmatch(text)
    return match and CodeReference(match["head"], match["name"], match["tail"] or "")


_found: dict[str, PlayerClass] = {}
"""Players from files and modules that the user named, by their names in records."""


def find_player(reference: CodeReference, *, load: bool) -> PlayerClass:
    """Return the class or function that a reference names.

    Args:
        reference: The reference.
        load: True to import its file or module, only for a reference that the user typed; False for only what has
            already been found in this process.

    Raises:
        ValueError: There is no such file, module or player, or its import failed.
    """
    if load:
        _found[reference.shown] = _player_in(_load(reference), reference)
    elif reference.shown not in _found:
        if (offered := _offered_by_loaded(reference)) is not None:
            return offered
        raise ValueError(
            f"the player {reference.shown!r} has its own code, which never runs when a record is read: specify the "
            "player yourself wherever you choose one"
        )
    return _found[reference.shown]


def _offered_by_loaded(reference: CodeReference) -> PlayerClass | None:
    """Return the player if its file has been loaded for its PLAYERS and the player is one of them, otherwise None."""
    module = sys.modules.get(Path(reference.head).stem) if reference.is_file else None
    if module is None or _file_name(module) != Path(reference.head).name:
        return None
    listed = _players_list(module)
    offered = _only_players(listed) if isinstance(listed, dict) else {}
    by_class = {made.__name__: made for made in offered.values()}
    return {**by_class, **offered}.get(reference.name)


def _load(reference: CodeReference) -> ModuleType:
    """Import what a reference names; a file that has changed since this process loaded it is loaded again."""
    if reference.is_file:
        _forget_if_changed(Path(reference.head).expanduser().resolve())
    try:
        module = user_code.load(str(Path(reference.head).expanduser()) if reference.is_file else reference.head)
    except ValueError as error:
        raise ValueError(f"player {reference.shown!r}: {error}") from error.__cause__
    _facts_of(module)
    return module


def _forget_if_changed(path: Path) -> None:
    loaded = sys.modules.get(path.stem)
    if loaded is None or loaded.__name__ not in _facts or not path.is_file():
        return
    facts = _facts_of(loaded)
    code = user_code.read_code(str(path))
    if code is None or facts.get("path") != str(path) or facts["sha256"] == code.source.sha256:
        return
    if _holds_game(loaded):
        raise ValueError(f"{path.name} contains a game and changed after it was loaded: restart Python")
    user_code.forget(code)


def _player_in(module: ModuleType, reference: CodeReference) -> PlayerClass:
    listed = getattr(module, "PLAYERS", {})
    found = listed.get(reference.name, getattr(module, reference.name, None))
    if found is None:
        known = [*listed, *(name for name, value in vars(module).items() if _is_own_class(value, module))]
        more = suggest(reference.name, dict.fromkeys(known)) if known else "it defines no players."
        raise ValueError(f"player {reference.shown!r}: {_file_name(module)} has no {reference.name}: {more}")
    return found  # type: ignore[no-any-return]


def _is_own_class(value: Any, module: ModuleType) -> bool:
    return _is_player_class(value) and value.__module__ == module.__name__


def _is_player_class(value: Any) -> bool:
    return isinstance(value, type) and callable(getattr(value, "reply", None))


# Players that modules and installed packages offer for any game.


def offered_players() -> dict[str, PlayerClass]:
    """Return the players of installed packages, those in the PLAYERS of modules that this process has loaded, and those
    that the user named, such as `mine.py:Haggler`."""
    modules = [module for module in list(sys.modules.values()) if isinstance(_players_list(module), dict)]
    of_games = [_players_list(module) for module in modules if _is_ours_or_of_a_game(module)]
    lists = [listed for listed in map(_players_list, modules) if not any(listed is each for each in of_games)]
    offered: dict[str, PlayerClass] = {}
    for players in (*map(_players_of_entry, _entry_points()), *map(_only_players, lists)):
        offered = {**players, **offered}
    return {**offered, **{name: found for name, found in _found.items() if found not in offered.values()}}


def check_offers(module: ModuleType) -> None:
    """Check what one of the user's own modules offers, after this process has loaded it.

    Raises:
        ValueError: It holds neither a game nor PLAYERS, or a name in its PLAYERS is also that of another module's
            player.
    """
    if _is_ours_or_of_a_game(module):
        return
    own = _players_list(module)
    if not isinstance(own, dict) or not own:
        raise ValueError(f"{_file_name(module)} defines neither a game nor PLAYERS, such as {{'haggler': Haggler}}")
    for other in list(sys.modules.values()):
        theirs = _players_list(other)
        if isinstance(theirs, dict) and not _is_ours_or_of_a_game(other):
            for name in own.keys() & theirs.keys():
                if own[name] is not theirs[name]:
                    raise ValueError(
                        f"{_file_name(module)}: {_file_name(other)} also has a player {name!r}: rename one of them"
                    )


def _file_name(module: ModuleType) -> str:
    return Path(getattr(module, "__file__", None) or module.__name__).name


def _players_list(module: ModuleType) -> Any:
    return getattr(module, "__dict__", {}).get("PLAYERS")


def _is_ours_or_of_a_game(module: ModuleType) -> bool:
    """Return True for a module whose PLAYERS are for one game, wherever they are imported."""
    home = getattr(module, "__name__", "")
    package = sys.modules.get(home.rpartition(".")[0])
    return home.partition(".")[0] in OURS or _holds_game(module) or (package is not None and _holds_game(package))


def _only_players(listed: dict[str, Any]) -> dict[str, PlayerClass]:
    return {name: made for name, made in listed.items() if _is_player_class(made) or inspect.isfunction(made)}


def _holds_game(module: ModuleType) -> bool:
    """Return True if a module or a part of it defines a game; one imported from elsewhere does not count."""
    home = module.__name__
    classes = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Game))
    return any(f"{cls.__module__}.".startswith(f"{home}.") for cls in classes)


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    return user_code.entry_points(GROUP)


@cache
def _players_of_entry(entry: EntryPoint) -> dict[str, PlayerClass]:
    """Load an entry point; if a package cannot be loaded, warn about it once and leave the others usable."""
    try:
        loaded = entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist else entry.value
        warnings.warn(
            f"the player {entry.name!r} of {package} cannot be loaded: {describe_failure(error)}", stacklevel=2
        )
        return {}
    return dict(getattr(loaded, "PLAYERS", {})) if isinstance(loaded, ModuleType) else {entry.name: loaded}


# Facts for records.

_facts: dict[str, tuple[object, dict[str, Any]]] = {}
"""Facts by module, with the module's spec: `importlib.reload` replaces the spec, and then the facts are found again."""


def code_facts(code: Any) -> dict[str, Any]:
    """Return facts about the code of a class or function that is not negolab's: `source` (its file's name or its
    module), `sha256` of its files as they were loaded, `files` with the hash of each, and `path`; {} for negolab's
    own."""
    name = getattr(code, "__module__", None) or ""
    module = sys.modules.get(name)
    return {} if module is None or name.partition(".")[0] in OURS else _facts_of(module)


def _facts_of(module: ModuleType) -> dict[str, Any]:
    key = module.__spec__ or module
    known = _facts.get(module.__name__)
    if known is None or known[0] is not key:
        known = _facts[module.__name__] = (key, _read_facts(module))
    return known[1]


def _read_facts(module: ModuleType) -> dict[str, Any]:
    source = user_code.source_of(module)
    if source is None:  # such as a notebook's cells
        return {"source": module.__name__}
    facts = {"source": source.reference, "sha256": source.sha256} | ({"files": source.files} if source.files else {})
    if user_code.is_path(source.reference):
        facts |= {"source": Path(source.reference).name, "path": source.reference}
    return facts
