"""The end of a match in the lobby: each result in the colour and the words of the person who got it."""

from __future__ import annotations

import ipywidgets as w
from negolab_widgets.play.ending import EndScreen, render_end

from negolab.catalog import load
from negolab.game import SEATS, Seat
from negolab.match import Match
from negolab.players.lookup import player
from negolab.runs.driver import play
from negolab.studies.texts import match_end
from tests.support.host_process import descendants


def end(price: str, seat: Seat) -> str:
    """Render the end of a deal at this price between a seller with a cost of $40 and a buyer with a value of $60."""
    game = load("bargaining")
    match = Match(game, start=game.start(value=6000, cost=4000))
    match.submit("A", f"I offer ${price}")
    match.submit("B", "I accept")
    assert match.ended is not None and match.ended.end == "AGREED"
    return render_end(match.record(), seat)


def test_a_deal_worse_than_none_is_no_success_for_the_one_who_lost_by_it() -> None:
    lost = end("65.00", "B")
    assert "nl-worse" in lost
    assert "$5.00 less than without a deal" in lost
    assert "share" not in lost, "no negative part of what was possible"
    won = end("65.00", "A")
    assert "nl-deal" in won and "nl-worse" not in won
    assert "share" not in won, "no more than all of it"


def test_a_deal_worth_as_much_as_none_is_neither_gain_nor_loss() -> None:
    assert "nl-deal" not in end("60.00", "B")
    assert "the same as without a deal" in end("60.00", "B")


def test_a_gain_shows_its_share() -> None:
    won = end("55.00", "B")
    assert "nl-deal" in won and "nl-worse" not in won and "than without" not in won
    assert "25%" in won


def test_without_a_deal_their_best_offer_is_told() -> None:
    game = load("bargaining")
    match = Match(game, start=game.start(value=6000, cost=4000))
    for at, price in enumerate((65, 41, 52, 42, 50, 43)):
        match.submit("AB"[at % 2], f"I offer ${price}")  # type: ignore[arg-type]
    match.submit("A", "I reject")
    assert match.ended is not None and match.ended.end == "NO_DEAL"
    assert "$10.00 for you, $10.00 for them" in render_end(match.record(), "B")
    assert "$3.00 for you, $17.00 for them" in render_end(match.record(), "A")


def test_where_the_larger_gain_wins_the_best_offer_is_the_one_furthest_ahead() -> None:
    game = load("trading", max_turns=6)
    goods, values = (10, 10, 10, 10, 10), {"A": (5, 8, 12, 20, 30), "B": (5, 8, 12, 25, 30)}
    match = Match(game, start=game.start({"A": goods, "B": goods}, values))  # type: ignore[arg-type]
    for at, text in enumerate(
        ("No.", "[Offer: 1 Ore -> 1 Brick]", "[Deny]", "[Offer: 1 Wood -> 1 Wheat]", "[Deny]", "No.")
    ):
        match.submit("AB"[at % 2], text)  # type: ignore[arg-type]
    assert match.ended is not None and match.ended.end != "AGREED"
    # The Ore would have gained A 10 and B -5, the Wood A 3 and B -3.
    assert "10 for you, \N{MINUS SIGN}5 for them" in render_end(match.record(), "A")
    assert "best offer" not in render_end(match.record(), "B"), "A made none"


def test_rounds_that_pay_by_themselves_end_without_a_word_of_agreement() -> None:
    game = load("split", preset="classic", rounds=2)
    match = Match(game, seed=1)
    play(match, {seat: player("truthful", game) for seat in SEATS})
    screen = EndScreen(match.record(), "A", lambda seat: None, lambda: None, lambda: None)
    assert screen.plane is not None
    parts = (*descendants(screen), *descendants(screen.plane))
    shown = " ".join(widget.value for widget in parts if isinstance(widget, w.HTML))
    assert "Earned together, of what was possible" in shown
    assert match_end(game, "AGREED") == "All rounds were played."
    assert match_end(load("split", "lewis-2017"), "AGREED") == "It ended in agreement."
    assert ">start<" in shown and ">end<" in shown and "no deal" not in shown and "Agreed" not in shown
