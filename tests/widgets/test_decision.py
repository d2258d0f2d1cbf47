"""The bar of decisions and the short rules, at every table of every game and preset."""

from __future__ import annotations

import random

import pytest
from negolab_widgets.html import join
from negolab_widgets.play.matchmaking import HumanSeat
from negolab_widgets.tables import Decision, table
from negolab_widgets.tables.decision import MAX_LAST, DecisionCard, name_accept, render_pay

from negolab.catalog import game_names, list_games, load
from negolab.game import SEATS
from negolab.match import Match

PRESETS = [(game, preset) for game in game_names() for preset in list_games()[game]]


@pytest.mark.parametrize(("game", "preset"), PRESETS)
def test_every_turn_has_a_situation_and_the_rules_are_short(game: str, preset: str) -> None:
    match = Match(load(game, preset=preset), seed=3)
    looks, rng = table(match.game), random.Random(3)
    while match.ended is None and len(match.events) < 40:
        seat = next(seat for seat in SEATS if match.asks(seat))
        told, seen = match.told(seat), match.seen(seat)
        rules = looks.rules(told, seen)
        assert 2 <= len(rules) <= 7 and all(rule.endswith(".") and len(rule) < 220 for rule in rules)
        decision = looks.decision(told, seen)
        assert decision.says or decision.offer
        match.submit(seat, told.say(rng.choice(told.options(seen))))


def test_what_was_said_last_is_cut_and_escaped() -> None:
    seated = HumanSeat(Match(load("trading"), seed=1), "A", {})
    bar = seated._card
    bar.draw(join(["head"]), Decision(offer="1 < 2", last="<b>" + "x" * 500), over=False, compose="")
    assert "1 &lt; 2" in bar._text.value and "&lt;b&gt;" in bar._text.value
    assert bar._text.value.count("x") == MAX_LAST - len("<b>")


def test_a_bar_without_answers_to_give_shows_the_way_to_an_own_offer_alone() -> None:
    seated = HumanSeat(Match(load("bargaining"), seed=1), "A", {})
    bar: DecisionCard = seated._card
    assert bar._go.description == "Make an offer" and bar._go.layout.display is None
    assert seated._controls.accept.layout.display == "none"
    assert "You make the first offer" in bar._text.value


def test_the_bar_says_why_a_match_does_not_go_on_and_whose_turn_it_is_after_that() -> None:
    seated = HumanSeat(Match(load("bargaining"), seed=1), "B", {})
    turn = seated._card._text.value
    assert "Waiting for the seller." in turn or "Waiting for the buyer." in turn
    seated.show_pause("The other side cannot be reached.")
    assert 'role="status">The other side cannot be reached.</span>' in seated._card._text.value
    seated.show_pause("")
    assert seated._card._text.value == turn


def test_a_loss_is_written_as_one() -> None:
    assert 'class="nl-loss"' in render_pay("\N{MINUS SIGN}$1.00", gain=-100)
    seated = HumanSeat(Match(load("bargaining"), seed=1), "A", {})
    name_accept(seated._controls.accept, "Accept $1.00", gain=-100)
    assert "nl-danger" in seated._controls.accept._dom_classes
    name_accept(seated._controls.accept, "Accept $99.00", gain=100)
    assert "nl-danger" not in seated._controls.accept._dom_classes


def test_what_pays_as_much_as_no_deal_is_not_recommended() -> None:
    accept = HumanSeat(Match(load("bargaining"), seed=1), "A", {})._controls.accept
    assert 'class="nl-neutral"' in render_pay("$0.00", gain=0)
    name_accept(accept, "Accept $65.00", gain=0)
    assert accept.description == "Accept $65.00"
    assert not {"nl-primary", "nl-danger"} & set(accept._dom_classes)
    name_accept(accept, "Accept $66.00", gain=100)
    assert "nl-primary" in accept._dom_classes
