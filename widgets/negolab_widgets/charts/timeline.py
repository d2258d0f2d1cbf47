"""The course of a match: price offers over the rounds, the worth of offers over the messages, asks and shares over the
rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from negolab.formatting import format_number, format_significant
from negolab.game import SEATS, Seat
from negolab.studies.texts import table_texts
from negolab_widgets.charts.chart import COLOURS, SYMBOLS, TONE, new_figure, plain
from negolab_widgets.charts.grid import add_level, new_grid

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from negolab.games.split import Settled


def offers(
    rows: Sequence[tuple[int, Seat, int]],
    *,
    lines: Mapping[str, int] | None = None,
    rounds: int | None = None,
    deal: bool = False,
    names: Mapping[Seat, str] | None = None,
) -> Figure:
    """Draw both sides' price offers as steps over the rounds.

    Args:
        rows: (round, seat, cents) of each offer.
        lines: Amounts in cents that the viewer knows, by name.
        rounds: Number of rounds of the game.
        deal: The last offer is what was agreed, not a standing offer.
        names: Names of the seats.
    """
    names = names or {"A": "seller", "B": "buyer"}
    last = max(rounds or 1, *(number for number, _, _ in rows), 1)
    figure = new_figure(table_texts.ROUND_AXIS, table_texts.PRICE_AXIS, still=True)
    prices = [(number, seat, cents / 100) for number, seat, cents in rows]
    known = {name: cents / 100 for name, cents in (lines or {}).items()}
    _add_offers(figure, prices, known, names, table_texts.AT_ROUND, "${:.2f}".format, last, shape="hv")
    if rows:
        words = table_texts.DEAL if deal else table_texts.STANDING_OFFER
        _add_marker(figure, prices[-1], words.format(amount=f"${prices[-1][2]:.2f}"), "star" if deal else "circle-open")
    _price_axis(figure, [*known.values(), *(price for _, _, price in prices)])
    return figure


def worths(
    rows: Sequence[tuple[int, Seat, int]], *, names: Mapping[Seat, str], lines: Mapping[str, int], deal: bool = False
) -> Figure:
    """Draw what both sides' offers are worth to one of them, over the messages.

    Args:
        rows: (message, author, points) of each offer.
        names: Names of the seats.
        lines: Points that the viewer knows, by name.
        deal: The last offer is what was agreed.
    """
    figure = new_figure(table_texts.MESSAGE_AXIS, table_texts.POINTS_AXIS, still=True)
    last = max((number for number, _, _ in rows), default=1)
    _add_offers(figure, rows, lines, names, table_texts.AT_MESSAGE, format_number, last)
    if rows and deal:
        _add_marker(figure, rows[-1], table_texts.DEAL.format(amount=format_number(rows[-1][2])), "star")
    return figure


def _add_offers(
    figure: Figure,
    rows: Sequence[tuple[int, Seat, float]],
    lines: Mapping[str, float],
    names: Mapping[Seat, str],
    words: str,
    amount: Callable[[float], str],
    last: int,
    *,
    shape: str = "linear",
) -> None:
    """Draw the offers of each seat, and what the viewer knows; number `last` is the end of the axis."""
    for seat in SEATS:
        own = [(number, value) for number, by, value in rows if by == seat]
        figure.add_scatter(
            x=[number for number, _ in own],
            y=[value for _, value in own],
            name=plain(names[seat]),
            mode="lines+markers",
            line={"shape": shape, "color": COLOURS[seat], "width": 2},
            marker={"symbol": SYMBOLS[seat], "size": 8},
            hovertext=[
                words.format(round=number, message=number, who=plain(names[seat]), amount=amount(value))
                for number, value in own
            ],
            hoverinfo="text",
        )
    for name, value in lines.items():
        add_level(figure, value, f"{plain(name)} {amount(value)}", "dot")
    # Shifted by half, so that the first and the last one are not on the edge.
    figure.update_xaxes(range=[0.5, last + 0.5], dtick=1 if last <= 12 else None, tick0=1)


def _price_axis(figure: Figure, prices: Sequence[float]) -> None:
    """Leave room around all prices, also around a single one, and show no price below 0."""
    low, high = min(prices, default=0), max(prices, default=10)
    room = max((high - low) * 0.12, high * 0.05, 0.5)
    decimals = ".2f" if high - low < 5 else "~g"
    figure.update_yaxes(
        range=[max(low - room, 0 if low >= 0 else low), high + room], tickprefix="$", tickformat=decimals
    )


def _add_marker(figure: Figure, offer: tuple[int, Seat, float], words: str, symbol: str) -> None:
    x, _, y = offer
    marker = {"symbol": symbol, "size": 16, "color": TONE, "line": {"width": 2, "color": TONE}}
    figure.add_scatter(x=[x], y=[y], name=words, mode="markers", marker=marker, hoverinfo="skip")


# Rounds of a split game.


def rounds(history: Sequence[Settled], items: Sequence[str]) -> Figure:
    """Draw what each seat asked for (a line) and received (a bar) in each finished round, with axes per item type."""
    count = max(len(items), 1)
    figure = new_grid(count, 1, height=count, gap=0.18, shared_xaxes=True, shared_yaxes=False)
    for at, item in enumerate(items):
        for seat in SEATS:
            _asked_and_received(figure, history, at, item, seat)
        unit = table_texts.UNITS_AXIS.format(item=f"{plain(item)}<br>" if count > 1 else plain(item))
        figure.update_yaxes(title={"text": unit, "font": {"size": 13}}, row=at + 1, col=1)
        most = max((settled.stock[at] for settled in history), default=1)
        figure.update_yaxes(range=[0, 1.08 * max(most, 1)], row=at + 1, col=1)
    last = max((settled.round for settled in history), default=1)
    figure.update_xaxes(range=[0.5, last + 0.5], tick0=1, dtick=1 if last <= 12 else None, showgrid=False)
    figure.update_xaxes(title={"text": table_texts.ROUND_AXIS}, row=count, col=1)
    figure.update_layout(barmode="overlay")
    return figure


def _asked_and_received(figure: Figure, history: Sequence[Settled], at: int, item: str, seat: Seat) -> None:
    side = -0.2 if seat == "A" else 0.2
    places = [settled.round + side for settled in history]
    asks = [None if (ask := settled.asks[seat]) is None else ask[at] for settled in history]
    received = [settled.shares[seat][at] for settled in history]
    words = [
        table_texts.ASKED_AND_RECEIVED.format(
            round=settled.round,
            seat=seat,
            asked=table_texts.NO_DEAL if ask is None else ask,
            received=format_significant(share, 5),
            stock=settled.stock[at],
            item=plain(item),
        )
        for settled, ask, share in zip(history, asks, received, strict=True)
    ]
    at_row = {"row": at + 1, "col": 1, "showlegend": at == 0, "hoverinfo": "text", "hovertext": words}
    bar = {"color": COLOURS[seat], "opacity": 0.55, "line": {"width": 0}}
    figure.add_bar(x=places, y=received, width=0.34, marker=bar, name=table_texts.RECEIVED.format(seat=seat), **at_row)
    mark = {"symbol": "line-ew", "size": 14, "line": {"color": COLOURS[seat], "width": 3}}
    figure.add_scatter(
        x=places, y=asks, mode="markers", marker=mark, name=table_texts.ASKED.format(seat=seat), **at_row
    )
