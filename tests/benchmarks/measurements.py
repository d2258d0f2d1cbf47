"""Benchmarks of whole matches through `Match`, with events and record, as batches and models play them."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from functools import partial

from negolab.catalog import AnyGame, game_module, game_names, load, presets
from negolab.game import SEATS, Invalid
from negolab.games.balloon import Instance
from negolab.match import Match
from negolab.players.lookup import player
from negolab.theory.agreements import frontier_of, solutions
from tests.benchmarks import batch, models, people, results, runs, screens, sweep, tables
from tests.games.test_bargaining import after, answer, bargaining
from tests.games.test_bargaining_reading import LONG

REPEATS = 5
LEAST = 0.4
"""Seconds that one repetition lasts at least."""


def measurements() -> dict[str, Callable[[], float]]:
    """Map each measurement's name to its function."""
    return {
        "trading, text, steps/s": partial(rate, load("trading"), TRADING),
        "trading, typed, steps/s": partial(rate, load("trading"), TRADING, typed=True),
        "balloon, text, messages/s": partial(rate, balloon(), BALLOON),
        "balloon, typed, messages/s": partial(rate, balloon(), BALLOON, typed=True),
        "split, text, rounds/s": partial(rate, load("split", preset="no-press"), SPLIT, per=2),
        "split, typed, rounds/s": partial(rate, load("split", preset="no-press"), SPLIT, per=2, typed=True),
        "bargaining, text, steps/s": partial(rate, load("bargaining", rounds=20), BARGAINING),
        "bargaining, typed, steps/s": partial(rate, load("bargaining", rounds=20), BARGAINING, typed=True),
        "bargaining, two time players, games/s": time_players,
        "balloon, a message at 2000 over one at 20": long_match,
        "parsing 100 kB over 50 kB, worst of all games": worst_growth,
        "bargaining, 20,000 characters of anything, ms": worst_answer,
        "frontier and solutions of 1,000,000 agreements, s": million_agreements,
        "lobby, without cache, until it can be used, s": screens.opening_the_lobby,
        "table, from the lobby's press to the first turn, s": screens.opening_a_table,
        "table, from a press to its effect, s": screens.effect_of_a_press,
        "replay of 600 messages, worst step, ms": screens.worst_step,
        "replay of 600 messages, in the browser, median step, ms": screens.step_in_the_browser,
        "list of 100,000 records, opens, s": screens.opening,
        "list of 100,000 records, filters, s": screens.filtering,
        "people: a reply and its answer kept and shown, ms": people.reply,
        "people: 30 at once, admission to first control, s": people.first_control,
        **batch.MEASUREMENTS,
        **models.MEASUREMENTS,
        **results.MEASUREMENTS,
        **runs.MEASUREMENTS,
        **sweep.MEASUREMENTS,
        **tables.MEASUREMENTS,
    }


def measure(name: str) -> float:
    """Take one measurement; picklable for another process."""
    return measurements()[name]()


TRADING = [
    "[Offer: 1 Wheat -> 1 Wood]",
    "That is not worth it for me. [Deny] But how about this: [Offer: 2 Wood -> 1 Sheep]",
    "[Accept] Fine. [Offer: 1 Sheep, 1 Wheat -> 1 Brick]",
    "[Deny] Let us talk first",
    "[Offer: 2 Wheat -> 1 Sheep]",
    "[Accept]",
    "[Offer: 1 Wheat -> 1 Ore]",
    "[Deny] [Offer: 2 Wood -> 1 Sheep]",
    "[Deny]",
    "Well, that was it.",
]
_ITEMS = [f"{'ABC'[i % 3]}{10 + i}" for i in range(15)]


def _set(start: int) -> str:
    return "{" + ", ".join(repr(_ITEMS[(start + i) % 15]) for i in range(6)) + "}"


BALLOON = [
    *(
        (f"REFUSE: {_set(i - 1)}\n" if i else "")
        + f"PROPOSAL: {_set(i)}\nARGUMENT: {{'This keeps the total effort low and serves both of us, take it.'}}"
        for i in range(39)
    ),
    f"AGREE: {_set(38)}\nARGUMENT: {{'Agreed.'}}",
]
SPLIT = ["<coins_to_self>6</coins_to_self>", "<coins_to_self>5</coins_to_self>"] * 10
BARGAINING = [f"{60 - i:.2f}" if i % 2 == 0 else f"I'll pay {30 + i}" for i in range(20)] + ["accept"]


def balloon(turn_limit: int | None = 40) -> AnyGame:
    """A fixed instance, so that every message is legal."""
    worth = {name: 7 + i for i, name in enumerate(_ITEMS)}
    instance = Instance(dict.fromkeys(_ITEMS, 10), 100, dict.fromkeys(SEATS, worth))
    return load("balloon", instance=instance, turn_limit=turn_limit)


