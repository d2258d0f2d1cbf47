"""The matchups of a run: two players of a game, the games that they play, and the folder that stores them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from negolab.catalog import AnyGame
from negolab.game import Seat
from negolab.llm.endpoint.call import EndpointProvider
from negolab.match import Match
from negolab.players.factory import PlayerFactory
from negolab.protocols import Player
from negolab.runs.driver import seat_players
from negolab.runs.plan import Pairing, Plan
from negolab.store import Store


class Matchup:
    """Two players of a game, ready to be played.

    Args:
        game: The game.
        plan: The games to play.
        store: The folder that stores them.
        players: The two players.

    Attributes:
        players: The players by name.
        stored: The games of the plan that are over, by ID, and why a run stopped them (None: the rules ended them).
        redrawn: How many times each game was set aside because of its models' answers.
    """

    def __init__(self, game: AnyGame, plan: Plan, store: Store, players: Sequence[PlayerFactory]) -> None:
        self.game, self.plan, self.store = game, plan, store
        self.players = {player.name: player for player in players}
        stored = store.stopped()
        # The folder may contain games beyond those of this plan.
        self.stored = {pairing.id: stored[pairing.id] for pairing in plan.pairings() if pairing.id in stored}
        self.redrawn = store.redraw_counts()

    @property
    def has_model(self) -> bool:
        """True if one of its players is a model."""
        return any(player.is_model for player in self.players.values())

    def deal(self, pairing: Pairing) -> Match:
        """Deal one of its games."""
        return Match(self.game, seed=pairing.seed, id=pairing.id, players=pairing.players)

    def seat(self, match: Match, models: EndpointProvider | None) -> dict[Seat, Player]:
        """Make the players of one of its games."""
        return seat_players(match, models, draw=self.redrawn[match.id], factories=self.players)


Fixture = tuple[Matchup, Pairing]
"""A game to be played, with its matchup."""


def missing_games(matchups: Sequence[Matchup], most: int | None = None) -> Iterator[Fixture]:
    """Yield the games that are not over, draw by draw, so that all matchups are equally far along when a run stops.

    `most` is the number of each matchup's games to look at (None: all).
    """
    going = [(matchup, islice(matchup.plan.pairings(), most)) for matchup in matchups]
    while going:
        for matchup, pairings in (*going,):
            games = list(islice(pairings, matchup.plan.games_a_draw))
            if not games:
                going.remove((matchup, pairings))
            yield from ((matchup, game) for game in games if game.id not in matchup.stored)
