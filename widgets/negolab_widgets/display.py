"""How games, matches, records, observations and players show themselves in a notebook, so that the engine knows
nothing of it; `showing` registers it."""

from __future__ import annotations

from typing import Any

import msgspec

from negolab import catalog
from negolab.analysis import stats
from negolab.analysis.summary import tally
from negolab.catalog import AnyGame
from negolab.game import SEATS, Observation, observe
from negolab.match import Match
from negolab.players.player import Scripted
from negolab.record import Record, final
from negolab_widgets.amounts import amount
from negolab_widgets.html import Markup, element, join, label, pairs, panel, shown, table, theme
from negolab_widgets.replay.shelf import UNFINISHED, replies, short
from negolab_widgets.replay.steps import card, steps
from negolab_widgets.tables import table as table_of

MOST_ROWS = 20
"""Records that a list of them shows."""

MOST_CARDS = 40
"""Steps that a record shows."""


def page(*parts: object) -> Markup:
    """Parts on a page of their own, with the style sheet."""
    # JupyterLab would take what stands between two dollar signs for mathematics.
    return element("div", theme(), *parts, cls="nl-page nl-display tex2jax_ignore mathjax_ignore")


def game(game: AnyGame) -> str:
    """What the game is, and its parameters."""
    parameters = [(label(name), shown(value)) for name, value in catalog.parameters(game).items()]
    title = f"{catalog.game_id(game)}, preset {game.preset or 'none'}"
    return page(panel(title, element("p", _first_paragraph(catalog.home(game).__doc__)), pairs(parameters)))


def match(match: Match) -> str:
    """Who is asked, and what both seats see: the experimenter's view."""
    asked = " and ".join(f"seat {seat}" for seat in match.pending())
    state = f"ended: {match.ended.end}" if match.ended else f"{asked} is asked"
    facts = [("state", state), *((f"player {seat}", name) for seat, name in match.players.items())]
    facts += [("deal", "explicit" if match.seed is None else f"seed {match.seed}"), ("events", str(len(match.events)))]
    title = f"Match of {catalog.game_id(match.game)}"
    return page(panel(title, pairs(facts)), _both(match.game, {seat: match.seen(seat) for seat in SEATS}))


def record(record: Record) -> str:
    """How it ended and what was said."""
    header, told = record.header, record.game
    facts = [(f"player {seat}", name) for seat, name in header.players.items()]
    facts += [("end", record.end or UNFINISHED)]
    facts += [(f"paid to {seat}", told.paid(record.payoffs[seat])) for seat in SEATS]
    facts += [("replies", str(replies(record))), ("record", header.id)]
    cards = [card(step, told) for step in steps(record) if hasattr(step.entry, "seat") or hasattr(step.entry, "end")]
    left = len(cards) - MOST_CARDS
    more = element("p", f"and {left} more steps: Replay(record) shows them all") if left > 0 else ""
    last = final(record)
    seen = {seat: observe(last, seat) for seat in SEATS}
    return page(panel(f"Record of {header.game}", pairs(facts)), _both(told, seen), *cards[:MOST_CARDS], more)


def observation(seen: Observation[Any, Any]) -> str:
    """All that one seat sees, field by field."""
    parts = (msgspec.to_builtins(part, enc_hook=sorted) for part in (seen.public, seen.private))
    public, private = ([(label(name), shown_plain(value)) for name, value in part.items()] for part in parts)
    return page(panel(f"Seat {seen.seat} sees", pairs(public)), panel(f"Only seat {seen.seat} knows", pairs(private)))


def records(found: list[Any]) -> str | None:
    """A list of records: how many ended how, what they paid on average, and the first of them. Other lists: None."""
    if not found or not all(isinstance(one, Record) for one in found):
        return None
    rows = [
        (short(one), one.header.game, *(one.header.players.get(s, "?") for s in SEATS), one.end or UNFINISHED,
         *(one.game.paid(one.payoffs[s]) for s in SEATS), replies(one))
        for one in found[:MOST_ROWS]
    ]  # fmt: skip
    head = ("record", "game", "player A", "player B", "end", "paid to A", "paid to B", "replies")
    left = len(found) - MOST_ROWS
    more = element("p", f"and {left} more: Replay(records) lists them all") if left > 0 else ""
    return page(panel(f"{len(found)} records", _tallied(found), table(head, rows, "Records"), more))


def _tallied(found: list[Record]) -> Markup:
    """How many ended how and, where all are of one game, what each player was paid on average."""
    counted = tally(found)
    ends = pairs((end, f"{count} of {len(found)}") for end, count in counted.ends.most_common())
    if len({one.header.game for one in found}) > 1:
        return ends
    game = found[0].game
    means = [(player, seat, stats.mean(values)) for (player, seat), values in sorted(counted.payoffs.items())]
    rows = [
        (f"{player} at {seat}", amount(game, e.value), f"{amount(game, e.low)} to {amount(game, e.high)}", e.n)
        for player, seat, e in means
    ]
    return join([ends, table(("player", "mean payoff", "95 % interval", "n"), rows, "Mean payoffs")])


def player(player: Scripted) -> str:
    """Its name and what it does."""
    return page(panel(f"Player {player.name or type(player).__name__}", element("p", _first_paragraph(player.__doc__))))


def _both(game: AnyGame, seen: dict[Any, Observation[Any, Any]]) -> Markup:
    views = []
    for seat, one in seen.items():
        told = game.told(seat)
        looks = table_of(told)
        title = element(
            "h2", f"Seat {seat} sees", element("span", looks.clock(told, one), cls="nl-clock"), cls="nl-seat"
        )
        views.append(element("div", title, looks.render(told, one), cls=f"nl-view nl-view-{seat.lower()}"))
    return element("div", *views, cls="nl-columns nl-halves")


def shown_plain(value: Any) -> str:
    """A value of an observation as text, long ones cut."""
    text = shown(value)
    return text if len(text) <= 500 else text[:499] + "\N{HORIZONTAL ELLIPSIS}"


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())
