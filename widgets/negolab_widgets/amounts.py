"""Payoffs as numbers for plots and means: bargaining counts in cents, people read dollars."""

from __future__ import annotations

from negolab.catalog import AnyGame


def scale(game: AnyGame) -> tuple[float, str]:
    """What payoffs are divided by, and the unit they are then in."""
    return (100, "dollars") if game.unit == "cents" else (1, game.unit)


def amount(game: AnyGame, value: float) -> str:
    """A number that need not be a payoff, such as a mean, in the game's unit."""
    by, unit = scale(game)
    return f"${value / by:.2f}" if unit == "dollars" else f"{value:.2f} {unit}"
