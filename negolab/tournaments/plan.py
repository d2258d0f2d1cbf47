"""Plans of tournaments: TOML files that name players, conditions, games and the design."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import combinations, combinations_with_replacement, product
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

from negolab import catalog, user_code
from negolab._internal.validation import Count, Positive, TomlTable, read_toml, suggest
from negolab.catalog import AnyGame
from negolab.game import SEATS
from negolab.players.code import parse_reference
from negolab.players.factory import PlayerFactory, checked_label
from negolab.players.lookup import PlayerSpec, check_label, parse_model_name, resolve
from negolab.protocols import MODEL_PREFIX
from negolab.runs.batch import Part
from negolab.runs.plan import make_plan
from negolab.scenarios import SUFFIX


class Design(TomlTable, frozen=True, kw_only=True):
    """The matches of each pairing.

    Attributes:
        draws: Number of draws of chance, which are the same for all pairings of a game.
        seats: "both", or, if `opponents` is a list, the seat of the entrants.
        repeats: Number of matches on each draw in the same seats, if a model plays.
        opponents: "others", "all" (the others and the player itself), or the labels of players that all others meet.
        seed: Seed for draws.
    """

    draws: Count = 50
    seats: Literal["both", "A", "B"] = "both"
    repeats: Count = 1
    opponents: Literal["others", "all"] | tuple[str, ...] = "others"
    seed: int = 0


class Spending(TomlTable, frozen=True, kw_only=True):
    """Limits on what the models of a tournament may cost in total: US dollars and tokens."""

    usd: Positive | None = None
    tokens: Count | None = None


class Entrant(NamedTuple):
    """A player under one combination of conditions.

    Attributes:
        label: Its name in records and tables.
        base: The label of the player in the plan.
        player: The player.
        settings: The player's settings.
        levels: Its value for each condition; empty if the player isn't a model.
    """

    label: str
    base: str
    player: PlayerSpec
    settings: Mapping[str, Any]
    levels: Mapping[str, str]


MOST_ENTRANTS = 200
"""Maximum number of players times combinations of conditions, because all their pairings are prepared at once."""


class TournamentPlan(TomlTable, frozen=True, kw_only=True):
    """A plan, as read from its file.

    Attributes:
        players: A player by label: a name, or a table of `player` and its settings.
        conditions: Settings of models by condition and value; they are crossed with the players that are models.
        games: A game by label: a name, or a table of `game`, `preset` or `scenario`, parameters, and `players`, the
            labels of those who play it (default: all).
        design: The matches of each pairing.
        budget: Limits on what models may cost.

    Raises:
        ValueError: The parts contradict each other.
    """

    players: dict[str, Any] = {}
    games: dict[str, Any] = {}
    conditions: dict[str, dict[str, Any]] = {}
    design: Design = Design()
    budget: Spending = Spending()

    def __post_init__(self) -> None:
        for section, key, entries in (("players", "player", self.players), ("games", "game", self.games)):
            if not entries:
                raise ValueError(f"{section}: empty: add NAME = ... below [{section}]")
            for label, given in entries.items():
                if isinstance(given, dict) and key not in given:
                    raise ValueError(f"{section}: {label}: {key} is missing: write {key} = ...")
        for name, levels in self.conditions.items():
            if not levels or not all(isinstance(level, dict) for level in levels.values()):
                raise ValueError(f"conditions: {name}: its values must be tables: write NAME = {{...}}")
        if (count := len(self.players) * prod(map(len, self.conditions.values()))) > MOST_ENTRANTS:
            raise ValueError(
                f"{count:,} players, counted under all conditions, exceed the maximum of {MOST_ENTRANTS}: "
                "leave some out"
            )
        entrants = self.entrants()
        if self.conditions:
            import_module("negolab.analysis.standings").check_conditions(self.conditions)
        if self.conditions and not any(entrant.levels for entrant in entrants):
            raise ValueError(f"conditions: remove them, because no player is a model ({MODEL_PREFIX}MODEL)")
        listed = isinstance(self.design.opponents, tuple)
        if self.design.seats != "both" and not listed:
            raise ValueError(f"design: seats: {self.design.seats} needs opponents = [...] for the others to play")
        named = [] if isinstance(self.design.opponents, str) else [*self.design.opponents]
        for label, given in self.games.items():
            only = given.get("players", []) if isinstance(given, dict) else []
            if not isinstance(only, list | tuple):
                raise ValueError(f'games: {label}: players must be a list of labels, ["a", "b"], not {only!r:.40}')
            named += only
        known = {name for entrant in entrants for name in (entrant.label, entrant.base)}
        if unknown := next((name for name in named if name not in known), None):
            raise ValueError(f"no player is called {unknown!r}: {suggest(unknown, sorted(known))}")
        if next(self.pairs(entrants), None) is None:
            raise ValueError("players: list two or more players")

    def entrants(self) -> list[Entrant]:
        """Return the players, with models under each combination of conditions."""
        found = []
        for base, given in self.players.items():
            settings = dict(given) if isinstance(given, dict) else {"player": given}
            player = settings.pop("player")
            is_model = isinstance(player, str) and player.startswith(MODEL_PREFIX)
            for levels in product(*self.conditions.values()) if is_model else [()]:
                chosen = dict(zip(self.conditions, levels, strict=False))
                changes = [self.conditions[name][level] for name, level in chosen.items()]
                whole = {name: value for change in (settings, *changes) for name, value in change.items()}
                found.append(Entrant("+".join((base, *levels)), base, player, whole, chosen))
        return found

    def pairs(self, entrants: list[Entrant]) -> Iterator[tuple[Entrant, Entrant]]:
        """Yield the pairs that meet; the first of each sits at A first, or only at A."""
        if isinstance(self.design.opponents, str):
            together = combinations_with_replacement if self.design.opponents == "all" else combinations
            yield from together(entrants, 2)
            return
        own, theirs = self.sides(entrants)
        for one, other in product(own, theirs):
            yield (other, one) if self.design.seats == "B" else (one, other)

    def sides(self, entrants: list[Entrant]) -> tuple[list[Entrant], list[Entrant]]:
        """Split the players into those compared and their opponents; without a list of opponents, all are both."""
        named = self.design.opponents
        if isinstance(named, str):
            return entrants, entrants
        theirs = [entrant for entrant in entrants if {entrant.label, entrant.base} & set(named)]
        return [entrant for entrant in entrants if entrant not in theirs], theirs

    def about(self) -> dict[str, Any]:
        """Return what the manifest says about the tournament."""
        entrants = self.entrants()
        own, theirs = self.sides(entrants)
        return {
            "plan": {"n": self.design.draws, "seed": self.design.seed, "repeats": self.design.repeats},
            "players": {entrant.label: {"player": str(entrant.player)} for entrant in entrants},
            "games": {name: _safe(name) for name in self.games},
            "entrants": [entrant.label for entrant in own],
            "opponents": None if own == theirs else [entrant.label for entrant in theirs],
            "bases": {entrant.label: entrant.base for entrant in entrants},
            "conditions": {name: {each.label: each.levels.get(name) for each in entrants} for name in self.conditions},
        }


def read_plan(path: Path) -> TournamentPlan:
    """Read a plan; a ValueError names the file, the location in it and what to do."""
    return read_toml(path, TournamentPlan)


def make_parts(plan: TournamentPlan, folder: Path, out: Path) -> list[Part]:
    """Return the matchups of a plan, game by game, each with its own folder below `out`.

    Args:
        plan: The plan.
        folder: The folder that paths in the plan are relative to.
        out: The folder of the tournament.

    Raises:
        ValueError: A game does not exist, or players (all of which are named) cannot play a game.
    """
    parts: list[Part] = []
    faults: list[str] = []
    for name, given in plan.games.items():
        game, only = _load_game(name, given, folder)
        entrants = [each for each in plan.entrants() if only is None or {each.label, each.base} & set(only)]
        factories: dict[str, PlayerFactory] = {}
        for entrant in entrants:
            try:
                factories[entrant.label] = _resolve(entrant, game, folder)
            except ValueError as error:
                faults.append(f"{name}: {entrant.label} cannot play it: {error}")
        for one, two in plan.pairs(entrants):
            if one.label in factories and two.label in factories:
                try:
                    parts.append(_part(plan, game, (factories[one.label], factories[two.label]), out / _safe(name)))
                except ValueError as error:
                    faults.append(f"{name}: {one.label} cannot meet {two.label}: {error}")
    if faults:
        text = "; ".join(fault.rstrip(".") for fault in faults)
        raise ValueError(f"games: {text} (or leave players out of the game with players = [...])")
    folders = Counter(part.folder for part in parts)
    if twice := next((folder for folder, count in folders.items() if count > 1), None):
        raise ValueError(f"two pairings would share the folder {twice}: choose other labels")
    return parts


def _load_game(name: str, given: Any, folder: Path) -> tuple[AnyGame, list[str] | None]:
    """Load a game of the plan, and return it with the labels of those who play it (None: all)."""
    params = dict(given) if isinstance(given, dict) else {"game": given}
    only = params.pop("players", None)
    for key in ("preset", "scenario"):
        if str(params.get(key, "")).endswith(SUFFIX) and (folder / params[key]).is_file():
            params[key] = str(folder / params[key])
    game = params.pop("game")
    try:
        return catalog.load(user_code.beside(game, folder) if isinstance(game, str) else game, **params), only
    except (ValueError, TypeError) as error:
        raise ValueError(f"games: {name}: {error}") from error


def label_players(players: Sequence[Any]) -> dict[str, Any]:
    """Return players by label; raise ValueError if two share one."""
    labels = [_label_of(player) for player in players]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise ValueError(f"two players are called {twice!r}: give each its own label, such as linear:label=Slow")
    return dict(zip(labels, players, strict=True))


def _label_of(player: Any) -> str:
    """Return a player's name for tables."""
    if isinstance(player, str):
        labelled = re.search(r"[:,]label=([^,]+)", player)
        return labelled[1].strip() if labelled else player
    return str(getattr(player, "name", getattr(player, "__name__", "player")))


