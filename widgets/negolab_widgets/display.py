"""HTML of games, matches, records, observations and players in a notebook, one function per type.

The engine knows nothing of it: `negolab_widgets` registers these functions as display hooks when it is imported.
"""

from __future__ import annotations

from typing import Any

import msgspec

from negolab import catalog
from negolab.analysis.observations import sample_text
from negolab.analysis.summary import Observed, Tally, fallback_lines, tally_records
from negolab.catalog import AnyGame
from negolab.formatting import first_paragraph, format_amount, format_end, label
from negolab.game import SEATS, Observation
from negolab.match import Match
from negolab.protocols import Scripted
from negolab.record import Record
from negolab.runs.run import Run
from negolab.tournaments.tournament import Tournament
from negolab_widgets.card import render_card
from negolab_widgets.html import Markup, details, element, format_value, join, page, pairs, panel, table
from negolab_widgets.progress import NEXT, render_progress
from negolab_widgets.replay.cards import render_record
from negolab_widgets.replay.record_list import count_replies, short_id
from negolab_widgets.standings import render_details, render_rankings
from negolab_widgets.tables.seats import render_seats

MAX_ROWS = 20
"""Rows of a list of records."""


def offer_next(*codes: str) -> Markup:
    """Say what can be done next, in code."""
    return element("p", "Next: ", join(element("code", code) + " " for code in codes), cls="nl-next")


def game(game: AnyGame) -> str:
    """Show a game as a card, without its sliders."""
    return page(render_card(game))


def run(run: Run) -> str:
    """Show how far a run is."""
    return page(render_progress(run.progress, str(run.folder)), NEXT)


def tournament(tournament: Tournament) -> str:
    """Show how far a tournament is, its rankings, and who met whom."""
    shown = render_progress(tournament.progress, str(tournament.folder))
    codes = "tournament.standings().seats", f"negolab report {tournament.folder}"
    if not tournament.progress.finished:
        return page(shown, offer_next("await tournament"))
    found = tournament.standings()
    return page(render_rankings(found), details("Who met whom", render_details(found)), shown, offer_next(*codes))


def match(match: Match) -> str:
    """Show who is asked and what both seats see: the experimenter's view."""
    asked = " and ".join(f"seat {seat}" for seat in match.pending())
    state = f"ended: {match.ended.end}" if match.ended else f"{asked} is asked"
    facts = [
        ("state", state),
        *((f"player {seat}", name) for seat, name in match.players.items()),
        ("deal", "explicit" if match.seed is None else f"seed {match.seed}"),
        ("events", str(len(match.events))),
    ]
    title, seen = f"Match of {catalog.game_id(match.game)}", {seat: match.seen(seat) for seat in SEATS}
    following = "nl.replay(match)" if match.ended else "nl.play(match, players)"
    return page(panel(title, pairs(facts)), render_seats(match.game, seen), offer_next(following))


def record(record: Record) -> str:
    """Show how a match ended and what was said in it."""
    return page(render_record(record), offer_next("nl.replay(record)"))


def observation(seen: Observation[Any, Any]) -> str:
    """Show all that one seat sees, field by field."""
    parts = (msgspec.to_builtins(part, enc_hook=sorted) for part in (seen.public, seen.private))
    public, private = ([(label(name), format_shortened(value)) for name, value in part.items()] for part in parts)
    return page(panel(f"Seat {seen.seat} sees", pairs(public)), panel(f"Only seat {seen.seat} knows", pairs(private)))


def records(found: list[Any]) -> str | None:
    """Show a list of records: how they ended, mean payoffs, and the first rows; None for any other list."""
    if not found or not all(isinstance(one, Record) for one in found):
        return None
    rows = [
        (short_id(one.id), one.header.game, *(one.header.players.get(s, "?") for s in SEATS), format_end(one.end),
         *(one.game.format_payoff(one.payoffs[s]) for s in SEATS), count_replies(one))
        for one in found[:MAX_ROWS]
    ]  # fmt: skip
    head = ("record", "game", "player A", "player B", "end", "paid to A", "paid to B", "replies")
    left = len(found) - MAX_ROWS
    more = element("p", f"and {left} more: Replay(records) lists them all") if left > 0 else ""
    listed = details("Each record", join([table(head, rows, "Records"), more]))
    return page(
        panel(f"{len(found)} records", _summarise_payoffs(found), listed),
        offer_next("nl.replay(records)", "tables.matches(records)"),
    )


def _summarise_payoffs(found: list[Record]) -> Markup:
    """Count the ends and, where all records are of one game, average what each player was paid."""
    counted = tally_records(found)
    ends = join(
        [
            *(element("p", line) for line in fallback_lines(counted)),
            pairs((end, f"{count} of {len(found)}") for end, count in counted.ends.most_common()),
        ]
    )
    if len({one.header.game for one in found}) > 1:
        return ends
    game, head = found[0].game, ("mean payoff", "95% interval", "observations")
    beside = tuple(f"{name}, no fallback" for name in head) if counted.fallbacks else ()
    rows = []
    for (player, seat), paid in sorted(counted.payoffs.items()):
        cells = _format_mean(counted, game, paid if counted.plays(player, seat) else [])
        clean = _format_mean(counted, game, [one for one in paid if not one.fallback]) if beside else ()
        rows.append((f"{player} at {seat}", *cells, *clean))
    return join([ends, table(("player", *head, *beside), rows, "Mean payoffs")])


def _format_mean(counted: Tally, game: AnyGame, paid: list[Observed]) -> tuple[str, str, str]:
    """Format a mean with its interval and what it rests on."""
    if not paid:
        return "\N{EN DASH}", "\N{EN DASH}", "n = 0"
    e = counted.sample(paid).mean()
    bounds = [format_amount(bound, game.unit) for bound in (e.low, e.high) if bound == bound]
    return format_amount(e.value, game.unit), " to ".join(bounds) or "\N{EN DASH}", sample_text(e)


def player(player: Scripted) -> str:
    """Show a player's name and what it does."""
    return page(panel(f"Player {player.name or type(player).__name__}", element("p", first_paragraph(player.__doc__))))


def format_shortened(value: Any) -> str:
    """Format a value of an observation, cut to 500 characters."""
    text = format_value(value)
    return text if len(text) <= 500 else text[:499] + "\N{HORIZONTAL ELLIPSIS}"
