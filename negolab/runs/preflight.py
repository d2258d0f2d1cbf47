"""One real call to a model before the first game, so that a wrong setup is reported before anything is recorded, and a
check of how much of its context window its prompts need."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from negolab.catalog import AnyGame
from negolab.game import SEATS, Ask, Seat, other
from negolab.llm.endpoint.call import EndpointProvider
from negolab.llm.endpoint.errors import RunFailed
from negolab.llm.models import Models
from negolab.llm.player import LLM
from negolab.match import Match
from negolab.players.lookup import player
from negolab.protocols import Scripted
from negolab.runs.driver import play, submit_reply
from negolab.runs.matchup import Matchup, missing_games

MAX_MOVES = 20
"""Number of the other side's moves after which a seat is assumed never to be asked."""
RANDOM = "random-legal"
GAMES = 10
"""Number of random games from whose prompts the longest one is estimated."""
LISTING_SECONDS = 3.0
"""Seconds within which an endpoint must list its models."""


async def first_asks(
    matchups: Sequence[Matchup], models: Models | EndpointProvider | None
) -> list[tuple[Match, Seat, LLM]]:
    """Return a match for each model, for `ask_once`, and say how long its prompts can get; a sweep's broker takes care
    of its own models."""
    if not isinstance(models, Models) or models.via_broker:
        return []
    asked: dict[str, tuple[Match, Seat, LLM]] = {}
    for matchup, pairing in missing_games(matchups, most=1):
        for seat, name in pairing.players.items():
            match = matchup.deal(pairing)
            if name not in asked and isinstance(model := matchup.seat(match, models)[seat], LLM):
                # This uses a separate player, because each prompt advances a strategy that draws at random.
                estimating = matchup.seat(match, models)[seat]
                assert isinstance(estimating, LLM)
                await tell_longest_prompt(models, matchup.game, seat, estimating)
                asked[name] = match, seat, model
    return list(asked.values())


async def tell_longest_prompt(models: Models, game: AnyGame, seat: Seat, model: LLM) -> None:
    """Say how long a prompt can get if the endpoint says how long it may be."""
    settings = model.settings
    try:
        async with asyncio.timeout(LISTING_SECONDS):
            listed = await models.endpoint(settings.base_url, settings.key).list_models()
        if (window := listed.get(settings.model)) is None:
            return
        matches = (play(Match(game, seed=seed), dict.fromkeys(SEATS, RANDOM)) for seed in range(GAMES))
        tokens = max(model.estimate_tokens(match.record().seen_by(seat)) for match in matches)
    except Exception:  # of the endpoint, game or players; the first call and the games report it
        return
    remedy = "" if tokens <= window else ": longer matches fail; history=last:6 sends less"
    models.policy.notify(
        f"{settings.model}: a prompt and its answer take up to about {tokens:,} tokens, as estimated from {GAMES} "
        f"random matches, but its context window is {window:,}{remedy}"
    )


async def ask_once(match: Match, seat: Seat, model: LLM) -> None:
    """Ask a model for its first reply in a match that is thrown away, in which the other side plays at random.

    The answer is counted, cached, and used by the actual match if it comes to the same question.

    Args:
        match: A newly dealt match.
        seat: The model's seat.
        model: The player that uses the model.

    Raises:
        RunFailed: The setup is wrong, or the budget is too small.
    """
    try:
        if (ask := _first_ask(match, seat)) is not None:
            await model.reply(match.told(seat), ask)
    except RunFailed:
        raise
    except Exception:  # of this game or its players; games that fail in the same way report it
        return


def _first_ask(match: Match, seat: Seat) -> Ask | None:
    """Play until a seat is first asked, and return its `Ask`; None if it never is."""
    opponent = player(RANDOM, match.game, seed=0)
    assert isinstance(opponent, Scripted)
    for _ in range(MAX_MOVES):
        asks = match.pending()
        if seat in asks or not asks:
            return asks.get(seat)
        submit_reply(match, other(seat), opponent.reply(match.told(other(seat)), asks[other(seat)]))
    return None
