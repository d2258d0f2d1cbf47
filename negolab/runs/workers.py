"""Scripted games in several processes: workers play and encode, and only the run's own process writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from negolab import catalog, user_code
from negolab._internal.version import __version__
from negolab.catalog import AnyGame
from negolab.players.code import parse_reference
from negolab.players.factory import PlayerFactory
from negolab.players.lookup import resolve
from negolab.runs.plan import Pairing, Plan
from negolab.runs.progress import StopReason
from negolab.runs.scripted import ScriptedGames
from negolab.runs.timer import MatchTimers
from negolab.store import STOPPED
from negolab.user_code import CodeSource

AUTOMATIC_FROM = 5_000
"""Number of games above which a run uses a worker per core by default."""


class Setup(msgspec.Struct, kw_only=True):
    """Everything that a worker needs to play the games of a run.

    Attributes:
        game, preset, params: The game, as in a record.
        source: Where the game's code comes from (None: it is installed).
        modules: Modules to load because they offer a player under a bare name.
        players: The text by which each player is found, keyed by its name in the run.
        code: Hash of each player's own code ("": negolab's).
        folder: The folder of the run.
        game_seconds: Time limit for each game in seconds.
        negolab: The version of negolab with which the run began.
    """

    game: str
    preset: str | None
    params: dict[str, Any]
    source: CodeSource | None
    modules: list[str]
    players: dict[str, str]
    code: dict[str, str]
    folder: str
    game_seconds: float | None
    negolab: str = __version__


PlacedGame = tuple[int, Pairing]
"""A game, with the index of its matchup in the run."""
Played = tuple[StopReason | None, str, bytes]
"""A game that is over: why it was stopped, if it was (reason, text), and the line with its record."""


def why_one_process(game: AnyGame, plan: Plan, players: Mapping[str, PlayerFactory]) -> str:
    """Return why another process cannot load this game and these players; "" if it can."""
    for player in players.values():
        if not isinstance(player.origin, str):
            return f"the player {player.name} was given as an object, which exists only in this process"
    if ":" in plan.game and catalog.source(game) is None:
        return f"the game {plan.game} is not in a file, so it exists only in this process"
    try:
        same = catalog.stored_game(plan.game, plan.preset, plan.params) == game
    except ValueError as error:
        return str(error)
    return "" if same else f"the game {plan.game} cannot be created from its parameters alone"


def make_setup(
    game: AnyGame, plan: Plan, players: Mapping[str, PlayerFactory], folder: Path, game_seconds: float | None
) -> Setup:
    """Describe a run's games to a worker."""
    return Setup(
        game=plan.game,
        preset=plan.preset,
        params=plan.params,
        source=catalog.source(game),
        modules=[module for player in players.values() if (module := _offering_module(player))],
        players={name: _origin(player) for name, player in players.items()},
        code={name: player.facts.get("sha256", "") for name, player in players.items()},
        folder=str(folder.resolve()),
        game_seconds=game_seconds,
    )


def _origin(player: PlayerFactory) -> str:
    """Return the text by which a process with another working directory finds a player."""
    reference = parse_reference(player.origin)
    return str(player.origin if reference is None else reference.beside(Path()))


def _offering_module(player: PlayerFactory) -> str:
    """Return the file or module of a player whose name was registered when its module was loaded; "" for any other."""
    facts = player.facts
    if "source" not in facts or parse_reference(player.origin):
        return ""
    return str(facts.get("path", "") if facts["source"].endswith(".py") else facts["source"])


def load_games(setups: Sequence[Setup]) -> Callable[[PlacedGame], Played]:
    """Load the games of a run's matchups with their players; raise ValueError if their files are not the run's."""
    games = [_load(setup) for setup in setups]

    def play(placed: PlacedGame) -> Played:
        place, pairing = placed
        match = games[place].play(pairing)
        return match.notes.get(STOPPED), (match.ended and match.ended.reason) or "", match.record().to_line()

    return play


def _load(setup: Setup) -> ScriptedGames:
    """Load the game and its players; raise ValueError if their files or negolab are not the run's."""
    if setup.negolab != __version__:
        raise ValueError(
            f"the worker has negolab {__version__}, but this machine has {setup.negolab}: install the same version"
        )
    if (source := setup.source) is not None:
        user_code.load(source.pinned)
    for module in setup.modules:
        user_code.load(module)
    game = catalog.stored_game(setup.game, setup.preset, setup.params)
    players = {name: resolve(origin, game) for name, origin in setup.players.items()}
    for name, player in players.items():
        if player.facts.get("sha256", "") != setup.code[name]:
            raise ValueError(f"the code of player {name} has changed since the run began: run it again")
    return ScriptedGames(game, players, Path(setup.folder), MatchTimers(setup.game_seconds))
