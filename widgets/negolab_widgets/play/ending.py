"""The end of a match in the lobby: what both got, what was possible, why it ended, and the ways on."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w

from negolab.analysis import measures
from negolab.analysis.replies import Proposal, proposals
from negolab.catalog import AnyGame
from negolab.events import Ended
from negolab.formatting import format_amount, format_number
from negolab.game import Seat, other
from negolab.record import Record, start_state
from negolab_widgets import html
from negolab_widgets.faults import FaultGuard
from negolab_widgets.html import Markup, element
from negolab_widgets.layout import column, row, set_visible, styled
from negolab_widgets.replay.plane import course, render_legend, render_plane, seen_by, surroundings
from negolab_widgets.replay.steps import record_steps
from negolab_widgets.tables import table
from negolab_widgets.tables.decision import end_class, person_name


class EndScreen(w.VBox):  # type: ignore[misc]
    """The end of a match for the person who may see its record, to stand below the person's result.

    Attributes:
        plane: What was possible; None where nothing was proposed.
        replay: Place for the replay, which needs the whole width.

    Args:
        record: The match.
        seat: The person's seat.
        rematch: Called with a seat to play the same again from it, with a new deal.
        another: Called to choose another game.
        reveal: Called to scroll to the replay once it is shown.
    """

    def __init__(
        self,
        record: Record,
        seat: Seat,
        rematch: Callable[[Seat], None],
        another: Callable[[], None],
        reveal: Callable[[], None],
    ) -> None:
        self._reveal = reveal
        self._record, self._seat, guard = record, seat, FaultGuard("the end of a match")
        again = guard.button("Rematch", rematch, seat, cls="nl-primary")
        swap = guard.button("Swap seats", rematch, other(seat))
        self._open = guard.button("Replay", self._show_replay)
        buttons = row(again, swap, self._open, guard.button("Another game", another))
        self.replay = column()
        self.plane = self._plane()
        reason = w.HTML(element("p", _reason(record)) if _reason(record) else "")
        super().__init__([reason, w.HTML(render_end(record, seat)), buttons, guard.notice])
        self.add_class("nl-column")

    def _plane(self) -> w.Widget | None:
        made = course(self._record, record_steps(self._record))
        if not made.points:
            return None
        made, around = seen_by(self._seat, made, surroundings(self._record))
        drawn = html.join([render_plane({"": made}, around, numbered=False), render_legend(around, moment=False)])
        heading = "What was paid after each round" if around.rounds else "What was possible"
        return styled(w.HTML(html.panel(heading, drawn)), "nl-possible")

    def _show_replay(self) -> None:
        from negolab_widgets.replay import Replay  # slow to import

        self.replay.children = [Replay(self._record)]
        set_visible(self._open, False)
        self._reveal()


def render_end(record: Record, seat: Seat) -> Markup:
    """Render how the seat's result compares with no deal, with the other's, and with what was possible."""
    game, away, gain = record.game, other(seat), _gain(record, seat)
    compared = _compare_with_no_deal(record, seat, gain)
    told = [
        *([("For you", compared)] if compared else []),
        (f"{_name(record, away)} got", game.format_payoff(record.payoffs[away])),
        *_possible(record, seat),
        *_best_offer(record, seat),
    ]
    return element("div", html.table((), told, "In comparison"), cls=f"nl-compared {end_class(gain)}")


def _gain(record: Record, seat: Seat) -> float:
    """Return what the seat was paid beyond no deal; 0 where the match paid nothing."""
    paid = record.payoffs[seat]
    return 0 if paid is None else paid - record.game.disagreement(start_state(record))[seat]


def _compare_with_no_deal(record: Record, seat: Seat, gain: float) -> str:
    """Compare a deal with no deal; "" without a deal, where a payoff is a win or a loss, or where all of it is gain."""
    if record.end != "AGREED" or record.game.stake_unit is not None or record.payoffs[seat] == gain > 0:
        return ""
    if not gain:
        return "the same as without a deal"
    return f"{format_amount(abs(gain), record.game.unit)} {'more' if gain > 0 else 'less'} than without a deal"


def _reason(record: Record) -> str:
    """Return why a match was stopped from outside its rules; "" if it was not."""
    last = record.events[-1]
    return (last.reason or "") if isinstance(last, Ended) else ""


def _possible(record: Record, seat: Seat) -> list[tuple[str, str]]:
    """Return the joint gain over no deal beside the possible one, and the seat's share; none where one lost by it."""
    own = measures.gains(record)
    joint, possible = measures.surplus(record, own)
    if joint is None or possible is None or joint < 0:
        return []
    game, share = record.game, measures.surplus_share(own, joint)[seat]
    both = f"{_format_gain(joint, game).removesuffix(f' {game.unit}')} of {_format_gain(possible, game)}"
    together = "Earned together" if game.has_paid_rounds else "Gained together over no deal"
    yours = [] if share is None or not 0 <= share <= 1 else [("Your share of it", f"{format_number(100 * share, 0)}%")]
    return [(f"{together}, of what was possible", both), *yours]


def _best_offer(record: Record, seat: Seat) -> list[tuple[str, str]]:
    """Return, where nothing was agreed, what the other's best offer would have paid both: where the larger stake wins,
    the one that was furthest ahead for the seat; none if that would have gained nothing."""
    game = record.game
    if record.end == "AGREED" or game.pays_as_it_goes:
        return []
    no_deal = game.disagreement(start_state(record))

    def gains(of: Proposal) -> tuple[float, float]:
        pay = of.total or no_deal
        return pay[seat] - no_deal[seat], pay[other(seat)] - no_deal[other(seat)]

    def advantage(of: Proposal) -> float:
        own, theirs = gains(of)
        return own - theirs if game.stake_unit else own

    best = max((each for each in proposals(record) if each.seat != seat), key=advantage, default=None)
    if best is None or advantage(best) <= 0:
        return []
    own, theirs = (_format_gain(one, game) for one in gains(best))
    return [("Their best offer, over no deal", f"{own} for you, {theirs} for them")]


def _format_gain(gain: float, game: AnyGame) -> str:
    """Write a gain over no deal; of what only decides about the payoff, without its unit."""
    return format_number(gain) if game.stake_unit else format_amount(gain, game.unit)


def _name(record: Record, seat: Seat) -> str:
    return html.capitalised(person_name(table(record.game).role(record.game, seat), seat))
