"""The results of a tournament as HTML (rankings, who met whom, the effects of conditions, and what was played), and the
page that shows them while it is played."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as w

from negolab.analysis.comparisons import comparison_table
from negolab.analysis.estimates import Measure, estimate_measure, format_estimate, row_estimate
from negolab.analysis.observations import drop_copies, with_value
from negolab.analysis.standings import OVERALL, Standings, Table, format_outcome
from negolab.analysis.stats import Estimate
from negolab.store import record_files
from negolab_widgets.faults import FaultGuard, run_in_background
from negolab_widgets.html import Markup, StableHTML, bar, details, element, escape, format_value, join, table
from negolab_widgets.page import Page

if TYPE_CHECKING:
    import pandas as pd

METHOD = (
    "A player's mean gives equal weight to draws, seats and opponents. 'Above the average' compares players on the "
    "same draw, with t intervals over draws. Ranks hold for all players at once with a confidence of 95% (Mogstad, "
    "Romano, Shaikh and Wilhelm 2024). Over games, the outcome is a seat's gain as a share of the largest joint gain."
)
PER_MATCH = (
    "Below each ranking are means per match, with 95% intervals by draw where draws differ. The joint gain is a share "
    "of the largest possible one, turns are both sides' moves, and costs are the player's own at list price."
)
POLL_INTERVAL, LOOK_SHARE = 3.0, 0.1
"""Minimum number of seconds between two readings of the records, and the share of time that reading may take."""
PLANES = (
    "In the drawings, the player's own share of the largest joint gain grows to the right, the opponent's upward. The "
    "area of a dot grows with its number of matches, and the cross is their mean with its 95% intervals. The axes meet "
    "where nobody gains; no deal lies beyond the slanting line. Points far outside are drawn at the edge."
)
_REACH, _STEP = (-25, 125), 4
"""The range of percentages drawn, and the distance between dots."""


def render_rankings(found: Standings) -> Markup:
    """Render who is ahead and who the players are, the ranking over all games, and that of each game."""
    parts: list[Markup | str] = [element("p", found.tables[-1].leader()), element("p", found.players(), cls="soft")]
    for ranking in sorted(found.tables, key=lambda ranking: ranking.game != OVERALL):
        # The player names the row, because ranks are empty below `LEAST_DRAWS`.
        heads, *rows = ([name, rank, *rest] for rank, name, *rest in (ranking.heads, *ranking.rows()))
        shown = table(heads, rows, f"Ranking: {ranking.game}") if ranking.ranking else ""
        parts += [element("h3", ranking.game), element("p", ranking.counts(), cls="soft"), shown]
        if ranking.game in found.games:
            parts += [_profiles(found, ranking.game), _planes(found, ranking)]
    notes = (element("p", note, cls="soft") for note in (METHOD, PER_MATCH, PLANES))
    return element("div", *parts, *notes, cls="nl-standings")


def _profiles(found: Standings, game: str) -> Markup:
    """Render how each player's matches ended, how long they were and what they cost, per match."""
    known = found.profiles(game)
    heads = list(dict.fromkeys(known["measure"]))
    cells = {(row.player, row.measure): _estimate(row_estimate(row)) for row in known.itertuples()}
    players = dict.fromkeys(name for name in found.about["players"] if name in set(known["player"]))
    rows = [[name, *(cells.get((name, head), "") for head in heads)] for name in players]
    return table(["player", *heads], rows, f"Per match: {game}")


def _estimate(estimate: Estimate) -> Markup:
    """Render an estimate above its interval and n."""
    number, _, interval = format_estimate(estimate, n=False).partition(" ")
    n = f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{estimate.n:,}"
    return join([element("b", number), element("span", f" {interval} {n}", cls="soft")])


def _planes(found: Standings, ranking: Table) -> Markup:
    """Render where each player's matches ended, as a plane of both players' shares for each, with the strongest
    first."""
    parts = dict(list(drop_copies(with_value(found.rows(ranking.game), "share")).groupby("player")))
    players = dict.fromkeys(name for name in (*ranking.order, *found.about["players"]) if name in parts)
    planes = [_plane(player, parts[player]) for player in players]
    return element("div", *planes, style="display: flex; flex-flow: row wrap; gap: 0.75rem")


def _plane(player: str, part: pd.DataFrame) -> Markup:
    """Draw a player's matches as dots, and their mean as a cross; in a drawing, y decreases upward."""
    shares = 100 * part[["share", "other_share"]].astype(float)
    counts = (shares.clip(*_REACH) / _STEP).round().value_counts().reset_index().to_numpy()
    dots = (
        f'<circle cx="{_STEP * own:g}" cy="{100 - _STEP * other:g}" r="{2 + 18 * (n / len(part)) ** 0.5:.1f}"/>'
        for own, other, n in counts
    )
    own, other = (estimate_measure(part, Measure("", name, scale=100)) for name in ("share", "other_share"))
    (left, x, right), (bottom, y, top) = _ends(own), [100 - end for end in _ends(other)]
    words = escape(f"{player}: mean share {own.value:.0f}%, of the opponent {other.value:.0f}%")
    drawing = Markup(
        f'<svg viewBox="-40 -40 180 180" width="152" role="img" aria-label="{words}">'
        '<g fill="none" stroke="currentColor" stroke-opacity="0.4"><path d="M0-26V126M-26 100H126"/>'
        '<path d="M-26-26L126 126" stroke-width="1.5" stroke-opacity="0.7"/></g>'
        '<g fill="currentColor" fill-opacity="0.75" font-size="15"><text x="4" y="118">own \N{RIGHTWARDS ARROW}</text>'
        '<text x="-96" y="-7" transform="rotate(-90)">opponent \N{RIGHTWARDS ARROW}</text></g>'
        f'<g fill="currentColor" fill-opacity="0.35">{"".join(dots)}</g>'
        f'<path d="M{left} {y}H{right}M{x} {bottom}V{top}" stroke="var(--nl-b-ink)" stroke-width="2.5"/>'
        f'<circle cx="{x}" cy="{y}" r="4" fill="var(--nl-b-ink)"/></svg>'
    )
    name = element("figcaption", player, element("div", f"n = {own.n:,}", cls="soft"), style="width: 152px")
    return element("figure", name, drawing, style="margin: 0; font-size: 0.875rem")


