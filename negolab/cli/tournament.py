"""`negolab tournament run | show`: many players, one or several games, and their ranking."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from typer.core import TyperGroup
from typing_extensions import override

from negolab.analysis.summary import taken_lines
from negolab.cli.batch import RunFlags, end_run, play_run, print_estimate, read_flags
from negolab.cli.options import Group, Preset, Set, parameter_changes, with_options
from negolab.cli.play import RUNS
from negolab.formatting import escape_control
from negolab.ledger import Cost
from negolab.llm.models import Models
from negolab.scenarios import SUFFIX
from negolab.tournaments.plan import Design, TournamentPlan, label_players, read_plan
from negolab.tournaments.tournament import open_tournament


class _PlanFirst(TyperGroup):
    """Commands of which the first may be left out: `negolab tournament PLAN` is `negolab tournament run PLAN`."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = not args or args[0] in (*self.commands, "--help")
        return super().parse_args(ctx, args if named else ["run", *args])


app = Group(
    "tournament",
    "Pit many players against each other and rank them: negolab tournament PLAN. "
    "For its options, see tournament run --help.",
    _PlanFirst,
)


@app.command()
@with_options(read_flags, "flags")
def run(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan, such as plan.toml, or a game with --players.")],
    *,
    players: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Players, if there is no plan: linear,time:beta=0.3")
    ] = None,
    n: Annotated[
        int | None, typer.Option(help="Number of draws (random setups); default: the plan's, or 50.", min=1)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed for draws (default: the plan's, or 0).")] = None,
    preset: Preset = None,
    set_: Set = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the tournament (default: data/runs/PLAN).")] = None,
    flags: RunFlags,
) -> None:
    """Pit many players against each other and rank them. Run the same command again to resume.

    To write a plan: negolab new tournament."""
    file = Path(plan)
    is_plan = file.suffix == SUFFIX
    if is_plan and (players or preset or set_):
        raise ValueError(f"{plan} names players and games: leave out --players, --preset and --set")
    if not is_plan and not players:
        raise ValueError(
            f"{plan} is a game: list its players with --players A,B,..., or give a plan that ends in {SUFFIX}"
        )
    if is_plan:
        read, where = read_plan(file), f"{plan}: "
    else:
        named = label_players(split_players(players or ""))
        game: dict[str, Any] = {"game": plan, **({"preset": preset} if preset else {}), **parameter_changes(set_ or [])}
        read, where = TournamentPlan(players=named, games={file.stem: game}), ""
    changed = {name: value for name, value in (("draws", n), ("seed", seed)) if value is not None}
    design: Design = msgspec.structs.replace(read.design, **changed)
    spent = {"usd": read.budget.usd, "tokens": read.budget.tokens}
    configuration = flags.configuration
    unset = {name: value for name, value in spent.items() if getattr(configuration, name) is None}
    opened = open_tournament(
        msgspec.structs.replace(read, design=design),
        file.parent if is_plan else Path(),
        out or RUNS / file.stem,
        msgspec.structs.replace(configuration, **unset),
        flags.options,
        where=where,
    )
    if flags.estimate:
        print_estimate(opened.run, flags)
        return
    failure = play_run(opened.run, flags.on_stop)
    if opened.progress.over:
        print(escape_control("\n".join(opened.standings().lines())))
    if isinstance(models := opened.run.models, Models):
        print(escape_control("\n".join((*taken_lines(Cost(), models.usage), ""))))
    print(opened.folder)
    end_run(opened.run, failure)


def split_players(text: str) -> list[str]:
    """Split players at commas: a part such as `kappa=0.1` is a parameter of the player before it.

    >>> split_players("linear,time:beta=0.3,kappa=0.1,llm:gpt-5-mini,temperature=0.7")
    ['linear', 'time:beta=0.3,kappa=0.1', 'llm:gpt-5-mini,temperature=0.7']
    """
    return [part.strip() for part in re.split(r",(?!\s*[\w.]+=)", text) if part.strip()]
