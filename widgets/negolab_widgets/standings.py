"""The results of a tournament as HTML: rankings, who met whom, what conditions changed, and what was played."""

from __future__ import annotations

from collections.abc import Iterator

from negolab.analysis.comparisons import comparison_table
from negolab.analysis.estimates import format_estimate, row_estimate
from negolab.analysis.standings import Standings, format_outcome
from negolab.analysis.stats import Estimate
from negolab_widgets.html import Markup, details, element, format_value, join, table

METHOD = (
    "A player's mean gives equal weight to draws, seats and opponents. 'Above the average' compares players on the "
    "same draw, with t intervals over draws. Ranks hold for all players at once with a confidence of 95% (Mogstad, "
    "Romano, Shaikh and Wilhelm 2024). Over games, the outcome is a seat's gain as a share of the largest joint gain."
)

PER_MATCH = (
    "Per match, with 95% intervals by draw where draws differ. The joint gain is a share of the largest possible one, "
    "turns are the moves of both, and costs are the player's own at list price."
)


def render_rankings(found: Standings) -> Markup:
    """Render the ranking of each game, and that over all."""
    parts = []
    for ranking in found.tables:
        shown = table(ranking.heads, ranking.rows(), f"Ranking: {ranking.game}") if ranking.ranking else ""
        parts += [element("h3", ranking.game), element("p", ranking.counts(), cls="soft"), shown]
        parts += [_profiles(found, ranking.game)] if ranking.game in found.games else []
    return join([*parts, element("p", METHOD, cls="soft")])


def _profiles(found: Standings, game: str) -> Markup:
    """Render how the matches of each player ended, how long they were and what they cost, per match."""
    known = found.profiles(game)
    heads = list(dict.fromkeys(known["measure"]))
    cells = {(row.player, row.measure): _estimate(row_estimate(row)) for row in known.itertuples()}
    players = dict.fromkeys(name for name in found.about["players"] if name in set(known["player"]))
    rows = [[name, *(cells.get((name, head), "") for head in heads)] for name in players]
    return join([table(["player", *heads], rows, f"Per match: {game}"), element("p", PER_MATCH, cls="soft")])


def _estimate(estimate: Estimate) -> Markup:
    """Render an estimate over its interval and n."""
    number, _, interval = format_estimate(estimate, n=False).partition(" ")
    n = f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{estimate.n:,}"
    return join([element("b", number), element("span", f" {interval} {n}", cls="soft")])


def render_details(found: Standings) -> Markup:
    """Render the cross table and the pairs of each game, the effects of conditions, and the matches of each pairing."""
    return join(_details(found))


def _details(found: Standings) -> Iterator[Markup]:
    for game in found.games:
        unit = f" ({found.units[game]})" if found.units[game] else ""
        yield element("h3", f"{game}: mean payoff{unit} of each player against each opponent")
        yield _cross(found, game)
        best = "; ".join(f"{who} against {whom}" for whom, who in found.best_replies(game).items())
        below = "Under each mean: share of agreements, share of the possible joint gain, matches."
        yield element("p", f"{below} Best player against each opponent: {best}.")
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


def _cross(found: Standings, game: str) -> Markup:
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
            cells.append(join([element("b", number), element("span", said, cls="soft")]))
        rows.append(cells)
    return table(["player", *against], rows, f"Payoffs against each opponent: {game}")