def _ends(estimate: Estimate) -> list[float]:
    """Return the ends of an interval, with the mean between them, as positions on an axis."""
    ends = (estimate.low, estimate.value, estimate.high)
    return [round(min(max(estimate.value if end != end else end, _REACH[0]), _REACH[1]), 1) for end in ends]


Links = Mapping[tuple[str, str, str], str]
"""URLs of matches, by the game and the players at A and B."""


def render_details(found: Standings, links: Links | None = None) -> Markup:
    """Render the cross table and the pairs of each game, the effects of conditions, and the matches of each pairing;
    `links` lead from the fields of a cross table to matches."""
    return element("div", *_details(found, links or {}), cls="nl-standings")


def _details(found: Standings, links: Links) -> Iterator[Markup]:
    for game in found.games:
        unit = f" ({found.units[game]})" if found.units[game] else ""
        yield element("h3", f"{game}: mean payoff{unit} of each player against each opponent")
        yield _cross(found, game, links)
        best = "; ".join(f"{who} against {whom}" for whom, who in found.best_replies(game).items())
        below = "Under each mean: share of agreements, share of the possible joint gain, matches."
        steps = " A number opens the pairing's matches on the first draw, step by step." if links else ""
        yield element("p", f"{below}{steps} Best player against each opponent: {best}.")
        pairs = comparison_table(found.head_to_head(game), f"one less two{unit}")
        rows = [list(map(format_value, row)) for row in pairs.values]
        yield details("Head to head, corrected for the number of pairs", table(list(pairs), rows, f"Pairs: {game}"))
    for name, effects in found.condition_effects():
        shown = comparison_table(effects, "one less two (share of what was attainable)")
        yield element("h3", f"Condition: {name}")
        yield table(list(shown), [list(map(format_value, row)) for row in shown.values], f"Condition: {name}")
    pairings = found.pairings()
    missing = int((pairings["planned"] - pairings["played"]).sum())
    yield element("h3", f"Matches of each pairing{f': {missing:,} are missing' if missing else ''}")
    yield table(list(pairings), [list(map(format_value, row)) for row in pairings.values], "Pairings")


def _cross(found: Standings, game: str, links: Links) -> Markup:
    """Render a table of entrants against opponents: mean payoffs over agreements and joint shares."""
    cross = found.cross(game).set_index(["player", "opponent"])
    players, against = (
        [name for name in found.about["players"] if name in cross.index.get_level_values(side)]
        for side in ("player", "opponent")
    )
    rows = []
    for player in players:
        cells: list[object] = [player]
        for opponent in against:
            met = cross.loc[(player, opponent)] if (player, opponent) in cross.index else None
            joint = "" if met is None or met.joint_share != met.joint_share else f", {met.joint_share:.0%} joint"
            said = "" if met is None else f" {met.agreed:.0%} agreed{joint}, n = {met.n:.0f}"
            number = "" if met is None else format_outcome(met.payoff, found.units[game])
            link = links.get((game, player, opponent)) or links.get((game, opponent, player))
            shown = element("a", number, href=link) if link and number else number
            cells.append(join([element("b", shown), element("span", said, cls="soft")]))
        rows.append(cells)
    return table(["player", *against], rows, f"Payoffs against each opponent: {game}")


class TournamentPage(Page):
    """Show the results of a tournament, redrawn while it is played.

    Args:
        folder: The folder of the tournament.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._shown = folder, StableHTML()
        self._read: tuple[list[tuple[Path, int]], Markup] = [], Markup("")
        self._looking = FaultGuard("the view of a tournament")
        title = w.HTML(element("h1", f"Tournament: {folder.name}"))
        super().__init__([title, self._looking.notice, self._shown])
        self.add_class("nl-display")
        if run_in_background(self._watch) is None:
            self.refresh()

    def refresh(self) -> None:
        """Draw what was played."""
        with self._looking:
            self._shown.value = self._render()

    async def _watch(self) -> None:
        while True:
            began = time.monotonic()
            with self._looking:
                self._shown.value = await asyncio.to_thread(self._render)
            await asyncio.sleep(max(POLL_INTERVAL, (time.monotonic() - began) / LOOK_SHARE))

    def _render(self) -> Markup:
        """Render the results; rebuild them if there are more records."""
        files = [(file, file.stat().st_size) for file in record_files(self._folder)]
        if files != self._read[0]:
            found = Standings(self._folder)
            played = found.pairings()[["played", "planned"]].sum()
            count = f"{played['played']:,} of {played['planned']:,} matches"
            parts = {"Ranking": render_rankings(found), "Who met whom": render_details(found)}
            shown = [element("h2", title) + part for title, part in parts.items()]
            self._read = files, join([bar(played["played"], played["planned"], count, name="Matches"), *shown])
        return self._read[1]