def script(game: AnyGame, texts: list[str], typed: bool) -> list[object]:
    """The texts of a match, or the actions they parse to."""
    match = Match(game, seed=1)
    said: list[object] = []
    for text in texts:
        seat = next(iter(match.pending()))
        action = match.told(seat).parse(text, match.seen(seat))
        assert not isinstance(action, Invalid), (text, action)
        said.append(action if typed else text)
        match.submit(seat, text)
    assert match.ended is not None, "the script must play a match to its end"
    return said


def play_script(game: AnyGame, said: list[object], typed: bool) -> None:
    match = Match(game, seed=1)
    for words in said:
        seat = next(iter(match.pending()))
        if typed:
            match.act(seat, words)
        else:
            match.submit(seat, words)  # type: ignore[arg-type]
    match.record()


def rate(game: AnyGame, texts: list[str], *, per: int = 1, typed: bool = False) -> float:
    """Submissions per second, divided by `per`."""
    said = script(game, texts, typed)
    return len(texts) / per / best(partial(play_script, game, said, typed))


def time_players() -> float:
    """Games per second of two time-dependent players over 20 rounds."""
    game = load("bargaining", rounds=20)
    seats = {"A": player("time", game, beta=0.2), "B": player("time", game, beta=1.0)}

    def play() -> None:
        match = Match(game, seed=1)
        while asks := match.pending():
            for seat, ask in asks.items():
                match.act(seat, seats[seat].reply(match.told(seat), ask))
        match.record()

    return 1 / best(play)


def long_match() -> float:
    """Cost of a message in a match of 2,000 messages relative to one of 20."""
    game = balloon(turn_limit=None)
    texts = BALLOON[1:3]

    def cost(n: int) -> float:
        def play() -> None:
            match = Match(game, seed=1)
            match.submit("A", BALLOON[0])
            for i in range(n):
                match.submit(next(iter(match.pending())), ALTERNATING[i % 2])

        return best(play) / n

    ALTERNATING = [texts[0].split("\n", 1)[1]] * 2
    return cost(2000) / cost(20)


PIECES = {"plain": "some words here ", "brackets": "[{<(", "digits": "1234567890"}


def worst_growth() -> float:
    """Time to parse 100 kB relative to 50 kB: the worst of all games, presets and kinds of text."""
    worst = 0.0
    for name in game_names():
        for preset in presets(game_module(name)):
            game = load(name, preset=preset)
            match = Match(game, seed=1)
            seat = next(iter(match.pending()))
            for piece in (*PIECES.values(), *OPENERS[name]):
                worst = max(worst, growth(match, seat, piece))
    return worst


def million_agreements() -> float:
    """Seconds to find the Pareto frontier of six issues with ten options each, and its solution points."""
    rng = random.Random(1)
    a, b = ([[rng.randint(0, 1000) for _ in range(10)] for _ in range(6)] for _ in range(2))
    return best(lambda: solutions(frontier_of(a, b).points, (100, 100)))


def worst_answer() -> float:
    """Milliseconds to parse the slowest of the long answers that a buyer may type."""
    game = bargaining()
    state = after(game, 5500)
    return 1000 * max(best(partial(answer, game, state, text), least=0.05) for text in LONG.values())


OPENERS = {
    "agenda": ("[Offer: ", "[Offer: food = 1; ", "[accept]"),
    "balloon": ("PROPOSAL: {", "ARGUMENT: {'x'}\nPROPOSAL: {'A'}", "{"),
    "bargaining": ("$1,", "accept ", "-"),
    "split": ("<items_to_self>", "<message>", "proposal:", "3 coins, "),
    "trading": ("[Offer: ", "[Offer: 1 Wheat -> ", "[accept]"),
}


def growth(match: Match, seat: str, piece: str) -> float:
    told, seen = match.told(seat), match.seen(seat)  # type: ignore[arg-type]
    small, large = ((piece * (size // len(piece) + 1))[:size] for size in (50_000, 100_000))
    took = [best(partial(told.parse, text, seen), least=0.01) for text in (small, large)]
    # Below a tenth of a millisecond a ratio measures the clock.
    return took[1] / max(took[0], 1e-4)


def best(work: Callable[[], object], least: float = LEAST) -> float:
    """Seconds of one call: the best of several repetitions, with garbage collection as users have it."""
    work()
    began = time.perf_counter()
    work()
    calls = max(1, int(least / max(time.perf_counter() - began, 1e-7)))
    times = []
    for _ in range(REPEATS):
        gc.collect()
        began = time.perf_counter()
        for _ in range(calls):
            work()
        times.append((time.perf_counter() - began) / calls)
    return min(times)