def _resolve(entrant: Entrant, game: AnyGame, folder: Path) -> PlayerFactory:
    """Find a player, named by its label."""
    player, settings = entrant.player, dict(entrant.settings)
    if entrant.base != player:
        checked_label(entrant.base)
    if isinstance(player, str) and player.startswith(MODEL_PREFIX):
        settings = {**parse_model_name(player), **settings}
        player = f"{MODEL_PREFIX}{settings.pop('model')}"
        if isinstance(persona := settings.get("persona"), str):
            settings["persona"] = str(folder / Path(persona).expanduser())
    elif isinstance(player, str):
        # A text with all settings, by which another process can find the same player.
        if (reference := parse_reference(player)) is not None:
            player = str(reference.beside(folder))
        for key, value in settings.items():
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            player += f"{',' if ':' in player else ':'}{key}={text}"
        settings = {}
    found = resolve(player, game, **settings)
    check_label(entrant.label, found.called or found.name, game)
    called = "" if found.is_model or found.name == entrant.label else found.called or found.name
    return replace(found, name=entrant.label, called=called)


def _part(plan: TournamentPlan, game: AnyGame, players: tuple[PlayerFactory, PlayerFactory], folder: Path) -> Part:
    one, two = players
    design, swap = plan.design, plan.design.seats == "both" and one is not two
    repeats = design.repeats if one.is_model or two.is_model else 1
    n = design.draws * repeats * (len(SEATS) if swap else 1)
    made = make_plan(game, one, two, n=n, seed=design.seed, swap=swap, repeats=repeats)
    return Part(game, made, folder / f"{_safe(one.name)}--{_safe(two.name)}", players)


def _safe(label: str) -> str:
    """Return a label as part of a folder's name."""
    return re.sub(r"[^\w.+=-]", "-", label)[:80].lstrip(".") or "-"
