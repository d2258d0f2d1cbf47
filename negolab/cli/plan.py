"""`negolab plan`: how many matches a comparison needs, from a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from negolab._internal.validation import located, suggest
from negolab.cli.options import Group, Modules, Trust, import_games
from negolab.cli.play import escape_line
from negolab.formatting import parse_number

if TYPE_CHECKING:
    import pandas as pd

app = Group()
POWERS, REPEATS = (0.8, 0.9), (1, 2, 4)
OUTCOMES = ("payoff", "gain", "surplus_share", "joint", "agreed", "efficiency", "moves")
"""The main outcomes; any numeric column will do."""
_PARTS = ("agreed", "efficiency")
"""Outcomes from 0 to 1, which people read as percentages."""


@app.command()
def plan(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the pilot run or sweep.")],
    effect: Annotated[
        float, typer.Option(help="Smallest difference to detect, in dollars, points or percentage points.")
    ],
    outcome: Annotated[
        str, typer.Option(help="Outcome to compare: payoff, joint, agreed, efficiency, moves, ...")
    ] = "payoff",
    between: Annotated[str, typer.Option(help="What to compare: player, or a parameter of the sweep.")] = "player",
    values: Annotated[
        str | None,
        typer.Option(metavar="ONE,TWO", help="The two values to compare, if the parameter has more than two."),
    ] = None,
    seat: Annotated[
        str | None, typer.Option(help="Compare the results of only one seat: A, B or its role, such as buyer.")
    ] = None,
    module: Modules = None,
    trust: Trust = False,
) -> None:
    """Compute the sample size for a comparison, from a pilot."""
    from negolab.analysis.planning import plan_from_pilot

    import_games(run, module, trust)
    frame, side, others = _read(run, seat, outcome, between)
    one, two = _sides(frame[side], values)
    rows = frame[frame[side].isin([one, two])]
    if side != "player":  # a parameter can change the players, and so whom they meet
        is_shared = rows.groupby(["seat", "opponent"])[side].transform("nunique") > 1
        rows = rows.assign(opponent=rows["opponent"].where(is_shared, f"set by {between}"))
    scale, words = _unit(run, outcome)
    unit = f" {words}" if words else ""
    with located(f"--outcome {outcome!r} must be a column of numbers", (ValueError, TypeError)):
        rows = rows.assign(**{outcome: rows[outcome].astype(float) / scale})
    repeats = float(rows.groupby([side, "draw", "opponent", "seat", *others], dropna=False).size().mean())
    found = [
        (power, count, plan_from_pilot(rows, one, two, outcome, effect, power, repeats=count, side=side, by=others))
        for count in (REPEATS if repeats > 1 else (1,))
        for power in POWERS
    ]
    first = found[0][2]
    text = f"{outcome}, {one} less {two}: {first.pilot_draws:,} draws in the pilot; a draw's difference has a standard"
    print(escape_line(f"{text} deviation of {first.s:.3g}{unit}. To detect a difference of {effect:g}{unit}:"))
    print("power  repeats     draws  draws to be safe   matches" + _cost_text(rows, None))
    each = rows.groupby("draw")[["match"]].nunique()["match"].mean() / repeats
    for power, count, plan in found:
        matches = round(plan.draws * each * count)
        numbers = f"{power:5.0%}  {count:7}  {plan.draws:8,}  {plan.draws_upper:16,}  {matches:8,}"
        print(numbers + _cost_text(rows, matches))
    print("A small pilot may mislead: the draws to be safe suffice with 80% confidence.")
    if repeats == 1:
        print("The pilot plays each draw once, so it cannot estimate the effect of repeats.")


def _read(run: Path, seat: str | None, outcome: str, between: str) -> tuple[pd.DataFrame, str, list[str]]:
    """Return the pilot's rows, the column to compare, and the columns of the sweep's other axes."""
    from negolab.analysis import cells, models
    from negolab.sweeps.folder import read_folder_plan
    from negolab.sweeps.status import is_sweep

    frame, names = models.with_efficiency(models.seat_frame(run)), dict[str, str]()
    axes = list[list[str]]()
    if is_sweep(run):
        params = {cell: ended.params for cell, ended in cells.newest_statuses(run).items()}
        frame, names = cells.join_parameters(frame, params)
        axes = [[names.get(name, name) for name in axis[0]] for axis in read_folder_plan(run).axes()]
    if seat is not None:
        seats = sorted({*frame["seat"], *frame["role"]})
        frame = frame[(frame["seat"] == seat.upper()) | (frame["role"] == seat.lower())]
        if frame.empty:
            raise ValueError(f"--seat must be one of {', '.join(seats)}, not {seat!r}")
    side = names.get(between, between)
    for option, name, main in (("outcome", outcome, OUTCOMES), ("between", side, ("player", *names))):
        if name not in frame:
            raise ValueError(f"--{option} {name!r}: the run has no such column: {suggest(name, map(str, frame), main)}")
    # Anything that a plan changes together with a parameter is part of the comparison.
    others = [name for axis in axes if side not in axis for name in axis]
    return frame.assign(**{side: frame[side].astype(str)}), side, others


def _sides(column: pd.Series[str], values: str | None) -> tuple[str, str]:
    """Return the two values to compare; numbers may be in any notation."""
    known = {_number(value): value for value in sorted(set(column))}
    chosen = list(known) if values is None else [_number(value.strip()) for value in values.split(",")]
    if len(set(chosen)) != 2 or not set(chosen) <= set(known):
        raise ValueError(f"--values: choose two of {', '.join(known.values())}")
    return known[chosen[0]], known[chosen[1]]


def _number(text: str) -> float | str:
    number = parse_number(text)
    return text if number is None else number


def _unit(run: Path, outcome: str) -> tuple[float, str]:
    """Return the divisor for an outcome, and the unit in which people read it."""
    from negolab import catalog
    from negolab.analysis import tables
    from negolab.formatting import display_unit

    if outcome in _PARTS:
        return 0.01, "percentage points"
    rules = catalog.imported_class(next(record for _, record in tables.records(run)).header.game)
    unit, scale = display_unit(rules.unit if outcome in ("payoff", "joint", "possible") else "")
    return scale, "" if "," in unit else unit  # trading's unit says what its numbers stand for


def _cost_text(rows: pd.DataFrame, matches: int | None) -> str:
    """Return the columns of calls and dollars for models ("" for scripts); without a number of matches, their
    headings."""
    each = rows.groupby("match")[["answers", "cost"]].sum(min_count=1).astype(float).mean()
    if not each["answers"]:
        return ""
    if matches is None:
        return "     calls   dollars"
    dollars = f"{each['cost'] * matches:10,.2f}" if each["cost"] == each["cost"] else "   unknown"
    return f"  {each['answers'] * matches:8,.0f}{dollars}"
