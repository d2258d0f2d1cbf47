"""Tournaments from Python: `tournament` plays one, and the object that it returns gives the results."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from typing_extensions import override

from negolab import catalog
from negolab._internal import manifest
from negolab._internal.workers import is_loop_running
from negolab.catalog import AnyGame
from negolab.llm.configuration import ModelConfiguration
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.models import Models
from negolab.players.lookup import PlayerSpec
from negolab.runs.batch import open_matchups, read_arguments
from negolab.runs.progress import Progress
from negolab.runs.run import DEFAULTS, Run, RunOptions
from negolab.tournaments.plan import Design, TournamentPlan, label_players, make_parts, read_plan

if TYPE_CHECKING:
    from negolab.analysis.standings import Standings


class Tournament:
    """A tournament played into a folder; made by `nl.tournament`.

    Attributes:
        plan: What is played.
        run: The run that plays it; `tournament.run.pause()`, `finish()` and `cancel()` work as for any run.
    """

    def __init__(self, plan: TournamentPlan, run: Run) -> None:
        self.plan, self.run = plan, run

    @property
    def folder(self) -> Path:
        """The folder of the tournament, which `negolab report`, `export` and `replay` read."""
        return self.run.folder

    @property
    def progress(self) -> Progress:
        """Counts, duration, cost and state at this moment."""
        return self.run.progress

    def standings(self) -> Standings:
        """Read the results so far: `tables`, `cross(game)`, `head_to_head(game)`, `pairings()`, `seats`."""
        found: Standings = import_module("negolab.analysis.standings").Standings(self.folder)
        return found

    def __await__(self) -> Generator[Any, None, Progress]:
        return self.run.__await__()

    @override
    def __repr__(self) -> str:
        return repr(self.run).replace("Run(", "Tournament(", 1)


def tournament(
    games: Path | str | AnyGame | Mapping[str, Any],
    players: Sequence[PlayerSpec] | Mapping[str, Any] | None = None,
    *,
    out: Path | str,
    conditions: Mapping[str, Mapping[str, Any]] | None = None,
    design: Mapping[str, Any] | None = None,
    **options: Any,
) -> Tournament:
    """Play a tournament of one or several games into the folder `out`, and resume any tournament that is there.

    All pairings of a game have the same draws and advance together. Inside a running event loop (a notebook), the
    tournament starts in the background and the call returns immediately; elsewhere, it returns when the tournament is
    over.

    Args:
        games: The path of a plan, `plan.toml`, which specifies everything below; a game or its name; or games by label,
            each a game, its name, or a table such as {"game": "agenda", "scenario": "casino"}.
        players: Players as `run` takes them, or by label; a table such as {"player": "llm:gpt-5-mini", "persona":
            "tough.md"} contains settings.
        out: Folder of the tournament. Repeating the call with the same plan continues it.
        conditions: Settings of models by condition and value: {"prompt": {"plain": {}, "polite": {"persona":
            "polite.md"}}}; each model plays under each combination of values.
        design: `draws`, `seats`, `repeats`, `opponents` and `seed`, as in a plan.
        **options: `models`, `budget`, `workers` and all other options of `run`.

    Returns:
        The tournament: `await tournament`, `tournament.standings()`.

    Raises:
        ValueError: The plan contradicts itself, a player cannot play a game, or `out` contains something else.
        RunFailed: No match can continue (wrong key, budget reached, endpoint unreachable), or too many answers are
            unusable.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     found = tournament("bargaining", ["linear", "boulware"], out=folder + "/out", design={"draws": 10})
        ...     found.standings().tables[0].order
        ['boulware', 'linear']
    """
    if players is None:
        plan, folder, where = read_plan(Path(str(games))), Path(str(games)).parent, f"{games}: "
    else:
        named = games if isinstance(games, Mapping) else {_name_of(games): games}
        labelled = players if isinstance(players, Mapping) else label_players(players)
        plan = TournamentPlan(
            players=dict(labelled),
            games=dict(named),
            conditions={name: dict(levels) for name, levels in (conditions or {}).items()},
            design=msgspec.convert(dict(design or {}), Design),
        )
        folder, where = Path(), ""
    given = {"budget": plan.budget.usd, "budget_tokens": plan.budget.tokens, **options}
    opened = open_tournament(plan, folder, Path(out), *read_arguments(**given), where=where)
    if is_loop_running():
        opened.run.start()
    else:
        asyncio.run(opened.run.play())
    return opened


def open_tournament(
    plan: TournamentPlan,
    folder: Path,
    out: Path,
    models: ModelConfiguration | Models | EndpointProvider,
    options: RunOptions = DEFAULTS,
    *,
    where: str = "",
) -> Tournament:
    """Open a tournament in its folder; no call is made yet.

    Args:
        plan: The plan.
        folder: The folder that paths in the plan are relative to.
        out: The folder of the tournament.
        models: The models' configuration.
        options: Options of the run.
        where: The plan's file, for errors.

    Raises:
        ValueError: A player cannot play a game, or `out` contains something else.
    """
    if (there := manifest.read(out)) and "entrants" not in there:
        raise ValueError(f"{out} contains a run that is not a tournament: choose another folder")
    try:
        parts = make_parts(plan, folder, out)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None
    about = {**plan.about(), "matches": sum(part.plan.n for part in parts)}
    return Tournament(plan, open_matchups(parts, out, models, options, about))


def _name_of(game: Any) -> str:
    """Return a game's name for tables."""
    return Path(game).stem if isinstance(game, str | Path) else catalog.game_id(game).partition(":")[0]
